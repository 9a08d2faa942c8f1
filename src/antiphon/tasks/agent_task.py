"""`AgentTask`: an agent that takes the floor until it has a result.

Above: tools and hooks that await one. Below: `Agent`, and the runtime, to which its beginning and end are reported.
While it is awaited, the caller's turns are its own; the tool that waits for it is suspended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from antiphon.agent import Agent
from antiphon.chat import ChatContext
from antiphon.core.facts import AgentTaskFinished, AgentTaskStarted
from antiphon.errors import UsageError
from antiphon.runtime.hooks import current_hook
from antiphon.runtime.tool_runner import current_run
from antiphon.tools.function import ToolError
from antiphon.tools.toolset import ToolLike
from antiphon.vad import VAD

if TYPE_CHECKING:
    from antiphon.application import Application
    from antiphon.runtime.driver import Driver

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
        self._driver: Driver | None = None

    def complete(self, result: T | Exception) -> None:
        """End it: whoever awaits it gets the result, or the exception is raised there.

        Raises `UsageError` when it is complete already.
        """
        if self._completed:
            raise UsageError(f"{self.id}: complete() was called already; a task has one result")
        self._completed = True
        self._outcome = result
        if self._enrolment is not None:
            self._enrolment.completed(result)
        self._settle(lambda result: result.set_result(None))

    def done(self) -> bool:
        """True once it is complete."""
        return self._completed

    def cancel(self) -> None:
        """End it without a result: `asyncio.CancelledError` is raised where it is awaited.

        No effect once it is complete.
        """
        if self._result is not None and not self._completed:
            self._completed = True
            self._settle(lambda result: result.cancel())

    def _settle(self, end: Callable[[asyncio.Future[None]], object]) -> None:
        """Let whoever awaits it go on. A synchronous tool says so from its thread."""
        result, driver = self._result, self._driver
        if result is None or driver is None:
            return

        def settle() -> None:
            if not result.done():
                end(result)

        if driver.in_loop_thread():
            settle()
        else:
            driver.call_in_loop(settle)

    def __await__(self) -> Generator[Any, None, T]:
        return self._run().__await__()

    async def _run(self) -> T:
        if self._awaited:
            raise UsageError(f"{self.id} was awaited already; make a new task each time")
        application, run, parent = self._surroundings()
        self._awaited = True
        if not self._completed:  # else there is nothing to ask
            await self._take_floor(application, run, parent)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome  # type: ignore[return-value]  # set by complete

    async def _take_floor(self, application: Application, run: int | None, parent: Agent) -> None:
        """Be in charge until it is complete."""
        self._result = asyncio.get_running_loop().create_future()
        agent_id = application.enrol(self)
        driver = self._driver = application.running
        task = driver.new_id()
        application.task_awaited(task, self)
        known = {item.id for item in self.context_items()}
        driver.report(AgentTaskStarted(task, agent_id, run=run, parent=None if run is not None else parent.id))
        try:
            if not self._completed:
                await self._result
        finally:
            application.task_ended(task)
            driver.report(AgentTaskFinished(task))
            parent.merge_context(ChatContext(item for item in self.context_items() if item.id not in known))
            application.dismiss(agent_id)

    def _surroundings(self) -> tuple[Application, int | None, Agent]:
        """The session, the run if a tool awaits it, and the agent whose tool or hook that is."""
        run, hook = current_run.get(), current_hook.get()
        where = run or hook
        if where is None:
            raise UsageError(f"{self.id} can only be awaited inside a tool or a hook of an agent in a session")
        if run is None and hook is not None and hook.kind == "on_user_turn_completed":
            raise UsageError(
                f"{self.id} cannot be awaited inside on_user_turn_completed: the caller's turn waits for that hook, and"
                " the task for the caller's next turn; await it in a tool, in on_enter or in on_exit"
            )
        if run is not None and run.released:
            raise ToolError(
                f"{self.id} was not begun: the caller went on, and what the tool was called for is dropped."
            )
        application: Application = where.driver.host  # type: ignore[assignment]  # the host of a session's driver
        return application, None if run is None or run.ended else run.id, application.agent(where.agent)
