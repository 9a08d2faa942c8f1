"""The words that the core hears out of a turn: signs of listening, and goodbyes."""

from __future__ import annotations

import re

from antiphon.record import record

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def listed(words: str) -> tuple[str, ...]:
    """Words with spaces between, each once."""
    return tuple(dict.fromkeys(words.split()))


@record
class Phrases:
    """What of a language the core knows. Words are lower case, without marks."""

    code: str
    """ISO 639-1, "en"."""
    listening: tuple[str, ...]
    """Words that only say that the caller listens."""
    farewell: tuple[str, ...]
    """One of these makes a farewell."""
    padding: tuple[str, ...]
    """What a farewell may hold beside those and `listening`."""

    def is_backchannel(self, text: str) -> bool:
        """True if the caller said nothing but that they listen, in three words at most."""
        words = _words(text)
        return 0 < len(words) <= 3 and all(word in self.listening for word in words)

    def is_farewell(self, text: str) -> bool:
        """True if the caller said goodbye and nothing else ("bye", "thanks, take care"), in twelve words at most."""
        words = _words(text)
        allowed = (self.farewell, self.padding, self.listening)
        return (
            0 < len(words) <= 12
            and any(word in self.farewell for word in words)
            and all(any(word in known for known in allowed) for word in words)
        )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))
