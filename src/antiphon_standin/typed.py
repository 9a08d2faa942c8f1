"""Dates, times, numbers, names and codes to the slots that they are for: by what was asked, by the words around.

Below: `understand`, `slots`. Above: `fill`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from antiphon_standin import moments, numbers
from antiphon_standin.people import PersonName, respelled
from antiphon_standin.situation import Fill, Situation
from antiphon_standin.slots import Slot
from antiphon_standin.understand import Kind, Mention, Utterance, Value, in_address
from antiphon_standin.words import (
    alike,
    is_stop,
    phrases,
    stem,
    thesaurus,
)
from antiphon_standin.written import write


def in_form(slot: Slot, value: Value, known: Mapping[str, Fill], at: Situation) -> Fill:
    """A value in the form that the slot documents; a spelled name corrects the one heard before."""
    if isinstance(value, PersonName) and value.spelled and slot.name in known:
        value = PersonName(respelled(str(known[slot.name].value), value.text))
    written = write(slot, value, at.today, at.offered_times)
    return Fill([written] if slot.many else written, at.turn, value)


def assign(
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
            if len(str(m.value)) >= 3 and any(_is_called(slot, _near(m, said)) for slot in slots)
        ]
    if (
        not mentions
        and kind is Kind.CODE
        and all(s.json_type == "integer" for s in slots)
        and (at.addressed or len(said.tokens) < 5)
    ):
        # "unlock 121": a number that says which one.
        mentions = [Mention(kind, str(m.value), m.start, m.end) for m in said.of(Kind.NUMBER)]
        mentions = [m for m in mentions if not _unit_behind(said, m)][:1]
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


def _unit_behind(said: Utterance, mention: Mention) -> bool:
    """True for a number that counts what stands behind it."""
    follows = said.tokens[mention.end : mention.end + 1]
    return bool(follows) and not said.tokens[mention.end - 1].tail and not is_stop(follows[0].low)


def _is_called(slot: Slot, near: Sequence[str]) -> bool:
    """True for what stands behind a word for the slot ("user 4412"), or behind "ends in"."""
    return bool(set(near[-1:]) & slot.name_stems or {"end"} & set(near[-2:]))


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


ENDS_ADDRESS = frozenset(phrases("ends an address"))
_WHERE = frozenset(phrases("describes where"))


def is_address(said: Utterance) -> bool:
    """True if what was said looks like an address and like nothing else."""
    lows = said.lows
    numbered = any(
        in_address(said.tokens, k) for k, low in enumerate(lows) if low.isdigit() or low in numbers.NUMBER_WORDS
    )
    named = len(lows) > 1 and lows[-1] in ENDS_ADDRESS and len(said.content) <= 4
    return numbered or named or not _WHERE.isdisjoint(lows)


START = frozenset(
    stem(w)
    for w in (
        "start from arrival arriving checkin pickup pick depart departure departing leaving origin begin outbound"
        " collect collection"
    ).split()
)
END = frozenset(
    stem(w)
    for w in "end to until till through return returning checkout dropoff drop destination back finish going".split()
)


def role_of(slot: Slot) -> str:
    """Whether a slot is about where or when something begins ("start") or ends ("end"), or ""."""
    names = slot.name_stems
    if {"check", "in"} <= names or names & START:
        return "start"
    if {"check", "out"} <= names or names & END:
        return "end"
    if slot.kind is Kind.DATE and names & {"first", "last"}:
        return "start" if "first" in names else "end"
    about = slot.stems
    if about & (START - {stem("from")}) and not about & END:
        return "start"
    if about & (END - {stem("to"), stem("back")}) and not about & START:
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
    role = role_of(slot)
    if role == "start":
        score += 1.0 if set(near) & START else (-1.0 if set(near[-1:]) & END else 0.0)
    elif role == "end":
        score += 1.0 if set(near) & END else (-1.0 if set(near[-1:]) & START else 0.0)
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


def pick_of(said: Utterance, count: int) -> int | None:
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


def time_on_offer(slot: Slot, said: Utterance, at: Situation) -> Fill | None:
    """A time chosen among those offered without naming it: "the first one", "the afternoon one"."""
    if not at.offered_times:
        return None
    wants = part = moments.part_of_day(said.tokens) if said.tokens else None
    times = [t for t in at.offered_times if part is None or (t[0] < 12) == (wants == "am")]
    picked = pick_of(said, len(times))
    if picked is None and part is not None and len(times) == 1 and not said.of(Kind.DATE):
        picked = 0
    if picked is None or not times:
        return None
    hour, minute = times[picked]
    clock = moments.Clock(moments.twelve_hour(hour, minute), hour, minute, True)
    return Fill(write(slot, clock, at.today), at.turn, clock)
