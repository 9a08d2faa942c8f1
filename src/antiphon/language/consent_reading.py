"""A reply to a read-back, read word by word: each phrase with what it does, each value against those of the read-back.

Above: `language.consent`, which decides. Below: the tables of the language. It does not know what a reply amounts to.
"""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from antiphon.language.consent_phrases import ConsentPhrases
from antiphon.record import record

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*(?:st|nd|rd|th)?(?![^\W\d_])|\d+|[^\W\d_]+(?:'[^\W\d_]+)*|\?")
_STUTTER = re.compile(r"\b([^\W\d_]{1,3})(?:-|\u2026|\.\.\.?)+\s*(?=\1)")
_CURRENCY = re.compile(r"([$\u00a3\u20ac])\s?(\d[\d.,]*)")
_CURRENCIES = {"$": "dollars", "\u00a3": "pounds", "\u20ac": "euros"}


class Tag(enum.Enum):
    """What a piece of a reply does."""

    YES = enum.auto()
    LISTENING = enum.auto()
    NO = enum.auto()
    WAIT = enum.auto()
    NEGATION = enum.auto()
    HEDGE = enum.auto()
    SPEAKING = enum.auto()
    REPORTED = enum.auto()
    CONDITION = enum.auto()
    CONTRAST = enum.auto()
    CHANGE = enum.auto()
    QUESTION = enum.auto()
    FILLER = enum.auto()
    HESITATION = enum.auto()
    EXTRA = enum.auto()
    NEUTRAL = enum.auto()
    ECHO = enum.auto()
    """Stands in the read-back."""
    OTHER = enum.auto()
    """A value that does not, or in another place there."""
    UNKNOWN = enum.auto()
    MARK = enum.auto()
    """A question mark."""


@record
class Piece:
    """A phrase of a reply."""

    tag: Tag
    text: str
    end: int
    """The token behind it."""
    kind: str = ""
    """Of a value: "number", "day" and so on; "word" for others that are repeated."""


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


class Tables:
    """The phrases of a language, ready to be looked up."""

    __slots__ = (
        "_adverbs",
        "_good",
        "_subjects",
        "_verbs",
        "acts",
        "affirming",
        "alone",
        "asking",
        "at_once",
        "checking",
        "clock",
        "confirming",
        "correction",
        "counted",
        "excusing",
        "extra_words",
        "joining",
        "named",
        "negating",
        "negation",
        "numbers",
        "open_end",
        "ordinals",
        "phrases",
        "prepositions",
        "ranges",
        "requests",
        "scale",
        "suffixes",
        "tens",
        "units",
    )

    def __init__(self, phrases: ConsentPhrases) -> None:
        self.phrases = _Phrases()
        for row, tag in (
            (phrases.yes, Tag.YES),
            (phrases.listening, Tag.LISTENING),
            (phrases.no, Tag.NO),
            (phrases.wait, Tag.WAIT),
            (phrases.hedge, Tag.HEDGE),
            (phrases.filler, Tag.FILLER),
            (phrases.hesitation, Tag.HESITATION),
            (phrases.speaking, Tag.SPEAKING),
            (phrases.reported, Tag.REPORTED),
            (phrases.negating, Tag.NEGATION),
            (phrases.condition, Tag.CONDITION),
            (phrases.contrast, Tag.CONTRAST),
            (phrases.change, Tag.CHANGE),
            (phrases.question, Tag.QUESTION),
            (phrases.neutral, Tag.NEUTRAL),
        ):
            self.phrases.add(row, tag)
        self.asking = _Phrases(phrases.asking, Tag.NEUTRAL)
        self.asking.add(phrases.extra, Tag.EXTRA)
        self.extra_words = _Phrases(phrases.extra_words, Tag.NEUTRAL)
        self.checking = _Phrases(phrases.checking, Tag.QUESTION)
        self.requests = _Phrases(phrases.requests, Tag.QUESTION)
        self.alone = frozenset(_row(phrases.alone))
        self.affirming = frozenset(_row(phrases.affirming))
        self.excusing = frozenset(_row(phrases.excusing))
        self.correction = frozenset(_row(phrases.correction))
        self.counted = frozenset(_row(phrases.counted))
        self.suffixes = frozenset(_row(phrases.suffixes))
        self.ranges = _pairs(phrases.ranges)
        self.joining = frozenset(_row(phrases.joining))
        self.negation = frozenset(_row(phrases.negation))
        self.at_once = frozenset(_row(phrases.at_once))
        self.open_end = frozenset(_row(phrases.open_end))
        acts = _pairs(phrases.acts)
        self.acts = {act: frozenset(like for like, meant in acts.items() if meant == acts[act]) for act in acts}
        self.confirming = frozenset(_row(phrases.confirming))
        self.negating = frozenset(_row(phrases.negating))
        self._subjects = _Phrases(phrases.subjects, Tag.YES)
        self._verbs = _Phrases("|".join(verb for verb in _row(phrases.verbs) if verb[0] != "'"), Tag.YES)
        for verb in _row(phrases.verbs):
            if verb[0] == "'":
                # "that's", and "thats" as recognisers write it
                for subject in _row(phrases.subjects):
                    self._subjects.add(f"{subject}{verb}|{subject}{verb[1:]}", Tag.NO)
        self._adverbs = _Phrases(phrases.adverbs, Tag.YES)
        self._good = _Phrases(phrases.good, Tag.YES)
        self.prepositions = _pairs(phrases.prepositions)
        self.numbers = _pairs(phrases.numbers)
        self.tens = _pairs(phrases.tens)
        self.ordinals = _pairs(phrases.ordinals)
        self.scale = dict.fromkeys(_row(phrases.hundred), 100) | dict.fromkeys(_row(phrases.thousand), 1000)
        self.clock = sorted(
            ((tuple(phrase.split()), int(minutes)) for phrase, minutes in _pairs(phrases.clock).items()),
            key=lambda entry: -len(entry[0]),
        )
        self.units = _pairs(phrases.units)
        self.named: dict[str, tuple[str, str]] = {}
        for kind, row in (("unit", phrases.units), ("part", phrases.dayparts), ("month", phrases.months)):
            self.named |= {word: (kind, meant) for word, meant in _pairs(row).items()}
        self.named |= {word: ("day", meant) for word, meant in _pairs(phrases.days).items()}

    # -- phrases

    def found_good(self, words: Sequence[str], at: int) -> int:
        """What is behind "all of that is perfectly fine"; 0 if nothing is found good at `at`."""
        subject = self._subjects.at(words, at)
        if subject is None:
            return 0
        tag, at = subject
        verb = self._verbs.at(words, at) if at < len(words) and tag is Tag.YES else None
        if verb is not None:
            at = verb[1]
        while at < len(words):
            if (good := self._good.at(words, at)) is not None:
                more = self._adverbs.at(words, at)
                if more is None or more[1] >= len(words) or self._good.at(words, more[1]) is None:
                    return good[1]
            if (adverb := self._adverbs.at(words, at)) is None:
                return 0
            at = adverb[1]
        return 0

    # -- values

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
                if not (parts and words[end] in self.units and end + 1 < len(words)):
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
        for phrase, minutes in self.clock:
            behind = at + len(phrase)
            if tuple(words[at:behind]) == phrase and behind < len(words):
                hour = self._small(words, behind)
                if hour is not None and 0 < hour[0] <= 24:
                    of = hour[0] - (minutes < 0)
                    return f"{of or 12}{minutes % 60:02}", False, hour[1]
        word = words[at]
        if word[0].isdigit():
            return _digits(word), not word[-1].isdigit(), at + 1
        if word in self.ordinals:
            return self.ordinals[word], True, at + 1
        if word in self.tens and at + 1 < len(words) and (last := self.ordinals.get(words[at + 1], "")).isdigit():
            if len(last) == 1:
                return self.tens[word] + last, True, at + 2
        counted = self._counted(words, at)
        return None if counted is None else (str(counted[0]), False, counted[1])

    def _small(self, words: Sequence[str], at: int) -> tuple[int, int] | None:
        """A number under a hundred, or as the language writes it in one word; and what is behind it."""
        word = words[at]
        if word.isdecimal() and len(word) <= 9:
            return int(word), at + 1
        if word in self.tens:
            unit = self.numbers.get(words[at + 1], "") if at + 1 < len(words) else ""
            if len(unit) == 1 and unit != "0":
                return int(self.tens[word] + unit), at + 2
            return int(self.tens[word]) * 10, at + 1
        if word in self.numbers:
            return int(self.numbers[word]), at + 1
        return None

    def _counted(self, words: Sequence[str], at: int) -> tuple[int, int] | None:
        """By value: "two hundred and fifty", "a thousand"."""
        first = (1, at) if words[at] in self.scale else self._small(words, at)
        if first is None:
            return None
        total, end = first
        while end < len(words) and (scale := self.scale.get(words[end])) is not None and total < 1_000_000:
            total, end = total * scale, end + 1
            rest = end + 1 if end + 1 < len(words) and words[end] in self.joining else end
            if rest < len(words) and (more := self._small(words, rest)) is not None and more[0] < scale:
                small, behind = more
                if behind < len(words) and self.scale.get(words[behind], scale) < scale:
                    inner = self._counted(words, rest)
                    small, behind = inner if inner is not None else more
                total, end = total + small, behind
        return total, end


class _Phrases:
    """Phrases by their first word, the longest first."""

    __slots__ = ("_by_first",)

    def __init__(self, row: str = "", tag: Tag = Tag.UNKNOWN) -> None:
        self._by_first: dict[str, dict[tuple[str, ...], Tag]] = {}
        self.add(row, tag)

    def add(self, row: str, tag: Tag) -> None:
        for phrase in _row(row):
            words = tuple(phrase.split())
            self._by_first.setdefault(words[0], {}).setdefault(words, tag)
        for first, phrases in self._by_first.items():
            self._by_first[first] = dict(sorted(phrases.items(), key=lambda entry: -len(entry[0])))

    def at(self, words: Sequence[str], at: int, acts: frozenset[str] = frozenset()) -> tuple[Tag, int] | None:
        """What the longest phrase at `at` does, and what is behind it."""
        best: tuple[Tag, int] | None = None
        for first in ("*", words[at]) if words[at] in acts else (words[at],):
            for phrase, tag in self._by_first.get(first, {}).items():
                end = at + len(phrase)
                if best is not None and end <= best[1]:
                    break
                if end <= len(words) and all(
                    said == meant or (meant == "*" and said in acts)
                    for said, meant in zip(words[at:end], phrase, strict=True)
                ):
                    best = tag, end
                    break
        return best


class ReadBack:
    """The read-back: its words, its values, and where they stand."""

    __slots__ = ("_after", "_atoms", "_before", "_pairs", "_prepositions", "_words", "acts")

    def __init__(self, text: str, values: Sequence[str], tables: Tables) -> None:
        self._atoms: set[tuple[str, str]] = set()
        self._pairs: set[tuple[tuple[str, str], tuple[str, str]]] = set()
        self._words: set[str] = set()
        self._prepositions: dict[tuple[str, str], set[str]] = {}
        self._after: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self._before: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for part in (text, *values):
            words = tokens(part)
            # What it denies cannot be repeated without the "no".
            self._words.update(
                word for at, word in enumerate(words) if tables.negating.isdisjoint(words[max(at - 2, 0) : at])
            )
            self._learn(list(_atoms(words, tables)), tables)
        if days := {atom for part in values for atom in _atoms(tokens(part), tables) if atom[0] == "day"}:
            # A read-back may name what is not to be: "from Thursday to Friday".
            self._atoms = {atom for atom in self._atoms if atom[0] != "day"} | days
        self.acts = _acts(text, tables)

    def _learn(self, atoms: list[tuple[str, str]], tables: Tables) -> None:
        self._atoms.update(atoms)
        denied = [("word", word) for word in tables.negating]
        self._pairs.update(
            (first, then)
            for at, (first, then) in enumerate(pairwise(atoms))
            if first in denied or not any(atom in denied for atom in atoms[max(at - 1, 0) : at + 1])
        )
        preposition, since = "", 0
        for kind, text in atoms:
            since += 1
            if kind == "word" and text in tables.prepositions:
                preposition, since = tables.prepositions[text], 0
            elif kind == "word" and text in tables.joining and preposition in tables.ranges:
                preposition, since = tables.ranges[preposition], 0
            elif since <= 4:
                self._prepositions.setdefault((kind, text), set()).add(preposition)
        bare = [atom for atom in atoms if not _is_small(atom, tables)]
        for first, then in pairwise(bare):
            self._after.setdefault(first, set()).add(then)
            self._before.setdefault(then, set()).add(first)

    def has_word(self, word: str) -> bool:
        """It, or its plural or singular."""
        return word in self._words or f"{word}s" in self._words or (word.endswith("s") and word[:-1] in self._words)

    def has(self, value: Value) -> bool:
        """The same value in any of its forms."""
        if (value.kind, value.text) in self._atoms:
            return True
        return value.kind == "number" and all(("number", part) in self._atoms for part in value.parts)

    def has_any(self, kind: str) -> bool:
        """A value of this kind."""
        return any(atom[0] == kind for atom in self._atoms)

    def has_pair(self, words: Sequence[str], at: int, tables: Tables) -> int:
        """What is behind two words or values that stand side by side in it; 0 if there are none."""
        found = list(_atoms(words[at : at + 8], tables, 2))
        if len(found) == 2 and (found[0], found[1]) in self._pairs:
            return at + _length(words, at, tables, 2)
        return 0

    def fits(self, preposition: str, atom: tuple[str, str]) -> bool:
        """Whether what is repeated stood behind this preposition: "for seven" is another thing than "at seven"."""
        there = self._prepositions.get(atom)
        return not there or preposition in there or there == {""} or atom[0] in ("day", "month")

    def agrees(self, first: tuple[str, str], then: tuple[str, str]) -> bool:
        """False where it has another value of that kind there: "nine people" where it has "six people at nine"."""
        for atom, beside, there in (
            (then, first, self._after.get(first, set())),
            (first, then, self._before.get(then, set())),
        ):
            if beside[0] != atom[0] != "word" and atom not in there and any(other[0] == atom[0] for other in there):
                return False
        return True


def _atoms(words: Sequence[str], tables: Tables, limit: int = 1_000_000) -> Iterator[tuple[str, str]]:
    """Values and words in a row; a number is one, however it is said."""
    at = 0
    while at < len(words) and limit > 0:
        value = tables.value(words, at)
        yield ("word", words[at]) if value is None else (value.kind, value.text)
        at = at + 1 if value is None else value.end
        limit -= 1


def _length(words: Sequence[str], at: int, tables: Tables, count: int) -> int:
    end = at
    for _ in range(count):
        value = tables.value(words, end)
        end = end + 1 if value is None else value.end
    return end - at


def _is_small(atom: tuple[str, str], tables: Tables) -> bool:
    """A word that says nothing by itself."""
    if atom[0] != "word":
        return False
    known = tables.phrases.at((atom[1],), 0)
    return atom[1] in tables.prepositions or (known is not None and known[0] is Tag.NEUTRAL)


def _acts(text: str, tables: Tables) -> frozenset[str]:
    """The verbs of the last sentence that has one: "You may cancel until Friday. Shall I book it?" asks to book."""
    confirming: frozenset[str] = frozenset()
    for sentence in reversed(re.split(r"[.!?;:]\s+", text)):
        words = tokens(sentence)
        found = {act for act in tables.acts if any(word[:2] == act[:2] and _is_form(word, act) for word in words)}
        if found & tables.confirming:
            confirming = tables.confirming
        if found := found - tables.confirming:
            return confirming.union(*(tables.acts[act] for act in found))
    return confirming | next(iter(tables.acts.values()), frozenset())


def _is_form(word: str, act: str) -> bool:
    """Whether `word` is a form of the verb: "cancelling", "reserved"."""
    if len(act) <= 3:
        return word == act or word in (f"{act}s", f"{act}ing", f"{act}{act[-1]}ing")
    return word.startswith(act.removesuffix("e")) and len(word) <= len(act) + 4


def _digits(word: str) -> str:
    """Without marks: "8:30" is 830, "5:00" is 5, "1,200" is 1200, "84.60" is 8460, "22nd" is 22."""
    bare = word.rstrip("stndrh")
    hours, colon, minutes = bare.partition(":")
    if colon:
        return (hours.lstrip("0") or "0") + ("" if minutes == "00" else minutes)
    if re.fullmatch(r"\d+[.,]00", bare):
        bare = bare[:-3]
    return re.sub(r"[.,:]", "", bare)


def _row(row: str) -> list[str]:
    return [phrase for phrase in (part.strip().casefold() for part in row.split("|")) if phrase]


def _pairs(row: str) -> Mapping[str, str]:
    """What each word counts as: "tues=tuesday|monday"."""
    pairs: dict[str, str] = {}
    for entry in _row(row):
        word, _, meant = entry.partition("=")
        pairs[word] = meant or word
    return pairs


@lru_cache(maxsize=16)
def tables_of(phrases: ConsentPhrases) -> Tables:
    """The tables of a language, made once."""
    return Tables(phrases)


@lru_cache(maxsize=64)
def read_back_of(text: str, values: tuple[str, ...], phrases: ConsentPhrases) -> ReadBack:
    """The read-back, looked through once."""
    return ReadBack(text, values, tables_of(phrases))
