"""What each ready task takes for a value, and how it reads it back."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from typing import Any

import pytest

from antiphon import UsageError
from antiphon.tasks import (
    CaptureTask,
    GetAddressResult,
    GetAddressTask,
    GetDOBResult,
    GetDOBTask,
    GetDtmfTask,
    GetNameResult,
    GetNameTask,
    GetPhoneNumberResult,
    GetPhoneNumberTask,
)
from antiphon.testing import FakeLLM, Reply, run_virtual
from tests.tasks.dialogue import hold


def refusal(task: CaptureTask[Any], argument: str, value: str) -> str:
    """What the model is told of a value that is refused."""
    llm = FakeLLM([Reply(calls=[(f"update_{task.words.tool}", {argument: value})]), "Once more, please?"])
    ended = run_virtual(hold(task, llm, ["..."]))
    return next(line for line in ended.lines if line.startswith("error ")).partition(": ")[2]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("555 0123", "lacks its area code"),
        ("212 555 012", "not a valid phone number"),
        ("000 555 0123", "not a valid phone number"),
        ("call me", "is not a phone number"),
    ],
)
def test_numbers_that_nobody_can_have_are_refused(value: str, told: str) -> None:
    assert told in refusal(GetPhoneNumberTask(), "phone_number", value)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("March 3, 1984", "is not a date in the form YYYY-MM-DD"),
        ("1985-02-29", "is not a date"),
        ("1884-03-03", "is before 1900-01-01"),
        ("2150-03-03", "is after"),
    ],
)
def test_dates_that_cannot_be_a_birthday_are_refused(value: str, told: str) -> None:
    assert told in refusal(GetDOBTask(latest=dt.date(2026, 11, 21)), "date_of_birth", value)


@pytest.mark.parametrize(
    ("value", "told"),
    [("unknown", "The name is missing"), ("Ann", "The last name is missing"), ("ann@lee.com", "is not a name")],
)
def test_placeholders_and_halves_of_names_are_refused(value: str, told: str) -> None:
    assert told in refusal(GetNameTask(), "full_name", value)


@pytest.mark.parametrize(("value", "told"), [("12 Oak Street", "the city is missing"), ("12", "is not an address")])
def test_halves_of_addresses_are_refused(value: str, told: str) -> None:
    assert told in refusal(GetAddressTask(), "address", value)


@pytest.mark.parametrize(("value", "told"), [("123", "3 digits instead of 4"), ("my dog", "'dog' is no part")])
def test_other_than_the_digits_asked_for_is_refused(value: str, told: str) -> None:
    assert told in refusal(GetDtmfTask(4), "code", value)


@pytest.mark.parametrize(
    ("task", "value", "said"),
    [
        (GetNameTask(), GetNameResult("Ann", "", "Lee"), "I have Ann Lee, spelled A, N, N, then L, E, E"),
        (GetNameTask(verify_spelling=False), GetNameResult("Ann", "", "Lee"), "I have Ann Lee"),
        (
            GetPhoneNumberTask(),
            GetPhoneNumberResult("+12125550123", "42"),
            "I have two one two, five five five, zero one two three, extension four two",
        ),
        (
            GetPhoneNumberTask(default_region="GB"),
            GetPhoneNumberResult("+12125550123"),
            "I have plus one, two one two, five five five, zero one two three",
        ),
        (GetAddressTask(), GetAddressResult("12 Oak Street, Rye"), "I have one two Oak Street, Rye"),
        (
            GetAddressTask(verify_spelling=True),
            GetAddressResult("12 Oak Way, Rye"),
            "I have one two Oak Way, Rye, with the street spelled O, A, K, W, A, Y",
        ),
        (GetDOBTask(), GetDOBResult(dt.date(1984, 3, 3)), "I have March 3rd, 1984"),
    ],
)
def test_values_are_read_back_for_the_ear(task: CaptureTask[Any], value: object, said: str) -> None:
    assert task.essence(value) == said


def test_the_parts_of_a_name_make_the_full_name() -> None:
    assert GetNameResult("Mary", "Jane", "Watson").full_name == "Mary Jane Watson"
    assert GetNameResult("Mary").full_name == "Mary"


@pytest.mark.parametrize(
    ("parts", "words", "found"),
    [
        ({}, 2, GetNameResult("Gabriel", "", "García Márquez")),
        ({"middle_name": True}, 1, GetNameResult("Gabriel", "García", "Márquez")),
        ({"last_name": False}, 1, GetNameResult("Gabriel García Márquez")),
        ({"first_name": False}, 1, GetNameResult("", "", "Gabriel García Márquez")),
    ],
)
def test_a_name_is_divided_into_the_parts_that_are_wanted(
    parts: dict[str, bool], words: int, found: GetNameResult
) -> None:
    arguments = {"full_name": "Gabriel García Márquez", "last_name_words": words}
    llm = FakeLLM([Reply(calls=[("update_name", arguments)])])
    task = GetNameTask(require_confirmation=False, **parts)
    assert run_virtual(hold(task, llm, ["..."])).result == found


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: GetNameTask(first_name=False, last_name=False), "all three are False"),
        (lambda: GetPhoneNumberTask(default_region="USA"), "got 'USA'"),
        (lambda: GetDOBTask(earliest=dt.date(2020, 1, 1), latest=dt.date(2019, 1, 1)), "earliest <= latest"),
        (lambda: GetDtmfTask(0), "got 0"),
        (lambda: GetDtmfTask(4, dtmf_stop_event="##"), "got '##'"),
    ],
)
def test_options_that_cannot_work_are_an_error(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        make()


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    with pytest.raises(UsageError, match=r"pip install 'antiphon\[tasks\]'"):
        GetPhoneNumberTask()
