"""Free text for a slot: an address, a thing, a note.

It is told by the words that lead in to it, by having been asked for, or by being what a request is about.
Below: `typed` (addresses, first and last of two places), `understand`, `slots`. Above: `fill`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from antiphon_standin import numbers
from antiphon_standin.listed import listed
from antiphon_standin.situation import Fill, Situation
from antiphon_standin.slots import Slot, ToolView
from antiphon_standin.typed import END, ENDS_ADDRESS, START, role_of
from antiphon_standin.understand import Intent, Kind, Utterance, in_address
from antiphon_standin.words import (
    Token,
    act_phrases,
    content_stems,
    is_stop,
    phrases,
    stem,
    thesaurus,
)

_LEADS = tuple(tuple(phrase.split()) for phrase in phrases("leads in to an answer"))
_NOTE_LEADS = tuple(tuple(phrase.split()) for phrase in phrases("leads in to a note"))
_TAILS = frozenset("please thanks thank you then instead too".split())


def free_text(
    tool: ToolView,
    said: Utterance,
    known: Mapping[str, Fill],
    at: Situation,
    filled: Mapping[str, Fill],
    used: set[int],
    counted: set[int],
) -> dict[str, Fill]:
    """The slots that free words fill, beside those that are `filled` already.

    `used`: the tokens that typed values took; `counted`: those of them that numbers and choices took.
    """
    slots = [s for s in tool.slots if s.kind in (Kind.PLACE, Kind.THING, Kind.NOTE)]
    if not slots or (said.inquires and not tool.reads) or said.intent in (Intent.HELP, Intent.REPEAT, Intent.WAIT):
        return {}
    several, used = _lists(slots, tool, said, at, used)
    cued = {s.name: _text_fill(s, text, at) for s in slots if (text := _cued_text(s, tool, said, at)) is not None}
    cued |= several | _served(slots, tool, said, known, at)
    counted = counted | {k for k in used if k not in said.taken}
    out = {**filled, **cued}
    open_slots = [s for s in slots if s.name not in out]
    asked = [s for s in open_slots if s.name in at.asked]
    if all(k in used or is_stop(t.low) for k, t in enumerate(said.tokens)):
        return cued  # every word has its place already
    if asked and not out.keys() & {s.name for s in slots} and said.intent is not Intent.FAREWELL:
        text = _whole_answer(asked[0], said, tool, counted)
        if text:
            return {**cued, asked[0].name: _text_fill(asked[0], text, at)}
    places = [s for s in tool.slots if s.kind is Kind.PLACE]
    if (tool.reads and at.addressed and len(places) == 1 and places[0] in open_slots and not role_of(places[0])
            and len(slots) == 1):  # fmt: skip
        text = _object(places[0], tool, said, out, counted)
        if text:
            return {**cued, places[0].name: _text_fill(places[0], text, at)}
    elif at.addressed:
        unknown = [
            s for s in open_slots if s.kind is Kind.THING and (s.required or s.name_stems) and s.name not in known
        ] or [s for s in open_slots if s.kind is Kind.THING and s.required]
        if not tool.reads and sum(s.required for s in unknown) > 1 and not any(_is_proper(s, tool) for s in unknown):
            return cued  # it could be either
        wanted = [s for s in unknown if s.required] or (unknown[:1] if tool.reads else [])
        if wanted:
            text = _object(wanted[0], tool, said, out, counted)
            if text:
                return {**cued, wanted[0].name: _text_fill(wanted[0], text, at)}
    return cued


def _lists(
    slots: Sequence[Slot], tool: ToolView, said: Utterance, at: Situation, used: set[int]
) -> tuple[dict[str, Fill], set[int]]:
    """All that is listed for slots that take several, and the tokens that are used up with that."""
    found: dict[str, Fill] = {}
    for slot in slots:
        if slot.many and (at.addressed or slot.name in at.asked) and (several := listed(slot, tool, said)) is not None:
            found[slot.name] = Fill(several[0], at.turn, ", ".join(several[0]))
            used = used | several[1]
    return found, used


def _served(
    slots: Sequence[Slot], tool: ToolView, said: Utterance, known: Mapping[str, Fill], at: Situation
) -> dict[str, Fill]:
    """Whom a tool that takes two things does its work for: "two packs of that for Rex"."""
    free = [s for s in slots if s.kind is Kind.THING and s.required and not s.many]
    proper = [s for s in free if _is_proper(s, tool)]
    if len(free) < 2 or len(proper) != 1 or not at.addressed:
        return {}
    for k, token in enumerate(said.tokens[:-1]):
        name = said.tokens[k + 1]
        if token.low == "for" and name.text[0].isupper() and k + 1 not in said.taken:
            return {proper[0].name: _text_fill(proper[0], name.text.removesuffix("'s"), at)}
    return {}


def _text_fill(slot: Slot, text: str, at: Situation) -> Fill:
    for item in (*slot.examples, *at.offered_items):
        if slot.kind is Kind.THING and item.lower() == text.lower():
            text = item
    if slot.kind is Kind.THING and slot.examples and all(e[:1].isupper() for e in slot.examples) and text.islower():
        text = text[:1].upper() + text[1:]
    if slot.many:
        return Fill([p.strip() for p in re.split(r",| and ", text) if p.strip()], at.turn, text)
    return Fill(text, at.turn, text)


_VERBS = frozenset(phrases("verbs after to"))
_BOUNDS = frozenset(phrases("ends a place"))


def _prepositional(said: Utterance, preps: frozenset[str], role: str) -> str | None:
    tokens = said.tokens
    for i, token in enumerate(tokens[:-1]):
        if token.low not in preps or i in said.taken or token.tail:
            continue
        if token.low == "to" and (
            tokens[i + 1].low in _VERBS
            or (
                i
                and tokens[i - 1].low in ("like", "want", "need", "love", "have", "able", "going", "trying", "hoping")
                and stem(tokens[i + 1].low) in _VERBS
            )
            or (
                i
                and tokens[i - 1].low in _WISHING
                and not tokens[i + 1].text[0].isupper()
                and tokens[i + 1].low != "the"
            )
        ):
            continue
        if token.low == "at" and role and i:
            verbs = {stem(t.low) for t in tokens[max(0, i - 5) : i]}
            if not (verbs & (START if role == "start" else END)) and not (
                role == "start" and verbs & {"pick", "collect", "i'm", "am"}
            ):
                continue
        end = i + 1
        while end < len(tokens):
            low = tokens[end].low
            number = any(m.kind is Kind.NUMBER and m.start <= end < m.end for m in said.mentions)
            if end in said.taken and not number:
                break
            if low in _BOUNDS and end > i + 1:
                break
            end += 1
            if tokens[end - 1].tail and tokens[end - 1].tail[0] in ".?!;,":
                break
        while (
            end > i + 2
            and (stem(tokens[end - 1].low),) in thesaurus().acts
            and tokens[end - 1].low == tokens[end - 1].text
        ):
            end -= 1  # "how much is it to the harbour cost"
        text = _trim(tokens[i + 1 : end])
        if text and not all(is_stop(t.low) for t in tokens[i + 1 : end]):
            return text
    return None


def _trim(tokens: Sequence[Token]) -> str:
    items = list(tokens)
    while items and items[0].low in ("the", "a", "an", "my", "um", "uh", "some", "our", "your"):
        items.pop(0)
    while items and (items[-1].low in _TAILS or items[-1].low in ("a", "the", "um", "uh", "and")):
        items.pop()
    return " ".join(t.text + (t.tail if t.tail == "," and k + 1 < len(items) else "") for k, t in enumerate(items))


def _cued_text(slot: Slot, tool: ToolView, said: Utterance, at: Situation) -> str | None:
    if slot.kind is Kind.PLACE:
        places = [s for s in tool.slots if s.kind is Kind.PLACE]
        role = role_of(slot)
        if role == "start":
            return _prepositional(said, frozenset({"from"}), role) or _prepositional(said, frozenset({"at"}), role)
        if role == "end":
            return _prepositional(said, frozenset({"to", "into"}), role) or _prepositional(
                said, frozenset({"at"}), role
            )
        if not at.addressed and slot.name not in at.asked and not said.correction:
            return None
        preps = frozenset(
            {"in", "at", "near", "to", "from"} | ({"for"} if len(places) == 1 and not said.of(Kind.PERSON) else set())
        )
        return _prepositional(said, preps, "") or _address_in(said)
    if slot.kind is Kind.NOTE:
        told = _told(said)
        if told is not None:
            return told
        for k, token in enumerate(said.tokens):
            if token.low in ("because", "saying", "cause") or (
                token.low in ("is", "about") and k and stem(said.tokens[k - 1].low) in slot.name_stems
            ):
                return _trim(said.tokens[k + 1 :]) or None
        return None
    lows = said.lows
    for k in range(len(lows) - 1):
        if (
            lows[k] in ("called", "named", "titled")
            or (lows[k] in ("is", "name's", "be") and k and stem(lows[k - 1]) in slot.name_stems - {"name"})
            or (lows[k] == "is" and lows[k - 1 : k] == ["name"] and k > 1 and stem(lows[k - 2]) in slot.name_stems)
            or (lows[k] == "is" and k > 1 and stem("".join(lows[k - 2 : k])) in slot.name_stems)
        ):
            rest = []
            for j in range(k + 1, len(lows)):
                if j in said.taken and not _part_of_title(said, j):
                    break
                rest.append(said.tokens[j])
                if said.tokens[j].tail[:1] in (".", "?", "!", ","):
                    break
            if rest:
                return _trim(rest) or None
        if lows[k] == "by" and stem("author") in slot.stems and k + 1 not in said.taken:
            return _trim([t for j, t in enumerate(said.tokens[k + 1 :], k + 1) if j not in said.taken]) or None
    spoken = " ".join(lows)
    for item in (*slot.examples, *at.offered_items):
        if len(item) > 3 and f" {item.lower()} " in f" {spoken} ":
            return item
    return None


_TELLING = frozenset("tell ask remind let".split())


def _address_in(said: Utterance) -> str | None:
    """An address in the middle of a sentence: "make that 7 Station Road"."""
    for k, token in enumerate(said.tokens):
        if (token.low.isdigit() or token.low in numbers.NUMBER_WORDS) and in_address(said.tokens, k):
            end = next(j for j in range(k + 1, len(said.tokens)) if j > k + 1 and said.tokens[j].low in ENDS_ADDRESS)
            while said.tokens[end].tail == "," and (more := _part_after(said, end + 1)) is not None:
                end = more
            return _trim(said.tokens[k : end + 1])
    return None


def _part_after(said: Utterance, start: int) -> int | None:
    """The last token of the part of an address from `start`, behind a comma: a city, a postal code."""
    end = start
    while end < len(said.tokens) - 1 and not said.tokens[end].tail:
        end += 1
    part = said.tokens[start : end + 1]
    if not part or len(part) > 3 or any(is_stop(t.low) or t.low in _TAILS for t in part):
        return None
    return end if all(t.text[0].isupper() or t.text[0].isdigit() for t in part) else None


def _told(said: Utterance) -> str | None:
    """What somebody is to be told: "tell the driver to ring twice", "let them know that the gate is locked"."""
    tokens = said.tokens
    for k, token in enumerate(tokens[:-2]):
        if token.low not in _TELLING or k + 1 in said.taken or tokens[k + 1].low in ("me", "you", "us"):
            continue
        for j in range(k + 2, min(k + 5, len(tokens) - 1)):
            if tokens[j].low in ("to", "that", "not"):
                start = j if tokens[j].low == "not" else j + 1
                end = next((e + 1 for e in range(start, len(tokens)) if tokens[e].tail[:1] in tuple(".?!") and
                            tokens[e].tail), len(tokens))  # fmt: skip
                return _trim(tokens[start:end]) or None
    return None


def _part_of_title(said: Utterance, k: int) -> bool:
    return any(m.kind in (Kind.NUMBER, Kind.PERSON) and m.start <= k < m.end for m in said.mentions)


def _rest(said: Utterance, counted: set[int]) -> list[Token]:
    """The tokens of the clauses without numbers or choices that other slots took, else what is left of the clause."""
    clauses: list[list[int]] = [[]]
    for k, token in enumerate(said.tokens):
        if token.low in ("and", "but") and clauses[-1]:
            clauses.append([])
        clauses[-1].append(k)
        if token.tail[:1] in tuple(".,;!?") and token.tail:
            clauses.append([])
    free = [k for clause in clauses if counted.isdisjoint(clause) for k in clause]
    if not any(not is_stop(said.tokens[k].low) for k in free):
        free = [k for k in range(len(said.tokens)) if k not in counted]
    if not any(not is_stop(said.tokens[k].low) for k in free):
        return []
    return [said.tokens[k] for k in free]


def _whole_answer(slot: Slot, said: Utterance, tool: ToolView, counted: set[int]) -> str | None:
    """An answer to a question about a free slot: everything said, without lead-ins and thanks."""
    if said.polarity is not None and len(said.tokens) <= 2:
        return None
    text = " ".join(said.lows)
    if text.startswith(phrases("no answer")) or (slot.kind is not Kind.NOTE and _is_order(said)):
        return None
    tokens = list(said.tokens)
    cut = len(tokens)
    others = {s.kind for s in tool.slots if s.name != slot.name}
    for m in said.mentions:
        # A date or a name at the end belongs to another slot of the tool.
        if m.start and tokens[m.start - 1].low == "since":
            continue
        if m.kind in others and m.kind not in (Kind.NUMBER, Kind.PERSON) and m.start > 0 and m.end >= len(tokens) - 1:
            cut = min(cut, m.start)
    if counted and slot.kind is not Kind.NOTE:
        tokens, cut = _rest(said, counted), len(said.tokens)
    tokens = tokens[:cut]
    joints = ("on", "at", "for", "by") if slot.kind is not Kind.NOTE or cut < len(said.tokens) else ()
    while tokens and tokens[-1].low in (*joints, *_TAILS):
        tokens.pop()
    trimmed = True
    while trimmed and tokens:
        trimmed = False
        for lead in _NOTE_LEADS if slot.kind is Kind.NOTE else _LEADS:
            if tuple(t.low for t in tokens[: len(lead)]) == lead and len(tokens) > len(lead):
                tokens, trimmed = tokens[len(lead) :], True
                break
    if slot.kind is Kind.THING:
        while len(tokens) > 1 and tokens[-1].low in ("one", "ones"):
            tokens.pop()
        stripped = list(tokens)
        while len(stripped) > 1 and stem(stripped[-1].low) in slot.name_stems:
            stripped.pop()
        tokens = stripped
    if slot.kind is Kind.NOTE:
        return " ".join(t.text + (t.tail if k + 1 < len(tokens) else "") for k, t in enumerate(tokens)) or None
    return _trim(tokens) or None


_HELD = frozenset("me us my the a an our it them this that".split())


def _is_order(said: Utterance) -> bool:
    """True for a request that begins with its verb ("remind me to ..."): an order and no answer."""
    lows = [low for low in said.lows if low not in ("please", "and", "also", "no", "yes", "okay", "then")]
    return len(lows) > 2 and (stem(lows[0]),) in thesaurus().acts and lows[1] in _HELD


_LINKING = frozenset(phrases("verbs that link"))
_WISHING = frozenset("like want need love trying hoping planning wish hope able".split())
"""Behind these and "to", a verb stands: "I'd like to fly"."""
_SUBJECTS = frozenset("i we you he she they it to who".split())
_BE = frozenset("is are was were am be been isn't aren't keeps".split())


def _object(slot: Slot, tool: ToolView, said: Utterance, out: Mapping[str, Fill], counted: set[int]) -> str | None:
    """The thing that a request is about: its topic words, without those that speak of the tool itself."""
    own = {stem(w) for w in tool.name.replace("_", " ").split()} | set(content_stems(tool.description))
    proper = _is_proper(slot, tool)
    for other in tool.slots:
        own |= other.name_stems
        if other.kind is Kind.CHOICE:
            own |= {s for c in other.choices for s in content_stems(str(c).replace("_", " "))}
    for example in slot.examples:
        own -= set(content_stems(example))
    acts, phrased = thesaurus().acts, act_phrases(said.tokens)
    tokens = said.tokens
    filled = {str(f.value).lower() for f in out.values()}

    def topical(k: int) -> bool:
        low = tokens[k].low
        if proper and not (k and tokens[k].text[0].isupper()):
            return False
        return not (
            k in said.taken or k in phrased or is_stop(low) or stem(low) in own or (stem(low),) in acts
            or low in numbers.NUMBER_WORDS or low in _LINKING
            or low.isdigit() or stem(low) == "peopl" or any(low in value.split() for value in filled) or k in counted
            or (k and tokens[k - 1].low in _BE and low.endswith(("ing", "ed")))  # "the sink is leaking"
        )  # fmt: skip

    best: tuple[int, int] | None = None
    k = 0
    while k < len(tokens):
        if not topical(k):
            k += 1
            continue
        end = k + 1
        while end < len(tokens) and not tokens[end - 1].tail.strip("-'\""):
            if topical(end):
                end += 1
            elif (
                end + 1 < len(tokens)
                and tokens[end].low in ("of", "the", "and", "in", "to", "a")
                and (topical(end + 1) or (end + 2 < len(tokens) and tokens[end + 1].low == "the" and topical(end + 2)))
                and end not in said.taken
                and not (tokens[end].low in ("in", "to", "and") and not tokens[end + 1].text[0].isupper())
            ):
                end += 2 if topical(end + 1) else 3
            else:
                break
        if best is None or end - k > best[1] - best[0]:
            best = (k, end)
        k = end
    if best is None:
        return None
    start, end = _capitals(tokens, _with_deed(tokens, best[0], said.taken), best[1], said.taken)
    if not tool.reads and start and tokens[start - 1].low in _SUBJECTS and not tokens[start].text[0].isupper():
        return None  # "I forgot my ...": what somebody does is no thing
    return " ".join(t.text for t in tokens[start:end]).removesuffix("'s")


def _with_deed(tokens: Sequence[Token], start: int, taken: frozenset[int]) -> int:
    """The start of a thing with the verb that describes it: "a planning meeting"."""
    k = start
    while k and k - 1 not in taken and (stem(tokens[k - 1].low),) in thesaurus().acts and not tokens[k - 1].tail:
        k -= 1
    return k if k and k < start and tokens[k - 1].low in ("a", "an", "the", "my", "our", "your") else start


def _is_proper(slot: Slot, tool: ToolView) -> bool:
    """True for the proper name of somebody or something that the tool does its work for: a pet, a boat."""
    heads = slot.name_stems - {"name"}
    if "name" not in slot.name_stems or slot.examples or not heads:
        return False
    served = {stem(w) for w in re.findall(r"\bfor (?:an?|the|their|your) (\w+)", tool.description.lower())}
    topics = {stem(w) for w in tool.name.replace("_", " ").split()} | set(content_stems(tool.description))
    return bool(heads & served) or not heads & topics


def _capitals(tokens: Sequence[Token], start: int, end: int, taken: frozenset[int]) -> tuple[int, int]:
    """A span widened to the capitalised words around it, as in a title: "The Name of the Rose"."""
    if not tokens[start].text[0].isupper():
        return start, end
    joints = ("of", "the", "and", "in", "to", "a", "for", "on")
    k = start - 1
    while (
        k > 0
        and k not in taken
        and not tokens[k].tail
        and (tokens[k].text[0].isupper() or tokens[k].low in joints)
        and tokens[k].low != "i"
    ):
        if tokens[k].text[0].isupper():
            start = k
        k -= 1
    k = end
    while (
        k < len(tokens)
        and k not in taken
        and not tokens[k - 1].tail
        and (tokens[k].text[0].isupper() or tokens[k].low in joints)
    ):
        if tokens[k].text[0].isupper():
            end = k + 1
        k += 1
    return start, end
