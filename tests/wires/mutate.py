"""Bad input: values that parsers stumble over, and ways to break good messages."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

TEXTS = (
    "", " ", "\0", "\n", "\ud800", "a\udfffb", "\ud55c", "\\ud800", "\u202e", "\ufeff", "👩‍👩‍👧", "\x1b[2J", "NaN",
    "null", "-1", "1e400", "{", "}", "[]", "{}", '"', "'", "<html>", "%s%n", "../..", "x" * 5_000, "é" * 300,
    "a b " * 200, "/finished", "call_1", "true", "2024-02-30", "data:", "\r\n\r\n",
)  # fmt: skip
"""Strings that mean something to somebody."""
SCALARS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**64), 10**400, 0.0, -0.0, 1e308, 5e-324, float("inf"),
    float("-inf"), float("nan"),
)  # fmt: skip
_WORDS = (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80")
_KEYS = ("", "id", "type", "name", "error", "message", "index", "\ud800", "__class__", "\0")


def text(random: Random) -> str:
    """Any text."""
    if random.random() < 0.7:
        return random.choice(TEXTS)
    return "".join(
        chr(random.choice((random.randrange(128), random.randrange(0x11000)))) for _ in range(random.randrange(20))
    )


def value(random: Random, depth: int = 3) -> Any:
    """Anything that JSON can say, and what Python's reads beyond it."""
    kind = random.randrange(8)
    if kind < 3 or depth <= 0:
        return text(random)
    if kind < 6:
        return random.choice(SCALARS)
    if kind == 6:
        return [value(random, depth - 1) for _ in range(random.randrange(4))]
    return {random.choice(_KEYS): value(random, depth - 1) for _ in range(random.randrange(4))}


def deep(random: Random) -> str:
    """JSON text that is nested further than a reader may follow."""
    levels = random.choice((100, 990, 5_000, 100_000))
    opening, closing = random.choice((("[", "]"), ('{"a":', "}")))
    return opening * levels + random.choice(("1", "", '"x"')) + closing * random.choice((levels, 0))


def long(random: Random, pieces: Sequence[str]) -> str:
    """A long text of few pieces: what takes a reader more than one look at each character shows."""
    period = "".join(random.choice(pieces) for _ in range(random.randrange(1, 4))) or "a"
    size = random.choice((5_000, 49_000, 300_000))
    ends = [random.choice(("", *pieces)) for _ in range(4)]
    return ends[0] + ends[1] + period * (size // len(period)) + ends[2] + ends[3]


def changed(random: Random, message: Any, times: int | None = None) -> Any:
    """A message of JSON values with something in it replaced, left out, doubled, or put in."""
    message = copy.deepcopy(message)
    for _ in range(random.choice((1, 1, 1, 2, 5)) if times is None else times):
        holder, key = _place(random, message)
        if holder is None:
            message = value(random)
            continue
        match random.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[random.choice(_KEYS)] = value(random)
            case 1 | 2 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 3 if isinstance(holder[key], str):
                holder[key] = _spliced(random, holder[key])
            case _:
                holder[key] = value(random)
    return message


def _place(random: Random, message: Any) -> tuple[Any, Any]:
    """A container in a message and a key of it; (None, None) if it has none."""
    places: list[tuple[Any, Any]] = []
    stack = [message]
    while stack:
        holder = stack.pop()
        if not isinstance(holder, (dict, list)):
            continue
        keys: Iterable[Any] = list(holder) if isinstance(holder, dict) else range(len(holder))
        places += [(holder, key) for key in keys]
        stack += [holder[key] for key in keys]
    return random.choice(places) if places else (None, None)


def _spliced(random: Random, word: str) -> str:
    at = random.randrange(len(word) + 1)
    return word[:at] + text(random) + word[at + random.randrange(3) :]


def written(random: Random, message: Any) -> str:
    """A message as JSON text; now and then with its text broken, too."""
    said = json.dumps(message, ensure_ascii=random.random() < 0.8)
    return said if random.random() < 0.85 else torn_text(random, said)


def torn_text(random: Random, said: str) -> str:
    """A text that was cut, doubled, or changed in places."""
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(said) + 1)
        match random.randrange(5):
            case 0:
                said = said[:at]
            case 1:
                said = said[:at] + text(random) + said[at:]
            case 2:
                said = said[:at] + said[at + 1 + random.randrange(5) :]
            case 3:
                said = said[:at] + random.choice("{}[]\",:\\'0-.eE\n \0") + said[at + 1 :]
            case _:
                said = said[: 100_000 // 2] * 2
    return said


def torn(random: Random, data: bytes) -> bytes:
    """Bytes that were cut, doubled, or changed in places."""
    made = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        at = random.randrange(len(made) + 1)
        match random.randrange(6):
            case 0:
                del made[at:]
            case 1:
                made[at:at] = random.randbytes(random.randrange(1, 9))
            case 2:
                del made[at : at + random.randrange(1, 9)]
            case 3 if made:
                made[min(at, len(made) - 1)] = random.choice((0, 0x7F, 0x80, 0xFF, random.randrange(256)))
            case 4:
                made[at : at + 4] = random.choice(
                    (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80")
                )
            case _:
                made[at:at] = made[:at][-64:]
    return bytes(made)


def talk(
    random: Random, seeds: Sequence[Any], *, most: int = 8, write: Callable[[Random, Any], Any] = written
) -> list[Any]:
    """What a peer sends in one connection: messages of `seeds` in their order or any other, some of them bad."""
    if random.random() < 0.5:
        begin = random.randrange(len(seeds))
        chosen = list(seeds[begin : begin + most])
    else:
        chosen = [random.choice(seeds) for _ in range(random.randrange(1, most + 1))]
    bad = random.randrange(len(chosen))
    said = [
        write(random, changed(random, one) if at == bad or random.random() < 0.2 else one)
        for at, one in enumerate(chosen)
    ]
    if random.random() < 0.01:
        said[bad] = deep(random)
    return said
