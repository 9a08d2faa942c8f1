"""The silence budget, as the caller hears it."""

from __future__ import annotations

from collections import Counter

from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from antiphon.options import SilenceBudget
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise
from tests.core.fuzz.trace import EPSILON, Run, Sound, Speech, Step, serials

AN_INSTANT = 0.001
"""Seconds of sound that nobody hears."""


class ALineEndsForSomethingBetter(Promise):
    """A filler ends at a word as soon as what is behind it can be heard (commands)."""

    @on(do.StopPlayout)
    def faded(self, command: do.StopPlayout) -> None:
        if not command.at_word:
            return
        step = self.trace.segments[command.segment]
        if not step.is_filler or step is not self.trace.line[0] or not step.is_playing or step.fading is not None:
            self.broken(f"{command} is no filler that sounds, or ends already")

    def settled(self) -> None:
        trace = self.trace
        if self.options.silence is None or not trace.line or trace.is_paused or trace.ends or trace.is_voice_lost:
            return
        first, *others = trace.line
        if first.is_playing and first.sound is not Sound.NONE and not first.is_filler:
            if any(
                s.is_filler and s.is_asked and s.speech.request is None and s.played is None for s in trace.open_steps
            ):
                self.broken(f"a line waits for its text, and {first.segment} can be heard")
        other = others[0] if others else first
        if first.is_filler and first.is_playing and first.fading is None and not other.is_filler:
            if other.is_playing and other.sound is Sound.READY:
                self.broken(f"{first.segment} bridges a wait, and {other.segment} could be heard")


class ALineIsNotRepeated(Promise):
    """The offer is made once in a wait, and a tool's own line once for each of its calls that runs (tool loop 9).

    A wait is over when the caller speaks, or anything but a filler is heard.
    """

    def start(self) -> None:
        self._said: Counter[str] = Counter()
        self._calls: dict[str, set[str]] = {}

    def _begin_anew(self) -> None:
        self._said.clear()
        self._calls.clear()

    @on(f.PlayoutStarted)
    def started(self, fact: f.PlayoutStarted) -> None:
        step = self.trace.segments.get(fact.segment)
        if step is not None and self.trace.line[:1] == [step] and not step.is_filler:
            self._begin_anew()

    def settled(self) -> None:
        if self.trace.is_speaking:
            self._begin_anew()

    @on(do.Release)
    def said(self, command: do.Release) -> None:
        step, budget = self.trace.steps[command.gen], self.options.silence
        if not step.is_filler or not isinstance(step.asked, do.Speak) or step.asked.text is None or budget is None:
            return
        text, fillers = step.asked.text, budget.fillers
        if text in (*fillers.short, *fillers.long, *fillers.progress):
            return
        running = {run.made.call.call_id for run in self.trace.live_runs if run.policy.filler == text}
        calls = self._calls.setdefault(text, {"the offer"} if text == fillers.offer else set())
        calls |= running
        self._said[text] += 1
        if self._said[text] > len(calls):
            self.broken(f"{text!r} is said {self._said[text]} times in one wait, for {sorted(calls)}")


class LinesDoNotComeRound(Promise):
    """No line of a wait is said twice in a row, and none of three or more of progress begin to go round (`Fillers`).

    A wait is over when the caller speaks, or anything but a filler is heard.
    """

    def start(self) -> None:
        self._last = ""
        self._progress: list[str] = []

    @on(f.PlayoutStarted)
    def started(self, fact: f.PlayoutStarted) -> None:
        step = self.trace.segments.get(fact.segment)
        if step is not None and self.trace.line[:1] == [step] and not step.is_filler:
            self._last = ""

    def settled(self) -> None:
        if self.trace.is_speaking:
            self._last = ""

    @on(do.Release)
    def said(self, command: do.Release) -> None:
        step, budget = self.trace.steps[command.gen], self.options.silence
        if not step.is_filler or not isinstance(step.asked, do.Speak) or step.asked.text is None or budget is None:
            return
        text, fillers = step.asked.text, budget.fillers
        lines = (*fillers.short, *fillers.long, *fillers.progress)
        if text == self._last and text in lines and any(line != text for line in (*fillers.short, *fillers.progress)):
            self.broken(f"{text!r} is said twice in a row")
        self._last = text
        if text in fillers.progress and len(fillers.progress) >= 3:
            said = self._progress = [*self._progress[-23:], text]
            for length in range(1, len(said) // 2 + 1):
                if said[-length:] == said[-2 * length : -length]:
                    self.broken(f"{said[-length:]} come twice in a row")


class SilenceIsBridgedWhenItIsDue(Promise):
    """With work pending, no silence exceeds `max_silence`, or `grace` after a round of tools (design 1, tool loop 9).

    Silence is when neither side is heard; it starts at the end of the caller's sound, or of the agent's. Nothing
    bridges it before it is due, or when nothing is pending, or while a text that has just come in becomes sound.
    Where it is not known how soon a line can be heard, silences are not measured.
    """

    def start(self) -> None:
        self._prompt = self.trace.prompt_voice
        self._quiet_since: float | None = 0.0
        """None: somebody is heard."""
        self._heard_at = self._quiet_before = 0.0
        """When somebody was last heard after a silence, and since when that had been."""
        self._is_unheard = False
        """What was heard then ended as it began: nobody heard it."""
        self._was_speaking = False
        self._words_at = 0.0
        """When words came of which no voice was heard: the caller was heard until then."""
        self._is_voiced = False
        self._has_words = False
        self._is_owed = False
        """A committed turn waits for its answer."""
        self._is_handing_over = False
        """What the caller says waits for the next agent."""
        self._heard: dict[int, tuple[str, float]] = {}
        """Turns without words that an agent's model heard: that agent, and until when the others wait for the words."""
        self._pending_since: float | None = None
        self._due: float | None = None
        """When a line must have been given to the voice; None: that is not certain."""
        self._results_at = float("-inf")
        self._results_of: Speech | None = None
        self._bridge: Speech | None = None
        """The line that was said last, or is being said."""
        self._bridged_at = float("-inf")
        self._faded_at: float | None = None
        """When it gave way to something better."""
        self._in_since: dict[int, float] = {}
        """By segment: since when its text is in."""
        self._is_held_up = False
        self._held_up_until = 0.0
        """When the line was last paused, or somebody heard."""

    # -- what happens

    @on(f.UserSpeechStarted)
    def voice_began(self, _: f.UserSpeechStarted) -> None:
        self._is_voiced = True

    @on(f.Transcribed, f.UserTurnSubmitted, f.TurnTaken)
    def said(self, fact: f.Transcribed | f.UserTurnSubmitted | f.TurnTaken) -> None:
        self._has_words = self._has_words or bool(fact.text) or isinstance(fact, f.TurnTaken)
        since, wait = self.trace.silent_since, self.options.transcript_timeout
        if isinstance(fact, f.Transcribed) and fact.text and not self.trace.is_speaking:
            if since is None or self.trace.now > since + wait:  # else they belong to that voice, however late
                self._words_at = self.trace.now

    @on(f.UserTurnCleared)
    def cleared(self, _: f.UserTurnCleared) -> None:
        self._is_voiced = self.trace.is_speaking

    @on(f.HandOffRequested, f.ToolReturned)
    def handed_over(self, fact: f.HandOffRequested | f.ToolReturned) -> None:
        self._is_handing_over |= isinstance(fact, f.HandOffRequested) or fact.handoff is not None

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        self._is_handing_over &= command.previous is None
        if command.kind == "on_user_turn_completed":
            self._has_words, self._is_voiced = False, self.trace.is_speaking

    @on(told.TurnCommitted)
    def committed(self, notice: told.TurnCommitted) -> None:
        self._is_owed, hook = True, self.trace.returned
        if hook is not None and hook.heard_as is not None and not notice.text:
            self._heard[hook.heard_as] = hook.agent, self.trace.now + self.options.words_timeout

    @on(f.TurnTranscribed)
    def worded(self, fact: f.TurnTranscribed) -> None:
        agent, _ = self._heard.pop(fact.turn, (self.trace.agent, 0.0))
        self._is_owed = self._is_owed or agent != self.trace.agent

    @on(do.Generate, do.Adopt)
    def asked(self, command: do.Generate | do.Adopt) -> None:
        is_answer = self.trace.speech(command.speech).request is None  # what the application asked for is none
        self._is_owed = self._is_owed and (getattr(command, "ahead", False) or not is_answer)

    @on(told.SpeechDone)
    def done(self, notice: told.SpeechDone) -> None:
        speech = self.trace.speech(notice.speech)
        self._is_owed = self._is_owed or (speech.interrupted and not speech.is_filler)

    @on(told.RoundClosed)
    def round_closed(self, notice: told.RoundClosed) -> None:
        self._results_at, self._results_of = self.trace.now, self.trace.speech(notice.speech)

    @on(do.StopPlayout)
    def faded(self, command: do.StopPlayout) -> None:
        if not command.at_word:
            self._is_unheard = self._is_unheard or self._has_just_begun
        else:
            self._faded_at = self.trace.now if self.trace.segments[command.segment].speech is self._bridge else None

    @property
    def _has_just_begun(self) -> bool:
        return self.trace.now <= self._heard_at + AN_INSTANT + EPSILON

    # -- not before it is due

    @on(do.Release)
    def bridged(self, command: do.Release) -> None:
        trace, budget = self.trace, self.options.silence
        step = trace.steps[command.gen]
        if not step.is_filler:
            self._is_owed = False
            return
        if budget is None or trace.is_speaking:
            self.broken(f"{step.asked} without a budget, or over the caller")
        if not self._may_be_pending():
            self.broken(f"{step.asked} is said, and nothing is owed")
        words = serials(trace.latest_word) - trace.taken_words
        is_meant = self.options.turns.interruption.min_words <= 1  # else it may be said in passing
        if trace.is_held_by_the_caller and words and is_meant and not trace.ends:
            self.broken(f"{step.asked} is said, and the caller has the word")
        told = self._results_of
        if (
            told is not None
            and not told.is_over
            and any(s.speech is told and self._is_at_work(s) for s in trace.open_steps)
        ):
            if trace.now < self._results_at + budget.grace - EPSILON:
                self.broken(f"{step.asked} is said, and the results came at {self._results_at:.3f}")
        texts_in = self._texts_in()
        in_since = min(texts_in, default=float("-inf"))
        is_next = len(texts_in) == len(self._in_since)  # else what has sound already may come before it
        if is_next and trace.now < in_since + budget.voice - EPSILON:
            self.broken(f"{step.asked} is said, and the text of the reply is in since {in_since:.3f}")
        if self._prompt is not None:
            is_unheard = self._is_unheard or (self._quiet_since is None and self._has_just_begun)
            quiet_since = self._quiet_before if is_unheard else self._quiet_since
            if quiet_since is None:
                self.broken(f"{step.asked} is said while somebody is heard")
            waited = trace.now - max(quiet_since, self._bridged_at)
            if waited < budget.max_silence - EPSILON:
                self.broken(f"{step.asked} is said after {waited:.3f} s")
        self._bridge, self._bridged_at, self._faded_at = step.speech, trace.now, None

    # -- and not after

    def passed(self, now: float) -> None:
        if self._due is not None and now > self._due + EPSILON:
            since = max(self._quiet_since or 0.0, self._pending_since or 0.0)
            self.broken(f"nobody is heard from {since:.3f} to {now:.3f}, and a line was due at {self._due:.3f}")

    def _texts_in(self) -> list[float]:
        """When the texts came in that wait for their sound."""
        known = ((self.trace.segments[segment], at) for segment, at in self._in_since.items())
        return [at for step, at in known if step.sound is Sound.NONE and self._is_text(step)]

    def _voice_due(self) -> float:
        """When the latest of them has had its moment to sound."""
        return max(self._texts_in(), default=float("-inf")) + (self.options.silence or SilenceBudget()).voice

    @staticmethod
    def _is_text(step: Step) -> bool:
        """It may be heard."""
        is_gone = step.is_over or step.speech.is_over
        has_text = step.has_begun or bool(step.text and step.text.strip())
        return has_text and step.is_asked and not (step.is_filler or is_gone)

    def settled(self) -> None:
        trace = self.trace
        known = [trace.segments[segment] for segment in self._in_since]
        awaited = [step.segment for step in (*trace.open_steps, *trace.line, *known) if self._is_text(step)]
        self._in_since = {segment: self._in_since.get(segment, trace.now) for segment in awaited}
        if self.options.silence is None or self._prompt is None:
            return
        first = trace.line[0] if trace.line else None
        playing = next((step for step in trace.line if step.stopped is None), None)
        is_heard = trace.is_speaking or (
            playing is not None and playing.is_playing and playing.sound is Sound.HEARD and not trace.is_paused
        )
        if is_heard:
            if self._quiet_since is not None:
                self._quiet_before = self._quiet_before if self._is_unheard else self._quiet_since
                self._heard_at, self._is_unheard = trace.now, False
            self._quiet_since = self._faded_at = None
        elif self._quiet_since is None:
            at = trace.silent_since if self._was_speaking else None
            self._is_unheard = self._is_unheard or (self._has_just_begun and not self._was_speaking)
            self._quiet_since = trace.now if at is None else max(at, self._quiet_before)
        self._was_speaking = trace.is_speaking
        is_held_up = trace.is_paused or is_heard or any(step.stopped is not None for step in trace.line)
        if is_held_up or self._is_held_up:
            self._held_up_until = trace.now
        self._is_held_up = is_held_up
        if not self._is_pending():
            self._pending_since = None
        elif self._pending_since is None:
            self._pending_since = trace.now
        self._due = self._next_due(first)

    def _next_due(self, first: Step | None) -> float | None:
        trace, budget, bridge = self.trace, self.options.silence, self._bridge
        assert budget is not None and self._prompt is not None
        fillers = budget.fillers
        if self._quiet_since is None or self._pending_since is None:
            return None
        if not (fillers.short and fillers.long and fillers.progress) or trace.is_voice_lost:
            return None
        if trace.ends or trace.is_paused or trace.leaving or any(step.stopped is not None for step in trace.line):
            return None
        if bridge is not None and not bridge.done:  # it is about to be heard, or was cut
            return None if bridge.interrupted else max(self._bridged_at, self._held_up_until) + self._prompt
        if first is not None and (first.sound is not Sound.NONE or first.is_filler):
            return None
        if self._faded_at is not None and bridge is not None and not bridge.heard:
            return max(self._faded_at, self._held_up_until) + self._prompt  # what it gave way to is to be heard
        since = max(self._quiet_since, self._words_at, self._pending_since, self._bridged_at)
        return max(since + budget.max_silence, self._results_at + budget.grace, self._voice_due(), trace.now)

    # -- what is pending

    def _is_pending(self) -> bool:
        """Something is certainly owed, and not held up by a caller who decides when they have said all."""
        trace = self.trace
        return not trace.is_held_by_the_caller and (
            any(hook.kind == "on_user_turn_completed" for hook in trace.hooks.values())
            or (bool(trace.words) and self.options.turns.detection in ("vad", "stt"))
            or any(self._is_at_work(step) for step in trace.open_steps)
            or any(self._is_awaited(run) for run in trace.live_runs)
            or any(self._is_at_work(step) for step in trace.line if step.is_playing)
        )

    def _is_at_work(self, step: Step) -> bool:
        is_waited_for = not (step.is_filler or step.speech.is_over or step.speech.asks_who_is_there)
        return step.is_asked and step.agent == self.trace.agent and is_waited_for

    def _is_awaited(self, run: Run) -> bool:
        """A call of the agent in charge waits for it."""
        return (
            run.is_attached
            and not (run.waits or run.speech.is_over or run.made.call.call_id in self.trace.recorded_calls)
            and run.frame == self.trace.frames[-1][0]
        )

    def _may_be_pending(self) -> bool:
        """Something is perhaps owed."""
        trace, options = self.trace, self.options
        bound = options.transcript_timeout + options.prediction_timeout
        return bool(
            trace.hooks
            or trace.leaving
            or trace.responses
            or self._is_owed
            or any(agent != trace.agent and trace.now <= until for agent, until in self._heard.values())
            or self._has_words
            or (self._is_voiced and self._is_handing_over and options.model_hears and not options.has_stt)
            or (trace.silent_since is not None and trace.now <= trace.silent_since + bound + EPSILON)
            or any(not step.is_filler for step in trace.line)
            or any(step.is_asked and not step.is_filler for step in trace.open_steps)
            or any(run.is_attached and not run.waits for run in trace.live_runs)
            or any(
                made.run is None and not (made.call.call_id in trace.recorded_calls or made.step.speech.done)
                for made in trace.calls.values()
            )
            or any(s.request is not None and not (s.done or s.is_filler) for s in trace.speeches.values())
        )
