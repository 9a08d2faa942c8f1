"""A call goes on in another process: what its tools did counts there, and is told if it was not."""

from __future__ import annotations

import pytest

from antiphon.core.commands import Generate, RunTool
from antiphon.core.facts import Call, CallResumed, CutCall, KeptWrite, OutcomeFound, ToolReturned, WriteOutcome
from antiphon.core.notices import WriteTold
from antiphon.options import ToolPolicy
from tests.core.dialogue import Dialogue
from tests.core.test_ledger import WRITES, calls, output


def kept(
    outcome: WriteOutcome = "succeeded", output: str = "number 4711", *, told: bool = False, recorded: bool = False
) -> KeptWrite:
    return KeptWrite(1001, Call("old", "book", "1", "1"), WRITES, outcome, output, 3, told, recorded)


def resumed(*writes: KeptWrite) -> Dialogue:
    return Dialogue().tell(CallResumed(writes))


def test_what_was_done_and_not_heard_is_told() -> None:
    d = resumed(kept())
    assert d.lines == ["call book old/resumed", "output number 4711"]
    assert d.last(Generate).unheard == ("old/resumed",)
    d.model("It went through: number 4711.")
    d.played()
    assert [notice.run for notice in d.all(WriteTold)] == [1001]
    d.wait(60.0)
    assert len(d.all(Generate)) == 1


def test_what_stands_in_the_history_is_told_without_a_second_pair() -> None:
    d = resumed(kept(recorded=True))
    assert d.lines == []
    assert d.last(Generate).unheard == ("old",)


def test_what_was_heard_is_not_told_again() -> None:
    d = resumed(kept(told=True, recorded=True))
    assert d.all(Generate) == []


@pytest.mark.parametrize("outcome", ["succeeded", "unknown"])
def test_an_equal_call_is_not_started_for_what_was_not_heard(outcome: WriteOutcome) -> None:
    d = resumed(kept(outcome))
    d.model("It went through.")
    assert calls(d.types("book it"), "1") == []


def test_after_the_caller_has_heard_of_it_a_new_turn_is_a_new_wish_with_a_new_key() -> None:
    d = resumed(kept(told=True, recorded=True))
    assert calls(d.types("another one"), "1") == ["1"]
    assert d.last(RunTool).number == 4


def test_nobody_knows_what_became_of_it_blocks_equal_calls_and_others_run() -> None:
    d = resumed(kept("unknown", "It is unknown whether it happened.", told=True, recorded=True))
    assert calls(d.types("book it again"), "1") == []
    assert "unknown" in output(d)
    assert calls(d.types("then the other"), "2") == ["2"]


def test_what_failed_may_be_tried_again() -> None:
    d = resumed(kept("failed", "no seats", told=True, recorded=True))
    assert calls(d.types("try again"), "1") == ["1"]


def test_the_caller_who_speaks_at_once_is_answered_together_with_what_was_done() -> None:
    d = resumed(kept())
    d.says("did it go through?")
    assert d.last(Generate).unheard == ("old/resumed",)
    d.model("Yes, number 4711.")
    d.played()
    d.model("")  # asked whether there is more to tell
    assert len(d.all(WriteTold)) == 1


def test_several_starts_are_told_in_one_reply() -> None:
    other = KeptWrite(1002, Call("old2", "pay", "2", "2"), WRITES, "unknown", "unknown whether", 1, False, False)
    d = resumed(kept(), other)
    assert d.last(Generate).unheard == ("old/resumed", "old2/resumed")
    d.model("Booked. I don't know about the payment.")
    d.played()
    assert len(d.all(WriteTold)) == 2


def test_a_call_that_is_over_takes_no_more() -> None:
    d = resumed()
    assert d.all(Generate) == []
    d.tell(ToolReturned(1001, "late"))
    assert d.lines == []


@pytest.mark.parametrize("told", [True, False])
def test_what_somebody_finds_out_of_it_later_is_told_and_then_it_may_be_done_with_the_same_key(told: bool) -> None:
    d = resumed(kept("unknown", "It is unknown whether it happened.", told=told, recorded=told))
    d.tell(OutcomeFound(1001, False, ""))
    assert d.lines[-2] == "call book old/late"
    assert "it did not happen" in d.lines[-1]
    d.model("It was not booked.")
    d.played()
    assert d.all(WriteTold)[-1].run == 1001
    assert calls(d.types("then book it"), "1") == ["1"]
    assert d.last(RunTool).number == 3


def test_what_is_found_out_twice_is_told_once() -> None:
    d = resumed(kept("unknown", "It is unknown whether it happened.", told=True, recorded=True))
    d.tell(OutcomeFound(1001, True, "number 4711")).tell(OutcomeFound(1001, False, ""))
    assert [line for line in d.lines if "late" in line] == ["call book old/late"]
    assert "it happened. number 4711" in d.lines[-1]


def test_the_line_comes_behind_what_was_heard_of_a_cut_reply_and_before_what_was_done() -> None:
    d = Dialogue().tell(CallResumed((kept(),), said="We are open", line="We were cut off."))
    d.voice("We were cut off.")
    d.played()
    d.model("It went through: number 4711.")
    d.played()
    assert d.lines == [
        "assistant: We are open~",
        "call book old/resumed",
        "output number 4711",
        "assistant: We were cut off.",
        "assistant: It went through: number 4711.",
    ]


def test_a_call_that_does_not_write_is_settled_and_its_agent_goes_on() -> None:
    cut = CutCall(Call("look1/late", "look", "1", "1"), ToolPolicy(effect="reads"))
    d = Dialogue().tell(CallResumed((), (cut,)))
    assert d.lines[0] == "call look look1/late" and "Call it again" in output(d)
    assert d.last(Generate).unheard == ("look1/late",)
    assert d.last(Generate).tools
