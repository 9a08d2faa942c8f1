"""How long tools take as a rule, measured in this process: what a caller is told at the beginning of a wait.

A running mean in which later calls count more. Tools are known by name: the same tool bound to another agent of its
class is the same tool. Time in which a call waited for the caller does not count.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

_WEIGHT: Final = 0.3
"""Of the latest call."""
_STEP: Final = 0.5
"""Seconds to which estimates are rounded: finer ones would change nothing that is said."""
_REMEMBERED: Final = 1024
"""Tools; those not called for longest are forgotten."""


class Latencies:
    """By tool name: seconds that a call takes as a rule."""

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        self._seconds: OrderedDict[str, float] = OrderedDict()

    def note(self, name: str, seconds: float) -> None:
        """A call took so long."""
        known = self._seconds.pop(name, None)
        self._seconds[name] = seconds if known is None else known + _WEIGHT * (seconds - known)
        if len(self._seconds) > _REMEMBERED:
            self._seconds.popitem(last=False)

    def clear(self) -> None:
        """Forget everything: what is simulated next goes as if nothing had been before."""
        self._seconds.clear()

    def expected(self, name: str) -> float | None:
        """Seconds, rounded to half a second; None before the first call has ended."""
        seconds = self._seconds.get(name)
        return None if seconds is None else round(seconds / _STEP) * _STEP


latencies = Latencies()
"""Of this process."""
