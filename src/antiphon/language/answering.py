"""Who, or what, answered a call: a person, a voicemail, a screening, a menu, or nobody.

Above: whoever calls people. Below: nothing. A person is taken for one until the signs say otherwise: what people say,
too, is no sign. Each time that more is heard it is asked again, so the answer may change, and comes as soon as there
is a sign: most machines give one in their first six words, which take them two seconds.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Collection

from antiphon.record import record

TALKS_ON = 5.0
"""Seconds without a pause after which whoever greeted callers in general, and asked nothing, is a machine."""


class Who(enum.Enum):
    """What answered."""

    PERSON = "person"
    VOICEMAIL = "voicemail"
    SCREENING = "screening"
    """A machine that asks who calls, and connects: say it, and go on."""
    MENU = "menu"
    """A machine that offers choices, or a queue."""
    UNAVAILABLE = "unavailable"
    """The network: nobody can be reached, and no message left."""

    @property
    def is_machine(self) -> bool:
        """No person."""
        return self is not Who.PERSON


@record
class AnswerPhrases:
    """What machines say that answer. All are regular expressions, of text in lower case without marks."""

    unavailable: tuple[str, ...] = ()
    screening: tuple[str, ...] = ()
    menu: tuple[str, ...] = ()
    voicemail: tuple[str, ...] = ()
    greets: str = r"(?!)"
    """How whoever takes calls in general greets. By itself no sign, for receptionists do so."""
    asks: str = r"(?!)"
    """How people ask: a greeting with it is a person's."""
    voids: str = r"(?!)"
    """What sounds like a sign and is said by people: it is left out."""
    returns: str = r"(?!)"
    """What people say who were taken for a machine: they joked, or took the call late."""


@record
class Answered:
    """What answered, as far as it was heard."""

    who: Who
    sign: str = ""
    """The words that say so; "" for a person."""


def who_answered(text: str, phrases: AnswerPhrases, *, talking: float = 0.0) -> Answered:
    """What answered, by all that was heard of it so far. `talking`: seconds that it has talked without a pause."""
    heard = _plain(text)
    kept = re.sub(phrases.voids, " ", heard)
    for who, patterns in (
        (Who.UNAVAILABLE, phrases.unavailable),
        (Who.SCREENING, phrases.screening),
        (Who.MENU, phrases.menu),
        (Who.VOICEMAIL, phrases.voicemail),
    ):
        found = _one_of(patterns).search(kept)
        if found is not None:
            return Answered(who, found.group().strip())
    greeted = re.search(phrases.greets, kept)
    if talking >= TALKS_ON and greeted is not None and re.search(phrases.asks, kept) is None:
        return Answered(Who.VOICEMAIL, greeted.group().strip())
    return Answered(Who.PERSON)


def is_voicemail_after_all(text: str, sign: str, phrases: AnswerPhrases) -> bool:
    """Whether a menu, or a notice of the network, goes on to a voicemail: by the words behind its `sign`."""
    _, _, behind = _plain(text).rpartition(sign)
    return _one_of(phrases.voicemail).search(behind) is not None


def is_person_after_all(text: str, phrases: AnswerPhrases) -> bool:
    """Whether whoever was taken for a machine turns out to be a person: by the words behind the last sign of one."""
    heard = _plain(text)
    signs = (*phrases.unavailable, *phrases.screening, *phrases.menu, *phrases.voicemail)
    ends = [found.end() for found in _one_of(signs).finditer(heard)]
    return re.search(phrases.returns, heard[ends[-1] if ends else 0 :]) is not None


@functools.lru_cache(maxsize=32)
def _one_of(patterns: Collection[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in patterns) or "(?!)")


def _plain(text: str) -> str:
    """Lower case, without marks but the apostrophe."""
    text = text.casefold().replace("\u2019", "'")
    return " ".join(re.sub(r"[^\w' ]+", " ", text).split())
