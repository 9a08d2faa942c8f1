"""Names of persons in what a caller says."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from antiphon_standin.words import Token, acts_of, is_stop, phrases, stem, thesaurus, title_case

_PARTICLES = frozenset("de da di del della der den van von la le bin ibn al el st dos".split())
_TITLES = frozenset("mr mrs ms miss dr professor prof sir madam".split())
_STRONG = tuple(tuple(phrase.split()) for phrase in phrases("introduces a name"))
_WEAK = tuple(tuple(phrase.split()) for phrase in phrases("may introduce a name"))
_CLAIMS = frozenset(
    {("to",), ("this", "is"), ("i'm",), ("i", "am"), ("im",), ("it's", "for"), ("for",), ("under",), ("call", "me")}
)
"""Weak lead-ins that may introduce a name nobody asked for."""
_ITS = frozenset({("it's",), ("it", "is")})
_OF_PLACES = frozenset((*phrases("ends an address"), *phrases("describes where")))


@dataclass(slots=True, frozen=True)
class PersonName:
    """A name as said, with capitals."""

    text: str
    spelled: bool = False
    """True when it was spelled letter by letter: a correction of a name heard before."""


def is_cased(tokens: Sequence[Token]) -> bool:
    """True if the recogniser wrote capitals, so that names must have them."""
    if not tokens:
        return False
    if tokens[0].text[:1].isupper():
        return True
    return any(t.text[:1].isupper() and t.text.istitle() and len(t.text) > 1 and not _calendar(t.low) for t in tokens)


def _calendar(low: str) -> bool:
    return low.removesuffix("s") in thesaurus().not_names or low in _MONTHS or low.startswith("i'")


_MONTHS = frozenset("january february march april may june july august september october november december".split())
_ALSO_WORDS = frozenset("will may april june august mark grace".split())
"""First names that are common words, too: taken for names where a name is sure to stand."""


def _like_a_name(token: Token, cased: bool) -> bool:
    low = token.low
    if not re.fullmatch(r"[^\W\d_]+(?:['\-][^\W\d_]+)*", low):
        return False
    if (
        cased
        and token.text[0].isupper()
        and len(low) > 1
        and low in ("will", "mark", "may", "april", "june", "august", "grace")
    ):
        return True
    base = low.removesuffix("'s")
    if low in thesaurus().not_names or base in thesaurus().not_names:
        return False
    if low.endswith("n't") or (not cased and is_stop(low)):
        return False
    return not cased or token.text[0].isupper() or low in _PARTICLES


def _run(tokens: Sequence[Token], i: int, *, cased: bool, taken: set[int], limit: int = 4, sure: bool = False) -> int:
    """The end of the run of name-like tokens from i. `sure`: a name is bound to begin here."""
    end = i
    if sure and i + 1 < len(tokens) and tokens[i].low in _ALSO_WORDS and not tokens[i].tail and i not in taken:
        rest = _run(tokens, i + 1, cased=cased, taken=taken, limit=limit - 1)
        if rest > i + 1:
            return rest

    if end < len(tokens) and tokens[end].low in _TITLES:
        end += 1
    while end < len(tokens) and end - i < limit and end not in taken and _like_a_name(tokens[end], cased):
        end += 1
        if tokens[end - 1].tail:
            break
    if cased and sure and i < end < len(tokens) and not tokens[end - 1].tail and end - i < limit:
        # Recognisers often write only the first of two names with a capital: "Jack turner".
        lower = tokens[end]
        closed = lower.tail or end + 1 == len(tokens) or tokens[end + 1].text[:1].isupper() or end + 1 in taken
        if end - i == 1 and closed and end not in taken and _like_a_name(lower, False) and not acts_of([lower]):
            end = _run(tokens, end + 1, cased=True, taken=taken, limit=limit, sure=True) if not lower.tail else end + 1
            end = min(end, i + limit)
    while end > i and tokens[end - 1].low in _PARTICLES:
        end -= 1
    return end


def _name(tokens: Sequence[Token], i: int, end: int) -> PersonName:
    parts = [token.text for token in tokens[i:end]]
    while parts and parts[0].lower() in ("mr", "mrs", "ms", "miss", "sir", "madam") and len(parts) > 1:
        parts.pop(0)
    parts[-1] = parts[-1].removesuffix("'s")
    half = len(parts) // 2
    if half and [p.lower() for p in parts[:half]] == [p.lower() for p in parts[half:]]:
        parts = parts[:half]  # "Jack Turner Jack Turner": said, or recognised, twice
    return PersonName(" ".join(title_case(part) if part.lower() not in _PARTICLES else part for part in parts))


def spelled_word(tokens: Sequence[Token], i: int) -> tuple[str, int] | None:
    """Letters spelled one by one from i: "S H A N E", "C-H-E-N"."""
    if re.fullmatch(r"(?:[a-z]-){2,}[a-z]", tokens[i].low):
        return tokens[i].low.replace("-", "").capitalize(), i + 1
    end = i
    while end < len(tokens) and len(tokens[end].low) == 1 and tokens[end].low.isalpha():
        end += 1
    if end - i < 3:
        return None
    return "".join(token.low for token in tokens[i:end]).capitalize(), end


def read_person(
    tokens: Sequence[Token], taken: set[int], *, asked: bool, lacking: bool = False, free: bool = False
) -> tuple[PersonName, int, int] | None:
    """The first name in an utterance, with the span it covers, lead-in included.

    `asked`: the caller was asked for a name, so that a bare one counts. `lacking`: a name is needed, so that a full
    one counts. `free`: no other words in their own right are waited for, so that "it's" may introduce a full name.
    `taken`: tokens that are dates and the like.
    """
    cased = is_cased(tokens)
    found = _introduced(tokens, taken, cased, asked, lacking, free) or _signed(tokens, taken, cased)
    if found is None and (asked or lacking):
        found = _bare(tokens, taken, cased) if asked else None
        if found is None and lacking:
            found = _trailing(tokens, taken, cased) or _amid(tokens, taken, cased)
    if found is None and cased and not _has_capital_inside(tokens):
        # Only the sentence begins with a capital: the recogniser may write none for names.
        if asked:
            found = _introduced(tokens, taken, False, asked, lacking, free) or _bare(tokens, taken, False)
        elif lacking:
            found = _introduced(tokens, taken, False, asked, lacking, free)
            if found is not None and tokens[found[1] - 1].low not in ("for", "under"):
                found = found if _is_all(tokens, found[1], found[2]) else None

    spelled = next(
        ((k, s) for k in range(len(tokens)) if k not in taken and (s := spelled_word(tokens, k)) is not None), None
    )
    if spelled is None:
        return found
    at, (word, end) = spelled
    if found is not None and found[2] > at and all(len(p) == 1 for p in found[0].text.split()):
        found = None  # "the last name is L E E": the letters themselves
    if found is None:
        before = {token.low for token in tokens[:at]}
        if asked or before & {"name", "spelled", "spelt", "spell", "name's"}:
            return PersonName(word, spelled=True), at, end
        return None
    return PersonName(_respell(found[0].text, word)), min(found[1], at), max(found[2], end)


_STATES = ("ly", "ing", "ed", "ent", "ive", "able", "ful", "less", "ous")


def _is_all(tokens: Sequence[Token], start: int, end: int) -> bool:
    """True if "it's" and two or three words that describe nothing are the whole sentence: "It's velour bennet"."""
    lows = [token.low for token in tokens[start:end]]
    if tuple(lows[:1]) in _ITS:
        lows = lows[1:]
    described = any(low.endswith(_STATES) or stem(low) in thesaurus().groups for low in lows)
    return end == len(tokens) and start == 0 and len(lows) in (2, 3) and not described


def _has_capital_inside(tokens: Sequence[Token]) -> bool:
    """True if a capital stands where no sentence begins, the calendar's and "I" apart."""
    return any(
        token.text[:1].isupper() and before.tail[:1] not in (".", "?", "!") and not _calendar(token.low)
        and token.low.partition("'")[0] != "i" and token.low not in ("am", "pm")
        for before, token in itertools.pairwise(tokens)
    )  # fmt: skip


def _respell(name: str, word: str) -> str:
    """The name with the part that sounds most like `word` replaced by it."""
    from rapidfuzz.fuzz import ratio

    parts = name.split()
    best = max(range(len(parts)), key=lambda k: ratio(parts[k].lower(), word.lower()))
    if ratio(parts[best].lower(), word.lower()) < 40:
        return f"{name} {word}" if len(parts) == 1 else name
    parts[best] = word
    return " ".join(parts)


def respelled(old: str, spelled: str) -> str:
    """A name known before, corrected by one that was spelled."""
    return _respell(old, spelled)


def _trailing(tokens: Sequence[Token], taken: set[int], cased: bool) -> tuple[PersonName, int, int] | None:
    """A full name at the end, behind a pause or another value: "two o'clock on Monday, Jordan Park"."""
    last = len(tokens)
    while last and tokens[last - 1].low in ("please", "thanks"):
        last -= 1
    for start in range(max(0, last - 4), last - 1):
        if _run(tokens[:last], start, cased=cased, taken=taken, sure=True) != last:
            continue
        before = tokens[start - 1] if start else None
        if cased and (before is None or is_stop(before.low)):
            return _name(tokens, start, last), start, last
        if before is not None and (before.tail or start - 1 in taken):
            return _name(tokens, start, last), start, last
    return None


_PLACING = frozenset("in at from near into on".split())


def _amid(tokens: Sequence[Token], taken: set[int], cased: bool) -> tuple[PersonName, int, int] | None:
    """A full name in the middle, told by its capitals: "please enrol Ann Lee in the course"."""
    for start in range(1, len(tokens) - 1) if cased else ():
        end = _run(tokens, start, cased=True, taken=taken)
        if (
            end - start in (2, 3)
            and all(token.text[0].isupper() for token in tokens[start:end])
            and tokens[start - 1].low not in _PLACING
            and tokens[start - 1].tail[:1] not in (".", "?", "!")
            and not tokens[start - 1].text[0].isupper()
            and not any(token.low in _OF_PLACES for token in tokens[start:end])
        ):
            return _name(tokens, start, end), start, end
    return None


def _introduced(
    tokens: Sequence[Token], taken: set[int], cased: bool, asked: bool, lacking: bool, free: bool
) -> tuple[PersonName, int, int] | None:
    lows = [token.low for token in tokens]
    for leads, strong in ((_STRONG, True), (_WEAK, False)):
        for i in range(len(lows)):
            for lead in leads:
                if tuple(lows[i : i + len(lead)]) != lead:
                    continue
                at = i + len(lead)
                while (
                    at < len(tokens)
                    and lows[at] in ("uh", "um", "er", "is", "it's", "a", "mr", "mrs", "ms", "miss")
                    and at - i < 6
                ):
                    at += 1
                if at >= len(tokens) or (tokens[at - 1].tail not in ("", ",", ":") and not strong):
                    continue
                claimed = lead in _CLAIMS or lead[0] == "my" or (lead in _ITS and (lacking or (cased and free)))
                if not strong and not asked and not claimed:
                    continue
                if not strong and (tokens[at - 1].tail or (lows[at - 1] == "a" and not cased)):
                    continue
                end = _run(
                    tokens, at, cased=cased, taken=taken, sure=strong or asked or lacking or lead == ("this", "is")
                )
                if end == at and strong and cased:
                    end = _run(tokens, at, cased=False, taken=taken)
                if end == at:
                    continue
                if not strong and not asked and lead not in _CLAIMS and lead[0] != "my":
                    if end - at < 2 or not _closed(tokens, end, taken) or tokens[end - 1].low in _OF_PLACES:
                        continue
                if not strong and not _convincing(tokens, at, end, lead, cased, asked, lacking, taken):
                    continue
                return _name(tokens, at, end), i if lead[0] not in ("for", "to") else at, end
    return None


def _convincing(
    tokens: Sequence[Token],
    at: int,
    end: int,
    lead: tuple[str, ...],
    cased: bool,
    asked: bool,
    lacking: bool,
    taken: set[int],
) -> bool:
    if cased and not tokens[at].text[0].isupper():
        return False
    if lead[0] == "my":
        return cased and not _calendar(tokens[at].low)  # "my son Max", but "my wife prefers mornings"
    if any(token.low.endswith("ing") for token in tokens[at:end]) and not cased:
        return False
    if asked:
        return lead != ("is",) or end == len(tokens)
    if lead == ("to",):
        # "send it to Ann Lee": where somebody's name is still wanted, and no place is spoken of.
        return lacking and cased and end - at >= 2 and not any(t.low in _OF_PLACES for t in tokens[at:end])
    if lead in (("for",), ("under",)):
        if cased:
            return end - at >= 2
        # "for alex rivera on monday": two words, then another value, a small word or the end.
        closed = end == len(tokens) or end in taken or is_stop(tokens[end].low)
        return lacking and end - at in (2, 3) and closed
    if not cased:
        # Without capitals a single word after "I'm" is more often a state than a name.
        return end - at >= 2
    return True


def _signed(tokens: Sequence[Token], taken: set[int], cased: bool) -> tuple[PersonName, int, int] | None:
    """As in "Jordan Park here", "Jordan Park speaking"."""
    for i in range(1, min(len(tokens), 5)):
        if tokens[i].low in ("here", "speaking") and not tokens[i - 1].tail:
            for start in range(max(0, i - 4), i):
                if _run(tokens, start, cased=cased, taken=taken, sure=True) == i and (cased or i - start >= 2):
                    return _name(tokens, start, i), start, i + 1
    return None


_FILLERS = frozenset(phrases("before a bare name"))


_CLOSERS = frozenset("please thanks thank here speaking and is that's it's spelled spelt".split())


def _closed(tokens: Sequence[Token], end: int, taken: set[int]) -> bool:
    """True if a name may end before token `end`."""
    return end == len(tokens) or bool(tokens[end - 1].tail) or end in taken or tokens[end].low in _CLOSERS


def _bare(tokens: Sequence[Token], taken: set[int], cased: bool) -> tuple[PersonName, int, int] | None:
    i = 0
    while i < len(tokens):
        if i in taken or tokens[i].low in _FILLERS:
            i += 1
            continue
        end = _run(tokens, i, cased=cased, taken=taken, sure=True)
        if end > i:
            if not cased and not _closed(tokens, end, taken):
                return None  # "sounds good to me": a sentence, not a name
            follows_comma = end < len(tokens) and tokens[end - 1].tail == ","
            if follows_comma and end - i == 1:
                # "Chen, Sarah" would be rare in speech; "Sarah, Chen" is a pause.
                more = _run(tokens, end, cased=cased, taken=taken)
                if more == end + 1 and more == len(tokens) and spelled_word(tokens, end) is None:
                    parts = _name(tokens, i, end).text + " " + _name(tokens, end, more).text
                    return PersonName(parts), i, more
            if cased and i == 0 and end - i >= 3 and end < len(tokens) and not tokens[end - 1].tail:
                return None  # "Invite Ann Lee on Monday": a request, whose first word has its capital by its place
            if end - i >= 1 and (end - i >= 2 or len(tokens) - len(taken) <= 4 or cased):
                return _name(tokens, i, end), i, end
            return None
        if not cased:
            return None  # without capitals a name stands by itself
        i += 1
    return None
