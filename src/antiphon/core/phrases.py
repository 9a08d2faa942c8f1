"""Words that are no turn: "I am listening", and "goodbye" to a goodbye.

The lists are data; whoever localises Antiphon replaces them.
"""

from __future__ import annotations

import re

LISTENING = frozenset(
    "uh huh uhhuh mm hmm mmhmm mhm hm yeah yep right okay ok sure alright cool aha ah oh gotcha i see got it".split()
)
"""Words that only say that the caller listens."""

FAREWELL = frozenset(
    {"bye", "goodbye", "cheerio", "farewell", "ciao", "ta", "thanks", "thank", "care", "night", "later"}
)
"""One of these makes a farewell."""

PADDING = LISTENING | frozenset(
    "you too very much so a lot for your the help all that's that is it was everything great perfect good and no nope "
    "have nice lovely day evening one weekend take see soon talk to then now well wonderful excellent".split()
)
"""What a farewell may hold beside."""

_WORD = re.compile(r"[a-z']+")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def is_backchannel(text: str) -> bool:
    """True if the caller said nothing but that they listen, in three words at most."""
    words = _words(text)
    return bool(words) and len(words) <= 3 and all(word in LISTENING for word in words)


def is_farewell(text: str) -> bool:
    """True if the caller said goodbye and nothing else ("bye", "thanks, take care", "no that's all, thank you")."""
    words = _words(text)
    return (
        0 < len(words) <= 12
        and any(word in FAREWELL for word in words)
        and all(word in FAREWELL or word in PADDING for word in words)
    )


def count_words(text: str) -> int:
    """How many words there are."""
    return len(text.split())
