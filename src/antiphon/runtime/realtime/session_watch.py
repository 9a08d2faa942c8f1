"""Notices that a session with a service owes something, and that nothing comes of it.

Above: the link to a model that hears and speaks, which says what is owed. Below: the loop's clock. One timer, set only
while something is owed.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import Protocol

TOLD_AFTER = 2.5
"""Seconds of silence after which a service is told of. It is given up later."""


class Watched(Protocol):
    """Whoever has the session."""

    @property
    def is_owed(self) -> bool:
        """Something is to come."""

    def fell_silent(self, seconds: float) -> None:
        """Nothing came of it for so long. Told once for each silence."""

    def hung(self, seconds: float) -> None:
        """Nothing came of it for too long."""


class SessionWatch:
    """Watches one session at a time: `hung` is told after `limit` seconds. It does not keep what it watches."""

    __slots__ = ("_is_told", "_latest", "_limit", "_loop", "_timer", "_watched")

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: float, watched: Watched) -> None:
        self._loop = loop
        self._limit = limit
        self._watched = weakref.ref(watched)
        self._latest = 0.0
        self._is_told = False
        self._timer: asyncio.TimerHandle | None = None

    def stir(self) -> None:
        """Something came, or was asked for: silence counts from now."""
        self._latest = self._loop.time()
        self._is_told = False
        watched = self._watched()
        if self._timer is None and watched is not None and watched.is_owed:
            self._timer = self._loop.call_later(TOLD_AFTER, self._look)

    def _look(self) -> None:
        self._timer = None
        watched = self._watched()
        if watched is None or not watched.is_owed:
            return
        seconds = self._loop.time() - self._latest
        if seconds >= self._limit - 1e-6:
            watched.hung(seconds)
            return
        if seconds >= TOLD_AFTER - 1e-6 and not self._is_told:
            self._is_told = True
            watched.fell_silent(seconds)
        due = self._latest + (self._limit if self._is_told else TOLD_AFTER)
        self._timer = self._loop.call_at(due, self._look)

    def stop(self) -> None:
        """Watch no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
