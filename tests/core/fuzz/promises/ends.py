"""That everything comes to an end, and nothing is left over."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise
from tests.core.fuzz.trace import EPSILON, Step


class TheDeadlineLiesAhead(Promise):
    """`deadline`: when `advance` must be called next. After it was, it lies in the future (design 1)."""

    def settled(self) -> None:
        deadline = self.trace.deadline
        if deadline is not None and deadline <= self.trace.now and self.trace.fact is None:
            self.broken(f"{deadline} is not after {self.trace.now}: the driver would spin")


class WhatStandsReadyBeatsTheClock(Promise):
    """After everything stood still nothing falls due before what stands ready was taken (facts: `StoodStill`)."""

    def settled(self) -> None:
        trace = self.trace
        if isinstance(trace.fact, f.StoodStill) and trace.deadline is not None and trace.deadline <= trace.now:
            self.broken(f"{trace.fact}, and at {trace.now} something was due at {trace.deadline}")


class IdleMeansThatNothingSounds(Promise):
    """Idle: nothing owed, queued, sounding, undelivered or handing over (design 1)."""

    def settled(self) -> None:
        if self.trace.is_idle and self.trace.line:
            self.broken(f"{self.trace.line[0].segment} sounds")

    def unfinished(self) -> Iterable[str]:
        return [f"segment {step.segment}" for step in self.trace.line]

    def at_rest(self) -> None:
        if not self.trace.is_idle:
            self.broken("nothing is due or under way, and the conversation is not idle")


class AnAbsentCallerIsNoticed(Promise):
    """A caller is away when nothing was said, owed or done for `user_away_timeout`; until something is (options)."""

    def start(self) -> None:
        self._since: float | None = None
        """Nothing has been said, owed or done since then."""
        self._is_away = False
        self._was_asked = False
        """Whether they are there; they count as away until they say something."""

    @on(do.Speak)
    def asked(self, command: do.Speak) -> None:
        ladder = self.options.away_ladder
        self._was_asked = self._was_asked or (ladder is not None and command.text in (ladder.ask, ladder.again))

    @on(told.UserStateChanged)
    def changed(self, notice: told.UserStateChanged) -> None:
        timeout, since = self.options.user_away_timeout, self._since
        self._is_away = notice.state == "away"
        if self._is_away and self._was_asked:
            return
        if self._is_away and (timeout is None or since is None or self.trace.now - since < timeout - EPSILON):
            self.broken(f"{notice}, and nothing happens since {since}")

    def settled(self) -> None:
        trace, timeout = self.trace, self.options.user_away_timeout
        if timeout is None:
            return
        if not trace.is_idle or trace.is_speaking or any(True for _ in trace.live_runs):
            if self._is_away and not trace.is_speaking and not trace.is_idle and not self._was_asked:
                self.broken("the caller is away, and something is owed or done")
            self._since = None
        elif self._since is None:
            self._since = trace.now
        elif trace.fact is None and not self._is_away and trace.now > self._since + timeout + EPSILON:
            self.broken(f"nothing happens since {self._since}, and the caller is not away")


class ASilentCallerIsAsked(Promise):
    """A caller who falls silent is asked, asked again, and then the call ends; never while anything is owed (options).

    Words begin it anew; a noise neither starts nor stops it.
    """

    def start(self) -> None:
        ladder = self.options.away_ladder
        self._lines = () if ladder is None else (ladder.ask, ladder.again, ladder.goodbye)
        self._after = () if ladder is None else (ladder.ask_after, ladder.again_after, ladder.goodbye_after)
        self._rungs = {0}
        """How many steps were taken since the latest words: it may be one of these."""
        self._since: float | None = 0.0
        """Since when nobody else surely says, does or owes anything."""
        self._idle_since: float | None = None
        """Since when surely nobody does."""

    @on(f.Transcribed, f.UserTurnSubmitted, f.TurnTaken, f.TurnTranscribed, f.UserTurnCommitRequested)
    def heard(self, _: object) -> None:
        self._rungs |= {0}

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        if command.kind == "on_user_turn_completed":  # also of one who speaks on, or that is vetoed at once
            self._rungs, self._idle_since = {0}, None

    @on(told.TurnCommitted)
    def committed(self, _: told.TurnCommitted) -> None:
        self._rungs = {0}

    @on(do.Speak)
    def asked(self, command: do.Speak) -> None:
        if command.text not in self._lines or self.trace.speech(command.speech).steps:
            return
        rung = self._lines.index(command.text)
        if rung not in self._rungs:
            self.broken(f"{command} as step {rung + 1}, and {self._rungs} were taken")
        why = self._attends()
        if why is not None:
            self.broken(f"{command}, and {why}")
        if self._since is None or self.trace.now < self._since + self._after[rung] - EPSILON:
            self.broken(f"{command} at {self.trace.now:.3f}, and the caller is silent since {self._since}")
        heard, idle_since = self.trace.silent_since or 0.0, self._idle_since
        if idle_since is not None and self.trace.prompt_voice is not None and not self.trace.is_speaking:
            by = max(idle_since + self._after[rung], heard + self.options.transcript_timeout)
            if self.trace.now > by + EPSILON:
                self.broken(f"{command} at {self.trace.now:.3f}, and it was due at {by:.3f}")
        self._rungs, self._since, self._idle_since = {rung + 1}, None, None

    def _attends(self) -> str | None:
        """What surely is said, done or owed."""
        trace = self.trace
        if trace.is_closing or any(hook.kind == "on_user_turn_completed" for hook in trace.hooks.values()):
            return "the call ends, or a turn is looked at"
        if trace.words and not self._are_passed_by:
            return f"the caller has said {trace.words}"
        for step in trace.line:
            if not (step.is_filler or self._is_own(step)):
                return f"{step.segment} sounds"
        for step in trace.open_steps:
            is_nothing = step.is_filler or step.speech.is_over or self._is_own(step)
            if step.is_asked and step.agent == trace.agent and not is_nothing:
                return f"{step.asked} is under way"
        for run in trace.live_runs:
            is_at_work = (run.is_attached and not run.speech.is_over) or (run.is_updated and not run.is_released)
            if is_at_work and not run.waits:
                return f"{run.made.call.call_id} is at work"
        return None

    @property
    def _are_passed_by(self) -> bool:
        """The caller's words are left to the application, and a turn was typed behind them."""
        return self.trace.is_passed_by and self.options.turns.detection == "manual"

    def _is_own(self, step: Step) -> bool:
        first = step.speech.steps[0].asked  # what is said where that is lost is part of it
        text = first.text if isinstance(first, do.Speak) else None
        return text is not None and text in (*self._lines, self.options.unheard_line)

    def settled(self) -> None:
        trace = self.trace
        if not self._lines:
            return
        if trace.words and not self._are_passed_by:
            self._rungs = {0}
        if self._attends() is not None or any(step.speech.asks_who_is_there for step in trace.line):
            self._since = None
        elif self._since is None:
            self._since = trace.now
        is_busy = not trace.is_idle or trace.ends or trace.question is not None
        if not trace.is_speaking and (is_busy or any(True for _ in trace.live_runs)):
            self._idle_since = None
        elif self._idle_since is None and not trace.is_speaking:
            self._idle_since = trace.now
        self._is_late()

    def _is_late(self) -> None:
        trace, since = self.trace, self._idle_since
        heard = trace.silent_since
        may_have_words = heard is not None and trace.now <= heard + self.options.transcript_timeout + EPSILON
        if since is None or trace.is_speaking or may_have_words or trace.fact is not None or 3 in self._rungs:
            return
        if trace.is_voice_lost:  # nobody would hear it
            return
        if trace.now > since + max(self._after[rung] for rung in self._rungs) + EPSILON:
            self.broken(f"nobody asks, and the caller is silent since {since:.3f}, after {self._rungs} steps")


class TheEndComesInTime(Promise):
    """The call ends when somebody asked for it, within `close_grace`, and nothing is done afterwards (design 4)."""

    def start(self) -> None:
        self._by: float | None = None

    @on(f.CloseRequested)
    def requested(self, fact: f.CloseRequested) -> None:
        if not fact.drain and self._by is None:
            self._by = self.trace.now + self.options.close_grace

    @on(told.VoiceGivenUp)
    def given_up(self, notice: told.VoiceGivenUp) -> None:
        if not self.trace.is_voice_lost:
            self.broken(f"{notice}, and something was heard")

    @on(do.Close)
    def closed(self, command: do.Close) -> None:
        if not self.trace.ends:
            self.broken(f"{command}, and nobody asked for it")

    def settled(self) -> None:
        if self._by is not None and self.trace.now > self._by + EPSILON:
            self.broken(f"closing was to be over at {self._by}")

    def at_rest(self) -> None:
        if self.trace.is_ending:
            self.broken("the goodbye was said, and the session is open")

    def at_end(self) -> None:
        if not self.trace.is_closed:
            self.broken("closing was asked for, and the session is open")
