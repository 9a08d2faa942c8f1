"""Preemptive generation: asked early, held until the turn is committed, gone without a trace if it does not fit."""

from __future__ import annotations

from typing import Any

from antiphon.core.commands import Discard, Generate, Play, PredictEndOfTurn, Release, RunHook, RunTool
from antiphon.core.facts import (
    Call,
    ContextChanged,
    EndOfTurnPredicted,
    GenerationFailed,
    HookReturned,
    StepGenerated,
    TextStarted,
    ToolCalled,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
)
from antiphon.core.notices import SpeechFailed, is_notice
from antiphon.options import PreemptiveGeneration, ToolPolicy, TurnHandling
from tests.core.dialogue import Dialogue


def dialogue(*, hooks: bool = True, detector: bool = False, **preemptive: Any) -> Dialogue:
    turns = TurnHandling(preemptive_generation=PreemptiveGeneration(enabled=True, **preemptive))
    return Dialogue(hooks=hooks, turns=turns, prediction_timeout=0.2 if detector else 0.0)


def spoken(text: str = "book it", **how: Any) -> Dialogue:
    """The caller has said this and falls silent; nothing is committed yet."""
    d = dialogue(**how)
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed(text, True), UserSpeechEnded())
    return d


def test_the_model_is_asked_while_the_turn_is_still_open() -> None:
    d = spoken()
    assert d.last(Generate).ahead
    assert d.context()[-1] == "user: book it"
    assert not d.all(RunHook)[1:]


def test_words_that_are_final_are_answered_before_it_is_known_that_the_voice_has_ended() -> None:
    d = dialogue()
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("book it", False))
    assert not d.all(Generate)
    d.tell(Transcribed("book it", True))
    assert d.last(Generate).ahead
    d.model("It is booked.")
    d.wait(0.2).tell(UserSpeechEnded(silence=0.2)).wait(0.11)
    assert d.all(Release) and len(d.all(Generate)) == 1


def test_words_behind_a_voice_that_has_ended_are_answered_before_they_are_final() -> None:
    d = dialogue()
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("book it", False), UserSpeechEnded())
    assert d.last(Generate).ahead
    d.wait(0.1).tell(Transcribed("book it", True)).wait(0.21)
    assert d.all(Release) and len(d.all(Generate)) == 1


def test_the_response_is_held_until_the_turn_is_committed_and_then_used() -> None:
    d = spoken()
    generate = d.model("It is booked.", complete=False)
    d.wait(0.29)
    assert not d.all(Play)
    d.wait(0.02)
    assert d.last(Release).gen == generate.gen
    assert d.all(Play)
    assert len(d.all(Generate)) == 1
    d.tell(StepGenerated(generate.gen, "It is booked."))
    d.played(heard="It is booked.")
    assert d.lines == ["user: book it", "assistant: It is booked."]


def test_a_whole_response_made_ahead_is_played_at_once() -> None:
    d = spoken()
    d.model("It is booked.")
    d.wait(0.31)
    assert d.last(Play).segment == d.last(Generate).segment


def test_a_caller_who_goes_on_discards_it_without_a_trace() -> None:
    d = spoken()
    generate = d.model("It is booked.")
    d.wait(0.1)
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("for two", True), UserSpeechEnded())
    assert d.last(Discard).gen == generate.gen
    assert not [c for c in d.commands if is_notice(c) and getattr(c, "speech", None) == generate.speech]
    d.wait(0.31)
    assert d.context()[-1] == "user: book it for two"
    assert d.lines == ["user: book it for two"]


def test_a_cough_in_the_pause_discards_nothing() -> None:
    d = spoken()
    d.model("It is booked.")
    d.tell(UserSpeechStarted()).wait(0.1)
    d.tell(UserSpeechEnded(), Transcribed("", True)).wait(0.4)
    assert not d.all(Discard)
    assert d.all(Release)


def test_tools_never_run_early() -> None:
    d = spoken()
    generate = d.last(Generate)
    d.tell(ToolCalled(generate.gen, Call("c1", "work", "{}", "{}"), ToolPolicy()), StepGenerated(generate.gen, ""))
    d.wait(0.29)
    assert not d.all(RunTool)
    d.wait(0.02)
    assert [run.call.call_id for run in d.all(RunTool)] == ["c1"]


def test_a_context_that_changed_meanwhile_discards_it() -> None:
    d = spoken()
    d.model("It is booked.")
    d.tell(ContextChanged("a"))
    assert d.all(Discard)


def test_a_hook_that_changes_the_words_has_the_model_asked_again() -> None:
    d = spoken(hooks=False)
    d.model("It is booked.")
    d.wait(0.31)
    d.tell(HookReturned(d.all(RunHook)[-1].hook, text="book two"))
    assert d.all(Discard)
    assert not d.last(Generate).ahead
    assert d.context()[-1] == "user: book two"


def test_a_hook_that_adds_to_the_context_has_the_model_asked_again() -> None:
    d = spoken(hooks=False)
    d.model("It is booked.")
    d.wait(0.31)
    d.tell(HookReturned(d.all(RunHook)[-1].hook, context_changed=True))
    assert d.all(Discard)
    assert not d.last(Generate).ahead


def test_a_veto_leaves_no_reply() -> None:
    d = spoken(hooks=False)
    d.model("It is booked.")
    d.wait(0.31)
    d.tell(HookReturned(d.all(RunHook)[-1].hook, veto=True))
    assert d.all(Discard)
    assert not d.all(Play)


def test_hooks_that_always_change_the_turn_end_the_attempts() -> None:
    d = dialogue(hooks=False)
    for _ in range(4):
        d.tell(UserSpeechStarted()).wait(0.5)
        d.tell(Transcribed("book it", True), UserSpeechEnded()).wait(0.31)
        d.tell(HookReturned(d.all(RunHook)[-1].hook, context_changed=True))
        d.model("Booked.")
        d.played(heard="Booked.")
    assert [generate.ahead for generate in d.all(Generate)] == [True, False, True, False, False, False]


def test_unfinished_words_are_not_answered_ahead() -> None:
    d = dialogue(detector=True)
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("my name is", True), UserSpeechEnded())
    assert not d.all(Generate)
    d.tell(EndOfTurnPredicted(d.last(PredictEndOfTurn).version, 0.1))
    assert not d.all(Generate)


def test_words_that_a_detector_holds_for_complete_are() -> None:
    d = dialogue(detector=True)
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("my name is Ann", True), UserSpeechEnded())
    d.tell(EndOfTurnPredicted(d.last(PredictEndOfTurn).version, 0.9))
    assert d.last(Generate).ahead


def test_one_turn_is_tried_a_few_times_at_most() -> None:
    d = dialogue(max_retries=2)
    d.tell(UserSpeechStarted())
    for word in ("one", "two", "three", "four"):
        d.wait(0.4)
        d.tell(Transcribed(word, True), UserSpeechEnded()).wait(0.1)
        d.tell(UserSpeechStarted())
    assert len(d.all(Generate)) == 2


def test_a_long_turn_is_not_answered_ahead() -> None:
    d = dialogue(max_speech_duration=3.0)
    d.tell(UserSpeechStarted()).wait(4.0)
    d.tell(Transcribed("and so on", True), UserSpeechEnded())
    assert not d.all(Generate)


def test_a_model_that_fails_ahead_is_asked_again_in_time() -> None:
    d = spoken()
    d.tell(GenerationFailed(d.last(Generate).gen, "lost")).wait(0.31)
    assert [generate.ahead for generate in d.all(Generate)] == [True, False]
    assert not d.all(SpeechFailed)


def test_nothing_is_asked_ahead_while_the_agent_is_at_work() -> None:
    d = dialogue()
    d.types("go")
    d.model("", "work")
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("how long", True), UserSpeechEnded())
    assert not any(generate.ahead for generate in d.all(Generate))


def test_a_response_that_began_with_text_is_known_as_begun() -> None:
    d = spoken()
    generate = d.last(Generate)
    d.tell(TextStarted(generate.gen)).wait(0.31)
    assert d.last(Play).segment == generate.segment
