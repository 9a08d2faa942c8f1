"""A schema of a server's tool, rewritten as one object: the endpoints of models refuse alternatives at the top.

Above: `function`, which makes tools of what servers offer. Below: `wellformed`. What all parts ask for is merged; of
alternatives the properties are offered together, only what each needs is required, and words say which go together.
Arguments are still checked against the schema as the server wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from antiphon.errors import ToolDefinitionError
from antiphon.tools.arguments import Steps, TooMuch, identity, shown
from antiphon.tools.wellformed import well_formed

Schema = dict[str, Any]

_DEFINITIONS: Final = ("$defs", "definitions")
_ALTERNATIVES: Final = ("anyOf", "oneOf")
_MERGED: Final = frozenset({"type", "properties", "required", "allOf", "$ref", *_ALTERNATIVES})
_MAX_DEPTH: Final = 64
_MAX_STEPS: Final = 4_000
_COMPARED_IN_A_STEP: Final = 50
"""Characters of a schema. What is merged again and again doubles each time."""
_MAX_NAMED: Final = 20
"""Alternatives, and names in each, that are put in words."""


@dataclass(slots=True, frozen=True)
class OneObject:
    """What a model can be told of a schema."""

    parameters: Schema
    note: str = ""
    """What the parameters cannot say, in words; "" if they say it all."""
    checked: Schema | None = None
    """What arguments must fit, where the parameters say less."""


def as_object(schema: Mapping[str, Any], *, name: str) -> OneObject:
    """Raises `ToolDefinitionError` where one object would say something else than the schema of tool `name` does."""
    whole = well_formed(schema, name=name).schema
    if whole.get("type", "object") == "object" and not whole.keys() & {"$ref", "allOf", "enum", "not", *_ALTERNATIVES}:
        return OneObject(whole)
    try:
        merged = _Merger(whole).read(whole, 0)
        if merged is None:
            raise _NotOne("it allows no object")
        parameters = _written(merged, whole)
    except (_NotOne, TooMuch) as error:
        why = error if isinstance(error, _NotOne) else "it is too large"
        raise ToolDefinitionError(
            f"tool {name!r}: its parameters cannot be told as one object ({why}), and the endpoints of models refuse"
            " others. Its author can describe one object, with every property."
        ) from None
    return OneObject(parameters, " ".join(dict.fromkeys(merged.notes)), whole)


class _NotOne(Exception):
    """Why a schema cannot be rewritten, in a few words."""


@dataclass(slots=True, frozen=True)
class _Object:
    """What is known of the object that a schema describes."""

    properties: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """The schemas that each may have, each once."""
    required: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Merger:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._known: dict[int, _Object | None] = {}
        self._under_way: set[int] = set()
        self._steps = Steps(_MAX_STEPS)

    def read(self, schema: Any, depth: int) -> _Object | None:
        """The object; None if no object fits."""
        if not isinstance(schema, dict):
            return _Object() if schema else None
        key = id(schema)
        if key not in self._known:
            if key in self._under_way or depth > _MAX_DEPTH:
                raise _NotOne("it refers to itself")
            self._under_way.add(key)
            self._known[key] = self._read(schema, depth + 1)
        return self._known[key]

    def _read(self, schema: Schema, depth: int) -> _Object | None:
        kinds = schema.get("type", "object")
        if "object" not in ([kinds] if isinstance(kinds, str) else kinds):
            return None
        for word in ("enum", "const", "not"):
            if word in schema:
                raise _NotOne(f"it has {word!r} at the top")
        properties = {name: (one,) for name, one in schema.get("properties", {}).items()}
        parts: list[_Object | None] = [_Object(properties, tuple(schema.get("required", ())))]
        if "$ref" in schema:
            parts.append(self.read(self._target(schema["$ref"]), depth))
        parts += [self.read(one, depth) for one in schema.get("allOf", ())]
        parts += [self._either(schema[word], depth) for word in _ALTERNATIVES if word in schema]
        present = [part for part in parts if part is not None]
        return self._merged(present) if len(present) == len(parts) else None

    def _either(self, alternatives: Iterable[Any], depth: int) -> _Object | None:
        options = [option for option in (self.read(one, depth) for one in alternatives) if option is not None]
        if not options:
            return None
        if len(options) == 1:
            return options[0]
        properties: dict[str, dict[str, Any]] = {}
        for option in options:
            for name, schemas in option.properties.items():
                properties.setdefault(name, {}).update((self._identity(one), one) for one in schemas)
        common = [name for name in options[0].required if all(name in option.required for option in options)]
        return _Object(
            {name: tuple(schemas.values()) for name, schemas in properties.items()},
            tuple(common),
            (_in_words(options, frozenset(common)),),
        )

    def _merged(self, parts: list[_Object]) -> _Object:
        """What fits all of them."""
        properties: dict[str, tuple[Any, ...]] = {}
        for part in parts:
            for name, schemas in part.properties.items():
                earlier = properties.get(name, schemas)
                both = [{"allOf": [_one_of(earlier), _one_of(schemas)]}]
                same = list(map(self._identity, earlier)) == list(map(self._identity, schemas))
                properties[name] = schemas if same else tuple(both)
        required = dict.fromkeys(name for part in parts for name in part.required)
        return _Object(properties, tuple(required), tuple(note for part in parts for note in part.notes if note))

    def _identity(self, value: Any) -> str:
        text = identity(value)
        self._steps.spend(1 + len(text) // _COMPARED_IN_A_STEP)
        return text

    def _target(self, reference: str) -> Any:
        found: Any = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            found = found.get(part) if isinstance(found, dict) else None
        if not isinstance(found, dict) or not reference.startswith("#/"):
            raise _NotOne(f"it refers to {shown(reference)}")
        return found


def _one_of(schemas: tuple[Any, ...]) -> Any:
    if len(schemas) == 1:
        return schemas[0]
    allowed = [_values(one) for one in schemas]
    if all(allowed):
        return {"enum": list({identity(value): value for values in allowed for value in values}.values())}
    return {"anyOf": list(schemas)}


def _values(schema: Any) -> list[Any]:
    """The values that it allows, if it lists them."""
    if not isinstance(schema, dict):
        return []
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _written(merged: _Object, whole: Schema) -> Schema:
    kept = {word: value for word, value in whole.items() if word not in _MERGED and word != "additionalProperties"}
    parameters = {
        **kept,
        "type": "object",
        "properties": {name: _one_of(schemas) for name, schemas in merged.properties.items()},
    }
    if merged.required:
        parameters["required"] = list(merged.required)
    for reference in _references(parameters):
        if reference != "#" and not reference.startswith(tuple(f"#/{word}/" for word in _DEFINITIONS)):
            raise _NotOne(f"a part of it refers to {shown(reference)}")
    return parameters


def _references(schema: Any) -> Iterable[str]:
    todo = [schema]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            if isinstance(reference := one.get("$ref"), str):
                yield reference
            todo += one.values()
        elif isinstance(one, list):
            todo += one


def _in_words(options: list[_Object], common: frozenset[str]) -> str:
    """Which arguments go together: "Give either `id`; or `name` and `city`."."""
    each = [_needs(option, common) for option in options[:_MAX_NAMED]]
    named = list(dict.fromkeys(words for words in each if words))
    if len(named) < 2:
        return ""
    more = "; or others" if len(options) > _MAX_NAMED else ""
    return f"Give either {'; or '.join(named)}{more}."


def _needs(option: _Object, common: frozenset[str]) -> str:
    fixed = {name: _constant(schemas) for name, schemas in option.properties.items()}
    words = [f"`{name}` = {value}" for name, value in fixed.items() if value and name in option.required]
    words += [f"`{name}`" for name in option.required if name not in common and not fixed.get(name)]
    return " and ".join(words[:_MAX_NAMED])


def _constant(schemas: tuple[Any, ...]) -> str:
    only = schemas[0] if len(schemas) == 1 and isinstance(schemas[0], dict) else {}
    return shown(only["const"]) if "const" in only else ""
