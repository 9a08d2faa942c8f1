"""Arguments with what models write in the place of what they mean, put right.

Above: `schema` and `raw`, which check what comes of it. A null for a property that is not required goes: it has a
default. A list or an object that was written as a string is read, where the schema allows no string. Both schema and
arguments may come from strangers: a schema is looked at once, and arguments in counted steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from antiphon.tools.arguments import Steps, identity

Schema = dict[str, Any]

_MAX_STEPS: Final = 100_000
"""Steps for the arguments of one call: some 50 ms."""
_MAX_CHAIN: Final = 20
"""References that lead to one another."""


@dataclass(slots=True, frozen=True)
class _Shape:
    """An object that a schema allows: what tells it from others, and what is in it."""

    schema: Schema
    required: frozenset[str]
    values: Mapping[str, frozenset[str]]
    """Properties of which only these values are allowed, by identity."""
    by_default: frozenset[str]
    """Properties for which a null stands for the default."""


@dataclass(slots=True, frozen=True)
class _Facts:
    """What is to be known of a schema to read a value for it."""

    kinds: frozenset[Any]
    shapes: tuple[_Shape, ...]
    items: tuple[Schema, ...]


class Meaning:
    """How values for a schema are meant. With `keep_nullable` a null stays where the schema allows it."""

    def __init__(self, schema: Schema, *, keep_nullable: bool = False) -> None:
        self._root = schema
        self._keep_nullable = keep_nullable
        self._facts: dict[int, _Facts] = {}

    def of(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """`given` put right at any depth. The original stays. Raises `TooMuch`."""
        cleaned: dict[str, Any] = self._meant(given, self._root, Steps(_MAX_STEPS))
        return cleaned

    def _meant(self, value: Any, schema: Any, steps: Steps) -> Any:
        if not isinstance(schema, dict):
            return value
        facts = self._facts_of(schema)
        steps.spend(1 + len(facts.shapes))
        if isinstance(value, str):
            value = _read(value, facts.kinds)
        if isinstance(value, Mapping):
            return self._object(value, facts, steps)
        if isinstance(value, list) and len(facts.items) == 1:
            return [self._meant(item, facts.items[0], steps) for item in value]
        return value

    def _object(self, value: Mapping[str, Any], facts: _Facts, steps: Steps) -> dict[str, Any]:
        shapes = [shape for shape in facts.shapes if _may_be(value, shape, steps)]
        if not shapes:
            return dict(value)
        cleaned = {}
        for name, item in value.items():
            steps.spend(len(shapes))
            if item is None and all(name in shape.by_default for shape in shapes):
                continue
            if len(shapes) > 1:
                # Of several possible shapes, go on with the one there is; without one, leave the value alone.
                cleaned[name] = item
                continue
            schema = shapes[0].schema
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            cleaned[name] = self._meant(item, inner, steps)
        return cleaned

    # -- the schema, looked at once

    def _facts_of(self, schema: Schema) -> _Facts:
        facts = self._facts.get(id(schema))
        if facts is None:
            facts = self._facts[id(schema)] = self._look_at(schema)
        return facts

    def _look_at(self, schema: Schema) -> _Facts:
        options = _options(schema, self._root)
        kinds: set[Any] = set()
        for option in options:
            kind = option.get("type")
            kinds.update(kind if isinstance(kind, list) else [kind])
        shapes = [self._shape(option) for option in options if "properties" in option or option.get("type") == "object"]
        items = [option["items"] for option in options if isinstance(option.get("items"), dict)]
        return _Facts(frozenset(kinds), tuple(shapes), tuple(items))

    def _shape(self, schema: Schema) -> _Shape:
        required = frozenset(schema.get("required", ()))
        properties = {n: p for n, p in schema.get("properties", {}).items() if isinstance(p, dict)}
        values = {
            name: frozenset(map(identity, [one["const"]] if "const" in one else one["enum"]))
            for name, one in properties.items()
            if "const" in one or "enum" in one
        }
        by_default = frozenset(
            name
            for name, one in schema.get("properties", {}).items()
            if name not in required and not (self._keep_nullable and allows_null(one))
        )
        return _Shape(schema, required, values, by_default)


def _may_be(value: Mapping[str, Any], shape: _Shape, steps: Steps) -> bool:
    """True unless a required property is absent or a constant differs: tells the shapes of a union apart."""
    steps.spend(len(shape.required) + len(shape.values))
    if not all(name in value for name in shape.required):
        return False
    given = (name for name in shape.values if value.get(name) is not None)
    return all(identity(value[name]) in shape.values[name] for name in given)


def _read(text: str, kinds: frozenset[Any]) -> Any:
    """What `text` says if it is JSON, and the schema asks for that and for no text."""
    if not kinds <= {"object", "array", "null"}:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else None
    return value if kind in kinds else text


def allows_null(schema: Any) -> bool:
    """Whether null fits, as far as types and alternatives say."""
    if not isinstance(schema, dict):
        return True
    kinds = schema.get("type")
    if kinds is None and not ({"anyOf", "oneOf", "enum", "const", "$ref", "allOf"} & schema.keys()):
        return True
    return (
        kinds == "null"
        or (isinstance(kinds, list) and "null" in kinds)
        or None in schema.get("enum", ())
        or any(allows_null(option) for option in [*schema.get("anyOf", ()), *schema.get("oneOf", ())])
    )


def _options(schema: Schema, root: Schema) -> list[Schema]:
    """The alternatives of a schema, references followed, each once."""
    found: list[Schema] = []
    seen: set[int] = set()
    todo = [schema]
    while todo:
        option = _resolved(todo.pop(), root)
        if id(option) in seen:
            continue
        seen.add(id(option))
        alternatives = [*option.get("anyOf", ()), *option.get("oneOf", ())]
        todo += reversed([one for one in alternatives if isinstance(one, dict)])
        if not alternatives:
            found.append(option)
    return found


def _resolved(schema: Schema, root: Schema) -> Schema:
    for _ in range(_MAX_CHAIN):  # a chain of references that leads nowhere ends
        if not isinstance(reference := schema.get("$ref"), str):
            break
        schema = _referred(reference, root)
    return schema


def _referred(reference: str, root: Schema) -> Schema:
    target: Any = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        target = target.get(part, {}) if isinstance(target, dict) else {}
    return target if isinstance(target, dict) else {}
