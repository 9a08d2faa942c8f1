"""The caller's turn: pauses, words that come late, coughs, backchannels."""

from __future__ import annotations

from antiphon.core.commands import Generate, Play, PredictEndOfTurn, RunHook, Speak, StopPlayout
from antiphon.core.facts import (
    EndOfTurnPredicted,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnCleared,
    UserTurnCommitRequested,
)
from antiphon.core.listening import A_BREATH
from antiphon.core.notices import TurnExceeded, UserStateChanged, WordsLost
from antiphon.language.english import ENGLISH
from antiphon.options import Endpointing, ToolPolicy, TurnHandling, UserTurnLimit
from tests.core.dialogue import SILENCE, UNFINISHED, Dialogue


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


def test_a_turn_that_the_application_ends_is_taken_with_its_last_words() -> None:
    d = Dialogue(turns=TurnHandling(detection="manual"))
    d.tell(UserSpeechStarted(), Transcribed("what time", False)).wait(1.0)
    d.tell(UserTurnCommitRequested(), UserSpeechEnded()).wait(0.2)
    assert committed(d) == []
    d.tell(Transcribed("what time is it", True))
    assert committed(d) == ["what time is it"] and d.last(Generate)


def test_last_words_that_do_not_come_hold_a_turn_that_the_application_ended_for_two_seconds() -> None:
    d = Dialogue(turns=TurnHandling(detection="manual"))
    d.tell(UserSpeechStarted(), Transcribed("what time", False), UserSpeechEnded(), UserTurnCommitRequested())
    d.wait(1.99)
    assert committed(d) == []
    d.wait(0.02)
    assert committed(d) == ["what time"]


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
    d.tell(Transcribed("uh-huh", True), UserSpeechEnded()).wait(SILENCE + A_BREATH)
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


# -- words that are taken before their last form has come


def stalled(d: Dialogue) -> Dialogue:
    """A turn is taken whose words never became final."""
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("for four", True), Transcribed("at seven", False), UserSpeechEnded()).wait(2.01)
    assert committed(d) == ["for four at seven"]
    return d


def test_words_that_are_taken_and_come_again_one_by_one_are_not_a_turn_again() -> None:
    d = stalled(Dialogue())
    d.tell(Transcribed("at", False), Transcribed("at seven", False), Transcribed("at seven", True)).wait(3.0)
    assert committed(d) == ["for four at seven"]


def test_words_that_are_taken_are_not_those_of_the_next_voice() -> None:
    d = stalled(Dialogue())
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("at seven please", True), UserSpeechEnded()).wait(0.31)
    assert committed(d) == ["for four at seven", "please"]


def test_words_that_are_taken_and_become_final_in_parts_are_not_a_turn_again() -> None:
    d = stalled(Dialogue())
    d.tell(Transcribed("at", True), UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("seven please", True), UserSpeechEnded()).wait(0.31)
    assert committed(d) == ["for four at seven", "please"]


def test_marks_and_capitals_make_no_other_words() -> None:
    d = stalled(Dialogue())
    d.tell(Transcribed("At seven. Please.", True)).wait(0.5)
    assert committed(d) == ["for four at seven", "Please."]


def test_words_that_the_application_cleared_do_not_come_back() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("never mind", False), UserTurnCleared(), UserSpeechEnded()).wait(0.1)
    d.tell(Transcribed("never mind", True)).wait(3.0)
    assert committed(d) == []


# -- speech that the recogniser does not understand


def unheard(d: Dialogue) -> int:
    """How often the caller was asked to say it again."""
    return sum(speak.text == ENGLISH.unheard_line for speak in d.all(Speak))


def test_an_empty_transcript_after_speech_is_a_turn_that_was_not_understood() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(2.0)
    d.tell(UserSpeechEnded(), Transcribed("", True)).wait(UNFINISHED - 0.01)
    assert not unheard(d)
    d.wait(0.02)
    assert unheard(d) == 1 and not d.all(WordsLost)


def test_words_that_the_recogniser_takes_back_were_not_understood() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(0.3)
    d.tell(Transcribed("book", False), UserSpeechEnded(), Transcribed("", True)).wait(UNFINISHED + 0.01)
    assert unheard(d) == 1


def test_an_empty_transcript_after_a_cough_leaves_no_trace() -> None:
    d = Dialogue()
    for _ in range(4):
        d.tell(UserSpeechStarted()).wait(0.3)
        d.tell(UserSpeechEnded(), Transcribed("", True)).wait(3.0)
    assert not unheard(d) and d.core.idle and d.core.deadline is None


def test_words_that_come_behind_an_empty_transcript_are_a_turn() -> None:
    d = Dialogue()
    d.tell(UserSpeechStarted()).wait(2.0)
    d.tell(UserSpeechEnded(), Transcribed("", True)).wait(0.2)
    d.tell(Transcribed("hello", True)).wait(3.0)
    assert committed(d) == ["hello"] and not unheard(d)


def test_a_result_that_is_never_told_does_not_make_good_what_was_not_understood() -> None:
    d = Dialogue()
    d.types("look it up")
    d.model("", "look")
    d.tell(UserSpeechStarted()).wait(2.0)
    d.tell(UserSpeechEnded(), Transcribed("", True)).wait(3.0)
    assert not unheard(d)
    d.returns("", reply=False)
    assert unheard(d) == 1


def test_a_reply_makes_good_what_was_not_understood_while_it_was_made() -> None:
    d = Dialogue()
    d.types("look it up")
    d.model("", "look")
    d.tell(UserSpeechStarted()).wait(2.0)
    d.tell(UserSpeechEnded(), Transcribed("", True)).wait(3.0)
    d.returns("two tables")
    d.model("There are two.")
    d.played()
    assert not unheard(d) and d.core.idle


def test_push_to_talk_without_words_is_a_turn_that_was_not_understood() -> None:
    d = Dialogue(turns=TurnHandling(detection="manual"))
    d.tell(UserSpeechStarted()).wait(2.0)
    d.tell(UserSpeechEnded(), UserTurnCommitRequested(), Transcribed("", True)).wait(3.0)
    assert unheard(d) == 1


# -- endpointing that learns


def dynamic(d: Dialogue, *pauses: float) -> None:
    """The caller says a turn with these pauses in it, and ends it."""
    d.tell(UserSpeechStarted()).wait(0.5)
    for pause in pauses:
        d.tell(Transcribed("and", True), UserSpeechEnded()).wait(pause)
        d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("done", True), UserSpeechEnded())


def learning() -> Dialogue:
    return Dialogue(turns=TurnHandling(endpointing=Endpointing(0.3, 1.5, mode="dynamic")))


def wait_after(d: Dialogue) -> float:
    """Seconds of silence after which the core takes the turn."""
    before, start = len(committed(d)), d.now
    while len(committed(d)) == before and d.now < start + 3.0:
        d.wait(0.02)
    return d.now - start


def test_a_caller_who_pauses_long_is_given_longer() -> None:
    d = learning()
    dynamic(d)
    assert wait_after(d) < 0.35
    for _ in range(3):
        dynamic(d)
        d.wait(0.5)  # taken for the end, and the caller goes on
        dynamic(d)
        wait_after(d)
        d.wait(5.0)
    dynamic(d)
    assert 0.45 < wait_after(d) < 0.9


def test_pauses_that_outlast_nothing_leave_the_delay_as_it_is() -> None:
    d = learning()
    for _ in range(5):
        dynamic(d, 0.1, 0.15)
        wait_after(d)
        d.wait(5.0)
    dynamic(d)
    assert wait_after(d) < 0.35


def test_a_caller_who_becomes_quicker_is_answered_quicker_again() -> None:
    d = learning()
    dynamic(d)
    d.wait(0.7)
    dynamic(d)
    slow = wait_after(d)
    for _ in range(40):
        d.wait(5.0)
        dynamic(d)
        quick = wait_after(d)
    assert quick < slow - 0.1


def test_fixed_endpointing_learns_nothing() -> None:
    d = Dialogue(turns=TurnHandling(endpointing=Endpointing(0.3, 1.5)))
    dynamic(d)
    d.wait(0.7)
    dynamic(d)
    assert wait_after(d) < 0.35


# -- a turn without end


def test_a_turn_with_too_many_words_is_taken_while_the_caller_speaks_on() -> None:
    d = Dialogue(turns=TurnHandling(user_turn_limit=UserTurnLimit(max_words=3)))
    d.tell(UserSpeechStarted()).wait(1.0)
    d.tell(Transcribed("one two", False))
    assert not committed(d)
    d.tell(Transcribed("one two three", False))
    assert committed(d) == ["one two three"]
    assert [notice.text for notice in d.all(TurnExceeded)] == ["one two three"]
    d.model("May I come in here?")
    assert d.all(Play)


def test_words_said_on_after_that_do_not_cut_the_agent_and_are_not_lost() -> None:
    d = Dialogue(turns=TurnHandling(user_turn_limit=UserTurnLimit(max_words=3)))
    d.tell(UserSpeechStarted()).wait(1.0)
    d.tell(Transcribed("one two three", True))
    d.model("May I come in here?")
    d.tell(Transcribed("four", True))
    assert not d.all(StopPlayout)
    d.tell(UserSpeechEnded()).wait(0.31)
    assert committed(d) == ["one two three", "four"]


def test_a_turn_that_lasts_too_long_is_taken() -> None:
    d = Dialogue(turns=TurnHandling(user_turn_limit=UserTurnLimit(max_duration=5.0)))
    d.tell(UserSpeechStarted()).wait(3.0)
    d.tell(Transcribed("well you see", True)).wait(1.9)
    assert not committed(d)
    d.wait(0.2)
    assert committed(d) == ["well you see"]


# -- a caller who is away


def states(d: Dialogue) -> list[str]:
    return [notice.state for notice in d.all(UserStateChanged)]


def test_a_caller_who_says_nothing_for_long_is_away_until_something_happens() -> None:
    d = Dialogue(user_away_timeout=15.0)
    d.types("hello")
    d.model("What can I do for you?")
    d.played()
    d.wait(14.9)
    assert states(d) == []
    d.wait(0.2)
    assert states(d) == ["away"]
    d.wait(100.0)
    d.tell(UserSpeechStarted())
    assert states(d) == ["away", "speaking"]


def test_who_waits_for_the_agent_is_not_away() -> None:
    d = Dialogue(user_away_timeout=15.0)
    d.types("hello")
    d.model("", ("work", ToolPolicy(timeout=60.0)))
    d.wait(30.0)
    assert states(d) == []


def test_no_limit_nobody_is_away() -> None:
    d = Dialogue()
    d.wait(1000.0)
    assert states(d) == []
    assert d.core.deadline is None


def test_words_that_nobody_committed_hold_up_no_turn_that_is_typed_behind_them() -> None:
    d = Dialogue(turns=TurnHandling(detection="manual"))
    d.says("a table on Friday")
    d.types("for four people")
    d.model("Noted.")
    assert d.got(Play)
    d.played()
    assert d.core.idle
    d.tell(UserTurnCommitRequested())
    assert d.context()[-1] == "user: a table on Friday"


def test_who_speaks_on_behind_a_typed_turn_has_the_floor_again() -> None:
    d = Dialogue(turns=TurnHandling(detection="manual"))
    d.says("a table on Friday")
    d.types("for four people")
    d.tell(UserSpeechStarted()).wait(0.5)
    d.tell(Transcribed("or rather", True), UserSpeechEnded())
    d.model("Noted.")
    assert not d.all(Play)
