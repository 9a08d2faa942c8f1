"""Signature and docstring to JSON schema: one case for each form of annotation, one for each style of docstring."""

import datetime
import enum
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union

import pytest
from pydantic import BaseModel, Field

from antiphon.tools import schema
from antiphon.tools.function import function_tool


class Meal(enum.Enum):
    LUNCH = "lunch"
    DINNER = "dinner"


class Guest(TypedDict):
    name: str
    age: NotRequired[int]


@dataclass
class Table:
    seats: int
    smoking: bool = False


class Card(BaseModel):
    kind: Literal["card"]
    number: str


class Cash(BaseModel):
    kind: Literal["cash"]
    note: str = "none"


class Node(BaseModel):
    """A node."""

    name: str
    children: list["Node"] = []


GUEST = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name"],
}
TABLE = {
    "type": "object",
    "properties": {"seats": {"type": "integer"}, "smoking": {"type": "boolean", "default": False}},
    "required": ["seats"],
}
CARD = {
    "type": "object",
    "properties": {"kind": {"type": "string", "const": "card"}, "number": {"type": "string"}},
    "required": ["kind", "number"],
}
CASH = {
    "type": "object",
    "properties": {"kind": {"type": "string", "const": "cash"}, "note": {"type": "string", "default": "none"}},
    "required": ["kind"],
}
MEALS = {"type": "string", "enum": ["lunch", "dinner"], "description": 'Must be "lunch" or "dinner".'}

FORMS: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (Literal["lunch", "dinner"], MEALS),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2], "description": "Must be 1 or 2."}),
    (Literal["only"], {"type": "string", "const": "only", "description": 'Must be "only".'}),
    (Meal, MEALS),
    (
        list[Literal["a", "b"]],
        {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "description": 'Must be "a" or "b".'},
    ),
    (
        Annotated[int, Field(ge=1, le=12, description="Guests.")],
        {"type": "integer", "minimum": 1, "maximum": 12, "description": "Guests."},
    ),
    (Annotated[str, "A code."], {"type": "string", "description": "A code."}),
    (Annotated[str, Field(pattern="^R-")], {"type": "string", "pattern": "^R-"}),
    (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),  # noqa: UP045 - the older spelling
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007 - the older spelling
    (list[str], {"type": "array", "items": {"type": "string"}}),
    (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
    (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Mapping[str, str], {"type": "object", "additionalProperties": {"type": "string"}}),
    (
        tuple[int, str],
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
    ),
    (Any, {}),
    (Guest, GUEST),
    (list[Guest], {"type": "array", "items": GUEST}),
    (Guest | None, {"anyOf": [GUEST, {"type": "null"}]}),
    (Table, TABLE),
    (Card, CARD),
    (Card | Cash, {"anyOf": [CARD, CASH]}),
    (Annotated[Card | Cash, Field(discriminator="kind")], {"oneOf": [CARD, CASH]}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (datetime.time, {"type": "string", "format": "time"}),
    (datetime.timedelta, {"type": "string", "format": "duration"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
]


def tool_of(annotation: Any, **namespace: Any) -> Any:
    async def f(value: Any) -> None: ...

    f.__annotations__["value"] = annotation
    return function_tool(f)


@pytest.mark.parametrize(("annotation", "expected"), FORMS, ids=[str(form) for form, _ in FORMS])
def test_each_form_of_annotation_has_its_schema(annotation: Any, expected: dict[str, Any]) -> None:
    parameters = tool_of(annotation).spec.parameters
    assert parameters == {"type": "object", "properties": {"value": expected}, "required": ["value"]}


def test_decimals_are_numbers_or_text() -> None:
    schema = tool_of(Decimal).spec.parameters["properties"]["value"]
    assert {option["type"] for option in schema["anyOf"]} == {"number", "string"}


def test_a_recursive_model_refers_to_itself() -> None:
    parameters = tool_of(Node).spec.parameters
    children = {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []}
    node = {
        "type": "object",
        "description": "A node.",
        "properties": {"name": {"type": "string"}, "children": children},
        "required": ["name"],
    }
    assert parameters == {
        "type": "object",
        "properties": {"value": node},
        "required": ["value"],
        "$defs": {"Node": node},
    }


def test_defaults_are_shown_and_not_required() -> None:
    @function_tool
    async def f(
        a: int,
        b: str = "x",
        c: list[str] | None = None,
        d: int = Field(5, description="Five."),
        e: Any = object(),  # noqa: B008
    ) -> None: ...

    assert f.spec.parameters["required"] == ["a"]
    properties = f.spec.parameters["properties"]
    assert properties["b"] == {"type": "string", "default": "x"}
    assert properties["c"]["default"] is None
    assert properties["d"] == {"type": "integer", "default": 5, "description": "Five."}
    assert properties["e"] == {}  # a default that JSON cannot express is not shown


def test_parameters_may_have_any_name() -> None:
    @function_tool
    async def f(
        title: str, schema: str, model_config: int, copy: int, _hidden: int, f0: int, json: str, properties: str
    ) -> None: ...

    names = ["title", "schema", "model_config", "copy", "_hidden", "f0", "json", "properties"]
    assert list(f.spec.parameters["properties"]) == names
    given = {"title": "t", "schema": "s", "model_config": 1, "copy": 2, "_hidden": 3, "f0": 4, "json": "j"}
    assert f.prepare({**given, "properties": "p"}).kwargs == {**given, "properties": "p"}


def test_no_arguments_are_an_empty_object() -> None:
    @function_tool
    async def f() -> None: ...

    assert f.spec.parameters == {"type": "object", "properties": {}}


class TestDescriptions:
    @staticmethod
    def google(date: str, guests: int) -> None:
        """Check open slots.

        Call this when the caller asks.
        Not before you have a date.

        Args:
            date: A date in YYYY-MM-DD format,
                for example 2025-03-31.
            guests (int): Number of guests.

        Returns:
            A speech-ready summary.
        """

    @staticmethod
    def numpy(date: str, guests: int) -> None:
        """Check open slots.

        Call this when the caller asks.
        Not before you have a date.

        Parameters
        ----------
        date : str
            A date in YYYY-MM-DD format,
            for example 2025-03-31.
        guests : int
            Number of guests.

        Returns
        -------
        str
            A speech-ready summary.
        """

    @staticmethod
    def rest(date: str, guests: int) -> None:
        """Check open slots.

        Call this when the caller asks.
        Not before you have a date.

        :param date: A date in YYYY-MM-DD format,
            for example 2025-03-31.
        :param guests: Number of guests.
        :returns: A speech-ready summary.
        """

    @pytest.mark.parametrize("style", ["google", "numpy", "rest"])
    def test_summary_long_text_and_returns_are_sent_and_arguments_go_to_their_parameters(self, style: str) -> None:
        function: Callable[..., None] = getattr(self, style)
        spec = function_tool(function).spec
        assert spec.description == (
            "Check open slots.\n\nCall this when the caller asks.\nNot before you have a date.\n\n"
            "Returns: A speech-ready summary."
        )
        assert {name: schema["description"] for name, schema in spec.parameters["properties"].items()} == {
            "date": "A date in YYYY-MM-DD format, for example 2025-03-31.",
            "guests": "Number of guests.",
        }

    def test_without_a_docstring_there_is_no_description(self) -> None:
        @function_tool
        async def f() -> None: ...

        assert f.description == ""

    def test_field_and_annotated_texts_come_before_the_docstring(self) -> None:
        @function_tool
        async def f(a: Annotated[int, Field(description="field")], b: Annotated[int, "plain"], c: int) -> None:
            """F.

            Args:
                a: doc
                b: doc
                c: doc
            """

        texts = [schema["description"] for schema in f.spec.parameters["properties"].values()]
        assert texts == ["field", "plain", "doc"]

    def test_allowed_values_are_spelled_out_unless_all_are_named(self) -> None:
        @function_tool
        async def f(
            a: Literal["lunch", "dinner"], b: Literal["lunch", "dinner"], c: Literal["lunch", "dinner"] | None = None
        ) -> None:
            """F.

            Args:
                a: Either "lunch" or "dinner".
                b: The meal, such as lunch
            """

        texts = [schema["description"] for schema in f.spec.parameters["properties"].values()]
        assert texts == [
            'Either "lunch" or "dinner".',
            'The meal, such as lunch. Must be "lunch" or "dinner".',
            'Must be "lunch" or "dinner".',
        ]


class TestStrictForm:
    def test_everything_is_required_and_null_stands_for_a_default(self) -> None:
        @function_tool
        async def f(
            a: int,
            b: str = "x",
            c: Literal["p", "q"] = "p",
            d: Table | None = None,
            e: Card | Cash | None = None,
            g: Annotated[str, Field(min_length=2)] = "ab",
        ) -> None: ...

        assert f.strict_spec is not None
        table = {
            "type": "object",
            "properties": {"seats": {"type": "integer"}, "smoking": {"type": ["boolean", "null"]}},
            "required": ["seats", "smoking"],
            "additionalProperties": False,
        }
        card = {**CARD, "additionalProperties": False}
        cash = {
            "type": "object",
            "properties": {"kind": {"type": "string", "const": "cash"}, "note": {"type": ["string", "null"]}},
            "required": ["kind", "note"],
            "additionalProperties": False,
        }
        assert f.strict_spec.parameters == {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": ["string", "null"]},
                "c": {"type": ["string", "null"], "enum": ["p", "q", None], "description": 'Must be "p" or "q".'},
                "d": {"anyOf": [table, {"type": "null"}]},
                "e": {"anyOf": [card, cash, {"type": "null"}]},
                "g": {"type": ["string", "null"]},
            },
            "required": ["a", "b", "c", "d", "e", "g"],
            "additionalProperties": False,
        }

    def test_a_tool_without_arguments_requires_nothing(self) -> None:
        @function_tool
        async def f() -> None: ...

        assert f.strict_spec is not None
        assert f.strict_spec.parameters == {"type": "object", "properties": {}, "additionalProperties": False}

    def test_a_recursive_model_stays_expressible(self) -> None:
        strict = tool_of(Node).strict_spec
        assert strict is not None
        assert strict.parameters["$defs"]["Node"]["additionalProperties"] is False

    @pytest.mark.parametrize("annotation", [dict[str, int], Any, tuple[int, str], list[Any]])
    def test_what_the_strict_form_cannot_express_has_none(self, annotation: Any) -> None:
        assert tool_of(annotation).strict_spec is None

    def test_the_form_is_built_once(self) -> None:
        tool = tool_of(int)
        assert tool.strict_spec is tool.strict_spec
        assert tool.spec is tool.spec


def test_functions_that_agree_in_their_parameters_share_the_work() -> None:
    def make(default: Any) -> Any:
        async def set_value(value: str, times: Any = default) -> None:
            """Sets.

            Args:
                value: New.
            """

        return function_tool(set_value)

    assert make(1).spec.parameters is make(1).spec.parameters
    defaults = [make(default).spec.parameters["properties"]["times"]["default"] for default in (1, True, 1.0, [1])]
    assert [json.dumps(default) for default in defaults] == ["1", "true", "1.0", "[1]"]


def test_a_field_that_is_written_anew_for_each_call_is_the_same_while_it_says_the_same() -> None:
    def make(description: str, least: float = 1) -> Any:
        times = Annotated[int, Field(description=description, ge=least, examples=[1])] | None

        async def set_value(times: times) -> None: ...

        return function_tool(set_value).spec.parameters

    assert make("How often.") is make("How often.")
    assert make("How often.") is not make("How long.")
    assert make("How often.") is not make("How often.", 2)
    assert make("How often.") is not make("How often.", 1.0)


def test_validators_that_were_not_asked_for_longest_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "_shared", {})

    def make(default: int) -> Any:
        async def set_value(value: int = default) -> None: ...

        return function_tool(set_value).spec.parameters

    first = make(-1)
    for default in range(2 * schema._SHARED_LIMIT):
        make(default)
        assert make(-1) is first
    assert len(schema._shared) == schema._SHARED_LIMIT


def test_duplicates_to_be_confirmed_add_a_boolean() -> None:
    @function_tool(on_duplicate="confirm")
    async def book(day: str) -> None: ...

    added = book.spec.parameters["properties"]["_lk_agents_confirm_duplicate"]
    assert added["type"] == "boolean"
    assert book.spec.parameters["required"] == ["day"]
    assert not book.prepare('{"day": "Monday"}').confirm_duplicate
    for name in ("_lk_agents_confirm_duplicate", "lk_agents_confirm_duplicate"):
        prepared = book.prepare({"day": "Monday", name: True})
        assert (prepared.kwargs, prepared.confirm_duplicate) == ({"day": "Monday"}, True)
        assert prepared.canonical == book.prepare({"day": "Monday"}).canonical
