"""What the local voice must be told to say: text with the things that are read out piece by piece spelled out.

The voice's own front end reads numbers, dates, times of day, money and abbreviations well. It takes telephone numbers,
reference codes and addresses for numbers and words, which nobody could write down from hearing. Those are rewritten
here; all else is left as it is.
"""

from __future__ import annotations

import itertools
import re

from antiphon.language import ENGLISH

_MONTHS = r"jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec"
_DAYS = {
    "mon": "Monday", "tue": "Tuesday", "tues": "Tuesday", "wed": "Wednesday", "thu": "Thursday",
    "thurs": "Thursday", "fri": "Friday", "sat": "Saturday", "sun": "Sunday",
}  # fmt: skip
_DAY = "|".join(sorted(_DAYS, key=len, reverse=True))
_SIGNS = {sign: f" {ENGLISH.spoken.mark_names[sign]} " for sign in ".-_/+"}
_TIME = r"\d{1,2}(?::\d\d)?(?: ?[ap]\.?m\.?)?"


def spoken(text: str) -> str:
    """`text` as it should be read out.

    >>> spoken("Call 555-0142 about R-1842.")
    'Call 5 5 5, 0 1 4 2 about R 1 8 4 2.'
    >>> spoken("Write to jo.ann@example.com, Mon-Fri, 9am-5pm.")
    'Write to jo dot ann at example dot com, Monday to Friday, 9 AM to 5 PM.'
    """
    for pattern, say in _RULES:
        text = pattern.sub(say, text)
    return text


def _email(match: re.Match[str]) -> str:
    name, host = match.groups()
    return f"{_pieces(name)} at {_pieces(host)}"


def _url(match: re.Match[str]) -> str:
    return _pieces(re.sub(r"^www\.", "W W W dot ", match.group(1)))


def _pieces(address: str) -> str:
    """The parts of an address with its signs as words; digits one by one."""
    said = "".join(_SIGNS.get(char, f" {char} " if char.isdigit() else char) for char in address)
    return re.sub(r"\s+", " ", said).strip()


def _telephone(match: re.Match[str]) -> str:
    plus = "plus " if match.group().startswith("+") else ""
    return plus + ", ".join(" ".join(group) for group in re.findall(r"\d+", match.group()))


def _code(match: re.Match[str]) -> str:
    """Letters and digits one by one, with a short break between two longer runs of one kind."""
    runs = re.findall(r"[A-Za-z]+|\d+", match.group())
    said = " ".join(runs[0].upper())
    for before, run in itertools.pairwise(runs):
        said += (", " if min(len(before), len(run)) > 1 else " ") + " ".join(run.upper())
    return said


def _is_code(text: str) -> bool:
    """True for reference codes; false for the likes of B12, MP3, 12B and COVID-19, which are said as words."""
    letters = re.findall(r"[A-Za-z]+", text)
    characters = [char for char in text if char.isalnum()]
    digits = sum(char.isdigit() for char in characters)
    return len(characters) >= 4 and digits >= 2 and max(map(len, letters)) < 5


def _say_code(match: re.Match[str]) -> str:
    return _code(match) if _is_code(match.group()) else match.group()


def _digits(match: re.Match[str]) -> str:
    """Digits in groups of three or four, as people say them."""
    digits = match.group()
    size = 4 if len(digits) % 4 == 0 else 3
    return ", ".join(" ".join(digits[at : at + size]) for at in range(0, len(digits), size))


def _range(match: re.Match[str]) -> str:
    return f"{match.group(1)} to {match.group(2)}"


def _time(match: re.Match[str]) -> str:
    return f"{match.group(1)} {match.group(2).upper()}"


def _days(match: re.Match[str]) -> str:
    return " to ".join(_DAYS[day.lower().rstrip(".")] for day in match.groups())


_RULES = (
    (re.compile(r"([\w.+-]+)@([\w-]+(?:\.[\w-]+)+)"), _email),
    (re.compile(r"(?:https?://)?((?:www\.|(?<=://))[\w-]+(?:\.[\w-]+)+(?:/[\w/-]*\w)?)"), _url),
    (re.compile(rf"\b({_DAY})\.?\s?[-\u2013]\s?({_DAY})\b\.?", re.IGNORECASE), _days),
    # One or two digits on both sides: a range. A date or a telephone number has more parts or more digits.
    (re.compile(rf"(?<![\w-])({_TIME})\s?[-\u2013]\s?({_TIME})(?![\w-])", re.IGNORECASE), _range),
    # The front end takes a small "am" for the verb.
    (re.compile(r"\b(\d{1,2}(?::\d\d)?) ?([ap]m)\b", re.IGNORECASE), _time),
    # A date such as 2026-03-03 is the front end's; a telephone number has groups of three or four digits.
    (re.compile(r"(?<![\w-])(?:\+?\d{1,3}[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])(?:\d{3}[ .-])?\d{4}(?![\w-])"), _telephone),
    (re.compile(r"(?<=#)\d{2,}\b"), _digits),
    (
        re.compile(
            rf"\b(?!(?:{_MONTHS})-\d)(?=[A-Z0-9-]*\d)(?=[0-9-]*[A-Z])(?!\d+(?:AM|PM)\b)(?:[A-Z0-9]+-)*[A-Z0-9]+\b"
        ),
        _say_code,
    ),
    (re.compile(r"\b[a-z]{1,4}(?:-[a-z]{1,4})*-\d{2,}(?:-[a-z0-9]+)*\b"), _say_code),
    (re.compile(r"(?<![\d,.$€£:-])\d{5,}(?![\d:%]|[,.]\d)"), _digits),
)
