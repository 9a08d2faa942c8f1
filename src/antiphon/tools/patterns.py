"""The regular expressions of foreign schemas, matched in time that grows with the text and with nothing else.

Above: `checking`. Below: the engine of pydantic-core, which is linear and knows no backtracking. What it cannot do
(look-around, back references), what it reads in another sense than JSON schema does, and what it would take long to
compile is refused: the caller of `compile_pattern` then says in words that it is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_MAX_CHARS: Final = 2_000
MAX_WEIGHT: Final = 3_000
"""States of a compiled pattern, roughly: 3,000 take 40 ms to compile."""

_TOKEN = re.compile(
    r"\\.|\[(?P<body>\^?(?:\\.|[^\]\\])*)\]|(?P<open>\((?:\?(?:[:=!]|<[=!]|P?<\w{1,50}>))?)|(?P<close>\))"
    r"|\{(?P<low>\d{1,9})(?P<range>,(?P<high>\d{0,9}))?\}|.",
    re.DOTALL,
)
_WIDE = re.compile(r"\\[wWpP]")
_WIDE_WEIGHT: Final = 100
"""The letters of all scripts take this many states."""
_SETS = re.compile(r"(?<!\\)\[|&&|--|~~")
"""Inside a class, the engine reads these as sets, JSON schema as characters."""


@dataclass(slots=True, frozen=True)
class Pattern:
    """A compiled pattern. `weight` is what a character of text costs, roughly."""

    matches: Callable[[str], bool]
    """Whether a text has a part that fits."""
    weight: int


class NotLinear(Exception):
    """The pattern cannot be matched as it is meant, in bounded time. The message says why, in a few words."""


def compile_pattern(pattern: str) -> Pattern:
    """Raises `NotLinear`."""
    weight = _weight(pattern)
    if weight > MAX_WEIGHT:
        raise NotLinear("it is too large")
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=pattern, strict=True))
    except SchemaError:
        raise NotLinear("it looks around or back, or is malformed") from None
    return Pattern(validator.isinstance_python, weight)


def _weight(pattern: str) -> int:
    """An upper bound of the states that a pattern compiles to."""
    if len(pattern) > _MAX_CHARS:
        raise NotLinear("it is too long")
    sums, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        if token["open"]:
            sums.append(1)
            last = 0
        elif token["close"]:
            if len(sums) == 1:
                raise NotLinear("it is malformed")
            last = sums.pop()
            sums[-1] += last
        elif token["low"] is not None:
            times = max(int(token["low"]), int(token["high"] or 0)) + (token["high"] == "")
            sums[-1] += last * max(times - 1, 0)
            last *= max(times, 1)
        else:
            body = token["body"]
            if body is not None and (body in ("", "^") or _SETS.search(body)):
                raise NotLinear("it has a class of characters that can be read in two ways")
            last = 1 + _WIDE_WEIGHT * len(_WIDE.findall(token[0]))
            last += 10 * (token[0] == "." or (body or "").startswith("^"))
            sums[-1] += last
        if sums[-1] > MAX_WEIGHT:
            raise NotLinear("it is too large")
    return sum(sums) or 1
