"""What people say when they spell, and what to say so that they can check it.

Pure functions over text. Above: the ready tasks. The first half turns spoken forms into written ones ("j o h n dot doe
at example dot com", "double five", "oh" for zero); the second half turns written ones into speech that spells. English.
They refuse to guess: a word that has no place in a number or an address is a `ValueError` that names it.
"""

from __future__ import annotations

import datetime as dt
import re

_UNITS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
        " seventeen eighteen nineteen".split()
    )
}
_TENS = {
    word: str(number)
    for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_ZERO = frozenset({"oh", "o", "nought", "nil"})
_HEARD_AS = {"to": "2", "too": "2", "for": "4", "won": "1", "ate": "8"}
"""Digits as recognisers write them, taken for digits only between digits."""
_TIMES = {"double": 2, "triple": 3, "treble": 3}
_KEYS = {"star": "*", "asterisk": "*", "pound": "#", "hash": "#", "hashtag": "#"}
_NUMBER_FILLERS = frozenset(
    "it is it's its that that's my the a and um uh er number phone area code then dash hyphen space please yes country"
    " mobile sorry digit digits press key i enter".split()
)

_NO = frozenset("no nope nah wrong incorrect".split())
_NO_MORE = frozenset("that's that is it's it not right correct sorry i'm afraid um uh quite true".split())

_ALPHABET = {
    word: word[0]
    for word in (
        "alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar papa"
        " quebec romeo sierra tango uniform victor whiskey whisky xray x-ray yankee zulu"
    ).split()
}
_MARKS = {
    "dot": ".",
    "period": ".",
    "point": ".",
    "underscore": "_",
    "dash": "-",
    "hyphen": "-",
    "minus": "-",
    "plus": "+",
}
_ADDRESS_FILLERS = frozenset(
    "it is it's its that that's my the email e-mail um uh er capital uppercase lowercase small all one-word then and"
    " please yes so spelled".split()
)
_WELL_KNOWN = frozenset(
    "gmail googlemail yahoo outlook hotmail icloud proton protonmail example mail com org net edu gov info".split()
)
"""Parts of domains that everybody knows by ear; others are spelled."""
_MARK_NAMES = {
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
_DIGIT_NAMES = "zero one two three four five six seven eight nine".split()


# -- from speech


def digits(spoken: str) -> str:
    """Digits said in any grouping: "five five five, oh one two" is "555012"; "plus" is "+" at the beginning.

    "double five", "triple seven", "twenty five" (25) and "eight hundred" (800) are understood, and so is anything that
    is written in digits already.

    Raises `ValueError` for words that are no part of a number.
    """
    return _digits(spoken, {})


def keys(spoken: str) -> str:
    """The keys of a telephone: digits, and "star" and "pound" (or "hash"). Raises `ValueError` for other words."""
    return _digits(spoken, _KEYS)


def _digits(spoken: str, marks: dict[str, str]) -> str:
    written = "".join(marks.values())
    bare = re.sub(r"[\s().,/-]", "", spoken)
    if re.fullmatch(rf"\+?[\d{re.escape(written)}]+" if written else r"\+?\d+", bare):
        return bare
    words = re.findall(r"\d+|\+|[*#]|[^\W\d_]+(?:'[^\W\d_]+)?", spoken.lower())
    out, times, at = "", 1, 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in _TIMES:
            times = _TIMES[word]
            continue
        piece = _piece(word, out, marks)
        if word in _TENS and at < len(words) and len(unit := _UNITS.get(words[at], "")) == 1 and unit != "0":
            piece, at = _TENS[word] + unit, at + 1
        if at < len(words) and words[at] == "hundred" and piece.isdigit():
            piece, at = piece + "00", at + 1
        out, times = out + piece * times, 1
    return out


def _piece(word: str, before: str, marks: dict[str, str]) -> str:
    """The characters that one word stands for."""
    if word in marks:
        return marks[word]
    if word.isdigit() or word in marks.values():
        return word
    if word in ("plus", "+"):
        return "" if before else "+"
    if word in _ZERO:
        return "0"
    if word in _UNITS:
        return _UNITS[word]
    if word in _TENS:
        return f"{_TENS[word]}0"
    if before and word in _HEARD_AS:
        return _HEARD_AS[word]
    if word in _NUMBER_FILLERS or word in ("to", "for"):
        return ""
    raise ValueError(f"{word!r} is no part of a number")


def house_number(street: str) -> str:
    """A street with its leading number in digits: "twelve oak street" is "12 oak street"; others as they are."""
    words = street.split()
    count = 0
    while count < len(words) and _is_number_word(words[count].lower().strip(",")):
        count += 1
    # "Double Street" and "Oh Street" begin with words that only count among digits.
    if not any(word.lower().strip(",") in _UNITS or word.lower().strip(",") in _TENS for word in words[:count]):
        return " ".join(words)
    return " ".join([digits(" ".join(words[:count])), *words[count:]])


def _is_number_word(word: str) -> bool:
    return word.isdigit() or word in _UNITS or word in _TENS or word in _ZERO or word in _TIMES or word == "hundred"


def email(spoken: str) -> str:
    """An e-mail address, spoken or written: "j o h n dot doe at example dot com" is "john.doe@example.com".

    Letters one by one, the telephone alphabet, "n as in Nancy", "double l", "underscore", "dash", "plus" and numbers
    are understood. Whether the result can be an address is for others to say.
    """
    text = spoken.strip().strip(".,?!").strip()
    if re.fullmatch(r"\S+@\S+", text):
        return text.lower()
    text = re.sub(r"[\s,]*(?:@|\bat[- ]sign\b|\bat\b)[\s,]*", " at ", text.lower())
    text = re.sub(r"\ball (?:one word|lower ?case|together)\b|\b(?:one word|lower case|no spaces?)\b", " ", text)
    local, at, host = text.rpartition(" at ")
    if not at:
        return _joined(text)
    # "at" may also stand in a lead-in ("you reach me at ..."), which is not part of the address.
    return f"{_joined(local.rpartition(' at ')[2])}@{_joined(host)}"


def spelled(spoken: str) -> str:
    """A word as spelled: "S-M-I-T-H", "s m i double t", "B as in Bravo, A" become "Smith", "Smitt", "Ba".

    What is not spelled is returned as it is, without spaces at its ends: "van der Berg".
    """
    words = re.findall(r"[^\W_]+(?:'[^\W_]+)*", spoken)
    lone = [w for w in words if len(w) == 1 and w.isalpha()]
    if len(lone) < 2 and not any(w.lower() in _TIMES for w in words):
        return " ".join(spoken.split())
    return _joined(spoken.lower().replace("-", " ")).capitalize()


def _joined(spoken: str) -> str:
    """Letters, numbers, marks and whole words, run together."""
    spoken = re.sub(r"\b([^\W\d_]),? (?:as in|for|like in|like) [^\W\d_]+", r"\1", spoken)
    words = re.findall(r"x-ray|e-mail|it's|that's|[^\W_]+(?:'[^\W_]+)*|[._+-]", spoken)
    # A row of single letters written with hyphens, and commas and full stops between letters, are only pauses.
    spelling = sum(len(w) == 1 and w.isalpha() for w in words) >= 2
    out, times = "", 1
    for number, word in enumerate(words):
        if word in _TIMES and number + 1 < len(words):
            times = _TIMES[word]
            continue
        if word in ".-" and spelling and number + 1 < len(words) and len(words[number + 1]) == 1:
            continue
        out += _written(word, out) * times
        times = 1
    return out.strip(".")


def _written(word: str, before: str) -> str:
    if word in _MARKS:
        return _MARKS[word]
    if word in _ALPHABET:
        return _ALPHABET[word]
    if word in _ADDRESS_FILLERS and (not before or word in ("capital", "uppercase", "lowercase", "small")):
        return ""
    if word in _UNITS:
        return _UNITS[word]
    if word in _TENS:
        return f"{_TENS[word]}0"
    return word.replace("'", "")


def is_bare_no(spoken: str) -> bool:
    """True for a no that says nothing of what would be right: "No, that's wrong."."""
    words = re.sub(r"[^\w\s']", " ", spoken.lower()).split()
    return bool(words) and words[0] in _NO and all(word in _NO or word in _NO_MORE for word in words)


# -- to speech


def spell(text: str) -> str:
    """Character by character: "Shane 2" is "S, H, A, N, E, two"."""
    return ", ".join(_name(c) for c in text if not c.isspace())


def _name(character: str) -> str:
    if character.isdigit():
        return _DIGIT_NAMES[int(character)]
    return _MARK_NAMES.get(character, character.upper())


def spell_email(address: str) -> str:
    """An address to be checked by ear: "jo@example.com" is "J, O, at, example, dot, com"."""
    local, _, host = address.partition("@")
    parts = [part if part in _WELL_KNOWN else spell(part) for part in host.split(".")]
    return f"{spell(local)}, at, {', dot, '.join(parts)}"


def say_digits(number: str) -> str:
    """A number in its groups: "+1 555-012" is "plus one, five five five, zero one two"."""
    groups = re.findall(r"[+\d*#]+", number)
    return ", ".join(" ".join("plus" if c == "+" else _name(c) for c in group) for group in groups)


def say_date(date: dt.date) -> str:
    """A date in words and a year in digits: "March 3rd, 1984"."""
    months = "January February March April May June July August September October November December".split()
    return f"{months[date.month - 1]} {date.day}{_ordinal(date.day)}, {date.year}"


def _ordinal(number: int) -> str:
    if 10 <= number % 100 <= 20:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
