"""What becomes of tools when the caller speaks over them: each by what it does to the world."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.core.commands import (
    CancelTool,
    Generate,
    Play,
    RebindRun,
    Record,
    ReleaseRun,
    RunTool,
    Speak,
    StopPlayout,
)
from antiphon.core.facts import (
    Call,
    InterruptibilityChanged,
    InterruptionsDisallowed,
    InterruptRequested,
    PlayoutFinished,
    PlayoutProgressed,
    RunResumed,
    RunSuspended,
    SpeechRequested,
    StepGenerated,
    TextStarted,
    ToolCalled,
    ToolReturned,
    ToolUpdated,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
)
from antiphon.core.notices import HandedOff, SpeechDone, SpeechInterrupted, SpeechProtected, ToolDropped, ToolEnded
from antiphon.options import Effect, Interruption, ToolPolicy, TurnHandling
from tests.core.dialogue import Dialogue, policy


def working(effect: Effect = "unsaid", text: str = "") -> Dialogue:
    """A tool of that effect runs."""
    d = Dialogue()
    d.types("go")
    d.model(text, ("work", policy(effect)))
    return d


def test_the_callers_new_turn_is_answered_at_once() -> None:
    for effect in ("reads", "unsaid", "writes"):
        d = working(effect)
        d.wait(5)
        d.types("something else")
        assert len(d.all(Generate)) == 2, effect


def spoken_over(effect: Effect, **options: Any) -> Dialogue:
    d = Dialogue()
    d.types("go")
    d.model("", ("work", policy(effect, **options)))
    d.wait(5)
    return d.types("something else")


@pytest.mark.parametrize("effect", ["reads", "unsaid"])
def test_a_tool_that_is_to_be_stopped_leaves_the_history_and_is_cancelled(effect: Effect) -> None:
    d = spoken_over(effect, on_interrupt="cancel")
    assert d.got(ReleaseRun) and d.got(CancelTool)
    assert not any("work" in line for line in d.context())


@pytest.mark.parametrize("effect", ["reads", "unsaid"])
def test_a_tool_that_is_to_be_dropped_runs_on_until_an_equal_call_adopts_it(effect: Effect) -> None:
    d = spoken_over(effect, on_interrupt="drop")
    assert d.got(ReleaseRun) and not d.got(CancelTool)
    d.model("", ("work", policy(effect, on_interrupt="drop")))
    assert d.got(RebindRun) and len(d.all(RunTool)) == 1


@pytest.mark.parametrize("effect", ["reads", "unsaid", "writes", "irreversible"])
def test_a_tool_that_is_to_be_kept_goes_on_and_is_told_once(effect: Effect) -> None:
    d = spoken_over(effect, on_interrupt="keep")
    assert not d.got(ReleaseRun)
    assert any("still running" in line for line in d.context())
    d.model("Something else it is.")
    d.played()
    d.returns("found")
    assert d.last(Generate).unheard == (f"{d.last(RunTool).call.call_id}/finished",)


def test_voice_without_words_does_not_interrupt_a_tool() -> None:
    d = working("reads")
    d.tell(UserSpeechStarted()).wait(1)
    d.tell(UserSpeechEnded()).wait(3)
    assert not d.all(CancelTool)


def test_a_backchannel_while_a_tool_works_in_silence_is_answered_by_the_reply_to_its_result() -> None:
    for effect in ("reads", "unsaid", "writes"):
        d = working(effect)
        d.wait(2)
        d.says("mm-hmm")
        assert len(d.all(Generate)) == 1 and not d.all(CancelTool) and not d.all(ReleaseRun), effect
        d.returns("found")
        assert d.context()[-3:] == ["call work c1", "output found", "user: mm-hmm"]
        d.model("There is one.")
        d.played()
        assert len(d.all(Generate)) == 2 and d.core.idle


def test_words_after_a_backchannel_interrupt_the_tool_and_both_are_kept() -> None:
    d = working()
    d.says("okay")
    d.says("no, something else")
    assert d.all(ReleaseRun)
    assert d.context() == ["user: go", "user: okay", "user: no, something else"]


def test_a_backchannel_does_not_count_against_a_tool_that_comes_back_from_its_own_speech() -> None:
    d = working()
    run = d.last(RunTool).run
    d.says("okay")
    d.say(run=run)
    d.voice("Nearly there.")
    d.tell(RunSuspended(run))
    d.played()
    d.tell(RunResumed(run))
    d.wait(5)
    assert not d.all(ReleaseRun)


def test_a_reading_tool_is_cancelled_and_leaves_the_history() -> None:
    d = working("reads")
    d.types("something else")
    assert d.all(CancelTool)
    assert d.context() == ["user: go", "user: something else"]
    assert d.all(ToolDropped)


def test_an_unsaid_tool_runs_on_unseen_and_its_result_is_ignored() -> None:
    d = working()
    run = d.last(RunTool).run
    d.types("something else")
    assert not d.all(CancelTool) and d.last(ReleaseRun).run == run
    d.model("Sure.")
    d.returns("late", run=run)
    d.played()
    assert d.lines == ["user: go", "user: something else", "assistant: Sure."]
    assert d.all(ToolEnded)[-1].outcome == "dropped"


def test_an_equal_call_adopts_the_run_that_goes_on() -> None:
    d = working()
    run = d.last(RunTool).run
    d.types("something else")
    d.model("", "work")
    assert len(d.all(RunTool)) == 1
    assert d.last(RebindRun).run == run
    d.returns("result", run=run)
    assert d.context()[-2:] == ["call work c2", "output result"]


def test_an_equal_call_adopts_a_run_that_has_ended_well() -> None:
    d = working()
    run = d.last(RunTool).run
    d.types("something else")
    d.returns("result", run=run)
    d.model("", "work")
    assert len(d.all(RunTool)) == 1
    assert d.context()[-1] == "output result"


def test_a_run_that_failed_unseen_is_not_adopted() -> None:
    d = working()
    d.types("something else")
    d.tell(ToolReturned(d.last(RunTool).run, "broken", is_error=True))
    d.model("", "work")
    assert len(d.all(RunTool)) == 2


def test_other_arguments_do_not_adopt() -> None:
    d = working()
    d.types("something else")
    gen = d.last(Generate)
    d.tell(ToolCalled(gen.gen, Call("x", "work", '{"a":1}', '{"a":1}'), ToolPolicy()))
    assert len(d.all(RunTool)) == 2


def test_the_handoff_of_a_dropped_call_is_not_made() -> None:
    d = working()
    run = d.last(RunTool).run
    d.types("something else")
    d.model("Sure.")
    d.played()
    d.returns("", run=run, handoff="b")
    d.wait(10)
    assert not d.all(HandedOff)


def test_what_a_dropped_tool_says_is_not_spoken() -> None:
    d = working()
    run = d.last(RunTool).run
    d.types("something else")
    speech = d.say(run=run)
    assert not d.all(Speak)
    assert speech in [e.speech for e in d.all(SpeechDone)]


def test_the_update_of_a_dropped_tool_does_nothing() -> None:
    d = working()
    d.types("something else")
    d.model("Sure.")
    d.played()
    d.tell(ToolUpdated(d.last(RunTool).run, "half way"))
    assert "half way" not in " ".join(d.lines)


def test_a_writing_tool_is_kept_and_the_model_sees_that_it_runs() -> None:
    d = working("writes")
    d.wait(2)
    d.types("did you book it")
    assert d.context() == [
        "user: go",
        "call work c1",
        "output `work` is still running (started 2 s ago); do not call it again, its result will follow.",
        "user: did you book it",
    ]


def test_the_result_of_a_kept_call_is_told_once_when_the_line_is_free() -> None:
    d = working("writes")
    run = d.last(RunTool).run
    d.types("did you book it")
    d.model("It is being booked.")
    d.returns("booked", run=run)
    assert len(d.all(Generate)) == 2
    d.played()
    delivery = d.last(Generate)
    assert delivery.delivery and delivery.unheard == ("c1/finished",)
    assert d.context()[-2:] == ["call work c1/finished", "output booked"]
    d.model("It is booked.")
    d.played()
    d.wait(60)
    assert len(d.all(Generate)) == 3
    assert d.core.idle


def test_an_interrupted_delivery_is_made_again() -> None:
    d = delivering()
    d.model("It is booked.")
    d.types("wait")
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "It"))
    d.model("I wait.")
    d.played()
    assert d.last(Generate).delivery
    d.model("It is booked.")
    d.played()
    assert d.core.idle


def delivering() -> Dialogue:
    """A result from the background is about to be told."""
    d = working("writes")
    run = d.last(RunTool).run
    d.types("and")
    d.model("Yes?")
    d.played()
    d.returns("booked", run=run)
    return d


def test_a_delivery_is_made_again_however_often_the_caller_speaks_over_it() -> None:
    d = delivering()
    for _ in range(6):
        assert d.last(Generate).delivery
        d.types("wait")
        d.model("I wait.")
        d.played()
    d.model("It is booked.")
    d.played()
    d.wait(60)
    assert len([g for g in d.all(Generate) if g.delivery]) == 7
    assert d.core.idle


def test_a_delivery_that_the_application_stops_again_and_again_is_given_up() -> None:
    d = delivering()
    for _ in range(3):
        assert d.last(Generate).delivery and not d.core.idle
        d.tell(InterruptRequested(None, False))
    assert d.core.idle


def test_a_result_that_a_reply_may_have_told_is_offered_once_more_and_silence_is_accepted() -> None:
    d = working("writes")
    run = d.last(RunTool).run
    d.types("and")
    d.model("Yes?")
    d.tell(UserSpeechStarted())
    d.returns("booked", run=run)
    d.tell(Transcribed("is it booked", True), UserSpeechEnded()).wait(0.3)
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "Yes?"))
    assert d.last(Generate).unheard == ("c1/finished",)
    d.model("Yes, it is.")
    d.played()
    told = d.last(Record).item.id
    assert d.last(Generate).delivery and told in d.last(Generate).owed  # else it would be told once more
    d.model("")
    assert d.core.idle


def test_a_request_may_not_leave_out_what_is_told_in_part_only() -> None:
    d = Dialogue()
    d.types("book")
    d.model("", ("write", ToolPolicy("writes")))
    d.returns("booked")
    call = d.last(RunTool).call.call_id
    assert call in d.last(Generate).owed
    d.model("It is booked for eight.")
    d.tell(UserSpeechStarted(), Transcribed("and parking", True), UserSpeechEnded()).wait(0.3)
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "It is")).wait(0.5)
    assert call in d.last(Generate).owed and call not in d.last(Generate).unheard


def test_two_results_are_told_in_one_speech() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", ("a", ToolPolicy()), ("b", ToolPolicy()))
    first, second = (r.run for r in d.all(RunTool))
    d.tell(ToolUpdated(first, "started a"), ToolUpdated(second, "started b"))
    d.model("Both are under way.")
    d.tell(ToolReturned(first, "a done"), ToolReturned(second, "b done"))
    d.played()
    assert d.last(Generate).unheard == ("c1/finished", "c2/finished")
    d.model("Both done.")
    d.played()
    assert len([g for g in d.all(Generate) if g.delivery]) == 1


def test_a_finished_call_stays_in_the_history_of_an_interrupted_reply() -> None:
    d = working()
    d.returns("found")
    d.types("and what else")
    assert d.context() == ["user: go", "call work c1", "output found", "user: and what else"]


def test_a_call_that_was_not_started_never_starts() -> None:
    d = Dialogue()
    d.types("go")
    d.model("", ("first", policy("writes")), ("second", policy("writes")))
    d.types("stop")
    d.returns("done", run=d.all(RunTool)[0].run)
    assert [r.call.name for r in d.all(RunTool)] == ["first"]
    assert "second" not in " ".join(d.lines)


def test_a_call_that_arrives_after_the_interruption_never_starts() -> None:
    d = Dialogue()
    d.types("go")
    gen = d.last(Generate)
    d.types("stop")
    d.tell(ToolCalled(gen.gen, Call("x", "late", "{}"), ToolPolicy()))
    assert not d.all(RunTool)


def test_words_over_the_speech_before_a_tool_interrupt_both() -> None:
    d = working("reads", text="Let me look.")
    d.tell(UserSpeechStarted(), Transcribed("no wait", False))
    assert d.all(StopPlayout)
    assert d.all(CancelTool)


# -- protection


def test_under_protection_one_reply_answers_tool_and_caller() -> None:
    d = working()
    run = d.last(RunTool).run
    d.tell(InterruptionsDisallowed(run))
    d.says("are you still there")
    assert len(d.all(Generate)) == 1
    d.returns("booked", run=run)
    assert d.context() == ["user: go", "call work c1", "output booked", "user: are you still there"]
    d.model("Booked, and yes.")
    d.played()
    assert len(d.all(Generate)) == 2
    assert d.core.idle


def test_one_reply_answers_both_also_if_the_call_returns_while_the_caller_still_speaks() -> None:
    for effect in ("unsaid", "writes"):
        d = working(effect)
        run = d.last(RunTool).run
        if effect == "unsaid":
            d.tell(InterruptionsDisallowed(run))
        d.tell(UserSpeechStarted())
        d.returns("booked", run=run)
        d.tell(Transcribed("by the window", True), UserSpeechEnded()).wait(3.0)
        assert d.context() == ["user: go", "call work c1", "output booked", "user: by the window"]
        d.model("Booked, by the window.")
        d.played()
        assert not [g for g in d.all(Generate) if g.delivery] and d.core.idle


def test_a_result_whose_second_telling_is_cut_is_still_delivered() -> None:
    d = working("writes")
    d.tell(UserSpeechStarted())
    d.returns("booked", run=d.last(RunTool).run)
    d.tell(Transcribed("by the window", True), UserSpeechEnded()).wait(3.0)
    d.model("Booked, by the window.")
    d.types("wait")
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "Booked"))
    d.model("I wait.")
    d.played()
    assert d.last(Generate).delivery


def test_under_protection_the_audio_is_not_cut() -> None:
    d = working(text="Booking it now.")
    d.tell(InterruptionsDisallowed(d.last(RunTool).run))
    d.tell(UserSpeechStarted(), Transcribed("hold on", True))
    assert not d.all(StopPlayout)


def test_what_a_tool_protects_is_so_to_its_end_whatever_the_application_says_later() -> None:
    d = working(text="Booking it now.")
    speech = d.last(Generate).speech
    d.tell(InterruptionsDisallowed(d.last(RunTool).run))
    d.tell(InterruptibilityChanged(speech, True))
    assert d.got(SpeechProtected)
    d.tell(UserSpeechStarted(), Transcribed("hold on", True))
    assert not d.all(StopPlayout) and not d.all(SpeechInterrupted)


def test_protection_asked_for_after_the_interruption_keeps_the_call() -> None:
    d = working()
    run = d.last(RunTool).run
    d.types("something else")
    d.model("Sure.")
    d.tell(InterruptionsDisallowed(run))
    d.returns("booked", run=run)
    d.played()
    assert d.last(Generate).delivery
    assert "output booked" in d.context()


def test_a_tool_that_waits_for_its_own_speech_is_not_interrupted() -> None:
    d = working()
    run = d.last(RunTool).run
    d.say(run=run, interruptible=False)
    d.voice("I have booked it.")
    d.tell(RunSuspended(run))
    d.says("at two")
    assert not d.all(StopPlayout) and not d.all(ReleaseRun)
    d.played()
    d.tell(RunResumed(run))
    d.returns("booked", run=run)
    assert d.context() == [
        "user: go",
        "assistant: I have booked it.",
        "call work c1",
        "output booked",
        "user: at two",
    ]


def test_a_barge_in_on_what_a_tool_says_cuts_that_and_not_the_tool() -> None:
    d = working()
    run = d.last(RunTool).run
    d.say(run=run)
    d.voice("This takes a while.")
    d.tell(RunSuspended(run), UserSpeechStarted(), Transcribed("fine", True), UserSpeechEnded())
    d.wait(0.3)
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "This"), RunResumed(run))
    assert not d.all(ReleaseRun)
    d.returns("done", run=run)
    assert d.context()[-3:] == ["call work c1", "output done", "user: fine"]


def test_a_tool_that_goes_on_for_long_after_its_speech_was_cut_does_not_hold_the_caller() -> None:
    d = working()
    run = d.last(RunTool).run
    d.say(run=run)
    d.voice("This takes a while.")
    d.tell(RunSuspended(run), UserSpeechStarted(), Transcribed("never mind", True), UserSpeechEnded())
    d.wait(0.3)
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "This"), RunResumed(run))
    d.wait(0.6)
    assert d.all(ReleaseRun)
    assert d.context()[-1] == "user: never mind"


# -- owed turns


def test_a_reply_cut_before_anything_was_heard_gives_its_turn_to_the_next() -> None:
    d = Dialogue()
    d.types("I want to book")
    d.types("for Tuesday")
    assert d.context() == ["user: I want to book", "user: for Tuesday"]
    d.model("Tuesday it is.")
    d.played()
    assert len(d.all(SpeechDone)) == 2
    assert d.core.idle


def test_a_begun_reply_stops_when_the_caller_goes_on_and_one_reply_answers_both_halves() -> None:
    d = Dialogue()
    d.says("I want to book")
    first = d.last(Generate)
    d.tell(UserSpeechStarted(), TextStarted(first.gen), StepGenerated(first.gen, "For when?"))
    assert not d.all(Play)
    d.tell(Transcribed("for Tuesday", True), UserSpeechEnded()).wait(0.3)
    assert d.context() == ["user: I want to book", "user: for Tuesday"]
    assert not d.all(Play)


def test_words_that_the_application_passed_on_are_kept_when_the_reply_to_them_never_begins() -> None:
    d = working()
    d.tell(SpeechRequested(d.core.new_id(), "reply", user_input="and the menu"))
    d.types("no, wait")
    assert d.lines == ["user: go", "user: and the menu", "user: no, wait"]
    assert d.context()[-2:] == ["user: and the menu", "user: no, wait"]


def test_updates_are_moot_once_a_reply_built_with_them_was_heard() -> None:
    d = working()
    run = d.last(RunTool).run
    d.tell(ToolUpdated(run, "looking"))
    d.model("I am looking.")
    d.tell(ToolUpdated(run, "half way"))
    d.types("how far")
    d.tell(PlayoutFinished(d.last(StopPlayout).segment, "I am"))
    assert d.last(Generate).unheard == ("c1/update_1",)
    d.model("Half way.")
    d.played()
    assert not d.last(Generate).delivery
    assert d.core.idle


def test_a_reply_that_is_asked_for_once_more_answers_what_was_said_meanwhile() -> None:
    d = Dialogue(turns=TurnHandling(interruption=Interruption(enabled=False)))
    d.types("go")
    d.types("and hurry")
    d.model("")
    assert d.last(Generate).retry and d.context()[-2:] == ["user: go", "user: and hurry"]
    d.model("Both are done.")
    d.played()
    assert len(d.all(Generate)) == 2 and d.core.idle


def test_who_speaks_over_the_end_of_what_a_tool_says_does_not_interrupt_what_was_heard_whole() -> None:
    d = working("writes")
    speech = d.say(run=d.last(RunTool).run)
    d.voice("One moment.")
    d.tell(PlayoutProgressed(d.last(Play).segment, "One moment."), UserSpeechStarted()).wait(0.3)
    d.tell(Transcribed("no stop it", False))
    assert speech not in [one.speech for one in d.all(SpeechInterrupted)]
