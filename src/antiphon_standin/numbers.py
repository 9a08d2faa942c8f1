"""Numbers as people say them: "twenty three", "a couple", "the fifteenth", "one oh five", "double five".

Above: `moments` (dates and times) and `understand`. All readers take the tokens and a position, and give the value
and the position after it, or None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from antiphon.language import ENGLISH
from antiphon_standin.words import Token

_UNITS = {word: int(digits) for word, digits in ENGLISH.spoken.numbers.items()}
_TENS = {word: 10 * int(digit) for word, digit in ENGLISH.spoken.tens.items()}
_SCALES = {"hundred": 100, "thousand": 1000}
_ORDINALS = {
    w: n
    for n, w in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth"
        " fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        start=1,
    )
} | {"thirtieth": 30, "fortieth": 40, "fiftieth": 50}
_ORDINAL_DIGITS = re.compile(r"(\d{1,2})(?:st|nd|rd|th)$")
_DIGIT_WORDS = {w: str(n) for w, n in _UNITS.items() if n < 10} | dict.fromkeys(ENGLISH.spoken.zero, "0")
NUMBER_WORDS = frozenset(_UNITS) | frozenset(_TENS) | frozenset(_SCALES)

Read = tuple[int, int]


def small(low: str) -> int | None:
    """A number of one word or of digits: "seven", "15"."""
    if low.isdigit():
        return int(low)
    return _UNITS.get(low, _TENS.get(low))


def below_hundred(tokens: Sequence[Token], i: int) -> Read | None:
    """As in "forty two", "7", "nineteen"."""
    if i >= len(tokens):
        return None
    low = tokens[i].low
    if low.isdigit():
        return (int(low), i + 1) if len(low) <= 2 else None
    if low in _UNITS:
        return _UNITS[low], i + 1
    if low in _TENS:
        if i + 1 < len(tokens) and 0 < _UNITS.get(tokens[i + 1].low, 0) < 10 and not tokens[i].tail:
            return _TENS[low] + _UNITS[tokens[i + 1].low], i + 2
        return _TENS[low], i + 1
    return None


def cardinal(tokens: Sequence[Token], i: int) -> Read | None:
    """A whole number: "12", "1,500", "a hundred and five", "a dozen", "a couple"."""
    if i >= len(tokens):
        return None
    low = tokens[i].low
    if re.fullmatch(r"\d{1,3}(,\d{3})+", low):
        return int(low.replace(",", "")), i + 1
    if low.isdigit():
        value, at = int(low), i + 1
    elif low in ("a", "an") and i + 1 < len(tokens) and tokens[i + 1].low in ("couple", "dozen", "hundred", "thousand"):
        value, at = 1, i + 1
    elif low in ("couple", "pair"):
        value, at = 1, i
    else:
        read = below_hundred(tokens, i)
        if read is None:
            return None
        value, at = read
    total = 0
    while at < len(tokens):
        low = tokens[at].low
        if low in ("couple", "pair"):
            value, at = value * 2, at + 1
            if at < len(tokens) and tokens[at].low == "of":
                at += 1
        elif low == "dozen":
            value, at = value * 12, at + 1
        elif low in _SCALES:
            if low == "thousand":
                total, value = total + value * 1000, 0
            else:
                value *= 100
            at += 1
            rest = at + 1 if at < len(tokens) and tokens[at].low == "and" else at
            more = below_hundred(tokens, rest)
            if more is not None:
                value, at = value + more[0], more[1]
        else:
            break
    return total + value, at


def ordinal(tokens: Sequence[Token], i: int) -> Read | None:
    """As in "15th", "fifteenth", "twenty third"."""
    if i >= len(tokens):
        return None
    low = tokens[i].low
    if match := _ORDINAL_DIGITS.match(low):
        return int(match[1]), i + 1
    if low in _ORDINALS:
        return _ORDINALS[low], i + 1
    if low in _TENS and i + 1 < len(tokens) and 0 < _ORDINALS.get(tokens[i + 1].low, 0) < 10:
        return _TENS[low] + _ORDINALS[tokens[i + 1].low], i + 2
    return None


def digits(tokens: Sequence[Token], i: int) -> tuple[str, int] | None:
    """One spoken piece of a digit string: "five", "42", "forty two", "double five", "oh"."""
    if i >= len(tokens):
        return None
    low = tokens[i].low
    if low in ("double", "triple", "treble"):
        after = digits(tokens, i + 1)
        if after is None or len(after[0]) != 1:
            return None
        return after[0] * (2 if low == "double" else 3), after[1]
    if low in _DIGIT_WORDS:
        return _DIGIT_WORDS[low], i + 1
    bare = re.sub(r"[+,\-.()]", "", low)
    if bare.isdigit():
        return bare, i + 1
    if low in _UNITS or low in _TENS:
        read = below_hundred(tokens, i)
        if read is not None:
            return str(read[0]), read[1]
    return None
