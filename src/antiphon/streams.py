"""Streams that others make (models, voices, nodes of an application), and how to leave them.

Above: whoever iterates one. Below: nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any, Generic, TypeVar

S = TypeVar("S", bound=AsyncIterable[Any])


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
