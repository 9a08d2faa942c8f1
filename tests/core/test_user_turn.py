"""The caller's turn: pauses, words that come late, coughs, backchannels."""

from __future__ import annotations

from antiphon.core.commands import Generate, PredictEndOfTurn, RunHook
from antiphon.core.facts import (
    EndOfTurnPredicted,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnCleared,
    UserTurnCommitRequested,
)
from antiphon.options import Endpointing, TurnHandling
from tests.core.dialogue import Dialogue


def committed(d: Dialogue) -> list[str]:
    return [hook.text for hook in d.all(RunHook) if hook.kind == "on_user_turn_completed"]


def test_silence_after_words_commits_the_turn() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("hello", True), UserSpeechEnded()).wait(0.29)
    assert committed(d) == []
    d.wait(0.02)
    assert committed(d) == ["hello"]


def test_silence_counts_from_the_end_of_the_voice_not_from_its_detection() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("hello", True), UserSpeechEnded(silence=0.25)).wait(0.06)
    assert committed(d) == ["hello"]


def test_a_pause_within_a_turn_does_not_commit_it() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("I want", True), UserSpeechEnded()).wait(0.2)
    d.tell(UserSpeechStarted()).wait(1.0)
    assert committed(d) == []
    d.tell(Transcribed("a table", True), UserSpeechEnded()).wait(0.31)
    assert committed(d) == ["I want a table"]


def test_an_unfinished_sentence_gets_the_longer_delay() -> None:
    d = Dialogue(prediction_timeout=0.2)
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("my name is", True), UserSpeechEnded())
    d.tell(EndOfTurnPredicted(d.last(PredictEndOfTurn).version, 0.1)).wait(1.1)
    assert committed(d) == []
    d.wait(0.11)
    assert committed(d) == ["my name is"]


def test_a_prediction_about_other_words_is_ignored() -> None:
    d = Dialogue(prediction_timeout=0.2)
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("my name is", True), UserSpeechEnded())
    stale = d.last(PredictEndOfTurn).version
    d.tell(Transcribed("Ann", True), EndOfTurnPredicted(stale, 0.1)).wait(0.31)
    assert committed(d) == ["my name is Ann"]


def test_the_turn_waits_for_a_prediction_but_not_for_ever() -> None:
    d = Dialogue(prediction_timeout=0.2)
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(UserSpeechEnded(silence=0.25)).wait(0.3)
    d.tell(Transcribed("hello", True)).wait(0.19)
    assert committed(d) == []
    d.wait(0.02)
    assert committed(d) == ["hello"]


def test_the_turn_waits_for_the_words_of_what_was_heard() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(UserSpeechEnded()).wait(1.5)
    assert committed(d) == []
    d.tell(Transcribed("late words", True))
    assert committed(d) == ["late words"]


def test_the_words_of_the_stretch_before_do_not_stand_for_those_of_the_last_one() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(UserSpeechEnded()).wait(0.2)
    d.tell(UserSpeechStarted()).wait(0.2)
    d.tell(Transcribed("half past four", True)).wait(0.2)
    d.tell(UserSpeechEnded()).wait(1.0)
    assert committed(d) == []
    d.tell(Transcribed("please", True)).wait(0.01)
    assert committed(d) == ["half past four please"]


def test_a_stalled_recogniser_holds_a_turn_no_longer_than_its_timeout() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("half a", False), UserSpeechEnded()).wait(2.01)
    assert committed(d) == ["half a"]


def test_a_cough_leaves_no_turn_and_no_timer() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(0.2)
    d.tell(UserSpeechEnded()).wait(5.0)
    assert committed(d) == []
    assert d.core.deadline is None
    assert d.core.idle


def test_words_without_a_voice_detector_end_by_the_silence_after_them() -> None:
    d = Dialogue()
    d.tell(Transcribed("hello", False)).wait(0.2)
    d.tell(Transcribed("hello there", True)).wait(0.31)
    assert committed(d) == ["hello there"]


def test_manual_turns_end_when_the_application_says_so() -> None:
    d = Dialogue(turns=TurnHandling(detection="manual"))
    d.tell(UserSpeechStarted(), Transcribed("push", True), UserSpeechEnded()).wait(10)
    assert committed(d) == []
    d.tell(UserTurnCommitRequested())
    assert committed(d) == ["push"]


def test_a_cleared_turn_is_forgotten() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted(), Transcribed("never mind", True), UserTurnCleared(), UserSpeechEnded()).wait(3)
    assert committed(d) == []
    assert d.core.idle


def test_a_backchannel_over_the_agent_is_no_turn() -> None:
    d = Dialogue()
    d.types("tell me a story")
    d.model("Once upon a time.")
    d.tell(UserSpeechStarted()).wait(0.3)
    d.tell(Transcribed("uh-huh", True), UserSpeechEnded()).wait(1.0)
    assert committed(d) == ["tell me a story"]
    assert d.core.deadline is not None  # the story plays on
    d.played()
    assert d.lines == ["user: tell me a story", "assistant: Once upon a time."]


def test_the_same_word_as_an_answer_is_a_turn() -> None:
    d = Dialogue()
    d.says("okay")
    assert committed(d) == ["okay"]
    assert d.last(Generate)


def test_endpointing_options_are_honoured() -> None:
    d = Dialogue(turns=TurnHandling(endpointing=Endpointing(min_delay=0.8)))
    d.tell(UserSpeechStarted(), Transcribed("hi", True), UserSpeechEnded()).wait(0.79)
    assert committed(d) == []
    d.wait(0.02)
    assert committed(d) == ["hi"]
