"""How long to wait for more.

Silence ends a turn; how much of it depends on what a detector thinks of the words so far.
"""

from __future__ import annotations

from antiphon.options import Endpointing

MARGIN = 1.25
"""How many times as long as a caller's pause the wait is that outlasts the next one."""


def delay(endpointing: Endpointing, probability: float | None, pauses: Pauses | None = None) -> float:
    """Seconds of silence after which a turn is over.

    `probability` is the detector's opinion that the turn is complete; None when nobody has one, and then the wait for
    complete words applies: `min_delay`, or what the caller's `pauses` taught.
    """
    if probability is None or probability >= endpointing.unlikely:
        return endpointing.min_delay if pauses is None else pauses.wait
    return endpointing.max_delay


class Pauses:
    """What a caller's pauses inside their turns teach about the wait after complete words.

    It grows at once with a pause that came near it or outlasted it, and shrinks slowly, turn by turn, to what the
    caller needs; always between the two delays.
    """

    __slots__ = ("_endpointing", "wait")

    def __init__(self, endpointing: Endpointing) -> None:
        self._endpointing = endpointing
        self.wait = endpointing.min_delay
        """Seconds."""

    def paused(self, seconds: float) -> None:
        """The caller was silent for so long and then went on with the same turn."""
        wanted = seconds * MARGIN
        self._turn_to(wanted, 0.7 if wanted > self.wait else 0.1)

    def ended(self) -> None:
        """A turn ended, and it was the end."""
        self._turn_to(self._endpointing.min_delay, 0.05)

    def _turn_to(self, wanted: float, weight: float) -> None:
        wait = self.wait + weight * (wanted - self.wait)
        self.wait = min(max(wait, self._endpointing.min_delay), self._endpointing.max_delay)
