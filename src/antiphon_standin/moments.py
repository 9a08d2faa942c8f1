"""Dates and times of day as people say them.

A `Day` knows the caller's own words and the date they mean, seen from today; a `Clock` knows the hour and minute and
whether morning or afternoon was said. `slots` writes them in the form that a tool documents.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

from antiphon_standin import numbers
from antiphon_standin.words import Token, words

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_WEEKDAY = {name.lower(): n for n, name in enumerate(WEEKDAYS)} | {
    "mon": 0, "tue": 1, "tues": 1, "wed": 2, "weds": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4,
}  # fmt: skip
_MONTH = {name.lower(): n for n, name in enumerate(MONTHS, 1)} | {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10, "nov": 11,
    "dec": 12,
}  # fmt: skip
_NUMERIC = re.compile(r"(\d{4})-(\d{2})-(\d{2})$")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})(?:/(\d{2,4}))?$")


@dataclass(slots=True, frozen=True)
class Day:
    """A date as said."""

    text: str
    date: dt.date
    named: bool = False
    """True for a day of a month ("March 15"), False for a relative one ("next Tuesday")."""
    weekday: bool = False
    """True when a day of the week was named."""
    vague: bool = False
    """True for a stretch of days ("next week")."""
    year: int | None = None
    """The year that was said, also where `date` does not trust it."""


@dataclass(slots=True, frozen=True)
class Clock:
    """A time of day as said."""

    text: str
    hour: int
    minute: int
    certain: bool
    """True when morning or afternoon was said, or the 24-hour form leaves no doubt."""

    def resolved(self, offered: Sequence[tuple[int, int]] = (), *, day_begins: int = 8) -> tuple[int, int]:
        """Hour (0-23) and minute: as one of the times offered, if it can be one; else not before the day begins."""
        if self.certain:
            return self.hour, self.minute
        for hour, minute in offered:
            if minute == self.minute and hour % 12 == self.hour % 12:
                return hour, minute
        if self.hour >= 13 or self.hour == 0:
            return self.hour, self.minute
        return (self.hour + 12 if self.hour < day_begins else self.hour), self.minute


# -- times


def read_clock(tokens: Sequence[Token], i: int, *, hinted: bool) -> tuple[Clock, int, bool] | None:
    """A time at position i: the time, the position after it, and whether it can be nothing else.

    `hinted` says that a time is expected here ("at", or the question was about time), so that bare numbers count.
    """
    low = tokens[i].low
    if low in ("noon", "midday"):
        return Clock(tokens[i].text, 12, 0, True), i + 1, True
    if low == "midnight":
        return Clock(tokens[i].text, 0, 0, True), i + 1, True
    read = _past_or_to(tokens, i) or _hour_and_minute(tokens, i, hinted)
    if read is None:
        return None
    hour, minute, end, strong = read
    strong_alone = ":" in low or end > i + 1
    if hour > 24 or minute > 59:
        return None
    hour %= 24
    certain = hour > 12 or (hour == 0 and minute >= 0 and tokens[i].low.startswith("0"))
    if tokens[i].low.startswith("0") and ":" in tokens[i].low:
        certain = True
    if end < len(tokens) and tokens[end].low in ("o'clock", "oclock", "sharp"):
        end, strong = end + 1, True
    if end < len(tokens) and tokens[end].low in ("am", "pm") and not tokens[end - 1].tail:
        if hour <= 12:
            hour = hour % 12 + (12 if tokens[end].low == "pm" else 0)
        return Clock(words(tokens[i : end + 1]), hour, minute, True), end + 1, True
    part, after = _day_part(tokens, end)
    if not strong_alone and after == "tonight" and i and tokens[i - 1].low == "for" and not hinted:
        return None  # "a place for two tonight"
    if part is not None and hour <= 12:
        hour = hour % 12 + (12 if part == "pm" and not (hour == 12 and after == "night") else 0)
        return Clock(words(tokens[i:end]), hour, minute, True), end, True
    return Clock(words(tokens[i:end]), hour, minute, certain), end, strong


def _past_or_to(tokens: Sequence[Token], i: int) -> tuple[int, int, int, bool] | None:
    low = tokens[i].low
    start = i + 1 if low in ("a", "an") and i + 1 < len(tokens) else i
    named = {"half": 30, "quarter": 15}.get(tokens[start].low)
    if named is not None:
        minutes, at = named, start + 1
    else:
        read = numbers.below_hundred(tokens, i)
        if read is None:
            return None
        minutes, at = read
        if at < len(tokens) and tokens[at].low in ("minutes", "minute"):
            at += 1
    if at >= len(tokens):
        return None
    relation = tokens[at].low
    if relation in ("past", "after") and minutes <= 30:
        hour = numbers.below_hundred(tokens, at + 1)
        if hour is not None and 1 <= hour[0] <= 12:
            return hour[0], minutes, hour[1], True
    if (
        relation in ("to", "til", "till", "before", "of")
        and minutes in (5, 10, 15, 20, 25)
        and (named or relation == "to")
    ):
        hour = numbers.below_hundred(tokens, at + 1)
        if hour is not None and 1 <= hour[0] <= 12:
            return (hour[0] - 2) % 12 + 1, 60 - minutes, hour[1], True
    if named == 30:
        # British "half three".
        hour = numbers.below_hundred(tokens, at)
        if hour is not None and 1 <= hour[0] <= 12:
            return hour[0], 30, hour[1], True
    return None


def _hour_and_minute(tokens: Sequence[Token], i: int, hinted: bool) -> tuple[int, int, int, bool] | None:
    low = tokens[i].low
    if match := re.fullmatch(r"(\d{1,2})[:.](\d{2})", low):
        return int(match[1]), int(match[2]), i + 1, ":" in low or hinted
    if match := re.fullmatch(r"(\d{1,2})(\d{2})", low):
        hour, minute = int(match[1]), int(match[2])
        meridiem = i + 1 < len(tokens) and tokens[i + 1].low in ("am", "pm")
        if hour < 24 and minute < 60 and (hinted or meridiem):
            return hour, minute, i + 1, meridiem
        return None
    if low == "zero" or low == "oh":
        return None
    read = numbers.below_hundred(tokens, i)
    if read is None or read[0] > 24:
        return None
    hour, at = read
    following = tokens[at].low if at < len(tokens) else ""
    if following in ("am", "pm", "o'clock", "oclock") and not tokens[at - 1].tail:
        return hour, 0, at, True
    past, end = _minute(tokens, at)
    if past is not None and not tokens[at - 1].tail and 1 <= hour <= 24:
        then = tokens[end].low if end < len(tokens) else ""
        if then in ("am", "pm") or hinted or _day_part(tokens, end)[0] or then in ("slot", "one"):
            return hour, past, end, True
        if tokens[at].low in ("thirty", "fifteen") and not tokens[i].low.isdigit() and then not in _NOT_MINUTES:
            return hour, past, end, False
    if _day_part(tokens, at)[0]:
        return hour, 0, at, True
    if (hinted and hour and following not in _NOT_HOURS) or following == "slot":
        return hour, 0, at, following == "slot"
    return None


_NOT_MINUTES = frozenset("minutes hundred thousand dollars pounds euros people percent".split())
_NOT_HOURS = frozenset(
    "people persons of guests adults kids children days weeks months hours minutes nights bags dollars pounds euros"
    " years miles members friends tickets seats rooms".split()
)


def _minute(tokens: Sequence[Token], i: int) -> tuple[int | None, int]:
    if i >= len(tokens):
        return None, i
    if tokens[i].low in ("oh", "o", "zero") and i + 1 < len(tokens):
        unit = numbers.small(tokens[i + 1].low)
        if unit is not None and 0 < unit < 10:
            return unit, i + 2
        return None, i
    read = numbers.below_hundred(tokens, i)
    if read is not None and read[1] == i + 2 and tokens[i + 1].low == "one":
        # "the four thirty one" is the one at four thirty.
        after = tokens[i + 2].low if i + 2 < len(tokens) else ""
        if after not in ("am", "pm"):
            read = numbers.below_hundred(tokens[: i + 1], i)
    if read is not None and 10 <= read[0] <= 59 and not (tokens[i].low.isdigit() and len(tokens[i].low) != 2):
        return read
    return None, i


def _day_part(tokens: Sequence[Token], i: int) -> tuple[str | None, str]:
    """As in "am" or "pm" from "in the morning", "at night", "tomorrow evening" right behind a time."""
    for skip in range(4):
        if i + skip >= len(tokens):
            break
        low = tokens[i + skip].low
        if skip == 0 and low in ("morning", "afternoon", "evening", "night"):
            break  # "one night" is no time of day
        if low == "morning":
            return "am", low
        if low in ("afternoon", "evening", "tonight", "night"):
            return "pm", low
        if low not in ("in", "the", "at", "this", "tomorrow"):
            break
        if i + skip and tokens[i + skip - 1].tail in (".", "?", "!"):
            break
    return None, ""


def part_of_day(tokens: Sequence[Token]) -> str | None:
    """As in "am" or "pm" if the whole utterance speaks of one part of the day only."""
    lows = {token.low for token in tokens}
    morning = bool(lows & {"morning"}) and tokens[0].low != "good"
    later = bool(lows & {"afternoon", "evening", "tonight"}) and tokens[0].low != "good"
    if morning == later:
        return None
    return "am" if morning else "pm"


# -- dates


def read_day(tokens: Sequence[Token], i: int, today: dt.date, *, hinted: bool) -> tuple[Day, int] | None:
    """A date at position i. `hinted`: the question was about a date, so "the fifth" alone counts."""
    for reader in (_numeric, _month_day, _day_month, _relative, _weekday, _in_days):
        found = reader(tokens, i, today)
        if found is not None:
            return found
    return _bare_ordinal(tokens, i, today, hinted)


def _future(today: dt.date, month: int, day: int, year: int | None) -> dt.date | None:
    """The day in the year said, unless that is past (recognisers add years nobody said), else the next one."""
    for candidate in (year, today.year, today.year + 1, today.year + 2, today.year + 3, today.year + 4):
        if candidate is None:
            continue
        try:
            date = dt.date(candidate, month, day)
        except ValueError:
            continue
        if date >= today:
            return date
    return None


def _year(tokens: Sequence[Token], i: int) -> tuple[int | None, int]:
    if i < len(tokens) and re.fullmatch(r"(?:19|20)\d\d", tokens[i].low):
        return int(tokens[i].low), i + 1
    if i + 1 < len(tokens) and tokens[i].low in ("nineteen", "twenty"):
        read = numbers.below_hundred(tokens, i + 1)
        if read is not None and read[0] >= 10:
            return (1900 if tokens[i].low == "nineteen" else 2000) + read[0], read[1]
    if [t.low for t in tokens[i : i + 2]] == ["two", "thousand"]:
        read = numbers.cardinal(tokens, i)
        if read is not None and read[0] < 2100:
            return read
    return None, i


def _numeric(tokens: Sequence[Token], i: int, today: dt.date) -> tuple[Day, int] | None:
    if match := _NUMERIC.match(tokens[i].low):
        try:
            return Day(tokens[i].text, dt.date(int(match[1]), int(match[2]), int(match[3])), named=True), i + 1
        except ValueError:
            return None
    if match := _SLASHED.match(tokens[i].low):
        year = int(match[3]) if match[3] else None
        if year is not None and year < 100:
            year += 2000
        month, day = int(match[1]), int(match[2])
        if month > 12:
            month, day = day, month
        date = _future(today, month, day, year) if month <= 12 else None
        return (Day(tokens[i].text, date, named=True, year=year), i + 1) if date else None
    return None


def _day_number(tokens: Sequence[Token], i: int) -> tuple[int, int] | None:
    read = numbers.ordinal(tokens, i) or numbers.below_hundred(tokens, i)
    return read if read is not None and 1 <= read[0] <= 31 else None


def _named(tokens: Sequence[Token], i: int, end: int, month: int, day: int, today: dt.date) -> tuple[Day, int] | None:
    year, after = _year(tokens, end + 1 if end < len(tokens) and tokens[end].low == "of" else end)
    date = _future(today, month, day, year)
    if date is None:
        return None
    if year is not None and date.year == year:
        return Day(words(tokens[i:after]), date, named=True, year=year), after
    return Day(words(tokens[i:end]), date, named=True, year=year), after if year is not None else end


def _month_day(tokens: Sequence[Token], i: int, today: dt.date) -> tuple[Day, int] | None:
    month = _MONTH.get(tokens[i].low)
    if month is None or i + 1 >= len(tokens):
        return None
    at = i + 2 if tokens[i + 1].low == "the" else i + 1
    read = _day_number(tokens, at)
    if read is None or tokens[i].tail not in ("", ","):
        return None
    return _named(tokens, i, read[1], month, read[0], today)


def _day_month(tokens: Sequence[Token], i: int, today: dt.date) -> tuple[Day, int] | None:
    start = i + 1 if tokens[i].low == "the" else i
    read = _day_number(tokens, start)
    if read is None:
        return None
    at = read[1] + 1 if read[1] < len(tokens) and tokens[read[1]].low == "of" else read[1]
    if at >= len(tokens) or tokens[at].low not in _MONTH or tokens[at - 1].tail:
        return None
    return _named(tokens, i, at + 1, _MONTH[tokens[at].low], read[0], today)


def _relative(tokens: Sequence[Token], i: int, today: dt.date) -> tuple[Day, int] | None:
    lows = [token.low for token in tokens[i : i + 6]]
    one = dt.timedelta(days=1)
    for phrase, days in (
        ("the day after tomorrow", 2),
        ("day after tomorrow", 2),
        ("the day before yesterday", -2),
        ("day before yesterday", -2),
    ):
        parts = phrase.split()
        if lows[: len(parts)] == parts:
            return Day(words(tokens[i : i + len(parts)]), today + days * one), i + len(parts)
    end = i + 1
    if lows[0] in ("today", "tonight", "tomorrow", "yesterday"):
        date = today + {"tomorrow": one, "yesterday": -one}.get(lows[0], 0 * one)
        return Day(tokens[i].text.lower(), date), end
    if lows[0] == "this" and len(lows) > 1 and lows[1] in ("morning", "afternoon", "evening"):
        return Day("today", today), i + 2
    if lows[0] in ("this", "next", "the") and len(lows) > 1 and lows[1] in ("week", "weekend", "month"):
        if lows[0] == "the" and lows[1] != "weekend":
            return None
        if lows[1] == "weekend":
            date = today + ((5 - today.weekday()) % 7 + (7 if lows[0] == "next" and today.weekday() <= 5 else 0)) * one
        elif lows[1] == "week":
            date = today if lows[0] == "this" else today + (7 - today.weekday()) * one
        else:
            date = today if lows[0] == "this" else (today.replace(day=1) + 32 * one).replace(day=1)
        return Day(words(tokens[i : i + 2]).lower(), date, vague=True), i + 2
    return None


def _weekday(tokens: Sequence[Token], i: int, today: dt.date) -> tuple[Day, int] | None:
    lows = [token.low for token in tokens[i : i + 6]]
    if lows[0] == "last" and len(lows) > 1 and lows[1] in _WEEKDAY:
        back = (today.weekday() - _WEEKDAY[lows[1]]) % 7 or 7
        return Day(f"last {WEEKDAYS[_WEEKDAY[lows[1]]]}", today - dt.timedelta(days=back), named=True), i + 2
    at = 0
    modifiers: list[str] = []
    while at < len(lows) and lows[at] in ("next", "this", "coming", "following", "the", "a", "week", "on", "from"):
        modifiers.append(lows[at])
        at += 1
    if at >= len(lows):
        return None
    name = lows[at].removesuffix("'s").removesuffix("s") if lows[at] not in _WEEKDAY else lows[at]
    number = _WEEKDAY.get(name)
    if number is None and lows[at] in ("sat", "sun") and modifiers:
        number = 5 if lows[at] == "sat" else 6
    if number is None:
        return None
    if "week" in modifiers and "on" not in modifiers and "from" not in modifiers:
        return None
    if modifiers[:1] in (["on"], ["from"]) or modifiers[:2] == ["a", "on"]:
        return None  # the preposition is not part of the date
    end = i + at + 1
    ahead = (number - today.weekday()) % 7
    text = [token.text.lower() for token in tokens[i : end - 1]]
    while text and text[0] in ("the", "a") and "week" not in text:
        text.pop(0)
    if "week" in modifiers or (end < len(tokens) and tokens[end].low == "week"):
        # "a week on Tuesday", "Tuesday week"
        ahead += 7
        if end < len(tokens) and tokens[end].low == "week":
            end += 1
            return Day(f"{WEEKDAYS[number]} week", today + dt.timedelta(days=ahead), weekday=True), end
    elif "next" in modifiers:
        # Next Tuesday is the Tuesday of next week, or the coming one where that is the same.
        ahead = 7 - today.weekday() + number
    elif ahead == 0 and ("coming" in modifiers or "following" in modifiers):
        ahead = 7
    day = Day(" ".join([*text, WEEKDAYS[number]]), today + dt.timedelta(days=ahead), weekday=True)
    # "Tuesday the 24th", "Friday, March 6th": the number decides the date.
    at = end + 1 if end < len(tokens) and tokens[end].low == "the" else end
    if at < len(tokens):
        named = _month_day(tokens, at, today) or _day_month(tokens, end, today)
        if named is not None:
            return Day(named[0].text, named[0].date, named=True), named[1]
        read = numbers.ordinal(tokens, at)
        if read is not None and (at > end or tokens[at].low[0].isdigit()) and 1 <= read[0] <= 31:
            date = _day_of_month(today, read[0])
            if date is not None:
                return Day(f"{day.text} the {words(tokens[at : read[1]])}", date, named=True), read[1]
    return day, end


def _in_days(tokens: Sequence[Token], i: int, today: dt.date) -> tuple[Day, int] | None:
    start = i + 1 if tokens[i].low == "in" else i
    if start >= len(tokens):
        return None
    read: tuple[int, int] | None
    if tokens[start].low in ("a", "an") and start + 1 < len(tokens):
        read = (1, start + 1) if tokens[start + 1].low != "couple" else numbers.cardinal(tokens, start)
    else:
        read = numbers.cardinal(tokens, start)
    if read is None or read[1] >= len(tokens):
        return None
    unit = tokens[read[1]].low
    size = {"day": 1, "days": 1, "week": 7, "weeks": 7, "fortnight": 14}.get(unit)
    if size is None:
        return None
    end = read[1] + 1
    tail = [token.low for token in tokens[end : end + 2]]
    if tokens[i].low == "in" and size == 7 and tail and tail[0] in ("from", "on") and end + 1 < len(tokens):
        if _weekday(tokens, end + 1, today) is not None:
            return None  # "come in a week from Monday": the date begins one word later
    if tokens[i].low != "in":
        if tail == ["from", "now"] or tail == ["from", "today"]:
            end += 2
        elif size == 7 and tail and tail[0] in ("from", "on") and end + 1 < len(tokens):
            base = _weekday(tokens, end + 1, today) or _relative(tokens, end + 1, today)
            if base is None:
                return None
            date = base[0].date + dt.timedelta(days=size * read[0])
            return Day(words(tokens[i : base[1]]), date), base[1]
        else:
            return None
    return Day(words(tokens[i:end]), today + dt.timedelta(days=size * read[0])), end


def _day_of_month(today: dt.date, day: int) -> dt.date | None:
    """The next date with this day of the month."""
    date = today
    for _ in range(62):
        if date.day == day:
            return date
        date += dt.timedelta(days=1)
    return None


def _bare_ordinal(tokens: Sequence[Token], i: int, today: dt.date, hinted: bool) -> tuple[Day, int] | None:
    start = i + 1 if tokens[i].low == "the" else i
    read = numbers.ordinal(tokens, start)
    if read is None or not 1 <= read[0] <= 31 or (start == i and not hinted and not tokens[i].low[0].isdigit()):
        return None
    after = tokens[read[1]].low if read[1] < len(tokens) else ""
    if after in (
        "one",
        "floor",
        "time",
        "option",
        "slot",
        "choice",
        "class",
        "street",
        "avenue",
        "of",
        "thing",
        "name",
    ):
        return None
    if not (hinted or read[0] > 5 or (i and tokens[i - 1].low == "on")):
        return None
    date = _day_of_month(today, read[0])
    return (Day(words(tokens[i : read[1]]), date, named=True), read[1]) if date else None


# -- writing


def month_day(date: dt.date) -> str:
    """As in "March 15"."""
    return f"{MONTHS[date.month - 1]} {date.day}"


def spoken_date(date: dt.date) -> str:
    """As in "Tuesday, March 15"."""
    return f"{WEEKDAYS[date.weekday()]}, {month_day(date)}"


def twelve_hour(hour: int, minute: int, *, minutes_always: bool = True) -> str:
    """As in "2:00 PM", or "2 PM" for speech."""
    suffix = "AM" if hour % 24 < 12 else "PM"
    shown = (hour - 1) % 12 + 1
    return f"{shown}:{minute:02d} {suffix}" if minute or minutes_always else f"{shown} {suffix}"


_TIMES = re.compile(r"\b(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\b\.?|\b([01]?\d|2[0-3]):([0-5]\d)\b", re.I)


def times_in(text: str) -> list[tuple[int, int]]:
    """The times of day in a text, in order, as hour and minute."""
    found = []
    for match in _TIMES.finditer(text):
        if match[3]:
            hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
            found.append((hour, int(match[2] or 0)))
        else:
            found.append((int(match[4]), int(match[5])))
    return found
