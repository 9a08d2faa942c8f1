"""A caller who falls silent: asked, asked again, and then the call ends; and what neither starts nor stops that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon.core.commands import Close, Generate, RunTool, Speak
from antiphon.core.facts import (
    AgentTaskStarted,
    Call,
    EndRequested,
    RunSuspended,
    SoundReady,
    SpeechRequested,
    StepGenerated,
    ToolCalled,
    ToolReturned,
    ToolUpdated,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
)
from antiphon.core.notices import UserStateChanged
from antiphon.options import AwayLadder, ConsentOptions, SilenceBudget, ToolPolicy, TurnHandling
from tests.core.aloud import WORD, Aloud

LADDER = AwayLadder("Still there?", "Please say something.", "Goodbye then.", 5.0, 4.0, 3.0)
LINES = ["Still there?", "Please say something.", "Goodbye then."]


def waiting(**options: Any) -> Aloud:
    """The caller was answered, at 2.15 in the end, and says nothing more."""
    options.setdefault("away_ladder", LADDER)
    d = Aloud(**options)
    d.says("hello")
    d.answer("Hello there.")
    return d


def said(d: Aloud) -> list[str]:
    return [text for _, text in d.heard if text != "Hello there."]


def test_a_caller_who_falls_silent_is_asked_asked_again_and_then_the_call_ends() -> None:
    d = waiting()
    d.wait(60.0)
    assert said(d) == LINES
    begun = [at for at, _ in d.heard]
    ended = [at + WORD * len(text.split()) for at, text in d.heard]
    gaps = [round(at - before, 1) for at, before in zip(begun[1:], ended[:-1], strict=True)]
    assert gaps == [5.1, 4.1, 3.1]  # 0.1 s for the voice
    assert [close.reason for close in d.all(Close)] == ["user_away"]
    assert d.now - 60.0 + ended[-1] + 2.0 < 25.0
    assert d.lines[2:] == [f"assistant: {line}" for line in LINES]


def test_nobody_is_asked_unless_the_session_wants_it() -> None:
    d = waiting(away_ladder=None)
    d.wait(120.0)
    assert said(d) == [] and not d.closed


@pytest.mark.parametrize("rung", [1, 2])
@pytest.mark.parametrize("words", ["yes", "uh-huh", "I am looking for my card"])
def test_words_begin_it_anew_at_any_step_and_are_answered(rung: int, words: str) -> None:
    d = waiting()
    while len(said(d)) < rung:
        d.wait(0.1)
    d.wait(1.5)
    d.says(words)
    d.answer("Good.")
    d.wait(4.0)
    assert said(d) == [*LINES[:rung], "Good."]
    d.wait(3.0)
    assert said(d)[rung + 1 :] == LINES[:1]
    assert f"user: {words}" in d.lines


@pytest.mark.parametrize("rung", [1, 2, 3])
def test_a_word_over_the_line_cuts_it_and_is_an_answer(rung: int) -> None:
    d = waiting()
    while len(said(d)) < rung:
        d.wait(0.1)
    requests = len(d.all(Generate))
    d.tell(UserSpeechStarted()).wait(0.2)
    d.tell(Transcribed("yeah", True)).wait(0.1)
    d.tell(UserSpeechEnded()).wait(2.0)
    assert len(d.all(Generate)) == requests + 1
    d.answer("Good.")
    d.wait(4.0)
    assert said(d)[-1] == "Good." and not d.closed


def test_a_farewell_over_the_goodbye_ends_the_call() -> None:
    d = waiting()
    while len(said(d)) < 3:
        d.wait(0.1)
    d.tell(UserSpeechStarted()).wait(0.2)
    d.tell(Transcribed("bye bye", True), UserSpeechEnded()).wait(5.0)
    assert d.closed and len(d.all(Generate)) == 1


def cough(d: Aloud, seconds: float) -> None:
    d.tell(UserSpeechStarted()).wait(seconds)
    d.tell(UserSpeechEnded())


@pytest.mark.parametrize("seconds", [0.3, 1.0, 2.5])
def test_noises_neither_put_it_off_nor_stop_it(seconds: float) -> None:
    d = waiting()
    d.wait(1.0)
    while d.now < 60.0 and not d.closed:
        cough(d, seconds)
        d.wait(3.0)
    assert [line for line in said(d) if line in LINES] == LINES
    assert d.closed and d.now < 40.0


def test_a_noise_without_end_does_not_stop_it() -> None:
    d = waiting()
    d.wait(1.0)
    d.tell(UserSpeechStarted()).wait(60.0)
    assert said(d) == LINES and d.closed


def test_a_voice_that_has_just_begun_is_not_spoken_over() -> None:
    d = waiting()
    d.wait(5.0)
    d.tell(UserSpeechStarted()).wait(2.0)
    assert said(d) == []
    d.tell(Transcribed("I have it here", True), UserSpeechEnded()).wait(0.5)
    assert d.all(Generate)[-1] is not d.all(Generate)[0] and said(d) == []


def works(d: Aloud) -> None:
    d.says("book it")
    d.answer("", "work")


def works_behind(d: Aloud) -> None:
    works(d)
    d.tell(ToolUpdated(d.last(RunTool).run, "started"))
    d.answer("I have started.")


def thinks(d: Aloud) -> None:
    d.says("book it")


def is_judged(d: Aloud) -> None:
    d.answers_hooks = False
    d.says("book it")


@pytest.mark.parametrize("begin", [works, works_behind, thinks, is_judged])
def test_nobody_is_asked_while_something_is_owed(begin: Callable[[Aloud], None]) -> None:
    d = waiting(hook_timeout=60.0, generation_timeout=60.0, silence=SilenceBudget(max_silence=100.0))
    d.wait(1.0)
    begin(d)
    d.wait(20.0)
    assert not set(said(d)) & set(LINES)


def test_a_tool_that_waits_for_the_caller_owes_them_nothing() -> None:
    d = waiting()
    works(d)
    run = d.last(RunTool).run
    d.tell(RunSuspended(run), AgentTaskStarted(9, "b", run)).wait(60.0)
    assert said(d) == LINES and d.closed


def test_the_goodbye_of_the_agent_ends_the_call_and_not_the_ladder() -> None:
    d = waiting()
    d.wait(1.0)
    d.tell(EndRequested(d.last(Generate).speech, linger=30.0)).wait(60.0)
    assert said(d) == []
    assert [close.reason for close in d.all(Close)] == ["user_initiated"]


def test_no_filler_bridges_the_line_that_asks() -> None:
    d = waiting(silence=SilenceBudget(max_silence=0.5))
    d.wait(6.5)
    speak = d.last(Speak)
    assert speak.text == LINES[0]
    slow = Aloud(away_ladder=LADDER, silence=SilenceBudget(max_silence=0.05, prepare=0.01))
    slow.wait(30.0)
    assert said(slow) == LINES


def test_the_caller_counts_as_away_from_the_first_question_to_their_first_word() -> None:
    d = waiting(user_away_timeout=None)
    d.wait(30.0)
    states = [notice.state for notice in d.all(UserStateChanged)]
    assert states[-1] == "away" and states.count("away") == 1

    d = waiting(user_away_timeout=15.0)
    d.wait(8.0)
    d.says("yes")
    states = [notice.state for notice in d.all(UserStateChanged)]
    assert states[-3:] == ["away", "speaking", "listening"]


def test_a_line_that_is_empty_is_not_said_and_its_time_passes() -> None:
    d = waiting(away_ladder=AwayLadder("", "", "", 5.0, 4.0, 3.0))
    d.wait(12.5)
    assert not d.closed
    d.wait(2.5)
    assert said(d) == [] and d.closed


def test_what_else_is_said_to_the_caller_begins_the_time_anew() -> None:
    d = waiting()
    d.wait(4.0)
    d.say()
    d.voice("Music follows.")
    d.tell(SoundReady(d.last(Speak).segment)).wait(5.0)
    assert LINES[0] not in said(d)
    d.wait(1.0)
    assert LINES[0] in said(d)


def test_words_that_nobody_committed_and_a_typed_turn_passed_by_are_no_sign_of_life() -> None:
    d = Aloud(away_ladder=LADDER, turns=TurnHandling(detection="manual"))
    d.says("a table please")
    d.types("for four people")
    d.answer("Hello there.")
    d.wait(60.0)
    assert said(d) == LINES
    assert [close.reason for close in d.all(Close)] == ["user_away"]


def test_a_reply_to_what_is_read_back_begins_it_anew() -> None:
    """Such a turn is decided on at once: no hook has it before it."""
    d = waiting(consent=ConsentOptions(timeout=None))
    while not said(d):
        d.wait(0.1)
    d.wait(1.5)
    d.tell(SpeechRequested(d.core.new_id(), "reply"))
    books = ToolPolicy(effect="writes", parallel=False, confirm=True)
    call = Call("c9", "book", "{}", "{}", read_back="Book Friday.", spoken=("Friday",))
    gen = d.last(Generate).gen
    d.tell(ToolCalled(gen, call, books), StepGenerated(gen, "")).wait(3.0)
    assert d.heard[-1][1].startswith("Book Friday.")
    d.wait(1.0)
    d.types("no")
    d.answer("All right.")
    d.wait(4.5)
    assert d.last(UserStateChanged).state != "away"
    d.wait(1.5)
    assert said(d)[-1] == LINES[0]


def test_what_the_agent_below_owes_waits_for_the_task_and_the_task_for_the_caller() -> None:
    d = waiting()
    works_behind(d)
    run = d.last(RunTool).run
    d.wait(1.0)
    d.tell(AgentTaskStarted(9, "b"), ToolReturned(run, "booked")).wait(60.0)
    assert said(d)[-3:] == LINES and d.closed
