"""What the tools of a call still do when the caller has said everything.

Above: the calls of the command line, which stay on the line for it. Below: nothing but a session's events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from antiphon.cli.call_log import base_id
from antiphon.events import (
    ToolAdoptedEvent,
    ToolCallEnded,
    ToolCallStarted,
    ToolDroppedEvent,
    ToolExecutionUpdatedEvent,
)
from antiphon.session import AgentSession


class BackgroundWork:
    """Watches one session's tools, for a caller who waits at most `limit` seconds for them.

    What the caller spoke over (a dropped call) is not waited for: nobody will be told what comes of it.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.given_up: Sequence[str] = ()
        """Names of the tools that still ran when the time was over."""
        self._running: dict[str, str] = {}
        """Names of tools, by call."""
        self._ended = asyncio.Event()
        """A tool has ended since somebody looked."""
        self._deadline: float | None = None

    def listen(self, session: AgentSession[Any]) -> None:
        """Begin to watch a session, which must not have started."""
        session.on("tool_execution_updated", self._updated)
        session.on("tool_adopted", self._adopted)
        session.on("tool_dropped", self._dropped)

    def keeps_waiting(self) -> bool:
        """Whether there is something to wait for, and time left. The time begins with the first question."""
        if not self._running:
            return False
        now = asyncio.get_running_loop().time()
        if self._deadline is None:
            self._deadline = now + self.limit
        if now < self._deadline:
            return True
        self.given_up = tuple(self._running.values())
        return False

    async def told(self, session: AgentSession[Any]) -> None:
        """Wait until all work has ended and the agent has told of it, or the time is over."""
        while self.keeps_waiting():
            assert self._deadline is not None
            self._ended.clear()
            try:
                async with asyncio.timeout_at(self._deadline):
                    await self._ended.wait()
            except TimeoutError:
                continue
            await session.drain()

    def _updated(self, event: ToolExecutionUpdatedEvent) -> None:
        match event.update:
            case ToolCallStarted(function_call=call):
                self._running[base_id(call.call_id)] = call.name
            case ToolCallEnded(call_id=call_id):
                self._forget(call_id)

    def _adopted(self, event: ToolAdoptedEvent) -> None:
        self._running[base_id(event.function_call.call_id)] = event.function_call.name

    def _dropped(self, event: ToolDroppedEvent) -> None:
        self._forget(event.function_call.call_id)

    def _forget(self, call_id: str) -> None:
        self._running.pop(base_id(call_id), None)
        self._ended.set()
