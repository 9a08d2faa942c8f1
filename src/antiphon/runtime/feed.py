"""Text and sound on their way from whoever makes them to the one who takes them."""

from __future__ import annotations

import asyncio
from collections import deque

from antiphon.audio import AudioFrame


class TextFeed:
    """Pieces of text for one reader. What has gathered is read at once. Bounded by the response that fills it."""

    __slots__ = ("_closed", "_pieces", "_waiter")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None

    def push(self, piece: str) -> None:
        """Add a piece. Ignored once closed."""
        if piece and not self._closed:
            self._pieces.append(piece)
            self._wake()

    def close(self) -> None:
        """The text is over."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> TextFeed:
        return self

    async def __anext__(self) -> str:
        while not self._pieces:
            if self._closed:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        text = "".join(self._pieces)
        self._pieces.clear()
        return text


class SoundFeed:
    """Frames of sound for one reader. Bounded by the response that fills it."""

    __slots__ = ("_closed", "_frames", "_waiter")

    def __init__(self) -> None:
        self._frames: deque[AudioFrame] = deque()
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None

    def push(self, frame: AudioFrame) -> None:
        """Add a frame. Ignored once closed."""
        if not self._closed:
            self._frames.append(frame)
            self._wake()

    def close(self) -> None:
        """The sound is over."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> SoundFeed:
        return self

    async def __anext__(self) -> AudioFrame:
        while not self._frames:
            if self._closed:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._frames.popleft()
