"""What sounds, and what the caller's voice does to it."""

from __future__ import annotations

from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise, only_listens
from tests.core.fuzz.trace import EPSILON, Run, Sound, Speech, Step, serials

STOP_BOUND, FADE_BOUND = 0.5, 2.0
"""Seconds within which what is silenced is over; what ends with a word."""


class OneVoiceSounds(Promise):
    """One speech plays at a time (design 1); the loudspeaker holds at most two segments, the first complete."""

    @on(do.Play)
    def played(self, command: do.Play) -> None:
        trace = self.trace
        step = trace.segments.get(command.segment)
        if step is None or step.played is not None or not (step.has_begun or step.text):
            self.broken(f"{command} of what is not there, has no text, or was played")
        if trace.is_paused:
            self.broken(f"{command} while the line is paused")
        if command.first:
            self._check_first(step, command)
            return
        if len(trace.line) >= 2:
            self.broken(f"{command} makes three in the loudspeaker")
        for before in trace.line:
            if before.is_open:
                self.broken(f"{command} behind {before.segment}, whose text is not complete")
            if before.stopped is not None:
                self.broken(f"{command} while {before.segment} is being silenced")
        if step.is_filler and any(before.sound is Sound.NONE and not before.is_filler for before in trace.line):
            if step.speech.request is None:
                self.broken(f"{command} of a filler behind what does not sound")

    def _check_first(self, step: Step, command: do.Play) -> None:
        if not step.is_filler:
            self.broken(f"{command} is no filler")
        if any(before.sound is Sound.HEARD or before.fading is not None for before in self.trace.line):
            self.broken(f"{command} before what sounds, or ends with its word")


class WhatCanBeHeardIsPlayed(Promise):
    """What has sound is played, unless a speech before it is to sound first: nothing that bridges a wait is (facts)."""

    def settled(self) -> None:
        trace = self.trace
        if trace.line or trace.is_paused or trace.is_speaking or trace.latest_word or trace.ends:
            return
        if trace.awaits_notice:
            return
        waiting = [s for s in trace.steps.values() if s.is_asked and not (s.is_over or s.is_filler or s.speech.is_over)]
        if len(waiting) == 1 and waiting[0].has_begun and waiting[0].sound is Sound.READY:
            self.broken(f"{waiting[0].segment} could be heard, and is not played")


class NobodyIsTalkedOver(Promise):
    """While the caller speaks nobody begins to, but for what they may not interrupt (design 1, tool loop 5)."""

    @on(do.Play)
    def played(self, command: do.Play) -> None:
        trace, step = self.trace, self.trace.segments[command.segment]
        if trace.is_speaking and not trace.is_overruled and (step.is_filler or not trace.is_shielded(step.speech)):
            self.broken(f"{command} while the caller speaks")

    @on(do.Generate, do.Adopt)
    def asked(self, command: do.Generate | do.Adopt) -> None:
        speech = self.trace.speeches.get(command.speech)
        is_ahead = isinstance(command, do.Generate) and command.ahead
        if self.trace.is_speaking and not (self.trace.is_overruled or is_ahead) and speech is None:
            self.broken(f"{command} while the caller speaks")


class AReplyKnowsWhatWasHeard(Promise):
    """No reply begins before it is known how much was heard of what is being silenced (tool loop 5)."""

    @on(do.Generate, do.Adopt)
    def asked(self, command: do.Generate | do.Adopt) -> None:
        speech = self.trace.speeches.get(command.speech)
        if speech is None or not speech.steps:
            for step in self.trace.line:
                if step.stopped is not None:
                    self.broken(f"reply {command.speech} begins while {step.segment} is being silenced")


class WhatSoundsIsOverInTime(Promise):
    """A segment is over when the loudspeaker says so, or when its time is up, and not before (commands)."""

    @on(told.StepEnded)
    def ended(self, notice: told.StepEnded) -> None:
        trace, step = self.trace, self.trace.steps[notice.gen]
        if step.is_over:
            self.broken(f"{notice} for the second time")
        if step not in trace.line or step.is_reported or trace.is_closing:
            return
        since, bound = step.moved, self.options.stall_timeout
        if step.stopped is not None and (step.stopped < trace.now or step.speech.interrupted):
            since, bound = step.stopped, STOP_BOUND
        elif step.fading is not None:
            since, bound = step.fading, FADE_BOUND
        elif any(
            filler.is_first for filler in trace.segments.values() if (filler.played or 0.0) >= (step.played or 0.0)
        ):
            return  # a filler was put before it: what is left of its time is its own
        if trace.now < since + bound - EPSILON:
            self.broken(f"{step.segment} counts as over after {trace.now - since:.3f} s")

    @on(told.SpeechDone)
    def done(self, notice: told.SpeechDone) -> None:
        for step in self.trace.speeches[notice.speech].steps if notice.speech in self.trace.speeches else ():
            if step in self.trace.line and not self.trace.is_closing:
                self.broken(f"speech {notice.speech} is done while {step.segment} sounds")


class TheLineFallsSilentForAVoice(Promise):
    """When the caller's voice is heard, the line pauses at once; a false alarm resumes (design 1).

    Unless they have said too much at once: the agent has the word.
    """

    def start(self) -> None:
        self._first: Step | None = None

    def settled(self) -> None:
        trace, first = self.trace, self._first
        self._first = trace.line[0] if trace.line and trace.line[0].is_playing else None
        if first is not None and first.is_playing and type(trace.fact) is f.UserSpeechStarted:
            if not (trace.is_paused or trace.is_overruled or trace.is_protected(first.speech)):
                self.broken(f"the caller speaks, and {first.segment} sounds on")
        if trace.is_paused:
            if not trace.line and not trace.is_speaking:
                self.broken("the line is paused, and nothing is on it")
            if trace.deadline is None and not trace.is_speaking:
                self.broken("the line is paused, and nothing will change that")

    def at_rest(self) -> None:
        if self.trace.is_paused:
            self.broken("the line is still paused")


class WordsCutTheAgent(Promise):
    """It cuts on words, or on a committed turn, what may be interrupted (design 1, tool loop 5)."""

    def start(self) -> None:
        self._first: Step | None = None
        self._was_shielded = False
        self._turn: str | None = None

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        if command.kind == "on_user_turn_completed":
            self._turn = command.text

    def settled(self) -> None:
        trace, turn, self._turn = self.trace, self._turn, None
        first, self._first = self._first, trace.line[0] if trace.line and trace.line[0].is_playing else None
        was_shielded, self._was_shielded = self._was_shielded, any(trace.is_shielded(s.speech) for s in trace.line)
        if first is None or not first.is_playing or was_shielded or trace.ends or trace.is_shielded(first.speech):
            return
        is_wait = first.is_filler or (trace.joins is not None and not first.has_sounded)
        if turn is not None and not only_listens(turn) and not is_wait:
            self.broken(f"turn {turn!r} is taken, and {first.segment} sounds on")
        fact = trace.fact
        if type(fact) is f.Transcribed and trace.is_speaking and not trace.is_overruled and turn is None:
            is_new = serials(fact.text) and not serials(fact.text) & trace.taken_words
            if is_new and len(fact.text.split()) >= self.options.turns.interruption.min_words:
                self.broken(f"the caller said {fact.text!r}, and {first.segment} sounds on")


class WhatIsProtectedIsNotCut(Promise):
    """What the caller may not interrupt is not cut by them (tool loop 5)."""

    EXCUSES = (f.InterruptRequested, f.CloseRequested, f.AgentTaskFinished, f.InterruptionsDisallowed)

    def start(self) -> None:
        self._protected: dict[Speech, Run | None] = {}
        """Before the entry at hand: what may not be cut, and the tool that says so, if one does."""
        self._cut: list[Step | Speech] = []

    @on(told.SpeechInterrupted)
    def interrupted(self, notice: told.SpeechInterrupted) -> None:
        self._cut.append(self.trace.speech(notice.speech))

    @on(do.StopPlayout)
    def stopped(self, command: do.StopPlayout) -> None:
        step = self.trace.segments.get(command.segment)
        if step is not None and step.is_playing and not command.at_word:
            self._cut.append(step)

    def settled(self) -> None:
        trace, cut, protected = self.trace, self._cut, self._protected
        self._cut = []
        if cut and not trace.ends and not isinstance(trace.fact, self.EXCUSES):
            for one in cut:
                speech = one if isinstance(one, Speech) else one.speech
                if speech not in protected or (isinstance(one, Step) and one.is_over) or speech.asks_who_is_there:
                    continue  # what is over was given up
                run = protected[speech]
                if not run.is_over if run is not None else not speech.interruptible:
                    self.broken(f"speech {speech.number} is cut, and may not be interrupted")
        self._protected = {run.speech: run for run in trace.live_runs if run.is_protected and run.is_attached}
        self._protected.update((one, None) for one in trace.speeches.values() if not (one.interruptible or one.is_over))


class WhoHasSaidAllIsNotInterrupted(Promise):
    """The caller interrupts nobody of whom they have heard all (tool loop 5)."""

    @on(told.SpeechInterrupted)
    def interrupted(self, notice: told.SpeechInterrupted) -> None:
        trace, speech = self.trace, self.trace.speech(notice.speech)
        playing = [step for step in trace.line if step.speech is speech and not step.is_over]
        if not isinstance(trace.fact, f.Transcribed) or trace.ends or len(playing) != 1 or speech.rounds:
            return
        step = playing[0]
        if step is speech.steps[-1] and step.text and not (step.is_open or step.failed) and step.heard == step.text:
            self.broken(f"speech {speech.number} is interrupted, and all of it was heard")
