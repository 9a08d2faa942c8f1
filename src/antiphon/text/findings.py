"""What in a text nobody need read: card numbers, telephone numbers, e-mail addresses.

Above: the masks of a session. Below: `digit_runs`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from antiphon.language.spoken import SpokenForms
from antiphon.record import record
from antiphon.text.digit_runs import digit_runs

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")


@record
class Finding:
    """A part of a text."""

    start: int
    end: int
    kind: str
    """What it is: "card_number"."""
    value: str
    """It, in its written form."""


Find: TypeAlias = Callable[[str, SpokenForms], Iterable[Finding]]


def is_card_number(digits: str) -> bool:
    """Whether a card can have this number: 12 to 19 digits, the last of them Luhn's check digit."""
    if not (digits.isascii() and digits.isdecimal() and 12 <= len(digits) <= 19):
        return False
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def _card_numbers(text: str, forms: SpokenForms) -> Iterable[Finding]:
    for run in digit_runs(text, forms):
        if is_card_number(run.digits):
            yield Finding(run.start, run.end, "card_number", run.digits)


def _phone_numbers(text: str, forms: SpokenForms) -> Iterable[Finding]:
    for run in digit_runs(text, forms):
        if 7 <= len(run.digits) <= 15:
            yield Finding(run.start, run.end, "phone_number", run.digits)


def _emails(text: str, forms: SpokenForms) -> Iterable[Finding]:
    return (Finding(found.start(), found.end(), "email", found[0]) for found in _EMAIL.finditer(text))


FINDERS: Mapping[str, Find] = {"card_number": _card_numbers, "phone_number": _phone_numbers, "email": _emails}
"""By name; of two that overlap, the one that is named first counts."""


def findings(text: str, names: Sequence[str], forms: SpokenForms) -> list[Finding]:
    """What these find, in the order of the text, without overlaps."""
    found: list[Finding] = []
    for name in names:
        for one in FINDERS[name](text, forms):
            if not any(one.start < other.end and other.start < one.end for other in found):
                found.append(one)
    return sorted(found, key=lambda one: one.start)
