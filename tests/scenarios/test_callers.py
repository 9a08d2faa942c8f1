"""What callers do: they answer what they are asked, speak over the agent at the word, hum, press keys, wait, leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.scenarios import simulate
from tests.scenarios.desk import AGENT, agent_file, called, said, scenarios_file

BYE = "That is all, thank you. Goodbye."


def test_a_caller_answers_a_question_and_then_goes_on_with_their_wishes(tmp_path: Path) -> None:
    made = called(
        tmp_path,
        "{wishes: [I want to book, Is Friday free], knows: {whose name: Ann Lee}}",
        expect="{calls: [book, look_up], state: {booked: Friday}, says: 'booked for friday', ended_by: caller}",
    )
    assert made.failures == ()
    assert said(made, "user") == ["I want to book", "Ann Lee", "Is Friday free", BYE]


def test_one_who_does_not_know_says_so_and_gives_up_in_the_end(tmp_path: Path) -> None:
    made = called(tmp_path, "{wishes: [{say: I want to book, until: booked}], otherwise: I want to book}")
    assert said(made, "user") == ["I want to book"] * 4
    assert made.failures[0].startswith("the caller gave up: 'booked' was not heard after 'I want to book'")


def test_answers_come_one_after_the_other_and_the_last_one_stays(tmp_path: Path) -> None:
    made = called(
        tmp_path, "{wishes: [Hello], knows: {what can i do: [{one_of: [Is it free]}, I want to book], whose name: Ann}}"
    )
    assert said(made, "user")[:2] == ["Hello", "Is it free"]


@pytest.mark.parametrize("after", [0.0, 0.5, 1.0])
def test_a_caller_speaks_over_the_agent_at_the_word_they_wait_for(after: float, tmp_path: Path) -> None:
    made = called(
        tmp_path,
        f"{{wishes: [A long one], moments: [{{hears: quite a while, after: {after}, say: Is it free}}]}}",
        expect="{calls: look_up}",
    )
    assert made.failures == ()
    cut = next(turn for turn in made.turns if turn["interrupted"])
    assert "quite a while" in cut["text"]
    assert "spoken over" not in cut["text"]


def test_a_hum_in_passing_cuts_nobody(tmp_path: Path) -> None:
    made = called(tmp_path, "{wishes: [A long one], moments: [{reply: 1, after: 2, hum: uh-huh}]}")
    assert made.failures == ()
    assert not any(turn["interrupted"] for turn in made.turns)
    assert said(made, "user") == ["A long one", BYE]


def test_keys_reach_the_agent(tmp_path: Path) -> None:
    made = called(tmp_path, "{wishes: [Hello, {keys: '12#'}], patience: 3}", expect="{state: {keys: '12#'}}")
    assert not any(failure.startswith("state") for failure in made.failures)


def test_a_caller_who_hangs_up_in_the_middle_has_ended_the_call(tmp_path: Path) -> None:
    made = called(
        tmp_path,
        "{wishes: [A long one], moments: [{hears: rather, hang_up: true}]}",
        expect="{ended_by: caller, never_says: spoken over, max_duration: 6}",
    )
    assert made.failures == ()


def test_an_agent_that_ends_the_call_has_ended_it(tmp_path: Path) -> None:
    assert called(tmp_path, "{wishes: [Please end it]}", expect="{ended_by: agent}").failures == ()
    made = called(tmp_path, "{wishes: [Please end it]}", expect="{ended_by: caller}")
    assert made.failures == ("expected the caller to end the call, got the agent",)


def test_something_happens_while_a_tool_runs(tmp_path: Path) -> None:
    made = called(
        tmp_path,
        "{wishes: [Is it free], moments: [{tool: look_up, after: 0.5, say: A long one please}]}",
        more="tools: {look_up: {returns: nothing, delay: 5}}",
    )
    assert said(made, "user")[:2] == ["Is it free", "A long one please"]
    assert made.calls[0]["status"] in ("cancelled", "dropped")


def test_a_caller_in_text_decides_in_the_same_way(tmp_path: Path) -> None:
    caller = "{wishes: [I want to book], knows: {whose name: Ann}}"
    made = called(tmp_path, caller, expect="{calls: book, says: booked for friday}", medium="text")
    assert made.failures == ()
    assert said(made, "user") == ["I want to book", "Ann", BYE]


def test_a_pause_in_a_sentence_does_not_end_it(tmp_path: Path) -> None:
    made = called(tmp_path, "{wishes: ['Is Friday ... at four ... free']}", expect="{calls: look_up}")
    assert made.failures == ()


# -- calls that do not go well


def test_an_agent_that_never_answers_is_told_of_in_the_callers_words(tmp_path: Path) -> None:
    made = called(tmp_path, "{wishes: [Please hang]}")
    assert made.failures[0].startswith("the caller gave up: said 'Please hang' 4 times, and heard ")


def test_a_line_on_which_nobody_speaks_is_left(tmp_path: Path) -> None:
    file = agent_file(tmp_path, text=AGENT.replace("tokens_per_second=1e6)", "), turn_detection='manual'"))
    scenarios = scenarios_file(tmp_path, "{name: a, caller: {wishes: [Hello], patience: 3}}")
    made = simulate(file, [scenarios]).results[0].runs[0]
    assert said(made, "user") == ["Hello Hello? Are you still there?"]
    assert made.failures[0].startswith("the caller gave up: nobody answered 'Hello? Are you still there?': nothing was")


def test_a_script_that_can_never_end_ends_after_its_minutes(tmp_path: Path) -> None:
    made = called(
        tmp_path,
        "{wishes: [{say: Hello, until: never said}], knows: {what can i do: Hello}}",
        more="minutes: 0.2",
    )
    assert made.failures[0].startswith("not over after 0.2 virtual minutes (minutes): the caller said 'Hello' last")
    assert made.duration == pytest.approx(12.0, abs=0.5)


def test_a_question_that_is_asked_over_and_over_ends_the_callers_patience(tmp_path: Path) -> None:
    made = called(tmp_path, "{wishes: [{say: Hello, until: never said}], knows: {what can i do: Hello}}")
    assert made.failures[0].startswith("the caller gave up: asked for 'what can i do' more than 6 times")


def test_a_tool_that_hangs_does_not_hang_the_call(tmp_path: Path) -> None:
    made = called(
        tmp_path,
        "{wishes: [Is it free], patience: 5}",
        expect="{max_dead_air: 2}",
        more="tools: {look_up: {hangs: true}}",
    )
    assert made.duration < 120
    assert made.calls[0]["status"] != "done"
