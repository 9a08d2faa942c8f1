"""Preemptive generation: the model is asked when the caller's turn is likely to be over, before it is.

    NOTHING --words, silence, a likely end--> HELD --turn committed, nothing else changed--> the reply
    HELD --the caller goes on, or anything that the request showed changed--> discarded

The basis of a response is the history, the agent and the words it was made with. It is compared when the turn is
answered, after the hook: a held response is used only if asking now would ask the same. Held, it has no place in the
history, plays nothing, and its calls wait; discarding it leaves no trace.

Above: the conversation, which asks after every fact. Below: the floor.
"""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.chat import ChatMessage
from antiphon.core.floor import Floor, Frame
from antiphon.core.speech import Kind, Speech, Stage
from antiphon.options import PreemptiveGeneration

SPOILED_ENOUGH = 2
"""Turns in a row whose held response was spoiled by the application's hook, after which no more is made ahead."""


@dataclass(slots=True, frozen=True)
class _Basis:
    version: int
    text: str
    frame: Frame
    agent: str


class Ahead:
    """Makes at most one response ahead, and gives it to the turn that it answers."""

    __slots__ = ("_basis", "_floor", "_held", "_options", "_spoiled", "_tried", "_tries")

    def __init__(self, floor: Floor, options: PreemptiveGeneration) -> None:
        self._floor = floor
        self._options = options
        self._held: Speech | None = None
        self._basis: _Basis | None = None
        self._tries = 0
        """Responses made for the turn at hand."""
        self._tried = ""
        """The words that the latest one was made for."""
        self._spoiled = 0

    def advance(self, *, mute: bool) -> None:
        """Discard what is outdated, and ask for the likely next answer. `mute`: nothing is to be answered any more."""
        floor = self._floor
        if self._held is not None and (mute or self._held.stage is Stage.DONE or not self._still_holds()):
            self._discard()
        if not floor.turn.has_floor and self._held is None:
            self._tries, self._tried = 0, ""
        if not mute and self._held is None and floor.turn.is_likely_over and self._may_ask():
            self._ask()

    def take(self) -> Speech | None:
        """The response to the one turn that is owed, if it was made with all that is known now."""
        speech = self._held
        if speech is None or speech.stage is Stage.DONE or not self._still_holds():
            self._discard()
            return None
        self._held = None
        self._spoiled = 0
        return speech

    def spoil(self) -> None:
        """The application changed the turn, or what its reply shall know."""
        if self._held is not None:
            self._spoiled += 1
            self._discard()

    def _still_holds(self) -> bool:
        floor, basis = self._floor, self._basis
        if basis is None or basis.frame is not floor.top or basis.agent != floor.top.agent:
            return False
        if floor.judged is not None:
            return floor.judged.text == basis.text and floor.history.version == basis.version
        if floor.owed:  # the turn itself has entered the history, and nothing else
            same = len(floor.owed) == 1 and floor.owed[0].text == basis.text
            return same and floor.history.version == basis.version + 1
        return floor.turn.text == basis.text and floor.history.version == basis.version

    def _may_ask(self) -> bool:
        floor, options = self._floor, self._options
        return (
            self._tries < options.max_retries
            and self._spoiled < SPOILED_ENOUGH
            and floor.turn.text != self._tried
            and floor.turn.voiced_for <= options.max_speech_duration
            and floor.accepts_turns
            and not (floor.owed or floor.judged is not None or floor.typed or floor.unasked.taken)
            and not (floor.top.speeches or floor.line.segments or floor.top.is_handing_over or floor.offers)
        )

    def _ask(self) -> None:
        floor = self._floor
        text, frame = floor.turn.text, floor.top
        self._basis = _Basis(floor.history.version, text, frame, frame.agent)
        self._tries += 1
        self._tried = text
        message = ChatMessage(role="user", content=text, id=floor.history.item_id(), created_at=floor.history.wall)
        self._held = Speech(floor.out.new_id(), Kind.REPLY, frame, 1)
        floor.generate_ahead(self._held, message, tools=floor.options.max_tool_steps > 0)

    def _discard(self) -> None:
        if self._held is not None and self._held.stage is Stage.HELD:
            self._floor.discard(self._held)
        self._held = None
