"""From what a caller said to typed values: the `Utterance`.

Below: `words`, `numbers`, `moments`, `contacts`, `people`. Above: `fill` puts the values into a tool's slots, `choose`
picks a tool. Understanding is a pure function of the text, of today's date and of the kinds of value that the last
question asked for; it knows nothing of tools.
"""

from __future__ import annotations

import datetime as dt
import enum
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from antiphon.vault import PLACEHOLDER
from antiphon_standin import contacts, moments, numbers, people
from antiphon_standin.asking import inquires
from antiphon_standin.topics import topics
from antiphon_standin.words import Token, acts_of, is_stop, phrases, stem, tokenize


class Kind(enum.Enum):
    """What sort of value a slot takes, or a mention is."""

    DATE = "date"
    TIME = "time"
    NUMBER = "number"
    PERSON = "person"
    EMAIL = "email"
    PHONE = "phone"
    CODE = "code"
    CHOICE = "choice"
    """One of a closed list. Found by the slot itself: only it knows the list."""
    FLAG = "flag"
    """Yes or no."""
    PLACE = "place"
    """Free text that names where: an address, a city."""
    THING = "thing"
    """Free text that names what."""
    NOTE = "note"
    """Free text of any length: a reason, a message."""


Value = moments.Day | moments.Clock | people.PersonName | int | float | str


@dataclass(slots=True, frozen=True)
class Mention:
    """A typed value in an utterance."""

    kind: Kind
    value: Value
    start: int
    """The first token, and one past the last."""
    end: int
    strong: bool = True
    """False where the words may mean something else, for example a bare number as a time."""


class Intent(enum.Enum):
    """What an utterance does in the conversation, whatever the tools are."""

    NONE = "none"
    FAREWELL = "farewell"
    REPEAT = "repeat"
    """Asks to hear the last words again."""
    HELP = "help"
    """Asks what can be done here."""
    GREETING = "greeting"
    WAIT = "wait"
    """Asks for a moment."""
    RETRY = "retry"
    """Asks to try again."""
    SMALL_TALK = "small talk"
    """As in "how are you today?": wants nothing done."""


@dataclass(slots=True, frozen=True)
class Utterance:
    """A caller's turn, understood as far as it can be without knowing the tools."""

    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...]
    polarity: Literal["yes", "no"] | None
    consents: bool
    """True for a yes that a read-back may be taken by: "ok thanks" only acknowledges."""
    takes_back: bool
    """As in "leave it as it is", "never mind": what was asked for is not wanted any more."""
    correction: bool
    """ "no, Wednesday", "actually make that", "I meant"."""
    question: bool
    inquires: bool
    """True for a turn that asks to be told something and wants nothing done: "is the door locked?"."""
    acts: frozenset[str]
    intent: Intent
    wants_one: bool
    """As in "I need a ...", "can I get an ...": wants a thing, whatever it is called."""
    wish: bool
    """As in "I'd like a", "I need to": asks for something without saying what is to be done."""
    taken: frozenset[int]
    """The tokens that mentions cover."""
    masked: tuple[str, ...] = ()
    """What stands for values that nobody may read: "[digits_1]". A tool gets them back."""

    def of(self, kind: Kind) -> list[Mention]:
        """The mentions of one kind, in order."""
        return [m for m in self.mentions if m.kind is kind]

    topics: frozenset[str] = frozenset()
    """The stems of what a question is about by its form: of an address for "where are you?"."""

    @property
    def content(self) -> tuple[str, ...]:
        """The stems of the topic words outside mentions."""
        return tuple(
            stem(t.low)
            for i, t in enumerate(self.tokens)
            if i not in self.taken and not is_stop(t.low) and not t.low.isdigit() and t.low not in numbers.NUMBER_WORDS
        )

    @property
    def lows(self) -> list[str]:
        """The words in lower case."""
        return [t.low for t in self.tokens]


NOTHING: frozenset[Kind] = frozenset()


@lru_cache(maxsize=4096)
def understand(
    text: str, today: dt.date, asked: frozenset[Kind] = NOTHING, lacking: frozenset[Kind] = NOTHING
) -> Utterance:
    """Understand a turn.

    `asked` holds the kinds of value that the last question was about, so that bare answers count; `lacking` those that
    the conversation still needs, so that less is needed to recognise them.
    """
    tokens = tokenize(text)
    heard = _mentions(tokens, today, asked, lacking)
    mentions = _corrected(tokens, heard)
    taken = frozenset(i for m in heard for i in range(m.start, m.end))
    lows = [t.low for t in tokens]
    return Utterance(
        tokens=tokens,
        mentions=tuple(mentions),
        polarity=_polarity(lows),
        consents=_polarity(lows) == "yes" and _consents(lows),
        takes_back=_takes_back(lows),
        correction=_is_correction(lows),
        question=text.rstrip().endswith("?") or _asks(lows),
        inquires=inquires(tokens),
        acts=acts_of([t for i, t in enumerate(tokens) if i not in taken or _keeps_act(t.low)]),
        intent=_intent(lows, bool(mentions)),
        wants_one=bool(_WANTS_ONE.search(" ".join(lows))),
        wish=any(low in ("need", "want", "like", "love", "wanna", "have", "get") for low in lows[:7]),
        taken=taken,
        topics=topics(lows) if inquires(tokens) else frozenset(),
        masked=tuple(PLACEHOLDER.findall(text)) if "[" in text else (),
    )


def _keeps_act(low: str) -> bool:
    return low in ("book",)


def _mentions(
    tokens: tuple[Token, ...], today: dt.date, asked: frozenset[Kind], lacking: frozenset[Kind]
) -> list[Mention]:
    found: list[Mention] = []
    taken: set[int] = set()

    def take(kind: Kind, value: Value, start: int, end: int, strong: bool = True) -> int | None:
        if not taken.isdisjoint(range(start, end)):
            return None
        found.append(Mention(kind, value, start, end, strong))
        taken.update(range(start, end))
        return end

    _scan(tokens, taken, lambda i: _email_at(tokens, i, take))
    code_asked = Kind.CODE in asked
    phone_cued = Kind.PHONE in asked or any(t.low in ("phone", "mobile", "cell", "telephone") for t in tokens)
    if code_asked and not phone_cued:
        _scan(tokens, taken, lambda i: _code_at(tokens, i, take, asked=True))
    if not phone_cued:
        _scan(tokens, taken, lambda i: _code_at(tokens, i, take, asked=False))
    _scan(tokens, taken, lambda i: _phone_at(tokens, i, take, cued=phone_cued))

    # Codes that cannot be anything else come before dates; "number 5512" would else be read as a count.
    _scan(tokens, taken, lambda i: _code_at(tokens, i, take, asked=False, lacking=Kind.CODE in lacking))
    _scan(tokens, taken, lambda i: _day_at(tokens, i, take, today, hinted=Kind.DATE in asked))
    _scan(
        tokens,
        taken,
        lambda i: _clock_at(tokens, i, take, asked, lacking, again=any(m.kind is Kind.TIME for m in found)),
    )
    asks = bool(tokens) and tokens[0].low.partition("'")[0] in _WH
    named = people.read_person(
        tokens,
        taken,
        asked=Kind.PERSON in asked and not asks,
        lacking=Kind.PERSON in lacking,
        free=asked.isdisjoint((Kind.PLACE, Kind.THING, Kind.NOTE)),
    )
    if named is not None:
        take(Kind.PERSON, named[0], named[1], named[2])
    _scan(tokens, taken, lambda i: _number_at(tokens, i, take, asked))
    return sorted(found, key=lambda m: m.start)


_WH = frozenset("what which when where who how why is are do does can could".split())
Take = Callable[..., "int | None"]
"""Records a mention (kind, value, start, end, strong) and gives its end, or None if another mention stands there."""


def _scan(tokens: Sequence[Token], taken: set[int], read: Callable[[int], int | None]) -> None:
    i = 0
    while i < len(tokens):
        end = read(i) if i not in taken else None
        i = end if end is not None and end > i else i + 1


_WANTS_ONE = re.compile(
    r"^(?!.*\b(?:do you|does|are there|is there|have a question)\b).*\b(?:like|need|want|get|have) (?:a|an|another)\b"
)
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def _email_at(tokens: Sequence[Token], i: int, take: Take) -> int | None:
    read = contacts.read_email(tokens, i)
    return take(Kind.EMAIL, read[0], i, read[1]) if read is not None else None


def _phone_at(tokens: Sequence[Token], i: int, take: Take, *, cued: bool) -> int | None:
    if (contacts.cued_code(tokens, i) and not cued) or _ISO_DAY.fullmatch(tokens[i].low):
        return None
    read = contacts.read_phone(tokens, i)
    return take(Kind.PHONE, read[0], i, read[1]) if read is not None else None


_STREETS = frozenset(phrases("ends an address"))


def in_address(tokens: Sequence[Token], k: int) -> bool:
    """True if the number at token k is of a house: "21 Hill Road"."""
    for j in range(k + 1, min(k + 5, len(tokens))):
        low = tokens[j].low
        if tokens[j - 1].tail or (is_stop(low) and low not in ("on", "the", "of", "saint")):
            return False
        if low in _STREETS and j > k + 1:
            return True
    return False


def _code_at(tokens: Sequence[Token], i: int, take: Take, *, asked: bool, lacking: bool = False) -> int | None:
    expected = asked or contacts.cued_code(tokens, i)
    if _ISO_DAY.fullmatch(tokens[i].low) and not asked:
        return None

    if not expected and lacking and re.fullmatch(r"[a-z]{1,2}", tokens[i].low) and not is_stop(tokens[i].low):
        expected = True
    if not expected and re.fullmatch(r"\d{1,2}[:.]\d{2}|\d+(am|pm)", tokens[i].low):
        return None
    if i and tokens[i - 1].low in ("spelled", "spelt", "name", "name's"):
        return None
    read = contacts.read_code(tokens, i, expected=expected)
    if read is not None and in_address(tokens, read[1] - 1):
        return None
    if read is None or (read[1] < len(tokens) and tokens[read[1]].low in ("am", "pm", "o'clock")):
        return None
    if not expected and not any(c.isdigit() for c in read[0]):
        return None
    return take(Kind.CODE, read[0], i, read[1])


def _day_at(tokens: Sequence[Token], i: int, take: Take, today: dt.date, *, hinted: bool) -> int | None:
    read = moments.read_day(tokens, i, today, hinted=hinted)
    return take(Kind.DATE, read[0], i, read[1]) if read is not None else None


_AT = frozenset("at around about by until till before after from say like approximately towards between".split())


def _clock_at(
    tokens: Sequence[Token], i: int, take: Take, asked: frozenset[Kind], lacking: frozenset[Kind], *, again: bool
) -> int | None:
    before = tokens[i - 1].low if i else ""
    if before == "of" and Kind.TIME not in asked:
        return None  # "a party of six"
    led = before in _AT and not (before in ("from", "about", "like", "say", "by") and Kind.TIME not in asked)
    hinted = led or (Kind.TIME in asked and before not in ("for", "of")) or (again and before in _CORRECTIVE)
    needed = (
        Kind.TIME in lacking and before in ("for", "have", "do", "take", "the", "make", "") and Kind.TIME not in asked
    )
    read = moments.read_clock(tokens, i, hinted=hinted or needed)
    if needed and not hinted and read is not None and not read[2] and not read[0].minute and Kind.NUMBER in lacking:
        return None  # "for two" may be how many

    if read is None or (
        tokens[i].low == "one" and read[1] == i + 1 and not _counts(tokens, i, frozenset({Kind.NUMBER}))
    ):
        return None
    clock, end, strong = read
    if not strong and _unit_follows(tokens, end):
        return None
    strong = (
        strong
        or (needed and before == "for")
        or (led and before in ("at", "around"))
        or (again and before in _CORRECTIVE)
    )
    return take(Kind.TIME, clock, i, end, strong)


_UNITS = frozenset(phrases("units beside a number"))


def _unit_follows(tokens: Sequence[Token], end: int) -> bool:
    return any(t.low in _UNITS for t in tokens[end : end + 3])


def _number_at(tokens: Sequence[Token], i: int, take: Take, asked: frozenset[Kind]) -> int | None:
    low = tokens[i].low
    if low in ("to", "too") and i and tokens[i - 1].low in ("for", "of") and Kind.NUMBER in asked | {Kind.NUMBER}:
        return take(Kind.NUMBER, 2, i, i + 1, False)
    if low == "for" and i and tokens[i - 1].low in ("for", "of"):
        return take(Kind.NUMBER, 4, i, i + 1, False)
    if low in ("to", "too", "for", "won", "ate") and Kind.NUMBER in asked and len(tokens) <= 2:
        return take(Kind.NUMBER, {"to": 2, "too": 2, "for": 4, "won": 1, "ate": 8}[low], i, i + 1)
    if low == "just" and i + 1 < len(tokens) and tokens[i + 1].low in ("me", "myself"):
        return take(Kind.NUMBER, 1, i, i + 2)
    if low in ("myself", "alone") or (low == "me" and Kind.NUMBER in asked and len(tokens) <= 3):
        return take(Kind.NUMBER, 1, i, i + 1)
    if low == "me" and [t.low for t in tokens[i + 1 : i + 3]] in (["and", "my"], ["and", "a"]):
        return take(Kind.NUMBER, 2, i, min(i + 4, len(tokens)))
    if low == "one" and not _counts(tokens, i, asked):
        return None
    if re.fullmatch(r"\d+\.\d+", low):
        return take(Kind.NUMBER, float(low), i, i + 1)
    read = numbers.cardinal(tokens, i)
    if read is None:
        return None
    return take(Kind.NUMBER, read[0], i, read[1])


def _counts(tokens: Sequence[Token], i: int, asked: frozenset[Kind]) -> bool:
    """True if "one" at i is a number and not a pronoun ("the second one")."""
    if i and tokens[i - 1].low.endswith("est"):
        return False
    if i and tokens[i - 1].low in (
        "later",
        "earlier",
        "next",
        "second",
        "third",
        "fourth",
        "the",
        "that",
        "this",
        "which",
        "first",
        "last",
        "another",
        "pm",
        "am",
        "other",
        "any",
    ):
        return False
    if len(tokens) - i > 1 and not is_stop(tokens[i + 1].low):
        return True
    return Kind.NUMBER in asked or (i > 0 and tokens[i - 1].low in ("for", "of", "only", "just"))


_CORRECTIVE = frozenset(phrases("takes back"))


def _corrected(tokens: Sequence[Token], mentions: list[Mention]) -> list[Mention]:
    """Without values that the caller took back in the same breath: "Tuesday, no, Wednesday", "not Tuesday"."""
    dropped: set[int] = set()
    for k, mention in enumerate(mentions):
        before = [t.low for t in tokens[max(0, mention.start - 2) : mention.start]]
        if before[-1:] == ["not"] or before == ["not", "on"] or before == ["not", "at"] or before == ["instead", "of"]:
            dropped.add(k)
            continue
        for later in range(k + 1, len(mentions)):
            if mentions[later].kind is not mention.kind:
                continue
            between = {t.low for t in tokens[mention.end : mentions[later].start]}
            if between & _CORRECTIVE and not between & {"and", "or"}:
                dropped.add(k)
            break
    return [m for k, m in enumerate(mentions) if k not in dropped]


_YES = frozenset(phrases("yes"))
_YES_PHRASES = phrases("yes, longer")
_NO = frozenset(phrases("no"))
_NO_PHRASES = phrases("no, longer")
_LEADS = frozenset("hm mm um uh er erm well oh so ah hmm and but yes".split())


def _polarity(lows: list[str]) -> Literal["yes", "no"] | None:
    rest = list(lows)
    while rest and rest[0] in _LEADS - {"yes"}:
        rest.pop(0)
    if not rest:
        return None
    text = " ".join(rest)
    if text.startswith(("no problem", "no worries")):
        return "yes"
    if rest[0] in _NO or any(text.startswith(p) or f" {p}" in text[:24] for p in _NO_PHRASES):
        return "no"
    if rest[0] in _YES and not text.startswith(("please can", "please could")):
        return "no" if rest[0] == "please" and rest[1:2] == ["don't"] else "yes"
    if text in ("i do", "it is", "i am", "i did", "we do", "they are", "it does", "i would"):
        return "yes"
    if any(text.startswith(p) for p in _YES_PHRASES) or (len(rest) <= 4 and any(p in text for p in _YES_PHRASES)):
        return "yes"
    return None


_CONSENTS = frozenset(phrases("consents"))
_TAKE_BACKS = phrases("takes back a request")


def _consents(lows: list[str]) -> bool:
    thanks = not {"thanks", "thank", "cheers", "bye", "goodbye"}.isdisjoint(lows)
    return not thanks or not _CONSENTS.isdisjoint(lows) or any(p in " ".join(lows) for p in _YES_PHRASES)


def _takes_back(lows: list[str]) -> bool:
    """A phrase that takes a request back, unless it goes on to say where or how ("leave it with ...")."""
    text = f" {' '.join(lows)} "
    for phrase in _TAKE_BACKS:
        at = text.find(f" {phrase} ")
        follows = text[at + len(phrase) + 2 :].split()[:1] if at >= 0 else []
        if at >= 0 and follows not in (["with"], ["at"], ["on"], ["in"], ["by"], ["outside"], ["behind"], ["to"]):
            return True
    return False


_FIXES = phrases("corrections")


def _is_correction(lows: list[str]) -> bool:
    while lows and lows[0] in _LEADS - {"yes"}:
        lows = lows[1:]
    text = " ".join(lows)

    return lows[:1] == ["no"] or lows[:1] == ["actually"] or any(fix in text for fix in _FIXES)


_ASKING = frozenset(
    "do does is are what what's which when when's where where's who who's how how's can could will would have has"
    " any".split()
)


def _asks(lows: list[str]) -> bool:
    rest = [
        low
        for low in lows[:6]
        if low not in ("um", "uh", "hi", "hello", "hey", "so", "and", "well", "actually", "okay", "ok")
    ]
    return bool(rest) and rest[0] in _ASKING


_FAREWELLS = phrases("farewells")
_REPEATS = phrases("asks to repeat")
_HELPS = phrases("asks what can be done")
_WAITS = phrases("asks to wait")
_RETRIES = phrases("asks to try again")
_SMALL_TALK = phrases("small talk")


def _intent(lows: list[str], has_values: bool) -> Intent:
    text = " ".join(lows)
    if any(p in text for p in _REPEATS) and not has_values:
        return Intent.REPEAT
    if any(f" {p}" in f" {text}" for p in _FAREWELLS) or lows in (["thanks"], ["thank", "you"], ["no"], ["cheers"]):
        return Intent.FAREWELL
    if any(p in text for p in _RETRIES):
        return Intent.RETRY
    for phrase in _SMALL_TALK:
        if f" {phrase} " in f" {text} " and all(is_stop(w) for w in f" {text} ".replace(f" {phrase} ", " ").split()):
            return Intent.SMALL_TALK
    if any(p in text for p in _HELPS) and len(lows) <= 11 and not has_values:
        return Intent.HELP
    if any(text.startswith(p) or text.endswith(p) for p in _WAITS) and len(lows) <= 8 and not has_values:
        return Intent.WAIT
    if lows and len(lows) <= 4 and lows[0] in ("hi", "hello", "hey", "good", "hiya", "howdy"):
        return Intent.GREETING
    return Intent.NONE
