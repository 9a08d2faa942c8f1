"""The table of effects, row by row, as the core keeps it (`docs/tools.md`)."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.core.commands import CancelTool, Close, Generate, RunTool
from antiphon.core.facts import Call, CloseRequested, RunCancelRequested, ToolCalled, ToolReturned
from antiphon.options import Effect, ToolPolicy
from tests.core.dialogue import Dialogue

WRITING: tuple[Effect, ...] = ("writes", "irreversible")
ALL: tuple[Effect, ...] = ("reads", "unsaid", *WRITING)


def policy(effect: Effect, **more: Any) -> ToolPolicy:
    return ToolPolicy(effect=effect, parallel=effect not in WRITING, **more)


def calls(d: Dialogue, *effects: Effect, arguments: str = "1", **more: Any) -> list[str]:
    """The latest generation makes one response of a call of each. Returns the ids of those that were started."""
    gen, before = d.last(Generate), len(d.all(RunTool))
    for number, effect in enumerate(effects):
        call = Call(f"c{len(d.commands)}.{number}", f"tool_{effect}", arguments, arguments)
        d.tell(ToolCalled(gen.gen, call, policy(effect, **more)))
    d.model("")
    return [run.call.name for run in d.all(RunTool)[before:]]


def running(effect: Effect, **more: Any) -> Dialogue:
    d = Dialogue()
    d.types("go")
    assert calls(d, effect, **more) == [f"tool_{effect}"]
    return d


def output(d: Dialogue) -> str:
    return next(line for line in reversed(d.lines) if line.startswith(("output", "error")))


@pytest.mark.parametrize(
    ("effect", "again"), [("reads", True), ("unsaid", True), ("writes", False), ("irreversible", False)]
)
def test_an_equal_call_before_the_caller_heard_of_the_first(effect: Effect, again: bool) -> None:
    d = running(effect)
    d.returns("done")
    assert (calls(d, effect) != []) is again


@pytest.mark.parametrize(
    ("effect", "again"), [("reads", True), ("unsaid", False), ("writes", False), ("irreversible", False)]
)
def test_an_equal_call_after_the_time_limit_in_that_turn(effect: Effect, again: bool) -> None:
    d = running(effect, timeout=5.0)
    d.wait(6)
    assert ("unknown whether" in output(d)) is not again
    assert (calls(d, effect) != []) is again


@pytest.mark.parametrize(
    ("effect", "again"), [("reads", True), ("unsaid", True), ("writes", False), ("irreversible", False)]
)
def test_an_equal_call_after_the_time_limit_in_a_later_turn(effect: Effect, again: bool) -> None:
    d = running(effect, timeout=5.0)
    d.wait(6)
    d.model("I do not know.")
    d.played()
    d.types("again")
    assert (calls(d, effect) != []) is again


@pytest.mark.parametrize("effect", ALL)
def test_what_is_known_to_have_failed_may_be_called_again(effect: Effect) -> None:
    d = running(effect)
    d.tell(ToolReturned(d.last(RunTool).run, "no seats", is_error=True))
    assert calls(d, effect) == [f"tool_{effect}"]


@pytest.mark.parametrize(("effect", "again"), [("reads", True), ("writes", False), ("irreversible", False)])
def test_what_was_cancelled_in_the_middle(effect: Effect, again: bool) -> None:
    d = running(effect)
    d.tell(RunCancelRequested(d.last(RunTool).run))
    d.types("again")
    assert (calls(d, effect) != []) is again


@pytest.mark.parametrize("effect", ALL)
def test_the_end_of_a_call_cuts_off_no_write(effect: Effect) -> None:
    d = running(effect)
    d.tell(CloseRequested(hung_up=True))
    d.wait(2)
    assert bool(d.all(CancelTool)) is (effect not in WRITING)


@pytest.mark.parametrize("effect", WRITING)
def test_what_nobody_was_told_of_is_known_at_the_end(effect: Effect) -> None:
    d = running(effect)
    d.tell(CloseRequested(hung_up=True))
    d.returns("number 4711")
    d.wait(40)
    assert [one.output for one in d.last(Close).unheard] == ["number 4711"]


@pytest.mark.parametrize(
    ("effects", "at_once"),
    [
        (("reads", "reads"), 2),
        (("unsaid", "reads"), 2),
        (("reads", "writes"), 1),
        (("writes", "reads"), 1),
        (("reads", "irreversible"), 1),
        (("irreversible", "reads"), 1),
        (("unsaid", "irreversible", "unsaid"), 1),
    ],
)
def test_what_runs_beside_what(effects: tuple[Effect, ...], at_once: int) -> None:
    d = Dialogue()
    d.types("go")
    gen = d.last(Generate)
    for number, effect in enumerate(effects):
        call = Call(f"c{number}", f"tool_{number}", "1", "1")
        d.tell(ToolCalled(gen.gen, call, policy(effect)))
    d.model("")
    assert len(d.all(RunTool)) == at_once
    for number in range(len(effects)):
        d.tell(ToolReturned(d.all(RunTool)[number].run, "done"))
    assert [run.call.call_id for run in d.all(RunTool)] == [f"c{number}" for number in range(len(effects))]
