"""A schema that somebody else wrote, as JSON schema has it: each keyword with a value of its kind, all of it bounded.

Above: `raw`. What a schema holds is taken over as it is; what cannot be meant (`"properties": null`, `"enum": 5`) is
left out, with a word on it, so that the tool stays callable and nobody who reads the schema later has to look twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from antiphon.errors import ToolDefinitionError
from antiphon.tools.arguments import shown
from antiphon.visible import well_formed as encodable

MAX_SIZE: Final = 20_000
"""Values in a schema; 100 characters of text count as one."""
MAX_DEPTH: Final = 64

_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_LOST: Final = object()
"""In the place of what cannot be meant."""


@dataclass(slots=True, frozen=True)
class WellFormed:
    """What `well_formed` made of a schema."""

    schema: dict[str, Any]
    left_out: tuple[str, ...]
    """What was left out, in words."""


def well_formed(schema: Mapping[str, Any], *, name: str) -> WellFormed:
    """A copy of `schema`, the schema of tool `name`. Raises `ToolDefinitionError` if it is too large or too deep."""
    reader = _Reader(name)
    read = reader.mapping(schema, 0)
    return WellFormed(read, tuple(dict.fromkeys(reader.left_out)))


def inlined_size(schema: Mapping[str, Any]) -> float:
    """How many values a schema has once each reference is replaced by what it refers to; a circle is entered once.

    Some vendors take no references: what doubles them is short here, and too large for anybody there.
    """
    sizes: dict[str, float] = {}

    def size(value: Any) -> float:
        if isinstance(value, list):
            return 1 + sum(map(size, value))
        if not isinstance(value, Mapping):
            return 1
        reference = value.get("$ref")
        inlined = referred(reference) if isinstance(reference, str) else 0
        inner = (one for word, one in value.items() if word not in ("$defs", "definitions"))
        return 1 + inlined + sum(map(size, inner))

    def referred(reference: str) -> float:
        if reference not in sizes:
            sizes[reference] = 1
            target: Any = schema
            for part in reference.removeprefix("#/").split("/"):
                target = target.get(part) if isinstance(target, Mapping) else None
            sizes[reference] = size(target)
        return sizes[reference]

    try:
        return size(schema)
    except RecursionError:
        return math.inf


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._size = 0
        self.left_out: list[str] = []

    def _count(self, value: Any, depth: int) -> None:
        self._size += 1 + (len(value) // 100 if isinstance(value, str) else 0)
        if self._size > MAX_SIZE or depth > MAX_DEPTH:
            raise ToolDefinitionError(
                f"tool {self._name!r}: its schema is too {'deep' if depth > MAX_DEPTH else 'large'}: expected at most"
                f" {MAX_SIZE} values, {MAX_DEPTH} levels deep. Describe less, or take a part of it as text."
            )

    def mapping(self, schema: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        self._count(schema, depth)
        read: dict[str, Any] = {}
        for keyword, value in schema.items():
            kind = _KEYWORDS.get(keyword, _Reader.anything)
            found = kind(self, value, depth + 1)
            if found is _LOST:
                self.left_out.append(f"{keyword} (its value makes no sense: {shown(value)})")
            else:
                read[encodable(str(keyword))] = found
        for bound, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(excluded := read.get(bound), bool):  # as it was written before 2019
                del read[bound]
                if excluded and limit in read:
                    read[bound] = read.pop(limit)
        return read

    # -- what the value of a keyword may be

    def schema(self, value: Any, depth: int) -> Any:
        if isinstance(value, bool):
            return value
        return self.mapping(value, depth) if isinstance(value, Mapping) else _LOST

    def named_schemas(self, value: Any, depth: int) -> Any:
        if not isinstance(value, Mapping):
            return _LOST
        self._count(value, depth)
        return {encodable(str(name)): self._schema_or_any(name, one, depth + 1) for name, one in value.items()}

    def schemas(self, value: Any, depth: int) -> Any:
        if not _is_list(value) or not value:
            return _LOST
        self._count(value, depth)
        return [self._schema_or_any("an alternative", one, depth + 1) for one in value]

    def items(self, value: Any, depth: int) -> Any:
        return self.schemas(value, depth) if _is_list(value) else self.schema(value, depth)

    def _schema_or_any(self, what: object, value: Any, depth: int) -> Any:
        read = self.schema(value, depth)
        if read is not _LOST:
            return read
        self.left_out.append(f"{shown(what)} (its schema makes no sense: {shown(value)})")
        return {}

    def names(self, value: Any, depth: int) -> Any:
        if not _is_list(value):
            return _LOST
        return [self.anything(name, depth + 1) for name in value if isinstance(name, str)]

    def names_by_name(self, value: Any, depth: int) -> Any:
        if not isinstance(value, Mapping):
            return _LOST
        read = {encodable(str(name)): self.names(names, depth + 1) for name, names in value.items()}
        return {name: names for name, names in read.items() if names is not _LOST}

    def values(self, value: Any, depth: int) -> Any:
        return self.anything(value, depth) if _is_list(value) and value else _LOST

    def types(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return value if value in _TYPES else _LOST
        named = [one for one in value if isinstance(one, str) and one in _TYPES] if _is_list(value) else []
        return named if named and len(named) == len(value) else _LOST

    def text(self, value: Any, depth: int) -> Any:
        return self.anything(value, depth) if isinstance(value, str) else _LOST

    def truth(self, value: Any, _depth: int) -> Any:
        return value if isinstance(value, bool) else _LOST

    def number(self, value: Any, _depth: int) -> Any:
        return value if not isinstance(value, bool) and _is_finite(value) else _LOST

    def bound(self, value: Any, _depth: int) -> Any:
        return value if _is_finite(value) else _LOST

    def step(self, value: Any, depth: int) -> Any:
        read = self.number(value, depth)
        return read if read is _LOST or read > 0 else _LOST

    def count(self, value: Any, depth: int) -> Any:
        read = self.number(value, depth)
        return read if read is _LOST or (read >= 0 and read == int(read)) else _LOST

    def anything(self, value: Any, depth: int) -> Any:
        """A value of any kind that JSON has."""
        self._count(value, depth)
        if isinstance(value, str):
            return encodable(value)
        if value is None or isinstance(value, bool) or _is_finite(value):
            return value
        if isinstance(value, Mapping):
            read = {encodable(str(name)): self.anything(one, depth + 1) for name, one in value.items()}
            return {name: one for name, one in read.items() if one is not _LOST}
        if _is_list(value):
            return [one for one in (self.anything(one, depth + 1) for one in value) if one is not _LOST]
        return _LOST


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def _is_finite(value: Any) -> bool:
    if isinstance(value, int):
        return value.bit_length() <= 1024  # Python writes no integer of thousands of digits
    return isinstance(value, float) and math.isfinite(value)


_KINDS: Final[Mapping[Callable[[_Reader, Any, int], Any], str]] = {
    _Reader.named_schemas: "properties patternProperties $defs definitions dependentSchemas",
    _Reader.schemas: "anyOf oneOf allOf prefixItems",
    _Reader.schema: "additionalProperties additionalItems contains propertyNames not if then else"
    " unevaluatedProperties unevaluatedItems",
    _Reader.items: "items",
    _Reader.names: "required",
    _Reader.names_by_name: "dependentRequired",
    _Reader.values: "enum",
    _Reader.types: "type",
    _Reader.text: "title description format pattern $ref $id $schema",
    _Reader.truth: "uniqueItems",
    _Reader.number: "minimum maximum",
    _Reader.bound: "exclusiveMinimum exclusiveMaximum",
    _Reader.step: "multipleOf",
    _Reader.count: "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains",
}
_KEYWORDS: Final = {keyword: kind for kind, keywords in _KINDS.items() for keyword in keywords.split()}
