"""A write and its inverse: what was done is undone once, and may then be done again."""

from __future__ import annotations

import json
from typing import Any

from antiphon.core.commands import Generate, RunTool
from antiphon.core.facts import Call, SpeechRequested, ToolCalled, ToolReturned
from antiphon.options import ToolPolicy
from tests.core.dialogue import Dialogue

BOOK = ToolPolicy(effect="writes", parallel=False, undo="cancel")
ONCE = ToolPolicy(effect="writes", parallel=False, undo="cancel", repeat="once")
CANCEL = ToolPolicy(effect="writes", parallel=False)


def call(d: Dialogue, name: str, policy: ToolPolicy, **arguments: Any) -> RunTool | None:
    """The latest generation makes one call. Returns its run, if it was started."""
    gen, before, text = d.last(Generate), len(d.all(RunTool)), json.dumps(arguments)
    d.tell(ToolCalled(gen.gen, Call(f"c{len(d.commands)}", name, text, text), policy))
    d.model("")
    return d.last(RunTool) if len(d.all(RunTool)) > before else None


def told(d: Dialogue, output: str, *, is_error: bool = False) -> None:
    """The tool returns, and the caller hears of it."""
    d.tell(ToolReturned(d.last(RunTool).run, output, is_error=is_error))
    d.model("That is done.")
    d.played()


def booked(*days: str, policy: ToolPolicy = BOOK) -> Dialogue:
    """One booking a turn, numbered from 1 on."""
    d = Dialogue()
    for number, day in enumerate(days, 1):
        d.types(f"book {day}")
        assert call(d, "book", policy, day=day) is not None
        told(d, f"Booked, number {number}.")
    d.types("cancel it")
    return d


def output(d: Dialogue) -> str:
    return next(line for line in reversed(d.lines) if line.startswith(("output", "error")))


def test_what_undoes_a_write_knows_which_start_it_takes_back() -> None:
    d = booked("fri")
    booking = d.last(RunTool)
    undo = call(d, "cancel", CANCEL, day="fri")
    assert undo is not None and undo.undoes is not None
    assert (undo.undoes.call, undo.undoes.number) == (booking.call, booking.number)


def test_what_was_undone_is_not_undone_again_in_a_later_turn_either() -> None:
    d = booked("fri")
    call(d, "cancel", CANCEL, number=1)
    told(d, "Cancelled.")
    d.types("and cancel it, please")
    assert call(d, "cancel", CANCEL, number=1) is None
    assert "was not started again" in output(d)


def test_what_was_done_again_may_be_undone_again() -> None:
    d = booked("fri")
    call(d, "cancel", CANCEL, day="fri")
    told(d, "Cancelled.")
    d.types("book it again")
    assert call(d, "book", BOOK, day="fri") is not None
    told(d, "Booked, number 2.")
    d.types("no, cancel")
    undo = call(d, "cancel", CANCEL, day="fri")
    assert undo is not None and undo.undoes is not None and undo.undoes.number == 2


def test_of_two_starts_the_arguments_say_which_one_is_undone() -> None:
    d = booked("fri", "sat")
    undo = call(d, "cancel", CANCEL, number=1)
    assert undo is not None and undo.undoes is not None
    assert json.loads(undo.undoes.call.arguments) == {"day": "fri"}
    told(d, "Cancelled.")
    d.types("Friday, I said")
    assert call(d, "cancel", CANCEL, number=1) is None
    d.tell(SpeechRequested(d.core.new_id(), "reply"))
    d.types("and Saturday")
    assert call(d, "cancel", CANCEL, number=2) is not None


def test_two_equal_starts_are_undone_one_after_the_other_the_latest_first() -> None:
    d = booked("fri", "fri")
    first = call(d, "cancel", CANCEL, day="fri")
    told(d, "Cancelled.")
    d.types("the other one, too")
    second = call(d, "cancel", CANCEL, day="fri")
    assert first is not None and first.undoes is not None and first.undoes.number == 2
    assert second is not None and second.undoes is not None and second.undoes.number == 1
    told(d, "Cancelled.")
    d.types("cancel")
    assert call(d, "cancel", CANCEL, day="fri") is None


def test_what_could_not_be_undone_may_be_tried_again() -> None:
    d = booked("fri")
    call(d, "cancel", CANCEL, day="fri")
    told(d, "The desk is closed.", is_error=True)
    d.types("try again")
    undo = call(d, "cancel", CANCEL, day="fri")
    assert undo is not None and undo.undoes is not None


def test_a_call_that_undoes_nothing_of_this_call_is_like_any_other() -> None:
    d = booked("fri")
    undo = call(d, "cancel", CANCEL, number=99)
    assert undo is not None and undo.undoes is None


def test_what_was_undone_may_be_done_again_in_the_same_turn() -> None:
    d = booked("fri", policy=ONCE)
    call(d, "cancel", CANCEL, day="fri")
    d.tell(ToolReturned(d.last(RunTool).run, "Cancelled."))
    assert call(d, "book", ONCE, day="fri") is not None


def test_what_was_done_once_and_not_undone_is_not_done_again() -> None:
    d = booked("fri", policy=ONCE)
    assert call(d, "book", ONCE, day="fri") is None


def test_who_did_not_know_that_it_was_undone_does_not_do_it_again() -> None:
    d = booked("fri", policy=ONCE)
    gen, text = d.last(Generate), json.dumps({"day": "fri"})
    d.tell(ToolCalled(gen.gen, Call("both1", "cancel", text, text), CANCEL))
    d.tell(ToolCalled(gen.gen, Call("both2", "book", text, text), ONCE))
    d.model("")
    d.tell(ToolReturned(d.last(RunTool).run, "Cancelled."))
    assert d.last(RunTool).call.name == "cancel"
    assert "undone since" in output(d)
