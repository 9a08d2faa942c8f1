"""Facts, commands, notices, history items and options as JSON data, and back.

A value becomes an object that names its class: `{"is": "Transcribed", "text": "Hi", "final": true}`. The fields of the
classes are the schema, so a new fact needs nothing here. What stands in a journal and is unknown here, a class, a field
or a kind of value, is refused in words; a field that came later has its default.

JSON has no NaN, infinite numbers or bytes: the numbers are texts ("NaN"), pictures are `{"base64": ...}`.

Above: journals and what stores keep of calls. Below: the vocabulary of the core. It knows no files and no versions.
"""

from __future__ import annotations

import base64
import binascii
import enum
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from antiphon.chat import ChatContent, ChatItem, ChatMessage, ChatRole, ImageContent
from antiphon.core.commands import Command
from antiphon.core.facts import Fact
from antiphon.errors import JournalError
from antiphon.language.consent_phrases import ConsentPhrases
from antiphon.options import SessionOptions
from antiphon.visible import finite, one_line

LARGEST_IMAGE = 100_000
"""Bytes of a picture, or characters of its URL, that a journal keeps. Of a larger one it says how large it was."""

DEEPEST = 40
"""Levels of data without a class (`tool_choice`, `extra`) that are kept; what is deeper becomes "..."."""

LARGEST_NUMBER = 2**63
"""Of whole numbers: a larger one cannot be calculated with beside others."""

_SHOWN = 80
"""Characters of a value that an error quotes."""
_IS = "is"
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_LEFT_OUT = frozenset({"wire", "type"})
"""Fields of history items that are a provider's, or say what the name of the class says."""

Reader: TypeAlias = Callable[[Any], Any]


# -- values to data


def to_data(value: object) -> Any:
    """The value as JSON-ready data. Never raises for what a fact can hold; see `LARGEST_IMAGE`."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    names = _NAMES.get(kind)
    if names is not None:
        data: dict[str, Any] = {_IS: kind.__name__}
        for name in names:
            data[name] = to_data(getattr(value, name))
        return data
    return _odd_to_data(value, kind)


def _odd_to_data(value: Any, kind: type) -> Any:
    if isinstance(value, (tuple, list)):
        return [to_data(one) for one in value]
    if kind is ImageContent:
        return _image_to_data(value)
    if kind is ConsentPhrases:  # a page of words: what is English is in the package
        differing = [one.name for one in fields(kind) if getattr(value, one.name) != one.default]
        return {_IS: kind.__name__, **{name: to_data(getattr(value, name)) for name in differing}}
    if kind is ChatMessage or (is_dataclass(kind) and kind.__name__ in classes()):
        _NAMES[kind] = tuple(_schema(kind))
        return to_data(value)
    return _free(value, DEEPEST)


_NAMES: dict[type, tuple[str, ...]] = {}
"""By class: the fields that are kept. Filled as values come."""


def _free(value: Any, depth: int) -> Any:
    """Data that has no class: what JSON cannot say of it becomes text."""
    if isinstance(value, enum.Enum):
        return _free(value.value, depth)
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return finite(float(value))
    if not depth:
        return "..."
    if isinstance(value, Mapping):
        return {str(key): _free(one, depth - 1) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_free(one, depth - 1) for one in value]
    return one_line(str(value))


def _image_to_data(image: ImageContent) -> dict[str, Any]:
    kept: Any = image.image
    if len(kept) > LARGEST_IMAGE:
        kept = f"about:blank#left-out-{len(kept)}"
    elif isinstance(kept, bytes):
        kept = {"base64": base64.b64encode(kept).decode("ascii")}
    return {_IS: "ImageContent", "image": kept, "mime_type": image.mime_type, "detail": image.detail}


# -- data to values


@cache
def reader(hint: Any) -> Reader:
    """What makes values of a type (a class, `Fact`, `Command`, `ChatItem`) of data. Raises `JournalError`."""
    if isinstance(hint, type) and (read := _SIMPLE.get(hint)) is not None:
        return read
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return _data
    if origin is Literal:
        return _literal(arguments)
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return _pair(tuple(reader(one) for one in arguments))
    if origin in (tuple, list):
        return _sequence(origin, reader(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _mapping
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _literal(tuple(one.value for one in hint), hint)
    return _union((hint,))


def _refused(expected: str, got: Any) -> JournalError:
    return JournalError(f"expected {expected}, got {one_line(repr(got), _SHOWN)}")


def _plain(kind: type, name: str) -> Reader:
    def read(data: Any) -> Any:
        if type(data) is not kind:
            raise _refused(name, data)
        return data

    return read


def _integer(data: Any) -> Any:
    if type(data) in (int, float) and abs(data) <= LARGEST_NUMBER and data == int(data):
        return data
    raise _refused("a whole number", data)


def _number(data: Any) -> Any:
    if type(data) is float or (type(data) is int and abs(data) <= LARGEST_NUMBER):
        return data
    if type(data) is str and data in _NUMBERS:
        return _NUMBERS[data]
    raise _refused("a number", data)


def _bytes(data: Any) -> bytes:
    if isinstance(data, dict) and data.keys() == {"base64"} and isinstance(data["base64"], str):
        try:
            return base64.b64decode(data["base64"], validate=True)
        except (binascii.Error, ValueError) as error:
            raise JournalError(f"expected base64: {error}") from None
    raise _refused('{"base64": ...}', data)


def _data(data: Any) -> Any:
    return _free(data, DEEPEST)


def _mapping(data: Any) -> Any:
    if not isinstance(data, dict):
        raise _refused("an object", data)
    return _free(data, DEEPEST)


_SIMPLE: dict[type, Reader] = {
    str: _plain(str, "a text"),
    bool: _plain(bool, "true or false"),
    NoneType: _plain(NoneType, "null"),
    int: _integer,
    float: _number,
    bytes: _bytes,
    dict: _mapping,
}


def _literal(values: tuple[Any, ...], made: Callable[[Any], Any] | None = None) -> Reader:
    def read(data: Any) -> Any:
        if not isinstance(data, (str, int)) or data not in values:
            raise _refused(" or ".join(map(repr, values)), data)
        return data if made is None else made(data)

    return read


def _sequence(kind: Callable[[Any], Any], read_one: Reader) -> Reader:
    def read(data: Any) -> Any:
        if not isinstance(data, list):
            raise _refused("a list", data)
        return kind(map(read_one, data))

    return read


def _pair(readers: tuple[Reader, ...]) -> Reader:
    def read(data: Any) -> Any:
        if not isinstance(data, list) or len(data) != len(readers):
            raise _refused(f"a list of {len(readers)}", data)
        return tuple(read_one(one) for read_one, one in zip(readers, data, strict=True))

    return read


def _union(hints: tuple[Any, ...]) -> Reader:
    """One of several: classes are told apart by their names, all else by trying."""
    classes = {one.__name__: one for one in hints if _is_class(one)}
    others = [reader(one) for one in hints if not _is_class(one)]

    def read(data: Any) -> Any:
        if classes and isinstance(data, dict) and _IS in data:
            kind = classes.get(data[_IS]) if isinstance(data[_IS], str) else None
            if kind is None:
                raise JournalError(_unknown(data[_IS], classes))
            return _object(kind, data)
        said = []
        for read_one in others:
            try:
                return read_one(data)
            except JournalError as error:
                said.append(str(error))
        if classes:
            said.append(str(_refused(f"a {_names(classes)}", data)))
        raise JournalError("; or ".join(said))

    return read


def _unknown(name: Any, classes: Mapping[str, type]) -> str:
    return f"expected a {_names(classes)}, got the class {one_line(repr(name), _SHOWN)}"


def _names(classes: Mapping[str, type]) -> str:
    """All of a few, else what they are together."""
    if len(classes) <= 6:
        return " or ".join(classes)
    return "fact" if "Transcribed" in classes else "command or notice"


def _object(kind: type, data: dict[str, Any]) -> Any:
    schema = _schema(kind)
    values = {}
    for name, given in data.items():
        if name == _IS:
            continue
        if name not in schema:
            raise JournalError(
                f"{kind.__name__} has no field {one_line(repr(name), _SHOWN)}: expected {', '.join(schema) or 'none'}"
            )
        try:
            values[name] = schema[name][0](given)
        except JournalError as error:
            raise JournalError(f"{kind.__name__}.{name}: {error}") from None
    missing = [name for name, (_, needed) in schema.items() if needed and name not in values]
    if missing:
        raise JournalError(f"{kind.__name__} without {', '.join(missing)}")
    return kind(**values)


@cache
def _schema(kind: type) -> dict[str, tuple[Reader, bool]]:
    """By field that is kept: what reads it, and whether it must be there."""
    if kind is ChatMessage:  # written by hand, so it has no fields to ask
        needed = {"role": ChatRole, "content": list[ChatContent]}
        rest = {"id": str, "interrupted": bool, "extra": dict[str, Any], "created_at": float}
        return {name: (reader(hint), name in needed) for name, hint in {**needed, **rest}.items()}
    hints = get_type_hints(kind)
    return {
        one.name: (reader(hints[one.name]), one.default is MISSING and one.default_factory is MISSING)
        for one in fields(kind)
        if one.init and not (one.name in _LEFT_OUT and issubclass(kind, get_args(ChatItem)))
    }


def _is_class(hint: Any) -> bool:
    return isinstance(hint, type) and (hint is ChatMessage or is_dataclass(hint))


@cache
def classes() -> dict[str, type]:
    """All classes that a journal may hold, by name: those below, and those of their fields."""
    found: dict[str, type] = {}
    waiting: list[Any] = [Fact, Command, ChatItem, SessionOptions, ImageContent]
    while waiting:
        hint = waiting.pop()
        if not _is_class(hint):
            waiting += get_args(hint)
        elif found.setdefault(hint.__name__, hint) is not hint:
            raise TypeError(f"two classes of a journal are called {hint.__name__}: rename one")
        elif hint is not ChatMessage:
            waiting += [one for one in get_type_hints(hint).values() if one not in found.values()]
    return found
