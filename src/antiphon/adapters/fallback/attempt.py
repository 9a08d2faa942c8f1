"""One provider at work, in a task of its own.

Above: the adapters. A provider that stalls may also be slow to stop (a connection that nobody answers is closed only
after a while). The next provider must not wait for that, so an attempt that is given up ends by itself, and the
adapter's `Retired` is the owner that waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any, Generic, TypeVar

from antiphon.errors import as_exception, pass_on
from antiphon.streams import closing
from antiphon.timer import within

logger = logging.getLogger("antiphon")

T = TypeVar("T")

_AHEAD = 16
"""Items that a provider may be ahead of who takes them."""
_CLOSE_GRACE = 1.0
"""Seconds that the work of a provider may take to stop, before nobody waits for it any more."""


class Retired:
    """Tasks that were cancelled and have not ended yet."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def add(self, task: asyncio.Task[Any]) -> None:
        """Cancel the task and see to its end."""
        if task.done():
            return
        task.cancel()
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.debug("%s failed while it was stopped: %s", task.get_name(), error)

    async def aclose(self) -> None:
        """Wait until all have ended, for a bounded time."""
        if not self._tasks:
            return
        _, pending = await asyncio.wait(self._tasks, timeout=_CLOSE_GRACE)
        for task in pending:
            logger.warning("%s did not stop within %g s", task.get_name(), _CLOSE_GRACE)


class Attempt(Generic[T]):
    """What one provider gives, item by item. Begins at once."""

    def __init__(self, source: AsyncIterator[T], *, name: str, retired: Retired) -> None:
        self._retired = retired
        self._items: asyncio.Queue[T | None] = asyncio.Queue(_AHEAD)
        self._error: Exception | None = None
        self._task = asyncio.create_task(self._run(source), name=name)

    async def _run(self, source: AsyncIterator[T]) -> None:
        try:
            async with closing(source):
                async for item in source:
                    await self._items.put(item)
        except BaseException as error:
            pass_on(error)
            self._error = as_exception(error)
        await self._items.put(None)

    async def next(self, timeout: float) -> T | None:
        """The next item, None after the last. Raises what the provider raised, and TimeoutError."""
        if self._items.empty():
            async with within(timeout):
                item = await self._items.get()
        else:
            item = self._items.get_nowait()
        if item is None and self._error is not None:
            raise self._error
        return item

    def retire(self) -> None:
        """Give it up without waiting for it."""
        self._retired.add(self._task)

    async def aclose(self) -> None:
        """Stop the provider. Waits until it has, for a bounded time."""
        self.retire()
        await asyncio.wait({self._task}, timeout=_CLOSE_GRACE)
