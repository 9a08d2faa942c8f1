"""A call on its way through the application's hooks, and what is known of it whatever they do.

Above: the tool runner. Below: `hooks`. The hooks say what the model reads. Whether a write happened, the tool says, and
no hook changes it: a hook that fails behind a write has not undone it, one that swallows an error has not done it.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from antiphon.core.facts import ToolReturned
from antiphon.core.texts import unknown_outcome
from antiphon.errors import UsageError
from antiphon.tools.function import CallContext
from antiphon.tools.hooks import CallHook, ToolCall


class Reached(enum.Enum):
    """How far a call came."""

    NOTHING = enum.auto()
    """No hook has gone on to the tool."""
    AT_WORK = enum.auto()
    DONE = enum.auto()
    FAILED = enum.auto()
    """It did not happen."""
    UNKNOWN = enum.auto()


_NOTHING, _AT_WORK, _DONE = Reached.NOTHING, Reached.AT_WORK, Reached.DONE
"""Asked for with every call; before Python 3.12 the member of an enum is long in being found."""


class Hooked:
    """One call through its hooks, the outermost first.

    `failed` tells of what the tool raised: FAILED, UNKNOWN, or DONE where that is an answer.
    """

    def __init__(
        self,
        hooks: Sequence[CallHook],
        call: ToolCall,
        ctx: CallContext,
        tool: Callable[[], Awaitable[Any]],
        failed: Callable[[BaseException], Reached],
    ) -> None:
        self._hooks = hooks
        self._call = call
        self._ctx = ctx
        self._tool = tool
        self._failed = failed
        self._is_over: asyncio.Event | None = None
        self.reached = _NOTHING

    async def value(self) -> Any:
        """What the outermost hook gives. Raises what it raises."""
        try:
            return await self._through(0)
        finally:
            if self.reached is _AT_WORK:  # a hook left it behind
                self._is_over = asyncio.Event()
                await self._is_over.wait()

    def _through(self, position: int) -> Awaitable[Any]:
        return self._enter() if position == len(self._hooks) else self._through_hook(position)

    async def _through_hook(self, position: int) -> Any:
        hook, proceed = self._hooks[position], _Once(self._call.name, partial(self._through, position + 1))
        try:
            return await hook(self._call, self._ctx, proceed)
        finally:
            proceed.close()

    async def _enter(self) -> Any:
        self.reached = _AT_WORK
        try:
            value = await self._tool()
        except BaseException as error:
            self.reached = self._failed(error)
            raise
        else:
            self.reached = _DONE
            return value
        finally:
            if self._is_over is not None:
                self._is_over.set()

    def settled(self, told: ToolReturned) -> ToolReturned:
        """What was told of a write, with what is known of it."""
        name = self._call.name
        match self.reached:
            case Reached.UNKNOWN | Reached.AT_WORK if not told.unknown:
                text = f"{told.output.rstrip('.')}. {unknown_outcome(name)}".lstrip(". ")
                return replace(told, output=text, is_error=True, unknown=True, reply=True, handoff=None)
            case Reached.DONE if told.is_error:
                text = f"`{name}` has happened; do not call it again. What came of it cannot be shown: {told.output}"
                return replace(told, output=text, is_error=False, unknown=False)
            case Reached.FAILED if not told.is_error:
                return replace(told, is_error=True, reply=True, handoff=None)
            case Reached.NOTHING | Reached.FAILED if told.unknown:
                return replace(told, unknown=False)
            case _:
                return told


class _Once:
    """Goes on with the call, for one hook."""

    def __init__(self, name: str, go_on: Callable[[], Awaitable[Any]]) -> None:
        self._name = name
        self._go_on = go_on
        self._is_used = self._is_closed = False

    async def __call__(self) -> Any:
        """Raises `UsageError` the second time, and once its hook has returned."""
        if self._is_used or self._is_closed:
            why = "was called twice" if self._is_used else "was called after its hook had returned"
            raise UsageError(f"proceed() of a call of {self._name!r} {why}: a call is made once. Keep what it gave.")
        self._is_used = True
        return await self._go_on()

    def close(self) -> None:
        self._is_closed = True
