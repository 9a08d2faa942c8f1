"""Schemas of strangers: no check of arguments takes long, no malformed keyword makes a tool unusable."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any, NotRequired

import pytest
from typing_extensions import TypedDict

from antiphon import Agent, AgentSession
from antiphon.errors import ToolDefinitionError
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from antiphon.tools import checking, patterns
from antiphon.tools.arguments import MAX_CHARS
from antiphon.tools.compiling import Compiled
from antiphon.tools.function import RawFunctionTool, ToolError, function_tool
from antiphon.tools.patterns import NotLinear, compile_pattern

DOUBLING = {f"a{i}": {"anyOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(28)}


class Leaf(TypedDict):
    kind: str


class Tree(TypedDict):
    left: NotRequired[Tree | Leaf]
    right: NotRequired[Tree | Leaf]
    size: int


def tool_of(schema: dict[str, Any]) -> RawFunctionTool[Any]:
    """A tool with these parameters, as a model would be offered it."""

    async def handler(raw_arguments: dict[str, Any]) -> None: ...

    tool: RawFunctionTool[Any] = function_tool(handler, raw_schema={"name": "f", "parameters": schema})
    tool.check()
    return tool


def of(x: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": x}, **more}


def refusal(schema: dict[str, Any], arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        tool_of(schema).prepare(arguments)
    return caught.value.message.removeprefix("Error parsing arguments for `f`: ")


class TestTime:
    """Time is counted in steps: what needs more than there are is refused."""

    def test_a_pattern_that_backtracks_is_matched_in_linear_time(self) -> None:
        schema = of({"type": "string", "pattern": r"^([a-zA-Z0-9_.+-]+)+@[a-zA-Z0-9-]+\.[a-z]+$"})
        assert refusal(schema, {"x": "a" * 190_000}).startswith("`x`: expected text that matches ^([a-zA-Z0-9_.+-]+)+@")
        tool_of(schema).prepare({"x": "ann@example.org"})

    @pytest.mark.parametrize("word", ["anyOf", "allOf", "oneOf"])
    def test_references_that_double_are_followed_once_for_each_value(self, word: str) -> None:
        doubling = {name: {word: one["anyOf"]} for name, one in DOUBLING.items()}
        schema = of({"$ref": "#/$defs/a0"}, **{"$defs": {**doubling, "a28": {"type": "object"}}})
        assert refusal(schema, {"x": "no"}).startswith("`x`: expected ")

    def test_unique_items_are_compared_without_comparing_each_with_each(self) -> None:
        schema = of({"type": "array", "uniqueItems": True})
        items = [{"a": i} for i in range(15_000)]
        tool_of(schema).prepare({"x": items})
        assert refusal(schema, {"x": [*items, items[0]]}).startswith("`x`: expected no item twice, got ")

    def test_integers_of_one_hash_are_told_apart_in_linear_time(self) -> None:
        tool_of(of({"uniqueItems": True})).prepare({"x": [i * (2**61 - 1) for i in range(8_000)]})

    def test_what_takes_too_many_steps_is_refused_and_not_passed(self) -> None:
        many = of({"items": {"allOf": [{"type": "integer"}] * 100}})
        assert refusal(many, {"x": [1] * 2_000}).startswith("there is too much in the arguments to check it.")

    def test_arguments_longer_than_anybody_says_are_refused(self) -> None:
        for arguments in ({"x": "a" * MAX_CHARS}, json.dumps({"x": "a" * MAX_CHARS})):
            assert refusal(of({}), arguments).startswith("there is too much in the arguments")

    def test_so_are_those_of_a_tool_with_a_signature(self) -> None:
        @function_tool
        async def note(text: str) -> None: ...

        with pytest.raises(ToolError, match="too much in the arguments"):
            note.prepare(json.dumps({"text": "a" * MAX_CHARS}))

    @pytest.mark.parametrize("text", ["{" * 9_000, '{"a": "' + '\\"' * 4_900, "{'a': '" + "\\'" * 4_900 + "' x"])
    def test_broken_text_is_refused_in_linear_time(self, text: str) -> None:
        assert "incomplete" in refusal(of({}), text)

    @pytest.mark.parametrize("text", ["```" + " " * 190_000 + "x", '{"x":' + "[" * 190_000, '{"x":' * 30_000])
    def test_long_broken_text_is_not_repaired(self, text: str) -> None:
        assert "Call again" in refusal(of({}), text)

    def test_a_complaint_is_short_whatever_is_complained_about(self) -> None:
        choice = refusal(of({"enum": [str(i) for i in range(9_000)]}), {"x": "no"})
        assert "or others" in choice and len(choice) < 1_000
        assert len(refusal(of({"items": {"type": "integer"}}), {"x": ["no"] * 5_000})) < 1_000
        assert len(refusal({"additionalProperties": {"type": "integer"}}, {"k" * 90_000: "v" * 90_000})) < 1_000

    def test_alternatives_of_a_recursive_type_are_looked_at_once(self) -> None:
        @function_tool
        async def grow(tree: Tree) -> None: ...

        deep: dict[str, Any] = {}
        for _ in range(40):
            deep = {"left": deep}
        with pytest.raises(ToolError, match="is missing"):
            grow.prepare({"tree": deep})


class TestMalformedKeywords:
    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "object", "properties": None, "required": None, "enum": 5},
            {"type": ["object"], "properties": {"x": None}} | {"type": "object"},
            of({"type": "text", "minimum": "3", "pattern": 5, "items": "x", "anyOf": None, "multipleOf": 0}),
            of({}, required=[5, None], additionalProperties=3, patternProperties=[], allOf=[]),
        ],
    )
    def test_leave_the_tool_callable(self, schema: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
        tool = tool_of(schema)
        assert tool.prepare({"x": 1}).kwargs == {"raw_arguments": {"x": 1}}
        assert isinstance(tool.spec.parameters["properties"], dict)
        assert "None" not in json.dumps(tool.spec.parameters)
        assert [r.levelno for r in caplog.records] == [logging.WARNING]

    def test_a_well_formed_schema_is_told_as_it_is(self) -> None:
        schema = of({"type": "string", "x-own": {"a": [None, 1.5]}, "default": None}, required=["x"])
        assert tool_of(schema).spec.parameters == schema

    def test_a_schema_that_is_too_large_or_too_deep_is_refused(self) -> None:
        deep: dict[str, Any] = {}
        deep["properties"] = {"x": deep}
        for schema in (deep, of({"enum": ["x" * 100] * 20_000})):
            with pytest.raises(ToolDefinitionError, match="its schema is too"):
                tool_of({"type": "object", **schema})


class TestAtTheTop:
    @pytest.mark.parametrize("word", ["anyOf", "oneOf", "allOf", "enum", "not"])
    def test_what_endpoints_refuse_is_an_error_at_definition(self, word: str) -> None:
        value: Any = {"required": ["x"]} if word == "not" else [{"required": ["x"]}]
        with pytest.raises(ToolDefinitionError, match=f"'{word}' at the top.* Describe one object"):
            function_tool(lambda raw_arguments: None, raw_schema={"name": "f", "parameters": {word: value}})


class TestUnchecked:
    @pytest.mark.parametrize(
        ("schema", "word"),
        [
            ({"pattern": "^(?=a)b"}, "pattern"),
            ({"pattern": r"(a)\1"}, "pattern"),
            ({"pattern": r"(\w{100}){100}"}, "pattern"),
            ({"pattern": "[a&&b]"}, "pattern"),
            ({"$ref": "https://example.org/x"}, "reference"),
            ({"$ref": "#/$defs/none"}, "reference"),
            ({"$ref": "#/properties/x"}, "leads back to itself"),
            ({"unevaluatedProperties": False}, "unevaluatedProperties"),
        ],
    )
    def test_what_is_not_checked_is_said_once(
        self, schema: dict[str, Any], word: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        tool = tool_of(of(schema))
        tool.prepare({"x": "anything"})
        tool.prepare({"x": "anything"})
        (record,) = caplog.records
        assert word in record.getMessage()

    def test_a_property_that_an_unchecked_pattern_may_allow_is_let_through(self) -> None:
        schema = {"patternProperties": {"^(?=a)": {}}, "additionalProperties": False}
        assert tool_of(schema).prepare({"b": 1}).kwargs == {"raw_arguments": {"b": 1}}

    def test_patterns_are_bounded_before_they_are_compiled(self) -> None:
        for pattern in ("a" * 2_001, "(((a{50}){50}){50}){50}", r"\w{31}", "a)", "(" * 3_000):
            with pytest.raises(NotLinear):
                compile_pattern(pattern)
        assert compile_pattern(r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$").weight < patterns.MAX_WEIGHT // 10


def test_a_check_stops_after_a_few_failures() -> None:
    assert len(Compiled({"items": {"type": "integer"}}).failures(["x"] * 100)) == checking.MAX_FAILURES


class TestACallBeside:
    """While one call's tool is attacked, another call in the same process goes on."""

    ATTACKS = (
        ("pattern", of({"type": "string", "pattern": r"^([a-zA-Z0-9]+)*@x$"}), {"x": "a" * 50_000}),
        ("references", of({"$ref": "#/$defs/a0"}, **{"$defs": {**DOUBLING, "a28": {"type": "integer"}}}), {"x": "no"}),
        ("unique items", of({"uniqueItems": True}), {"x": [{"a": i} for i in range(20_000)]}),
    )

    @pytest.mark.parametrize(("attack", "schema", "arguments"), ATTACKS, ids=[name for name, _, _ in ATTACKS])
    def test_goes_on(self, attack: str, schema: dict[str, Any], arguments: dict[str, Any]) -> None:
        async def main() -> None:
            attacked = AgentSession[Any](llm=FakeLLM([Reply(calls=[("f", arguments)]), Reply("That did not work.")]))
            beside = AgentSession[Any](llm=FakeLLM([Reply("Fine.")] * 20))
            await attacked.start(Agent(instructions="", tools=[tool_of(schema)]))
            await beside.start(Agent(instructions=""))
            attack = asyncio.create_task(_say(attacked))
            longest = 0.0
            for _ in range(20):
                began = time.process_time()
                await _say(beside)
                longest = max(longest, time.process_time() - began)
            await attack
            assert "assistant: That did not work." in transcript(attacked.history)[-1]
            assert longest < 2.0  # it took minutes, or for ever
            await attacked.aclose()
            await beside.aclose()

        run_virtual(main(), timeout=600)


async def _say(session: AgentSession[Any]) -> None:
    await session.run(user_input="Go on")
