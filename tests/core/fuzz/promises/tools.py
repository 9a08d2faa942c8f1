"""Tools: rounds, what runs, what must not be lost, and what is told of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from antiphon.chat import FunctionCallOutput
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise
from tests.core.fuzz.trace import EPSILON, Made, Run, Speech


class RoundsAreBounded(Promise):
    """After `max_tool_steps` rounds of a turn the next request has no tools; calls that come back are dropped (loop 4).

    The request says so, once told: unless another agent takes over or the call ends with it. Calls that a response
    wanted all the same are named to the one that is asked for in its place (commands).
    """

    def start(self) -> None:
        self._told: set[int] = set()
        """Speeches whose rounds are used up."""
        self._not_made: dict[int, list[f.Call]] = {}
        """By speech: calls of its latest response that came where none were wanted."""
        self._hands_over: set[int] = set()
        """Runs that returned another agent."""

    @on(told.ToolStepsUsedUp)
    def used_up(self, notice: told.ToolStepsUsedUp) -> None:
        rounds = self.trace.speech(notice.speech).rounds_used
        if notice.speech in self._told or notice.steps != rounds or rounds < self.options.max_tool_steps:
            self.broken(f"{notice} after {rounds} rounds, of {self._told}")
        self._told.add(notice.speech)

    @on(f.ToolCalled)
    def came(self, fact: f.ToolCalled) -> None:
        step = self.trace.steps.get(fact.gen)
        if step is not None and step.is_open and not step.tools:
            self._not_made.setdefault(step.speech.number, []).append(fact.call)

    @on(f.ToolReturned)
    def returned(self, fact: f.ToolReturned) -> None:
        if fact.handoff is not None:
            self._hands_over.add(fact.run)

    @on(do.Generate, do.Adopt)
    def asked(self, command: do.Generate | do.Adopt) -> None:
        if command.tools and self.trace.speech(command.speech).rounds_used >= self.options.max_tool_steps:
            self.broken(f"{command} has tools after {self.trace.speech(command.speech).rounds_used} rounds")
        if isinstance(command, do.Generate):
            self._says_why(command)

    def _says_why(self, command: do.Generate) -> None:
        speech, not_made = self.trace.speech(command.speech), self._not_made.pop(command.speech, [])
        is_used_up = 0 < self.options.max_tool_steps <= speech.rounds_used
        runs = [made.run for step in speech.steps for made in step.calls if made.run is not None]
        is_last = speech.is_goodbye or any(run.number in self._hands_over for run in runs)
        if command.steps_used != (speech.rounds_used if is_used_up else 0) and not (is_last and not command.steps_used):
            self.broken(f"{command} after {speech.rounds_used} rounds")
        if command.steps_used and speech.is_goodbye:
            self.broken(f"{command}, and the call ends with it")
        if command.steps_used and command.speech not in self._told:
            self.broken(f"{command}, and nobody was told")
        if command.retry and list(command.not_made) != not_made:
            self.broken(f"{command} does not name {not_made}")

    @on(do.RunTool, do.RebindRun)
    def run(self, command: do.RunTool | do.RebindRun) -> None:
        made = self.trace.calls.get(command.call.call_id)
        if made is not None and (made.is_rejected or not made.step.tools or made.run is not None):
            self.broken(f"{command} of a call that is rejected, served, or was not wanted")


class CallsRunInTheirOrder(Promise):
    """Writes run in call order, each when what comes before it is closed; others beside one another (design 4).

    Behind one that is not to run beside others, nothing runs before it is closed.
    """

    @on(do.RunTool)
    def run(self, command: do.RunTool) -> None:
        made = self.trace.calls[command.call.call_id]
        for earlier in made.step.calls[: made.step.calls.index(made)]:
            if made.policy.parallel and earlier.policy.parallel:
                continue
            if earlier.run is not None and earlier.run.is_attached and not earlier.run.waits:
                self.broken(f"{command} while {earlier.call.call_id} runs, which comes first")
            if earlier.run is None and not earlier.is_rejected and not self._may_be_refused(earlier):
                self.broken(f"{command} before {earlier.call.call_id}, which comes first")

    def _may_be_refused(self, made: Made) -> bool:
        if self.trace.is_unsayable and made.policy.effect != "reads":
            return True  # it is told that what must be heard before it cannot be said
        return any(run.made.call.name == made.call.name for run in self.trace.runs.values())


def _is_equal(run: Run, call: f.Call) -> bool:
    return run.made.call.name == call.name and run.made.call.canonical == call.canonical


class NothingRunsTwice(Promise):
    """An equal call joins what is pending, or ended unseen: nothing runs beside an orphan (tool loop 5).

    `on_duplicate`, where it is given, is asked first: it sees every run of the same tool (design 4).
    """

    def _is_adoptable(self, run: Run, call: f.Call) -> bool:
        is_lost = run.result is not None and (run.result.is_error or run.result.handoff is not None)
        return (
            run.is_dropped
            and run.policy.interrupted == "drop"
            and not (run.is_cancelled or is_lost)
            and _is_equal(run, call)
        )

    @on(do.RunTool)
    def run(self, command: do.RunTool) -> None:
        call, policy = command.call, command.policy
        is_confirmed = policy.on_duplicate == "confirm" and call.confirmed
        is_refused = policy.on_duplicate in ("reject", "confirm") and not is_confirmed
        for run in self.trace.runs.values():
            if self._is_adoptable(run, call) and not is_confirmed:
                self.broken(f"{command}, and {run.number} could be adopted")
            if is_refused and not run.is_over and run.made.call.name == call.name:
                if policy.duplicate_scope == "name" or _is_equal(run, call):
                    self.broken(f"{command} while {run.number} runs, and a duplicate is to be refused")

    @on(do.RebindRun)
    def adopted(self, command: do.RebindRun) -> None:
        run = self.trace.runs.get(command.run)
        if run is None or not self._is_adoptable(run, command.call):
            self.broken(f"{command} is not the adoption of an orphan by an equal call")


class SpokenOverAsTheToolSays(Promise):
    """What the caller speaks over is stopped, runs on unseen or is kept, as the tool says (tool loop 5)."""

    def start(self) -> None:
        self._to_stop: set[int] = set()
        self._dropped: set[int] = set()
        """In this moment."""

    @on(do.ReleaseRun)
    def released(self, command: do.ReleaseRun) -> None:
        how = self.trace.runs[command.run].policy.interrupted
        if how == "keep":
            self.broken(f"{command}, which is to be kept")
        (self._to_stop if how == "cancel" else self._dropped).add(command.run)

    @on(do.CancelTool)
    def cancelled(self, command: do.CancelTool) -> None:
        self._to_stop.discard(command.run)
        run = self.trace.runs[command.run]
        is_overdue = self.trace.now >= run.started + run.policy.timeout - EPSILON
        if command.run in self._dropped and not (self.trace.ends or is_overdue):
            self.broken(f"{command}, which is to run on unseen")

    def settled(self) -> None:
        self._dropped.clear()
        if self._to_stop:
            self.broken(f"{sorted(self._to_stop)} lost their calls, and run on")


class AnOrphanIsNotHeard(Promise):
    """What lost its call says nothing: its `say` handles come back interrupted (tool loop 5)."""

    def start(self) -> None:
        self._asked: Speech | None = None

    @on(f.SpeechRequested)
    def requested(self, fact: f.SpeechRequested) -> None:
        run = self.trace.live_run(fact.run)
        self._asked = self.trace.speech(fact.speech) if run is not None and run.is_dropped else None

    def settled(self) -> None:
        if self._asked is not None and not self._asked.done:
            self.broken(f"speech {self._asked.number}, which an orphan asked for, is not refused")
        self._asked = None


class AToolThatSilencesGoesOn(Promise):
    """A tool that has everything silenced keeps its own call, and its speech goes on (facts)."""

    def start(self) -> None:
        self._asking: Run | None = None

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        if command.kind == "on_user_turn_completed":  # which interrupts, too
            self._asking = None

    @on(f.InterruptRequested)
    def requested(self, fact: f.InterruptRequested) -> None:
        run = self.trace.live_run(fact.run)
        self._asking = run if run is not None and run.is_attached else None

    def settled(self) -> None:
        run, self._asking = self._asking, None
        if run is not None and not run.is_cancelled and (run.is_released or run.speech.interrupted):
            self.broken(f"{self.trace.fact} costs the tool its call")


class HandOffsAreEntitled(Promise):
    """A returned agent takes over the frame its tool was called in; that of an orphan is ignored (tool loop 5).

    A call that is refused for an orphan takes that up again: it is none any more (design 4).
    """

    def start(self) -> None:
        self._wanted: dict[str, int | None] = {}
        """Agents that somebody entitled to it asked for, and in which frame, if that can be told."""

    @on(f.HandOffRequested)
    def requested(self, fact: f.HandOffRequested) -> None:
        self._wanted[fact.agent] = None

    @on(told.ToolEnded)
    def ended(self, notice: told.ToolEnded) -> None:
        fact, run = self.trace.fact, self.trace.ended
        if notice.outcome == "dropped" or run is None or run.number != notice.run:
            return
        if isinstance(fact, f.ToolReturned) and fact.handoff is not None:
            self._wanted[fact.handoff.agent] = None if fact.handoff.agent in self._wanted else run.frame

    @on(do.RunHook)
    def entered(self, command: do.RunHook) -> None:
        if command.previous is None:
            return
        if command.agent not in self._wanted:
            self.broken(f"{command}, and nobody entitled to it asked for that")
        frame = self._wanted[command.agent]
        if frame is not None and any(one == frame for one, _ in self.trace.frames):
            if self.trace.frame_of(command.previous) != frame:
                self.broken(f"{command}, and it was asked for in frame {frame} of {self.trace.frames}")


class AnAgentLeavesWhenItHasSpoken(Promise):
    """With a result the old agent speaks one reply from it, then hands off (tool loop 4)."""

    @on(do.RunHook)
    def left(self, command: do.RunHook) -> None:
        if command.kind == "on_exit" and not self.trace.ends:
            for step in self.trace.line:
                if step.agent == command.agent and not step.is_filler:
                    self.broken(f"{command} while {step.segment} of that agent sounds")


class WhoGoesOnKnowsTheRound(Promise):
    """The follow-up is asked by whoever is in charge then, and knows what came of the calls (tool loop 4)."""

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        trace, steps = self.trace, self.trace.speech(command.speech).steps
        if all(agent != command.agent for _, agent in trace.frames):
            self.broken(f"{command}, and that agent is not in charge: {trace.frames}")
        made = {made.call.call_id for made in steps[-1].calls} if steps and steps[-1].tools else set()
        if made - trace.calls_before(command):
            self.broken(f"{command} knows nothing of {sorted(made - trace.calls_before(command))}")


class TheClockOfASuspendedToolStands(Promise):
    """While a tool waits for the caller no timeout applies (tool loop 4)."""

    @on(do.CancelTool)
    def cancelled(self, command: do.CancelTool) -> None:
        run = self.trace.runs.get(command.run)
        if run is None or run.is_over:
            self.broken(f"{command} of what never ran, or is over")
        if run.waits and self.trace.fact is None and not self.trace.ends:
            self.broken(f"{command}, which waits for the caller")

    def unfinished(self) -> Iterable[str]:
        return [f"run {run.number}" for run in self.trace.live_runs if not run.waits]


class WhatWasDoneIsRecorded(Promise):
    """Writes, and what is in the background, are kept: the call, its end as `{call_id}/finished` (tool loop 5, 6)."""

    def at_rest(self) -> None:
        for run in self.trace.runs.values():
            call_id = run.made.call.call_id
            if run.is_kept and call_id not in self.trace.recorded_calls:
                self.broken(f"call {call_id} of a tool that {run.policy.effect} is not in the history")
            if run.result is not None and not run.is_cancelled and (run.is_updated or run.is_spoken_over):
                if f"{call_id}/finished" not in self.trace.recorded_calls:
                    self.broken(f"{call_id}/finished is not in the history")


class ACompletedTaskSaysNoMore(Promise):
    """Who completed a task has answered the caller: the next to speak is whoever awaited it (tool loop 4)."""

    def start(self) -> None:
        self._over: set[Speech] = set()

    @on(told.RoundClosed)
    def round_closed(self, notice: told.RoundClosed) -> None:
        if self.trace.speech(notice.speech).has_completed_its_task:
            self._over.add(self.trace.speech(notice.speech))

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        if self.trace.speech(command.speech) in self._over:
            self.broken(f"{command} by a speech that completed its task")


class AResultIsToldOnce(Promise):
    """A final result is delivered once, by a heard reply made for it; one that is cut is made again (tool loop 6)."""

    def start(self) -> None:
        self._owed: set[str] = set()
        """Ends of background work that no request was made with."""
        self._requested: set[str] = set()
        """What requests were made with."""
        self._made_for: dict[Speech, tuple[str, ...]] = {}
        self._told: Counter[str] = Counter()

    @on(f.ToolReturned)
    def returned(self, fact: f.ToolReturned) -> None:
        run = self.trace.ended
        if run is not None and fact.reply and (run.is_updated or run.is_spoken_over):
            self._owed.add(f"{run.made.call.call_id}/finished")

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        if isinstance(command.item, FunctionCallOutput) and command.item.call_id.endswith("/late"):
            self._owed |= {command.item.call_id} - self._requested  # it may have waited for what stands before it

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        self._requested.update(command.unheard)
        self._owed.difference_update(command.unheard)
        if command.delivery:
            self._made_for[self.trace.speech(command.speech)] = command.unheard

    @on(told.SpeechDone)
    def done(self, notice: told.SpeechDone) -> None:
        speech = self.trace.speech(notice.speech)
        results = self._made_for.pop(speech, ())
        is_lost = any(step.failed or isinstance(step.asked, do.Speak) for step in speech.steps)
        if speech.heard and not speech.interrupted and not is_lost:
            self._told.update(results)
            twice = [one for one in results if self._told[one] > 1]
            if twice:
                self.broken(f"told twice: {twice}")

    def at_rest(self) -> None:
        if self._owed:
            self.broken(f"nobody was told of {sorted(self._owed)}")


class WhatWasDoneIsTold(Promise):
    """What a write or a protected tool did is told, by a heard reply made from it, or on request (tool loop 5)."""

    def start(self) -> None:
        self._owed: dict[str, tuple[Speech, int]] = {}
        """By call: the speech that is to tell it, and how many steps that had by then."""

    @on(told.RoundClosed)
    def round_closed(self, notice: told.RoundClosed) -> None:
        speech = self.trace.speech(notice.speech)
        for call, output in notice.pairs:
            run = self.trace.calls[call.call_id].run
            if output.reply_required and run is not None and run.result is not None and run.is_kept:
                if not run.is_updated:
                    self._owed[call.call_id] = speech, len(speech.steps)

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        for call_id in command.unheard:
            self._owed.pop(call_id, None)

    @on(told.StepEnded)
    def step_ended(self, notice: told.StepEnded) -> None:
        step = self.trace.steps[notice.gen]
        if step.heard:
            self._settle(lambda speech, steps: step in speech.steps[steps:])

    @on(told.SpeechDone)
    def done(self, notice: told.SpeechDone) -> None:
        speech = self.trace.speech(notice.speech)
        if not speech.interrupted:
            self._settle(lambda one, steps: one is speech and len(one.steps) > steps)

    def _settle(self, is_told: Callable[[Speech, int], bool]) -> None:
        self._owed = {call_id: by for call_id, by in self._owed.items() if not is_told(*by)}

    def at_rest(self) -> None:
        if self._owed:
            self.broken(f"nobody was told of {sorted(self._owed)}")
