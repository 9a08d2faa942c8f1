"""The caller's turns, from their end to their answer, in one list.

What the caller is saying right now, and whether it is over, is the business of `UserTurn`; a turn comes here when it
is taken. Typed turns, and those that a model took that hears the caller itself, wait here for their place.

Above: the debts, and the rules. Below: the history.
"""

from __future__ import annotations

from antiphon.core.commands import RunHook
from antiphon.core.facts import HookReturned, TurnTaken
from antiphon.core.history import History
from antiphon.core.late_words import LateWords
from antiphon.core.promises import Outbox
from antiphon.core.state import Speech
from antiphon.core.turn import Turn, TurnState
from antiphon.options import SessionOptions

_WAITING, _TAKEN, _HELD, _OWED, _ANSWERED = (
    TurnState.WAITING, TurnState.TAKEN, TurnState.HELD, TurnState.OWED, TurnState.ANSWERED,
)  # fmt: skip


class Turns:
    """All turns that are over and not answered yet."""

    __slots__ = (
        "_all",
        "_history",
        "_options",
        "_out",
        "answered",
        "came",
        "judged",
        "late_words",
        "model_took_at",
        "owed",
        "waiting",
    )

    def __init__(self, out: Outbox, history: History, options: SessionOptions) -> None:
        self._out = out
        self._history = history
        self._options = options
        self._all: list[Turn] = []
        self.waiting: list[Turn] = []
        """Nobody has looked at them yet: typed ones, then those that the model took, each in order."""
        self.judged: Turn | None = None
        """The one that `on_user_turn_completed` has before it; the next one waits."""
        self.owed: list[Turn] = []
        """In the history, and no speech answers them yet."""
        self.answered: list[Turn] = []
        """A speech answers them."""
        self.model_took_at = float("-inf")
        """When the model ended the caller's latest turn."""
        self.came = 0
        """How many there were in all: whoever keeps count sees also those that were decided on at once."""
        self.late_words = LateWords(out, history, options.words_timeout)

    def _moved(self) -> None:
        """What is asked for with every fact is looked up only when a turn moves."""
        self.waiting, self.judged, self.owed, self.answered = [], None, [], []
        for turn in self._all:
            if turn.state is _WAITING:
                self.waiting.append(turn)
            elif turn.state is _TAKEN:
                self.judged = turn
            elif turn.state is _OWED:
                self.owed.append(turn)
            elif turn.state is _ANSWERED:
                self.answered.append(turn)
        if len(self.waiting) > 1:
            self.waiting.sort(key=lambda turn: turn.heard_as is not None)

    @property
    def are_pending(self) -> bool:
        """A turn is to be looked at, judged or answered."""
        return bool(self.owed) or self.judged is not None or bool(self.waiting)

    # -- they come

    def _enter(self, turn: Turn) -> None:
        if turn not in self._all:
            self._all.append(turn)
            self.came += 1

    def waits(self, turn: Turn) -> None:
        """A whole turn was typed, or the words of one are still to come."""
        self._enter(turn)
        self._moved()

    def taken_by_model(self, fact: TurnTaken, agent: str, *, over_agent: bool) -> None:
        """The model of `agent` ended the caller's turn."""
        self.model_took_at = self._out.now
        turn = Turn(fact.text or "", heard_as=fact.turn, heard_by=agent, answered=fact.answered, over_agent=over_agent)
        self._enter(turn)
        self._moved()
        if fact.text is None:
            self.late_words.expect(fact.turn)

    def answerable_by(self, agent: str, *, below: bool = False) -> list[Turn]:
        """What is owed, but for what another agent's model heard and `agent` would answer without its words.

        `below`: the agent is not in charge any more. It answers what was said to it.
        """
        if below:
            return [turn for turn in self.owed if turn.agent == agent]
        return [turn for turn in self.owed if turn.text or turn.heard_by == agent or not self.late_words.are_due(turn)]

    def transcribed(self, heard_as: int, text: str) -> None:
        """The words of a turn are known, or that it had none."""
        text = text.strip()
        for turn in self._all:
            if turn.heard_as == heard_as and turn.state in (_WAITING, _TAKEN, _HELD):
                turn.worded(text)
                return
        committed = self.late_words.came(heard_as, text)
        if committed is not None and text:
            self._show(committed, committed.agent)

    # -- the hook

    def judge(self, turn: Turn, agent: str, over: Speech | None, *, joins: bool = False) -> None:
        """`on_user_turn_completed` decides on it. `over`: see `Turn.over`. `joins`: that one answers it, too."""
        hook = self._out.new_id()
        first = over.live[0].id if joins and over is not None and over.live else None
        place = self._history.keep_place(agent, before=first)
        turn.taken(hook, over, self._out.now + self._options.response_timeout, place, joins=joins)
        self._enter(turn)
        self._moved()
        self._out.promise(hook, HookReturned(hook), self._options.hook_timeout)
        self._out.send(RunHook(hook, "on_user_turn_completed", agent, turn.text, heard_as=turn.heard_as))

    def drop(self, turn: Turn) -> None:
        """It is not to be answered."""
        self._leave_place(turn)
        if turn in self._all:
            self._all.remove(turn)
            self._moved()

    # -- the history

    def hold(self, turn: Turn, speech: Speech, agent: str | None = None) -> None:
        """It was said over calls of the speech that go on: it enters the history behind their round.

        `agent`: it replies to what that agent asked for one of them, and enters it now.
        """
        if agent is not None:
            self.record(turn, agent)
            self._enter(turn)
        self._leave_place(turn)
        turn.held_by(speech)
        self._moved()

    def _leave_place(self, turn: Turn) -> None:
        place = turn.take_place()
        if place is not None:
            self._history.words_known(place, "", "")

    def release(self, speech: Speech, agent: str) -> None:
        """The round that turns were held by is written, or the speech is over."""
        for turn in [turn for turn in self._all if turn.state is _HELD and turn.speech is speech]:
            self.commit(turn, agent)

    def commit(self, turn: Turn, agent: str, reply: Speech | None = None) -> None:
        """A turn enters the history and is owed an answer, behind those that are owed one already.

        `reply`: was in the making when it was said, and answers it.
        """
        if not turn.item:  # else it has its place
            self.record(turn, agent)
        self._all.remove(turn)
        if reply is None:
            turn.is_owed()
            self._all.append(turn)
        elif not reply.finished:
            turn.is_taken_up_by(reply)
            self._all.append(turn)
        self._moved()

    def record(self, turn: Turn, agent: str) -> None:
        """A turn enters the history; one whose words are not known yet gets its place in it."""
        if turn.heard_as is not None:
            self._leave_place(turn)
            self.late_words.record(turn, turn.heard_as, agent)
        elif turn.place is None or turn.place.agent != agent:
            self._leave_place(turn)
            turn.entered(self._history.say(turn.text, agent).id, agent)
        else:
            item = self._history.item_id()
            turn.entered(item, agent)
            self._history.words_known(turn.place, turn.text, item)
            turn.take_place()

    def handed_over(self, agent: str) -> None:
        """The agent takes over from another: no model answers unasked what was said to the one before."""
        self._carry(agent)
        for turn in self.waiting:
            turn.must_be_asked()

    def _carry(self, agent: str) -> None:
        """Let an agent know of the turns that are owed and were said to another."""
        for turn in self.owed:
            if turn.agent != agent:
                turn.passed_to(agent)
                if turn.text:  # without words yet: they will be carried when they come
                    self._show(turn, agent)

    def _show(self, turn: Turn, agent: str) -> None:
        if turn.is_news_to(agent):
            self._history.carry(turn.text, agent, turn.item)

    # -- the answer

    def answered_by(self, speech: Speech, *, below: bool = False) -> list[Turn]:
        """The speech answers every turn that is owed and that its agent can answer. Returns these."""
        if not below:
            self._carry(speech.frame.agent)
        answered = self.answerable_by(speech.frame.agent, below=below)
        for turn in answered:
            turn.is_taken_up_by(speech)
        self._moved()
        return answered

    def silenced(self, speech: Speech) -> None:
        """Whoever interrupts it wants silence, not the same answer once more."""
        self._all = [turn for turn in self._all if not turn.is_answered_by(speech)]
        self._moved()

    def speech_ended(self, speech: Speech) -> list[Turn]:
        """A speech is over. Returns the turns that it was to answer and did not: they are owed again."""
        if not self._all:
            return []
        self.release(speech, speech.agent or speech.frame.agent)
        turns = [turn for turn in self._all if turn.is_answered_by(speech)]
        unanswered = turns if speech.interrupted and not speech.heard else []
        for turn in turns:
            if unanswered:
                turn.is_owed()
            else:
                self._all.remove(turn)
        if turns:
            self._moved()
        return unanswered

    def count_against(self, speech: Speech) -> bool:
        """A turn came while a tool of the speech waited for the caller: it would interrupt the speech."""
        if self.owed or (self.judged is not None and self.judged.over is None):
            return True
        return any(
            (turn.speech is speech and turn.state is _HELD and turn.over is None)
            or (turn.speech is not None and turn.state is _ANSWERED and turn.speech.interrupted)
            for turn in self._all
        )

    # -- answers that a model gives unasked

    @property
    def answer_due(self) -> float | None:
        """When a turn that the model was to answer unasked is given to it as a question."""
        for turn in self.owed:
            if turn.answer_due is not None and turn.answer_due > self._out.now:
                return turn.answer_due
        return None

    def is_open(self, heard_as: int | None) -> bool:
        """The turn is to be looked at or judged: it may yet be answered."""
        return heard_as is not None and any(
            turn.heard_as == heard_as and turn.state in (_WAITING, _TAKEN) for turn in self._all
        )

    def must_be_asked(self, heard_as: int | None) -> None:
        """Its answer does not come unasked."""
        if heard_as is not None:
            for turn in self._all:
                if turn.heard_as == heard_as and turn.state in (_WAITING, _TAKEN, _OWED):
                    turn.must_be_asked()

    # -- the end

    def give_up(self, agent: str) -> None:
        """The session ends: nobody will answer. What was said is in the history all the same."""
        if self.judged is not None:
            self._out.withdraw(self.judged.hook)
            self.record(self.judged, agent)
        for turn in self.waiting:
            self.record(turn, agent)
        self._all = [turn for turn in self._all if turn.state not in (_WAITING, _TAKEN)]
        self._moved()
