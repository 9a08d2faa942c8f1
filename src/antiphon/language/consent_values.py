"""Values in a text: numbers however they are said, days, months, parts of a day, units.

Above: `consent_reading`, which compares those of a reply with those of a read-back. Below: the tables of the language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from antiphon.language.consent_phrases import ConsentPhrases
from antiphon.record import record

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*(?:st|nd|rd|th)?(?![^\W\d_])|\d+|[^\W\d_]+(?:'[^\W\d_]+)*|\?")
_STUTTER = re.compile(r"\b([^\W\d_]{1,3})(?:-|\u2026|\.\.\.?)+\s*(?=\1[^\W\d_])")
_CURRENCY = re.compile(r"([$\u00a3\u20ac])\s?(\d[\d.,]*)")
_CURRENCIES = {"$": "dollars", "\u00a3": "pounds", "\u20ac": "euros"}


@record
class Value:
    """A value in a text. A number has the digits of its parts, as they may be meant one by one: "two", "fifty"."""

    kind: str
    parts: tuple[str, ...]
    end: int

    @property
    def text(self) -> str:
        """One text for all forms of it: "two fifty" and "$2.50" are both "250"."""
        return "".join(self.parts)


def tokens(text: str) -> list[str]:
    """Words, numbers and question marks, in small letters."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'").replace("&", " and ")
    plain = _CURRENCY.sub(lambda found: f"{found[2]} {_CURRENCIES[found[1]]} ", plain).replace("%", " percent ")
    plain = re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", plain)
    return _TOKEN.findall(_STUTTER.sub("", plain))


class Values:
    """What a language says for numbers and times, ready to be looked up."""

    __slots__ = (
        "_begins",
        "_clock",
        "_halves",
        "_joining",
        "_numbers",
        "_ordinals",
        "_scale",
        "_tens",
        "_units",
        "named",
    )

    def __init__(self, phrases: ConsentPhrases) -> None:
        self._joining = frozenset(row(phrases.joining))
        self._numbers = pairs(phrases.numbers)
        self._tens = pairs(phrases.tens)
        self._ordinals = pairs(phrases.ordinals)
        self._scale = dict.fromkeys(row(phrases.hundred), 100) | dict.fromkeys(row(phrases.thousand), 1000)
        self._clock = [(tuple(phrase.split()), int(minutes)) for phrase, minutes in pairs(phrases.clock).items()]
        self._clock.sort(key=lambda entry: -len(entry[0]))
        self._units = pairs(phrases.units)
        self._halves = phrases.halves.split()
        self._begins = frozenset(
            (*self._numbers, *self._tens, *self._ordinals, *self._scale, *(phrase[0] for phrase, _ in self._clock))
        )
        self.named: dict[str, tuple[str, str]] = {}
        for kind, named in (
            ("unit", phrases.units),
            ("part", phrases.dayparts),
            ("month", phrases.months),
            ("day", phrases.days),
        ):
            self.named |= {word: (kind, meant) for word, meant in pairs(named).items()}

    def atoms(self, words: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Values and words in a row; a number is one, however it is said."""
        at = 0
        while at < len(words):
            value = self.value(words, at)
            yield ("word", words[at]) if value is None else (value.kind, value.text)
            at = at + 1 if value is None else value.end

    def pair(self, words: Sequence[str], at: int) -> tuple[tuple[str, str], ...]:
        """The two of them that begin at `at`, or what there is."""
        found: list[tuple[str, str]] = []
        while at < len(words) and len(found) < 2:
            value = self.value(words, at)
            found.append(("word", words[at]) if value is None else (value.kind, value.text))
            at = at + 1 if value is None else value.end
        return tuple(found)

    def value(self, words: Sequence[str], at: int) -> Value | None:
        """The value that begins at `at`."""
        if (number := self._number(words, at)) is not None:
            return number
        if (named := self.named.get(words[at])) is not None:
            return Value(named[0], (named[1],), at + 1)
        return None

    def _number(self, words: Sequence[str], at: int) -> Value | None:
        parts: list[str] = []
        end = at
        while end < len(words):
            found = self._part(words, end)
            if found is None:
                # "eighty four dollars sixty"
                if not (parts and words[end] in self._units and end + 1 < len(words)):
                    break
                found = self._part(words, end + 1)
                if found is None or len(found[0]) != 2 or found[1]:
                    break
            digits, ordinal, behind = found
            if ordinal:
                if parts:
                    break
                return Value("ordinal", (digits,), behind)
            parts.append(digits)
            end = behind
        if not parts:
            return None
        if len(parts) == 1 and self._is_day(words, at, end, parts[0]):
            return Value("ordinal", (parts[0].lstrip("0"),), end)
        return Value("number", tuple(parts), end)

    def _is_day(self, words: Sequence[str], at: int, end: int, digits: str) -> bool:
        """A number beside a month is a day of it."""
        if len(digits) > 2 or not 1 <= int(digits) <= 31:
            return False
        beside = (words[at - 1] if at else "", words[end] if end < len(words) else "")
        if any(self.named.get(word, ("",))[0] == "month" for word in beside):
            return True
        return beside[1] == "of" and end + 1 < len(words) and self.named.get(words[end + 1], ("",))[0] == "month"

    def _part(self, words: Sequence[str], at: int) -> tuple[str, bool, int] | None:
        """The digits that begin at `at`, whether they are an ordinal, and what is behind them."""
        word = words[at]
        if word[0].isdecimal():
            return _digits(word), not word[-1].isdecimal(), at + 1
        if word not in self._begins:
            return None
        for phrase, minutes in self._clock:
            behind = at + len(phrase)
            if tuple(words[at:behind]) == phrase and behind < len(words):
                hour = self._small(words, behind)
                if hour is not None and 0 < hour[0] <= 24:
                    of = hour[0] - (minutes < 0)
                    return f"{of or 12}{minutes % 60:02}", False, hour[1]
        if word in self._ordinals:
            return self._ordinals[word], True, at + 1
        if word in self._tens and at + 1 < len(words) and (last := self._ordinals.get(words[at + 1], "")).isdigit():
            if len(last) == 1:
                return self._tens[word] + last, True, at + 2
        counted = self._counted(words, at)
        return None if counted is None else (str(counted[0]), False, counted[1])

    def _small(self, words: Sequence[str], at: int) -> tuple[int, int] | None:
        """A number under a hundred, or as the language writes it in one word; and what is behind it."""
        word = words[at]
        if word.isdecimal() and len(word) <= 9:
            return int(word), at + 1
        if word in self._tens:
            unit = self._numbers.get(words[at + 1], "") if at + 1 < len(words) else ""
            if len(unit) == 1 and unit != "0":
                return int(self._tens[word] + unit), at + 2
            return int(self._tens[word]) * 10, at + 1
        if word in self._numbers:
            return int(self._numbers[word]), at + 1
        return None

    def _counted(self, words: Sequence[str], at: int) -> tuple[int, int] | None:
        """By value: "two hundred and fifty", "a thousand"."""
        first = (1, at) if words[at] in self._scale else self._small(words, at)
        if first is None:
            return None
        total, end = first
        scaled = end + len(self._halves)
        if self._halves and list(words[end:scaled]) == self._halves and words[scaled : scaled + 1]:
            if (whole := self._scale.get(words[scaled], 0)) and total < 1_000_000:
                return total * whole + whole // 2, scaled + 1  # "two and a half thousand"
        while end < len(words) and (scale := self._scale.get(words[end])) is not None and total < 1_000_000:
            total, end = total * scale, end + 1
            rest = end + 1 if end + 1 < len(words) and words[end] in self._joining else end
            if rest < len(words) and (more := self._small(words, rest)) is not None and more[0] < scale:
                small, behind = more
                if behind < len(words) and self._scale.get(words[behind], scale) < scale:
                    inner = self._counted(words, rest)
                    small, behind = inner if inner is not None else more
                total, end = total + small, behind
        return total, end


def _digits(word: str) -> str:
    """Without marks: "8:30" is 830, "5:00" is 5, "1,200" is 1200, "84.60" is 8460, "22nd" is 22."""
    bare = word.rstrip("stndrh")
    hours, colon, minutes = bare.partition(":")
    if colon:
        return (hours.lstrip("0") or "0") + ("" if minutes == "00" else minutes)
    if re.fullmatch(r"\d+[.,]00", bare):
        bare = bare[:-3]
    return re.sub(r"[.,:]", "", bare)


def row(phrases: str) -> list[str]:
    """The phrases of a row."""
    return [phrase for phrase in (part.strip().casefold() for part in phrases.split("|")) if phrase]


def pairs(phrases: str) -> Mapping[str, str]:
    """What each word counts as: "tues=tuesday|monday"."""
    found: dict[str, str] = {}
    for entry in row(phrases):
        word, _, meant = entry.partition("=")
        found[word] = meant or word
    return found
