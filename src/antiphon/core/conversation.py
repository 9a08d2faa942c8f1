"""The conversation: facts in, commands out, time as an argument.

Theory of operation. A fact changes the state of one owner and nothing else. What follows is decided by `follow`, a
short list of rules in order of right of way: it is gone through until no rule fires. A rule that may not fire now (the
caller speaks, a hook runs, a hand-off is due) fires when it may, because it looks at levels, not at edges. Timeouts
are facts too: a promise that is overdue assumes its closing fact.

Order within `receive`: the fact is admitted or refused; its owner changes; overdue promises become facts; timers of
the turn and the line run; the rules settle; then what is made ahead, the silence budget, and the
caller who has fallen silent. So facts come before
timers: speech that resumed beats the commit that was due, a result that is here beats its time limit, and the filler.
Where everything stood still (`StoodStill`) that holds for all that stands ready: the time that was lost does not count.

Nothing here reads a clock, awaits, or raises for anything the world can do. The list of `(now, fact or None)` that
went in is the journal of the session: replayed, it gives the same commands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from antiphon.core import facts as f
from antiphon.core.commands import Command
from antiphon.core.floor import Floor
from antiphon.core.rules import (
    ahead,
    away,
    barge_in,
    closing,
    consent,
    handoff,
    language,
    model_initiated,
    must_hear,
    overdue,
    playing,
    replies,
    resuming,
    steps,
    turns,
)
from antiphon.core.rules.presence import Presence
from antiphon.core.rules.silence import Silence
from antiphon.core.stages import Bond
from antiphon.core.state import Run
from antiphon.options import MustHearLine, SessionOptions

ROUTES: Mapping[type[f.Fact], Callable[[Floor, Any], None]] = {
    f.UserSpeechStarted: barge_in.voice_started,
    f.UserSpeechEnded: turns.silent,
    f.Transcribed: barge_in.words,
    f.EndOfTurnPredicted: turns.predicted,
    f.UserTurnSubmitted: turns.submitted,
    f.UserTurnCommitRequested: turns.ended,
    f.UserTurnCleared: turns.cleared,
    f.TurnTaken: turns.taken,
    f.TurnTranscribed: turns.transcribed,
    f.StoodStill: overdue.excused,
    f.HookReturned: turns.hook_returned,
    f.ResponseBegan: model_initiated.began,
    f.TextStarted: steps.text_started,
    f.ToolCalled: steps.called,
    f.StreamContinued: steps.continued,
    f.StreamPaused: steps.paused,
    f.StepGenerated: steps.generated,
    f.GenerationFailed: steps.failed,
    f.ToolUpdated: steps.updated,
    f.ToolReturned: steps.returned,
    f.OutcomeFound: steps.found,
    f.CallResumed: resuming.resumed,
    f.RunSuspended: steps.suspended,
    f.RunResumed: steps.resumed,
    f.RunCancelRequested: steps.cancel_requested,
    f.InterruptionsDisallowed: barge_in.disallowed,
    f.InterruptRequested: barge_in.requested,
    f.SoundReady: playing.ready,
    f.PlayoutStarted: playing.started,
    f.PlayoutStarved: playing.starved,
    f.PlayoutProgressed: playing.progressed,
    f.PlayoutFinished: playing.finished,
    f.SpeechRequested: replies.requested,
    f.InterruptibilityChanged: replies.interruptibility_changed,
    f.ReplyJudged: consent.judged,
    f.ConsentGiven: consent.given,
    f.HandOffRequested: handoff.requested,
    f.AgentTaskStarted: handoff.task_started,
    f.AgentTaskFinished: handoff.task_finished,
    f.ContextChanged: handoff.context_changed,
    f.ModelsChanged: language.changed,
    f.EndRequested: closing.end_requested,
    f.CloseRequested: closing.close_requested,
}
"""Who takes a fact: it changes the state of one owner, and nothing else."""


def follow(floor: Floor) -> bool:
    """The rules, in order of right of way, each behind a cheap look at whether it is needed at all. True if one fired.

    A rule does what is due if it may be done now, and says whether it did.
    """
    fired, turn, debts, top = False, floor.turn, floor.debts, floor.frames.top
    if turn.ready or debts.turns.waiting:
        fired |= turns.commit(floor)
    if floor.must_hear.is_open:
        fired |= must_hear.advance(floor)
    if floor.dead_voice.since is not None:
        fired |= playing.try_voice(floor)
    if turn.lost or turn.unheard:
        fired |= turns.apologise(floor)
    if floor.unasked.responses:
        fired |= model_initiated.judge(floor)
    if floor.speeches.unfinished:
        fired |= steps.advance(floor)
    if floor.consent.question is not None:
        fired |= consent.advance(floor)
    if debts.turns.owed:
        fired |= replies.answer(floor)
    if top.speeches:
        fired |= replies.begin(floor)
    if floor.line.segments:
        fired |= playing.play(floor)
    if top.pending is not None:
        fired |= handoff.advance(floor)
    if debts.results:
        fired |= replies.deliver(floor)
    if not floor.closing.is_open:
        fired |= closing.advance(floor)
    return fired


MAX_PASSES = 60
"""Rules settle in a handful of passes; more means that two of them undo each other, which is a defect."""


class Conversation:
    """The pure core of one session.

    `agent` is the id of the first agent. `epoch` is what must be added to `now` to get seconds since the Unix
    epoch, for the `created_at` of history items. `mark` is in the ids of its history items: contexts may hold items of
    several conversations. All calls must come from one thread, with `now` never going back.
    """

    def __init__(self, options: SessionOptions, agent: str, epoch: float = 0.0, mark: str = "") -> None:
        self._floor = Floor(options, agent, epoch, mark)
        self._out = self._floor.out
        self._closing = self._floor.closing
        self._silence = Silence(self._floor, options.silence) if options.silence is not None else None
        self._presence = Presence(self._floor)

    # -- the interface of the driver

    def start(self, now: float) -> None:
        """The session begins: the first agent's `on_enter` runs."""
        self._out.it_is(now)
        handoff.enter(self._floor, self._floor.top, None)
        self._finish()

    def receive(self, fact: f.Fact, now: float) -> None:
        """Take a fact. Late, doubled and orphaned ones are refused silently. Never raises for what the world can do."""
        out = self._out
        if type(fact) is f.StoodStill:
            out.stood_still(fact.seconds)
        out.it_is(now)
        if self._closing.is_over:
            if type(fact) is f.SpeechRequested:
                self._floor.speeches.refuse(fact)
            return
        if out.admits(fact):
            ROUTES[type(fact)](self._floor, fact)
            if type(fact) is f.PlayoutProgressed and not out.is_overdue:
                return  # the commonest fact of a spoken turn decides nothing
        self._finish()

    def advance(self, now: float) -> None:
        """Time passed; to be called when `deadline` is reached. Early and late calls do no harm."""
        self._out.it_is(now)
        if not self._closing.is_over:
            self._finish()

    @property
    def deadline(self) -> float | None:
        """When `advance` must be called next, on the clock of `now`; None: not before the next fact."""
        floor = self._floor
        if self._closing.is_over:
            return None
        first, turn, turns = self._out.deadline, floor.turn, floor.debts.turns
        timers = [self._closing.deadline, self._presence.away_at]
        if floor.shields.until:
            timers.append(floor.shields.deadline)
        if floor.line.paused:
            timers.append(floor.line.doubt.deadline)
        if floor.dead_voice.since is not None:
            timers.append(floor.dead_voice.deadline(self._out.now))
        if not turn.is_blank:
            timers.append(turn.deadline)
        if turn.ready or turns.waiting:
            timers.append(floor.listening.deadline(self._out.now))
        if turns.owed:
            timers.append(turns.answer_due)
        if floor.consent.question is not None:
            timers.append(floor.consent.deadline)
        if self._silence is not None:
            timers.append(self._silence.deadline)
        if floor.away is not None:
            timers.append(floor.away.deadline)
        for time in timers:
            if time is not None and (first is None or time < first):
                first = time
        return None if first is None else self._out.by_the_driver(first)

    def take_commands(self) -> list[Command]:
        """The commands given since the last call, to be performed in order."""
        return self._out.take_commands()

    def new_id(self) -> int:
        """An id for a speech or a task that the application opens."""
        return self._out.new_id()

    @property
    def idle(self) -> bool:
        """Nothing is owed, queued, sounding, undelivered or handing over. Tools in the background do not count."""
        return self._closing.is_over or self._floor.is_idle

    @property
    def options(self) -> SessionOptions:
        """Those that hold now: the language may have changed."""
        return self._floor.options

    @property
    def must_hear(self) -> tuple[MustHearLine, ...]:
        """What the caller must hear, and the proof of what they heard."""
        return self._floor.must_hear.lines

    @property
    def said_goodbye(self) -> bool:
        """A goodbye was asked for, and the caller has not gone on since. Also true once it has closed so."""
        return self._closing.said_goodbye

    @property
    def running(self) -> list[Run]:
        """The runs that go on in the background, oldest first. To be read only."""
        return [run for run in self._floor.runs if run.active and run.bond is Bond.BACKGROUND]

    # -- what follows

    def _finish(self) -> None:
        """After the fact: overdue promises, timers, rules, and what observers should know."""
        floor = self._floor
        while self._out.is_overdue:
            fact = overdue.stop(floor, self._out.take_overdue())
            ROUTES[type(fact)](floor, fact)
        if not floor.turn.is_blank:
            turns.tick(floor)
        if floor.line.paused or floor.shields.until:
            barge_in.tick(floor)
        self._settle()
        if floor.turn.wants_prediction:
            turns.predict(floor)
        if floor.ahead is not None:
            ahead.advance(floor)
        if floor.away is not None and away.advance(floor, floor.away):
            self._settle()
        if self._silence is not None and self._silence.advance():
            self._settle()
        self._presence.observe()

    def _settle(self) -> None:
        for _ in range(MAX_PASSES):
            if not follow(self._floor):
                return
        raise AssertionError(
            "the rules of the conversation do not settle: this is a defect of Antiphon, please report it"
        )
