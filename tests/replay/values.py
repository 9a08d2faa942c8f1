"""Every value that a journal can hold, made from the fields of its class."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from antiphon.chat import ChatContent, ChatItem, ChatMessage, ChatRole, ImageContent
from antiphon.core.codec import reader, to_data
from antiphon.core.commands import Command
from antiphon.core.facts import Fact
from antiphon.options import SessionOptions
from antiphon.visible import to_json

TEXTS = st.text(st.characters(), max_size=20)  # halves of surrogate pairs included
NUMBERS = st.floats(allow_nan=False)
FREE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda one: st.lists(one, max_size=3) | st.dictionaries(TEXTS, one, max_size=3),
    max_leaves=6,
)
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: st.integers(-(2**40), 2**40),
    float: NUMBERS,
    bool: st.booleans(),
    NoneType: st.none(),
    bytes: st.binary(max_size=40),
    Any: FREE,
}

KINDS: tuple[tuple[type, Any], ...] = (
    *((kind, Fact) for kind in get_args(Fact)),
    *((kind, Command) for kind in get_args(Command)),
    *((kind, ChatItem) for kind in get_args(ChatItem)),
    (SessionOptions, SessionOptions),
    (ImageContent, ImageContent),
)
"""Each class, and what it is read as."""


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type."""
    if hint in SIMPLE:
        return SIMPLE[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of([values(one) for one in arguments])
    if origin is tuple and arguments[-1] is not Ellipsis:
        return st.tuples(*(values(one) for one in arguments))
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is list:
        return st.lists(values(arguments[0]), max_size=3)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(TEXTS, FREE, max_size=3)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return st.sampled_from(hint)
    if hint is ChatMessage:
        return st.builds(
            ChatMessage,
            role=values(ChatRole),
            content=TEXTS | st.lists(values(ChatContent), max_size=3),
            id=TEXTS,
            interrupted=st.booleans(),
            extra=st.dictionaries(TEXTS, FREE, max_size=2),
            created_at=NUMBERS,
        )
    hints = get_type_hints(hint)
    given = {one.name: values(hints[one.name]) for one in fields(hint) if one.init and one.name != "type"}
    return st.builds(hint, **given)


def again(value: Any, read_as: Any) -> Any:
    """The value, written down and read."""
    return reader(read_as)(json.loads(to_json(to_data(value)).encode()))
