"""Two versions of an agent, case by case: which is better, and with what probability.

Above: `antiphon eval --beside`. Below: evaluations, and statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.evaluation.running import Evaluation
from antiphon.evaluation.statistics import better_probability

SURE = 0.95
"""From this probability on a difference counts as real."""


@dataclass(slots=True, frozen=True)
class Comparison:
    """One case, or all, with two versions."""

    name: str
    passes: int
    runs: int
    other_passes: int
    other_runs: int

    @property
    def difference(self) -> float:
        """The pass rate over the other's."""
        rate = self.passes / self.runs if self.runs else 0.0
        return rate - (self.other_passes / self.other_runs if self.other_runs else 0.0)

    @property
    def better(self) -> float:
        """The probability that this version is better than the other."""
        return better_probability(self.passes, self.runs, self.other_passes, self.other_runs)

    @property
    def real(self) -> float:
        """The probability that the difference is real: that whichever looks better is."""
        return max(self.better, 1.0 - self.better)

    def is_worse(self, sure: float = SURE) -> bool:
        """This version is worse, with this probability or more."""
        return self.better <= 1.0 - sure


def compare(evaluation: Evaluation, other: Evaluation) -> tuple[Comparison, ...]:
    """Each case that both have, and, last, all of them together."""
    others = {result.case.name: result for result in other.results}
    found = [
        Comparison(
            one.case.name, one.passes, len(one.runs), others[one.case.name].passes, len(others[one.case.name].runs)
        )
        for one in evaluation.results
        if one.case.name in others
    ]
    return (*found, _together(found))


def _together(found: Sequence[Comparison]) -> Comparison:
    return Comparison(
        "all",
        sum(one.passes for one in found),
        sum(one.runs for one in found),
        sum(one.other_passes for one in found),
        sum(one.other_runs for one in found),
    )
