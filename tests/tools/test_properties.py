"""What holds for all signatures and all texts."""

import asyncio
import inspect
import json
import types
from typing import Any, Literal

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from antiphon.tools.function import FunctionTool, ToolError, function_tool
from antiphon.tools.schema import strict_parameters


class Inner(BaseModel):
    x: int
    y: str = "y"


TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
INTEGERS = st.integers(-(2**53), 2**53)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)

SCALARS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, TEXT),
    (int, INTEGERS),
    (float, FLOATS),
    (bool, st.booleans()),
    (Literal["a", "b", "c"], st.sampled_from(["a", "b", "c"])),
    (Inner, st.builds(dict, x=INTEGERS, y=TEXT)),
]
FORMS = SCALARS + [
    form
    for annotation, values in SCALARS
    for form in (
        (types.GenericAlias(list, (annotation,)), st.lists(values, max_size=3)),
        (types.GenericAlias(dict, (str, annotation)), st.dictionaries(TEXT, values, max_size=3)),
        (annotation | None, st.none() | values),
    )
]
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name not in ("self", "cls"))


@st.composite
def tools_with_arguments(draw: st.DrawFn) -> tuple[FunctionTool, dict[str, Any]]:
    import keyword

    names = draw(st.lists(NAMES.filter(lambda name: not keyword.iskeyword(name)), unique=True, max_size=4))
    parameters, arguments = [], {}
    for name in names:
        annotation, values = draw(st.sampled_from(FORMS))
        default = draw(st.sampled_from([inspect.Parameter.empty, None]))
        if default is inspect.Parameter.empty or draw(st.booleans()):
            arguments[name] = draw(values)
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        )

    async def echo(**kwargs: Any) -> dict[str, Any]:
        return kwargs

    echo.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function_tool(echo), arguments


@given(tools_with_arguments())
@settings(max_examples=60, deadline=None)
def test_what_fits_the_schema_comes_through_unchanged(case: tuple[FunctionTool, dict[str, Any]]) -> None:
    tool, arguments = case
    jsonschema.validate(arguments, tool.spec.parameters)
    prepared = tool.prepare(json.dumps(arguments))
    received = asyncio.run(tool.call(prepared.kwargs))
    plain = json.loads(json.dumps(received, default=lambda model: model.model_dump()))
    # Null for a defaulted argument is the default, which is None here: both ways the function gets None.
    assert {name: value for name, value in plain.items() if value is not None} == {
        name: value for name, value in arguments.items() if value is not None
    }
    again = tool.prepare(prepared.arguments)
    assert (again.kwargs, again.canonical) == (prepared.kwargs, prepared.canonical)


@given(tools_with_arguments())
@settings(max_examples=40, deadline=None)
def test_schemas_are_valid_json_schemas_in_both_forms(case: tuple[FunctionTool, dict[str, Any]]) -> None:
    tool, _ = case
    jsonschema.Draft202012Validator.check_schema(tool.spec.parameters)
    if (strict := strict_parameters(tool.spec.parameters)) is not None:
        jsonschema.Draft202012Validator.check_schema(strict)
        assert strict.get("required", []) == list(strict["properties"])


@function_tool
async def anything(a: int, b: list[Inner] | None = None, c: Any = None, d: dict[str, Any] | None = None) -> None:
    """Takes all sorts."""


@function_tool(on_duplicate="confirm")
async def confirmed(a: Any = None) -> None:
    """Takes all sorts, and asks."""


@function_tool(
    raw_schema={
        "name": "raw",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"pattern": "("}}},
        },
    }
)
async def raw(raw_arguments: dict[str, object]) -> None:
    """Takes all sorts as they are."""


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcdxy") | st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


def _damaged(text: str, at: int, junk: str) -> str:
    at %= len(text) + 1
    return text[:at] + junk + text[at + 1 :]


TEXTS = (
    st.text()
    | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape"))
    | st.text(alphabet="{}[]\",:'\\ abntrufle019.-+eE<|>`/", max_size=60)
    | JSON_VALUES.map(json.dumps)
    | st.builds(_damaged, JSON_VALUES.map(json.dumps), st.integers(0, 200), st.text(max_size=3))
)


@given(TEXTS | JSON_VALUES.filter(lambda value: isinstance(value, dict) or value is None))
@settings(max_examples=400, deadline=None)
def test_no_arguments_raise_anything_but_a_tool_error(arguments: Any) -> None:
    for tool in (anything, confirmed, raw):
        try:
            prepared = tool.prepare(arguments)
        except ToolError as error:
            assert error.message.startswith(f"Error parsing arguments for `{tool.name}`: ")
        else:
            prepared.arguments.encode()
            prepared.canonical.encode()
            assert isinstance(json.loads(prepared.arguments), dict)
