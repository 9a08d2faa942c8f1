"""A model's text to checked arguments: repairs, refusals, their words, and the normal form."""

import datetime
import json
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from antiphon.tools.arguments import BadArguments, parse_arguments
from antiphon.tools.function import ToolError, function_tool


class Options(BaseModel):
    seat: str = "window"
    meal: Literal["veg", "fish"] | None = "veg"


class Card(BaseModel):
    kind: Literal["card"]
    number: str
    holder: str = "caller"


class Cash(BaseModel):
    kind: Literal["cash"]
    holder: str | None


class Passenger(BaseModel):
    name: str
    age: int = Field(ge=0)

    @field_validator("name")
    @classmethod
    def not_empty(cls, name: str) -> str:
        if not name:
            raise ValueError("a passenger needs a name")
        return name


@function_tool
async def book(
    date: str, party_size: Annotated[int, Field(ge=1, le=12)], meal: Literal["lunch", "dinner"] = "lunch"
) -> None:
    """Books."""


@function_tool
async def fly(
    day: datetime.date,
    passengers: list[Passenger],
    options: Options = Options(),  # noqa: B008 - a default in the signature
    pay: Annotated[Card | Cash, Field(discriminator="kind")] | None = None,
) -> None:
    """Flies."""


GOOD = '{"date": "Monday", "party_size": 4}'
WHOLE = {"date": "Monday", "party_size": 4}


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "{'date': 'Monday', 'party_size': 4}",
        '{"date": "Monday", "party_size": 4,}',
        '{date: "Monday", party_size: 4}',
        '{"date": "Monday", "party_size": 4',
        '{"party_size": 4, "date": "Monday"',
        '```json\n{"date": "Monday", "party_size": 4}\n```',
        '{"date": "Monday", "party_size": 4}<|im_end|>',
        '<tool_call>{"date": "Monday", "party_size": 4}</tool_call>',
        '{"date": "Monday", "party_size": 4}<｜tool▁call▁end｜>',  # noqa: RUF001
        json.dumps(GOOD),
        json.dumps(json.dumps(GOOD)),
        GOOD + GOOD,
        '{"date": "Monday", "party_size": 4} // done',
        '{"date": "Monday", "party_size": "4"}',
        '{"date": "Monday", "party_size": 4.0}',
        '{"date": "Monday", "party_size": 4, "mood": "good"}',
        '{"date": "Monday", "party_size": 4, "meal": null}',
        f"  {GOOD}\n",
        f"\ufeff{GOOD}",
        f"{GOOD}}}",
        "{'date': \"Monday\", /* guests */ 'party_size': 4}",
    ],
)
def test_what_has_one_meaning_is_understood(text: str) -> None:
    if text == '{"date": "Monday", "party_size": 4':
        with pytest.raises(ToolError, match="incomplete"):  # it may have become 40
            book.prepare(text)
        return
    prepared = book.prepare(text)
    assert prepared.kwargs == WHOLE
    assert prepared.canonical == '{"date":"Monday","meal":"lunch","party_size":4}'
    assert isinstance(json.loads(prepared.arguments), dict)


@pytest.mark.parametrize(
    "text",
    [
        '{"date": "Mon',
        '{"date": "Monday", "party_size": ',
        '{"date": "Monday", "party_size": 1',
        '{"date": "Monday", "party_size": }',
        '{"date": "Monday", "party_size": 4}{"date": "Tuesday", "party_size": 4}',
        '{"date": "Monday", "party_size": 4} and {"date": "Tuesday", "party_size": 4}',
        '{"date" "Monday", "party_size": 4}',
        "{'date': 'O'Brien's', 'party_size': 4}",
        "[4]",
        "4",
        "I would like a table",
        '"Monday"',
        "{" * 5000,
        '{"a":' * 3000 + "1" + "}" * 3000,
    ],
)
def test_what_would_be_a_guess_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match=r"^Error parsing arguments for `book`: .*Call again|call again|Make one call"):
        book.prepare(text)


@pytest.mark.parametrize("depth", [150, 400, 900, 5000])
@pytest.mark.parametrize("end", ["", ",", "<|im_end|>"])
def test_any_depth_of_nesting_is_taken_or_refused(depth: int, end: str) -> None:
    @function_tool
    async def f(c: Any = None) -> None: ...

    @function_tool(raw_schema={"name": "g", "parameters": {"type": "object"}})
    async def g(raw_arguments: dict[str, Any]) -> None: ...

    for tool in (f, g):
        try:
            tool.prepare('{"c":' * depth + "1" + "}" * depth + end)
        except ToolError as error:
            assert "nest" in error.message


@pytest.mark.parametrize("nothing", [None, "", "  ", "null", '""', "{}", {}])
def test_nothing_is_no_arguments(nothing: Any) -> None:
    @function_tool
    async def ping() -> None: ...

    prepared = ping.prepare(nothing)
    assert (prepared.kwargs, prepared.canonical) == ({}, "{}")
    assert json.loads(prepared.arguments) == {}


def test_well_formed_text_goes_into_the_history_as_it_was() -> None:
    assert book.prepare(GOOD).arguments == GOOD
    assert book.prepare('{"date": "Monday", "party_size": 4, "meal": null}').arguments.endswith('"meal": null}')


def test_repaired_text_goes_into_the_history_as_json() -> None:
    assert book.prepare("{'date': 'Zürich', 'party_size': 4}").arguments == '{"date": "Zürich", "party_size": 4}'


def test_characters_that_no_text_can_carry_are_replaced() -> None:
    prepared = book.prepare('{"date": "a\\ud800b", "party_size": 4}')
    assert prepared.kwargs["date"] == "a\ufffdb"
    assert prepared.arguments.encode() == b'{"date": "a\xef\xbf\xbdb", "party_size": 4}'


def complaint(tool: Any, arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        tool.prepare(arguments)
    message: str = caught.value.message
    return message.removeprefix(f"Error parsing arguments for `{tool.name}`: ").removesuffix(
        ". Correct the arguments and call again."
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"party_size": 4}, "`date` is missing, expected a string"),
        (
            {"date": 7, "party_size": "four"},
            '`date`: expected a string, got 7; `party_size`: expected an integer, got "four"',
        ),
        ({"date": "x", "party_size": 13}, "`party_size`: expected at most 12, got 13"),
        ({"date": "x", "party_size": 2.5}, "`party_size`: expected an integer, got 2.5"),
        ({"date": "x", "party_size": None}, "`party_size`: expected an integer, got null"),
        (
            {"date": "x", "party_size": 1, "meal": "tea"},
            "`meal`: expected 'lunch' or 'dinner', got \"tea\"",
        ),
    ],
)
def test_each_bad_argument_is_named_with_expected_and_got(arguments: dict[str, Any], text: str) -> None:
    assert complaint(book, arguments) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"day": "tomorrow", "passengers": []},
            '`day`: expected a date such as 2025-03-31, got "tomorrow"',
        ),
        (
            {"day": "2025-03-31", "passengers": [{"name": "Ann", "age": 3}, {"age": -1}]},
            "`passengers[1].name` is missing, expected a string; `passengers[1].age`: expected at least 0, got -1",
        ),
        (
            {"day": "2025-03-31", "passengers": [{"name": "", "age": 3}]},
            '`passengers[0].name`: expected something else (a passenger needs a name), got ""',
        ),
        ({"day": "2025-03-31", "passengers": 3}, "`passengers`: expected a list, got 3"),
        (
            {"day": "2025-03-31", "passengers": [], "pay": {"kind": "coin"}},
            "`pay`: expected 'kind' to be one of 'card', 'cash', got {\"kind\": \"coin\"}",
        ),
        (
            {"day": "2025-03-31", "passengers": [], "pay": {"kind": "card"}},
            "`pay.number` is missing, expected a string",
        ),
    ],
)
def test_nested_arguments_are_named_by_their_path(arguments: dict[str, Any], text: str) -> None:
    assert complaint(fly, arguments) == text


def test_complaints_speak_no_library_language() -> None:
    text = complaint(fly, {"day": 1.5, "passengers": [3, {"name": []}], "options": 4, "pay": [None]})
    for word in ("pydantic", "http", "Input", "valid dict", "tagged-union", "f0", "function-"):
        assert word not in text


def test_long_values_are_cut_in_complaints() -> None:
    assert len(complaint(book, {"date": "x", "party_size": "y" * 1000})) < 200


class TestNulls:
    def test_null_for_a_defaulted_argument_means_the_default(self) -> None:
        assert book.prepare({**WHOLE, "meal": None}).kwargs == WHOLE

    def test_also_deep_inside(self) -> None:
        given = {"day": "2025-03-31", "passengers": [], "options": {"seat": None, "meal": None}}
        assert fly.prepare(given).kwargs["options"] == Options(seat="window", meal="veg")

    def test_and_in_the_right_shape_of_a_union(self) -> None:
        given: dict[str, Any] = {"day": "2025-03-31", "passengers": []}
        card = fly.prepare({**given, "pay": {"kind": "card", "number": "1", "holder": None}}).kwargs["pay"]
        cash = fly.prepare({**given, "pay": {"kind": "cash", "holder": None}}).kwargs["pay"]
        assert (card.holder, cash.holder) == ("caller", None)

    def test_null_for_a_required_nullable_argument_is_null(self) -> None:
        @function_tool
        async def f(x: int | None) -> None: ...

        assert f.prepare('{"x": null}').kwargs == {"x": None}


class TestListsAndObjectsWrittenAsStrings:
    """Some models put JSON into a string where the schema asks for the value itself."""

    @pytest.mark.parametrize(
        "arguments",
        [
            {"day": "2025-03-31", "passengers": '[{"name": "Ada", "age": 36}]'},
            {"day": "2025-03-31", "passengers": ['{"name": "Ada", "age": 36}'], "options": "{}"},
            {"day": "2025-03-31", "passengers": '["{\\"name\\": \\"Ada\\", \\"age\\": 36}"]'},
        ],
    )
    def test_they_are_read(self, arguments: dict[str, Any]) -> None:
        assert fly.prepare(json.dumps(arguments)).kwargs["passengers"] == [Passenger(name="Ada", age=36)]

    def test_also_in_the_right_shape_of_a_union(self) -> None:
        pay = '{"kind": "card", "number": "1", "holder": null}'
        given = {"day": "2025-03-31", "passengers": [], "pay": pay}
        assert fly.prepare(given).kwargs["pay"] == Card(kind="card", number="1")

    def test_also_for_a_schema_of_the_authors_own(self) -> None:
        @function_tool(raw_schema={"name": "raw", "parameters": {"properties": {"tags": {"type": ["array", "null"]}}}})
        async def raw(raw_arguments: dict[str, Any]) -> None: ...

        assert raw.prepare('{"tags": "[1]"}').kwargs == {"raw_arguments": {"tags": [1]}}

    def test_text_stays_text_where_text_is_asked_for(self) -> None:
        @function_tool
        async def note(text: str, either: list[int] | str, whatever: Any) -> None: ...

        given = {"text": "[1]", "either": "[1]", "whatever": "[1]"}
        assert note.prepare(json.dumps(given)).kwargs == given

    def test_text_that_is_none_is_named_as_it_was_given(self) -> None:
        text = complaint(fly, {"day": "2025-03-31", "passengers": "Ada"})
        assert text == '`passengers`: expected a list, got "Ada"'


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_what_is_no_number_is_refused(number: str) -> None:
    @function_tool
    async def pay(amount: float) -> None: ...

    assert complaint(pay, f'{{"amount": {number}}}').startswith("`amount`: expected a finite number, got ")


@pytest.mark.parametrize("text", ['{"name": "\\ud55c\\uae00"}', '{"name": "\\ud83d\\udc4d"}'])
def test_escapes_that_stand_for_letters_stay_as_the_model_wrote_them(text: str) -> None:
    assert parse_arguments(text).text == text


@pytest.mark.parametrize(
    "text", ['{"name": "\\ud83d"}', '{"name": "a\udfff"}', '{"\\uDFFF": 1}', '{"n": NaN}', '{"n": [-1e999]}']
)
def test_what_the_history_keeps_of_arguments_is_json_that_can_be_sent(text: str) -> None:
    given = parse_arguments(text)

    assert json.loads(given.text.encode(), parse_constant=pytest.fail) == given.arguments
    json.dumps(given.arguments, allow_nan=False)


def test_nesting_that_nobody_follows_is_refused() -> None:
    with pytest.raises(BadArguments, match="nested too deep"):
        parse_arguments('{"a": ' + "[" * 500 + "]" * 500 + "}")


@pytest.mark.parametrize("given", [5, [1], float("nan"), b"{}"])
def test_arguments_that_are_no_text_are_refused(given: Any) -> None:
    with pytest.raises(BadArguments, match="expected a JSON object"):
        parse_arguments(given)


def test_defaults_of_the_signature_stay_with_the_function() -> None:
    sentinel = object()

    @function_tool
    async def f(x: int = 1, y: Any = sentinel, z: int = Field(5)) -> None: ...

    assert f.prepare("{}").kwargs == {"z": 5}


def test_strict_models_accept_what_json_can_say() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        day: datetime.date
        pair: tuple[int, int]

    @function_tool
    async def f(value: Strict) -> None: ...

    assert f.prepare({"value": {"day": "2025-01-02", "pair": [1, 2]}}).kwargs["value"].day.year == 2025


class TestNormalForm:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ('{"a": 1, "b": [1, 2], "c": {"x": 1, "y": 2}}', '{"c": {"y": 2, "x": 1.0}, "b": [1.0, 2], "a": 1.0}'),
            ('{"a": 1}', '{"a": 1, "b": [], "c": null}'),
            ('{"a": 1}', '{"a": 1, "unknown": true}'),
            ('{"a": 1, "s": ["x", "y"]}', '{"a": 1, "s": ["y", "x", "y"]}'),
        ],
    )
    def test_equal_calls_have_equal_text(self, one: str, other: str) -> None:
        @function_tool
        async def f(
            a: float,
            b: list[float] = [],  # noqa: B006 - never changed
            c: dict[str, float] | None = None,
            s: frozenset[str] = frozenset(),
        ) -> None: ...

        assert f.prepare(one).canonical == f.prepare(other).canonical

    @pytest.mark.parametrize(
        ("one", "other"), [({"v": 1}, {"v": "1"}), ({"v": 1}, {"v": True}), ({"v": [1]}, {"v": 1}), ({}, {"v": 1})]
    )
    def test_different_calls_have_different_text(self, one: Any, other: Any) -> None:
        @function_tool
        async def f(v: Any = None) -> None: ...

        assert f.prepare(one).canonical != f.prepare(other).canonical


class TestNullsOfForeignSchemas:
    SCHEMA: dict[str, Any] = {  # noqa: RUF012 - never changed
        "name": "raw",
        "parameters": {
            "type": "object",
            "properties": {
                "must": {"type": ["string", "null"]},
                "may": {"type": "string"},
                "nullable": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "inner": {"$ref": "#/$defs/inner"},
                "list": {"type": "array", "items": {"$ref": "#/$defs/inner"}},
            },
            "required": ["must"],
            "$defs": {"inner": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        },
    }

    def test_a_null_goes_only_where_the_schema_does_not_allow_it(self) -> None:
        @function_tool(raw_schema=self.SCHEMA)
        async def raw(raw_arguments: dict[str, Any]) -> None: ...

        given = {"must": None, "may": None, "nullable": None, "inner": {"x": None}, "list": [{"x": None}, {"x": 1}]}
        assert raw.prepare(given).kwargs["raw_arguments"] == {
            "must": None,
            "nullable": None,
            "inner": {},
            "list": [{}, {"x": 1}],
        }


def test_a_null_in_a_typed_dict_is_an_absent_key() -> None:
    class Guest(TypedDict):
        name: str
        age: NotRequired[int]

    @function_tool
    async def seat(guests: list[Guest]) -> None: ...

    assert seat.prepare('{"guests": [{"name": "Ann", "age": null}]}').kwargs == {"guests": [{"name": "Ann"}]}
