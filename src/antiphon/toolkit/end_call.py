"""`EndCallTool`: the model ends the call, politely.

Above: agents that are given it. Below: the core, which knows when a goodbye is over and whether the caller has more
to say.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from weakref import WeakSet, ref

from antiphon.events import CloseEvent
from antiphon.protocols import get_job_context
from antiphon.run_context import RunContext
from antiphon.session_api import Session
from antiphon.tools.function import Tool, ToolError, function_tool
from antiphon.tools.toolset import Toolset

logger = logging.getLogger("antiphon")

END_CALL_DESCRIPTION = """Ends the call and disconnects from the caller.

Call this when the caller says goodbye, asks to hang up, or has nothing more to ask after you offered further help.
Do not call it while anything the caller asked for is unfinished, nor only because the caller thanks you."""
"""What the model reads, before `extra_description`."""


class EndCallTool(Toolset):
    """Lets the agent say goodbye and end the call.

    The call ends when the goodbye was heard, and two seconds later on a voice line. A caller who says more than a
    goodbye over it or in that time is answered and the call goes on; the tool may be called again.

    `extra_description` is added to the tool's description. `delete_room`: the room is deleted with the call, which
    disconnects everybody in it, telephones included. `end_instructions` is the tool's output, from which the model
    makes the goodbye; None: no goodbye, the call ends after what is being said. `on_tool_called` runs before,
    `on_tool_completed` after; the latter may change the event's output. Outside a job only the session ends.
    """

    def __init__(
        self,
        *,
        extra_description: str = "",
        delete_room: bool = True,
        end_instructions: str | None = "say goodbye to the user",
        on_tool_called: Callable[[Toolset.ToolCalledEvent], Awaitable[None]] | None = None,
        on_tool_completed: Callable[[Toolset.ToolCompletedEvent], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(id="end_call")
        self._delete_room = delete_room
        self._end_instructions = end_instructions
        self._on_tool_called = on_tool_called
        self._on_tool_completed = on_tool_completed
        self._end_call_tool = function_tool(
            self._end_call, name="end_call", description=f"{END_CALL_DESCRIPTION}\n{extra_description}"
        )
        self._sessions: WeakSet[Session[Any]] = WeakSet()
        """Those in which it was called."""

    @property
    def tools(self) -> list[Tool]:
        """The one tool, `end_call`."""
        return [self._end_call_tool]

    async def _end_call(self, ctx: RunContext[Any]) -> Any:
        if ctx.session not in self._sessions:
            self._sessions.add(ctx.session)
            ctx.session.once("close", partial(self._leave_job, ref(ctx.session)))
        if self._on_tool_called is not None:
            await self._on_tool_called(Toolset.ToolCalledEvent(ctx=ctx, arguments={}))
            _give_way(ctx)
        completed = Toolset.ToolCompletedEvent(ctx=ctx, output=self._end_instructions)
        if self._on_tool_completed is not None:
            await self._on_tool_completed(completed)
        ctx.session.end_call()
        return completed.output

    def _leave_job(self, known: ref[Session[Any]], event: CloseEvent) -> None:
        session = known()
        if session is None or not session.said_goodbye:
            return  # the caller went on, and the session has ended for a reason of its own
        job = get_job_context(required=False)
        if job is None:
            logger.debug("the call was ended outside of a job: the session is closed, there is no room to leave")
            return
        if self._delete_room:
            job.add_shutdown_callback(job.delete_room)
        job.shutdown(reason=event.reason.value)


def _give_way(ctx: RunContext[Any]) -> None:
    """The caller spoke over the call and has called it off: nothing ends, and an equal call begins anew."""
    if ctx.run.dropped:
        raise ToolError("The call was not ended: the caller went on.")
