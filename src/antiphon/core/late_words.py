"""The words of turns that a model heard: they come before a turn is looked at, with that, or long after.

Above: the turns. Below: the history, in which a turn without its words keeps its place.
"""

from __future__ import annotations

from antiphon.core.commands import turn_id
from antiphon.core.facts import TurnTranscribed
from antiphon.core.history import History, Slot
from antiphon.core.promises import Outbox
from antiphon.core.turn import Turn, TurnState


class LateWords:
    """Who said them, and where they belong."""

    __slots__ = ("_history", "_out", "_places", "_timeout")

    def __init__(self, out: Outbox, history: History, timeout: float) -> None:
        self._out = out
        self._history = history
        self._timeout = timeout
        self._places: dict[int, tuple[Turn, Slot]] = {}
        """By id: turns in the history whose words are still to come, and their place."""

    def expect(self, heard_as: int) -> None:
        """`TurnTranscribed` is to come."""
        self._out.promise(heard_as, TurnTranscribed(heard_as, ""), self._timeout)

    def are_due(self, turn: Turn) -> bool:
        """What was said in it is not known yet."""
        return turn.heard_as is not None and self._out.is_open(turn.heard_as)

    @property
    def are_to_come(self) -> bool:
        """A turn in the history waits for them."""
        return bool(self._places)

    def record(self, turn: Turn, heard_as: int, agent: str) -> None:
        """A turn enters the history: with its words, or its place for them."""
        turn.entered(turn_id(heard_as, self._history.mark), agent)
        if not turn.text and self._out.is_open(heard_as):
            self._places[heard_as] = turn, self._history.keep_place(agent)
            return
        self._out.withdraw(heard_as)
        if turn.text:
            self._history.say(turn.text, agent, turn.item)

    def came(self, heard_as: int, text: str) -> Turn | None:
        """They are known, or that there were none. Returns the turn whose place in the history they take."""
        turn, slot = self._places.pop(heard_as, (None, None))
        if turn is not None and slot is not None:
            turn.worded(text)
            self._history.words_known(slot, text, turn.item)
        return turn

    def pass_on(self, agent: str, heir: str) -> None:
        """An agent is gone: the one who goes on is to know the words, too, unless they are to be answered yet."""
        for turn, slot in self._places.values():
            if slot.concerns(agent) and turn.state is not TurnState.OWED:
                self._history.leave_to(slot, heir)

    def forget(self) -> None:
        """The session ends: those that did not come never will."""
        for heard_as in list(self._places):
            self._out.withdraw(heard_as)
            self.came(heard_as, "")
