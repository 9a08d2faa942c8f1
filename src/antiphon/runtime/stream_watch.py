"""Notices that a model's stream stands still, and that it goes on.

Above: `generation`, which notes when a chunk comes. Below: the loop's clock. A chunk costs a glance at the clock. One
timer for all responses of a session, set anew only when it fires, looks whether the latest chunk is long ago. What is
done then the core decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from antiphon.timer import Timer

PAUSE = 1.0
"""Seconds without a chunk after which a stream stands still. Services send in bursts, but not so far apart."""


class Pulse:
    """When a stream gave its latest chunk. Whoever reads the stream sets it."""

    __slots__ = ("begun", "is_still", "latest")

    def __init__(self) -> None:
        self.latest = 0.0
        self.begun = False
        self.is_still = True
        """It has not begun, or stands still: `StreamWatch.goes_on` is to be called with the next chunk."""

    def came(self, now: float) -> None:
        """A chunk came."""
        self.latest = now

    def goes_on(self) -> None:
        """It has begun, and does not stand still."""
        self.begun, self.is_still = True, False

    def stands_still(self) -> None:
        """Nothing has come for a while."""
        self.is_still = True


class StreamWatch:
    """Watches the streams of a session, each from its first chunk on.

    `when_paused` is told once for each pause which stream it is, and how many seconds the pause has lasted.
    """

    __slots__ = ("_loop", "_streams", "_timer", "_when_paused")

    def __init__(self, loop: asyncio.AbstractEventLoop, when_paused: Callable[[int, float], None]) -> None:
        self._loop = loop
        self._when_paused = when_paused
        self._streams: dict[int, Pulse] = {}
        self._timer: Timer | None = None

    def goes_on(self, gen: int, pulse: Pulse) -> None:
        """A chunk came: the first, or the first after a pause."""
        pulse.goes_on()
        self._streams[gen] = pulse
        if self._timer is None:
            self._timer = Timer(self._loop, pulse.latest + PAUSE, self._look)

    def _look(self) -> None:
        self._timer = None
        now, still = self._loop.time(), []
        for gen, pulse in self._streams.items():
            if now - pulse.latest >= PAUSE - 1e-6:
                pulse.stands_still()
                still.append((gen, now - pulse.latest))
        for gen, _ in still:
            del self._streams[gen]
        if self._streams:
            due = min(pulse.latest for pulse in self._streams.values()) + PAUSE
            self._timer = Timer(self._loop, due, self._look)
        for gen, seconds in still:
            self._when_paused(gen, seconds)

    def forget(self, gen: int) -> None:
        """This stream is over."""
        self._streams.pop(gen, None)

    def stop(self) -> None:
        """Watch no more."""
        self._streams.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
