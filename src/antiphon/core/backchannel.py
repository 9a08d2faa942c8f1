"""Words that say "I am listening", not "let me speak"."""

from __future__ import annotations

import re

_LISTENING = frozenset(
    "uh huh uhhuh mm hmm mmhmm mhm hm yeah yep right okay ok sure alright cool aha ah oh gotcha i see got it".split()
)
_WORD = re.compile(r"[a-z']+")


def is_backchannel(text: str) -> bool:
    """True if the caller said nothing but that they listen, in three words at most."""
    words = _WORD.findall(text.lower())
    return bool(words) and len(words) <= 3 and all(word in _LISTENING for word in words)


def count_words(text: str) -> int:
    """How many words there are."""
    return len(text.split())
