"""What sounds and in which order, and what the caller's voice does to it."""

from __future__ import annotations

from typing import Any

from antiphon.core.commands import (
    Generate,
    PausePlayout,
    Play,
    ResumePlayout,
    RunTool,
    Speak,
    StopGenerating,
    StopPlayout,
)
from antiphon.core.facts import (
    InterruptionsDisallowed,
    InterruptRequested,
    PlayoutFinished,
    PlayoutProgressed,
    PlayoutStarted,
    SpeechRequested,
    StepGenerated,
    TextStarted,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
)
from antiphon.core.notices import FalseInterruption, SpeechDone
from antiphon.options import Interruption, TurnHandling
from tests.core.dialogue import Dialogue


def speaking(**options: Any) -> Dialogue:
    """The agent is in the middle of an answer."""
    d = Dialogue(**options)
    d.types("hello")
    d.model("One two three four.")
    return d


def test_a_voice_over_the_agent_pauses_it_at_once() -> None:
    d = speaking()
    d.tell(UserSpeechStarted())
    assert d.got(PausePlayout)


def test_words_cut_the_agent_and_the_history_holds_what_was_heard() -> None:
    d = speaking()
    d.tell(UserSpeechStarted()).wait(0.3)
    d.tell(Transcribed("wait", False))
    assert d.got(StopPlayout)
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "One two"))
    assert d.lines == ["user: hello", "assistant: One two~"]


def test_nothing_heard_is_not_recorded_as_said() -> None:
    d = speaking()
    d.tell(UserSpeechStarted(), Transcribed("wait", False))
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, ""))
    assert d.lines == ["user: hello"]


def test_a_cough_resumes_the_agent() -> None:
    d = speaking()
    d.tell(UserSpeechStarted()).wait(0.2)
    d.tell(UserSpeechEnded()).wait(0.49)
    assert not d.all(ResumePlayout)
    d.wait(0.02)
    assert d.all(ResumePlayout) and not d.all(StopPlayout)
    assert d.all(FalseInterruption)


def test_words_that_come_after_the_voice_still_cut() -> None:
    d = speaking()
    d.tell(UserSpeechStarted()).wait(0.2)
    d.tell(UserSpeechEnded()).wait(0.3)
    d.tell(Transcribed("stop", True))
    assert d.got(StopPlayout)


def test_without_a_recogniser_the_duration_of_speech_cuts() -> None:
    d = speaking(has_stt=False)
    d.tell(UserSpeechStarted()).wait(0.45)
    assert not d.all(StopPlayout)
    d.wait(0.1)
    assert d.all(StopPlayout)


def test_with_a_recogniser_duration_alone_never_cuts() -> None:
    d = speaking()
    d.tell(UserSpeechStarted()).wait(3.0)
    assert not d.all(StopPlayout)


def test_interruption_can_be_switched_off() -> None:
    d = speaking(turns=TurnHandling(interruption=Interruption(enabled=False)))
    d.tell(UserSpeechStarted(), Transcribed("wait please", False))
    assert not d.all(PausePlayout) and not d.all(StopPlayout)


def test_where_interruption_is_switched_off_a_turn_waits_for_the_end_of_the_speech() -> None:
    d = speaking(turns=TurnHandling(interruption=Interruption(enabled=False)))
    d.says("wait please")
    assert not d.all(PausePlayout) and not d.all(StopPlayout) and len(d.all(Generate)) == 1
    d.played()
    assert d.lines == ["user: hello", "assistant: One two three four.", "user: wait please"]
    assert d.context() == d.lines


def test_more_words_can_be_demanded() -> None:
    d = speaking(turns=TurnHandling(interruption=Interruption(min_words=2)))
    d.tell(UserSpeechStarted(), Transcribed("wait", False))
    assert not d.all(StopPlayout)
    d.tell(Transcribed("wait please", False))
    assert d.all(StopPlayout)


def test_a_protected_speech_is_neither_paused_nor_cut_and_the_caller_is_answered_after_it() -> None:
    d = Dialogue()
    d.say(interruptible=False)
    d.voice("Your booking is made.")
    d.says("is it at two")
    assert not d.all(PausePlayout) and not d.all(StopPlayout) and not d.all(Generate)
    d.played()
    assert d.lines == ["assistant: Your booking is made.", "user: is it at two"]
    assert d.context() == d.lines


def test_the_answer_starts_only_when_what_was_heard_of_the_cut_speech_is_known() -> None:
    d = speaking()
    d.tell(UserSpeechStarted(), Transcribed("wait", True), UserSpeechEnded()).wait(0.31)
    assert len(d.all(Generate)) == 1
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "One"))
    assert d.context() == ["user: hello", "assistant: One~", "user: wait"]


def test_a_loudspeaker_that_never_answers_delays_the_reply_by_half_a_second_at_most() -> None:
    d = speaking()
    d.tell(PlayoutProgressed(d.last(Play).segment, "One two"))
    d.types("next")
    d.wait(0.51)
    assert d.context() == ["user: hello", "assistant: One two~", "user: next"]


def test_a_generation_is_stopped_with_its_speech() -> None:
    d = Dialogue()
    d.types("hello")
    gen = d.model("One", complete=False)
    d.types("other")
    assert d.last(StopGenerating).gen == gen.gen
    d.tell(StepGenerated(gen.gen, "One two"))
    d.tell(PlayoutFinished(gen.segment, "One"))
    assert "assistant: One~" in d.lines


def test_segments_of_one_speech_play_without_a_gap_one_ahead() -> None:
    d = Dialogue()
    d.types("go")
    d.model("Let me look.", "find")
    first = d.last(Play).segment
    d.returns()
    d.model("Found it.")
    assert d.last(Play).segment != first
    d.played(first)
    d.played()
    assert d.lines[-1] == "assistant: Found it."


def test_no_more_than_two_segments_are_given_to_the_loudspeaker() -> None:
    d = Dialogue()
    for _ in range(3):
        d.say()
        d.voice("A line.")
    assert len(d.all(Play)) == 2


def test_what_a_tool_says_overtakes_an_announcement() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", "find")
    d.say()
    d.voice("First announcement.")
    d.say()
    d.voice("Second announcement.")
    d.say()
    d.voice("Third announcement.")
    d.returns()
    reply = d.model("The answer.")
    d.played(d.all(Play)[0].segment, "First announcement.")
    d.played(d.all(Play)[1].segment, "Second announcement.")
    assert d.all(Play)[2].segment == reply.segment


def test_speech_asked_for_later_does_not_overtake_a_reply_that_is_being_made() -> None:
    d = Dialogue()
    d.tell(SpeechRequested(d.core.new_id(), "reply"))
    reply = d.last(Generate)
    d.say()
    d.voice("After you.")
    assert not d.all(Play)
    d.tell(TextStarted(reply.gen), StepGenerated(reply.gen, "Before."))
    assert d.all(Play)[0].segment == reply.segment


def test_the_agent_does_not_begin_while_the_caller_speaks() -> None:
    d = Dialogue()
    d.say()
    d.tell(UserSpeechStarted())
    d.voice("Hello.")
    assert not d.all(Play)
    d.tell(UserSpeechEnded())
    assert d.all(Play)


def test_a_stalled_loudspeaker_ends_the_segment() -> None:
    d = speaking()
    d.tell(PlayoutStarted(d.last(Play).segment), PlayoutProgressed(d.last(Play).segment, "One"))
    d.wait(4.1)
    assert d.lines == ["user: hello", "assistant: One~"]
    d.voice(d.last(Speak).text or "")  # the apology, which does not sound either
    d.wait(4.1)
    assert d.core.idle


def test_interrupt_stops_what_may_be_stopped_and_force_the_rest() -> None:
    d = Dialogue()
    d.say(interruptible=False)
    d.voice("Protected.")
    d.tell(InterruptRequested())
    assert not d.all(StopPlayout)
    d.tell(InterruptRequested(force=True))
    assert d.all(StopPlayout)


def test_a_queued_speech_that_is_interrupted_leaves_no_trace() -> None:
    d = speaking()
    speech = d.say()
    d.voice("Later.")
    d.tell(InterruptRequested(speech))
    d.wait(0.5)
    d.played(d.all(Play)[0].segment)
    assert [e.speech for e in d.all(SpeechDone)].count(speech) == 1
    assert d.lines == ["user: hello", "assistant: One two three four."]


def test_every_handle_of_say_is_done_once() -> None:
    d = Dialogue()
    speeches = [d.say() for _ in range(4)]
    for speak in d.all(Speak):
        d.tell(TextStarted(speak.gen), StepGenerated(speak.gen, "x"))
    while d.core.deadline is not None:
        d.wait(10)
    assert sorted(e.speech for e in d.all(SpeechDone)) == speeches


def test_an_answer_whose_voice_breaks_is_apologised_for_once() -> None:
    d = Dialogue()
    d.types("what time is it")
    d.model("It is noon.")
    d.tell(PlayoutFinished(d.last(Play).segment, "It", failed=True))
    assert d.last(Speak).text == "I'm sorry, something went wrong on my side. Could you say that again?"
    d.voice(d.last(Speak).text or "")
    d.tell(PlayoutFinished(d.last(Play).segment, "", failed=True))
    assert len(d.all(Speak)) == 1
    assert d.all(SpeechDone)
    assert d.lines == ["user: what time is it", "assistant: It~"]


def test_a_loudspeaker_that_says_nothing_more_counts_as_failed() -> None:
    d = Dialogue(stall_timeout=4.0)
    d.types("what time is it")
    d.model("It is noon.")
    d.wait(4.1)
    assert d.all(StopPlayout)
    assert d.all(Speak)


def test_a_word_before_tools_that_breaks_is_not_apologised_for() -> None:
    d = Dialogue()
    d.types("book it")
    d.model("Let me see.", "work")
    d.tell(PlayoutFinished(d.last(Play).segment, "", failed=True))
    assert not d.all(Speak)


def test_speech_protected_by_a_tool_is_not_paused_by_a_voice() -> None:
    d = Dialogue()
    d.types("book it")
    d.model("I book it now.", "work")
    d.tell(InterruptionsDisallowed(d.last(RunTool).run), UserSpeechStarted())
    assert not d.all(PausePlayout)


def test_a_tool_that_forbids_interruption_lets_what_was_paused_go_on() -> None:
    d = Dialogue()
    d.types("book it")
    d.model("I book it now.", "work")
    d.tell(UserSpeechStarted())
    assert d.all(PausePlayout)
    d.tell(InterruptionsDisallowed(d.last(RunTool).run))
    assert d.all(ResumePlayout)


def test_a_false_alarm_is_counted_from_the_end_of_the_voice() -> None:
    d = Dialogue()
    d.types("hello")
    d.model("Hello there, how are you?")
    d.tell(UserSpeechStarted()).wait(0.3)
    d.tell(UserSpeechEnded(silence=0.2)).wait(0.31)
    assert d.all(ResumePlayout)
