"""The silence budget: what the caller hears while work is pending, and when."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from antiphon.core.commands import Discard, Generate, Play, PredictEndOfTurn, Release, RunTool, Speak, StopPlayout
from antiphon.core.facts import (
    Call,
    EndOfTurnPredicted,
    GenerationFailed,
    PlayoutStarted,
    PlayoutStarved,
    RunResumed,
    RunSuspended,
    SoundReady,
    StepGenerated,
    TextStarted,
    ToolCalled,
    ToolUpdated,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnCommitRequested,
)
from antiphon.options import Endpointing, Fillers, SilenceBudget, ToolPolicy, TurnHandling
from tests.core.aloud import Aloud
from tests.core.dialogue import Dialogue

LADDER = Fillers(
    short=("One moment.",),
    long=("This takes a while.",),
    progress=("Still on it.",),
    offer="Shall I call back?",
    offer_after=8.0,
)
BUDGET = SilenceBudget(fillers=LADDER)


def working(policy: ToolPolicy | None = None, text: str = "") -> Aloud:
    """The caller asked for something, and a tool works for it. Their voice ended at 1.0."""
    d = Aloud(silence=BUDGET)
    d.says("book it")
    d.answer(text, ("work", policy or ToolPolicy()))
    return d


def gaps(d: Aloud, since: float) -> list[float]:
    """Seconds of silence before each thing that was heard, from `since` on; each word takes a quarter of a second."""
    silences = []
    for at, text in d.heard:
        silences.append(round(at - since, 2))
        since = at + 0.25 * len(text.split())
    return silences


def test_the_line_is_bridged_before_the_budget_is_over() -> None:
    d = working()
    d.wait(3.0)
    assert d.heard[0] == (2.5, "One moment.")


def test_silence_counts_from_the_end_of_the_callers_voice() -> None:
    d = Aloud(silence=BUDGET)
    d.tell(UserSpeechStarted()).wait(1.0)
    d.tell(UserSpeechEnded(silence=0.2)).wait(0.1)
    d.tell(Transcribed("book it", True)).wait(5.0)
    assert d.heard[0] == (2.3, "One moment.")


def test_every_silence_of_a_long_wait_is_within_the_budget() -> None:
    d = working()
    d.wait(20.0)
    assert len(d.heard) > 6
    assert max(gaps(d, 1.0)) <= 1.5


def test_the_ladder_goes_from_a_short_line_over_progress_to_an_offer_made_once() -> None:
    d = working()
    d.wait(20.0)
    said = [text for _, text in d.heard]
    assert said[:2] == ["One moment.", "Still on it."]
    assert said.count("Shall I call back?") == 1
    assert next(at for at, text in d.heard if text == LADDER.offer) >= 1.0 + LADDER.offer_after


def test_a_tools_own_line_comes_first_and_once() -> None:
    d = working(ToolPolicy(filler="I look at the calendar."))
    d.wait(8.0)
    assert [text for _, text in d.heard][:2] == ["I look at the calendar.", "Still on it."]


def test_a_tool_that_is_known_to_be_slow_is_announced_as_slow() -> None:
    d = working(ToolPolicy(expected=6.0))
    d.wait(3.0)
    assert d.heard == [(2.5, "This takes a while.")]


def test_a_tool_that_is_known_to_take_very_long_brings_the_offer_early() -> None:
    d = working(ToolPolicy(expected=30.0))
    d.wait(6.0)
    assert [text for _, text in d.heard][:2] == ["This takes a while.", LADDER.offer]


def test_a_quick_answer_needs_no_filler_and_none_is_made() -> None:
    d = Aloud(silence=BUDGET)
    d.says("hello")
    d.wait(0.4)
    d.answer("Hello there.")
    d.wait(3.0)
    assert [text for _, text in d.heard] == ["Hello there."]
    assert not d.all(Speak)


def test_a_filler_that_was_made_and_is_not_needed_leaves_no_trace() -> None:
    d = Aloud(silence=BUDGET)
    d.says("hello")
    d.wait(0.9)  # 1.2 s after the caller's voice: the filler is ready
    assert d.all(Speak)
    d.answer("Hello there.")
    d.wait(3.0)
    assert [text for _, text in d.heard] == ["Hello there."]
    assert len(d.all(Discard)) == 1
    assert d.lines == ["user: hello", "assistant: Hello there."]


def test_fillers_stay_out_of_the_history() -> None:
    d = working()
    d.wait(6.0)
    d.returns("booked")
    d.answer("It is booked.")
    d.wait(5.0)
    assert d.lines == ["user: book it", "call work c1", "output booked", "assistant: It is booked."]


def test_a_result_that_is_in_beats_a_filler_that_is_due_for_a_second() -> None:
    d = working()
    d.wait(1.1)  # 2.4: the filler is due at 2.5
    d.returns("booked")
    d.wait(0.9)
    assert d.heard == []
    d.wait(0.2)
    assert d.heard == [(3.4, "One moment.")]


def test_a_filler_ends_at_a_word_when_the_answer_can_be_heard() -> None:
    d = working()
    d.wait(1.3)
    assert d.heard == [(2.5, "One moment.")]
    d.returns("booked")
    d.answer("It is booked.")
    stops = d.all(StopPlayout)
    assert not stops  # the answer has words, and no sound yet
    d.wait(0.2)
    assert [stop.at_word for stop in d.all(StopPlayout)] == [True]
    d.wait(2.0)
    assert [text for _, text in d.heard] == ["One moment.", "It is booked."]


def test_what_the_model_says_before_its_call_resets_the_clock() -> None:
    d = working(text="Let me see.")
    d.wait(5.0)
    assert d.heard[1][0] - (d.heard[0][0] + 0.75) == 1.5


def test_a_slow_voice_is_bridged_before_what_waits_for_it() -> None:
    d = Aloud(silence=BUDGET)
    d.says("hello")
    generate = d.last(Generate)
    d.tell(TextStarted(generate.gen), StepGenerated(generate.gen, "Hello there."))  # and no sound of it for long
    d.wait(2.0)
    assert d.heard == [(2.5, "One moment.")]
    d.sounds(generate, "Hello there.").wait(2.0)
    assert [text for _, text in d.heard] == ["One moment.", "Hello there."]


def test_an_answer_that_runs_dry_is_bridged_and_goes_on() -> None:
    d = Aloud(silence=BUDGET)
    d.says("hello")
    generate = d.last(Generate)
    d.tell(TextStarted(generate.gen))
    d.sounds(generate, "Well,", complete=False).wait(0.2)
    d.runs_dry(generate).wait(1.7)
    assert [text for _, text in d.heard] == ["Well,", "One moment."]
    d.tell(StepGenerated(generate.gen, "Well, hello."))
    d.sounds(generate, "Well, hello.").wait(2.0)
    assert d.lines[-1] == "assistant: Well, hello."


def test_a_caller_who_is_to_answer_is_left_in_peace() -> None:
    d = Aloud(silence=BUDGET)
    d.says("hello")
    d.answer("What is your name?")
    d.wait(60.0)
    assert [text for _, text in d.heard] == ["What is your name?"]


def test_a_cough_is_no_work() -> None:
    d = Aloud(silence=BUDGET)
    d.tell(UserSpeechStarted()).wait(0.3)
    d.tell(UserSpeechEnded()).wait(10.0)
    assert d.heard == []


def test_a_tool_in_the_background_and_one_that_waits_for_the_caller_are_no_work() -> None:
    d = working()
    d.tell(ToolUpdated(d.last(RunTool).run, "started"))
    d.answer("I have started.")
    d.wait(10.0)
    assert [text for _, text in d.heard] == ["I have started."]

    d = working()
    d.tell(RunSuspended(d.last(RunTool).run))
    d.wait(10.0)
    assert d.heard == []


def test_speech_that_no_recogniser_understands_is_bridged_and_asked_about() -> None:
    d = Aloud(silence=BUDGET, transcript_timeout=2.0)
    d.tell(UserSpeechStarted()).wait(1.5)
    d.tell(UserSpeechEnded()).wait(6.0)
    assert [text for _, text in d.heard] == ["One moment.", "I'm sorry, I didn't catch that. Could you say it again?"]
    assert max(gaps(d, 1.5)) <= 1.5


def test_push_to_talk_may_be_silent_for_long() -> None:
    d = Aloud(silence=BUDGET, turns=TurnHandling(detection="manual"))
    d.tell(UserSpeechStarted()).wait(1.0)
    d.tell(Transcribed("let me think", True), UserSpeechEnded()).wait(20.0)
    assert d.heard == []


def test_an_unfinished_sentence_is_waited_for_without_a_word_within_the_budget() -> None:
    d = Aloud(silence=BUDGET, turns=TurnHandling(endpointing=Endpointing(0.3, 1.4)))
    d.says("my number is", silence=0.2)
    d.wait(0.05)
    d.tell(UserSpeechStarted()).wait(1.0)
    assert d.heard == []


def test_the_turn_that_a_filler_bridged_does_not_cut_it() -> None:
    d = Aloud(silence=BUDGET, transcript_timeout=2.0)
    d.tell(UserSpeechStarted()).wait(1.5)
    d.tell(UserSpeechEnded()).wait(1.6)
    assert d.heard == [(3.0, "One moment.")]
    d.tell(Transcribed("book it", True)).wait(0.05)
    assert d.all(Generate)
    assert not d.all(StopPlayout)


def test_the_callers_voice_ends_a_filler_like_any_speech() -> None:
    d = working()
    d.wait(1.4)
    d.speaks_up().wait(0.05)
    d.tell(Transcribed("never mind that", True))
    assert [stop.at_word for stop in d.all(StopPlayout)] == [False]


def test_a_filler_made_ahead_that_fails_is_not_tried_at_once_again() -> None:
    d = working()
    d.wait(0.8)
    speak = d.last(Speak)
    d.tell(GenerationFailed(speak.gen, "no voice"))
    d.wait(4.0)
    assert 1 <= len(d.all(Speak)) <= 5


def test_a_second_call_of_the_same_round_has_its_own_line() -> None:
    d = Aloud(silence=BUDGET)
    d.says("book it")
    gen = d.last(Generate)
    for number, line in enumerate(("First.", "Second.")):
        call = Call(f"c{number}", "work", "{}", str(number))
        d.tell(ToolCalled(gen.gen, call, ToolPolicy(filler=line)))
    d.tell(StepGenerated(gen.gen, ""))
    d.wait(7.0)
    assert [text for _, text in d.heard][:3] == ["First.", "Second.", "Still on it."]


def test_the_same_facts_give_the_same_fillers() -> None:
    first, second = working(), working()
    first.wait(15.0)
    second.wait(15.0)
    assert first.heard == second.heard


def test_sound_that_is_there_is_not_bridged() -> None:
    d = Aloud(silence=BUDGET)
    d.says("hello")
    d.wait(1.15)
    generate = d.last(Generate)
    d.tell(TextStarted(generate.gen), SoundReady(generate.segment), PlayoutStarted(generate.segment))
    d.wait(3.0)
    assert d.heard == []
    d.tell(PlayoutStarved(generate.segment))
    d.wait(1.4)
    assert d.heard == []


def test_a_voice_that_never_sounds_is_given_up_however_often_its_silence_is_bridged() -> None:
    d = Aloud(silence=BUDGET)
    d.says("hello")
    generate = d.last(Generate)
    d.tell(TextStarted(generate.gen), StepGenerated(generate.gen, "Hello there."))
    d.wait(20.0)
    assert "went wrong" in d.heard[-1][1]
    assert generate.segment in [stop.segment for stop in d.all(StopPlayout)]


def test_an_instant_without_work_keeps_the_line_that_is_ready() -> None:
    d = working()
    d.wait(1.1)  # 2.4: the line is ready
    d.tell(RunSuspended(d.last(RunTool).run))
    d.tell(RunResumed(d.last(RunTool).run))
    d.wait(0.2)
    assert d.heard == [(2.5, "One moment.")]
    assert not d.all(Discard)


@pytest.mark.parametrize("later", [0.0, 0.00001, 0.0005])
def test_an_answer_that_is_cut_as_it_begins_is_no_end_of_the_silence(later: float) -> None:
    d = Dialogue(silence=BUDGET)
    d.says("book it")
    d.wait(0.9)
    d.model("It is booked.")
    segment = d.last(Play).segment
    d.tell(SoundReady(segment), PlayoutStarted(segment)).wait(later)
    d.types("or rather don't").played(segment, "")
    d.wait(0.35 - later)
    assert d.all(Release)


def test_an_answer_that_is_outdated_before_it_sounds_keeps_the_line_that_is_ready() -> None:
    d = Aloud(silence=BUDGET)
    d.says("book it")
    d.wait(1.1)  # 2.4: the line is ready
    d.tell(TextStarted(d.last(Generate).gen))
    d.types("or rather don't")
    d.wait(0.2)
    assert d.heard == [(2.5, "One moment.")]
    assert not d.all(Discard)


def test_a_line_that_is_due_is_not_started_when_the_text_of_the_reply_is_in() -> None:
    d = Aloud(silence=BUDGET)
    d.says("book it")
    d.wait(0.5)
    d.answer("", "work")
    d.returns("booked")  # at 1.8: the line is due at 2.8
    d.wait(0.95)
    generate = d.last(Generate)
    d.tell(TextStarted(generate.gen), StepGenerated(generate.gen, "It is booked."))
    d.wait(0.3)
    assert d.heard == []
    d.sounds(generate, "It is booked.").wait(2.0)
    assert [text for _, text in d.heard] == ["It is booked."]


def test_a_voice_that_makes_nothing_of_a_text_is_bridged_after_a_moment() -> None:
    d = Aloud(silence=BUDGET)
    d.says("hello")
    d.wait(1.0)
    generate = d.last(Generate)
    d.tell(TextStarted(generate.gen), StepGenerated(generate.gen, "Hello there."))  # at 2.3
    d.wait(1.0)
    assert d.heard == [(2.8, "One moment.")]


THREE = replace(LADDER, progress=("Still on it.", "Going on.", "Not done yet."))


def test_no_line_of_a_long_wait_is_said_twice_in_a_row_and_none_come_round() -> None:
    for fillers in (LADDER, THREE):
        d = Aloud(silence=SilenceBudget(fillers=fillers))
        d.says("book it")
        d.answer("", ("work", ToolPolicy(timeout=120.0)))
        d.wait(70.0)
        said = [text for _, text in d.heard]
        assert all(line != behind for line, behind in itertools.pairwise(said))
        assert max(gaps(d, 1.0)) <= 1.5
    progress = [text for text in said if text in THREE.progress]
    assert len(progress) > 20
    for length in range(2, len(progress) // 2):
        for at in range(len(progress) - 2 * length + 1):
            assert progress[at : at + length] != progress[at + length : at + 2 * length]


def test_a_chain_of_rounds_is_one_ladder_also_where_the_agent_speaks_between_them() -> None:
    d = Aloud(silence=SilenceBudget(fillers=THREE), max_tool_steps=9)
    d.says("book it")
    for number in range(4):
        d.answer(f"Step {number}.", "work")
        d.wait(4.0)
        d.returns("done")
    d.answer("It is booked.")
    d.wait(3.0)
    said = [text for _, text in d.heard if not text.startswith(("Step", "It is"))]
    assert said == ["One moment.", "Still on it.", LADDER.offer, "Going on."]
    d.says("and another one")
    d.answer("", "work")
    d.wait(3.0)
    assert d.heard[-1][1] == "One moment."


def test_what_is_offered_stands_in_the_history_as_it_was_heard() -> None:
    d = working()
    d.wait(20.0)
    assert d.context()[-1] == f"assistant: {LADDER.offer}"
    d.returns("booked")
    d.answer("It is booked.")
    d.wait(5.0)
    assert d.lines == [
        "user: book it",
        f"assistant: {LADDER.offer}",
        "call work c1",
        "output booked",
        "assistant: It is booked.",
    ]


def test_while_a_caller_holds_the_key_nothing_bridges_the_wait_for_their_turn() -> None:
    d = Aloud(silence=BUDGET, turns=TurnHandling(detection="manual"))
    d.says("a table on Friday")
    d.tell(UserTurnCommitRequested())
    d.says("for four people")
    d.answer("For whom?")
    d.wait(20)
    assert d.heard == []


def test_late_words_of_a_voice_whose_turn_was_taken_begin_no_new_silence() -> None:
    """The recogniser gives the end of what was said when its beginning is a turn already: nobody was heard since."""
    d = Aloud(silence=BUDGET, turns=TurnHandling(endpointing=Endpointing(0.3, 1.4)))
    d.says("a table", silence=0.7)  # their voice ended at 1.0
    d.tell(Transcribed("for four and", True))
    d.tell(EndOfTurnPredicted(d.last(PredictEndOfTurn).version, 0.1)).wait(3.0)
    assert d.heard[0] == (2.5, "One moment.")


def test_words_without_a_voice_are_heard_when_they_come() -> None:
    d = Aloud(silence=BUDGET)
    d.wait(5.0)
    d.tell(Transcribed("a table", True)).wait(3.0)
    assert d.heard[0] == (6.5, "One moment.")
