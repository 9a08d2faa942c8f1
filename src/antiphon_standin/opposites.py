"""Words that mean opposite deeds: "turn off" is never `turn_on`, and "unlock" never `lock_door`.

Below: `words`. Above: `slots` (which side a tool is on) and `choose` (which tools a turn rules out).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from antiphon_standin.words import Token, stem, table

Pole = tuple[int, int]
"""A pair of opposites, by its number, and the side of it: 0 or 1."""


@cache
def _sides() -> dict[str, frozenset[Pole]]:
    sides: dict[str, set[Pole]] = {}
    for number, pair in enumerate(table("opposites")):
        for side, words in enumerate(pair):
            for word in words:
                sides.setdefault(stem(word), set()).add((number, side))
    return {word: frozenset(poles) for word, poles in sides.items()}


_SWITCHING = 1000
"""The number of the pair "on" and "off"."""
_SWITCHES = frozenset(map(stem, "turn switch put power set flip leave".split()))
_PREFIXES = ("un", "dis", "de", "re")
_NEGATIONS = frozenset("don't not never dont without".split())


def poles(tokens: Sequence[Token]) -> frozenset[Pole]:
    """The sides that the words are on."""
    found: set[Pole] = set()
    stems = [stem(token.low) for token in tokens]
    for k, word in enumerate(stems):
        if tokens[k].low in ("on", "off"):
            found |= _switched(tokens, stems, k)
        elif word == "take" and any(token.low in ("out", "off", "away") for token in tokens[k + 1 : k + 5]):
            found |= _sides()[stem("remove")]
        else:
            found |= _sides().get(word, frozenset())
    return frozenset(found)


def _switched(tokens: Sequence[Token], stems: Sequence[str], k: int) -> set[Pole]:
    """The side of an "on" or "off" that goes with a verb of switching, or ends a wish: "lights off, please"."""
    rest = tokens[k + 1 :]
    if [token.low for token in rest[:2]] in (["or", "off"], ["or", "on"]):
        rest = rest[2:]
    last = all(token.low in ("please", "now", "again", "then", "too", "thanks") for token in rest)
    begun = next((j for j in range(k - 1, max(-1, k - 7), -1) if stems[j] in _SWITCHES), None)
    if begun is None and not (last and 1 <= k <= 4):
        return set()
    if begun is not None and k - begun > 1 and tokens[k].low == "on" and not (last or tokens[k].tail):
        return set()  # "put it on Friday"
    return {(_SWITCHING, 0 if tokens[k].low == "on" else 1)}


def either_way(own: Sequence[Token]) -> frozenset[Pole]:
    """The sides of what goes both ways: "turn the lamp on or off", or "open or close the blinds"."""
    sides = poles(own)
    return frozenset((n, side) for n, side in sides if (n, 1 - side) in sides)


def _undone(word: str, other: str) -> bool:
    """True if one of two words is the other behind a prefix that reverses it: "unmute" and "mute"."""
    long, short = (word, other) if len(word) > len(other) else (other, word)
    return len(short) > 2 and any(long == prefix + short for prefix in _PREFIXES)


def contrary(said: Sequence[Token], own: Sequence[Token]) -> bool:
    """True if what is said is the opposite of what a tool, by its own words, does, or is forbidden by a "don't"."""
    wanted, does = poles(said), poles(own)
    if any((n, 1 - side) in does and (n, 1 - side) not in wanted and (n, side) not in does for n, side in wanted):
        return True
    deeds = {stem(token.low) for token in own}
    for k, token in enumerate(said):
        word = stem(token.low)
        if word in deeds and k and said[k - 1].low in _NEGATIONS and not said[k - 1].tail:
            return True
        if word not in deeds and any(_undone(word, deed) for deed in deeds):
            return not any(stem(one.low) in deeds for one in said)
    return False


def agrees(said: Sequence[Token], own: Sequence[Token]) -> bool:
    """True if the words are on a side on which the tool is, too."""
    return bool(poles(said) & poles(own))
