"""A session's events as messages to a page: captions, states, tools, history, errors, figures.

Above: a call, which has it listen before the session starts. Below: the record of the call, which knows what became of
each tool. It keeps nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from antiphon.calls.record import CallRecord, ConsentRecord, ToolCallRecord, ToolStep, arguments_of, base_id, unheard
from antiphon.chat import ChatMessage, FunctionCall
from antiphon.console import protocol
from antiphon.console.protocol import Message
from antiphon.events import (
    AgentOutputTranscribedEvent,
    AgentStateChangedEvent,
    ConversationItemAddedEvent,
    SaidAsideEvent,
    UserInputTranscribedEvent,
    UserStateChangedEvent,
)
from antiphon.metrics import TurnMetrics
from antiphon.session import AgentSession
from antiphon.visible import visible_data

MAX_TEXT = 20_000
"""Characters of one text that a page is shown."""


class Narration:
    """Tells a page about one session. `record` follows the same session, and listens to it before this does.

    `name`: what the page calls an agent of this label.
    """

    def __init__(
        self, send: Callable[[Message], None], record: CallRecord, *, name: Callable[[str], str] = lambda label: label
    ) -> None:
        self._send_on = send
        self._name = name
        self._record = record
        record.on("tool", self._tool)
        record.on("reply", self._reply)
        record.on("consent", self._consent)
        record.on("claim", lambda claim: self._send(protocol.claim(claim.sentence, claim.done)))
        record.on("error", self._failed)

    def listen(self, session: AgentSession[Any]) -> None:
        """Begin to tell."""
        self._session = session
        session.on("agent_state_changed", self._states)
        session.on("user_state_changed", self._states)
        session.on("user_input_transcribed", self._heard)
        session.on("agent_output_transcribed", self._said)
        session.on("said_aside", self._aside)
        session.on("conversation_item_added", self._item)

    def _send(self, message: Message) -> None:
        self._send_on(visible_data(message, MAX_TEXT))

    def _states(self, event: AgentStateChangedEvent | UserStateChangedEvent) -> None:
        self._send(protocol.state(self._session.agent_state, self._session.user_state))

    def _heard(self, event: UserInputTranscribedEvent) -> None:
        self._send(protocol.heard(event.transcript, final=event.is_final))

    def _said(self, event: AgentOutputTranscribedEvent) -> None:
        self._send(protocol.said(event.segment_id, event.transcript, final=event.is_final))

    def _aside(self, event: SaidAsideEvent) -> None:
        self._send(protocol.aside(event.segment_id, event.text, self._name(self._session.current_agent.label)))

    def _item(self, event: ConversationItemAddedEvent) -> None:
        item = event.item
        if not isinstance(item, ChatMessage):
            self._send(protocol.handoff(self._name(self._session.agent_by_id(item.new_agent_id).label)))
        elif item.role in ("user", "assistant"):
            text = item.text_content or ""
            agent = self._name(self._session.current_agent.label) if item.role == "assistant" else ""
            cut, going_on = item.interrupted, unheard(item)
            self._send(protocol.message(item.id, item.role, text, interrupted=cut, unheard=going_on, agent=agent))

    def _tool(self, call: ToolCallRecord, step: ToolStep) -> None:
        now, output = self._record.now(), "error" if call.is_error else "done"
        match step:
            case "started" | "adopted":  # a run goes on under a new call, and ends under it
                self._tell(call, "started")
            case "updated":
                self._tell(call, "updated", text=self._record.progress[call.call_id], seconds=now - call.started)
            case "dropped":
                self._tell(call, "dropped")
            case "ended" | "given_up":
                self._tell(call, call.status, seconds=now - call.started)
            case "refused":
                self._tell(call, output, text=call.output)
            case "told":
                ended = now if call.ended is None else call.ended
                self._tell(call, output, text=call.output, seconds=ended - call.started)

    def _tell(self, call: ToolCallRecord, status: str, text: str | None = None, seconds: float | None = None) -> None:
        arguments = _shown(call.arguments)
        told = protocol.tool(
            call.call_id, call.name, arguments, status=status, text=text, seconds=seconds, guarantee=call.guarantee
        )
        self._send(told)

    def _consent(self, call: FunctionCall, consent: ConsentRecord) -> None:
        arguments = _shown(arguments_of(call.arguments))
        self._send(protocol.consent(base_id(call.call_id), call.name, arguments, consent))

    def _reply(self, reply: TurnMetrics) -> None:
        self._send(protocol.turn(reply.to_json()))

    def _failed(self, told: str) -> None:
        self._send(protocol.error(told))


def _shown(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments, unless they are too long to be looked at."""
    return arguments if len(said := str(arguments)) <= MAX_TEXT else {"raw": said}
