"""Addresses, telephone numbers and codes as people spell them out loud."""

from __future__ import annotations

import re
from collections.abc import Sequence

from antiphon_standin import numbers
from antiphon_standin.words import Token, is_stop, phrases

_NATO = {
    w: w[0]
    for w in (
        "alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar papa"
        " quebec romeo sierra tango uniform victor whiskey xray yankee zulu"
    ).split()
}
_JOINTS = {
    "dot": ".",
    "period": ".",
    "point": ".",
    "underscore": "_",
    "dash": "-",
    "hyphen": "-",
    "minus": "-",
    "plus": "+",
}
_BEFORE_ADDRESS = frozenset("is it's its email e-mail address mail my the at to on that's be use".split())
_LEADS = frozenset("no nope yes yeah oh ah uh um actually sorry wait well okay ok".split())
"""Words before an address or a number that are not a part of it, unless a joint follows ("no dot reply")."""
_CODE_WORDS = frozenset(phrases("announces a code"))


def read_email(tokens: Sequence[Token], i: int) -> tuple[str, int] | None:
    """An e-mail address that starts at i, written or spoken ("john dot doe at example dot com")."""
    if "@" in tokens[i].low:
        return tokens[i].low, i + 1
    if tokens[i].low in _BEFORE_ADDRESS or (
        tokens[i].low in _LEADS and not (i + 1 < len(tokens) and tokens[i + 1].low in _JOINTS and not tokens[i].tail)
    ):
        return None
    reach = i + 12 + 3 * sum(_example_at(tokens, k) is not None for k in range(i, len(tokens)))
    at = next((k for k in range(i + 1, min(reach, len(tokens))) if tokens[k].low == "at"), None)
    if at is None or at + 1 >= len(tokens):
        return None
    host, end = _host(tokens, at + 1)
    if host is None:
        return None
    local = ""
    k = i
    while k < at:
        low = tokens[k].low
        if low in _JOINTS:
            local += _JOINTS[low]
        elif low in _BEFORE_ADDRESS or low in ("and", "um", "uh", "i", "so"):
            return None
        else:
            piece = numbers.digits(tokens, k)
            if piece is not None and low not in ("o", "oh"):
                local, k = local + piece[0], piece[1]
                continue
            after = tokens[k + 1].low
            if low in ("double", "triple", "treble") and len(after) == 1 and k + 1 < at:
                local, k = local + after * (2 if low == "double" else 3), k + 2
                continue
            if (past := _example_at(tokens, k)) is not None:
                local, k = local + low, past
                continue
            if tokens[k].tail == "," and len(low) > 1 and k + 1 < at and after not in _JOINTS and low not in _JOINTS:
                return None  # what comes before a pause is not a part of it: "with two b's, b o b b at ..."
            local += low.replace("'", "")
        k += 1
    return (f"{local}@{host}", end) if local and local[0] not in ".-_" else None


def _example_at(tokens: Sequence[Token], k: int) -> int | None:
    """The end of a letter that is told by a word: "m as in Mike", "b for Bravo"; None if there is none at k."""
    if len(tokens[k].low) != 1 or not tokens[k].low.isalpha():
        return None
    lows = [token.low for token in tokens[k + 1 : k + 4]]
    skip = 2 if lows[:2] == ["as", "in"] else 1 if lows[:1] == ["for"] else 0
    if not skip or len(lows) <= skip or not lows[skip].startswith(tokens[k].low):
        return None
    return k + skip + 2


def _host(tokens: Sequence[Token], i: int) -> tuple[str | None, int]:
    if re.fullmatch(r"[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}", tokens[i].low):
        return tokens[i].low, i + 1
    host, dotted, k = "", False, i
    while k < len(tokens) and k < i + 9:
        low = tokens[k].low
        if low in ("dot", "point", "period") and k + 1 < len(tokens) and host:
            host, dotted, k = f"{host}.{tokens[k + 1].low}", True, k + 2
            continue
        if low in ("dash", "hyphen") and k + 1 < len(tokens) and host and not dotted:
            host, k = f"{host}-{tokens[k + 1].low}", k + 2
            continue
        if dotted or low in ("and", "please"):
            break
        if low in ("g", "hot", "out", "proton", "face") or not host:
            host, k = host + low, k + 1
        elif any(token.low == "dot" for token in tokens[k : k + 3]):
            host, k = host + low, k + 1
        else:
            break
    host = host.rstrip(".").replace("'", "")
    return (host, k) if dotted else (None, i)


def read_phone(tokens: Sequence[Token], i: int) -> tuple[str, int] | None:
    """A run of at least seven digits from i, spoken in any grouping: digits, with "+" and extension if said."""
    plus = tokens[i].low == "plus" or tokens[i].low.startswith("+")
    at = i + 1 if tokens[i].low == "plus" else i
    if at < len(tokens) and (tokens[at].low == "o" or (tokens[at].low == "oh" and tokens[at].tail)):
        return None
    out = ""
    while at < len(tokens):
        piece = numbers.digits(tokens, at)
        if piece is None:
            if out and tokens[at].low in ("dash", "hyphen", "area", "and", "then", "hundred") and at + 1 < len(tokens):
                if tokens[at].low == "hundred":
                    out, at = out + "00", at + 1
                    continue
                if numbers.digits(tokens, at + 1) is not None:
                    at += 1
                    continue
            break
        out, at = out + piece[0], piece[1]
        if len(out) < 3 and tokens[at - 1].tail == "," and at < len(tokens) and re.fullmatch(r"\d{3,}", tokens[at].low):
            return None  # "the last digit is four, 415 ...": the number comes after it
        if tokens[at - 1].tail.startswith(("?", "!")):
            break
    if not 7 <= len(out) <= 15:
        return None
    extension, at = _extension(tokens, at)
    return f"{'+' if plus else ''}{out}{extension}", at


def _extension(tokens: Sequence[Token], i: int) -> tuple[str, int]:
    """What a caller adds to a number as the extension ("extension four two"), and its end."""
    if i >= len(tokens) or tokens[i].low not in ("extension", "ext"):
        return "", i
    out, at = "", i + 1
    while (piece := numbers.digits(tokens, at)) is not None:
        out, at = out + piece[0], piece[1]
    return (f" extension {out}", at) if out else ("", i)


def cued_code(tokens: Sequence[Token], i: int) -> bool:
    """True if the words before i announce a code ("my order number is")."""
    back = [token.low for token in tokens[max(0, i - 5) : i]]
    if not back or back[-1] in ("at", "for", "around", "on"):
        return False
    while back and back[-1] in (
        "is",
        "it's",
        "its",
        "was",
        "uh",
        "um",
        "the",
        "that's",
        "of",
        "with",
        "here",
        "are",
        "reads",
        "says",
    ):
        back.pop()
    if back[-2:] in (
        ["my", "number"],
        ["phone", "number"],
        ["mobile", "number"],
        ["contact", "number"],
        ["cell", "number"],
    ):
        return False
    if back == ["no"]:
        return False  # a denial: "no, it's ..."
    return bool(back) and back[-1] in _CODE_WORDS


def read_code(tokens: Sequence[Token], i: int, *, expected: bool) -> tuple[str, int] | None:
    """A code at i: letters and digits, spelled in letters, numbers, the telephone alphabet and "dash".

    `expected`: a code was announced or asked for, so that digits alone, or letters alone, count as one.
    """
    if tokens[i].low == "november" and not expected and numbers.digits(tokens, i + 1) is not None:
        return None  # the month
    out, at, letters = "", i, 0
    while at < len(tokens):
        if out and (mark := _MARKS.get(tokens[at].low)) is not None:
            out, at = out + mark, at + 1
            continue
        piece = _piece_at(tokens, at, out, letters, expected=expected)
        if piece is None:
            break
        out, letters, at = out + piece[0], letters + piece[1], piece[2]
        if tokens[at - 1].tail.startswith((".", "?", "!", ";")):
            break
    out = out.rstrip("-/")
    return (out, at) if _is_code(out, letters, expected=expected) else None


_MARKS = {"dash": "-", "hyphen": "-", "minus": "-", "slash": "/"}


def _piece_at(
    tokens: Sequence[Token], at: int, out: str, letters: int, *, expected: bool
) -> tuple[str, int, int] | None:
    """A piece of a code, behind what was read of it: the piece, how many letters it has, and where it ends."""
    token = tokens[at]
    low = token.low
    if low in _NATO and (expected or letters or _spells_on(tokens, at)):
        return _NATO[low].upper(), 1, at + 1
    if (len(low) == 1 and low.isalpha() and low not in ("i", "a")) or (
        low in ("i", "a", "o") and (out or _spells_on(tokens, at)) and not _prose(tokens, at)
    ):
        return ("0", 0, at + 1) if low == "o" and out[-1:].isdigit() else (token.text.upper(), 1, at + 1)
    if re.fullmatch(r"(?=.*\d)(?=.*[a-z])[a-z\d]+(?:-[a-z\d]+)*", low) and not re.fullmatch(r"\d+(st|nd|rd|th)", low):
        return token.text, 1, at + 1
    if re.fullmatch(r"(?:[a-z]-){2,}[a-z]", low):
        return token.text.replace("-", "").upper(), 3, at + 1
    if out[-1:].isdigit() and letters and re.fullmatch("[A-Z]{2,4}", token.text) and low not in ("am", "pm"):
        return token.text, len(low), at + 1
    if not out and at + 1 < len(tokens) and _may_lead(token, expected=expected):
        digits_follow = numbers.digits(tokens, at + 1) is not None or tokens[at + 1].low in ("dash", "hyphen")
        return (token.text, len(low), at + 1) if digits_follow and low not in ("am", "pm", "ok", "tv") else None
    piece = numbers.digits(tokens, at)
    return (piece[0], 0, piece[1]) if piece is not None and low not in ("for", "to", "too") else None


def _may_lead(token: Token, *, expected: bool) -> bool:
    """True for a few letters that a code may begin with: "AB 12"."""
    low = token.low
    spelled = token.text.isupper() or (expected and len(low) <= 3 and not is_stop(low))
    return spelled and len(low) > 1 and re.fullmatch(r"[a-z]{1,4}-?", low) is not None


def _is_code(out: str, letters: int, *, expected: bool) -> bool:
    size = len(re.sub(r"[^A-Za-z\d]", "", out))
    if not any(c.isdigit() for c in out):
        return expected and letters >= 3 and letters == size
    if letters == 0:
        return expected and size >= 3
    return size >= (2 if expected else 4)


def _spells_on(tokens: Sequence[Token], i: int) -> bool:
    """True if what follows i is again a letter, a number, or a dash."""
    if i + 1 >= len(tokens):
        return False
    low = tokens[i + 1].low
    return (
        (len(low) == 1 and low.isalpha() and low not in ("i", "a"))
        or low in _NATO
        or low in ("dash", "hyphen")
        or (numbers.digits(tokens, i + 1) is not None)
    )


def _prose(tokens: Sequence[Token], i: int) -> bool:
    """True if a single letter at i is the word "I" or "a"."""
    after = tokens[i + 1].low if i + 1 < len(tokens) else ""
    return bool(after) and len(after) > 1 and after not in _NATO and numbers.digits(tokens, i + 1) is None
