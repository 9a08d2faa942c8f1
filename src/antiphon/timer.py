"""A timer that lets what stands ready go first when the event loop, or the machine, stood still.

Above: whoever gives somebody up after a while (`Timer`, `within`); the driver, which tells the core of lost time by the
same measure.
Below: the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

STOOD_STILL = 0.1
"""Seconds by which a timer is late where everything stood still."""
CATCH_UP = 1.0
"""Seconds, at most, in which what came meanwhile is taken before anybody is given up."""


def catch_up(late: float) -> float:
    """Seconds in which what stands ready goes first, where a timer is `late`. 0: nothing stood still."""
    return 0.0 if late < STOOD_STILL else min(late, CATCH_UP)


class Timer:
    """Calls `callback` at `due`, on the clock of the loop, or, if it is late, when what stood ready has been taken."""

    __slots__ = ("_callback", "_due", "_handle", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop, due: float, callback: Callable[[], object]) -> None:
        self._loop = loop
        self._due = due
        self._callback = callback
        self._handle = loop.call_at(due, self._came)

    def _came(self) -> None:
        if wait := catch_up(self._loop.time() - self._due):
            self._handle = self._loop.call_later(wait, self._callback)
        else:
            self._callback()

    def cancel(self) -> None:
        """It is not needed any more."""
        self._handle.cancel()


@asynccontextmanager
async def within(seconds: float | None) -> AsyncIterator[asyncio.Timeout]:
    """As `asyncio.timeout`, but with the patience of `Timer`: an answer that stands ready beats a limit that is late.

    None: no limit. Raises `TimeoutError`.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        timer = None
        if seconds is not None:
            timer = Timer(loop, loop.time() + seconds, lambda: limit.reschedule(loop.time()))
        try:
            yield limit
        finally:
            if timer is not None:
                timer.cancel()
