"""What a reply may have been before the recogniser wrote it: "yes, please due that", "yep, council it".

Above: `language.consent`, which reads it so only beside a yes that is clear without it. Below: the read-back, and the
tables of the language. Values are never guessed by their sound: "sixty" is no "sixteen", and "Amira" no "Amara".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from antiphon.language.consent_reading import ReadBack
from antiphon.language.consent_tables import Tables

_SPELLED = (
    (r"^k?n", "n"),
    (r"^wr", "r"),
    (r"ght|[td]{1,2}e?$", "t"),
    (r"ph", "f"),
    (r"dge?", "j"),
    (r"c(?=[eiy])|z", "s"),
    (r"ck|c|q", "k"),
    (r"x", "ks"),
    (r"(?<!^)[aeiouyhw]", ""),
    (r"(.)\1+", r"\1"),
)


def heard(said: Sequence[str], read_back: ReadBack, tables: Tables) -> tuple[list[str], frozenset[int]] | None:
    """The words that may have been said, and which of them are others than were written; None if none is."""
    words: list[str] = []
    places: list[range] = []
    changed: set[int] = set()
    at = 0
    while at < len(said):
        joined = _joined(said, at, read_back, tables)
        is_split = joined is not None
        meant = joined if is_split else _meant(said, at, read_back, tables)
        if meant is not None:
            changed.add(len(words))
        words.append(said[at] if meant is None else meant)
        places.append(range(at, at + (2 if is_split else 1)))
        at = places[-1].stop
    for number in sorted(changed):
        value = tables.values.value(words, number)
        if value is None or (value.kind != "number" and read_back.has(value)):
            continue
        if not _counts(words, number, read_back, tables):
            words[number] = said[places[number].start]
            changed.discard(number)
    return (words, frozenset(place for number in changed for place in places[number])) if changed else None


def _joined(said: Sequence[str], at: int, read_back: ReadBack, tables: Tables) -> str | None:
    """The verb of the question that two words sound like: "a mend", "can sell"."""
    if at + 1 >= len(said) or not tables.sounds or not {*said[at : at + 2]}.isdisjoint((*read_back.acts, *tables.acts)):
        return None
    sound = _sound("".join(said[at : at + 2]))
    if len(sound) < 3 or any(tables.values.value(said, one) is not None for one in (at, at + 1)):
        return None
    return next((one for one in sorted(read_back.acts_said) if _sound(one) == sound), None)


def _meant(said: Sequence[str], at: int, read_back: ReadBack, tables: Tables) -> str | None:
    """What one word may have been, if the read-back has not got it as it was written."""
    if read_back.has_word(said[at]):
        return None
    return tables.sounds.get(said[at]) or _verb(said, at, read_back, tables)


def _counts(words: Sequence[str], at: int, read_back: ReadBack, tables: Tables) -> bool:
    """Whether the number at `at` is the read-back's: before what it counts there, or among all digits of a number."""
    if read_back.has_pair(words, at, tables):
        return True
    for begin in range(at + 1):
        value = tables.values.value(words, begin)
        if value is not None and value.end > at:
            return len(value.parts) > 2 and read_back.has_whole(value)
    return False


def _verb(said: Sequence[str], at: int, read_back: ReadBack, tables: Tables) -> str | None:
    """The verb of the question that sounds like a word without a meaning in replies, before what it is done to."""
    word = said[at]
    if not tables.sounds or len(word) < 4 or word in read_back.acts or word in tables.acts or word in tables.abandons:
        return None
    if tables.phrases.at((word,), 0) is not None or tables.values.value((word,), 0) is not None:
        return None
    does = at + 1 < len(said) and (said[at + 1] in tables.pronouns or said[at + 1] in tables.articles)
    sound = _sound(word)
    if len(sound) < 2:
        return None
    options = read_back.acts_said if does else read_back.predicates
    return next((one for one in sorted(options) if _sound(one) == sound), None)


@lru_cache(maxsize=2048)
def _sound(word: str) -> str:
    """Its consonants, as they sound."""
    for spelled, sounds in _SPELLED:
        word = re.sub(spelled, sounds, word)
    return word
