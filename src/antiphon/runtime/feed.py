"""Text and sound on their way from whoever makes them to the one who takes them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, Self, TypeVar

from antiphon.audio import AudioFrame

T = TypeVar("T")


class Feed(Generic[T]):
    """Things for one reader, in order. `push` never blocks; what bounds it is up to who fills it."""

    __slots__ = ("_closed", "_waiter", "items")

    def __init__(self, limit: int | None = None) -> None:
        self.items: deque[T] = deque(maxlen=limit)
        """What the reader has not taken yet. Over `limit` the oldest goes."""
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None

    def push(self, item: T) -> None:
        """Add something. Ignored once closed."""
        if not self._closed:
            self.items.append(item)
            self._wake()

    def close(self) -> None:
        """Nothing more will come."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while not self.items:
            if self._closed:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._take()

    def _take(self) -> T:
        return self.items.popleft()


class TextFeed(Feed[str]):
    """Pieces of text; what has gathered is read at once. Bounded by the response that fills it."""

    __slots__ = ()

    def push(self, item: str) -> None:
        """Add a piece. Ignored once closed."""
        if item:
            super().push(item)

    def _take(self) -> str:
        text = "".join(self.items)
        self.items.clear()
        return text


class SoundFeed(Feed[AudioFrame]):
    """Frames of sound. Bounded by the response that fills it."""

    __slots__ = ()
