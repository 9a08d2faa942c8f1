"""From an utterance to the slots of one tool.

Below: `understand` (typed mentions) and `slots` (what each parameter takes). Above: `memory`, which does this for every
turn and every tool, and keeps the latest value of each slot.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from antiphon.providers.standin import moments, numbers
from antiphon.providers.standin.people import PersonName, respelled
from antiphon.providers.standin.slots import Slot, ToolView, write
from antiphon.providers.standin.understand import Intent, Kind, Mention, Utterance, Value, in_address
from antiphon.providers.standin.words import (
    Token,
    act_phrases,
    alike,
    content_stems,
    is_stop,
    phrases,
    stem,
    thesaurus,
    tokenize,
)


@dataclass(slots=True, frozen=True)
class Fill:
    """A value for a slot."""

    value: Any
    """As it goes into the call."""
    turn: int
    """The number of the caller's turn that gave it."""
    raw: Value | bool | None = None
    """As it was understood."""


@dataclass(slots=True, frozen=True)
class Situation:
    """What surrounds an utterance when its values are put into slots."""

    today: dt.date
    turn: int
    asked: frozenset[str] = frozenset()
    """The names of the slots that the last question asked for."""
    offered_times: tuple[tuple[int, int], ...] = ()
    """The times of day that the agent last named."""
    offered_items: tuple[str, ...] = ()
    """The things that the agent last listed."""
    free_asked: bool = False
    """True if the question was about free text, which may well hold numbers."""
    addressed: bool = False
    """True if the utterance is about this tool, so that its free words may belong to it."""


def fill(tool: ToolView, said: Utterance, known: Mapping[str, Fill], at: Situation) -> dict[str, Fill]:
    """The slots of `tool` that an utterance fills. `known` holds what earlier turns gave."""
    out: dict[str, Fill] = {}
    used: set[int] = set()
    counted: set[int] = set()
    for kind in (Kind.EMAIL, Kind.PHONE, Kind.CODE, Kind.PERSON, Kind.DATE, Kind.TIME, Kind.NUMBER):
        slots = [slot for slot in tool.slots if slot.kind is kind]
        if slots:
            for slot, mention in _assigned(slots, said, known, at):
                if kind is Kind.PERSON and _speaks_of_tool(tool, mention, said):
                    continue
                out[slot.name] = _written(slot, mention.value, known, at)
                used.update(range(mention.start, mention.end))
                if kind is Kind.NUMBER:
                    counted.update(range(mention.start, _noun_end(slot, mention, said)))
    _order_days(tool, known, at, out)
    for slot in tool.slots:
        if slot.kind is Kind.CHOICE and (choice := _choice(slot, said, at)) is not None:
            out[slot.name] = Fill([choice] if slot.many else choice, at.turn)
            words = {stem(w) for w in str(choice).lower().replace("_", " ").replace("-", " ").split()}
            counted.update(k for k, t in enumerate(said.tokens) if stem(t.low) in words)
        elif slot.kind is Kind.FLAG and not slot.gate and (flag := _flag(slot, said, at)) is not None:
            out[slot.name] = Fill(flag, at.turn, flag)
        elif slot.kind is Kind.TIME and slot.name not in out and (clock := _offered_time(slot, said, at)) is not None:
            out[slot.name] = clock
    _free_text(tool, said, known, at, out, used | counted, counted)
    for name, fresh in out.items():
        before = known.get(name)
        if before is not None and isinstance(fresh.value, str) and str(before.value).lower() == fresh.value.lower():
            out[name] = Fill(before.value, fresh.turn, fresh.raw)  # written as before: recognisers vary in capitals
    return out


def _written(slot: Slot, value: Value, known: Mapping[str, Fill], at: Situation) -> Fill:
    if isinstance(value, PersonName) and value.spelled and slot.name in known:
        value = PersonName(respelled(str(known[slot.name].value), value.text))
    written = write(slot, value, at.today, at.offered_times)
    return Fill([written] if slot.many else written, at.turn, value)


def _speaks_of_tool(tool: ToolView, mention: Mention, said: Utterance) -> bool:
    """True if what looks like a name in lower case is the tool's own matter: "a haircut"."""
    if isinstance(mention.value, PersonName) and mention.value.spelled:
        return False
    heads = [t for t in said.tokens[mention.start : mention.end] if not is_stop(t.low)]
    return bool(heads) and all(t.text.islower() and tool.vocabulary.get(stem(t.low), 0) >= 0.5 for t in heads)


def _order_days(tool: ToolView, known: Mapping[str, Fill], at: Situation, out: dict[str, Fill]) -> None:
    """The last day of a stay comes after the first: "from Friday until Monday" is the Monday after."""
    days = [slot for slot in tool.slots if slot.kind is Kind.DATE]
    first = next((slot for slot in days if _role(slot) == "start"), None)
    last = next((slot for slot in days if _role(slot) == "end"), None)
    if first is None or last is None or last.name not in out:
        return
    start, end = out.get(first.name) or known.get(first.name), out[last.name]
    if start is None or not (isinstance(start.raw, moments.Day) and isinstance(end.raw, moments.Day)):
        return
    late = end.raw.date
    while end.raw.weekday and late < start.raw.date:
        late += dt.timedelta(days=7)
    if late != end.raw.date:
        out[last.name] = _written(last, replace(end.raw, date=late), known, at)


def _noun_end(slot: Slot, mention: Mention, said: Utterance) -> int:
    """Past the noun that a number counts, where it is what the slot counts ("four people")."""
    for k in range(mention.end, min(mention.end + 3, len(said.tokens))):
        if said.tokens[k - 1].tail:
            break
        if any(alike(stem(said.tokens[k].low), one) >= 0.8 for one in slot.stems | slot.name_stems):
            return k + 1
    return mention.end


# -- typed values


def _assigned(
    slots: Sequence[Slot], said: Utterance, known: Mapping[str, Fill], at: Situation
) -> list[tuple[Slot, Mention]]:
    """Mentions of one kind to slots of that kind: by what was asked, by the words around, else in order."""
    kind = slots[0].kind
    mentions = [m for m in said.of(kind) if _fits(kind, m, said, slots, at)]
    if not mentions and kind is Kind.CODE and any(s.name in at.asked for s in slots):
        mentions = [m for m in said.mentions if m.kind in (Kind.PHONE, Kind.NUMBER) and isinstance(m.value, (str, int))]
        mentions = [Mention(kind, str(m.value), m.start, m.end) for m in mentions]
    if not mentions and kind is Kind.CODE:
        # "user 4412": digits behind the word that the slot is named by.
        mentions = [
            Mention(kind, str(m.value), m.start, m.end)
            for m in said.of(Kind.NUMBER)
            if len(str(m.value)) >= 3 and any(set(_near(m, said)[-1:]) & slot.name_stems for slot in slots)
        ]
    if not mentions and kind is Kind.PHONE:
        mentions = [m for m in said.of(Kind.CODE) if str(m.value).isdigit() and len(str(m.value)) >= 7]
    if not mentions:
        return []
    if len(slots) == 1 and len(mentions) > 1:
        return [(slots[0], _preferred(slots[0], mentions, said))]
    scored: list[tuple[float, int, int]] = []
    for s, slot in enumerate(slots):
        for m, mention in enumerate(mentions):
            score = _cue(slot, mention, said)
            if slot.name in at.asked:
                score += 1.5
            if slot.name not in known:
                score += 0.3
            if slot.required:
                score += 0.2
            scored.append((score - 0.05 * abs(s - m), s, m))
    scored.sort(key=lambda x: -x[0])
    pairs: list[tuple[Slot, Mention]] = []
    slots_done: set[int] = set()
    mentions_done: set[int] = set()
    for score, s, m in scored:
        if s in slots_done or m in mentions_done or score < -0.5:
            continue
        slots_done.add(s)
        mentions_done.add(m)
        pairs.append((slots[s], mentions[m]))
    return pairs


def _fits(kind: Kind, mention: Mention, said: Utterance, slots: Sequence[Slot], at: Situation) -> bool:
    asked = any(slot.name in at.asked for slot in slots)
    if kind is Kind.TIME:
        return mention.strong or asked
    if kind is Kind.NUMBER:
        return any(_number_fit(slot, mention, said, at, alone=len(slots) == 1) > 0 for slot in slots)
    return True


_UNITS = frozenset(
    stem(w)
    for w in (
        "minute hour day week month year dollar pound euro percent mile kilometer kilo degree second oclock am pm floor"
        " street road avenue lane star night bag bags luggage suitcase ticket"
    ).split()
)


def _number_fit(slot: Slot, mention: Mention, said: Utterance, at: Situation, *, alone: bool) -> float:
    """How well a number fits a slot, by the noun that follows it or the word before it."""
    if not isinstance(mention.value, (int, float)) or in_address(said.tokens, mention.start):
        return 0.0
    before = [t.low for t in said.tokens[max(0, mention.start - 2) : mention.start]]
    noun = ""
    for k in range(mention.end, min(mention.end + 3, len(said.tokens))):
        token = said.tokens[k]
        if k > mention.end and said.tokens[k - 1].tail:
            break
        if mention.end < len(said.tokens) and said.tokens[mention.end - 1].tail:
            break
        if k in said.taken:
            break
        if token.low == "us":
            noun = "us"
            break
        if token.low in ("of", "more", "other", "small", "large", "big", "or"):
            continue
        if is_stop(token.low):
            break
        noun = stem(token.low)
        break
    about = slot.stems | slot.name_stems
    if noun:
        if any(alike(noun, one) >= 0.8 for one in about):
            return 3.0
        if noun in thesaurus().groups.get("peopl", ()) and about & thesaurus().groups.get("peopl", frozenset()):
            return 3.0
        if at.free_asked or noun in _UNITS or before[-1:] in (["from"], ["to"], ["at"], ["in"], ["near"]):
            return 0.0
        return 2.0 if slot.name in at.asked else (0.5 if alone and at.addressed else 0.0)
    if any(alike(stem(w), one) >= 0.8 for w in before for one in slot.name_stems):
        return 3.0
    if slot.name in at.asked:
        return 2.5
    if at.free_asked:
        return 0.0
    if before[-1:] in (["for"], ["of"], ["us"], ["be"], ["are"], ["make"], ["to"]) or not mention.strong:
        return 2.0 if alone else 1.0
    if said.correction or (
        isinstance(mention.value, int) and mention.end - mention.start > 1 and before[-1:] != ["at"]
    ):
        return 1.0
    return 1.0 if alone and (at.addressed or len(said.tokens) <= 4) else 0.0


_ENDS_ADDRESS = frozenset(phrases("ends an address"))
_WHERE = frozenset(phrases("describes where"))


def is_address(said: Utterance) -> bool:
    """True if what was said looks like an address and like nothing else."""
    lows = said.lows
    numbered = any(
        in_address(said.tokens, k) for k, low in enumerate(lows) if low.isdigit() or low in numbers.NUMBER_WORDS
    )
    named = len(lows) > 1 and lows[-1] in _ENDS_ADDRESS and len(said.content) <= 4
    return numbered or named or not _WHERE.isdisjoint(lows)


_START = frozenset(
    stem(w)
    for w in (
        "start from arrival arriving checkin pickup pick depart departure departing leaving origin begin outbound"
        " collect collection"
    ).split()
)
_END = frozenset(
    stem(w)
    for w in "end to until till through return returning checkout dropoff drop destination back finish going".split()
)


def _role(slot: Slot) -> str:
    names = slot.name_stems
    if {"check", "in"} <= names or names & _START:
        return "start"
    if {"check", "out"} <= names or names & _END:
        return "end"
    about = slot.stems
    if about & (_START - {stem("from")}) and not about & _END:
        return "start"
    if about & (_END - {stem("to"), stem("back")}) and not about & _START:
        return "end"
    return ""


def _near(mention: Mention, said: Utterance) -> list[str]:
    """The stems just before a mention, nearest last, up to the mention before it."""
    out: list[str] = []
    for k in range(mention.start - 1, max(-1, mention.start - 5), -1):
        if k in said.taken or said.tokens[k].tail in (".", "?", ";"):
            break
        out.append(stem(said.tokens[k].low))
    return out[::-1]


def _cue(slot: Slot, mention: Mention, said: Utterance) -> float:
    near = _near(mention, said)
    after = [stem(t.low) for t in said.tokens[mention.end : mention.end + 2]]
    score = 0.0
    generic = {stem(w) for w in ("date", "time", "day", "number", "the", "name", "of", "new", "code", "phone")}
    for one in slot.name_stems - generic:
        if any(alike(one, word) >= 0.8 for word in near):
            score += 1.0
        elif slot.kind is Kind.NUMBER and any(alike(one, word) >= 0.8 for word in after):
            score += 2.0
    role = _role(slot)
    if role == "start":
        score += 1.0 if set(near) & _START else (-1.0 if set(near[-1:]) & _END else 0.0)
    elif role == "end":
        score += 1.0 if set(near) & _END else (-1.0 if set(near[-1:]) & _START else 0.0)
    if slot.kind is Kind.NUMBER:
        score += _number_fit(slot, mention, said, Situation(dt.date.min, 0), alone=False)
    return score


def _preferred(slot: Slot, mentions: Sequence[Mention], said: Utterance) -> Mention:
    if slot.kind is Kind.NUMBER:
        at = Situation(dt.date.min, 0)
        return max(mentions, key=lambda m: (_number_fit(slot, m, said, at, alone=True), -m.start))
    for mention in mentions:
        if _near(mention, said)[-1:] == ["to"]:
            return mention
    if slot.kind is Kind.DATE:
        firm = [m for m in mentions if isinstance(m.value, moments.Day) and not m.value.vague]
        mentions = firm or mentions
    strong = [m for m in mentions if m.strong]
    return (strong or list(mentions))[-1 if said.correction else 0]


_PICKS = {
    "first": 0, "earliest": 0, "soonest": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "last": -1,
    "latest": -1, "latter": -1, "final": -1,
}  # fmt: skip


def _pick(said: Utterance, count: int) -> int | None:
    """Which of `count` things offered "the first one" or "the latest" means."""
    lows = said.lows
    for k, low in enumerate(lows):
        if low in _PICKS and k not in said.taken:
            follows = lows[k + 1] if k + 1 < len(lows) else ""
            if follows and not is_stop(follows) and follows not in ("slot", "option", "time", "choice", "opening"):
                continue
            if _PICKS[low] < count:
                return _PICKS[low]
    text = " ".join(lows)
    if any(
        p in text
        for p in (
            "any of them",
            "any of those",
            "either",
            "doesn't matter",
            "don't mind",
            "whichever",
            "any is fine",
            "any time is fine",
            "you choose",
            "you pick",
        )
    ):
        return 0
    return None


def _offered_time(slot: Slot, said: Utterance, at: Situation) -> Fill | None:
    """A time chosen among those offered without naming it: "the first one", "the afternoon one"."""
    if not at.offered_times:
        return None
    wants = part = moments.part_of_day(said.tokens) if said.tokens else None
    times = [t for t in at.offered_times if part is None or (t[0] < 12) == (wants == "am")]
    picked = _pick(said, len(times))
    if picked is None and part is not None and len(times) == 1 and not said.of(Kind.DATE):
        picked = 0
    if picked is None or not times:
        return None
    hour, minute = times[picked]
    clock = moments.Clock(moments.twelve_hour(hour, minute), hour, minute, True)
    return Fill(write(slot, clock, at.today), at.turn, clock)


# -- closed lists and flags


def _negated(said: Utterance, k: int) -> bool:
    if k > 1 and said.tokens[k - 1].low == "no" and not said.tokens[k - 1].tail:
        return True
    return any(
        t.low in ("not", "without", "don't", "doesn't", "isn't", "never") and t.tail not in (",", ".")
        for t in said.tokens[max(0, k - 3) : k]
    )


def _choice(slot: Slot, said: Utterance, at: Situation) -> Any | None:
    """The value of a closed list that was said: its words, near synonyms, or nearly its spelling."""
    asked = slot.name in at.asked
    best: tuple[float, int, Any] | None = None
    stems = [stem(t.low) for t in said.tokens]
    for choice in slot.choices:
        parts = [stem(t.low) for t in tokenize(str(choice).replace("_", " ").replace("-", " "))]
        if not parts:
            continue
        scores, where = [], 0
        for part in parts:
            near, k = max(
                ((alike(part, word), k) for k, word in enumerate(stems) if not _negated(said, k)), default=(0.0, 0)
            )
            scores.append(near)
            where = max(where, k)
        score = min(scores)
        if score < 0.6 and len(parts) > 1 and max(scores) == 1.0 and (asked or sum(scores) >= 1.6):
            # "the silver one" for "silver plan": part of a name, when nothing else competes.
            heads = [p for p, s in zip(parts, scores, strict=True) if s == 1.0]
            if not any(
                h in [stem(t.low) for t in tokenize(str(o).replace("_", " "))]
                for h in heads
                for o in slot.choices
                if o != choice
            ):
                score = 0.7
        if score < 0.6 and asked and len(said.tokens) <= 4:
            from rapidfuzz.fuzz import ratio

            plain = " ".join(t.low for t in said.tokens if not is_stop(t.low))
            if plain and ratio(plain, str(choice).lower().replace("_", " ")) >= 75:
                score = 0.65
        if score >= 0.6 and (best is None or (score, len(parts), where) > (best[0], 0, best[1])):
            best = (score, where, choice)
    if best is not None:
        return best[2]
    return _typed_choice(slot, said, at) if best is None else None


def _typed_choice(slot: Slot, said: Utterance, at: Situation) -> Any | None:
    lower = {str(c).lower(): c for c in slot.choices}
    for mention in said.of(Kind.DATE):
        if isinstance(mention.value, moments.Day):
            name = moments.WEEKDAYS[mention.value.date.weekday()].lower()
            for form in (name, name[:3]):
                if form in lower and (mention.value.weekday or slot.required):
                    return lower[form]
    times = {moments.times_in(str(c))[0]: c for c in slot.choices if moments.times_in(str(c))}
    for mention in said.of(Kind.TIME):
        if times and isinstance(mention.value, moments.Clock):
            resolved = mention.value.resolved(tuple(times))
            if resolved in times:
                return times[resolved]
    for mention in said.of(Kind.NUMBER):
        if mention.value in slot.choices and slot.name in at.asked:
            return mention.value
        if str(mention.value) in lower and slot.name in at.asked:
            return lower[str(mention.value)]
    if slot.name in at.asked:
        picked = _pick(said, len(slot.choices))
        if picked is not None:
            return slot.choices[picked]
    return None


_BLAND = frozenset(
    stem(w)
    for w in "is has have need needs want include includes with require requires should wants the a flag option".split()
)


def _flag(slot: Slot, said: Utterance, at: Situation) -> bool | None:
    names = slot.name_stems - _BLAND
    stems = [stem(t.low) for t in said.tokens]
    where = -1
    if names:
        places = [max(((alike(n, w), k) for k, w in enumerate(stems)), default=(0.0, -1)) for n in names]
        if all(score >= 0.8 for score, _ in places):
            where = min(k for _, k in places)
        elif len(names) > 1 and max(places)[0] >= 0.8 and at.addressed:
            # Part of the name, if that part is not what every tool is about.
            score, k = max(places)
            where = k if score == 1.0 and not is_stop(said.tokens[k].low) and len(said.tokens[k].low) > 5 else -1
    if where >= 0:
        return not _negated(said, where)
    if slot.name in at.asked and (said.consents or said.polarity == "no"):
        return said.consents
    return None


# -- free text

_LEADS = tuple(tuple(phrase.split()) for phrase in phrases("leads in to an answer"))
_NOTE_LEADS = tuple(tuple(phrase.split()) for phrase in phrases("leads in to a note"))
_TAILS = frozenset("please thanks thank you then instead too".split())


def _free_text(
    tool: ToolView,
    said: Utterance,
    known: Mapping[str, Fill],
    at: Situation,
    out: dict[str, Fill],
    used: set[int],
    counted: set[int],
) -> None:
    """`used`: the tokens that typed values took; `counted`: those of them that numbers and choices took."""
    slots = [s for s in tool.slots if s.kind in (Kind.PLACE, Kind.THING, Kind.NOTE)]

    if not slots or said.intent in (Intent.HELP, Intent.REPEAT, Intent.WAIT):
        return
    for slot in slots:
        if (text := _cued_text(slot, tool, said, at)) is not None:
            out[slot.name] = _text_fill(slot, text, at)
    open_slots = [s for s in slots if s.name not in out]
    asked = [s for s in open_slots if s.name in at.asked]
    if all(k in used or is_stop(t.low) for k, t in enumerate(said.tokens)):
        return  # every word has its place already
    if asked and not out.keys() & {s.name for s in slots} and said.intent is not Intent.FAREWELL:
        text = _whole_answer(asked[0], said, tool, counted)
        if text:
            out[asked[0].name] = _text_fill(asked[0], text, at)
            return
    places = [s for s in tool.slots if s.kind is Kind.PLACE]
    if (tool.reads and at.addressed and len(places) == 1 and places[0] in open_slots and not _role(places[0])
            and len(slots) == 1):  # fmt: skip
        text = _object(places[0], tool, said, out, counted)
        if text:
            out[places[0].name] = _text_fill(places[0], text, at)
    elif at.addressed:
        unknown = [
            s for s in open_slots if s.kind is Kind.THING and (s.required or s.name_stems) and s.name not in known
        ] or [s for s in open_slots if s.kind is Kind.THING and s.required]
        wanted = [s for s in unknown if s.required] or (unknown[:1] if tool.reads else [])
        if wanted:
            text = _object(wanted[0], tool, said, out, counted)
            if text:
                out[wanted[0].name] = _text_fill(wanted[0], text, at)


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
        ):
            continue
        if token.low == "at" and role and i:
            verbs = {stem(t.low) for t in tokens[max(0, i - 5) : i]}
            if not (verbs & (_START if role == "start" else _END)) and not (
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
        role = _role(slot)
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
            end = next(j for j in range(k + 1, len(said.tokens)) if j > k + 1 and said.tokens[j].low in _ENDS_ADDRESS)
            return _trim(said.tokens[k : end + 1])
    return None


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
    if text.startswith(phrases("no answer")):
        return None
    tokens = list(said.tokens)
    cut = len(tokens)
    others = {s.kind for s in tool.slots if s.name != slot.name}
    for m in said.mentions:
        # A date or a name at the end belongs to another slot of the tool.
        if m.kind in others and m.kind not in (Kind.NUMBER, Kind.PERSON) and m.start > 0 and m.end >= len(tokens) - 1:
            cut = min(cut, m.start)
    if counted and slot.kind is not Kind.NOTE:
        tokens, cut = _rest(said, counted), len(said.tokens)
    tokens = tokens[:cut]
    while tokens and tokens[-1].low in ("on", "at", "for", "by", *_TAILS):
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
            or low in numbers.NUMBER_WORDS
            or low.isdigit() or any(low in value.split() for value in filled) or k in counted
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
    start, end = _capitals(tokens, *best, said.taken)
    return " ".join(t.text for t in tokens[start:end])


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
