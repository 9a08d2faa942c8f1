"""What a carrier's stream says, and what is said to it: one JSON text each.

What comes is read strictly where it is used and not at all elsewhere: events and fields that are not known here are
passed over, so that a carrier may add to them.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from antiphon.transports.telephone.dialect import Dialect
from antiphon.transports.telephone.mulaw import RATE
from antiphon.visible import to_json, well_formed

MAX_SOUND = 2 * RATE
"""Bytes of mu-law in one message: two seconds."""
MAX_TEXT = 32_000
"""Characters of one message."""
MAX_PARAMETERS = 50
MAX_VALUE = 2_000
"""Characters of an id, of the name of a mark, of a parameter's name or value."""
KEYS = frozenset("0123456789*#ABCD")


class Malformed(ValueError):
    """A message makes no sense. The text says what was expected and what came."""


@dataclass(slots=True, frozen=True)
class Started:
    """The stream begins."""

    stream: str
    call: str
    """The carrier's id of the call."""
    parameters: Mapping[str, str]


@dataclass(slots=True, frozen=True)
class Sound:
    """The caller's voice, mu-law."""

    data: bytes
    chunk: int | None
    """Its number in the order of speaking, from 1; None: the carrier does not number."""


@dataclass(slots=True, frozen=True)
class Key:
    """The caller pressed a key."""

    digit: str


@dataclass(slots=True, frozen=True)
class Marked:
    """What was sent before the mark has sounded, or was thrown away by a `clear`."""

    name: str


@dataclass(slots=True, frozen=True)
class Stopped:
    """The stream ends: the call is over, or goes on elsewhere."""


Message: TypeAlias = Started | Sound | Key | Marked | Stopped


def read(text: str, dialect: Dialect) -> Message | None:
    """What a message says; None for one that says nothing to us. Raises `Malformed`."""
    if len(text) > MAX_TEXT:
        raise Malformed(f"a message of {len(text)} characters: expected {MAX_TEXT} at most")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"expected JSON: {type(error).__name__}") from None
    if not isinstance(said, dict):
        raise Malformed("expected a JSON object")
    match said.get("event"):
        case "start":
            return _started(said, dialect)
        case "media":
            return _sound(_object(said, "media"))
        case "dtmf":
            digit = _text(_object(said, "dtmf"), "digit")
            if digit not in KEYS:
                raise Malformed("dtmf.digit: expected a key of a telephone")
            return Key(digit)
        case "mark":
            return Marked(_text(_object(said, "mark"), "name"))
        case "stop":
            return Stopped()
        case str():
            return None
    raise Malformed("expected a text as event")


def _started(said: dict[str, Any], dialect: Dialect) -> Started:
    start = _object(said, "start")
    kind = _object(start, dialect.media_format)
    encoding, rate = kind.get("encoding"), kind.get(dialect.sample_rate)
    if not isinstance(encoding, str) or encoding not in dialect.encodings or rate != RATE:
        raise Malformed(f"expected sound as {' or '.join(dialect.encodings)} at {RATE} Hz")
    parameters = start.get(dialect.parameters) or {}
    if not isinstance(parameters, dict) or len(parameters) > MAX_PARAMETERS:
        raise Malformed(f"{dialect.parameters}: expected an object of {MAX_PARAMETERS} entries at most")
    given = {}
    for name in parameters:
        if not 0 < len(name) <= MAX_VALUE:
            raise Malformed(f"{dialect.parameters}: a name of {len(name)} characters")
        given[well_formed(name)] = _text({"a parameter": parameters[name]}, "a parameter", least=0)
    stream = _text(said if dialect.stream_id in said else start, dialect.stream_id)
    return Started(stream, _text(start, dialect.call_id), given)


def _sound(media: dict[str, Any]) -> Sound | None:
    track = media.get("track", "inbound")
    if track not in ("inbound", "inbound_track"):
        return None  # the agent's own voice
    payload = media.get("payload")
    if not isinstance(payload, str):
        raise Malformed("media.payload: expected a text")
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed("media.payload: expected base64") from None
    if len(data) > MAX_SOUND:
        raise Malformed(f"media.payload: {len(data)} bytes, expected {MAX_SOUND} at most")
    chunk = media.get("chunk")
    number = int(chunk) if isinstance(chunk, str | int) and str(chunk).isascii() and _is_short(str(chunk)) else None
    return Sound(data, number)


def _is_short(number: str) -> bool:
    return number.isdecimal() and len(number) <= 15


def _object(said: dict[str, Any], name: str) -> dict[str, Any]:
    found = said.get(name)
    if not isinstance(found, dict):
        raise Malformed(f"{name}: expected an object")
    return found


def _text(said: dict[str, Any], name: str, *, least: int = 1) -> str:
    found = said.get(name)
    if not isinstance(found, str) or not least <= len(found) <= MAX_VALUE:
        raise Malformed(f"{name}: expected a text of {least} to {MAX_VALUE} characters")
    return well_formed(found)


# -- what is said to it


def media(dialect: Dialect, stream: str, data: bytes) -> str:
    """Play this mu-law behind what is queued."""
    return _said(dialect, stream, {"event": "media", "media": {"payload": base64.b64encode(data).decode()}})


def mark(dialect: Dialect, stream: str, name: str) -> str:
    """Say this name when all before it has sounded."""
    return _said(dialect, stream, {"event": "mark", "mark": {"name": name}})


def clear(dialect: Dialect, stream: str) -> str:
    """Throw away what is queued, and fall silent."""
    return _said(dialect, stream, {"event": "clear"})


def _said(dialect: Dialect, stream: str, message: dict[str, Any]) -> str:
    if dialect.names_stream:
        message[dialect.stream_id] = stream
    return to_json(message, separators=(",", ":"))
