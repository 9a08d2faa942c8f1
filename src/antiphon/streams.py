"""Streams that others make (models, voices, nodes of an application): how to leave them, and when to give one up.

Above: whoever iterates one. Below: nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable
from typing import Any, Generic, Self, TypeVar

S = TypeVar("S", bound=AsyncIterable[Any])


class Closable(ABC):
    """What is closed where an `async with` block is left."""

    __slots__ = ()

    @abstractmethod
    async def aclose(self) -> None:
        """Release what it holds. May be called twice."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class closing(Generic[S]):  # named like contextlib.aclosing, which takes nothing that cannot be closed
    """Close a stream when the block is left, if it can be closed: its maker stops when nobody listens any more."""

    __slots__ = ("_stream",)

    def __init__(self, stream: S) -> None:
        self._stream = stream

    async def __aenter__(self) -> S:
        return self._stream

    async def __aexit__(self, *_: object) -> None:
        close = getattr(self._stream, "aclose", None)
        if close is not None:
            await close()


MAX_BREAKS = 8
"""Connections in a row that gave something, and broke soon, before the service is given up."""
STEADY = 30.0
"""Seconds that a connection must hold for the ones before it to be forgiven."""
LONGEST_WAIT = 4.0
"""Seconds before another attempt, at most: somebody is on the line."""


class Breaks:
    """How often a connection broke in a row, and so how long to wait for the next one, or whether to give up.

    `most_mute`: connections in a row that may break without having given anything. `delay`: seconds before the second
    attempt; doubled each time. A service that gives something and breaks, again and again, is given up, too.
    """

    def __init__(self, *, most_mute: int, delay: float) -> None:
        self.in_a_row = 0
        self._mute = 0
        self._most_mute = most_mute
        self._delay = delay

    def broke(self, *, held: float, gave: bool) -> float | None:
        """One broke that held for so many seconds and gave something or not: seconds to wait, or None to give up."""
        self._mute = 0 if gave else self._mute + 1
        self.in_a_row = 1 if gave and held >= STEADY else self.in_a_row + 1
        if self._mute > self._most_mute or self.in_a_row > MAX_BREAKS:
            return None
        return min(self._delay * 2.0 ** (self.in_a_row - 1), LONGEST_WAIT)
