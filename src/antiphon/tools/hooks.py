"""Code of the application around calls of tools: to allow or refuse them, to log them, to redact what comes of them.

Above: the runtime, which runs calls through it; tools, toolsets and sessions, which are given it. Below: nothing. A
hook is called when a call is about to be made, after its arguments were checked and once it is decided that it is
started at all: what the ledger answers in its place, no hook sees. Nothing that a hook does changes what is known of
whether a write happened.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from antiphon.options import Effect
from antiphon.record import frozen
from antiphon.timer import within
from antiphon.tools.tool import ToolError


@frozen
class ToolCall:
    """A call that is about to be made."""

    call_id: str
    name: str
    """What the model calls the tool."""
    effect: Effect
    """What its author says that it does to the world."""
    raw_arguments: str
    """The arguments as JSON text, repaired and checked."""

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as plain JSON values, read anew each time: what a hook does to them changes nothing."""
        made: dict[str, Any] = json.loads(self.raw_arguments or "{}")
        return made


Proceed: TypeAlias = Callable[[], Awaitable[Any]]
"""Goes on with the call, through the hooks within and to the tool, and gives what came back. At most once."""


class CallHook(Protocol):
    """Code around calls. What it returns is what the model is told; `ToolError` refuses in words."""

    def __call__(self, call: ToolCall, ctx: Any, proceed: Proceed, /) -> Awaitable[Any]:
        """`ctx` is the `RunContext` of the call."""


Approve: TypeAlias = Callable[[ToolCall, Any], Awaitable[bool]]
"""Asks somebody whether a call may be made; `ctx` is the `RunContext` of the call."""


def approval(approve: Approve, seconds: float) -> CallHook:
    """Code around calls that goes on only when they were approved, within so many seconds."""

    async def approved(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        try:
            async with within(seconds):
                is_approved = await approve(call, ctx)
        except TimeoutError:
            raise ToolError(
                f"`{call.name}` was not run: it had to be approved, and nobody did within {seconds:g} seconds."
            ) from None
        if is_approved is not True:
            raise ToolError(f"`{call.name}` was not run: it had to be approved, and that was refused.")
        return await proceed()

    return approved
