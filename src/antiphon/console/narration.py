"""A session's events as messages to a page: captions, states, tools, history, errors, figures.

Above: a call, which has it listen before the session starts. It keeps nothing but what a later message needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from antiphon.chat import ChatMessage, FunctionCall
from antiphon.cli.call_log import arguments_of, base_id, rest_of
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


class Narration:
    """Tells a page about one session. `now` gives seconds."""

    def __init__(self, send: Callable[[Message], None], now: Callable[[], float]) -> None:
        self._send = send
        self._now = now
        self._began: dict[str, tuple[FunctionCall, float]] = {}
        """By id: calls that a tool runs for, and since when."""

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
        elif item.role in ("user", "assistant"):
            text = item.text_content or ""
            unheard = rest_of(str(item.extra.get("written", "")), text) if item.interrupted else ""
            self._send(protocol.message(item.id, item.role, text, interrupted=item.interrupted, unheard=unheard))

    # -- tools

    def _tool_updated(self, event: ToolExecutionUpdatedEvent) -> None:
        match event.update:
            case ToolCallStarted(function_call=call):
                self._began[base_id(call.call_id)] = call, self._now()
                self._tell(call, "started")
            case ToolCallUpdated(call_id=call_id, message=text):
                if (known := self._began.get(base_id(call_id))) is not None:
                    self._tell(known[0], "updated", text=_text(text), began=known[1])
            case ToolCallEnded(call_id=call_id, status=status):
                if (known := self._began.get(base_id(call_id))) is not None:
                    self._tell(known[0], status, began=known[1])

    def _tool_adopted(self, event: ToolAdoptedEvent) -> None:
        # A run goes on under a new call, and ends under it.
        self._began[base_id(event.function_call.call_id)] = event.function_call, self._now()
        self._tell(event.function_call, "started")

    def _tool_dropped(self, event: ToolDroppedEvent) -> None:
        known = self._began.get(base_id(event.function_call.call_id))
        self._tell(event.function_call, "dropped", began=None if known is None else known[1])

    def _tools_executed(self, event: FunctionToolsExecutedEvent) -> None:
        for call, output in event.zipped():
            known = self._began.pop(base_id(call.call_id), None)
            # What the model was told of a call that goes on in the background is a report, not its result.
            status = "error" if output.is_error else "done"
            self._tell(call, status, text=_text(output.output), began=None if known is None else known[1])

    def _tell(self, call: FunctionCall, status: str, *, text: str | None = None, began: float | None = None) -> None:
        self._send(
            protocol.tool(
                base_id(call.call_id),
                call.name,
                _shown(arguments_of(call.arguments)),
                status=status,
                text=text,
                seconds=None if began is None else self._now() - began,
            )
        )

    # -- figures and failures

    def _turn(self, event: Any) -> None:
        self._send(protocol.turn(event.metrics.to_json()))

    def _failed(self, event: ErrorEvent) -> None:
        self._send(protocol.error(f"{type(event.error).__name__}: {event.error}"))


def _text(value: Any) -> str:
    return str(value)[:MAX_TEXT]


def _shown(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments, unless they are too long to be looked at."""
    return arguments if len(str(arguments)) <= MAX_TEXT else {"raw": _text(arguments)}
