"""Nothing that must not be done by mistake is done without a yes to exactly these arguments."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.core.commands import (
    Generate,
    JudgeReply,
    PausePlayout,
    Play,
    ResumePlayout,
    RunTool,
    Speak,
    StopPlayout,
)
from antiphon.core.facts import (
    AgentTaskStarted,
    Call,
    CloseRequested,
    ConsentGiven,
    HandOffRequested,
    InterruptRequested,
    PlayoutFinished,
    PlayoutProgressed,
    PlayoutStarted,
    ReplyJudged,
    StepGenerated,
    ToolCalled,
    Transcribed,
    TurnTaken,
    TurnTranscribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnSubmitted,
)
from antiphon.core.notices import ConsentAsked, ConsentDecided, SpeechInterrupted
from antiphon.language.consent import Reply
from antiphon.options import ConsentOptions, SilenceBudget, ToolPolicy
from tests.core.dialogue import Dialogue

BOOKS = ToolPolicy(effect="writes", parallel=False, confirm=True)
READ_BACK = "Book Friday for two people."
SPOKEN = ("Friday", "two")


def call(d: Dialogue, name: str = "book", arguments: str = "{}", *, read_back: str = READ_BACK) -> None:
    gen = d.last(Generate).gen
    made = Call(f"{gen}.{len(d.commands)}", name, arguments, arguments, read_back=read_back, spoken=SPOKEN)
    d.tell(ToolCalled(gen, made, BOOKS))


def asked(*, text: str = "", **options: Any) -> Dialogue:
    """The model made a call that the caller has to agree to; its read-back begins to sound."""
    d = Dialogue(**options)
    d.types("book a table")
    call(d)
    d.model(text)
    if text:
        d.played()
    return d


def reading(d: Dialogue, heard: str = "") -> Dialogue:
    """The read-back sounds; so much of it was heard."""
    speak = d.last(Speak)
    d.voice(speak.text or "")
    d.tell(PlayoutStarted(speak.segment))
    return d.tell(PlayoutProgressed(speak.segment, heard)) if heard else d


def heard(d: Dialogue) -> Dialogue:
    """All of it was."""
    return reading(d).played(d.last(Speak).segment)


def question(**options: Any) -> Dialogue:
    return heard(asked(**options))


def decided(d: Dialogue) -> str:
    return d.last(ConsentDecided).decision


def test_a_call_that_needs_consent_is_read_back_and_not_run() -> None:
    d = asked()
    assert not d.all(RunTool)
    assert d.last(Speak).text == f"{READ_BACK} Shall I go ahead?"
    assert d.last(Speak).directly


def test_what_is_read_back_stands_in_the_history_as_said() -> None:
    assert question().lines == ["user: book a table", f"assistant: {READ_BACK} Shall I go ahead?"]


@pytest.mark.parametrize("words", ["yes", "okay", "sure", "right", "yes please"])
def test_a_yes_after_it_was_heard_runs_the_call(words: str) -> None:
    d = question()
    assert d.says(words).got(RunTool)
    assert decided(d) == "yes"


def test_the_call_runs_once_and_one_reply_answers_the_yes_and_tells_the_result() -> None:
    d = question()
    d.says("yes").returns("number 4711")
    d.model("It is number 4711.")
    d.played().wait(60)
    assert len(d.all(RunTool)) == 1
    assert len(d.all(Generate)) == 2
    assert [line for line in d.lines[2:] if "call" not in line] == [
        "user: yes",
        "output number 4711",
        "assistant: It is number 4711.",
    ]


def test_a_tool_that_says_nothing_does_not_leave_the_yes_unanswered() -> None:
    d = question()
    d.says("yes").returns("", reply=False)
    assert "user: yes" in d.context()
    assert len(d.all(Generate)) == 2


@pytest.mark.parametrize("words", ["yes", "okay", "mm hmm"])
def test_before_the_last_argument_was_heard_a_yes_does_nothing(words: str) -> None:
    d = reading(asked(), "Book Friday for")
    d.tell(UserSpeechStarted()).tell(Transcribed(words, True), UserSpeechEnded()).wait(2)
    assert not d.all(RunTool) and not d.all(ConsentDecided)
    assert len(d.all(Speak)) == 1
    assert len(d.all(ResumePlayout)) == len(d.all(PausePlayout)) == 1
    d.played(d.last(Speak).segment)
    assert d.says("yes").got(RunTool)


def test_a_yes_over_the_question_behind_the_last_argument_counts_and_stops_the_reading() -> None:
    d = reading(asked(), "Book Friday for two")
    d.tell(UserSpeechStarted()).tell(Transcribed("yes", True), UserSpeechEnded()).wait(1)
    assert decided(d) == "yes"
    assert len(d.all(RunTool)) == 1


def test_a_sign_of_listening_leaves_no_trace_and_an_early_yes_stands_in_the_history() -> None:
    d = reading(asked(), "Book")
    d.says("okay").says("yes").played(d.last(Speak).segment)
    assert "user: okay" not in d.lines and "user: yes" in d.lines


@pytest.mark.parametrize("is_over_it", [True, False])
def test_a_no_voids_it_at_any_time(is_over_it: bool) -> None:
    d = reading(asked(), "Book Friday") if is_over_it else question()
    d.tell(UserSpeechStarted()).tell(Transcribed("no", True))
    d.tell(UserSpeechEnded()).wait(1)
    if is_over_it:
        d.tell(PlayoutFinished(d.last(Speak).segment, "Book Friday"))
    assert decided(d) == "no"
    assert "user: no" in d.lines
    assert "was not run" in d.lines[-1] and '"no"' in d.lines[-1]
    d.model("I see.")
    d.played().wait(100)
    assert not d.all(RunTool)
    assert len(d.all(Generate)) == 2, "one reply answers the caller and the void call"


def judged(words: str, reply: Reply) -> Dialogue:
    """The reply to the question means that."""
    d = question(consent=ConsentOptions(judge_timeout=1.0)).says(words)
    return d.tell(ReplyJudged(d.last(JudgeReply).judgement, reply))


@pytest.mark.parametrize(("reply", "why"), [(Reply.CHANGE, "change"), (Reply.QUESTION, "question")])
def test_a_change_and_a_question_void_it(reply: Reply, why: str) -> None:
    d = judged("so and so", reply)
    assert decided(d) == why
    assert "user: so and so" in d.lines
    assert "so and so" in d.lines[-1]
    d.wait(100)
    assert not d.all(RunTool)


def test_yes_but_at_three_is_asked_anew_with_the_new_call() -> None:
    d = judged("yes but at three", Reply.CHANGE)
    call(d, arguments='{"at": 3}', read_back="Book three.")
    d.model()
    assert not d.all(RunTool)
    heard(d).says("yes").wait(1.1)
    assert [run.call.arguments for run in d.all(RunTool)] == ['{"at": 3}']


def test_yes_and_also_keeps_it_and_one_reply_answers_the_rest() -> None:
    d = judged("yes and also what are your hours", Reply.YES_AND)
    assert d.got(RunTool)
    assert len(d.all(Generate)) == 1
    d.returns("done")
    assert d.context()[2] == "user: yes and also what are your hours"
    assert len(d.all(Generate)) == 2


def test_silence_is_asked_into_once_and_then_it_is_void() -> None:
    d = question().wait(7.9)
    assert len(d.all(Speak)) == 1
    d.wait(0.2)
    assert len(d.all(Speak)) == 2 and READ_BACK in (d.last(Speak).text or "")
    heard(d).wait(7.9)
    assert not d.all(ConsentDecided)
    d.wait(0.2)
    assert decided(d) == "unanswered"
    d.model("You did not answer.")
    d.says("yes").wait(60)
    assert not d.all(RunTool)


def test_a_yes_to_the_second_asking_counts() -> None:
    d = heard(question().wait(8.1))
    assert d.says("yes").got(RunTool)


def test_what_is_not_clear_is_asked_once_more_and_then_void() -> None:
    d = judged("so so", Reply.UNCLEAR)
    assert len(d.all(Speak)) == 2
    heard(d).says("la la")
    d.tell(ReplyJudged(d.last(JudgeReply).judgement, Reply.UNCLEAR))
    assert decided(d) == "unclear"
    assert [line for line in d.lines if line.startswith("user")][1:] == ["user: so so", "user: la la"]


def test_what_is_not_clear_over_the_reading_decides_nothing_and_stands_in_the_history() -> None:
    d = reading(asked(), "Book Friday")
    d.says("er").wait(2)
    assert not d.all(ConsentDecided) and len(d.all(Speak)) == 1
    d.played(d.last(Speak).segment)
    assert "user: er" in d.lines
    assert d.says("yes").got(RunTool)


def test_a_reading_that_was_heard_whole_is_not_interrupted() -> None:
    d = asked()
    reading(d, d.last(Speak).text or "").tell(UserSpeechStarted(), Transcribed("no", True))
    assert d.got(StopPlayout) and not d.got(SpeechInterrupted)


def test_a_question_below_a_task_leaves_the_session_idle() -> None:
    d = question()
    d.tell(AgentTaskStarted(d.core.new_id(), "task", parent="a"))
    assert d.core.idle


def test_a_cough_resumes_the_reading() -> None:
    d = reading(asked(), "Book")
    d.tell(UserSpeechStarted()).wait(0.2)
    d.tell(UserSpeechEnded()).wait(1)
    assert d.all(ResumePlayout) and not d.all(ConsentDecided)


def test_a_cough_begins_the_silence_anew() -> None:
    d = question().wait(7)
    d.tell(UserSpeechStarted()).wait(0.2)
    d.tell(UserSpeechEnded()).wait(6)
    assert len(d.all(Speak)) == 1


def test_a_yes_counts_for_one_call_only() -> None:
    d = Dialogue()
    d.types("book two")
    call(d, arguments="1")
    call(d, arguments="2")
    d.model()
    heard(d).says("yes")
    d.returns("one")
    assert len(d.all(RunTool)) == 1
    assert len(d.all(ConsentAsked)) == 2
    heard(d).says("no")
    assert len(d.all(RunTool)) == 1
    assert [one.decision for one in d.all(ConsentDecided)] == ["yes", "no"]


def test_an_equal_call_beside_it_is_not_asked_about() -> None:
    d = Dialogue()
    d.types("book it")
    call(d)
    call(d)
    d.model()
    heard(d).says("yes").returns("number 4711")
    assert len(d.all(RunTool)) == 1 and len(d.all(ConsentAsked)) == 1


def test_it_is_read_back_behind_what_the_model_says_first() -> None:
    d = Dialogue()
    d.types("book it")
    call(d)
    d.model("Let me read that back.")
    d.voice(d.last(Speak).text or "")
    segments = [play.segment for play in d.all(Play)]
    assert segments == [d.last(Generate).segment, d.last(Speak).segment]


def test_who_speaks_before_the_reading_interrupts_as_ever_and_the_call_leaves_no_trace() -> None:
    d = Dialogue()
    d.types("book it")
    call(d)
    d.model("Let me read that back.")
    d.tell(PlayoutStarted(d.last(Generate).segment))
    d.says("wait, not Friday")
    d.tell(PlayoutFinished(d.all(Generate)[0].segment, "Let me")).wait(1)
    assert not d.all(RunTool)
    assert not any("call book" in line for line in d.lines)
    assert len(d.all(Generate)) == 2


def test_an_announcement_in_between_has_it_read_back_again() -> None:
    d = question()
    d.say()
    d.voice("Your taxi is here.")
    d.tell(PlayoutStarted(d.last(Speak).segment))
    d.played(d.last(Speak).segment)
    assert READ_BACK in (d.last(Speak).text or "")
    assert len(d.all(ConsentAsked)) == 2
    assert heard(d).says("yes").got(RunTool)


def test_a_hand_off_voids_it() -> None:
    d = question().tell(HandOffRequested("b"))
    assert decided(d) == "handed_over"
    assert not d.says("yes").got(RunTool)


def test_draining_voids_it_and_the_call_ends() -> None:
    d = question().tell(CloseRequested(drain=True))
    assert decided(d) == "ending"
    d.model("Goodbye.")
    d.played().wait(5)
    assert d.closed and not d.all(RunTool)


def test_closing_voids_it_and_says_so_in_the_history() -> None:
    d = question().tell(CloseRequested()).wait(5)
    assert d.closed and not d.all(RunTool)
    assert "was not run" in d.lines[-1]


def test_the_application_that_interrupts_voids_it() -> None:
    d = question().tell(InterruptRequested()).wait(1)
    assert decided(d) == "interrupted"
    assert not d.says("yes").got(RunTool)


def test_a_typed_yes_counts_and_it_is_idle_at_the_question() -> None:
    d = asked(consent=ConsentOptions(timeout=None))
    assert not d.core.idle
    heard(d)
    assert d.core.idle
    d.wait(1000)
    assert d.types("yes").got(RunTool)
    assert not d.core.idle


def test_a_key_answers_once_it_was_heard() -> None:
    d = reading(asked(), "Book")
    assert not d.tell(ConsentGiven(True, "1")).got(RunTool)
    d.played(d.last(Speak).segment)
    assert d.tell(ConsentGiven(True, "1")).got(RunTool)
    assert d.last(ConsentDecided).by == "key"
    assert not d.tell(ConsentGiven(True, "1")).got(RunTool)


def test_a_key_that_says_no_voids_it_at_once() -> None:
    d = reading(asked(), "Book").tell(ConsentGiven(False, "2"))
    assert decided(d) == "no"


def test_a_call_that_the_caller_agreed_to_is_made_before_another_turn_is_taken() -> None:
    """A sound whose words are still to come waits at the gate when a key says yes."""
    d = question(model_hears=True, has_stt=False)
    d.tell(TurnTaken(500, None, answered=False)).wait(0.1)
    assert not d.all(ConsentDecided)
    assert d.tell(ConsentGiven(True, "1")).got(RunTool)
    d.returns("number 4711")
    d.tell(TurnTranscribed(500, "and make it quick")).wait(1)
    assert {"user: 1", "user: and make it quick", "output number 4711"} <= {*d.lines, *d.context()}


def test_a_key_decides_while_the_judge_thinks() -> None:
    d = question(consent=ConsentOptions(judge_timeout=5.0)).says("well")
    d.tell(ConsentGiven(False, "2"))
    assert decided(d) == "no"
    assert not d.tell(ReplyJudged(d.last(JudgeReply).judgement, Reply.YES)).got(RunTool)


def test_a_judge_decides_and_the_words_do_when_it_does_not_in_time() -> None:
    d = question(consent=ConsentOptions(judge_timeout=1.5)).says("by all means")
    assert not d.tell(ReplyJudged(999, Reply.YES)).got(RunTool)
    assert d.tell(ReplyJudged(d.last(JudgeReply).judgement, Reply.YES)).got(RunTool)
    assert d.last(ConsentDecided).by == "judge"
    d = question(consent=ConsentOptions(judge_timeout=1.5)).says("yes")
    assert not d.all(RunTool)
    assert d.wait(1.6).got(RunTool)
    assert d.last(ConsentDecided).by == "words"


def test_what_is_said_while_the_judge_thinks_is_decided_on_with_it() -> None:
    d = question(consent=ConsentOptions(judge_timeout=5.0)).says("yes")
    first = d.last(JudgeReply).judgement
    d.tell(UserSpeechStarted()).tell(ReplyJudged(first, Reply.YES))
    assert not d.all(RunTool)
    d.tell(Transcribed("no wait", True), UserSpeechEnded()).wait(1)
    assert d.last(JudgeReply).words == "yes no wait"
    d.tell(ReplyJudged(d.last(JudgeReply).judgement, Reply.NO))
    assert decided(d) == "no" and not d.all(RunTool)
    assert {"user: yes", "user: no wait"} <= set(d.lines)


def test_a_reading_that_nobody_hears_is_tried_again_and_given_up() -> None:
    d = asked()
    for _ in range(20):
        if d.all(ConsentDecided):
            break
        speak = d.last(Speak)
        d.tell(StepGenerated(speak.gen, speak.text or "")).wait(0.1)
        d.tell(PlayoutFinished(speak.segment, "", failed=True)).wait(0.1)
    assert not d.all(RunTool)


def test_the_callers_turn_is_no_silence_that_is_bridged() -> None:
    d = question(silence=SilenceBudget())
    before = len(d.all(Speak))
    d.wait(7)
    assert len(d.all(Speak)) == before


def test_a_typed_turn_while_it_is_read_aloud_is_judged_by_what_was_heard() -> None:
    d = reading(asked(), "Book Friday")
    assert not d.tell(UserTurnSubmitted("yes")).got(RunTool)
    assert not d.all(RunTool)


def test_the_question_does_not_wait_for_a_model_that_says_nothing_more() -> None:
    d = Dialogue()
    d.types("book a table")
    call(d)  # and its response goes on
    reading(d)
    assert d.all(Play)


def test_a_yes_over_an_announcement_is_no_yes_to_the_question() -> None:
    d = question()
    d.say()
    d.voice("Your taxi is here, shall I send it up?")
    d.tell(PlayoutStarted(d.last(Speak).segment))
    d.says("yes")
    assert not d.all(RunTool)


def test_a_line_that_bridges_a_wait_does_not_put_off_the_end_of_the_question() -> None:
    d = question(silence=SilenceBudget())
    heard(d.wait(8.1)).wait(8.1)
    assert decided(d) == "unanswered"


def test_what_is_said_in_place_of_a_read_back_that_gave_no_sound_asks_nothing() -> None:
    d = asked()
    for _ in range(2):  # the read-back, and what is said in its place
        d.voice(d.last(Speak).text or "")
        lost = d.last(Speak)
        if lost.text != d.last(ConsentAsked).text:
            d.tell(PlayoutStarted(lost.segment)).played(lost.segment)
        else:
            d.tell(PlayoutFinished(lost.segment, "", unsaid='{"a": 1}'))
    d.wait(0.1)
    assert d.last(Speak).text == d.last(ConsentAsked).text and d.last(ConsentAsked).times == 2
