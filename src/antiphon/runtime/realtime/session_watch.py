"""Notices that a session with a service owes something of which nothing comes, or that the service is gone.

Above: the link to a model that hears and speaks, which says what is owed. Below: the loop's clock. One timer, set only
while something is owed, or the service shows that it is there.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import Protocol

TOLD_AFTER = 2.5
"""Seconds of silence after which a service is told of. It is given up later."""


STALL = 0.5
"""Seconds by which a look is late where the whole program stood still, and that what came meanwhile has to be read."""


class Watched(Protocol):
    """Whoever has the session."""

    @property
    def is_owed(self) -> bool:
        """Something is to come."""

    @property
    def silence(self) -> float | None:
        """Seconds since the service showed that it is there; None where that cannot be told."""

    def fell_silent(self, seconds: float) -> None:
        """Nothing came of it for so long. Told once for each silence."""

    def hung(self, seconds: float) -> None:
        """Nothing came of it for too long."""


class SessionWatch:
    """Watches one session at a time: `hung` is told after `limit` seconds. It does not keep what it watches."""

    __slots__ = ("_due", "_is_told", "_latest", "_limit", "_loop", "_timer", "_watched")

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: float, watched: Watched) -> None:
        self._loop = loop
        self._limit = limit
        self._watched = weakref.ref(watched)
        self._latest = 0.0
        self._is_told = False
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def stir(self) -> None:
        """Something came, or was asked for: silence counts from now."""
        self._latest = self._loop.time()
        if self._is_told:  # the timer is set for the end of that silence
            self._is_told = False
            self.stop()
        if self._timer is None and self._seconds() is not None:
            self._look_in(TOLD_AFTER)

    def _look_in(self, seconds: float) -> None:
        self._due = self._loop.time() + seconds
        self._timer = self._loop.call_later(seconds, self._look)

    def _seconds(self) -> float | None:
        """For how long there has been nothing; None while nothing is to come."""
        watched = self._watched()
        if watched is None:
            return None
        silence = watched.silence
        return max(self._loop.time() - self._latest, silence or 0.0) if watched.is_owed else silence

    def _look(self) -> None:
        self._timer = None
        watched, seconds = self._watched(), self._seconds()
        if watched is None or seconds is None:
            return
        if self._loop.time() - self._due > STALL:
            self._look_in(STALL)
            return
        if seconds >= self._limit - 1e-6:
            watched.hung(seconds)
            return
        if seconds < TOLD_AFTER - 1e-6:
            self._is_told = False
        elif not self._is_told:
            self._is_told = True
            watched.fell_silent(seconds)
        due = self._limit if self._is_told else TOLD_AFTER
        self._look_in(due - seconds)

    def stop(self) -> None:
        """Watch no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
