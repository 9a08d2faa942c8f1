"""What tools return, as the model reads it."""

import collections
import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from typing import Any

import pytest
from pydantic import BaseModel

from antiphon.tools.function import ToolError
from antiphon.tools.results import render_result


class Meal(enum.Enum):
    LUNCH = "lunch"


class Mode(enum.StrEnum):
    FAST = "fast"


@dataclasses.dataclass
class Point:
    x: int
    when: datetime.date


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __str__(self) -> str:
        return f"{self.cents / 100:.2f} EUR"


class Slot(BaseModel):
    start: datetime.time
    meal: Meal = Meal.LUNCH


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (0, "0"),
        (1.5, "1.5"),
        (False, "false"),
        (None, "null"),
        ([], "[]"),
        ({}, "{}"),
        ({"a": 1, "b": None}, '{"a": 1, "b": null}'),
        ({1: "x", Meal.LUNCH: 2}, '{"1": "x", "lunch": 2}'),
        (["Zürich", ("a", True)], '["Zürich", ["a", true]]'),
        ({"b", "a"}, '["a", "b"]'),
        (Point(1, datetime.date(2025, 3, 31)), '{"x": 1, "when": "2025-03-31"}'),
        ([Slot(start=datetime.time(18, 30))], '[{"start": "18:30:00", "meal": "lunch"}]'),
        (datetime.datetime(2025, 3, 31, 18, 30), '"2025-03-31T18:30:00"'),
        (datetime.timedelta(minutes=1), "60.0"),
        (decimal.Decimal("9.90"), "9.9"),
        (decimal.Decimal("0.12345678901234567890123"), '"0.12345678901234567890123"'),
        (Meal.LUNCH, '"lunch"'),
        (Mode.FAST, '"fast"'),
        (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (pathlib.PurePosixPath("/a/b"), '"/a/b"'),
        (b"text", '"text"'),
        (range(3), "[0, 1, 2]"),
        ({"b": 1, "a": 2}.keys(), '["b", "a"]'),
        ({"b": 1}.items(), '[["b", 1]]'),
        (collections.deque([Meal.LUNCH]), '["lunch"]'),
        (Money(990), "9.90 EUR"),
        ({"price": Money(990)}, '{"price": "9.90 EUR"}'),
    ],
    ids=str,
)
def test_each_kind_of_result_has_its_text(value: Any, text: str) -> None:
    assert render_result(value) == text


@pytest.mark.parametrize(
    "value", [object(), {"a": [object()]}, b"\xff", Point], ids=["bare", "nested", "bytes", "class"]
)
def test_what_cannot_be_shown_is_named_by_its_type(value: object) -> None:
    with pytest.raises(ToolError, match=r"The tool has run, but its result cannot be shown: an? \w+ has no JSON form"):
        render_result(value)


def test_a_result_that_contains_itself_cannot_be_shown() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ToolError, match="contains itself"):
        render_result(loop)


def test_long_results_are_cut_with_a_note_on_how_much() -> None:
    assert render_result("x" * 10, max_chars=10) == "x" * 10
    assert render_result("x" * 11, max_chars=10) == "x" * 10 + "\n[cut: the first 10 of 11 characters]"
    assert render_result(list(range(9000))).endswith("[cut: the first 20000 of 52890 characters]")
