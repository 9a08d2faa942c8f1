"""Words: tokens, stems, and a small thesaurus of general English.

The lowest module of the stand-in. It knows the language of service calls in general ("book", "call off", "is there"),
kept in `thesaurus.json`, and nothing of any trade. Everything above works on its `Token`s.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any


@dataclass(slots=True, frozen=True)
class Token:
    """A word or number as it stands in the text."""

    text: str
    low: str
    tail: str
    """The punctuation between this token and the next, "" if none."""


_TOKEN = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # an address
    r"|\d{1,2}[:.]\d{2}(?!\d|\.\d)"  # a time of day, or an amount
    r"|\+?\d[\d,]*\d(?:-\d+)*(?:\.\d+)?(?![^\W_]|/|-[^\W_])"  # a number, perhaps in groups
    r"|[^\W_]+(?:['\-/][^\W_]+)*"  # a word, also with apostrophes, hyphens or slashes inside
)
_TENS_HYPHEN = re.compile(r"\b(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-(?=[a-z])", re.I)
_HOURS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_CLOCK_HYPHEN = re.compile(
    rf"(?<=\bhalf)-(?=past\b)|(?<=\bquarter)-(?=(?:past|to)\b)|(?<=\bpast)-(?=(?:{_HOURS})\b)"
    rf"|(?:(?<=one)|(?<=two)|(?<=six)|(?<=ten)|(?<=four)|(?<=five)|(?<=nine)|(?<=three)|(?<=seven)|(?<=eight)"
    rf"|(?<=eleven)|(?<=twelve))-(?=(?:thirty|fifteen|forty|twenty|ten|fifty|oh|o'clock)\b)",
    re.I,
)
"""The hyphens that some recognisers write inside a time of day: "half-past four", "eleven-thirty"."""
_SPOKEN_MERIDIEM = re.compile(r"(?<=[a-z] )(?<!\bis )(?<!\bi )([ap])\s?\.?\s?M\b\.?(?<!am)(?<!pm)", re.I)
"""Meridiems written as letters behind a time in words: "three p M."."""
_MERIDIEM = re.compile(r"(?<=\d)\s?([ap])(?:\.\s?(m)\b\.?|\s?(m)\b)|(?<=\s)([ap])\.\s?(m)\b\.?", re.I)


def tidy(text: str) -> str:
    """Text with plain apostrophes, and with "2pm", "2 p.m." and "2 P M" all written "2 pm"."""
    text = text.replace("\u2019", "'").replace("\u2018", "'").replace("\u2013", "-").replace("\u2014", ", ")
    text = _MERIDIEM.sub(lambda m: " " + "".join(filter(None, m.groups())), text)
    text = re.sub(r"\b(to)-(morrow|day|night)\b", r"\1\2", text, flags=re.I)
    text = re.sub(r"\b(good)(?:-bye?|[- ]by(?=[.!,]|$))", r"\1bye", text, flags=re.I)
    text = _CLOCK_HYPHEN.sub(" ", text)
    text = _SPOKEN_MERIDIEM.sub(lambda m: f"{m[1].lower()}m", text)
    text = re.sub(r"(?<=\d)(?=o'?clock)", " ", text, flags=re.I)
    text = _TENS_HYPHEN.sub(r"\1 ", text)
    # An initial, and titles, do not end a sentence.
    text = re.sub(r"\b(dr|mr|mrs|ms|st)\.(?=\s)", r"\1", text, flags=re.I)
    return re.sub(r"\s+", " ", text.replace("#", " ")).strip()


@lru_cache(maxsize=4096)
def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of a text, after `tidy`."""
    text = tidy(text)
    tokens = []
    matches = list(_TOKEN.finditer(text))
    for i, match in enumerate(matches):
        end = matches[i + 1].start() if i + 1 < len(matches) else len(text)
        word = match.group()
        tokens.append(Token(word, word.lower(), text[match.end() : end].strip()))
    return tuple(tokens)


def words(tokens: Sequence[Token]) -> str:
    """The tokens as the caller said them, single-spaced."""
    return " ".join(token.text for token in tokens)


@cache
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


_IRREGULAR = {
    "children": "child", "people": "peopl", "persons": "peopl", "person": "peopl", "booked": "book", "men": "man",
    "women": "woman", "sent": "send", "went": "go", "lost": "lost", "availability": "avail", "available": "avail",
    "openings": "open", "knives": "knife",
}  # fmt: skip


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The stem of a lower-case word."""
    word = word.removesuffix("'s").removesuffix("'")
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    return str(_stemmer().stemWord(word))


@cache
def _data() -> dict[str, Any]:
    data = json.loads(files(__package__).joinpath("thesaurus.json").read_text("utf-8"))
    assert isinstance(data, dict)
    return data


def phrases(name: str) -> tuple[str, ...]:
    """A list of stock phrases from the thesaurus, for example "farewells"."""
    return tuple(_data()["phrases"][name])


def table(name: str) -> Any:
    """A table of the thesaurus as it is written there."""
    return _data()[name]


@dataclass(slots=True, frozen=True)
class Thesaurus:
    """What `thesaurus.json` holds, stemmed."""

    acts: dict[tuple[str, ...], frozenset[str]]
    """Phrase (words as said, or a single stem) to the acts it may stand for."""
    longest: int
    kin: frozenset[tuple[str, str]]
    reading: frozenset[str]
    groups: dict[str, frozenset[str]]
    """Stem to the stems that mean nearly the same."""
    stop: frozenset[str]
    not_names: frozenset[str]


@cache
def thesaurus() -> Thesaurus:
    """The thesaurus, read once."""
    data = _data()
    acts: dict[tuple[str, ...], set[str]] = {}
    for act, phrases in data["acts"].items():
        for phrase in phrases:
            parts = tuple(phrase.split())
            key = (stem(parts[0]),) if len(parts) == 1 else tuple(stem(part) for part in parts)
            acts.setdefault(key, set()).add(act)
    groups: dict[str, set[str]] = {}
    for group in data["groups"]:
        stems = {stem(word) for word in group if " " not in word}
        for one in stems:
            groups.setdefault(one, set()).update(stems)
    return Thesaurus(
        acts={key: frozenset(value) for key, value in acts.items()},
        longest=max(map(len, acts)),
        kin=frozenset((a, b) for a, b in data["kin"]) | frozenset((b, a) for a, b in data["kin"]),
        reading=frozenset(data["reading"]),
        groups={key: frozenset(value) for key, value in groups.items()},
        stop=frozenset(data["stop"]),
        not_names=frozenset(data["not_names"]),
    )


def is_stop(word: str) -> bool:
    """True for a lower-case word that carries no topic."""
    return word in thesaurus().stop


@lru_cache(maxsize=65536)
def alike(a: str, b: str) -> float:
    """How near two stems are in meaning: 1 the same, 0.8 synonyms, 0.6 spelled nearly alike, 0 otherwise."""
    if a == b:
        return 1.0
    if b in thesaurus().groups.get(a, ()):
        return 0.8
    if len(a) > 4 and len(b) > 4 and a[0] == b[0]:
        from rapidfuzz.fuzz import ratio

        if ratio(a, b) >= 85:
            return 0.6
    return 0.0


def content_stems(text_or_words: str | Iterable[str]) -> tuple[str, ...]:
    """The stems of the words that carry a topic, in order."""
    lows = [t.low for t in tokenize(text_or_words)] if isinstance(text_or_words, str) else text_or_words
    return tuple(stem(low) for low in lows if low not in thesaurus().stop and not low.isdigit())


@lru_cache(maxsize=4096)
def act_phrases(tokens: tuple[Token, ...]) -> frozenset[int]:
    """The positions of the words that make up acts of more than one word: "send back"."""
    book, stems = thesaurus(), [stem(token.low) for token in tokens]
    return frozenset(
        k
        for size in range(2, book.longest + 1)
        for i in range(len(stems) - size + 1)
        if tuple(stems[i : i + size]) in book.acts
        for k in range(i, i + size)
    )


_DETERMINERS = frozenset("my the a an our your this that his her their which no previous earlier existing".split())
_NOUN_ENDINGS = ("ing", "ation", "ment", "ity")


def acts_of(tokens: Sequence[Token]) -> frozenset[str]:
    """What the words ask to have done ("arrange", "cancel", "check" ...). Longest phrases first.

    A verb that stands as a noun ("my order", "the booking") names a thing and asks for nothing, unless it is all
    there is.
    """
    book = thesaurus()
    stems = [stem(token.low) for token in tokens]
    found: set[str] = set()
    nouns: set[str] = set()
    i = 0
    while i < len(stems):
        for size in range(min(book.longest, len(stems) - i), 0, -1):
            acts = book.acts.get(tuple(stems[i : i + size]))
            if acts is None or (size == 1 and i and tokens[i - 1].low in ("not", "don't", "no", "without")):
                continue
            if size == 1 and _is_noun(tokens, i):
                nouns |= acts
            else:
                found |= acts
            i += size - 1
            break
        i += 1
    return frozenset(found or nouns)


def _is_noun(tokens: Sequence[Token], i: int) -> bool:
    if i == 0 or stem(tokens[i].low) in ("free", "avail", "open"):
        return False
    before = tokens[i - 1].low
    if tokens[i].low in ("any", "anything", "something"):
        return False
    if before in _DETERMINERS or (i > 1 and tokens[i - 2].low in _DETERMINERS and before not in ("to", "i", "we")):
        # "a lost order" names one; "my friend booked" still has a verb in it, which then counts as weak evidence only.
        return True
    return tokens[i].low.endswith(_NOUN_ENDINGS) and before not in ("am", "i'm", "we're", "try", "about", "for", "to")


def title_case(name: str) -> str:
    """A name with capitals, where the recogniser wrote none: "siobhan o'neill" becomes "Siobhan O'Neill"."""
    if name != name.lower():
        return name
    return re.sub(r"(?:^|(?<=[\s'-]))[^\W\d_](?!\s|$)|(?:^|(?<=\s))[^\W\d_]", lambda m: m[0].upper(), name)


def join_words(parts: Sequence[str], conjunction: str = "and") -> str:
    """As in "a", "a and b", "a, b, and c"."""
    if len(parts) < 3:
        return f" {conjunction} ".join(parts)
    return f"{', '.join(parts[:-1])}, {conjunction} {parts[-1]}"
