"""What a fake service tells its session, in order: events, and at last an error or the end.

Above: the fakes that give a stream of events. Below: nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, Generic, TypeVar

Event = TypeVar("Event")

MAX_EVENTS: Final = 10_000
"""Events that nobody has read yet. One more raises `asyncio.QueueFull` in the fake: the session has stopped reading."""


class Outlet(Generic[Event]):
    """One stream of events, for one reader."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[Event | Exception | None] = asyncio.Queue(MAX_EVENTS)
        self._to_come: set[asyncio.TimerHandle] = set()
        self._last_given = False
        """Nothing is added to what is to come: the end follows it."""
        self._ended = False
        """The reader has met the end."""

    def give(self, event: Event | Exception | None, *, after: float = 0.0) -> None:
        """Tell an event, in so many seconds; an exception is raised in the reader, None is the end."""
        if after <= 0:
            self._events.put_nowait(event)
            return
        timer: asyncio.TimerHandle

        def come() -> None:
            self._to_come.discard(timer)
            self._events.put_nowait(event)
            self._end_if_due()

        timer = asyncio.get_running_loop().call_later(after, come)
        self._to_come.add(timer)

    def end(self) -> None:
        """End as soon as everything was told that is to come."""
        self._last_given = True
        self._end_if_due()

    def _end_if_due(self) -> None:
        if self._last_given and not self._to_come:
            self._events.put_nowait(None)

    def cut(self) -> None:
        """End at once: what was not read is not told any more, nor is what was to come."""
        for timer in self._to_come:
            timer.cancel()
        self._to_come.clear()
        while not self._events.empty():
            self._events.get_nowait()
        self._events.put_nowait(None)

    async def read(self, close: Callable[[], Awaitable[None]]) -> AsyncIterator[Event]:
        """The events up to the end, and none ever after. An exception breaks the service: `close`, then raise it."""
        while not self._ended:
            event = await self._events.get()
            self._ended = event is None or isinstance(event, Exception)
            if isinstance(event, Exception):
                await close()
                raise event
            if event is not None:
                yield event
