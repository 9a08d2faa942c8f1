"""Fold a request's history into the next step.

Goes through the items once. At each caller's turn, and after each batch of results, the plan is made as it was made
then; what follows in the history (the reply as it was heard, the calls as they were made) is noted before going on.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from antiphon.chat import (
    INSTRUCTIONS_ID,
    NOTE_ID,
    REPLY_INSTRUCTIONS_ID,
    AgentHandoff,
    ChatItem,
    ChatMessage,
    FunctionCall,
    FunctionCallOutput,
)
from antiphon_standin import reply, results, speak, turns
from antiphon_standin.memory import Called, Offer, State, Step
from antiphon_standin.slots import ToolView, flat


def replay(items: Sequence[ChatItem], tools: Sequence[ToolView], today: dt.date) -> tuple[State, Step]:
    """The state after the history, and the step that is due."""
    instructions = instructions_of(items)
    busy = any(isinstance(item, FunctionCallOutput) and results.is_running(item.output) for item in items)
    by_name = {tool.name: tool for tool in tools if busy or tool.name not in _HOUSEKEEPING}

    keys = _keys(items, hash((instructions, today, *(t.fingerprint for t in tools))))
    reader, start = _Reader(State(tools=by_name, instructions=instructions, today=today)), 0
    body = len(items)
    while body and (_is_note(items[body - 1]) or _is_to_follow(items[body - 1])):
        body -= 1
    for k in range(body - 1, -1, -1):
        wire = items[k].wire
        if wire and _WIRE in wire and wire[_WIRE][0] == keys[k]:
            reader, start = wire.pop(_WIRE)[1].copy(by_name), k + 1  # one place to go on from is enough
            break
    for item in items[start:body]:
        reader.read(item)
    if body:
        last = items[body - 1]
        last.wire = {**(last.wire or {}), _WIRE: (keys[body - 1], reader.copy(by_name))}
    for item in items[max(start, body) :]:
        reader.read(item)
    return reader.state, reader.due()


logger = logging.getLogger("antiphon")
_NEW_RESULTS = re.compile(r"New results came in from calls\b[^(]*\(call ids: ([^)]*)\)")
_UNHEARD = re.compile(r"The user has not heard the results of these calls yet \(call ids: ([^)]*)\)")
"""The notes that name calls to tell of. No note is ever said: what it does not name is ignored."""
_HOUSEKEEPING = frozenset({"get_running_tasks", "cancel_task"})
"""The session's own tools, of use only while something runs in the background."""
_WIRE = "standin"
"""Where the reading of a history is kept on its last item, so that the next request goes on from there."""


def _is_note(item: ChatItem) -> bool:
    """True for what the session lets the model know for this response only."""
    return _is_marked(item, NOTE_ID)


def _is_to_follow(item: ChatItem) -> bool:
    """True for the instructions for this response."""
    return _is_marked(item, REPLY_INSTRUCTIONS_ID)


def _is_marked(item: ChatItem, mark: str) -> bool:
    return isinstance(item, ChatMessage) and item.role in ("system", "developer") and item.id.startswith(f"{mark}_")


def _keys(items: Sequence[ChatItem], key: int) -> list[int]:
    """For each item what was read up to it: the same only for the same history, tools, instructions and day."""
    keys = []
    for item in items:
        if isinstance(item, ChatMessage):
            content: object = (item.text_content, item.interrupted)
        else:
            content = getattr(item, "output", None) or getattr(item, "arguments", None)
        key = hash((key, item.id, content))
        keys.append(key)
    return keys


def instructions_of(items: Sequence[ChatItem]) -> str:
    """The agent's instructions: the message that carries them, else a system message before anything is said."""
    for item in items:
        if isinstance(item, ChatMessage) and item.id == INSTRUCTIONS_ID:
            return item.text_content or ""
    for item in items:
        if isinstance(item, ChatMessage):
            return (item.text_content or "") if item.role in ("system", "developer") else ""
    return ""


class _Reader:
    """The position in the fold: what waits to be answered."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.user: list[str] = []
        self.returned: list[Called] = []
        self.instruction = ""
        self.delivery: tuple[str, ...] | None = None
        """The ids of the calls whose results this request is made to tell."""
        self.unheard: tuple[str, ...] = ()
        """The ids of calls whose results are still to be told, beside the answer."""
        self.spoken: list[str] = []
        """Agent's words since the last caller's turn or result: what a tool says of itself comes before its call."""

        self.seen_instructions = False
        self.handed_over = False
        """True if this agent has the call from another one, and has not begun by itself yet."""
        self.begins = False
        """True if the agent is to speak although nothing waits to be answered."""

    def copy(self, tools: dict[str, ToolView]) -> _Reader:
        """An independent copy, over the same tools."""
        calls = [replace(call) for call in self.state.calls]
        twins = {id(call): twin for call, twin in zip(self.state.calls, calls, strict=True)}
        known = {name: dict(values) for name, values in self.state.known.items()}
        other = _Reader(replace(self.state, tools=tools, known=known, calls=calls, spent=dict(self.state.spent)))
        other.user, other.spoken = list(self.user), list(self.spoken)
        other.returned = [twins[id(call)] for call in self.returned]
        other.instruction, other.seen_instructions = self.instruction, self.seen_instructions
        other.handed_over, other.begins = self.handed_over, self.begins
        return other

    def read(self, item: ChatItem) -> None:
        if isinstance(item, ChatMessage):
            self._message(item)
        elif isinstance(item, AgentHandoff):
            self.handed_over = item.old_agent_id is not None
        elif isinstance(item, FunctionCall):
            self._flush()
            self.state.calls.append(
                Called(
                    item.name,
                    _arguments(item.arguments, self.state.tools.get(item.name)),
                    self.state.turn,
                    call_id=item.call_id,
                    said=self._own_words(item.call_id),
                )
            )

        elif isinstance(item, FunctionCallOutput):
            call = next((c for c in reversed(self.state.calls) if c.call_id == item.call_id), None)
            if call is None:
                call = Called(item.name, {}, self.state.turn, call_id=item.call_id)
                self.state.calls.append(call)
            call.returned(item)
            self.returned.append(call)

    def _message(self, item: ChatMessage) -> None:
        text = item.text_content or ""
        if item.role == "user":
            if self.returned or self.instruction:
                self._flush()
            if text.strip():
                self.user.append(text)
        elif item.role == "assistant":
            self._flush()
            self._said(text, interrupted=item.interrupted)
        elif item.id == INSTRUCTIONS_ID or (not self.seen_instructions and text == self.state.instructions):
            self.seen_instructions = True
        elif _is_to_follow(item):
            self._flush()
            self.instruction = text
        elif not _is_note(item):
            self._context()
        elif noted := _NEW_RESULTS.match(text):
            self.delivery = tuple(noted[1].split(", "))
        elif noted := _UNHEARD.match(text):
            self.unheard = tuple(noted[1].split(", "))

    def _context(self) -> None:
        """What an agent was told beside its instructions is for the model alone, and not to be read out.

        Where nothing waits to be answered, the agent is to begin by itself, knowing this. Nor does what the agent
        before it has done wait: the output of a tool that this agent does not have.
        """
        if self.returned and all(call.tool not in self.state.tools for call in self.returned):
            self.returned, self.handed_over = [], True
        self.begins = not (self.user or self.returned or self.instruction)

    def _said(self, text: str, *, interrupted: bool) -> None:
        self.spoken.append(text)
        self.state.says(text, reply.asked_in(self.state, text), interrupted=interrupted)

    def _own_words(self, call_id: str) -> tuple[str, ...]:
        """What was said while a call ran, but for what told of its progress: its result is news beside that."""
        progress = [call.output or "" for call in self.state.calls if _first(call.call_id) == _first(call_id)]
        return tuple(text for text in self.spoken if not any(results.tells_progress(p, text) for p in progress))

    def _flush(self) -> None:
        """Make the plan for what waits, as it was made when it came, and adopt it."""
        try:
            step = self._plan()
        except Exception:
            # It failed at the time, too, and was apologised for; the rest of the call goes on without that turn.
            logger.exception("the stand-in could not follow an earlier turn and leaves it out")
            self.instruction, self.user, self.returned, self.begins = "", [], [], False
            return
        self.begins = False
        if step is not None:
            self.state.adopt(step)

    def _plan(self) -> Step | None:
        if self.instruction:
            step = reply.follow(self.state, self.instruction)
            self.instruction = ""
        elif self.user:
            step = turns.hear(self.state, " ".join(_closed(t) for t in self.user))
            self.user, self.spoken = [], []
        elif self.returned:
            for call in self.returned:
                call.spoke(self._own_words(call.call_id))
            step = reply.answer(self.state, self.returned)
            self.returned, self.spoken = [], []
        elif self.begins:
            step = reply.begin(self.state, taken_over=self.handed_over)
            self.handed_over = False
        else:
            return None
        return step

    def due(self) -> Step:
        """The step for whatever the history leaves open."""
        if self.delivery is not None:
            self.returned = []
            return reply.deliver(self.state, self._named(self.delivery))
        step = self._plan()
        if step is not None and step.say and not step.calls:
            told = [text for call in self._named(self.unheard) if (text := reply.untold(call)) and text not in step.say]
            if told and step.missed:
                return replace(step, say=" ".join([*told, speak.ANYTHING_ELSE]), offer=Offer.ANYTHING_ELSE)
            return replace(step, say=" ".join([*told, step.say]))
        if step is None:
            return Step(say=speak.greeting(self.state.instructions) if self.state.turn == 0 else speak.ANYTHING_ELSE)
        return step

    def _named(self, ids: Sequence[str]) -> list[Called]:
        return [call for call in self.state.calls if call.call_id in ids and call.output]


def _first(call_id: str) -> str:
    """The id that a call was made with: what comes of it later goes by that and a suffix."""
    return call_id.partition("/")[0]


def _closed(text: str) -> str:
    text = text.strip()
    return text if re.search(r"[.!?,]$", text) else text + ","


def _arguments(text: str, tool: ToolView | None) -> dict[str, Any]:
    try:
        data = json.loads(text or "{}")
    except ValueError:
        return {}
    return flat(data, tool) if isinstance(data, dict) else {}
