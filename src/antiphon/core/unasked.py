"""What a model that hears and speaks for itself does unasked: turns that it took, responses that it began.

    turn      TAKEN --its place in the line comes--> judged, owed, answered like any other
              its words come before, with, or long after that: until then its place in the history is kept
    response  PENDING --the turn it answers is owed and may be answered--> adopted as a speech
              PENDING --nobody wants it (any more)--> declined

A pending response makes no sound: the runtime keeps what comes of it. So nothing here is in a hurry, and a response
that may not be adopted now is adopted or declined when that is clear.

Above: the rules in `conversation`. Below: the history, the promises. A model that is asked for every response and told
of every turn never gets here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from antiphon.core.commands import Decline, turn_id
from antiphon.core.facts import ResponseBegan, TurnTaken, TurnTranscribed
from antiphon.core.history import History, Slot
from antiphon.core.promises import Outbox
from antiphon.core.speech import Turn
from antiphon.options import SessionOptions


@dataclass(slots=True)
class Taken:
    """A turn that the model took and nobody has looked at yet."""

    id: int
    text: str | None
    answered: bool
    over_agent: bool
    agent: str
    """Whose model it is."""


class Unasked:
    """The turns and responses of models that need not be asked."""

    __slots__ = ("_history", "_options", "_out", "_places", "responses", "taken", "took_at")

    def __init__(self, out: Outbox, history: History, options: SessionOptions) -> None:
        self._out = out
        self._history = history
        self._options = options
        self.taken: deque[Taken] = deque()
        """Turns to be committed, oldest first."""
        self.took_at = float("-inf")
        """When the model ended the caller's latest turn."""
        self.responses: dict[int, ResponseBegan] = {}
        """Those that are neither adopted nor declined, oldest first."""
        self._places: dict[int, tuple[Turn, Slot]] = {}
        """By id: committed turns whose words are still to come, and their place in the history."""

    # -- facts

    def took(self, fact: TurnTaken, agent: str, *, over_agent: bool) -> None:
        """The model ended the caller's turn."""
        self.took_at = self._out.now
        self.taken.append(Taken(fact.turn, fact.text, fact.answered, over_agent, agent))
        if fact.text is None:
            self.expect_words(fact.turn)

    def expect_words(self, turn: int) -> None:
        """`TurnTranscribed` is to come."""
        self._out.promise(turn, TurnTranscribed(turn, ""), self._options.words_timeout)

    def transcribed(self, turn: int, text: str, waiting: Iterable[Turn]) -> None:
        """The words of a turn are known, or that it had none. `waiting`: turns that are judged, or held."""
        text = text.strip()
        for taken in self.taken:
            if taken.id == turn:
                taken.text = text
                return
        for judged in waiting:
            if judged.heard_as == turn:
                judged.text = judged.text or text
                return
        committed, slot = self._places.pop(turn, (None, None))
        if committed is None or slot is None:
            return
        committed.text = text
        self._history.words_known(slot, text, committed.item)
        if committed.agent not in committed.known_to and text:
            committed.known_to.add(committed.agent)
            self._history.carry(text, committed.agent, committed.item)

    def began(self, fact: ResponseBegan) -> None:
        """The model began to respond."""
        self.responses[fact.response] = fact

    # -- turns

    def record(self, turn: Turn, agent: str) -> None:
        """A turn that the model heard enters the history: its words, or a place for them."""
        assert turn.heard_as is not None
        turn.item = turn_id(turn.heard_as, self._history.mark)
        if turn.text or not self._out.is_open(turn.heard_as):
            self._out.withdraw(turn.heard_as)
            if turn.text:
                self._history.say(turn.text, agent, turn.item)
        else:
            self._places[turn.heard_as] = turn, self._history.keep_place(agent)

    def awaits_words(self, turn: Turn, agent: str) -> bool:
        """Another agent's model heard it and its words are to come: before them `agent` would answer it unheard."""
        if turn.heard_as is None or turn.text or turn.heard_by == agent:
            return False
        return self._out.is_open(turn.heard_as)

    # -- responses

    def answer_to(self, turns: Iterable[Turn], agent: str) -> ResponseBegan | None:
        """The response that the model of `agent` began to the latest of these turns."""
        last = None
        for turn in turns:
            last = turn
        if last is None or last.heard_as is None:
            return None
        for response in self.responses.values():
            if response.turn == last.heard_as and response.agent == agent:
                return response
        return None

    def decline(self, response: ResponseBegan) -> None:
        """Nobody wants it."""
        del self.responses[response.response]
        for taken in self.taken:
            if taken.id == response.turn:
                taken.answered = False
        self._out.send(Decline(response.response))

    def agent_left(self) -> None:
        """Turns that were said to the agent before are not answered unasked by the one that is in charge now."""
        for taken in self.taken:
            taken.answered = False

    # -- the end

    def forget_words(self) -> None:
        """The session ends: words that did not come never will."""
        for heard_as, (turn, slot) in self._places.items():
            self._out.withdraw(heard_as)
            self._history.words_known(slot, "", turn.item)
        self._places.clear()
