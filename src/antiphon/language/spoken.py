"""How people say what is written: numbers, letters, marks and dates. `text.spoken` works with these tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


def counted(words: str, start: int = 0) -> dict[str, str]:
    """Number words in a row, with the digits of each."""
    return {word: str(number) for number, word in enumerate(words.split(), start)}


def _numbers() -> dict[str, str]:
    return counted(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen"
    )


def _tens() -> dict[str, str]:
    return counted("twenty thirty forty fifty sixty seventy eighty ninety", start=2)


def _alphabet() -> dict[str, str]:
    words = (
        "alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar papa"
        " quebec romeo sierra tango uniform victor whiskey whisky xray x-ray yankee zulu"
    )
    return {word: word[0] for word in words.split()}


def _marks() -> dict[str, str]:
    return {
        "dot": ".",
        "period": ".",
        "point": ".",
        "underscore": "_",
        "dash": "-",
        "hyphen": "-",
        "minus": "-",
        "plus": "+",
    }


def _mark_names() -> dict[str, str]:
    return {
        ".": "dot",
        "_": "underscore",
        "-": "dash",
        "+": "plus",
        "'": "apostrophe",
        "@": "at",
        "#": "pound",
        "*": "star",
        "/": "slash",
    }


def _days() -> tuple[str, ...]:
    ends = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
    return tuple(f"{day}{ends.get(day, 'th')}" for day in range(1, 32))


@dataclass(slots=True, frozen=True, eq=False, repr=False)
class SpokenForms:
    """English, but for what is given. Words are lower case."""

    # -- numbers that are heard
    numbers: Mapping[str, str] = field(default_factory=_numbers)
    """Words that are a number by themselves, with its digits."""
    tens: Mapping[str, str] = field(default_factory=_tens)
    """Words before a unit, with their first digit: "twenty five"."""
    hundred: frozenset[str] = frozenset({"hundred"})
    zero: frozenset[str] = frozenset({"oh", "o", "nought", "nil"})
    """Other words for it."""
    heard_as: Mapping[str, str] = field(
        default_factory=lambda: {"to": "2", "too": "2", "for": "4", "won": "1", "ate": "8"}
    )
    """Digits as recognisers write them, taken for digits only between digits."""
    times: Mapping[str, int] = field(default_factory=lambda: {"double": 2, "triple": 3, "treble": 3})
    keys: Mapping[str, str] = field(
        default_factory=lambda: {"star": "*", "asterisk": "*", "pound": "#", "hash": "#", "hashtag": "#"}
    )
    """Those of a telephone that are no digits."""
    plus: frozenset[str] = frozenset({"plus"})
    extension: frozenset[str] = frozenset({"ext", "extension"})
    """What comes before the last part of a telephone number."""
    number_padding: frozenset[str] = frozenset(
        "it is it's its that that's my the a and um uh er number phone area code then dash hyphen space please yes"
        " country mobile sorry digit digits press key i enter to for".split()
    )
    """What else is said in a number."""

    # -- letters and addresses that are heard
    alphabet: Mapping[str, str] = field(default_factory=_alphabet)
    """Words that stand for letters."""
    as_in: tuple[str, ...] = ("as in", "for", "like in", "like")
    """Between a letter and a word that begins with it."""
    marks: Mapping[str, str] = field(default_factory=_marks)
    at: tuple[str, ...] = ("at sign", "at-sign", "at")
    """The longest first."""
    run_together: tuple[str, ...] = (
        "all one word",
        "all lower case",
        "all lowercase",
        "all together",
        "one word",
        "lower case",
        "no spaces",
        "no space",
    )
    """What says only that there is no space."""
    letter_case: frozenset[str] = frozenset("capital uppercase lowercase small".split())
    address_padding: frozenset[str] = frozenset(
        "it is it's its that that's my the email e-mail um uh er capital uppercase lowercase small all one-word then"
        " and please yes so spelled".split()
    )
    """What else is said before an address."""
    address_lead_ins: tuple[str, ...] = ("my address is", "the address is", "address is")
    """What may come before a postal address."""
    house_number_last: bool = False
    """The number of a house comes behind the street, not before it."""

    # -- a no
    no: frozenset[str] = frozenset("no nope nah wrong incorrect".split())
    no_padding: frozenset[str] = frozenset(
        "that's that is it's it not right correct sorry i'm afraid um uh quite true".split()
    )
    """What a no may hold that says nothing of what would be right."""

    # -- what is said
    digit_names: tuple[str, ...] = tuple("zero one two three four five six seven eight nine".split())
    mark_names: Mapping[str, str] = field(default_factory=_mark_names)
    months: tuple[str, ...] = tuple(
        "January February March April May June July August September October November December".split()
    )
    days: tuple[str, ...] = field(default_factory=_days)
    """Of the month."""
    date: str = "{month} {day}, {year}"
    time: str = "{hour12}:{minute} {half}"
    """Of the day. {hour} counts to 24, {hour12} to twelve."""
    full_hour: str = "{hour12} {half}"
    halves: tuple[str, str] = ("AM", "PM")
    """Of the day."""
