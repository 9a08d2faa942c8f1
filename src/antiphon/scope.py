"""What the running code belongs to: a job, a segment, a toolset's end. The context knows it, and does not keep it.

A timer that was cancelled keeps its context until the time it was set for, an hour perhaps, and so does whatever an
application has set aside. What a context holds itself would stay as long, and with it all of the call.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar, Token
from typing import Generic, TypeVar
from weakref import ref

T = TypeVar("T")


class Scoped(Generic[T]):
    """A context variable whose value lives as long as its owner keeps it. Afterwards, and before, it is None."""

    __slots__ = ("_variable",)

    def __init__(self, name: str) -> None:
        self._variable: ContextVar[ref[T] | None] = ContextVar(name, default=None)

    def get(self) -> T | None:
        """What the running code belongs to, while that is there."""
        known = self._variable.get()
        return None if known is None else known()

    def set(self, value: T | None) -> Token[ref[T] | None]:
        """From here on, and in all that is begun from here, it is `value`. Who sets it keeps it."""
        return self._variable.set(None if value is None else ref(value))

    def reset(self, token: Token[ref[T] | None]) -> None:
        """What it was before."""
        self._variable.reset(token)


def is_cancelled() -> bool:
    """Whether the running task was told to stop, where it caught a `CancelledError`.

    Whoever catches one and keeps its own task beside it makes a circle: task, error, traceback, and all that is in it.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
