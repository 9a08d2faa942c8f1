"""What people say when they spell, and what to say so that they can check it.

Pure functions over text. Above: the ready tasks. Below: the language's tables (`SpokenForms`), English unless given.
The first half turns spoken forms into written ones ("j o h n dot doe at example dot com", "double five", "oh" for
zero); the second half turns written ones into speech that spells. They refuse to guess: a word that has no place in a
number or an address is a `ValueError` that names it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from functools import cache

from antiphon.language.english import ENGLISH
from antiphon.language.spoken import SpokenForms

_ENGLISH = ENGLISH.spoken
_UNITS = frozenset("123456789")
_NO_KEYS: Mapping[str, str] = {}
_WELL_KNOWN = frozenset(
    "gmail googlemail yahoo outlook hotmail icloud proton protonmail example mail com org net edu gov info".split()
)
"""Parts of domains that everybody knows by ear; others are spelled."""


# -- from speech


def digits(spoken: str, forms: SpokenForms = _ENGLISH) -> str:
    """Digits said in any grouping: "five five five, oh one two" is "555012"; "plus" is "+" at the beginning.

    "double five", "triple seven", "twenty five" (25) and "eight hundred" (800) are understood, and so is anything that
    is written in digits already.

    Raises `ValueError` for words that are no part of a number.
    """
    return _digits(spoken, _NO_KEYS, forms)


def keys(spoken: str, forms: SpokenForms = _ENGLISH) -> str:
    """The keys of a telephone: digits, and "star" and "pound" (or "hash"). Raises `ValueError` for other words."""
    return _digits(spoken, forms.keys, forms)


def _digits(spoken: str, marks: Mapping[str, str], forms: SpokenForms) -> str:
    written = "".join(marks.values())
    bare = re.sub(r"[\s().,/-]", "", spoken)
    if re.fullmatch(rf"\+?[\d{re.escape(written)}]+" if written else r"\+?\d+", bare):
        return bare
    words = re.findall(r"\d+|\+|[*#]|[^\W\d_]+(?:'[^\W\d_]+)?", spoken.lower())
    out, times, at = "", 1, 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in forms.times:
            times = forms.times[word]
            continue
        piece = _piece(word, out, marks, forms)
        if word in forms.tens and at < len(words) and (unit := forms.numbers.get(words[at], "")) in _UNITS:
            piece, at = forms.tens[word] + unit, at + 1
        if at < len(words) and words[at] in forms.hundred and piece.isdigit():
            piece, at = piece + "00", at + 1
        out, times = out + piece * times, 1
    return out


def _piece(word: str, before: str, marks: Mapping[str, str], forms: SpokenForms) -> str:
    """The characters that one word stands for."""
    if word in marks:
        return marks[word]
    if word.isdigit() or word in marks.values():
        return word
    if word == "+" or word in forms.plus:
        return "" if before else "+"
    if (number := _number(word, forms)) is not None:
        return number
    if before and word in forms.heard_as:
        return forms.heard_as[word]
    if word in forms.number_padding:
        return ""
    raise ValueError(f"{word!r} is no part of a number")


def _number(word: str, forms: SpokenForms) -> str | None:
    """The digits of a number word by itself."""
    if word in forms.zero:
        return "0"
    if word in forms.tens:
        return f"{forms.tens[word]}0"
    return forms.numbers.get(word)


def split_extension(spoken: str, forms: SpokenForms = _ENGLISH) -> tuple[str, str]:
    """A telephone number, and what was said behind "extension"; "" if nothing was."""
    words = sorted(forms.extension, key=len, reverse=True)
    number, _, extension = re.sub(rf"(?i)\b(?:{_any_of(words)})\b\.?", "|", spoken).partition("|")
    return number, extension


def house_number(street: str, forms: SpokenForms = _ENGLISH) -> str:
    """A street with its number in digits: "twelve oak street" is "12 oak street"; others as they are."""
    words = street.split()
    bare = [word.lower().strip(",") for word in words]
    begin, end = 0, len(words)
    if forms.house_number_last:
        begin = end
        while begin > 0 and _is_number_word(bare[begin - 1], forms):
            begin -= 1
    else:
        end = 0
        while end < len(words) and _is_number_word(bare[end], forms):
            end += 1
    # "Double Street" and "Oh Street" begin with words that only count among digits.
    if not any(word in forms.numbers or word in forms.tens for word in bare[begin:end]):
        return " ".join(words)
    return " ".join([*words[:begin], digits(" ".join(words[begin:end]), forms), *words[end:]])


def _is_number_word(word: str, forms: SpokenForms) -> bool:
    return word.isdigit() or _number(word, forms) is not None or word in forms.times or word in forms.hundred


def without_lead_in(address: str, forms: SpokenForms = _ENGLISH) -> str:
    """A postal address without "my address is"."""
    return re.sub(rf"(?i)^(?:{_any_of(forms.address_lead_ins)}) ", "", address.strip())


def email(spoken: str, forms: SpokenForms = _ENGLISH) -> str:
    """An e-mail address, spoken or written: "j o h n dot doe at example dot com" is "john.doe@example.com".

    Letters one by one, the telephone alphabet, "n as in Nancy", "double l", "underscore", "dash", "plus" and numbers
    are understood. Whether the result can be an address is for others to say.
    """
    text = spoken.strip().strip(".,?!").strip()
    if re.fullmatch(r"\S+@\S+", text):
        return text.lower()
    text = re.sub(rf"[\s,]*(?:@|\b(?:{_any_of(forms.at)})\b)[\s,]*", " @ ", text.lower())
    text = re.sub(rf"\b(?:{_any_of(forms.run_together)})\b", " ", text)
    local, at, host = text.rpartition(" @ ")
    if not at:
        return _joined(text, forms)
    # "at" may also stand in a lead-in ("you reach me at ..."), which is not part of the address.
    return f"{_joined(local.rpartition(' @ ')[2], forms)}@{_joined(host, forms)}"


def spelled(spoken: str, forms: SpokenForms = _ENGLISH) -> str:
    """A word as spelled: "S-M-I-T-H", "s m i double t", "B as in Bravo, A" become "Smith", "Smitt", "Ba".

    What is not spelled is returned as it is, without spaces at its ends: "van der Berg".
    """
    words = re.findall(r"[^\W_]+(?:'[^\W_]+)*", spoken)
    lone = [w for w in words if len(w) == 1 and w.isalpha()]
    if len(lone) < 2 and not any(w.lower() in forms.times for w in words):
        return " ".join(spoken.split())
    return _joined(spoken.lower().replace("-", " "), forms).capitalize()


def _any_of(phrases: Iterable[str]) -> str:
    return "|".join(map(re.escape, phrases))


@cache
def _word(forms: SpokenForms) -> re.Pattern[str]:
    """A word or mark of what is spelled; "x-ray" and "e-mail" are words."""
    hyphened = {word for word in (*forms.alphabet, *forms.address_padding) if "-" in word}
    whole = "".join(f"{re.escape(word)}|" for word in sorted(hyphened, key=lambda word: (-len(word), word)))
    return re.compile(whole + r"[^\W_]+(?:'[^\W_]+)*|[._+-]")


def _joined(spoken: str, forms: SpokenForms) -> str:
    """Letters, numbers, marks and whole words, run together."""
    spoken = re.sub(rf"\b([^\W\d_]),? (?:{_any_of(forms.as_in)}) [^\W\d_]+", r"\1", spoken)
    words = _word(forms).findall(spoken)
    # A row of single letters written with hyphens, and commas and full stops between letters, are only pauses.
    spelling = sum(len(w) == 1 and w.isalpha() for w in words) >= 2
    out, times = "", 1
    for number, word in enumerate(words):
        if word in forms.times and number + 1 < len(words):
            times = forms.times[word]
            continue
        if word in ".-" and spelling and number + 1 < len(words) and len(words[number + 1]) == 1:
            continue
        out += _written(word, out, forms) * times
        times = 1
    return out.strip(".")


def _written(word: str, before: str, forms: SpokenForms) -> str:
    if word in forms.marks:
        return forms.marks[word]
    if word in forms.alphabet:
        return forms.alphabet[word]
    if word in forms.letter_case or (not before and word in forms.address_padding):
        return ""
    if word in forms.tens:
        return f"{forms.tens[word]}0"
    return forms.numbers.get(word) or word.replace("'", "")


def is_bare_no(spoken: str, forms: SpokenForms = _ENGLISH) -> bool:
    """True for a no that says nothing of what would be right: "No, that's wrong."."""
    words = re.sub(r"[^\w\s']", " ", spoken.lower()).split()
    return bool(words) and words[0] in forms.no and all(word in forms.no or word in forms.no_padding for word in words)


# -- to speech


def spell(text: str, forms: SpokenForms = _ENGLISH) -> str:
    """Character by character: "Shane 2" is "S, H, A, N, E, two"."""
    return ", ".join(_name(c, forms) for c in text if not c.isspace())


def _name(character: str, forms: SpokenForms) -> str:
    if character.isdigit():
        return forms.digit_names[int(character)]
    return forms.mark_names.get(character, character.upper())


def spell_email(address: str, forms: SpokenForms = _ENGLISH) -> str:
    """An address to be checked by ear: "jo@example.com" is "J, O, at, example, dot, com"."""
    local, _, host = address.partition("@")
    parts = [part if part in _WELL_KNOWN else spell(part, forms) for part in host.split(".")]
    dot = f", {_name('.', forms)}, "
    return f"{spell(local, forms)}, {_name('@', forms)}, {dot.join(parts)}"


def say_digits(number: str, forms: SpokenForms = _ENGLISH) -> str:
    """A number in its groups: "+1 555-012" is "plus one, five five five, zero one two"."""
    groups = re.findall(r"[+\d*#]+", number)
    return ", ".join(" ".join(_name(c, forms) for c in group) for group in groups)


def say_time(time: dt.time, forms: SpokenForms = _ENGLISH) -> str:
    """A time of the day, to the minute: "7:30 PM", "7 PM"."""
    form = forms.time if time.minute else forms.full_hour
    hour12, half = (time.hour + 11) % 12 + 1, forms.halves[time.hour // 12]
    return form.format(hour=time.hour, hour12=hour12, minute=f"{time.minute:02}", half=half)


def say_date(date: dt.date, forms: SpokenForms = _ENGLISH) -> str:
    """A date in words and a year in digits: "March 3rd, 1984"."""
    return forms.date.format(month=forms.months[date.month - 1], day=forms.days[date.day - 1], year=date.year)
