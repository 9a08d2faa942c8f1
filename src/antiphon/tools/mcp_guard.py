"""What comes from an MCP server, before the SDK sees it: floods are dropped, and nothing grows.

Above: `mcp_connection`. Below: the SDK's streams and message types. The SDK starts a task for each notification and
each request of a server and checks results against the server's own schemas, on the event loop: both in good faith.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Self, TypeAlias

logger = logging.getLogger("antiphon")

NOTIFICATIONS: Final = 50
"""Notifications of a server that are heard in a second; further ones are dropped."""
REQUESTS: Final = 16
"""Questions of a server that are open at a time; further ones are dropped."""
_TOOLS_CHANGED: Final = "notifications/tools/list_changed"
_BREATH: Final = 1_000
"""Dropped messages after which the flood is made to wait for a moment."""

Transport: TypeAlias = AbstractAsyncContextManager[tuple[Any, Any]]
"""A pair of streams, as the SDK's transports give them."""


@asynccontextmanager
async def guarded(
    transport: Transport, *, name: str, on_change: Callable[[], None], on_end: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """The transport with a guard. `on_change`: the server says that its tools changed; `on_end`: nothing more comes."""
    guard = _Guard(name, on_change)
    async with transport as (read, write):
        yield _Incoming(read, guard, on_end), _Outgoing(write, guard)


class _Guard:
    """Judges messages."""

    def __init__(self, name: str, on_change: Callable[[], None]) -> None:
        self._name = name
        self._on_change = on_change
        self._second = 0.0
        self._heard = 0
        self._dropped = 0
        self._has_complained = False
        self._open: set[Any] = set()
        """Ids of the server's questions that are not answered yet."""

    async def lets_through(self, item: Any) -> bool:
        """Whether the SDK shall see it."""
        from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

        message = getattr(item, "message", None)
        if message is None:  # an exception: what could not be read
            return await self._drop("what is no message")
        if isinstance(message, JSONRPCNotification):
            if message.method == _TOOLS_CHANGED:
                self._on_change()  # a level: however often it is said, the list is read at its own pace
                return await self._drop(_TOOLS_CHANGED)
            return self._is_in_time() or await self._drop("notifications")
        if isinstance(message, JSONRPCRequest):
            if len(self._open) >= REQUESTS or message.id in self._open:
                return await self._drop("questions")
            self._open.add(message.id)
        elif isinstance(message, JSONRPCResponse):
            _without_output_schemas(message.result)
        return True

    def sent(self, item: Any) -> None:
        """A message goes out: it may answer a question."""
        from mcp_types import JSONRPCError, JSONRPCResponse

        message = getattr(item, "message", None)
        if isinstance(message, (JSONRPCResponse, JSONRPCError)):
            self._open.discard(message.id)

    def _is_in_time(self) -> bool:
        now = asyncio.get_running_loop().time()
        if now - self._second >= 1.0:
            self._second, self._heard = now, 0
        self._heard += 1
        return self._heard <= NOTIFICATIONS

    async def _drop(self, what: str) -> bool:
        if not self._has_complained and what != _TOOLS_CHANGED:
            self._has_complained = True
            logger.warning("MCP server %s: it sends too many %s; they are dropped from now on", self._name, what)
        self._dropped += 1
        if self._dropped % _BREATH == 0:
            await asyncio.sleep(0.02)
        return False


def _without_output_schemas(result: Any) -> None:
    """Take the schemas of results out of a list of tools: the SDK would have a stranger's pattern checked here."""
    tools = result.get("tools") if isinstance(result, dict) else None
    if isinstance(tools, list):
        for tool in tools:
            if isinstance(tool, dict):
                tool.pop("outputSchema", None)


class _Watched:
    """A stream of the SDK's, whose messages pass the guard."""

    def __init__(self, stream: Any, guard: _Guard) -> None:
        self._stream = stream
        self._guard = guard

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> Any:
        return await self._stream.__aexit__(*exc_info)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Incoming(_Watched):
    """Received messages that are guarded, and whose end is noticed."""

    def __init__(self, stream: Any, guard: _Guard, on_end: Callable[[], None]) -> None:
        super().__init__(stream, guard)
        self._on_end = on_end

    async def receive(self) -> Any:
        return await self._next(self._stream.receive)

    async def __anext__(self) -> Any:
        return await self._next(self._stream.__anext__)

    async def _next(self, receive: Callable[[], Any]) -> Any:
        try:
            while not await self._guard.lets_through(item := await receive()):
                pass
            return item
        except BaseException:
            self._on_end()
            raise

    def __aiter__(self) -> _Incoming:
        return self


class _Outgoing(_Watched):
    """Messages to send, in which answers are noticed."""

    async def send(self, item: Any) -> None:
        self._guard.sent(item)
        await self._stream.send(item)
