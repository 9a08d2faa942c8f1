"""What providers refuse of a tool: then no request with it is answered, whatever it is about.

As documented and as their refusals say. A recursive type is the only one whose schema has references here. What the
framework itself leaves out or writes in another form for a provider is not told.

Above: the table. Below: the schema of a tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from antiphon.lint.description import AgentView, Provider, ToolView
from antiphon.lint.rules.spot import Asked, Spot

_TOP: Final = ("oneOf", "anyOf", "allOf", "enum", "not")
_MOST_OF_OPENAI: Final = 128
_LONGEST_OF_OPENAI: Final = 1024
_KEY_OF_ANTHROPIC: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NAME_OF_GEMINI: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}")
_NOT_OF_GEMINI: Final = (
    "const oneOf allOf not if then else patternProperties propertyNames dependentRequired dependentSchemas contains"
    " exclusiveMinimum exclusiveMaximum multipleOf uniqueItems unevaluatedProperties"
).split()


def schema_refused(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """What the providers that were named refuse."""
    for provider in asked.providers:
        if provider == "openai" and len(agent.tools) > _MOST_OF_OPENAI:
            yield Spot(f"openai refuses more than {_MOST_OF_OPENAI} tools, got {len(agent.tools)}")
        for tool in agent.tools:
            for why in _REFUSALS[provider](tool):
                yield Spot(f"{tool.name}: {provider} refuses {why}", tool)


def _openai(tool: ToolView) -> Iterator[str]:
    yield from _top(tool.schema, _TOP)
    if len(tool.description) > _LONGEST_OF_OPENAI:
        yield f"a description of more than {_LONGEST_OF_OPENAI} characters, got {len(tool.description)}"
    for where, part in _parts(tool.schema):
        if _is_array(part) and "items" not in part:
            yield f"an array without items ({where}): a tuple is one. Take a list, or single parameters"


def _anthropic(tool: ToolView) -> Iterator[str]:
    yield from _top(tool.schema, ("oneOf", "anyOf", "allOf"))
    for where, part in _parts(tool.schema):
        for name in part.get("properties", ()):
            if not _KEY_OF_ANTHROPIC.fullmatch(str(name)):
                yield f"the property name {name!r} ({where}): expected up to 64 letters, digits, _, . and -"
        for name in ("exclusiveMinimum", "exclusiveMaximum", "required"):
            if isinstance(part.get(name), bool):
                yield f"{name}: {part[name]} ({where}), which is no JSON schema of 2020"
        if isinstance(part.get("items"), list):
            yield f"a list of items ({where}), which is no JSON schema of 2020: prefixItems is its name"


def _gemini(tool: ToolView) -> Iterator[str]:
    if not _NAME_OF_GEMINI.fullmatch(tool.name):
        yield f"the name {tool.name!r}: expected a letter or _, then up to 62 letters, digits, _, . and -"
    for where, part in _parts(tool.schema):
        for name in _NOT_OF_GEMINI:
            if name in part:
                yield f"{name} ({where}), which its schemas do not have"
        if isinstance(part.get("type"), list):
            yield f"a list of types ({where}): name one"
        if _is_array(part) and "items" not in part:
            yield f"an array without items ({where})"
        if any(not isinstance(one, str) for one in part.get("enum", ()) if one is not None):
            yield f"values that are no texts ({where}): its enum holds texts alone"
        if part.get("type") == "object" and where and not part.get("properties"):
            yield f"an object without named properties ({where}): name them"


_REFUSALS: Final[Mapping[Provider, Callable[[ToolView], Iterator[str]]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


def _top(schema: Mapping[str, Any], refused: tuple[str, ...]) -> Iterator[str]:
    if schema and schema.get("type") != "object":
        yield f"parameters of type {schema.get('type')!r}: expected an object"
    for name in refused:
        if name in schema:
            yield f"{name} at the top of the parameters: put it into a property"


def _is_array(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind)


def _parts(schema: Any, where: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A schema and all schemas in it, with where they stand: "", "guests", "guests[]"."""
    if not isinstance(schema, Mapping):
        return
    yield where, schema
    for name in ("properties", "$defs", "patternProperties"):
        for key, part in (schema.get(name) or {}).items() if isinstance(schema.get(name), Mapping) else ():
            yield from _parts(part, f"{where}.{key}" if where else str(key))
    for name in ("items", "additionalProperties", "not"):
        yield from _parts(schema.get(name), f"{where}[]")
    for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for part in schema.get(name) or ():
            yield from _parts(part, where or f"({name})")
