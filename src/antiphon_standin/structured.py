"""An answer in the form that a request asks for: the sentence where it is spoken, neutral values everywhere else.

The engine has one sentence to say and knows nothing else, so that it fills a form only as far as the form demands it:
required fields, with values that are valid and say nothing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

SPOKEN = re.compile(r"response|answer|reply|speech|spoken|speak|say|utterance|message|text|sentence|content", re.I)
"""What a field is called that is read to the caller, or how it is described."""
NEUTRAL = "neutral"
"""A text that says nothing."""
DEEPEST = 6
"""How many objects stand in one another at most: a form may refer to itself."""
LONGEST_LIST = 20

_BY_FORMAT = {
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "PT0S",
    "email": "nobody@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-0000-0000-000000000000",
}
_MILD = ("neutral", "none", "unknown", "other", "normal", "calm", "default")

Schema = Mapping[str, Any]


def schema_of(wire: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema in a response format as it is sent; an object of any kind where there is none."""
    named = wire.get("json_schema")
    if isinstance(named, Mapping):
        return dict(named.get("schema") or {"type": "object"})
    return dict(wire) if wire.get("type") == "object" else {"type": "object"}


def form(schema: Schema, sentence: str) -> str:
    """JSON of the schema that says the sentence."""
    path = next(_spoken_paths(schema, schema, ()), None)
    if path is None and not _properties(schema):
        return json.dumps({"response": sentence}, ensure_ascii=False)
    return json.dumps(_Form(schema, path, sentence).value(schema, ()), ensure_ascii=False)


def _properties(schema: Schema) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _resolved(schema: Any, root: Schema) -> Schema:
    """What stands behind a reference. An unknown one allows anything."""
    for _ in range(DEEPEST):
        if not isinstance(schema, Mapping):
            return {}
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return schema
        target: Any = root
        for part in ref.removeprefix("#").strip("/").split("/"):
            target = target.get(part) if isinstance(target, Mapping) else None
        schema = target
    return {}


def _is_free_text(schema: Schema) -> bool:
    return schema.get("type") == "string" and not schema.keys() & {"enum", "const", "format", "pattern"}


def _spoken_paths(schema: Schema, root: Schema, at: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Where the sentence may go, likeliest first: by name, by description, then the last text, then further down."""
    fields = {name: _resolved(value, root) for name, value in _properties(schema).items()}
    texts = [name for name, value in fields.items() if _is_free_text(value)]
    for name in texts:
        if SPOKEN.search(name):
            yield (*at, name)
    for name in texts:
        if SPOKEN.search(str(fields[name].get("description", ""))):
            yield (*at, name)
    inner = [name for name, value in fields.items() if _properties(value) and len(at) < DEEPEST]
    for name in inner:
        deeper = next(_spoken_paths(fields[name], root, (*at, name)), None)
        if deeper is not None and (not texts or SPOKEN.search(deeper[-1])):
            yield deeper
    yield from ((*at, name) for name in reversed(texts))


class _Form:
    """One form being filled."""

    def __init__(self, root: Schema, spoken: tuple[str, ...] | None, sentence: str) -> None:
        self._root = root
        self._spoken = spoken
        self._sentence = sentence

    def value(self, schema: Any, at: tuple[str, ...]) -> Any:
        """A valid value that says nothing, or the sentence if it belongs here."""
        schema = _resolved(schema, self._root)
        if self._spoken is not None and at == self._spoken:
            return self._sentence[: schema.get("maxLength", len(self._sentence))]
        if "const" in schema:
            return schema["const"]
        if choices := schema.get("enum"):
            return next((choice for choice in choices if str(choice).lower() in _MILD), choices[0])
        if "default" in schema:
            return schema["default"]
        for kind in ("anyOf", "oneOf"):
            if options := schema.get(kind):
                return self._one_of([_resolved(option, self._root) for option in options], at)
        if merged := schema.get("allOf"):
            return self.value(_merged([_resolved(part, self._root) for part in merged]), at)
        return self._of_type(schema, at)

    def _one_of(self, options: list[Schema], at: tuple[str, ...]) -> Any:
        if any(option.get("type") == "null" for option in options):
            return None
        return self.value(options[0], at)

    def _of_type(self, schema: Schema, at: tuple[str, ...]) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = "null" if "null" in kind else kind[0]
        match kind:
            case "string":
                return _text(schema)
            case "boolean":
                return False
            case "integer" | "number":
                return _number(schema, whole=kind == "integer")
            case "array":
                return self._list(schema, at)
            case "null":
                return None
            case _:
                return self._object(schema, at)

    def _list(self, schema: Schema, at: tuple[str, ...]) -> list[Any]:
        firsts = [self.value(item, (*at, "")) for item in schema.get("prefixItems", ())]
        missing = min(schema.get("minItems", 0), LONGEST_LIST) - len(firsts)
        return firsts + [self.value(schema.get("items", {}), (*at, "")) for _ in range(missing)]

    def _object(self, schema: Schema, at: tuple[str, ...]) -> dict[str, Any]:
        required = set(schema.get("required", ()))
        if self._spoken is not None and at == self._spoken[: len(at)] and len(at) < len(self._spoken):
            required.add(self._spoken[len(at)])
        if len(at) > DEEPEST:
            return {}
        return {name: self.value(value, (*at, name)) for name, value in _properties(schema).items() if name in required}


def _merged(parts: list[Schema]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for part in parts:
        whole |= part
    whole["properties"] = {name: value for part in parts for name, value in _properties(part).items()}
    whole["required"] = [name for part in parts for name in part.get("required", ())]
    return whole


def _text(schema: Schema) -> str:
    if examples := schema.get("examples"):
        return str(examples[0])
    text = _BY_FORMAT.get(schema.get("format", ""), NEUTRAL)
    text = text.ljust(schema.get("minLength", 0), ".")
    return text[: schema.get("maxLength", len(text))]


def _number(schema: Schema, *, whole: bool) -> float:
    """The valid number nearest to zero."""
    step = schema.get("multipleOf") or 1
    low = _bound(schema, "minimum", "exclusiveMinimum", step if whole else step / 1000)
    high = _bound(schema, "maximum", "exclusiveMaximum", -step if whole else -step / 1000)
    number: float = 0
    if low is not None and low > 0:
        number = math.ceil(low / step) * step if whole or "multipleOf" in schema else low
    elif high is not None and high < 0:
        number = math.floor(high / step) * step if whole or "multipleOf" in schema else high
    return int(number) if whole else number


def _bound(schema: Schema, inclusive: str, exclusive: str, beside: float) -> float | None:
    if inclusive in schema:
        return float(schema[inclusive])
    return float(schema[exclusive]) + beside if exclusive in schema else None
