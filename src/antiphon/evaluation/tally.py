"""Calls that are counted: which passed, which did not, and why.

Above: what makes the calls, and reports. Below: statistics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from antiphon.evaluation.statistics import wilson


@dataclass(slots=True, frozen=True)
class Judgement:
    """An answer whose intent is still to be judged."""

    turn: int
    intent: str
    answer: str


class Counted(Protocol):
    """A call, as far as it is counted."""

    @property
    def failures(self) -> tuple[str, ...]: ...
    @property
    def passed(self) -> bool: ...


@dataclass(slots=True, frozen=True)
class Run:
    """One call of a case."""

    failures: tuple[str, ...] = ()
    """What was not as expected, each in words; (): it passed."""
    said: tuple[str, ...] = ()
    """What the agent answered, turn by turn."""
    calls: tuple[str, ...] = ()
    """What it called."""
    to_judge: tuple[Judgement, ...] = ()

    @property
    def passed(self) -> bool:
        """All was as expected."""
        return not self.failures

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {
            "passed": self.passed,
            "failures": list(self.failures),
            "said": list(self.said),
            "calls": list(self.calls),
        }


class Tally(ABC):
    """All calls of one thing that was tried."""

    __slots__ = ()

    runs: Sequence[Counted]

    @property
    @abstractmethod
    def name(self) -> str:
        """What reports call it."""

    @property
    def passes(self) -> int:
        """Calls that were as expected."""
        return sum(run.passed for run in self.runs)

    @property
    def rate(self) -> float:
        """The share of them."""
        return self.passes / len(self.runs) if self.runs else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true rate lies with 95 %."""
        return wilson(self.passes, len(self.runs))

    @property
    def failures(self) -> dict[str, int]:
        """What went wrong, and how often, the most frequent first."""
        counts: dict[str, int] = {}
        for run in self.runs:
            for failure in run.failures:
                counts[failure] = counts.get(failure, 0) + 1
        return dict(sorted(counts.items(), key=lambda one: -one[1]))
