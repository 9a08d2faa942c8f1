"""The words that the core hears out of a turn: signs of listening, goodbyes, and whether anybody is there."""

from __future__ import annotations

import re
from dataclasses import field

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
    presence: tuple[str, ...] = field(
        default=(
            "hello", "hey", "are you there", "are you still there", "you there", "still there", "anyone there",
            "anybody there", "is anyone there", "is anybody there", "is somebody there", "is someone there",
            "can you hear me", "do you hear me",
        ),
        kw_only=True,
    )  # fmt: skip
    """Phrases, words with one space between, by which the caller only asks whether somebody is there."""

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

    def asks_presence(self, text: str, *, so_far: bool = False) -> bool:
        """True if the caller asked whether somebody is there and nothing else, in twelve words at most.

        `so_far`: also if that is what they may be about to ask.
        """
        words = _words(text)
        return 0 < len(words) <= 12 and self._are_presence(words, so_far)

    def _are_presence(self, words: list[str], so_far: bool) -> bool:
        """Whether they are such phrases, one behind another. `so_far`: the last may have just begun."""
        for phrase in self.presence:
            if not phrase.startswith(words[0]):
                continue
            known = phrase.split()
            rest = words[len(known) :]
            if words[: len(known)] == known and (not rest or self._are_presence(rest, so_far)):
                return True
            if so_far and phrase.startswith(" ".join(words)):
                return True
        return False


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))
