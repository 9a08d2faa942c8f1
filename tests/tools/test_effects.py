"""The table of effects: what follows from each, each default said singly, and what makes no sense together."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.errors import ToolDefinitionError
from antiphon.options import Effect, ToolPolicy
from antiphon.tools.function import OutcomeUnknown, StopResponse, function_tool
from antiphon.tools.policy import policy_of
from antiphon.tools.retries import attempts_of, is_named, is_tried_again, wait_before

EFFECTS: tuple[Effect, ...] = ("reads", "unsaid", "writes", "irreversible")


async def f() -> None: ...


def tool(**options: Any) -> Any:
    if options.get("effect") == "irreversible":
        options.setdefault("confirm", False)
    return function_tool(f, **options)


def policy(**options: Any) -> ToolPolicy:
    return policy_of(tool(**options))


@pytest.mark.parametrize(
    ("effect", "interrupted", "timeout", "attempts", "parallel", "writes"),
    [
        ("reads", "cancel", 30.0, 3, True, False),
        ("unsaid", "drop", 30.0, 1, True, False),
        ("writes", "keep", 60.0, 1, False, True),
        ("irreversible", "keep", 60.0, 1, False, True),
    ],
)
def test_each_effect_has_its_row_of_the_table(
    effect: Effect, interrupted: str, timeout: float, attempts: int, parallel: bool, writes: bool
) -> None:
    made = policy(effect=effect)
    assert (made.effect, made.interrupted, made.timeout, made.parallel, made.writes) == (
        (effect, interrupted, timeout, parallel, writes)
    )
    assert attempts_of(tool(effect=effect).options) == attempts


SINGLY: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"timeout": 7.0}, {"timeout": 7.0}),
    ({"background_timeout": 7.0}, {"background_timeout": 7.0}),
    ({"on_duplicate": "reject"}, {"on_duplicate": "reject"}),
    ({"on_interrupt": "keep"}, {"interrupted": "keep"}),
    ({"parallel": False}, {"parallel": False}),
    ({"filler": "One moment."}, {"filler": "One moment."}),
]


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize(("said", "follows"), SINGLY, ids=lambda value: next(iter(value)))
def test_a_default_that_is_said_singly_changes_that_one_alone(
    effect: Effect, said: dict[str, Any], follows: dict[str, Any]
) -> None:
    plain, made = policy(effect=effect), policy(effect=effect, **said)
    names = ("effect", "timeout", "background_timeout", "on_duplicate", "interrupted", "parallel", "filler", "repeat")
    assert {name: getattr(made, name) for name in names} == {**{n: getattr(plain, n) for n in names}, **follows}


@pytest.mark.parametrize("effect", ["writes", "irreversible"])
def test_what_writes_may_be_done_once_a_call(effect: Effect) -> None:
    assert policy(effect=effect, repeat="once").repeat == "once"


@pytest.mark.parametrize(("effect", "how"), [("reads", "drop"), ("unsaid", "cancel")])
def test_what_does_not_write_may_be_interrupted_in_any_way(effect: Effect, how: str) -> None:
    assert policy(effect=effect, on_interrupt=how).interrupted == how


def test_a_write_may_run_beside_others() -> None:
    assert policy(effect="writes", parallel=True).parallel


@pytest.mark.parametrize(
    ("options", "attempts"),
    [
        ({"effect": "reads", "retries": 0}, 1),
        ({"effect": "reads", "retries": 5}, 6),
        ({"effect": "writes", "retries": 0}, 1),
        ({"effect": "writes", "idempotent": True}, 3),
        ({"effect": "writes", "idempotent": True, "retries": 1}, 2),
        ({"effect": "writes", "idempotent": True, "retries": 0}, 1),
    ],
)
def test_how_often_a_call_is_tried(options: dict[str, Any], attempts: int) -> None:
    assert attempts_of(tool(**options).options) == attempts


SENSELESS: list[tuple[dict[str, Any], str]] = [
    ({"repeat": "once"}, r'repeat=.*Say effect="writes" too'),
    ({"effect": "reads", "repeat": "once"}, r'repeat=.*Say effect="writes" too'),
    ({"effect": "reads", "identity": ("date",)}, "identity=.*one that reads may be run again"),
    ({"effect": "writes", "identity": "date"}, "identity=.*names of parameters"),
    ({"effect": "reads", "confirm": True}, "confirm=.*only reads is not worth a question.*Leave confirm= out"),
    ({"confirm": "Book {x}?"}, 'confirm=.*Say effect="writes" or effect="irreversible" too'),
    ({"effect": "reads", "idempotent": True}, "idempotent=.*may be run again as it is. Leave it out"),
    ({"idempotent": True}, 'idempotent=.*Say effect="writes" too'),
    ({"effect": "irreversible", "idempotent": True}, 'idempotent=.*never tried again.*effect="writes"'),
    ({"effect": "writes", "idempotent": "yes"}, "idempotent=.*True or False, got 'yes'"),
    ({"retries": 1}, 'retries=.*Say effect="reads", or effect="writes" with idempotent=True'),
    ({"effect": "writes", "retries": 1}, "retries=.*would double it. Say idempotent=True too"),
    ({"effect": "irreversible", "retries": 1}, 'retries=.*never tried again.*effect="writes"'),
    ({"effect": "reads", "retries": -1}, "retries=.*from 0 to 10, got -1"),
    ({"effect": "reads", "retries": 11}, "retries=.*from 0 to 10, got 11"),
    ({"effect": "reads", "retries": True}, "retries=.*from 0 to 10, got True"),
    ({"retry_on": OSError}, 'retry_on=.*Say effect="reads" or effect="writes" too'),
    ({"effect": "reads", "retry_on": OSError, "retries": 0}, "retry_on=.*Leave one of the two out"),
    ({"effect": "reads", "retry_on": ("busy",)}, "retry_on=.*classes of exceptions, or a function of one, got 'busy'"),
    ({"effect": "reads", "retry_on": KeyboardInterrupt}, "retry_on=.*classes of exceptions"),
    ({"effect": "reads", "retry_on": (StopResponse,)}, "retry_on=.*StopResponse is an answer"),
    ({"effect": "writes", "retry_on": [OutcomeUnknown]}, "retry_on=.*OutcomeUnknown is an answer"),
    ({"effect": "writes", "retry_on": Exception}, "retry_on=Exception.*nothing was done, whatever is raised"),
    ({"effect": "writes", "on_interrupt": "cancel"}, "on_interrupt='cancel'.*nobody would hear.*effect=\"reads\""),
    ({"effect": "irreversible", "on_interrupt": "drop"}, "on_interrupt='drop'.*nobody would hear"),
    ({"on_interrupt": "stop"}, "on_interrupt=.*one of cancel, drop, keep, got 'stop'"),
    ({"effect": "irreversible", "parallel": True}, 'parallel=True.*runs alone.*effect="writes"'),
    ({"effect": "reads", "undo": "cancel"}, 'undo=.*Say effect="writes" too'),
    ({"undo": "cancel"}, 'undo=.*Say effect="writes" too'),
    ({"effect": "irreversible", "undo": "cancel"}, 'undo=.*not irreversible. Say effect="writes"'),
    ({"effect": "writes", "undo": ""}, "undo=.*expected a tool, or the name of one"),
    ({"parallel": 1}, "parallel=.*True or False, got 1"),
]


@pytest.mark.parametrize(("options", "why"), SENSELESS)
def test_what_makes_no_sense_is_an_error_that_says_what_to_write_instead(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ToolDefinitionError, match=why):
        tool(**options)


# -- after what


class Busy(Exception): ...


class BusyToday(Busy): ...


def foreign(module: str, name: str) -> Exception:
    """An error of a library that is not installed here."""
    made: Exception = type("Sub", (type(name, (Exception,), {"__module__": module}),), {})()
    return made


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (foreign("httpx", "TimeoutException"), True),
        (foreign("aiohttp.client_exceptions", "ClientConnectionError"), True),
        (foreign("requests.exceptions", "Timeout"), True),
        (foreign("mine", "TimeoutException"), False),
        (ValueError(), False),
        (PermissionError(), False),
    ],
)
def test_a_read_is_tried_again_after_errors_of_connecting_and_waiting(error: Exception, again: bool) -> None:
    assert is_tried_again(tool(effect="reads").options, error) is again


@pytest.mark.parametrize("named", [Busy, (Busy, KeyError), [Busy], lambda error: "busy" in str(error)])
def test_a_read_is_tried_again_after_what_it_names_and_nothing_else(named: Any) -> None:
    options = tool(effect="reads", retry_on=named).options
    assert is_tried_again(options, BusyToday("busy"))
    assert not is_tried_again(options, ConnectionResetError())


def test_an_idempotent_write_is_tried_again_after_either() -> None:
    options = tool(effect="writes", idempotent=True, retry_on=Busy).options
    assert is_tried_again(options, BusyToday())
    assert is_tried_again(options, ConnectionResetError())
    assert not is_named(options, ConnectionResetError())


def test_the_wait_between_attempts_doubles() -> None:
    assert [wait_before(attempt) for attempt in (2, 3, 4)] == [0.25, 0.5, 1.0]
