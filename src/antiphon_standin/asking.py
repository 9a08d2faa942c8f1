"""Whether a turn asks to be told something, or for something to be done.

"Is the back door locked?" changes nothing; "could you lock the back door?" does. Below: `opposites`, `words`. Above:
`understand`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from antiphon_standin.opposites import poles
from antiphon_standin.words import Token, acts_of

_OPENINGS = frozenset(
    "um uh hi hello hey so and but well actually okay ok oh now then sorry please yes yeah yep no great good perfect"
    " thanks thank also right fine alright hm hmm excuse me first just wait lovely super cool".split()
)
_ASKING = frozenset(
    "is are am was were isn't aren't wasn't weren't do does did don't doesn't didn't has have had hasn't haven't what"
    " what's which when when's where where's who who's whose why why's how how's should must will what're".split()
)
_WISHES = re.compile(
    r"(?:(?:can|could|will|would|may|might|shall|should|won't|can't|couldn't|wouldn't) (?:you|i|we|somebody|someone)\b"
    r"(?! (?:need|have|be|get|expect|still|really)\b(?! me\b| us\b| it\b| a\b| an\b| the\b| my\b| some\b| that\b))"
    r"|(?:is it|would it be|is there|would there be) (?:possible|any chance|a chance|any way|a way)\b"
    r"|(?:how|what) about\b|(?:do|would) you mind\b|why don't you\b|do you think you\b|would you like\b"
    r"|can (?:i|we) (?:have|get)\b|could (?:i|we) (?:have|get)\b)"
)
"""Questions that ask for a deed, or propose a value."""
_TOLD = re.compile(
    r"(?:can|could|will|would) you (?:please )?(?:tell|say|explain|remind me (?:what|when|where|which|how|who)|repeat"
    r"|give me (?:the|your|an? )|let me know|look up|check (?:if|whether|what|when|where|which|how|who))\b"
    r"|(?:can|could|may) i (?:ask|know)\b|(?:will|would) (?:i|we)\b|should (?:i|we)\b"
)
"""Wishes to be told."""


def sentences(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    """The sentences of a turn, by its punctuation."""
    out: list[list[Token]] = [[]]
    for token in tokens:
        out[-1].append(token)
        if token.tail[:1] in tuple(".?!;"):
            out.append([])
    return [tuple(one) for one in out if one]


def is_inquiry(tokens: Sequence[Token]) -> bool:
    """True for one sentence that asks to be told something."""
    lows = [token.low for token in tokens]
    while lows and lows[0] in _OPENINGS:
        lows.pop(0)
    if lows[:2] in (["that's", "correct"], ["that", "is"], ["that's", "right"]):
        lows = lows[2:]
        while lows and (lows[0] in _OPENINGS or lows[0] in ("correct", "right")):
            lows.pop(0)
    if not lows:
        return False
    text = " ".join(lows)
    if _TOLD.match(text):
        return True
    if _WISHES.match(text):
        return False
    # "and the garden bin in Mill Road, when is that emptied?"
    late = tokens[-1].tail[:1] == "?" and any(
        before.tail[:1] == "," and token.low in _ASKING for before, token in itertools.pairwise(tokens)
    )
    return lows[0] in _ASKING or late


def inquires(tokens: Sequence[Token]) -> bool:
    """True for a turn that only asks to be told something: none of its sentences asks for a deed."""
    parts = sentences(tokens)
    asked = [is_inquiry(part) for part in parts]
    wishes = [part for part, one in zip(parts, asked, strict=True) if not one]
    return any(asked) and not any(acts_of(part) or poles(part) for part in wishes)
