"""One heartbeat for everything that plays.

All sessions of a process share one 20 ms timer: wake-ups, not work, are what many calls on one machine cost. It runs
only while somebody listens.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import weakref
from collections.abc import Callable

from antiphon.errors import pass_on

logger = logging.getLogger("antiphon")

PERIOD = 0.02
"""Seconds between ticks."""


class Ticker:
    """Calls its listeners every `PERIOD` seconds of its loop's time."""

    __slots__ = ("__weakref__", "_due", "_listeners", "_loop", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._listeners: list[Callable[[], None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> Ticker:
        """The ticker that all sessions on this loop share. Ask each time: one that stopped is given up."""
        ticker = _tickers.get(loop)
        if ticker is None:
            ticker = _tickers[loop] = cls(loop)
        return ticker

    def add(self, listener: Callable[[], None]) -> None:
        """Call `listener` at every tick, until `remove`. No effect if it is called already."""
        if listener not in self._listeners:
            self._listeners.append(listener)
        if self._timer is None:
            self._due = self._loop.time() + PERIOD
            self._arm()

    def remove(self, listener: Callable[[], None]) -> None:
        """Call `listener` no more. The heartbeat stops with the last one."""
        if listener in self._listeners:
            self._listeners.remove(listener)
        if not self._listeners:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            _tickers.pop(self._loop, None)

    def _arm(self) -> None:
        # An empty context: the one of the caller would be kept alive by the timer.
        self._timer = self._loop.call_at(self._due, self._tick, context=contextvars.Context())

    def _tick(self) -> None:
        # Ticks missed by a blocked loop are not made up for.
        self._due = max(self._due + PERIOD, self._loop.time())
        self._arm()
        for listener in tuple(self._listeners):
            try:
                listener()
            except BaseException as error:
                pass_on(error)
                logger.exception("a listener of the ticker raised")


_tickers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Ticker] = weakref.WeakKeyDictionary()
