"""The silence budget: while the agent owes something, the line is never silent for long.

    WAIT --shortly before it is due--> PREPARED --due, still silent--> SAID --over--> WAIT, one rung higher
    PREPARED --somebody is heard, or nothing is owed--> discarded       SAID --something better--> ends at a word

*Silence*: neither side is audible. It begins with the end of the caller's sound (so endpointing counts), or of the
agent's. It counts while work is *pending*: words that are no turn yet, a hook, a model, a voice, or a call that is
neither in the background nor waiting for the caller. What bridges it is a ladder of lines, one at a time. The sound of
a line is made before it is due. A result that is in beats a filler that is due: the reply then gets a grace to begin.
So does a text that is in: its voice gets a moment to begin, or the filler would be cut in its first word.
Fillers stay out of the history: they are the line's words, not the model's, which would take to saying them itself. But
for the offer: a caller who takes it talks to the model.

Above: the conversation, which asks after every fact and at `deadline`. Below: the floor; `wait.py`, which measures;
`ladder.py`, which chooses the line.
"""

from __future__ import annotations

from antiphon.core.floor import Floor
from antiphon.core.ladder import Filler, Ladder
from antiphon.core.stages import Gate, Kind, Rank, Sound, Stage, Voice
from antiphon.core.state import OpenCall, Speech
from antiphon.core.wait import Wait
from antiphon.options import SilenceBudget

LAST_MOMENT = 0.3
"""Seconds before a filler is due in which no other one is prepared: its sound would not be there in time."""


AN_INSTANT = 0.01
"""Seconds that a prepared filler outlives the work it was prepared for: one thing may pass on to the next."""


class Silence:
    """Sees to it that a wait is bridged."""

    __slots__ = ("_bridged_at", "_budget", "_floor", "_ladder", "_line", "_speech", "_wait", "deadline")

    def __init__(self, floor: Floor, budget: SilenceBudget) -> None:
        self._floor = floor
        self._budget = budget
        self._wait = Wait(floor.out.now)
        self._ladder = Ladder(budget.fillers)
        self._line = Filler("")
        self._speech: Speech | None = None
        """Says `_line`: prepared, or being said."""
        self._bridged_at = float("-inf")
        """When the latest filler was given to the line. One that cannot be heard is not followed by another at once."""
        self.deadline: float | None = None
        """When to ask again, if nothing happens before."""

    def advance(self) -> bool:
        """Prepare a filler, or say it, whichever is due. True if the rules must be asked again."""
        self.deadline = None
        floor, now = self._floor, self._floor.out.now
        budget = floor.options.silence
        if budget is not None and budget is not self._budget:  # the language has changed
            self._budget = budget
            self._ladder.speaks(budget.fillers)
        if self._speech is not None and self._speech.stage is Stage.DONE:
            self._speech = None
        is_audible = floor.turn.speaking or floor.line.is_audible
        self._measure(now, is_audible)
        if floor.closing.ends_speech or floor.dead_voice.since is not None:
            self._discard()
            return self._give_up()
        if self._is_being_said and self._is_outrun():
            assert self._speech is not None  # it is being said
            floor.speeches.interrupt(self._speech)
            return True
        if is_audible:
            self._discard()
            sounding = floor.line.sounding
            if floor.turn.speaking or sounding is None or _ends_chain(sounding.speech):
                self._ladder.reset()
            return False
        since = self._wait.since
        if self._wait.ends_now(now):
            self.deadline = now + AN_INSTANT
            return False
        if since is None or self._is_being_said or floor.line.paused or floor.line.has_next:
            self._discard()
            return False
        if floor.line.is_stopping:  # in a moment it is known what was heard, and what comes next
            return False
        return self._bridge(now, since)

    # -- the wait

    def _measure(self, now: float, is_audible: bool) -> None:
        turn = self._floor.turn
        if is_audible:
            self._wait.heard(now, caller=turn.speaking)
            return
        self._wait.quiet(
            now,
            turn.voice_ended_at,
            pending=self._is_pending(),
            is_answer=turn.has_floor or turn.awaits_words or turn.ready or self._floor.debts.turns.model_took_at == now,
            is_bridged=self._ladder.rung > 0,
        )

    def _is_pending(self) -> bool:
        floor = self._floor
        turn = floor.turn
        turns = floor.debts.turns
        if floor.consent.question is not None and floor.awaits_consent:
            return False
        if turn.is_ended_by_application and floor.caller_has_floor:  # they hold the key: all else waits for them
            return False
        if turns.owed or turns.judged is not None:
            return True
        if floor.accepts_turns and (
            turns.waiting or turn.ready or turn.awaits_words or (turn.has_floor and not turn.is_ended_by_application)
        ):
            return True
        asks = None if floor.away is None else floor.away.line  # a caller who may not be there waits for nothing
        return floor.top.leaving is not None or any(_is_at_work(one) for one in floor.top.speeches if one is not asks)

    def _calls_at_work(self) -> list[OpenCall]:
        return [
            call
            for speech in self._floor.top.speeches
            for call in speech.open_calls()
            if call.gate is Gate.RUNNING and not (call.run is not None and call.run.suspended)
        ]

    @property
    def _results_are_in(self) -> bool:
        """All tools have answered, and what came of it is being put into words, or these into sound."""
        return any(
            speech.rounds and (speech.stage is Stage.GENERATING or (speech.stage is Stage.SPEAKING and speech.live))
            for speech in self._floor.top.speeches
        )

    # -- what bridges it

    def _bridge(self, now: float, since: float) -> bool:
        """Prepare the filler, and say it when it is due."""
        budget = self._budget
        due = max(since, self._bridged_at, self._floor.turn.unvoiced_at) + budget.max_silence
        if self._results_are_in:
            due = max(due, self._floor.rounds.closed_at + budget.grace)
        awaited = next((one for one in self._floor.line.segments if one.speech.kind is not Kind.FILLER), None)
        if awaited is not None and awaited.voice is Voice.SILENT:
            due = max(due, awaited.began + budget.voice)
        given = [at for at in map(_text_given, self._floor.top.speeches) if at is not None]
        if given:
            due = max(due, given[0] + budget.voice)
        if now < due - budget.prepare:
            self._discard()
            self.deadline = due - budget.prepare
            return False
        self._prepare(due)
        if now < due:
            self.deadline = due
            return False
        return self._say(now)

    def _prepare(self, due: float) -> None:
        line = self._ladder.next(self._calls_at_work(), self._wait.began, due)
        if self._speech is not None and not self._still_fits(self._speech, line, due):
            self._discard()
        if self._speech is None and line.text:
            self._line = line
            speech = Speech(self._floor.out.new_id(), Kind.FILLER, self._floor.top, Rank.FILLER, record=line.is_offer)
            self._speech = speech
            self._floor.speeches.speak_ahead(self._speech, line.text)

    def _still_fits(self, held: Speech, line: Filler, due: float) -> bool:
        """What is prepared is what would be said now, by the agent in charge. At the last moment anything is better."""
        is_ready = held.step is not None and held.step.segment.voice is Voice.READY
        if is_ready and self._line.call is None and due - self._floor.out.now < LAST_MOMENT:
            return True
        return line.text == self._line.text and held.frame is self._floor.top and held.agent == held.frame.agent

    def _say(self, now: float) -> bool:
        self._bridged_at = now
        if self._speech is None:  # the line for it is empty
            self.deadline = now + self._budget.max_silence
            return False
        self._ladder.said(self._line, self._calls_at_work(), self._wait.began)
        self._floor.speeches.release(self._speech)
        return True

    @property
    def _is_being_said(self) -> bool:
        return self._speech is not None and self._speech.stage not in (Stage.HELD, Stage.DONE)

    def _is_outrun(self) -> bool:
        """Something better can be heard before the filler, whose text was long in coming."""
        for segment in self._floor.line.segments:
            if segment.speech is self._speech:
                return False
            if segment.speech.kind is not Kind.FILLER:  # what stands behind it cannot be heard before it
                return segment.sound is Sound.PLAYING and segment.voice is not Voice.SILENT
        return False

    def _give_up(self) -> bool:
        """A filler that has no sound yet is not waited for."""
        speech = self._speech if self._is_being_said else None
        if speech is None or speech.step is None or speech.step.segment.voice is not Voice.SILENT:
            return False
        self._floor.speeches.interrupt(speech)
        return True

    def _discard(self) -> None:
        """What is prepared is not needed."""
        if self._speech is not None and self._speech.stage is Stage.HELD:
            self._floor.speeches.drop(self._speech)
            self._speech = None


def _is_at_work(speech: Speech) -> bool:
    """Something of it is still to come that nobody but this side delays."""
    match speech.stage:
        case Stage.TOOLS:
            return bool(speech.live) or any(c.run is None or not c.run.suspended for c in speech.open_calls())
        case Stage.SPEAKING:
            return bool(speech.live) and speech.kind is not Kind.FILLER
        case Stage.WAITING | Stage.GENERATING:
            return speech.kind is not Kind.FILLER
        case Stage.HELD | Stage.DONE:
            return False


def _text_given(speech: Speech) -> float | None:
    """Since when a text is in that the voice has not begun: a line of the session's own, in a model's place or not."""
    step = speech.step
    if speech.kind is Kind.FILLER or step is None or step.segment.sound is not Sound.OPEN:
        return None
    return step.given


def _ends_chain(speech: Speech) -> bool:
    """Now that it is heard, nobody waits as they did before.

    A filler, also one that a tool asked for, is part of the wait that it bridges; what is said between two rounds of
    tools is part of their chain.
    """
    if speech.kind is Kind.FILLER:
        return False
    at_work = speech.stage is Stage.TOOLS or (speech.stage is Stage.GENERATING and speech.rounds > 0)
    return not at_work
