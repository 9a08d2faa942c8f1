"""How often what happened: what a run of the fuzzer reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, get_args

from antiphon.chat import ChatMessage, FunctionCall
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.trace import Step, Trace

Seen: TypeAlias = Callable[[Trace, Any], object]
"""Whether it happened, in a fact that the trace has, or a command that it does not have yet."""


def _line(step: Step) -> str:
    """The line that bridges a wait, if it is one of the core's."""
    return (step.asked.text or "") if step.is_filler and isinstance(step.asked, do.Speak) else ""


def _offers(trace: Trace) -> set[str]:
    return {trace.options.silence.fillers.offer} - {""} if trace.options.silence is not None else set()


def _is_begun_again(trace: Trace, command: do.Speak) -> bool:
    """What the caller must hear is said another time."""
    return command.text in trace.to_be_heard and sum(one.says(command) for one in trace.speeches.values()) > 1


def _is_said_again(trace: Trace, spoken: do.Speak) -> bool:
    return bool(spoken.text) and any(step.unsaid == spoken.text for step in trace.speech(spoken.speech).steps)


def _is_cut(trace: Trace, stop: do.StopPlayout) -> bool:
    step = trace.segments[stop.segment]
    return step.is_playing and step.speech.interrupted


def _is_stalled(trace: Trace, stop: do.StopPlayout) -> bool:
    step = trace.segments[stop.segment]
    return step.is_playing and not (step.speech.interrupted or stop.at_word)


def _is_still_running(trace: Trace, closed: told.RoundClosed) -> bool:
    return any("still running" in str(output.output) for _, output in closed.pairs)


def _is_found(trace: Trace, _: told.WriteEnded) -> bool:
    return isinstance(trace.fact, f.OutcomeFound)


def _has_answered(trace: Trace, done: told.SpeechDone) -> bool:
    speech = trace.speech(done.speech)
    return speech.heard and speech.request is None and not speech.is_filler


_DECISIONS = get_args(told.ConsentDecision)

MECHANISMS: tuple[tuple[str, type, Seen], ...] = (
    ("stale prediction", f.EndOfTurnPredicted, lambda t, x: x.version != t.version),
    ("call without tools", f.ToolCalled, lambda t, x: x.gen in t.steps and not t.steps[x.gen].tools),
    ("hand-off of an orphan", f.ToolReturned, lambda t, x: x.handoff and t.ended and t.ended.is_dropped),
    ("close during a tool", f.CloseRequested, lambda t, _: any(t.live_runs)),
    ("requested filler", f.SpeechRequested, lambda _, x: x.kind == "filler"),
    ("no sound", f.PlayoutFinished, lambda _, x: x.unsaid),
    ("goodbye", f.EndRequested, lambda *_: True),
    ("starved", f.PlayoutStarved, lambda *_: True),
    ("cancelled run", do.CancelTool, lambda *_: True),
    ("paused", do.PausePlayout, lambda *_: True),
    ("resumed", do.ResumePlayout, lambda *_: True),
    ("found to have happened", told.WriteEnded, lambda t, x: _is_found(t, x) and x.outcome == "succeeded"),
    ("found not to have happened", told.WriteEnded, lambda t, x: _is_found(t, x) and x.outcome == "failed"),
    ("adopted", do.RebindRun, lambda *_: True),
    ("adopted after its end", do.RebindRun, lambda t, x: t.runs[x.run].is_over),
    ("orphaned", do.ReleaseRun, lambda t, x: t.runs[x.run].policy.interrupted == "drop"),
    ("undone", do.RunTool, lambda _, x: x.undoes is not None),
    ("irreversible", do.RunTool, lambda _, x: x.policy.effect == "irreversible"),
    ("dropped, although it reads", do.ReleaseRun,
     lambda t, x: t.runs[x.run].policy.effect == "reads" and t.runs[x.run].policy.interrupted == "drop"),
    ("stopped, unsaid", do.ReleaseRun,
     lambda t, x: t.runs[x.run].policy.effect == "unsaid" and t.runs[x.run].policy.interrupted == "cancel"),
    ("asked ahead", do.Generate, lambda _, x: x.ahead),
    ("delivery", do.Generate, lambda _, x: x.delivery),
    ("step limit hit", do.Generate, lambda t, x: 0 < t.options.max_tool_steps <= t.speech(x.speech).rounds_used),
    ("said once more", do.Speak, _is_said_again),
    ("notice said again", do.Speak, _is_begun_again),
    ("notice heard", told.MustHearSettled, lambda _, x: x.heard_at is not None),
    ("notice unsayable", told.MustHearSettled, lambda _, x: x.heard_at is None),
    ("fallback line", do.Speak, lambda t, x: x.text == t.options.fallback_line),
    ("failure line", do.Speak, lambda t, x: x.text == t.options.failure_line),
    ("released", do.Release, lambda t, x: not t.steps[x.gen].is_filler),
    ("filler said", do.Release, lambda t, x: t.steps[x.gen].is_filler),
    ("offer", do.Release, lambda t, x: _line(t.steps[x.gen]) in _offers(t)),
    ("filler of a tool", do.Release, lambda t, x: _line(t.steps[x.gen]) in {r.policy.filler for r in t.live_runs}),
    ("discarded", do.Discard, lambda t, x: not t.steps[x.gen].is_filler),
    ("filler discarded", do.Discard, lambda t, x: t.steps[x.gen].is_filler),
    ("played first", do.Play, lambda _, x: x.first),
    ("played without a gap", do.Play, lambda t, x: t.line and not x.first),
    ("filler ended for something better", do.StopPlayout, lambda _, x: x.at_word),
    ("cut while playing", do.StopPlayout, _is_cut),
    ("stalled", do.StopPlayout, _is_stalled),
    ("goodbye taken back", do.RunHook, lambda t, x: x.kind == "on_user_turn_completed" and t.is_ending),
    ("turn carried", do.Record, lambda _, x: x.carried and isinstance(x.item, ChatMessage)),
    ("recorded cut", do.Record, lambda _, x: isinstance(x.item, ChatMessage) and x.item.interrupted),
    ("recorded finished", do.Record, lambda _, x: isinstance(x.item, FunctionCall) and "/finished" in x.item.call_id),
    ("recorded update", do.Record, lambda _, x: isinstance(x.item, FunctionCall) and "/update_" in x.item.call_id),
    ("false_interruption", told.FalseInterruption, lambda *_: True),
    ("hand-off", told.HandedOff, lambda *_: True),
    ("task", told.TaskBegan, lambda *_: True),
    ("went to the background", told.ToolProgressed, lambda *_: True),
    ("turn too long", told.TurnExceeded, lambda *_: True),
    ("turn vetoed", told.TurnVetoed, lambda *_: True),
    ("away", told.UserStateChanged, lambda _, x: x.state == "away"),
    ("turn answered", told.SpeechDone, _has_answered),
    *((f"consent: {one}", told.ConsentDecided, lambda _, x, one=one: x.decision == one) for one in _DECISIONS),
    *((f"consent: yes by {one}", told.ConsentDecided, lambda _, x, one=one: x.decision == "yes" and x.by == one)
      for one in get_args(told.DecidedBy)),
    ("consent: asked again", told.ConsentAsked, lambda _, x: x.times > 1),
    ("kept in the background", told.RoundClosed,
     lambda t, x: t.speech(x.speech).interrupted and _is_still_running(t, x)),
    ("adopted by the task it waits for", told.RoundClosed,
     lambda t, x: not t.speech(x.speech).interrupted and _is_still_running(t, x)),
)  # fmt: skip


def listening(trace: Trace, counters: Counter[str]) -> list[tuple[type, Callable[[Any], None]]]:
    """By kind of fact, command or notice: what counts it."""

    def count(name: str, seen: Seen, what: object) -> None:
        if seen(trace, what):
            counters[name] += 1

    return [(kind, partial(count, name, seen)) for name, kind, seen in MECHANISMS]
