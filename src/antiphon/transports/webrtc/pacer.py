"""When to send the next frame: every 20 ms by a clock that does not drift, whatever the event loop does meanwhile.

A moment missed by a little is made up for at once, which the far jitter buffer swallows. After a longer stall the
missed moments are left out: sending them all would leave the far end with a backlog, that is, with a delay for the rest
of the call. The numbers of the moments go on counting, so that timestamps made from them keep in step with time.

Pure: time is an argument. Above: `peer`.
"""

from __future__ import annotations

PERIOD = 0.02
"""Seconds between frames."""
CATCH_UP = 2
"""Frames that may follow one another at once after a stall."""


class Pacer:
    """Counts the moments at which a frame is due; the first is when it is first asked."""

    def __init__(self) -> None:
        self._origin: float | None = None
        self._next = 0

    def next(self, now: float) -> tuple[int, float]:
        """The number of the next moment, and how many seconds it is away: 0 if it has come."""
        if self._origin is None:
            self._origin = now
        missed = int((now - self._origin) / PERIOD) - self._next
        if missed > CATCH_UP:
            self._next += missed
        number = self._next
        self._next += 1
        return number, max(self._origin + number * PERIOD - now, 0.0)
