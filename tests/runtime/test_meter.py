"""Replies measured: what is told of them, from the facts and commands of a conversation with the core."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from antiphon.core.commands import Close, Command, Generate, Play, PredictEndOfTurn, RunHook, RunTool, Speak
from antiphon.core.facts import (
    CloseRequested,
    EndOfTurnPredicted,
    Fact,
    GenerationFailed,
    HookReturned,
    PlayoutFinished,
    PlayoutStarted,
    PlayoutStarved,
    SoundReady,
    StepGenerated,
    TextStarted,
    ToolReturned,
    ToolUpdated,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
)
from antiphon.metrics import CallMetrics, Stretch, TurnMetrics
from antiphon.options import PreemptiveGeneration, SilenceBudget, TurnHandling
from antiphon.runtime.meter import Meter
from antiphon.runtime.observers import show
from tests.core.dialogue import Dialogue, policy
from tests.core.fuzz.fuzz import Failed, Session, run_session

READS = policy("reads")


class Timed(Dialogue):
    """A dialogue under a meter, with its journal."""

    def __init__(self, *, voiced: bool = True, began: float = 0.0, **options: Any) -> None:
        self.journal: list[tuple[Fact | Command, float]] = []
        self.replies: list[TurnMetrics] = []
        self.watch = Meter(began, self._over, voiced=voiced)
        self._shown = 0
        options.setdefault("turns", TurnHandling(preemptive_generation=PreemptiveGeneration(enabled=False)))
        super().__init__(**options)

    def _over(self, metrics: TurnMetrics, call: CallMetrics) -> None:
        self.replies.append(metrics)

    def tell(self, *facts: Fact) -> Timed:
        for fact in facts:
            self.journal.append((fact, self.now))
            self.watch.fact(self.now, fact)
            super().tell(fact)
        return self

    def _collect(self) -> None:
        super()._collect()
        new, self._shown = self.commands[self._shown :], len(self.commands)
        for command in new:
            self.journal.append((command, self.now))
            show(self.watch, self.now, command)

    # -- shorthands

    def sounds(self, delay: float = 0.1) -> int:
        """The latest segment to be played begins to sound, `delay` after its text began."""
        segment = self.last(Play).segment
        self.wait(delay).tell(SoundReady(segment), PlayoutStarted(segment))
        return segment

    def plays(self, seconds: float) -> None:
        """It sounds to its end."""
        segment = self.sounds()
        self.wait(seconds).played(segment)

    def answers(self, text: str, *calls: Any, after: float = 0.2, lasts: float | None = 2.0) -> Generate:
        """The model answers `after` it was asked; what it says sounds 0.1 s later, for `lasts` seconds."""
        self.wait(after)
        gen = self.model(text, *calls)
        if text:
            if lasts is None:
                self.sounds()
            else:
                self.plays(lasts)
        return gen

    @property
    def reply(self) -> TurnMetrics:
        """The only reply so far."""
        (reply,) = self.replies
        return reply


def near(value: float | None) -> Any:
    return pytest.approx(value, abs=1e-6)


# -- a spoken turn


def test_a_reply_is_timed_from_the_end_of_the_callers_sound() -> None:
    call = Timed()
    call.wait(1.0).says("hello")  # 0.4 s of voice, over 0.3 s later
    call.answers("Hi there.")
    reply = call.reply
    assert (reply.turn, reply.origin, reply.speech_id) == (1, "caller", f"speech_{call.last(Generate).speech}")
    assert (reply.speech_ended, reply.transcribed, reply.decided) == (near(1.4), near(1.4), near(1.7))
    assert (reply.llm_first_token, reply.llm_done) == (near(1.9), near(1.9))
    assert (reply.tts_first_byte, reply.first_audio, reply.first_answer) == (near(2.0), near(2.0), near(2.0))
    assert reply.ended == near(4.0)
    assert reply.interrupted_at is None
    assert (reply.endpointing_delay, reply.ttft, reply.ttfb) == (near(0.3), near(0.2), near(0.1))
    assert reply.response_delay == near(0.6)


def test_silence_that_the_detector_needed_is_not_the_callers() -> None:
    call = Timed()
    call.tell(UserSpeechStarted()).wait(1.0)
    call.tell(Transcribed("hello", True), UserSpeechEnded(0.2)).wait(0.1)
    call.answers("Hi.")
    assert call.reply.speech_ended == near(0.8)


def test_times_count_from_the_beginning_of_the_call() -> None:
    call = Timed(began=0.5)
    call.wait(1.0).says("hello")
    call.answers("Hi.")
    assert call.reply.speech_ended == near(0.9)


def test_a_hook_that_takes_its_time_is_told_apart() -> None:
    call = Timed(hooks=False)
    call.tell(HookReturned(call.last(RunHook).hook))
    call.says("hello").wait(0.25)
    call.tell(HookReturned(call.last(RunHook).hook))
    call.answers("Hi.")
    assert call.reply.hook == near(0.25)
    assert [(stage.kind, round(stage.duration, 3)) for stage in call.reply.path(call.reply.ended)] == [
        ("turn_end", 0.3),
        ("hook", 0.25),
        ("model", 0.2),
        ("voice", 0.1),
    ]


def test_an_agent_without_the_hook_spends_no_time_in_it() -> None:
    call = Timed()
    call.watch = Meter(0.0, lambda metrics, _: call.replies.append(metrics), voiced=True, has_hook=lambda _: False)
    call.says("hello").wait(0.25)
    call.answers("Hi.")
    assert call.reply.hook is None
    assert "hook" not in [stage.kind for stage in call.reply.stages]


def test_a_typed_turn_is_waited_for_from_its_commit() -> None:
    call = Timed()
    call.wait(1.0).types("hello")
    call.answers("Hi.")
    assert (call.reply.origin, call.reply.speech_ended, call.reply.decided) == ("typed", None, near(1.0))
    assert call.reply.response_delay == near(0.3)


# -- what began it


def test_what_the_application_says_is_its_own_and_no_answer() -> None:
    call = Timed()
    call.say()
    call.wait(0.05).voice("Welcome.")
    call.plays(1.0)
    assert (call.reply.turn, call.reply.origin, call.reply.response_delay) == (0, "application", None)
    assert not call.reply.responses[0].by_model


def test_results_that_are_told_unasked_are_a_reply_of_their_own() -> None:
    call = Timed()
    call.types("look")
    call.answers("Wait.", ("find", READS), lasts=None)
    call.tell(ToolUpdated(call.last(RunTool).run, "on it", silent=True)).wait(1.0).played()
    call.wait(3.0).returns("found")
    call.answers("I found it.")
    first, second = call.replies
    assert [(tool.name, tool.status, tool.ended) for tool in first.tools] == [("find", "running", None)]
    assert (second.origin, second.turn, second.response_delay) == ("results", 1, None)


# -- tools


def test_a_round_of_tools_is_timed_call_by_call() -> None:
    call = Timed()
    call.types("look")
    call.answers("One moment.", ("find", READS), lasts=None)  # asked at 0, sounds at 0.3
    call.wait(1.0).played()  # silent from 1.3 on
    call.wait(1.2).returns()  # at 2.5
    call.answers("Nine is free.", after=0.4)
    reply = call.reply
    assert reply.rounds == 1
    assert [(tool.name, tool.started, tool.ended, tool.status) for tool in reply.tools] == [
        ("find", near(0.2), near(2.5), "done")
    ]
    assert (reply.first_audio, reply.first_answer) == (near(0.3), near(3.0))
    assert reply.silences == (Stretch(0.0, near(0.3)), Stretch(near(1.3), near(3.0)))
    assert (reply.dead_air, reply.longest_silence) == (near(2.0), near(1.7))
    assert [r.calls for r in reply.responses] == [1, 0]


def test_a_call_that_cannot_run_is_refused_and_takes_no_time() -> None:
    once = policy("reads", on_duplicate="reject")
    call = Timed()
    call.types("look")
    call.answers("", ("find", once), ("find", once))
    call.wait(0.5).returns()
    call.answers("Done.")
    assert [(tool.call_id, tool.status, tool.started, tool.ended) for tool in call.reply.tools] == [
        ("c1", "done", near(0.2), near(0.7)),
        ("c2", "refused", near(0.2), near(0.2)),
    ]


def test_a_dropped_call_that_is_adopted_belongs_to_both_replies() -> None:
    call = Timed()
    call.types("look")
    call.answers("", "find")
    call.wait(1.0).types("well, look")
    call.answers("", "find")
    call.wait(1.0).returns()
    call.answers("Nine.")
    first, second = call.replies
    assert [(tool.status, tool.ended) for tool in first.tools] == [("dropped", near(1.2))]
    assert [(tool.status, tool.started, tool.ended) for tool in second.tools] == [("done", near(1.4), near(2.4))]


def test_a_dropped_call_that_had_ended_is_adopted_in_no_time() -> None:
    call = Timed()
    call.types("look")
    call.answers("", "find")
    call.wait(1.0).types("well, look").returns()
    call.answers("", "find")
    call.answers("Nine.")
    assert [(tool.status, tool.started, tool.ended) for tool in call.replies[1].tools] == [
        ("done", near(1.4), near(1.4))
    ]


def test_a_tool_that_failed_says_so() -> None:
    call = Timed()
    call.types("look")
    call.answers("", "find")
    call.wait(0.5).tell(ToolReturned(call.last(RunTool).run, "no", is_error=True))
    call.answers("Sorry.")
    assert [tool.status for tool in call.reply.tools] == ["error"]


# -- fillers


def test_what_a_tool_says_bridges_the_reply_that_it_works_for() -> None:
    call = Timed()
    call.types("look")
    call.answers("", "find")
    call.say(run=call.last(RunTool).run)
    call.voice("Still looking.")
    call.plays(1.0)
    call.wait(1.0).returns()
    call.answers("Nine.")
    reply = call.reply
    assert [r.filler for r in reply.responses] == [False, True, False]
    assert (reply.first_audio, reply.first_answer) == (near(0.3), near(2.6))
    assert reply.response_delay == near(0.3)
    assert reply.answer_delay == near(2.6)


def test_a_line_of_the_sessions_own_in_the_answers_place_is_the_answer() -> None:
    call = Timed()
    call.types("hello").wait(0.2)
    call.tell(GenerationFailed(call.last(Generate).gen, "broken"))
    call.voice("Sorry.")
    call.plays(1.0)
    reply = call.reply
    assert [(r.by_model, r.failed, r.filler) for r in reply.responses] == [(True, True, False), (False, False, False)]
    assert reply.first_answer == near(0.3)


# -- sound and silence


def test_what_the_caller_says_is_no_silence() -> None:
    call = Timed()
    call.types("look")
    call.answers("", ("find", policy("writes")))
    call.wait(0.5).tell(UserSpeechStarted()).wait(0.5).tell(UserSpeechEnded())
    call.wait(1.0).returns()
    call.answers("Done.")
    assert call.reply.silences == (Stretch(0.0, near(0.7)), Stretch(near(1.2), near(2.5)))


def test_a_pause_of_the_line_is_silent_once_the_caller_is() -> None:
    call = Timed()
    call.types("tell me")
    call.answers("A long story.", lasts=None)  # sounds at 0.3
    call.wait(1.0).tell(UserSpeechStarted()).wait(0.2).tell(UserSpeechEnded())  # a cough at 1.3
    call.wait(2.0).played()
    silence = 0.5  # until it counts as a false alarm
    assert call.reply.silences == (Stretch(0.0, near(0.3)), Stretch(near(1.5), near(1.5 + silence)))
    assert call.reply.sound == (Stretch(near(0.3), near(1.3)), Stretch(near(2.0), near(3.5)))


def test_a_voice_that_does_not_keep_up_is_silent() -> None:
    call = Timed()
    call.types("tell me")
    call.answers("A long story.", lasts=None)
    segment = call.last(Play).segment
    call.wait(1.0).tell(PlayoutStarved(segment)).wait(0.7).tell(PlayoutStarted(segment)).wait(1.0).played()
    assert call.reply.silences == (Stretch(0.0, near(0.3)), Stretch(near(1.3), near(2.0)))


def test_sound_that_stands_ready_behind_other_sound_is_heard_when_that_has_ended() -> None:
    call = Timed()
    call.types("look")
    call.answers("One moment.", ("find", READS), lasts=None)
    first = call.last(Play).segment
    call.wait(0.2).returns()
    call.answers("Nine is free.", lasts=None)
    second = call.last(Play).segment
    assert second != first
    call.wait(1.0).played(first).wait(1.0).played(second)
    assert call.reply.first_answer == near(1.8)
    assert call.reply.sound == (Stretch(near(0.3), near(2.8)),)
    assert [(s.kind, round(s.duration, 2)) for s in call.reply.stages if s.kind == "line"] == [("line", 1.0)]


def test_nothing_is_silence_where_there_is_no_loudspeaker() -> None:
    call = Timed(voiced=False)
    call.types("hello").wait(3.0)
    call.model("Hi.")
    call.played()
    assert call.reply.silences == ()
    assert call.reply.first_audio == near(3.0)  # it can be read


# -- the end of a reply


def test_a_reply_that_was_cut_says_when() -> None:
    call = Timed()
    call.types("tell me")
    segment_of = call.answers("A long story.", lasts=None).segment
    call.wait(1.0).tell(UserSpeechStarted()).wait(0.3).tell(Transcribed("stop", False))
    call.tell(PlayoutFinished(segment_of, "A long"))
    reply = call.reply
    assert reply.interrupted_at == near(1.6)
    assert reply.sound == (Stretch(near(0.3), near(1.3)),)


def test_a_reply_that_nobody_heard_is_told_and_so_is_the_one_that_answers_instead() -> None:
    call = Timed()
    call.says("my number is").wait(0.1)
    call.says("five five five")
    call.answers("Thank you.")
    unheard, reply = call.replies
    assert (unheard.turn, unheard.interrupted_at is None, unheard.response_delay) == (1, False, None)
    assert (reply.turn, reply.origin, reply.response_delay) == (2, "caller", near(0.6))


def test_what_is_not_over_when_the_call_ends_is_told_then() -> None:
    call = Timed()
    call.types("tell me")
    call.answers("A long story.", lasts=None)
    call.wait(1.0).tell(CloseRequested())
    call.wait(2.0)
    assert call.reply.sound == (Stretch(near(0.3), near(1.3)),)


def test_a_reply_that_had_begun_before_it_was_watched_is_not_told() -> None:
    call = Timed()
    call.types("look")
    call.wait(0.2)
    call.model("", "find")
    told: list[TurnMetrics] = []
    call.watch = Meter(0.0, lambda metrics, _: told.append(metrics), voiced=True)
    call.wait(1.0).returns()
    call.answers("Nine.")
    assert told == []
    call.types("and then?")
    call.answers("Ten.")
    assert [reply.turn for reply in told] == [1]


# -- sums and tokens


def test_tokens_are_counted_where_the_model_tells_them() -> None:
    call = Timed()
    call.types("hello").wait(0.1)
    call.watch.span("usage", call.now, gen=call.last(Generate).gen, prompt=120, completion=7, cached=100)
    call.answers("Hi.")
    assert (call.reply.prompt_tokens, call.reply.completion_tokens) == (120, 7)
    assert call.watch.call.cached_tokens == 100


def test_nothing_is_kept_of_replies_that_are_over() -> None:
    call = Timed()
    for number in range(50):
        call.types(f"look {number}")
        call.answers("Wait.", ("find", READS), lasts=0.5)
        call.wait(0.5).returns()
        call.answers("Nine.")
    kept = [value for value in vars(call.watch).values() if isinstance(value, dict)]
    assert len(call.replies) == 50
    assert sum(len(one) for one in kept) == 0
    assert len(call.watch._line._past) < 10


# -- replay


def test_a_journal_gives_the_same_figures_again() -> None:
    call = Timed()
    call.wait(1.0).says("look")
    call.answers("One moment.", ("find", READS), lasts=1.0)
    call.wait(1.5).returns()
    call.answers("Nine is free, and ten, and eleven.", lasts=None)
    call.wait(1.0).says("ten please")
    call.tell(PlayoutFinished(call.last(Play).segment, "Nine is free,"))
    call.answers("", ("book", policy("writes")))
    call.wait(0.8).returns()
    call.answers("Booked.")
    again: list[TurnMetrics] = []
    watch = Meter(0.0, lambda metrics, _: again.append(metrics), voiced=True)
    for what, now in call.journal:
        if type(what).__module__.endswith("facts"):
            watch.fact(now, what)  # type: ignore[arg-type]  # told apart by its module
        else:
            show(watch, now, what)  # type: ignore[arg-type]
    assert again == call.replies
    assert len(again) == 2
    assert watch.call.to_json() == call.watch.call.to_json()


# -- what is made ahead


def with_silence_budget() -> Timed:
    call = Timed(silence=SilenceBudget(max_silence=1.0, prepare=0.5))
    return call


def bridge(call: Timed) -> None:
    """The filler that the session prepared is synthesized, and sounds for 0.6 s from when it is due."""
    line = call.last(Speak)
    call.tell(TextStarted(line.gen), SoundReady(line.segment), StepGenerated(line.gen, line.text or ""))
    while call.last(Play).segment != line.segment:
        call.wait(0.1)
    call.tell(PlayoutStarted(line.segment)).wait(0.6).tell(PlayoutFinished(line.segment, line.text or ""))


def test_a_filler_bridges_the_reply_that_it_is_said_for() -> None:
    call = with_silence_budget()
    call.types("look")
    call.answers("Let me see.", ("find", READS), lasts=0.5)  # to 0.8
    call.wait(0.6)
    bridge(call)
    call.returns()
    call.answers("Nine.")
    reply = call.reply
    assert [r.filler for r in reply.responses] == [False, True, False]
    assert reply.sound[1] == Stretch(near(1.8), near(2.4))
    assert reply.silences[1:] == (Stretch(near(0.8), near(1.8)), Stretch(near(2.4), near(2.7)))


def test_a_filler_before_the_model_is_asked_bridges_the_reply_that_follows() -> None:
    call = Timed(silence=SilenceBudget(max_silence=1.0, prepare=0.5), hooks=False)
    call.tell(HookReturned(call.last(RunHook).hook))
    call.say()
    call.voice("Welcome.")
    call.plays(0.5)
    call.types("look").wait(0.6)
    hook = call.last(RunHook).hook
    bridge(call)
    call.tell(HookReturned(hook))
    call.answers("Nine.")
    _, reply = call.replies
    assert (reply.turn, reply.origin, [r.filler for r in reply.responses]) == (1, "typed", [True, False])
    assert reply.response_delay == near(1.0)
    assert reply.answer_delay == near(1.9)


def test_a_filler_that_was_not_needed_leaves_no_trace() -> None:
    call = with_silence_budget()
    call.types("look")
    call.answers("Let me see.", ("find", READS), lasts=0.5)
    call.wait(0.6)
    line = call.last(Speak)
    call.tell(TextStarted(line.gen), SoundReady(line.segment), StepGenerated(line.gen, line.text or ""))
    call.returns()
    call.answers("Nine.")
    assert [r.filler for r in call.reply.responses] == [False, False]
    assert not call.watch._responses


def test_a_response_that_was_made_ahead_is_waited_for_from_the_end_of_the_turn_only() -> None:
    call = Timed(turns=TurnHandling(preemptive_generation=PreemptiveGeneration(enabled=True)), prediction_timeout=0.2)
    call.tell(UserSpeechStarted()).wait(0.5)
    call.tell(Transcribed("what time is it", True), UserSpeechEnded()).wait(0.05)
    asked = call.last(PredictEndOfTurn)
    call.tell(EndOfTurnPredicted(asked.version, 0.9))
    early = call.last(Generate)
    assert early.ahead
    call.wait(0.1).tell(TextStarted(early.gen), SoundReady(early.segment), StepGenerated(early.gen, "Noon."))
    call.wait(0.2)
    segment = call.last(Play).segment
    assert segment == early.segment
    call.tell(PlayoutStarted(segment)).wait(1.0).played(segment)
    assert call.reply.response_delay == near(0.35)
    assert [(stage.kind, round(stage.duration, 2)) for stage in call.reply.path(0.85)] == [
        ("turn_end", 0.3),
        ("line", 0.05),
    ]


# -- any interleaving


@pytest.mark.parametrize("seed", range(8))
def test_figures_are_possible_whatever_happens(seed: int) -> None:
    for number in range(25):
        session = invented(f"stopwatch/{seed}/{number}")
        told: list[TurnMetrics] = []
        watch = Meter(0.0, lambda metrics, _, told=told: told.append(metrics), voiced=True)  # type: ignore[misc]
        for entry, commands in zip(session.journal.entries, session.commands, strict=True):
            if entry.fact is not None:
                watch.fact(entry.at, entry.fact)
            for command in commands:
                show(watch, entry.at, command)
        replies = [metrics.speech_id for metrics in told if metrics.speech_id != "speech_0"]  # else a line for nobody
        assert len(set(replies)) == len(replies), "a reply was told twice"
        for metrics in told:
            check_possible(metrics)
        if session.commands and any(isinstance(one, Close) for one in session.commands[-1]):
            assert not watch._replies


def invented(seed: str) -> Session:
    """A session of the fuzzer's, whether or not the core kept its promises in it."""
    try:
        return run_session(seed, Counter())
    except Failed as failed:
        return failed.session


def check_possible(metrics: TurnMetrics) -> None:
    assert metrics.asked <= metrics.ended
    assert metrics.interrupted_at is None or metrics.interrupted_at <= metrics.ended
    for stretches in (metrics.sound, metrics.silences):
        edges = [edge for stretch in stretches for edge in (stretch.started, stretch.ended)]
        assert edges == sorted(edges), "stretches overlap"
        assert not edges or edges[-1] <= metrics.ended
    for stage in metrics.stages:
        assert stage.duration > 0
    for until in (metrics.first_audio, metrics.first_answer, metrics.ended):
        if until is not None:
            path = metrics.path(until)
            edges = [edge for stage in path for edge in (stage.started, stage.ended)]
            assert edges == sorted(edges), "stages of a path overlap"
            assert not path or metrics.waiting_since <= path[0].started
    if metrics.first_answer is not None:
        assert metrics.first_audio is not None
        assert metrics.first_audio <= metrics.first_answer
    json.dumps(metrics.to_json())
