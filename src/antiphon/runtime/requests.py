"""What a model is asked with: instructions, the agent's context, what is open, notes for one response, and tools.

Above: `generation`. Below: agents and their tables of tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from antiphon.chat import (
    INSTRUCTIONS_ID,
    NOTE_ID,
    REPLY_INSTRUCTIONS_ID,
    SUMMARY_ID,
    AgentHandoff,
    ChatContext,
    ChatItem,
    ChatMessage,
    new_id,
)
from antiphon.core.commands import Generate
from antiphon.errors import ToolRefused
from antiphon.events import ModelAnsweredEvent, ModelRequestEvent
from antiphon.options import ModelSettings
from antiphon.overflow import overflow_of
from antiphon.runtime.answers import Answers
from antiphon.runtime.carried import GOES_ON_ID
from antiphon.runtime.context_window import ContextWindow
from antiphon.runtime.host import Agents, Events, Tools
from antiphon.runtime.instructions import instructions_told
from antiphon.runtime.masks import Masks
from antiphon.runtime.refused_tools import RefusedTools
from antiphon.visible import LONGEST_SHOWN, shortened

MANY_WORDS = 60
"""Of what the caller did not hear the model is reminded of so much."""

_DEFAULT_SETTINGS = ModelSettings()
_NO_TOOLS = ModelSettings(tool_choice="none")


class Requests:
    """Makes the requests of a session."""

    def __init__(
        self,
        agents: Agents,
        tools: Tools,
        events: Events,
        masks: Masks,
        window: ContextWindow,
        written: Callable[[str], str | None],
        clock: Callable[[], float],
    ) -> None:
        self._agents = agents
        self._events = events
        self._masks = masks
        self.window = window
        """How much of the talk a request carries."""
        self._written = written
        """By message id: how the model wrote what is not in the history yet, where other words are spoken."""
        self._clock = clock
        self._tools = tools
        self._refused = RefusedTools(events)
        self._for_turn: dict[str, list[ChatItem]] = {}
        """By agent: what `on_user_turn_completed` added for the next reply."""
        self._for_speech: dict[int, list[ChatItem]] = {}
        """The same, once the speech that answers the turn has begun."""
        self._instructed: dict[int, str] = {}
        """By speech: the id of the item that its own instructions stand behind, in each of its requests."""
        self._instructions: dict[str, tuple[ChatItem | None, ChatMessage]] = {}
        """By agent: its instructions, and what a model is told that may call tools."""

    # -- what hooks add

    def add_for_turn(self, agent: str, items: list[ChatItem]) -> None:
        """Items that the next reply of `agent` reads, and no later one."""
        self._for_turn[agent] = items

    def forget(self, speech: int) -> None:
        """The speech is over."""
        self._for_speech.pop(speech, None)
        self._instructed.pop(speech, None)
        self.window.forget(speech)

    def _items_for(self, command: Generate) -> list[ChatItem]:
        added = self._for_turn.pop(command.agent, None)
        if added is not None:
            self._for_speech[command.speech] = added
        return self._for_speech.get(command.speech, [])

    # -- requests

    def context(self, command: Generate) -> ChatContext:
        """Instructions, what fits of the agent's context, what is still open, and notes for this response only."""
        items = self.window.carried(command)
        items += self._as_written(command.open)
        if self._for_turn or self._for_speech:
            _insert_before_turn(items, self._items_for(command))
        cut, farewell = self._cut(items) if items and _is_said_by(items[-1], "user") else (None, None)
        if command.instructions:
            self._instruct(command, items)
        if farewell is not None:
            items.append(_note(_note_of_farewell(farewell)))
        if cut is not None or command.unheard or command.retry or command.steps_used:
            items += _notes(command, cut)
        context = ChatContext()
        context.items = self._masks.shown(items)
        return context

    def told(self, command: Generate, context: ChatContext, tools: Sequence[Any]) -> None:
        """Those who look into the call are told what the model is about to be asked with."""
        if self._events.listened("model_request"):
            told = ModelRequestEvent(agent_id=command.agent, chat_ctx=context.copy(), tools=list(tools))
            self._events.looked_into(told)

    def watched(self, command: Generate) -> Answers | None:
        """Who watches what models are asked for this response. None: nobody wants to know."""
        if not self._events.listened("model_answered"):
            return None
        events = self._events
        return Answers(
            command.agent,
            command.gen,
            self._clock,
            lambda exchange: events.looked_into(ModelAnsweredEvent(exchange=exchange)),
        )

    def _instruct(self, command: Generate, items: list[ChatItem]) -> None:
        """Put what the reply was asked for with behind what was said before, and before what its own tools came to.

        Behind these it would read as not done yet, and the model would make its calls again.
        """
        last = self._instructed.setdefault(command.speech, items[-1].id if items else "")
        behind = (last, SUMMARY_ID, GOES_ON_ID)  # what it stood behind may have left, and what its tools came to not
        at = next((n for n in range(len(items), 0, -1) if items[n - 1].id.startswith(behind)), len(items))
        items.insert(at if last else 0, _instructions(command))

    def _cut(self, items: list[ChatItem]) -> tuple[ChatMessage | None, ChatMessage | None]:
        """What the agent was saying when the caller spoke over it; else what the agent before was, as it left.

        None where the caller let them finish, or was answered since.
        """
        handoff: AgentHandoff | None = None
        for item in reversed(items):
            if isinstance(item, ChatMessage) and item.role == "assistant":
                if item.interrupted:
                    return item, None
                break
            if handoff is None and isinstance(item, AgentHandoff) and item.old_agent_id is not None:
                handoff = item
        if handoff is None:
            return None, None
        try:
            return None, _latest_cut(self._agents.agent(handoff.old_agent_id or "").context_items())
        except KeyError:  # an agent of a call that was resumed without it
            return None, None

    def _as_written(self, items: Iterable[ChatItem]) -> Iterable[ChatItem]:
        """Messages are shown as they will be once they were heard, so that what a cache knows of a request stays."""
        for item in items:
            raw = self._written(item.id) if _is_said_by(item, "assistant") else None
            if raw is not None and isinstance(item, ChatMessage):
                item.extra.setdefault("written" if item.interrupted else "raw", raw)
            yield item

    def context_again(self, command: Generate) -> ChatContext:
        """The same, a while later: some of what was open may be in the agent's context by now."""
        known = {item.id for item in self._agents.agent(command.agent).context_items()}
        return self.context(replace(command, open=tuple(item for item in command.open if item.id not in known)))

    def news(self, command: Generate) -> list[ChatItem]:
        """The agent's context and what is still open, for a model that remembers the rest."""
        return self._masks.shown([*self._agents.agent(command.agent).context_items(), *command.open])

    def notes(self, command: Generate) -> str:
        """What is to be known for this response only, as text."""
        notes = self._items_for(command) + _notes(command)
        if command.instructions:
            notes.append(_instructions(command))
        return "\n".join(note.text_content or "" for note in notes if isinstance(note, ChatMessage))

    def tools(self, command: Generate) -> list[Any]:
        """What the model may call. A list of its own."""
        if not command.tools:
            return []
        return self._refused.without(self._tools.tools_of(command.agent, on_enter=command.on_enter).flatten())

    def tools_of_adopted(self, agent: str) -> list[Any]:
        """What the model may call in a response that it began unasked."""
        return list(self._tools.tools_of(agent, on_enter=False).flatten())

    def ask_for_less(self, command: Generate, error: Exception, request: ChatContext, tools: list[Any]) -> bool:
        """Leave out what a request was refused for, from here on. False if asking again would change nothing."""
        if isinstance(error, ToolRefused):
            return self._refused.leave_out(error, tools)
        overflow = overflow_of(error)
        return overflow is not None and self.window.overflowed(command, overflow, request.items, tools)

    def settings(self, command: Generate) -> ModelSettings:
        """How the model may choose among its tools."""
        if not command.tools:
            return _NO_TOOLS
        if command.tool_choice is None or not self._refused.allow(command.tool_choice):
            return _DEFAULT_SETTINGS
        return ModelSettings(tool_choice=command.tool_choice)

    def say_what_results_are(self, command: Generate, items: list[ChatItem], tools: list[Any]) -> None:
        """Add it to the instructions of an agent that has tools, offered or not.

        It is the same item as long as these are the same, for those who keep its form.
        """
        agent = command.agent
        if not tools and not self._tools.tools_of(agent, on_enter=False):
            return
        said = items[0] if items and items[0].id == INSTRUCTIONS_ID else None
        known = self._instructions.get(agent)
        if known is None or known[0] is not said:
            own = said.text_content if isinstance(said, ChatMessage) else None
            text = instructions_told(own or "", has_tools=True)
            told = ChatMessage(role="system", content=text, id=INSTRUCTIONS_ID, created_at=0.0)
            known = self._instructions[agent] = (said, told)
        items[: said is not None] = [known[1]]


def _insert_before_turn(items: list[ChatItem], added: list[ChatItem]) -> None:
    """Put what a hook added before the caller's last message, which it is about."""
    at = len(items)
    while at > 0:
        item = items[at - 1]
        if isinstance(item, ChatMessage) and item.role == "user":
            at -= 1
            break
        at -= 1
    items[at:at] = added


def _latest_cut(items: Sequence[ChatItem]) -> ChatMessage | None:
    """The agent's latest message, if it was cut."""
    for item in reversed(items):
        if _is_said_by(item, "assistant"):
            return item if isinstance(item, ChatMessage) and item.interrupted else None
    return None


def _is_said_by(item: ChatItem, role: str) -> bool:
    return isinstance(item, ChatMessage) and item.role == role


def _note_of_unheard(cut: ChatMessage) -> str:
    """What the model is told about a message that was cut: the message itself has what was heard."""
    written, heard = str(cut.extra.get("written", "")).split(), (cut.text_content or "").split()
    rest = written[len(heard) :] if written[: len(heard)] == heard else []
    note = "The user spoke over your last message and heard only the words of it that you see."
    if not rest:
        return note
    return f"{note} They have not heard: {' '.join(rest[:MANY_WORDS])}{' ...' if len(rest) > MANY_WORDS else ''}"


def _note_of_farewell(cut: ChatMessage) -> str:
    """What the model of an agent that took over is told of a farewell that was cut."""
    heard = shortened(cut.text_content or "", LONGEST_SHOWN)
    return (
        "The user spoke over the last words of the agent who handed over to you, and heard only these of them: "
        f"{heard!r} The call is yours all the same: answer what the user said."
    )


def _note_of_steps(command: Generate) -> str:
    """Why the model has no tools: what is not done yet is for the caller to decide on."""
    rounds = "1 round" if command.steps_used == 1 else f"{command.steps_used} rounds"
    return (
        f"You have made {rounds} of tool calls since the user last spoke, as many as you may: you have no tools in this"
        " response. You have them again as soon as the user has answered. If all that they asked for is done, answer"
        " them. Otherwise tell them what you have found so far and what is not done yet, and ask whether you should go"
        " on. Do not say that you are looking or will look: nothing happens before they answer."
    )


def _note_of_silence(command: Generate) -> str:
    """Why the model is asked once more."""
    answer = "Answer the user now, in words, with what you know."
    if not command.not_made:
        return f"Your last response was empty. {answer}"
    calls = ", ".join(f"{call.name}({shortened(call.arguments, LONGEST_SHOWN)})" for call in command.not_made)
    return f"Your last response had no words, and its calls were not made: {calls}. {answer}"


def _notes(command: Generate, cut: ChatMessage | None = None) -> list[ChatItem]:
    notes: list[str] = []
    if cut is not None:
        notes.append(_note_of_unheard(cut))
    if command.unheard:
        ids = ", ".join(command.unheard)
        if command.delivery:
            notes.append(
                f"New results came in from calls that run in the background (call ids: {ids}). Tell the user what is"
                " new in them, naturally and briefly. Do not repeat what you have told them; if nothing is left to"
                " tell, say nothing."
            )
        else:
            notes.append(f"The user has not heard the results of these calls yet (call ids: {ids}).")
    if command.steps_used:
        notes.append(_note_of_steps(command))
    if command.retry:
        notes.append(_note_of_silence(command))
    return [_note(text) for text in notes]


def _note(text: str) -> ChatMessage:
    return ChatMessage(role="system", content=text, id=new_id(NOTE_ID))


def _instructions(command: Generate) -> ChatItem:
    return ChatMessage(role="system", content=command.instructions or "", id=new_id(REPLY_INSTRUCTIONS_ID))
