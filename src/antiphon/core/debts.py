"""What the caller is owed: answers to their turns (`turns`), and results that they have not heard yet.

    BORNE (a speech tells it) --heard whole--> SETTLED    --heard in part--> PARTLY    --the speech was cut--> OWED
    OWED --a reply made for it was heard, or had nothing to add--> SETTLED
    PARTLY --a whole reply of its frame was heard--> SETTLED    --another agent takes the frame--> OWED (covered)
    PARTLY --the model spoke on by itself--> OWED (covered)

A round of tools asks its own speech to tell what came of it: that result is borne. What a background tool reports is
in the history at once; *telling* it waits until the line is free: that result is owed. An update is moot as soon as a
reply built with it was heard. A final result is told exactly once: by a heard reply made for it, or the model, asked to
tell it after a reply built with it was heard (it is *covered*), has nothing to add.

Above: the floor and the rules, which say what happened. Below: the history. Nobody else knows what was told.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from antiphon.chat import ChatMessage
from antiphon.core.facts import Handoff
from antiphon.core.history import History, Note
from antiphon.core.ledger import Ledger
from antiphon.core.promises import Outbox
from antiphon.core.row import Row
from antiphon.core.stages import Kind
from antiphon.core.state import Frame, OpenCall, Segment, Speech
from antiphon.core.turn import Turn
from antiphon.core.turns import Turns
from antiphon.options import SessionOptions

TRIES = 3
"""How often a delivery is made that comes to nothing, or that the application stops.

One that the caller speaks over does not count: it is made until they have heard it.
"""


class Due(enum.Enum):
    """How far a result is on its way to the caller."""

    BORNE = enum.auto()
    """The speech that made the call tells it, behind the round that closed it."""
    PARTLY = enum.auto()
    """The reply that told it was cut: its agent knows how much was heard, and goes on as it sees fit."""
    OWED = enum.auto()
    """Some reply has to tell it."""
    SETTLED = enum.auto()
    """Told, or given up."""


_BORNE, _PARTLY, _OWED, _SETTLED = Due.BORNE, Due.PARTLY, Due.OWED, Due.SETTLED


@dataclass(slots=True, eq=False)
class PendingResult:
    """Something to tell."""

    call_id: str
    frame: Frame
    due: Due
    notes: list[Note]
    """What there is to tell, and what was heard of replies built with it: perhaps it was told there."""
    speech: Speech | None = None
    """The speech that bears it, or told it in part and is not over."""
    round: int = 0
    """The round of that speech that closed the call."""
    final: bool = True
    """The end of the tool's work, not an update on the way."""
    handoff: Handoff | None = None
    """Made once the result was told."""
    row: Row | None = None
    """The start of the tool whose outcome it is; None for an update."""
    tries: int = 0
    covered: bool = False
    """A reply built with it was heard; perhaps it told it."""
    is_heard: bool = False
    """A response that was made for it was heard, and the speech goes on: calls beside it work."""
    turns: list[Turn] = field(default_factory=list)
    """The caller's turns that it belongs to, if they are to be answered once more: that reply is made for it, too."""

    def is_begun_in(self, frame: Frame) -> bool:
        """A reply of the frame told it in part, and is over."""
        return self.due is _PARTLY and self.speech is None and self.frame is frame

    def told(self, *, cut: bool = False) -> None:
        """The caller heard it, or the beginning of it."""
        self.due = _PARTLY if cut else _SETTLED

    def superseded(self) -> None:
        """What it tells is not the last word on its row."""
        self.row = None

    def was_heard(self) -> None:
        """A response that was made for it was heard whole. It is told when the speech is over, and was not cut."""
        self.is_heard = True

    def unwanted(self) -> None:
        """The application stopped a reply that was made for it."""
        self.tries += 1

    def left_to(self, frame: Frame) -> None:
        """The speech that told it in part is over: the frame's next one goes on as it sees fit."""
        self.speech, self.frame = None, frame

    def falls_due(self, frame: Frame, *, covered: bool) -> None:
        """The frame has to tell it."""
        self.due, self.speech, self.frame, self.covered = _OWED, None, frame, covered

    def passed_to(self, frame: Frame) -> None:
        """The frame that had to tell it is over."""
        self.frame = frame

    def told_with(self, said: list[Note]) -> None:
        """What was heard of a reply that may have told it."""
        self.notes += said

    def belongs_to(self, turns: list[Turn]) -> None:
        """A reply to these turns is made for it, too."""
        self.turns += turns

    def attempted(self, said: list[Note], *, heard: bool, cut: bool, interrupted: bool, made_for_it: bool) -> None:
        """A reply built with it is over. `said`: what was heard of it."""
        self.notes += said
        if not self.final:
            told = heard or (made_for_it and not cut)
        elif made_for_it:
            told = heard or (self.covered and not cut)
            if not told and not interrupted:
                self.tries += 1
            told = told or self.tries >= TRIES
        else:
            told = False
            self.covered = self.covered or heard
        if told:
            self.due = _SETTLED


@dataclass(slots=True)
class _Account:
    """What one speech has to do with results."""

    answers: list[Turn] = field(default_factory=list)
    """The turns that it answers."""
    carried: list[PendingResult] = field(default_factory=list)
    """Owed when its requests were made: these knew them."""
    told_in: dict[int, list[PendingResult]] = field(default_factory=dict)
    """By segment: what it was made for."""
    made_for: list[PendingResult] = field(default_factory=list)
    """What it was made to tell: all that it carries if it is a delivery, else what belongs to its turns."""
    said: list[Note] = field(default_factory=list)
    """Its messages in the history: what was heard of it."""
    heard: bool = False
    """Anything was heard of it that may have told results: not only a line of the session's own."""
    unasked: bool = False
    """A model began its latest response by itself: it was not asked to tell anything."""
    shown: list[tuple[int, str, Row | None]] = field(default_factory=list)
    """What its rounds came to, by their number and call, where it is not told later if this speech does not tell it.
    The row: what is then told for good."""

    def takes_up(self, turns: list[Turn]) -> None:
        """It answers these, too."""
        self.answers += turns

    def shows(self, closed_in: int, call_id: str, row: Row | None) -> None:
        """A round of the speech came to this, and it is not told later if the speech does not tell it."""
        self.shown.append((closed_in, call_id, row))

    def told_by(self, segment: Segment) -> list[Row]:
        """What was told, now that a segment was heard whole."""
        told = [one for one in self.shown if one[0] <= segment.rounds]
        self.shown = [one for one in self.shown if one[0] > segment.rounds]
        return [row for _, _, row in told if row is not None]

    def is_made_for(self, results: list[PendingResult]) -> None:
        """It is to tell these."""
        self.made_for += results

    def knows(self, results: list[PendingResult], segment: int, *, unasked: bool) -> None:
        """Its request, for this segment, shows these."""
        self.unasked = unasked
        self.carried += [result for result in results if result not in self.carried]
        self.told_in[segment] = [result for result in self.made_for if result in self.carried]

    def hears(self, segment: Segment) -> None:
        """A segment was heard whole: so was what it was made for."""
        for result in self.told_in.pop(segment.id, []):
            result.was_heard()

    def took(self, segment: Segment) -> None:
        """A segment is over."""
        if segment.slot is not None and segment.slot.item is not None:
            self.said.append(Note((segment.slot.item,), (segment.slot.agent,)))
        if segment.heard and segment.tells:
            self.heard = True


class Debts:
    """All that is still to be told."""

    __slots__ = ("_accounts", "_history", "_ledger", "results", "turns")

    def __init__(self, out: Outbox, history: History, options: SessionOptions, ledger: Ledger) -> None:
        self._history = history
        self._ledger = ledger
        self.turns = Turns(out, history, options)
        self.results: list[PendingResult] = []
        """All that is not settled, oldest first."""
        self._accounts: dict[Speech, _Account] = {}

    # -- what there is to tell

    def result(
        self, done: OpenCall, frame: Frame, *, final: bool, handoff: Handoff | None = None, row: Row | None = None
    ) -> None:
        """A tool in the background has something to tell: the agent in charge of the frame is to say it.

        `row`: the start that it is the outcome of, where no run is.
        """
        notes = self._made_known(done, frame)
        row = done.run.row if final and done.run is not None else row
        self.results.append(
            PendingResult(done.call.call_id, frame, _OWED, notes, final=final, handoff=handoff, row=row)
        )

    def borne(self, speech: Speech, calls: Sequence[OpenCall]) -> None:
        """A round of the speech is closed. What of it must not be lost is told behind it, or is owed.

        Behind the last round of a task that is over nothing is said: whoever awaited it tells.
        """
        for done in calls:
            if not done.reply or done.update or done.answered:
                self._account(speech).shows(speech.rounds, done.call.call_id, None)
                continue
            row = None if done.run is None else done.run.row
            must_be_told = done.policy.interrupted == "keep" or done.was_protected
            if must_be_told and speech.last_round:
                self.result(done, speech.frame, final=True)
            elif must_be_told:
                notes = [done.note] if done.note is not None else []
                self.results.append(
                    PendingResult(done.call.call_id, speech.frame, _BORNE, notes, speech, speech.rounds, row=row)
                )
            else:
                self._account(speech).shows(speech.rounds, done.call.call_id, row)

    def corrected(self, row: Row) -> None:
        """There is news of a start whose outcome is still to be told: that takes its place."""
        for result in self.results:
            if result.row is row:
                result.superseded()

    def _made_known(self, done: OpenCall, frame: Frame) -> list[Note]:
        if done.note is None:
            return []
        self._history.let_know(done.note, frame.agent)
        return [done.note]

    def owed_in(self, frame: Frame) -> list[PendingResult]:
        """What the agent of a frame has to tell, oldest first."""
        if not self.results:
            return []
        return [result for result in self.results if result.due is _OWED and result.frame is frame]

    @property
    def owes_results(self) -> bool:
        """Some reply has to tell something."""
        return bool(self.results) and any(result.due is _OWED for result in self.results)

    # -- who tells it

    def _account(self, speech: Speech) -> _Account:
        account = self._accounts.get(speech)
        if account is None:
            account = self._accounts[speech] = _Account()
        return account

    def news_for(self, speech: Speech) -> list[PendingResult]:
        """What came up since the speech's latest request."""
        if not self.results:
            return []
        carried = self._account(speech).carried
        return [result for result in self.owed_in(speech.frame) if result not in carried]

    def told_by(self, speech: Speech) -> bool:
        """The speech is made to tell what is new to it. True if anything of it is final."""
        news = self.news_for(speech)
        self._account(speech).is_made_for(news)
        return any(result.final for result in news)

    def carried_by(self, speech: Speech, *, unasked: bool = False) -> tuple[str, ...]:
        """A request of the speech knows all that is owed now. Returns the ids of the calls.

        `unasked`: a model began it by itself. It knows the results that are in; of updates nobody can say.
        """
        if not self.results:
            return ()
        owed = self.owed_in(speech.frame)
        shown = [one for one in owed if one.final or not unasked]
        segment = 0 if speech.step is None else speech.step.segment.id
        self._account(speech).knows(shown, segment, unasked=unasked)
        return tuple(result.call_id for result in owed)

    def carried_in_any_case(self, speech: Speech) -> tuple[str, ...]:
        """Ids of what no request of the speech may leave out: messages to answer, and calls that may be untold.

        With them goes what was heard of replies built with these: perhaps it told them.
        """
        account = self._account(speech)
        ids = [turn.item for turn in account.answers if turn.item]
        ids += [call_id for _, call_id, _ in account.shown]
        said = list(account.said)
        for result in self.results:
            if result.frame is speech.frame or result.speech is speech:
                ids.append(result.call_id)
                said += result.notes
        ids += [item.id for note in said for item in note.items if isinstance(item, ChatMessage)]
        return tuple(ids)

    def answered_by(self, speech: Speech, *, unasked: bool = False, below: bool = False) -> None:
        """The speech answers every turn that is owed, and tells what belongs to them.

        `unasked`: a model began it by itself. It was not asked to tell anything, and so may not. `below`: its agent is
        not in charge any more.
        """
        turns = self.turns.answered_by(speech, below=below)
        self._account(speech).takes_up(turns)
        if self.results and not unasked:
            belonging = [one for one in self.owed_in(speech.frame) if any(turn in turns for turn in one.turns)]
            self._account(speech).is_made_for(belonging)

    # -- what was heard

    def heard(self, segment: Segment) -> None:
        """A segment is over: what was heard of it was told. A line of the session's own tells nothing."""
        speech = segment.speech
        account = self._account(speech)
        account.took(segment)
        if not segment.heard or not segment.tells or not (self.results or account.shown):
            return
        cut = segment.was_cut
        for result in self.results:
            if result.speech is speech and result.due is _BORNE and result.round <= segment.rounds:
                result.told(cut=cut)
        self._forget_settled()
        if not cut:
            account.hears(segment)
            for row in account.told_by(segment):
                self._ledger.heard(row)

    def silenced(self, speech: Speech) -> None:
        """The application stops a speech: what it was made to tell may not be wanted, nor the same answer again."""
        self.turns.silenced(speech)
        if speech in self._accounts:
            for result in self._accounts[speech].made_for:
                result.unwanted()

    def speech_ended(self, speech: Speech) -> list[Handoff]:
        """A speech is over: what it did not answer or tell is owed again. Returns the hand-offs that are due now."""
        unanswered = self.turns.speech_ended(speech)
        account = self._accounts.pop(speech, None)
        if not self.results:
            return []
        account = account or _Account()
        cut = speech.interrupted or speech.trouble.failed or speech.trouble.fallback
        heard = account.heard and not cut
        is_leaving = speech.frame.is_handing_over
        due: list[Handoff] = []
        for result in account.carried:
            if result.due is not _OWED:
                continue
            made_for_it = result in account.made_for
            # Who hands over without a word has told nothing, and is not asked what there is to add: the next agent is.
            left = is_leaving and not heard
            result.attempted(
                account.said,
                heard=heard,
                cut=cut or left,
                interrupted=speech.interrupted or left,
                made_for_it=made_for_it,
            )
            if result.due is _SETTLED and result.handoff is not None:
                due.append(result.handoff)
        if cut:
            self._make_good(speech, account, unanswered)
        else:
            self._told_whole(speech, account, heard=heard and speech.kind in (Kind.REPLY, Kind.DELIVERY))
        self._forget_settled()
        return due

    def _told_whole(self, speech: Speech, account: _Account, *, heard: bool) -> None:
        """A speech was not cut: it told what it bore, and, if it is a reply, what its frame had told in part.

        A reply that nobody asked for may not have: the model is asked what it has to add.
        """
        for result in list(self.results):
            if heard and account.unasked and result.is_begun_in(speech.frame):
                self._fall_due(result, speech.frame, covered=True)
            elif result.speech is speech and result.due is _BORNE and speech.frame.is_handing_over:
                self._fall_due(result, speech.frame, covered=False)
            elif result.speech is speech or (heard and result.is_begun_in(speech.frame)):
                result.told()

    def _make_good(self, speech: Speech, account: _Account, turns: list[Turn]) -> None:
        """What a speech was to tell and did not is told later; what it began to, by the next agent.

        The same agent has what it began to tell in its context, and goes on as it sees fit.
        """
        for result in list(self.results):
            if result.is_begun_in(speech.frame):
                result.told_with(account.said)  # it may have told more of these, before it was cut, too
            elif result.speech is speech:
                if result.due is _PARTLY and speech.frame.pending is None:
                    result.left_to(speech.frame)
                else:
                    self._fall_due(result, speech.frame, covered=account.heard)
                    result.belongs_to(turns)
                result.told_with(account.said)

    def _fall_due(self, result: PendingResult, frame: Frame, *, covered: bool) -> None:
        """The agent of the frame has to tell it from now on, behind what is owed already."""
        for note in result.notes[:1]:
            self._history.let_know(note, frame.agent)
        result.falls_due(frame, covered=covered)
        self.results.remove(result)
        self.results.append(result)

    def _forget_settled(self) -> None:
        for result in self.results:
            if result.due is _SETTLED and result.row is not None:
                self._ledger.heard(result.row)
        self.results = [result for result in self.results if result.due is not _SETTLED]

    # -- agents come and go

    def handed_over(self, frame: Frame) -> None:
        """Another agent took the frame over: it answers what is owed, tells what is to be told, or was in part."""
        self.turns.handed_over(frame.agent)
        for result in [one for one in self.results if one.is_begun_in(frame)]:
            self._fall_due(result, frame, covered=True)
        for result in self.owed_in(frame):
            self._let_know(result, frame.agent)

    def frame_ended(self, frame: Frame, below: Frame) -> None:
        """A frame ended: what it had to tell is told by the one below, who knows its last words."""
        owed = {turn.item for turn in self.turns.owed}  # whoever answers these gets to know them so
        self._history.pass_on(frame.agent, below.agent, but=owed)
        self.turns.late_words.pass_on(frame.agent, below.agent)
        for result in self.results:
            if result.frame is frame and result.speech is None:
                self._let_know(result, below.agent)
                result.passed_to(below)

    def _let_know(self, result: PendingResult, agent: str) -> None:
        for note in result.notes:
            self._history.let_know(note, agent)

    def clear(self) -> None:
        """Nothing that is owed will be told any more. What was heard in front of a call that still works was told."""
        for result in self.results:
            if result.is_heard and result.row is not None:
                self._ledger.heard(result.row)
        self.results = [result for result in self.results if result.due is not _OWED]
