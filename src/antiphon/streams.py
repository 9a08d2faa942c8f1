"""Streams that others make (models, voices, nodes of an application), and how to leave them.

Above: whoever iterates one. Below: nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

S = TypeVar("S", bound=AsyncIterable[Any])


@asynccontextmanager
async def closing(stream: S) -> AsyncIterator[S]:
    """Close a stream when the block is left, if it can be closed: its maker stops when nobody listens any more."""
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
