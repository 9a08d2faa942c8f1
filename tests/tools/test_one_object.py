"""A server's schema with alternatives at the top is told as one object, where that is honest."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.errors import ToolDefinitionError
from antiphon.tools.function import RawFunctionTool, ToolError, ToolOptions, foreign_tool
from antiphon.tools.one_object import as_object
from antiphon.tools.raw import REFUSED_AT_TOP

TEXT = {"type": "string"}
BY_ID = {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}
BY_NAME = {"type": "object", "properties": {"name": TEXT, "city": TEXT}, "required": ["name", "city"]}


def tool_of(schema: dict[str, Any]) -> RawFunctionTool[Any]:
    async def handler(raw_arguments: dict[str, Any]) -> None: ...

    return foreign_tool(
        handler, name="f", description="Find.", parameters=as_object(schema, name="f"), options=ToolOptions()
    )


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_alternatives_become_one_object_and_words_say_which_arguments_go_together(word: str) -> None:
    tool = tool_of({word: [BY_ID, BY_NAME], "properties": {"limit": {"type": "integer"}}, "required": ["limit"]})
    assert tool.spec.parameters == {
        "type": "object",
        "properties": {"limit": {"type": "integer"}, "id": TEXT, "name": TEXT, "city": TEXT},
        "required": ["limit"],
    }
    assert tool.spec.description == "Find. Give either `id`; or `name` and `city`."


def test_arguments_are_checked_against_the_schema_as_the_server_wrote_it() -> None:
    tool = tool_of({"anyOf": [BY_ID, BY_NAME]})
    tool.prepare({"id": "7"})
    with pytest.raises(ToolError, match="expected an object with `id` or an object with `name` and `city`"):
        tool.prepare({"name": "Ann"})


def test_parts_are_merged() -> None:
    longer = {"properties": {"id": {"minLength": 2}}}
    schema = {"allOf": [{"$ref": "#/$defs/id"}, BY_NAME, longer], "$defs": {"id": BY_ID}}
    assert tool_of(schema).spec.parameters == {
        "type": "object",
        "properties": {"id": {"allOf": [TEXT, {"minLength": 2}]}, "name": TEXT, "city": TEXT},
        "required": ["id", "name", "city"],
        "$defs": {"id": BY_ID},
    }


def test_alternatives_told_apart_by_a_constant_share_the_property() -> None:
    def one(kind: str, name: str) -> dict[str, Any]:
        return {"properties": {"kind": {"const": kind}, name: TEXT}, "required": ["kind", name]}

    tool = tool_of({"type": "object", "oneOf": [one("mail", "to"), one("call", "number")]})
    assert tool.spec.parameters["properties"]["kind"] == {"enum": ["mail", "call"]}
    assert tool.spec.parameters["required"] == ["kind"]
    assert '`kind` = "mail" and `to`; or `kind` = "call" and `number`' in tool.spec.description


def test_an_alternative_that_is_no_object_cannot_be_meant() -> None:
    assert tool_of({"anyOf": [BY_ID, {"type": "null"}]}).spec.parameters["required"] == ["id"]


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"required": ["a"]}},
        {"enum": [{"a": 1}]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"anyOf": [{"$ref": "#"}, BY_ID]},
        {"anyOf": [{"$ref": "https://example.org/x"}]},
        {"anyOf": [{"properties": {"a": {"$ref": "#/properties/b"}}}], "properties": {"b": TEXT}},
    ],
)
def test_what_one_object_cannot_say_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ToolDefinitionError, match="cannot be told as one object"):
        as_object(schema, name="f")


def test_references_that_double_are_merged_once() -> None:
    doubling = {f"a{i}": {"anyOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(15)}
    told = as_object({"$ref": "#/$defs/a0", "$defs": {**doubling, "a15": BY_ID}}, name="f")
    assert not told.parameters.keys() & {*REFUSED_AT_TOP}
    assert told.parameters["properties"] == {"id": TEXT}


def test_parts_that_differ_and_double_are_refused_in_counted_steps() -> None:
    definitions: dict[str, Any] = {}
    for i in range(20):
        for side in "bc":
            both = [{"$ref": f"#/$defs/{other}{i + 1}"} for other in "bc"]
            definitions[f"{side}{i}"] = {"allOf": [*both, {"properties": {"p": {"title": f"{side}{i}"}}}]}
    definitions |= {f"{side}20": {"properties": {"p": {"title": side}}} for side in "bc"}
    with pytest.raises(ToolDefinitionError, match="too large"):
        as_object({"$ref": "#/$defs/b0", "$defs": definitions}, name="f")


def test_a_schema_of_one_object_stays_as_it_is() -> None:
    told = as_object(BY_ID, name="f")
    assert (told.parameters, told.note, told.checked) == (BY_ID, "", None)
