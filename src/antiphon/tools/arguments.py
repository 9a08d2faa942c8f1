"""A model's text to a dict of arguments, and arguments to one normal form.

Models write broken JSON: single quotes, trailing commas, chat-template tokens, JSON inside a JSON string. It is
repaired where only one meaning is possible. It is refused where a repair would be a guess: text that was cut off in the
middle of a value ("amount": 10 may have become 100) is not a smaller argument, it is an unknown one.

Pure functions, no schemas: what the arguments must be like is the business of `schema`.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final

from antiphon.secret import Secret

MAX_CHARS: Final = 200_000
"""Longer arguments are refused: looking at them would hold up the calls of others."""
_REPAIRABLE_CHARS: Final = 10_000
"""Longer broken text is refused: repairing it takes some ten times as long as reading it."""
_REPAIRABLE_DEPTH: Final = 50
"""Brackets in a row, for the same reason."""
_WRAPPINGS: Final = 3
"""How many times a JSON text may be a JSON string itself."""

_TEMPLATE_TOKEN = re.compile(
    r"<[|｜][^<>|｜]{1,60}[|｜]>"  # noqa: RUF001 - some models use the full-width bar
    r"|</?(?:tool_calls?|function_calls?|function|parameters|arguments|s)>"
    r"|\[/?TOOL_CALLS?\]"
)
# A string without an end goes to the end of the text: looking for one at each quote in it would take for ever.
_STRING = re.compile(r"""(["'])(?:(?!\1)[^\\]|\\(?:.|\Z))*+(\1?)""", re.DOTALL)
_BEHIND_STRING = re.compile(r"\s*(?:[,:}\]]|\Z)")
_MISSING_VALUE = re.compile(r":\s*(?:[,}\]]|$)")
_MISSING_COLON = re.compile(r'[{,]\s*""\s*[^:\s,}\]]|\{\s*""\s*[,}]')
_COMPLETE_END = re.compile(r"(?:[\"'}\]{\[,]|\b(?:true|false|null|True|False|None))\s*$")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SUSPECT = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]|[eE]\+?\d{3}|\d{300}")
"""What may stand for a character that no text can carry (a lone surrogate), or for a number beyond all bounds."""
_DEEPEST: Final = 100
"""Levels of nesting that are followed."""
_TOO_DEEP: Final = "expected a JSON object, got one nested too deep. Call again with less nesting."


class BadArguments(Exception):
    """The arguments cannot be used. The message is for the model."""


class TooMuch(BadArguments):
    """Looking at the arguments takes more steps than anybody has time for."""

    def __init__(self) -> None:
        super().__init__("there is too much in the arguments to check it. Call again with less, in several calls.")


class Steps:
    """What may still be done for one call. A step takes half a microsecond."""

    __slots__ = ("_left",)

    def __init__(self, allowed: int) -> None:
        self._left = allowed

    def spend(self, steps: int) -> None:
        """Raises `TooMuch` when there is nothing left."""
        self._left -= steps
        if self._left < 0:
            raise TooMuch


@dataclass(slots=True)
class Given:
    """What a model gave."""

    arguments: dict[str, Any]
    text: str
    """A JSON object: the model's own text, trimmed, if that was one, else the repaired form."""


def parse_arguments(arguments: str | Mapping[str, Any] | None) -> Given:
    """The object that a model wrote. None and "" are no arguments. Raises `BadArguments`, and nothing else."""
    try:
        given = _given(arguments)
    except RecursionError:
        raise BadArguments(_TOO_DEEP) from None
    if given.text.count("{") + given.text.count("[") > _DEEPEST and _depth(given.arguments) > _DEEPEST:
        raise BadArguments(_TOO_DEEP)
    return given


def _given(arguments: str | Mapping[str, Any] | None) -> Given:
    if arguments is None:
        return Given({}, "{}")
    if not isinstance(arguments, str):
        return _from_mapping(arguments)
    if len(arguments) > MAX_CHARS:
        raise TooMuch
    text = arguments.strip(" \t\r\n\ufeff")
    if not text:
        return Given({}, "{}")
    if isinstance(value := _strict_object(text), dict):
        return Given(value, text)
    value = _unwrapped(_loads(text))
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise _no_object(value)
    value = _scrubbed(value)
    return Given(value, to_json(value))


def _no_object(value: Any) -> BadArguments:
    return BadArguments(f"expected a JSON object, got {shown(value)}. Call again with an object of named arguments.")


def _depth(value: Any) -> int:
    """How deep a value is nested: an object of plain values is 1 deep."""
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, (dict, list, tuple))]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


def to_json(value: Any) -> str:
    """Compact enough, readable, and never escaping what a reader could read."""
    return json.dumps(value, ensure_ascii=False)


_in_order = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def canonical_text(arguments: Mapping[str, Any]) -> str:
    """One text for equal arguments: keys in order, 1 for 1.0, sets sorted, objects by their fields, texts stripped."""
    return _in_order({name: _canonical(value, stripped=True) for name, value in arguments.items()})


def identity(value: Any) -> str:
    """One text for equal JSON values, and for these only: 1 is 1.0, and not true."""
    return _in_order(_canonical(value))


def shown(value: Any) -> str:
    """A value as an error message quotes it: JSON, cut short."""
    try:
        text = to_json(value)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value).__name__)
    text = _SURROGATE.sub("\ufffd", text)
    return text if len(text) <= 80 else f"{text[:80]}... ({len(text)} characters)"


def _from_mapping(arguments: Mapping[str, Any]) -> Given:
    if not isinstance(arguments, Mapping):
        raise _no_object(arguments)
    try:
        value = _scrubbed({str(name): argument for name, argument in arguments.items()})
        text = to_json(value)
    except (TypeError, ValueError) as error:
        raise BadArguments(f"expected JSON values, got something else ({error}). Pass plain values.") from error
    if len(text) > MAX_CHARS:
        raise TooMuch
    return Given(value, text)


def _strict_object(text: str) -> Any:
    """The value of text that can go into the history as it is, else None."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except ValueError:
        return None
    return None if _SUSPECT.search(text) and value != _scrubbed(value) else value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _unwrapped(value: Any) -> Any:
    """The value behind JSON that was encoded again as a string."""
    for _ in range(_WRAPPINGS):
        if not isinstance(value, str):
            return value
        text = value.strip()
        if not text:
            return None
        if text[0] not in '{["':
            return value
        value = _loads(text)
    return value


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        return _repaired(text, error)


def _repaired(text: str, error: ValueError) -> Any:
    if len(text) > _REPAIRABLE_CHARS:
        raise BadArguments(f"the JSON is malformed ({error}). Call again with a valid JSON object.") from error
    text = _TEMPLATE_TOKEN.sub("", text).strip()
    if text.startswith("```"):
        text = text.removeprefix("```").removeprefix("json").removesuffix("```").strip()
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if (objects := _objects_in_a_row(text)) is not None:
        if any(value != objects[0] for value in objects[1:]):
            raise BadArguments(f"expected one JSON object, got {len(objects)} different ones. Make one call for each.")
        return objects[0]
    if (value := _object_before_prose(text)) is not None:
        return value
    if not text.startswith("{"):
        raise BadArguments(f"expected a JSON object, got {shown(text)}. Call again with an object of named arguments.")
    if not _has_one_meaning(text):
        raise BadArguments("the JSON is incomplete. Call again with the whole object.")
    return _repair(text, error)


def _objects_in_a_row(text: str) -> list[Any] | None:
    """The values of text that is nothing but JSON values one after the other, or None."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    position = 0
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        values.append(value)
        while position < len(text) and text[position] in " \t\r\n,;":
            position += 1
    return values


def _object_before_prose(text: str) -> dict[str, Any] | None:
    """The object that text begins with, if what follows it is none."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if "{" in text[end:]:
        raise BadArguments("expected one JSON object, got more than one. Make one call for each.")
    return value


def _has_one_meaning(text: str) -> bool:
    """False if a value is absent, or may have been longer before the text was cut off."""
    bare = _STRING.sub(_without_content, text)
    if set(bare.replace('""', "")) & {'"', "'"}:  # a string without an end, or with a quote inside
        return False
    depths = accumulate((char in "{[") - (char in "]}") for char in bare)
    if max(depths, default=0) > _REPAIRABLE_DEPTH:
        return False
    if _MISSING_VALUE.search(bare) or _MISSING_COLON.search(bare):
        return False
    return bare.rstrip().endswith("}") or bool(_COMPLETE_END.search(bare))


def _without_content(string: re.Match[str]) -> str:
    """Empty quotes for a string; a lone quote for one without an end, or that ends inside a word."""
    quote, end = string.groups()
    closed = end and (quote == '"' or _BEHIND_STRING.match(string.string, string.end()))
    return '""' if closed else quote


def _repair(text: str, error: ValueError) -> Any:
    import json_repair

    try:
        return json_repair.loads(text, skip_json_loads=True)
    except Exception:
        # A repair tool may fail in any way on text that means nothing.
        raise BadArguments(f"the JSON is malformed ({error}). Call again with a valid JSON object.") from error


def _scrubbed(value: Any) -> Any:
    """Without characters that cannot be sent as UTF-8; numbers that JSON cannot say become their names."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_scrubbed(name): _scrubbed(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_scrubbed(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value


def _canonical(value: Any, *, stripped: bool = False) -> Any:
    if isinstance(value, Secret):
        return value.fingerprint()
    if isinstance(value, enum.Enum):
        return _canonical(value.value, stripped=stripped)
    if isinstance(value, str):
        return value.strip() if stripped else value
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else str(value.normalize())
    if isinstance(value, datetime) and value.tzinfo is not None:
        return str(value.astimezone(UTC))
    if isinstance(value, Mapping):
        return {_key(name): _canonical(item, stripped=stripped) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(item, stripped=stripped) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(
            (_canonical(item, stripped=stripped) for item in value), key=lambda item: json.dumps(item, sort_keys=True)
        )
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _canonical(getattr(value, f.name), stripped=stripped) for f in dataclasses.fields(value)}
    if isinstance(fields := getattr(value, "__dict__", None), dict) and hasattr(value, "__pydantic_fields_set__"):
        return {name: _canonical(item, stripped=stripped) for name, item in fields.items()}
    return str(value)


def _key(name: Any) -> str:
    return name if isinstance(name, str) else str(_canonical(name))
