"""A session's events as messages to a page: captions, states, tools, history, errors, figures.

Above: a call, which has it listen before the session starts. It keeps nothing but what a later message needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from antiphon.chat import ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.cli.call_log import arguments_of, base_id, rest_of, told_error
from antiphon.console import protocol
from antiphon.console.protocol import Message
from antiphon.events import (
    AgentOutputTranscribedEvent,
    AgentStateChangedEvent,
    ConversationItemAddedEvent,
    ErrorEvent,
    FunctionToolsExecutedEvent,
    ToolAdoptedEvent,
    ToolCallEnded,
    ToolCallStarted,
    ToolCallUpdated,
    ToolDroppedEvent,
    ToolExecutionUpdatedEvent,
    UserInputTranscribedEvent,
    UserStateChangedEvent,
)
from antiphon.session import AgentSession

MAX_TEXT = 20_000
"""Characters of a tool's output or arguments that a page is shown."""


@dataclass(slots=True)
class _Run:
    """A tool at work for a call."""

    call: FunctionCall
    began: float
    seconds: float | None = None
    """How long it took; None while it runs."""
    reported: bool = False
    """It went on in the background: what the call gave back at first is a report, not its result."""


class Narration:
    """Tells a page about one session. `now` gives seconds."""

    def __init__(self, send: Callable[[Message], None], now: Callable[[], float]) -> None:
        self._send = send
        self._now = now
        self._runs: dict[str, _Run] = {}
        """By call id: tools that run, or have ended and whose output is not known yet."""

    def listen(self, session: AgentSession[Any]) -> None:
        """Begin to tell."""
        self._session = session
        session.on("agent_state_changed", self._states)
        session.on("user_state_changed", self._states)
        session.on("user_input_transcribed", self._heard)
        session.on("agent_output_transcribed", self._said)
        session.on("conversation_item_added", self._item)
        session.on("tool_execution_updated", self._tool_updated)
        session.on("tool_adopted", self._tool_adopted)
        session.on("tool_dropped", self._tool_dropped)
        session.on("function_tools_executed", self._tools_executed)
        session.on("turn_metrics", self._turn)
        session.on("error", self._failed)

    def _states(self, event: AgentStateChangedEvent | UserStateChangedEvent) -> None:
        self._send(protocol.state(self._session.agent_state, self._session.user_state))

    def _heard(self, event: UserInputTranscribedEvent) -> None:
        self._send(protocol.heard(event.transcript, final=event.is_final))

    def _said(self, event: AgentOutputTranscribedEvent) -> None:
        self._send(protocol.said(event.segment_id, event.transcript, final=event.is_final))

    def _item(self, event: ConversationItemAddedEvent) -> None:
        item = event.item
        if not isinstance(item, ChatMessage):
            self._send(protocol.handoff(self._session.agent_by_id(item.new_agent_id).label))
            return
        if item.role == "assistant":
            self._look_for_outputs()
        if item.role in ("user", "assistant"):
            text = item.text_content or ""
            unheard = rest_of(str(item.extra.get("written", "")), text) if item.interrupted else ""
            self._send(protocol.message(item.id, item.role, text, interrupted=item.interrupted, unheard=unheard))

    # -- tools

    def _tool_updated(self, event: ToolExecutionUpdatedEvent) -> None:
        match event.update:
            case ToolCallStarted(function_call=call):
                self._started(call)
            case ToolCallUpdated(call_id=call_id, message=text):
                if (run := self._runs.get(base_id(call_id))) is not None:
                    run.reported = True
                    self._tell(run.call, "updated", text=text, seconds=self._now() - run.began)
            case ToolCallEnded(call_id=call_id, status=status):
                if (run := self._runs.get(base_id(call_id))) is not None:
                    run.seconds = self._now() - run.began
                    self._tell(run.call, status, seconds=run.seconds)
                    if status not in ("done", "error"):
                        del self._runs[base_id(call_id)]  # there is no output worth waiting for

    def _started(self, call: FunctionCall) -> None:
        self._runs[base_id(call.call_id)] = _Run(call, self._now())
        self._tell(call, "started")

    def _tool_adopted(self, event: ToolAdoptedEvent) -> None:
        self._started(event.function_call)  # a run goes on under a new call, and ends under it

    def _tool_dropped(self, event: ToolDroppedEvent) -> None:
        self._tell(event.function_call, "dropped")

    def _tools_executed(self, event: FunctionToolsExecutedEvent) -> None:
        for call, output in event.zipped():
            run = self._runs.get(base_id(call.call_id))
            if run is None:  # it never ran: an unknown tool, bad arguments
                self._tell(call, "error" if output.is_error else "done", text=output.output)
            elif run.seconds is not None and not run.reported:
                self._came_of(run, output)
            # Else the model was told a report that was told here, too, and the result comes later.

    def _look_for_outputs(self) -> None:
        """Tell what came of tools that ended in the background: it enters the history when the agent speaks of it."""
        for run in [run for run in self._runs.values() if run.seconds is not None]:
            for item in reversed(self._session.history.items):
                if isinstance(item, FunctionCallOutput) and item.call_id == f"{base_id(run.call.call_id)}/finished":
                    self._came_of(run, item)
                    break

    def _came_of(self, run: _Run, output: FunctionCallOutput) -> None:
        del self._runs[base_id(run.call.call_id)]
        self._tell(run.call, "error" if output.is_error else "done", text=output.output, seconds=run.seconds)

    def _tell(self, call: FunctionCall, status: str, *, text: str | None = None, seconds: float | None = None) -> None:
        arguments = _shown(arguments_of(call.arguments))
        text = None if text is None else text[:MAX_TEXT]
        self._send(
            protocol.tool(base_id(call.call_id), call.name, arguments, status=status, text=text, seconds=seconds)
        )

    # -- figures and failures

    def _turn(self, event: Any) -> None:
        self._send(protocol.turn(event.metrics.to_json()))

    def _failed(self, event: ErrorEvent) -> None:
        self._send(protocol.error(told_error(event)))


def _shown(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments, unless they are too long to be looked at."""
    return arguments if len(str(arguments)) <= MAX_TEXT else {"raw": str(arguments)[:MAX_TEXT]}
