"""From an utterance to the slots of one tool.

Below: `typed`, `closed`, `freetext`, which each fill slots of their kinds; `understand` (typed mentions) and `slots`
(what each parameter takes). Above: `aim`, which does this for every turn and every tool; `memory` keeps the latest
values.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

from antiphon_standin import moments
from antiphon_standin.closed import choice_of, flag_of
from antiphon_standin.freetext import free_text
from antiphon_standin.people import PersonName
from antiphon_standin.situation import Fill, Situation
from antiphon_standin.slots import Slot, ToolView
from antiphon_standin.typed import assign, in_form, role_of, time_on_offer
from antiphon_standin.understand import Kind, Mention, Utterance
from antiphon_standin.words import (
    alike,
    is_stop,
    stem,
)
from antiphon_standin.written import looks_back


def fill(tool: ToolView, said: Utterance, known: Mapping[str, Fill], at: Situation) -> dict[str, Fill]:
    """The slots of `tool` that an utterance fills. `known` holds what earlier turns gave."""
    out: dict[str, Fill] = {}
    used: set[int] = set()
    counted: set[int] = set()
    for kind in (Kind.EMAIL, Kind.PHONE, Kind.CODE, Kind.PERSON, Kind.DATE, Kind.TIME, Kind.NUMBER):
        slots = [slot for slot in tool.slots if slot.kind is kind]
        if slots:
            for slot, mention in assign(slots, said, known, at):
                if kind is Kind.PERSON and _speaks_of_tool(tool, mention, said):
                    continue
                if not tool.reads and _is_past(mention, at) and not looks_back(slot):
                    continue
                out[slot.name] = in_form(slot, mention.value, known, at)
                used.update(range(mention.start, mention.end))
                if kind is Kind.NUMBER:
                    counted.update(range(mention.start, _noun_end(slot, mention, said)))
    out |= _order_days(tool, known, at, out)
    for slot in tool.slots:
        if slot.kind is Kind.CHOICE and (choice := choice_of(slot, said, at)) is not None:
            out[slot.name] = Fill([choice] if slot.many else choice, at.turn)
            words = {stem(w) for w in str(choice).lower().replace("_", " ").replace("-", " ").split()}
            counted.update(k for k, t in enumerate(said.tokens) if stem(t.low) in words)
        elif (
            slot.kind is Kind.FLAG
            and not (slot.gate or slot.second_run)
            and (flag := flag_of(slot, said, at)) is not None
        ):
            out[slot.name] = Fill(flag, at.turn, flag)
        elif slot.kind is Kind.TIME and slot.name not in out and (clock := time_on_offer(slot, said, at)) is not None:
            out[slot.name] = clock
    out = _told_apart(tool, said, known, at, out)
    out |= free_text(tool, said, known, at, out, used | counted, counted)
    out |= _masked(tool, said, at)
    for name, fresh in out.items():
        before = known.get(name)
        if before is not None and isinstance(fresh.value, str) and str(before.value).lower() == fresh.value.lower():
            out[name] = Fill(before.value, fresh.turn, fresh.raw)  # written as before: recognisers vary in capitals
    return out


def _is_past(mention: Mention, at: Situation) -> bool:
    return isinstance(mention.value, moments.Day) and mention.value.date < at.today


def _masked(tool: ToolView, said: Utterance, at: Situation) -> dict[str, Fill]:
    """What stands for values that nobody may read goes where digits and words may go, in the order of both."""
    if not said.masked:
        return {}
    takes = [slot for slot in tool.slots if slot.kind in (Kind.CODE, Kind.PHONE, Kind.EMAIL, Kind.THING)]
    takes = [slot for slot in takes if slot.name in at.asked] or takes
    if len(takes) < 2 or len(said.masked) < 2:
        return {slot.name: Fill(" ".join(said.masked), at.turn) for slot in takes[:1]}
    return {slot.name: Fill(one, at.turn) for slot, one in zip(takes, said.masked, strict=False)}


def _speaks_of_tool(tool: ToolView, mention: Mention, said: Utterance) -> bool:
    """True if what looks like a name in lower case is the tool's own matter: "a haircut"."""
    if isinstance(mention.value, PersonName) and mention.value.spelled:
        return False
    heads = [t for t in said.tokens[mention.start : mention.end] if not is_stop(t.low)]
    return bool(heads) and all(t.text.islower() and tool.vocabulary.get(stem(t.low), 0) >= 0.5 for t in heads)


def _order_days(tool: ToolView, known: Mapping[str, Fill], at: Situation, out: Mapping[str, Fill]) -> dict[str, Fill]:
    """The last day of a stay comes after the first: "from Friday until Monday" is the Monday after."""
    days = [slot for slot in tool.slots if slot.kind is Kind.DATE]
    first = next((slot for slot in days if role_of(slot) == "start"), None)
    last = next((slot for slot in days if role_of(slot) == "end"), None)
    if first is None or last is None or last.name not in out:
        return {}
    start, end = out.get(first.name) or known.get(first.name), out[last.name]
    if start is None or not (isinstance(start.raw, moments.Day) and isinstance(end.raw, moments.Day)):
        return {}
    late = end.raw.date
    while end.raw.weekday and late < start.raw.date:
        late += dt.timedelta(days=7)
    return {last.name: in_form(last, replace(end.raw, date=late), known, at)} if late != end.raw.date else {}


def _told_apart(
    tool: ToolView, said: Utterance, known: Mapping[str, Fill], at: Situation, filled: Mapping[str, Fill]
) -> dict[str, Fill]:
    """Slots that share one closed list ("from checking to savings"): each value said goes to one of them."""
    out = dict(filled)
    lists: dict[str, list[Slot]] = {}
    for slot in tool.slots:
        if slot.kind is Kind.CHOICE:
            lists.setdefault(repr(slot.choices), []).append(slot)
    for twins in lists.values():
        choices = twins[0].choices
        named = {stem(str(choice).lower()): choice for choice in choices}
        found = [(k, named[stem(t.low)]) for k, t in enumerate(said.tokens) if stem(t.low) in named]
        if len(twins) < 2 or not found:
            continue
        for slot in twins:
            out.pop(slot.name, None)
        for k, choice in found:
            before = said.lows[max(0, k - 2) : k]
            part = "end" if {"to", "into"} & set(before) else "start" if "from" in before else ""
            fits = [s for s in twins if s.name not in out and (not part or role_of(s) in (part, ""))]
            fits.sort(key=lambda s: (s.name not in at.asked, s.name in known))
            if fits:
                out[fits[0].name] = Fill([choice] if fits[0].many else choice, at.turn)
    return out


def _noun_end(slot: Slot, mention: Mention, said: Utterance) -> int:
    """Past the noun that a number counts, where it is what the slot counts ("four people")."""
    for k in range(mention.end, min(mention.end + 3, len(said.tokens))):
        if said.tokens[k - 1].tail:
            break
        if any(alike(stem(said.tokens[k].low), one) >= 0.8 for one in slot.stems | slot.name_stems):
            return k + 1
    return mention.end
