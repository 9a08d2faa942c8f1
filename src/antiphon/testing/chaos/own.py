"""The tools of somebody's agent in calls where everything goes wrong: stand-ins run in the place of their functions.

What they say of themselves stays: names, schemas, effects, identity, limits. So it is found whether what their author
said is enough.

Above: the command `antiphon chaos`. Below: errands, and tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from antiphon.agent import Agent
from antiphon.errors import UsageError
from antiphon.testing.chaos.errand import Bench, Errand, Wish, World, turns_of
from antiphon.testing.chaos.faults import KINDS, Kind
from antiphon.tools.function import AnyFunctionTool, FunctionTool, RawFunctionTool, ToolError

FEW: Final = 3
"""Tools of one dialogue."""
POSSIBLE: Final[tuple[Kind, ...]] = tuple(kind for kind in KINDS if kind != "reworded")
"""What other words for the same are, only the author of a tool knows."""

_SAMPLES: Final[Mapping[str, Any]] = {"string": "one", "integer": 1, "number": 1.5, "boolean": True, "null": None}


class StandIns(World):
    """Counts what the tools are started for, and does nothing."""

    def __init__(self, tools: Sequence[AnyFunctionTool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def agent(self, bench: Bench) -> Agent:
        tools = [tool.with_function(partial(_run, bench, name)) for name, tool in self._tools.items()]
        return Agent(instructions="You do what you are asked to.", tools=tools)

    def writes(self, tool: str) -> bool:
        return self._tools[tool].options.effect != "reads"

    async def act(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        return "done"


async def _run(bench: Bench, _tool_name: str, **arguments: Any) -> str:
    arguments.pop("raw_arguments", None)
    return await bench.perform(_tool_name, arguments)


@dataclass(slots=True, frozen=True)
class Left:
    """A tool that is not tried, and why."""

    tool: str
    why: str


def errands_of(tools: Sequence[AnyFunctionTool]) -> tuple[list[Errand], list[Left]]:
    """Dialogues in which each tool is wished for, those that write once more in the end; and what is left out."""
    wishes: dict[str, Wish] = {}
    left: list[Left] = []
    known: dict[str, AnyFunctionTool] = {}
    for tool in tools:
        try:
            wishes[tool.name] = wish_for(tool)
        except ToolError as error:
            left.append(Left(tool.name, f"no arguments could be made up: {error.message}"))
        else:
            known[tool.name] = tool
    names = sorted(known, key=lambda name: known[name].options.effect == "reads")
    errands = []
    for at in range(0, len(names), FEW):
        few = [known[name] for name in names[at : at + FEW]]
        again = [wishes[tool.name] for tool in few if _may_repeat(tool)][:1]
        turns = [[wishes[tool.name]] for tool in few]
        errands.append(Errand(f"tools-{at // FEW + 1}", turns_of([*turns, again]), partial(StandIns, few)))
    return errands, left


def _may_repeat(tool: AnyFunctionTool) -> bool:
    return tool.options.effect != "reads" and tool.options.repeat != "once"


def wish_for(tool: AnyFunctionTool) -> Wish:
    """A call of a tool with arguments that its schema allows. Raises `ToolError` if none is found."""
    arguments = {name: value for name, value in _made_up(tool.spec.parameters).items() if not name.startswith("_")}
    prepared = tool.prepare(json.dumps(arguments))
    own = prepared.kwargs.get("raw_arguments", prepared.kwargs)
    return Wish(tool.name, json.loads(json.dumps(dict(own), default=str)))


def _made_up(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """A value of a JSON schema: what is required, no more."""
    root = schema if root is None else root
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _made_up(root.get("$defs", {}).get(name, {}), root)
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    for choice in ("enum", "examples"):
        if schema.get(choice):
            return schema[choice][0]
    for either in ("anyOf", "oneOf", "allOf"):
        if schema.get(either):
            return _made_up(schema[either][0], root)
    return _of_type(schema, root)


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    match kind:
        case "object":
            properties = schema.get("properties", {})
            return {name: _made_up(properties.get(name, {}), root) for name in schema.get("required", ())}
        case "array":
            return [_made_up(schema.get("items", {}), root)] * max(1, schema.get("minItems", 1))
        case "integer" | "number":
            least = schema.get("minimum", schema.get("exclusiveMinimum"))
            return _SAMPLES[kind] if least is None else least + (schema.get("minimum") is None)
        case "string":
            return _text(schema)
        case _:
            return _SAMPLES.get(kind, "one")


_FORMATS: Final[Mapping[str, str]] = {
    "date": "2027-03-15",
    "time": "18:30:00",
    "date-time": "2027-03-15T18:30:00",
    "email": "ann@example.com",
    "uuid": "6f1c2a52-6d0e-4f3c-9d0a-0f1f2a3b4c5d",
    "uri": "https://example.com",
}


def _text(schema: Mapping[str, Any]) -> str:
    text = _FORMATS.get(schema.get("format", ""), "one")
    return text.ljust(schema.get("minLength", 0), "e")[: schema.get("maxLength", 1000)]


def errands_in(text: str, tools: Sequence[AnyFunctionTool]) -> list[Errand]:
    """A dialogue that was written down: JSON, for each turn of the caller the calls that are right in it.

    `[[["book", {"day": "Friday"}]], [["cancel", {"day": "Friday"}]]]`. Raises `UsageError`.
    """
    known = {tool.name: tool for tool in tools}
    try:
        turns = [[Wish(name, dict(arguments)) for name, arguments in turn] for turn in json.loads(text)]
    except (ValueError, TypeError):
        raise UsageError(
            'a dialogue: expected JSON such as [[["book", {"day": "Friday"}]]], a list for a turn'
        ) from None
    for wish in (wish for turn in turns for wish in turn):
        if wish.tool not in known:
            raise UsageError(f"a dialogue: expected one of {', '.join(known)}, got {wish.tool!r}")
        try:
            known[wish.tool].prepare(json.dumps(dict(wish.arguments)))
        except ToolError as error:
            raise UsageError(f"a dialogue: {wish}: {error.message}") from None
    if not any(turns):
        raise UsageError("a dialogue: expected a call in it, got none")
    return [Errand("dialogue", turns_of(turns), partial(StandIns, list(tools)))]


def function_tools(tools: Iterator[Any] | Sequence[Any]) -> list[AnyFunctionTool]:
    """Those of them that are functions."""
    return [tool for tool in tools if isinstance(tool, (FunctionTool, RawFunctionTool))]
