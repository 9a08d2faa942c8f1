"""What a fake service tells its session, in order: events, and at last an error or the end.

Above: the fakes that give a stream of events. Below: nothing.
"""

from __future__ import annotations

import asyncio
from typing import Final, Generic, TypeVar

Event = TypeVar("Event")

MAX_EVENTS: Final = 10_000
"""Events that nobody has read yet. One more raises `asyncio.QueueFull` in the fake: the session has stopped reading."""


class Outlet(Generic[Event]):
    """One stream of events, for one reader."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[Event | Exception | None] = asyncio.Queue(MAX_EVENTS)
        self._ended = False

    def give(self, event: Event | Exception | None) -> None:
        """Tell an event; an exception is raised in the reader, None is the end."""
        self._events.put_nowait(event)

    def cut(self) -> None:
        """End at once: what was not read is not told any more."""
        while not self._events.empty():
            self._events.get_nowait()
        self._events.put_nowait(None)

    async def next(self) -> Event | None:
        """The next event; None at the end, and ever after. Raises the exception that was given."""
        if self._ended:
            return None
        event = await self._events.get()
        self._ended = event is None or isinstance(event, Exception)
        if isinstance(event, Exception):
            raise event
        return event
