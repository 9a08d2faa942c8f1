"""How often what happened: what a run of the fuzzer reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from antiphon.chat import ChatMessage, FunctionCall
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.listener import Listener, on
from tests.core.fuzz.trace import Trace

NAMES: dict[type, str] = {
    f.EndRequested: "goodbye", f.PlayoutStarved: "starved", do.CancelTool: "cancelled run", do.PausePlayout: "paused",
    do.ResumePlayout: "resumed", told.FalseInterruption: "false_interruption", told.HandedOff: "hand-off",
    told.TaskBegan: "task", told.ToolProgressed: "went to the background", told.TurnExceeded: "turn too long",
    told.TurnVetoed: "turn vetoed",
}  # fmt: skip
"""What counts by its kind alone."""


class Mechanisms(Listener):
    """Counts what a run reached."""

    def __init__(self, trace: Trace, counters: Counter[str]) -> None:
        super().__init__()
        self.trace = trace
        self._counters = counters
        named: dict[type, Callable[[Any], None]] = {kind: partial(self._count, name) for kind, name in NAMES.items()}
        self.listening = named | self.listening

    def _count(self, name: str, _: object = None, *, when: bool = True) -> None:
        if when:
            self._counters[name] += 1

    @on(f.EndOfTurnPredicted)
    def predicted(self, fact: f.EndOfTurnPredicted) -> None:
        self._count("stale prediction", when=fact.version != self.trace.version)

    @on(f.ToolCalled)
    def called(self, fact: f.ToolCalled) -> None:
        step = self.trace.steps.get(fact.gen)
        self._count("call without tools", when=step is not None and step.is_open and not step.tools)

    @on(f.ToolReturned)
    def returned(self, fact: f.ToolReturned) -> None:
        run = self.trace.ended
        self._count("hand-off of an orphan", when=fact.handoff is not None and run is not None and run.is_dropped)

    @on(f.CloseRequested)
    def close_requested(self, _: f.CloseRequested) -> None:
        self._count("close during a tool", when=any(True for _ in self.trace.live_runs))

    @on(f.SpeechRequested)
    def requested(self, fact: f.SpeechRequested) -> None:
        self._count("requested filler", when=fact.kind == "filler")

    @on(f.PlayoutFinished)
    def finished(self, fact: f.PlayoutFinished) -> None:
        self._count("no sound", when=bool(fact.unsaid))

    @on(do.RebindRun)
    def adopted(self, command: do.RebindRun) -> None:
        self._count("adopted")
        self._count("adopted after its end", when=self.trace.runs[command.run].is_over)

    @on(told.RoundClosed)
    def round_closed(self, notice: told.RoundClosed) -> None:
        for call, output in notice.pairs:
            made = self.trace.calls[call.call_id]
            is_kept = "still running" in str(output.output) and made.run is not None
            self._count("kept in the background", when=is_kept and made.step.speech.interrupted)
            self._count("adopted by the task it waits for", when=is_kept and not made.step.speech.interrupted)

    @on(do.ReleaseRun)
    def released_run(self, command: do.ReleaseRun) -> None:
        self._count("orphaned", when=self.trace.runs[command.run].policy.effect == "unsaid")

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        speech = self.trace.speech(command.speech)
        self._count("asked ahead", when=command.ahead)
        self._count("delivery", when=command.delivery)
        limit = self.trace.options.max_tool_steps
        self._count("step limit hit", when=not command.tools and 0 < limit <= speech.rounds)

    @on(do.Speak)
    def spoken(self, command: do.Speak) -> None:
        if command.text is None or command.ahead:
            return
        lines = {self.trace.options.fallback_line: "fallback line", self.trace.options.failure_line: "failure line"}
        lost = [step.unsaid for step in self.trace.speech(command.speech).steps]
        self._count("said once more" if command.text in lost else lines.get(command.text, "other line"))

    @on(do.Release)
    def released(self, command: do.Release) -> None:
        step, budget = self.trace.steps[command.gen], self.trace.options.silence
        if not step.is_filler or budget is None or not isinstance(step.asked, do.Speak):
            self._count("released")
            return
        self._count("filler said")
        self._count("offer", when=step.asked.text == budget.fillers.offer)
        self._count("filler of a tool", when=any(r.policy.filler == step.asked.text for r in self.trace.live_runs))

    @on(do.Discard)
    def discarded(self, command: do.Discard) -> None:
        self._count("filler discarded" if self.trace.steps[command.gen].is_filler else "discarded")

    @on(do.Play)
    def played(self, command: do.Play) -> None:
        self._count("played first" if command.first else "played without a gap", when=bool(self.trace.line))

    @on(do.StopPlayout)
    def stopped(self, command: do.StopPlayout) -> None:
        step = self.trace.segments[command.segment]
        self._count("filler ended for something better", when=command.at_word)
        self._count("cut while playing", when=step.is_playing and step.speech.interrupted)
        self._count("stalled", when=step.is_playing and not (step.speech.interrupted or command.at_word))

    @on(do.RunHook)
    def hook_run(self, command: do.RunHook) -> None:
        is_turn = command.kind == "on_user_turn_completed"
        self._count("goodbye taken back", when=is_turn and self.trace.is_ending)

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        item = command.item
        if type(item) is ChatMessage:
            self._count("turn carried", when=command.carried)
            self._count("recorded cut", when=item.interrupted)
        elif type(item) is FunctionCall:
            self._count("recorded finished", when=item.call_id.endswith("/finished"))
            self._count("recorded update", when="/update_" in item.call_id)

    @on(told.UserStateChanged)
    def user_state(self, notice: told.UserStateChanged) -> None:
        self._count("away", when=notice.state == "away")

    @on(told.SpeechDone)
    def done(self, notice: told.SpeechDone) -> None:
        speech = self.trace.speech(notice.speech)
        self._count("turn answered", when=speech.heard and speech.request is None and not speech.is_filler)
