"""One wish, one action: which calls are started, by the lines of `core.ledger`."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.core.commands import Generate, RebindRun, RunTool
from antiphon.core.facts import (
    Call,
    ContextChanged,
    Handoff,
    HandOffRequested,
    RunCancelRequested,
    SpeechRequested,
    ToolCalled,
    ToolReturned,
    ToolUpdated,
)
from antiphon.options import ToolPolicy
from tests.core.dialogue import Dialogue

WRITES = ToolPolicy(effect="writes", parallel=False)
UNSAID = ToolPolicy()


def calls(d: Dialogue, *arguments: str, policy: ToolPolicy = WRITES, **call: Any) -> list[str]:
    """The latest generation makes one response of calls of `book`. Returns the arguments of those that were started."""
    gen = d.last(Generate)
    before = len(d.all(RunTool))
    for text in arguments:
        made = Call(f"{gen.gen}.{len(d.commands)}", "book", text, text, **call)
        d.tell(ToolCalled(gen.gen, made, policy))
    d.model("")
    return [run.call.arguments for run in d.all(RunTool)[before:]]


def asked(*arguments: str, policy: ToolPolicy = WRITES, **call: Any) -> Dialogue:
    d = Dialogue()
    d.types("book it")
    calls(d, *arguments, policy=policy, **call)
    return d


def told(*arguments: str, policy: ToolPolicy = WRITES) -> Dialogue:
    """A call was made, and the caller has heard what came of it."""
    d = asked(*arguments or ("1",), policy=policy)
    d.returns("number 4711")
    d.model("It is number 4711.")
    return d.played()


def output(d: Dialogue) -> str:
    """What the model reads as the output of its latest call."""
    return next(line for line in reversed(d.lines) if line.startswith(("output", "error")))


def test_a_write_is_started_once_in_one_response() -> None:
    d = asked("1", "1")
    d.returns("number 4711")
    assert len(d.all(RunTool)) == 1
    assert "was not started again" in output(d) and "number 4711" in output(d)


def test_other_arguments_are_another_wish() -> None:
    d = asked("1", "2")
    d.returns("one")
    assert [run.call.arguments for run in d.all(RunTool)] == ["1", "2"]


def test_two_equal_calls_of_an_unsaid_tool_are_one_run_and_both_have_its_result() -> None:
    d = asked("1", "1", policy=UNSAID)
    assert len(d.all(RunTool)) == 1
    d.returns("sunny")
    assert len(d.all(RunTool)) == 1
    assert [line for line in d.lines if "sunny" in line] == ["output sunny", output(d)]


def test_two_equal_calls_of_an_unsaid_tool_that_reports_nothing_are_one_run() -> None:
    d = asked("1", "1", policy=UNSAID)
    d.returns("", reply=False)
    assert len(d.all(RunTool)) == 1


def test_a_hand_off_that_is_asked_for_twice_in_a_response_is_made_without_a_word() -> None:
    d = asked("1", "1", policy=UNSAID)
    d.tell(ToolReturned(d.last(RunTool).run, "", reply=False, handoff=Handoff("b", "B")))
    assert len(d.all(RunTool)) == 1
    assert len(d.all(Generate)) == 1
    d.types("and now")
    assert d.last(Generate).agent == "b"


def test_a_second_call_has_the_failure_of_the_first_in_its_response() -> None:
    d = asked("1", "1")
    d.tell(ToolReturned(d.last(RunTool).run, "no seats", is_error=True))
    assert len(d.all(RunTool)) == 1
    assert output(d) == "error no seats"
    assert d.lines.count("error no seats") == 2


def test_what_failed_may_be_tried_again_by_a_request_that_knows_it() -> None:
    d = asked("1")
    d.tell(ToolReturned(d.last(RunTool).run, "no seats", is_error=True))
    assert calls(d, "1") == ["1"]


def test_a_write_is_not_done_again_before_the_caller_has_heard_of_it() -> None:
    d = asked("1")
    d.returns("number 4711")
    assert calls(d, "1") == []
    assert "the user has not been told yet" in output(d)


def test_a_write_whose_result_was_cut_off_is_not_done_again() -> None:
    d = asked("1")
    d.returns("number 4711")
    d.model("It is number 4711.")
    d.says("what")
    d.played(heard="It is")
    assert calls(d, "1") == []


def test_the_same_turn_is_the_same_wish_also_after_the_caller_heard_of_it() -> None:
    d = told()
    d.tell(SpeechRequested(d.core.new_id(), "reply"))
    assert calls(d, "1") == []
    assert "the user was told" in output(d)


def test_a_later_turn_is_another_wish() -> None:
    d = told()
    d.types("another one")
    assert calls(d, "1") == ["1"]


def test_once_is_once() -> None:
    d = told(policy=ToolPolicy(effect="writes", parallel=False, repeat="once"))
    d.types("another one")
    assert calls(d, "1", policy=ToolPolicy(effect="writes", parallel=False, repeat="once")) == []
    assert "at most once" in output(d)


def test_one_that_reports_nothing_is_heard_of_at_once() -> None:
    d = asked("5")
    d.returns("", reply=False)
    d.types("again")
    assert calls(d, "5") == ["5"]


def test_a_write_that_works_is_not_started_again_by_another_reply() -> None:
    d = asked("1")
    d.types("is it done?")
    assert calls(d, "1") == []
    assert "already running" in output(d)


def test_a_write_that_may_have_happened_is_never_started_again() -> None:
    d = asked("1")
    d.tell(ToolReturned(d.last(RunTool).run, "who knows", is_error=True, unknown=True))
    d.model("I don't know.")
    d.played()
    d.types("try again")
    assert calls(d, "1") == []
    assert "it is unknown whether it happened" in output(d)


def test_a_write_that_was_cancelled_may_have_happened() -> None:
    d = asked("1")
    d.tell(RunCancelRequested(d.last(RunTool).run))
    d.types("book it after all")
    assert calls(d, "1") == []


def test_what_was_done_with_the_same_arguments_is_told_without_them() -> None:
    d = Dialogue()
    d.types("book it")
    gen = d.last(Generate).gen
    for canonical in ("1", "as a call that was taken up has it"):
        d.tell(ToolCalled(gen, Call(canonical, "book", "1", canonical, identity="it"), WRITES))
    d.model("")
    d.returns("number 4711")
    assert "was not started again" in (said := output(d))
    assert ", not 1" not in said


def test_an_unsaid_tool_without_an_answer_is_called_again_in_the_next_turn_only() -> None:
    d = asked("1", policy=ToolPolicy(timeout=1.0))
    d.wait(1.1)
    assert calls(d, "1", policy=UNSAID) == []
    d.model("No idea.")
    d.played()
    d.types("try again")
    assert calls(d, "1", policy=UNSAID) == ["1"]


def test_a_run_that_lost_its_call_serves_an_equal_one_for_ten_minutes() -> None:
    for minutes, runs in ((9, []), (11, ["1"])):
        d = asked("1", policy=UNSAID)
        d.types("wait")
        d.returns("sunny")
        d.model("Yes?")
        d.played()
        d.wait(60.0 * minutes)
        d.types("the weather")
        assert calls(d, "1", policy=UNSAID) == runs
        assert bool(d.all(RebindRun)) is not bool(runs)


def test_a_caller_who_speaks_while_they_hear_of_it_may_mean_another() -> None:
    d = asked("1")
    d.returns("number 4711")
    d.model("It is number 4711.")
    d.played()
    d.says("and another one")
    assert calls(d, "1") == ["1"]


def test_an_agent_that_cannot_see_what_was_done_does_not_do_it_again() -> None:
    d = asked("1")
    d.returns("number 4711")
    gen = d.last(Generate)
    d.tell(ToolCalled(gen.gen, Call("over", "over", "{}", "{}"), ToolPolicy()))
    d.model("It is number 4711.")
    d.tell(ToolReturned(d.last(RunTool).run, "", reply=False, handoff=Handoff("b", "B")))
    d.played()
    d.types("and book it")
    assert d.last(Generate).agent == "b"
    assert calls(d, "1") == []
    d.model("It was done.")
    d.played()
    d.types("another one")
    assert calls(d, "1") == ["1"]


def test_words_that_make_no_wish_make_no_other_wish() -> None:
    d = Dialogue()
    d.types("book it")
    gen = d.last(Generate)
    for call_id, note in (("a", '{"note":"x"}'), ("b", '{"note":"y"}')):
        d.tell(ToolCalled(gen.gen, Call(call_id, "book", note, note, identity="friday"), WRITES))
    d.model("")
    d.returns("number 4711")
    assert len(d.all(RunTool)) == 1
    assert 'with {"note":"x"}, not {"note":"y"}' in output(d)


def test_tools_of_one_name_are_told_apart_by_where_they_come_from() -> None:
    d = asked("1", origin="alice")
    d.types("for Bob, too")
    assert calls(d, "1", origin="bob") == ["1"]


def test_allow_lets_an_equal_write_run_beside_the_first() -> None:
    policy = ToolPolicy(effect="writes", on_duplicate="allow")
    d = asked("1", "1", policy=policy)
    assert len(d.all(RunTool)) == 2


def test_the_caller_s_word_stands_for_one_more() -> None:
    policy = ToolPolicy(effect="writes", on_duplicate="confirm")
    d = asked("1", policy=policy)
    d.types("another one, I am sure")
    assert calls(d, "1", "1", policy=policy, confirmed=True) == ["1"]


@pytest.mark.parametrize("mode", ["reject", "confirm"])
def test_a_run_that_a_refusal_names_is_kept_and_told(mode: Any) -> None:
    policy = ToolPolicy(on_duplicate=mode)
    d = asked("pizza", policy=policy)
    d.types("no, pasta")
    assert calls(d, "pasta", policy=policy) == []
    d.model("Pizza is on its way.")
    d.played()
    d.tell(ToolReturned(d.all(RunTool)[0].run, "ordered pizza"))
    assert "output ordered pizza" in d.lines


def test_an_update_does_not_settle_what_is_still_done() -> None:
    d = asked("1")
    d.tell(ToolUpdated(d.last(RunTool).run, "working on it"))
    d.model("I am on it.")
    d.played()
    d.types("book it")
    assert calls(d, "1") == []
    assert "already running" in output(d)


def test_a_run_of_long_ago_does_not_hide_one_that_works() -> None:
    d = asked("1", policy=UNSAID)
    d.types("wait")
    d.returns("sunny")
    d.model("Yes?")
    d.played()
    d.wait(660.0)
    d.types("the weather")
    calls(d, "1", policy=UNSAID)
    d.types("wait again")
    d.model("Yes?")
    d.played()
    d.types("the weather, please")
    assert calls(d, "1", policy=UNSAID) == []
    assert d.all(RebindRun)


def in_doubt() -> Dialogue:
    """A write took too long, and the caller was told that nobody knows whether it happened."""
    d = Dialogue()
    d.types("book it")
    calls(d, "1", policy=ToolPolicy(effect="writes", parallel=False, timeout=5.0))
    d.wait(5.1)
    d.model("I don't know whether it was booked.")
    return d.played()


def test_what_a_write_came_to_after_its_time_is_told_as_a_correction() -> None:
    d = in_doubt()
    d.returns("number 4711")
    assert output(d) == "output It is known now what came of `book`: it happened. number 4711"
    assert d.last(Generate).unheard == (f"{d.last(RunTool).call.call_id}/late",)
    d.model("It was booked after all: number 4711.")
    d.played()
    d.types("another one")
    assert calls(d, "1") == ["1"]


def test_a_write_that_failed_after_its_time_may_be_made_again() -> None:
    d = in_doubt()
    d.tell(ToolReturned(d.last(RunTool).run, "no seats", is_error=True))
    assert calls(d, "1") == ["1"]


def test_until_the_correction_was_heard_a_write_is_not_done_again() -> None:
    d = in_doubt()
    d.returns("number 4711")
    d.model("It was booked after all.")
    d.says("another one")
    d.played(heard="It")
    assert calls(d, "1") == []
    assert "it happened" not in output(d) and "number 4711" in output(d)


def test_a_correction_that_comes_before_the_doubt_was_told_is_not_taken_for_told() -> None:
    d = Dialogue()
    d.types("book it")
    calls(d, "1", policy=ToolPolicy(effect="writes", parallel=False, timeout=5.0))
    d.wait(5.1)
    d.returns("number 4711")
    d.model("I don't know whether it was booked.")  # its request knew of the doubt alone
    d.played()
    assert d.last(Generate).unheard == (f"{d.last(RunTool).call.call_id}/late",)


def test_what_was_stopped_and_cannot_say_what_it_did_tells_nothing_new() -> None:
    d = in_doubt()
    asked = len(d.all(Generate))
    d.tell(ToolReturned(d.last(RunTool).run, "The call was cancelled.", is_error=True, unknown=True))
    d.returns("number 4711")
    assert len(d.all(Generate)) == asked


def test_a_settled_row_stays_as_it_is() -> None:
    d = told()
    asked = len(d.all(Generate))
    d.tell(ToolReturned(d.last(RunTool).run, "no seats", is_error=True))
    assert len(d.all(Generate)) == asked
    d.types("once more")
    assert calls(d, "1") == ["1"]


def test_what_a_write_that_was_cancelled_came_to_is_told() -> None:
    d = asked("1")
    run = d.last(RunTool).run
    d.tell(RunCancelRequested(run), ToolReturned(run, "number 4711"))
    assert "it happened. number 4711" in output(d)


def test_what_the_background_came_to_after_its_time_is_told() -> None:
    d = asked("1", policy=ToolPolicy(effect="writes", parallel=False, background_timeout=5.0))
    d.tell(ToolUpdated(d.last(RunTool).run, "on it"))
    d.model("On it.")
    d.played()
    d.wait(5.1)
    d.model("I don't know whether it was booked.")
    d.played()
    d.returns("number 4711")
    assert "it happened. number 4711" in output(d)
    assert d.last(Generate).unheard == (f"{d.last(RunTool).call.call_id}/late",)


def test_an_agent_that_was_made_to_forget_what_was_done_does_not_do_it_again_unasked() -> None:
    d = told()
    d.tell(ContextChanged("a", forgets=(d.last(RunTool).call.call_id,)))
    d.types("another one")
    assert calls(d, "1") == []
    assert "number 4711 (the user was told)" in output(d)
    d.model("It is done already. Another one?")
    d.played()
    d.types("yes")
    assert calls(d, "1") == ["1"]


def test_an_agent_that_was_given_what_was_done_knows_a_new_wish() -> None:
    d = told()
    call_id = d.last(RunTool).call.call_id
    d.tell(ContextChanged("b", learns=(call_id,)), HandOffRequested("b"))
    d.types("another one")
    assert d.last(Generate).agent == "b"
    assert calls(d, "1") == ["1"]
