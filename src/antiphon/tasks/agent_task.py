"""`AgentTask`: an agent that takes the floor until it has a result.

Above: tools and hooks that await one. Below: `Agent`, and the session, which lends it the floor while it is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

from antiphon.agent import Agent
from antiphon.chat import ChatContext
from antiphon.errors import UsageError
from antiphon.session_api import current_session
from antiphon.tools.toolset import ToolLike
from antiphon.vad import VAD

T = TypeVar("T")


class AgentTask(Agent, Generic[T]):
    """An agent with one thing to find out or to do. `result = await MyTask(...)` in a tool, in `on_enter` or `on_exit`.

    It begins with `on_enter` and ends when one of its tools (or anything else) calls `complete`. It begins with its
    own `chat_ctx`; afterwards its messages, without calls and instructions, are in the context of the agent that
    awaited it. In a call that was dropped, because the caller spoke over it, it does not begin: `ToolError` is raised.
    Whoever stops waiting ends it, and the tasks that are awaited inside it.
    """

    def __init__(
        self,
        *,
        instructions: str = "",
        id: str | None = None,
        chat_ctx: ChatContext | None = None,
        tools: Sequence[ToolLike] | None = None,
        stt: Any = None,
        vad: VAD | None = None,
        llm: Any = None,
        tts: Any = None,
    ) -> None:
        super().__init__(
            instructions=instructions, id=id, chat_ctx=chat_ctx, tools=tools, stt=stt, vad=vad, llm=llm, tts=tts
        )
        self._outcome: T | Exception | None = None
        self._completed = False
        self._awaited = False
        self._result: asyncio.Future[None] | None = None

    def complete(self, result: T | Exception) -> None:
        """End it: whoever awaits it gets the result, or the exception is raised there.

        Raises `UsageError` when it is complete already, or was given up.
        """
        if self.done():
            raise UsageError(f"{self.id}: complete() was called already, or it was given up; a task has one result")
        self._completed = True
        self._outcome = result
        if self._membership is not None:
            self._membership.completed(result)
        self._settle(lambda result: result.set_result(None))

    def done(self) -> bool:
        """True once it is complete, or was given up."""
        return self._completed or (self._result is not None and self._result.cancelled())

    def cancel(self) -> None:
        """End it without a result: `asyncio.CancelledError` is raised where it is awaited.

        No effect once it is complete.
        """
        if self._result is not None and not self._completed:
            self._completed = True
            self._settle(lambda result: result.cancel())

    def _settle(self, end: Callable[[asyncio.Future[None]], object]) -> None:
        """Let whoever awaits it go on. A synchronous tool says so from its thread."""
        result = self._result
        if result is None:
            return

        def settle() -> None:
            if not result.done():
                end(result)

        if result.get_loop() is _running_loop():
            settle()
        else:
            result.get_loop().call_soon_threadsafe(settle)

    def __await__(self) -> Generator[Any, None, T]:
        return self._run().__await__()

    async def _run(self) -> T:
        if self._awaited:
            raise UsageError(f"{self.id} was awaited already; make a new task each time")
        session = current_session.get()
        if session is None:
            raise UsageError(f"{self.id} can only be awaited inside a tool or a hook of an agent in a session")
        result: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        floor = session.lend_floor(self, result)
        self._awaited = True
        self._result = result
        if self._completed:  # there is nothing to ask
            result.set_result(None)
        await floor
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome  # type: ignore[return-value]  # set by complete


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:  # in a thread
        return None
