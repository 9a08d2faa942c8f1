"""`TransferCallTool`: the model passes the caller on to a person, and learns what came of it.

Above: agents that are given it. Below: the room, which knows whether there is a telephone on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from antiphon.errors import UsageError
from antiphon.run_context import RunContext
from antiphon.tools.function import Tool, ToolError, function_tool
from antiphon.tools.toolset import Toolset

TRANSFER_DESCRIPTION = """Passes the caller on to a person, who is called while the caller waits with you.

Call this when the caller asks for a person, or needs what you cannot do. The result says what came of it. Unless they
were connected, the caller is still with you: tell them, and offer something else."""
"""What the model reads, before `extra_description`."""

ACCEPT_LINE = "Press one to take the call."
RESULTS: Mapping[str, str] = {
    "busy": "{to} is busy. The caller is still with you and knows nothing of it yet.",
    "no answer": "{to} did not answer. The caller is still with you and knows nothing of it yet.",
    "voicemail": "{to} was not reached, only a voicemail. The caller is still with you and knows nothing of it yet.",
    "declined": "{to} answered and did not take the call. The caller is still with you and knows nothing of it yet.",
    "caller gone": "The caller hung up while {to} was being called. Nobody was connected.",
    "failed": "{to} could not be called. The caller is still with you and knows nothing of it yet.",
}
"""What the model reads where nobody was connected."""
SECONDS_BESIDE = 100.0
"""That a transfer may take beside the ringing: whoever answers hears the summary, and decides."""


@runtime_checkable
class TransferringRoom(Protocol):
    """A room whose caller can be passed on."""

    async def transfer_call(
        self, to: str, *, summary: str = "", accept_line: str = "", ring_timeout: float = 25.0, language: str = ""
    ) -> str:
        """Call `to`, connect the caller, and return "connected", or what came of it instead."""


class TransferCallTool(Toolset):
    """Lets the agent pass the caller on.

    The person is called while the caller stays with the agent; hears a summary that the model writes; takes the call by
    a key; and is connected. Anything else (busy, no answer, a voicemail, a person who does not take it, a caller who
    hangs up meanwhile) comes back to the model as an error that says so, and counts as not done: it may be tried again.

    Args:
        people: Whom to pass callers on to: numbers by the names that the model and the caller know them by.
        warm: The person called hears a summary first, and may decline. False: they are connected when they answer.
        confirm: What the caller is asked before; `{to}` is the name. False: nothing, the caller has asked for it.
        ring_timeout: Seconds that it may ring.
        accept_line: What the person called is asked behind the summary.
        language: Of the carrier's voice that says both, "en-US"; "": its own.
        extra_description: Is added to the tool's description.
    """

    def __init__(
        self,
        people: Mapping[str, str],
        *,
        warm: bool = True,
        confirm: bool | str | Callable[[Mapping[str, Any]], str] = "Shall I put you through to {to}?",
        ring_timeout: float = 25.0,
        accept_line: str = ACCEPT_LINE,
        language: str = "",
        extra_description: str = "",
    ) -> None:
        super().__init__(id="transfer_call")
        if not people:
            raise UsageError("TransferCallTool: expected whom to pass callers on to. Give {'reception': '+1...'}.")
        self._people = dict(people)
        self._warm = warm
        self._ring_timeout = ring_timeout
        self._accept_line = accept_line
        self._language = language
        self._tool = function_tool(
            self._transfer,
            raw_schema=self._schema(extra_description),
            effect="irreversible",
            confirm=confirm,
            identity=("to",),
            timeout=ring_timeout + SECONDS_BESIDE,
        )

    @property
    def tools(self) -> list[Tool]:
        """The one tool, `transfer_call`."""
        return [self._tool]

    def _schema(self, extra_description: str) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "to": {"type": "string", "enum": list(self._people), "description": "Whom to pass the caller on to"}
        }
        if self._warm:
            parameters["summary"] = {
                "type": "string",
                "description": "Who calls and what they want, in two short sentences, for the person called to hear",
            }
        return {
            "name": "transfer_call",
            "description": f"{TRANSFER_DESCRIPTION}\n{extra_description}".rstrip(),
            "parameters": {"type": "object", "properties": parameters, "required": list(parameters)},
        }

    async def _transfer(self, raw_arguments: dict[str, Any], ctx: RunContext[Any]) -> str:
        to = raw_arguments["to"]
        room = ctx.session.room
        if not isinstance(room, TransferringRoom):
            raise ToolError("There is no telephone on this call, so the caller cannot be passed on.")
        came_of_it = await room.transfer_call(
            self._people[to],
            summary=raw_arguments.get("summary", "") if self._warm else "",
            accept_line=self._accept_line,
            ring_timeout=self._ring_timeout,
            language=self._language,
        )
        if came_of_it != "connected":
            raise ToolError(RESULTS.get(came_of_it, RESULTS["failed"]).format(to=to))
        return f"The caller is connected with {to}. Your part of the call is over: say nothing more."
