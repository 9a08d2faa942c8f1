"""What a tool returned, as text for the model.

Text stays as it is; everything else becomes JSON, so that a model sees `null` and `"b"`, never a Python repr. An object
whose class has a `__str__` is its string.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from collections.abc import ItemsView, KeysView, Mapping, Sequence, Set, ValuesView
from typing import Any

from antiphon.tools.function import ToolError
from antiphon.visible import finite

_SCALARS = (str, bool, int, float)


def render_result(value: object, *, max_chars: int = 20_000) -> str:
    """The text for a result: `str` unchanged, all else as JSON; over `max_chars` it is cut, with a note on how much.

    Numbers, bools, dicts, sequences, sets, dataclasses, pydantic models, dates, enums, UUIDs, decimals and paths
    are rendered, nested ones too; other objects are their string, if their class has a `__str__`. Raises `ToolError`
    for anything else, naming its type: the call has happened, its result cannot be told.
    """
    text = value if isinstance(value, str) and not isinstance(value, enum.Enum) else _shown(value)
    if len(text) <= max_chars:
        return text
    return f"{text[:max_chars]}\n[cut: the first {max_chars} of {len(text)} characters]"


def _shown(value: object) -> str:
    try:
        plain = _plain(value)
        return str(plain) if isinstance(plain, _OwnText) else json.dumps(finite(plain), ensure_ascii=False)
    except RecursionError:
        raise ToolError("The tool has run, but its result cannot be shown: it contains itself.") from None


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if value is None or isinstance(value, _SCALARS):
        return value
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else _key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (bytes, bytearray)):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise _unknown(value) from None
    if isinstance(value, (Sequence, KeysView, ValuesView, ItemsView)):
        return [_plain(item) for item in value]
    if isinstance(value, Set):
        # In one order, so that equal results read the same.
        return sorted((_plain(item) for item in value), key=lambda item: (str(type(item)), str(item)))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return _plain(dump(mode="json") if hasattr(value, "__pydantic_fields_set__") else dump())
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return float(value) if value.is_finite() and decimal.Decimal(str(float(value))) == value else str(value)
    if isinstance(value, (uuid.UUID, pathlib.PurePath)):
        return str(value)
    return _own_text(value)


class _OwnText(str):
    """What an object says of itself."""

    __slots__ = ()


def _own_text(value: object) -> _OwnText:
    """What an object of a class that says so has to say of itself."""
    if type(value).__str__ is object.__str__ or isinstance(value, type):
        raise _unknown(value)
    return _OwnText(str(value))


def _key(key: object) -> str:
    plain = _plain(key)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _unknown(value: object) -> ToolError:
    name = type(value).__name__
    article = "an" if name[0] in "AEIOaeio" else "a"
    return ToolError(
        f"The tool has run, but its result cannot be shown: {article} {name} has no JSON form. "
        "(For its author: return text, or plain data.)"
    )
