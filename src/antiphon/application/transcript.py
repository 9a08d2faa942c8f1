"""What is written down of a session: its history, and the agents' contexts.

Above: the driver, by `speeches`, which know what an item belongs to. Below: the agents' contexts.
"""

from __future__ import annotations

from collections.abc import Sequence

from antiphon.application.cast import Cast
from antiphon.application.rest import Rest
from antiphon.application.surroundings import Surroundings
from antiphon.chat import AgentHandoff, ChatItem, ChatMessage, FunctionCallOutput
from antiphon.core.commands import Record
from antiphon.events import ConversationItemAddedEvent, ToolResultEvent


class Transcript:
    """Everything that was said and done in one session."""

    def __init__(self, here: Surroundings, cast: Cast, rest: Rest) -> None:
        self._here = here
        self._cast = cast
        self._rest = rest
        self.items: list[ChatItem] = []
        """The history."""

    def goes_on(self, items: Sequence[ChatItem]) -> None:
        """The call began elsewhere, and this is its history so far."""
        self.items[:0] = items

    def record(self, command: Record, raw: str | None) -> None:
        """Write an item down. `raw`: how it was written, if other words were heard."""
        item, agent = command.item, self._cast.agents[command.agent]
        if command.carried:
            if not any(known.id == item.id for known in agent.context_items()):  # it may have been given the context
                agent.append_item(item)
            return
        agent.append_item(item)
        self.items.append(item)
        if raw is not None and isinstance(item, ChatMessage):
            # Of a message that was cut the model sees what was heard; the rest is for reports.
            item.extra["written" if item.interrupted else "raw"] = raw
        self._rest.gathers(item, self._cast.agents)
        if isinstance(item, FunctionCallOutput):
            self._output_came(item)
        elif isinstance(item, (ChatMessage, AgentHandoff)):
            self._here.tell("conversation_item_added", _added, item)

    def _output_came(self, output: FunctionCallOutput) -> None:
        call_id, _, what = output.call_id.partition("/")
        if what:  # a tool in the background has reported or returned: that has an id of its own, of two parts
            is_final = what in ("finished", "late")
            self._here.tell("tool_result", lambda: ToolResultEvent(call_id=call_id, output=output, is_final=is_final))


def _added(item: ChatMessage | AgentHandoff) -> ConversationItemAddedEvent:
    return ConversationItemAddedEvent(item=item)
