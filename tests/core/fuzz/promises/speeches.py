"""Speeches: their handles, what is done for them, and their voice."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise
from tests.core.fuzz.trace import EPSILON, Speech

AN_INSTANT = 0.01
"""Seconds in which results come together."""


class NothingIsDoneForACancelledSpeech(Promise):
    """Nothing is done for a cancelled speech (design 1); an id is used once (facts)."""

    @on(do.Generate, do.Adopt, do.Speak)
    def begun(self, command: do.Generate | do.Adopt | do.Speak) -> None:
        if command.gen in self.trace.steps or command.segment in self.trace.segments:
            self.broken(f"{command} uses an id again")
        self._check(self.trace.speech(command.speech), command)

    @on(do.Play)
    def played(self, command: do.Play) -> None:
        if command.segment in self.trace.segments:
            self._check(self.trace.segments[command.segment].speech, command)

    @on(do.RunTool, do.RebindRun)
    def run(self, command: do.RunTool | do.RebindRun) -> None:
        made = self.trace.calls.get(command.call.call_id)
        if made is None or made.step.gen != command.gen:
            self.broken(f"{command} of a call that was never made")
        self._check(made.step.speech, command)

    def _check(self, speech: Speech, command: do.Command) -> None:
        if speech.is_over:
            self.broken(f"{command}, and that speech is {'done' if speech.done else 'interrupted'}")

    @on(told.SpeechDone)
    def done(self, notice: told.SpeechDone) -> None:
        for step in self.trace.speech(notice.speech).steps:
            if step.is_open:
                self.broken(f"{notice}, and generation {step.gen} goes on")


class HandlesAreDoneOnce(Promise):
    """A speech that was asked for is done, once; whoever asks for one that nobody will hear is told so (notices)."""

    def start(self) -> None:
        self._waiting: set[int] = set()

    @on(f.SpeechRequested)
    def requested(self, fact: f.SpeechRequested) -> None:
        self._waiting.add(fact.speech)

    @on(told.SpeechDone)
    def done(self, notice: told.SpeechDone) -> None:
        self._waiting.discard(notice.speech)
        if self.trace.speech(notice.speech).done:
            self.broken(f"{notice} for the second time")

    def unfinished(self) -> Iterable[str]:
        return [f"speech {number}" for number in self._waiting]

    def at_end(self) -> None:
        if self._waiting:
            self.broken(f"never done: {sorted(self._waiting)}")


class ModelsHaveTheirTime(Promise):
    """A stream is given up when its time is up, or it stands still and a result is in, and not before (tool loop 4).

    A result that comes in while a stream stands still is told at once, by a new request; so is one that comes in the
    instant in which results are asked to be told.
    """

    def start(self) -> None:
        self._delivered_at: dict[int, float] = {}

    @on(do.Generate, do.Adopt)
    def asked(self, command: do.Generate | do.Adopt) -> None:
        if isinstance(command, do.Adopt) or command.delivery:
            self._delivered_at[command.gen] = self.trace.now

    @on(do.StopGenerating)
    def stopped(self, command: do.StopGenerating) -> None:
        trace = self.trace
        step = trace.steps.get(command.gen)
        if step is None or not step.is_open:
            self.broken(f"{command} of what was never begun, or is over")
        is_excused = step.speech.interrupted or step.so_far is not None or type(trace.fact) is f.AgentTaskFinished
        is_same_instant = trace.now <= self._delivered_at.get(command.gen, float("-inf")) + AN_INSTANT + EPSILON
        if not (is_excused or is_same_instant) and trace.now < step.due - EPSILON:
            self.broken(f"{command}, which was at work and had until {step.due:.3f}")

    def settled(self) -> None:
        trace = self.trace
        for step in trace.open_steps:
            if step.so_far is None or not step.tools or step.speech.is_over or step.is_held or trace.ends:
                continue
            if step.calls and all(made.run is not None and made.run.result is not None for made in step.calls):
                self.broken(f"generation {step.gen} stands still, its results are in, and nobody tells them")

    def unfinished(self) -> Iterable[str]:
        return [f"generation {step.gen}" for step in self.trace.open_steps]


class WhatHasNoSoundIsSaidAgain(Promise):
    """A text that gave no audio is said once more by the voice itself, or a line in its place (tool loop 5).

    The session's own lines go to the voice directly.
    """

    def start(self) -> None:
        self._lost: dict[Speech, str] = {}
        """Texts that nothing was heard of, and nothing since."""
        self._again: set[Speech] = set()
        self._made_up_for: set[Speech] = set()

    @on(f.PlayoutFinished)
    def finished(self, fact: f.PlayoutFinished) -> None:
        step = self.trace.segments.get(fact.segment)
        if step is None or not step.is_reported or step.is_over or step.is_filler:
            return
        if fact.heard:
            self._lost.pop(step.speech, None)
        elif fact.unsaid:
            self._lost[step.speech] = fact.unsaid

    @on(do.Speak)
    def spoken(self, command: do.Speak) -> None:
        speech = self.trace.speech(command.speech)
        if command.text is None or command.ahead:
            return
        if speech.is_filler:
            self.broken(f"{command} for what only bridges a wait")
        if not command.directly:
            self.broken(f"{command} of the session's own is left to the agent's node")
        if command.text != self._lost.pop(speech, None):
            self._made_up_for.add(speech)
        elif speech in self._again or command.text.startswith("{"):
            self.broken(f"{command} for the third time, or of what nobody can say")
        else:
            self._again.add(speech)

    @on(told.SpeechDone)
    def done(self, notice: told.SpeechDone) -> None:
        trace, speech = self.trace, self.trace.speech(notice.speech)
        lost = self._lost.pop(speech, "")
        if not lost or speech.interrupted or speech in self._made_up_for or trace.ends:
            return
        if speech.has_completed_its_task or any(trace.frame_of(step.agent) is None for step in speech.steps):
            return  # its task is over
        is_json = lost.startswith("{")
        if not speech.is_goodbye if is_json else speech not in self._again:
            self.broken(f"speech {speech.number} is done, and nobody has heard {lost!r}")
