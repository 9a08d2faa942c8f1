"""What a call would be made with now, and what it still lacks.

Below: `memory` (what was said). Above: `aim`, `pursue`, `turns`, `reply`. Values that were given for another tool or
that a tool returned serve where they plainly mean the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from antiphon_standin import moments, results
from antiphon_standin.leftover import leftover
from antiphon_standin.memory import State
from antiphon_standin.situation import Fill
from antiphon_standin.slots import Slot, ToolView
from antiphon_standin.understand import Kind, Utterance, in_address
from antiphon_standin.words import content_stems, phrases, stem, thesaurus
from antiphon_standin.written import write

IDENTITY = (Kind.PERSON, Kind.EMAIL, Kind.PHONE)
"""What belongs to the caller and not to one request."""


def current(state: State, tool: ToolView, said: Utterance | None = None) -> dict[str, Fill]:
    """The values that a call of `tool` would use now.

    After it has done its work once, a new request keeps who the caller is and how many they are, and of the matter only
    what goes with what was said since. Values of other tools serve where they plainly mean the same.
    """
    values = dict(state.values(tool))
    spent = state.spent.get(tool.name)
    if spent is not None and not tool.reads:
        fresh = {k for k, f in values.items() if f.turn > spent}
        kinds = {s.kind for s in tool.slots if s.name in fresh}
        if said is None or not said.correction or not fresh:
            for slot in tool.slots:
                keep = slot.name in fresh or _is_the_callers(slot, tool, said, {k: values[k] for k in fresh})
                if slot.kind is Kind.DATE and Kind.TIME in kinds:
                    keep = True
                if (
                    said is not None
                    and "same" in said.lows
                    and slot.kind in (Kind.DATE, Kind.TIME, Kind.THING, Kind.PLACE)
                ):
                    keep = True

                if not keep:
                    values.pop(slot.name, None)
    spent = max((*state.spent.values(), *([state.closed] if state.closed else [])), default=None)
    if tool.reads and spent is not None and said is not None and _is_general(tool, said):
        for slot in tool.slots:
            if not slot.required and slot.name in values and values[slot.name].turn <= spent:
                del values[slot.name]
    for slot in tool.slots:
        things = [f.turn for k, f in values.items() if (s := tool.slot(k)) is not None and s.kind is Kind.THING]
        if slot.kind is Kind.TIME and (slot.name not in values or values[slot.name].turn < max(things, default=0)):
            when = _time_of_item(state, tool, slot, values)
            if when is not None:
                values[slot.name] = when
        if (
            slot.name not in values
            and slot.kind in (*IDENTITY, Kind.CODE)
            and (found := _borrowed(state, tool, slot)) is not None
            and not _may_be_named_anew(state, tool, slot, found, said, values)
        ):
            values[slot.name] = found
    return values


_PEOPLE = frozenset({stem("people"), *thesaurus().groups.get(stem("people"), ())})
_OTHERS = frozenset(stem(word) for word in phrases("somebody else"))


def _is_the_callers(slot: Slot, tool: ToolView, said: Utterance | None, fresh: Mapping[str, Fill]) -> bool:
    """True if a value given before stands for a new request, too: who the caller is, and how many they are.

    A name does not if the request has words that may well be another one.
    """
    about = slot.stems | slot.name_stems
    if slot.kind is Kind.NUMBER:
        return bool(about & _PEOPLE)
    if slot.kind not in IDENTITY or slot.name_stems & _OTHERS:
        return False
    if slot.kind is not Kind.PERSON and any(s.kind is Kind.PERSON and s.name in fresh for s in tool.slots):
        return False  # somebody else's name was given: the address that was known is not theirs
    return slot.kind is not Kind.PERSON or said is None or not leftover(said, tool, (f.value for f in fresh.values()))


def named_anew(state: State, tool: ToolView, said: Utterance, new: Mapping[str, Fill]) -> list[str]:
    """The slots of a new request that earlier values do not stand for: it may well have its own words for them."""
    return [
        slot.name
        for slot in tool.slots
        if (known := state.values(tool).get(slot.name)) is not None
        and slot.name not in new
        and _may_be_named_anew(state, tool, slot, known, said, new)
    ]


def _may_be_named_anew(
    state: State, tool: ToolView, slot: Slot, found: Fill, said: Utterance | None, values: Mapping[str, Fill]
) -> bool:
    """True if a name or number given earlier may not be meant: the request has words that may be another."""
    if said is None or found.turn >= state.turn:
        return False
    if tool.reads:
        left = leftover(said, tool, ()) if slot.kind is Kind.PERSON else []
        return any(token.low in left and token.text[0].isupper() for token in said.tokens[1:])
    numbered = [m for m in said.mentions if m.kind in (Kind.NUMBER, Kind.CODE) and not in_address(said.tokens, m.start)]
    if slot.kind is Kind.CODE and numbered:
        return not any(s.kind is Kind.NUMBER for s in tool.slots)
    return slot.kind is Kind.PERSON and bool(leftover(said, tool, (f.value for f in values.values())))


def _is_general(tool: ToolView, said: Utterance) -> bool:
    """True for a question that names its topic anew ("what classes are there on ..."), unlike "and on Friday?"."""
    anew = said.question and bool(said.acts & tool.acts) and said.lows[:1] not in (["and"], ["or"])
    return anew or any(tool.vocabulary.get(word, 0.0) >= 0.9 for word in said.content)


def _time_of_item(state: State, tool: ToolView, slot: Slot, values: dict[str, Fill]) -> Fill | None:
    """The time that goes with a thing in the last result: "Blue at 6:00 PM" settles when, once Blue was chosen."""
    last = state.last_call
    looked_up = last is not None and last.tool in state.tools and state.tools[last.tool].reads
    if last is None or last.is_error or not last.output or not looked_up:
        return None
    things = [
        str(f.value).lower() for k, f in values.items() if (s := tool.slot(k)) is not None and s.kind is Kind.THING
    ]
    parts = re.split(r"[,;\n]| and |\. |\}", last.output)
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        if moments.times_in(following) and not content_stems(re.sub(r"\b[ap]\.?m\b|\d", "", following, flags=re.I)):
            continue  # one thing with several times
        times = moments.times_in(part)
        if len(times) == 1 and any(thing in part.lower() for thing in things):
            clock = moments.Clock("", times[0][0], times[0][1], True)
            return Fill(write(slot, clock, state.today), last.turn, clock)
    return None


def _borrowed(state: State, tool: ToolView, slot: Slot) -> Fill | None:
    if slot.name == "call_id":
        running = [c for c in state.calls if c.output and results.is_running(c.output)]
        return Fill(running[-1].call_id.partition("/")[0], running[-1].turn) if running else None
    for name, other in state.tools.items():
        if name == tool.name:
            continue
        for twin in other.slots:
            if twin.kind is slot.kind and (
                twin.name == slot.name or len([s for s in other.slots if s.kind is slot.kind]) == 1
            ):
                found = state.known.get(name, {}).get(twin.name)
                if found is not None and (slot.kind is not Kind.CODE or twin.name_stems & slot.name_stems):
                    return found
    if slot.kind is Kind.CODE:
        return _code_in_results(state, slot)
    return None


def _code_in_results(state: State, slot: Slot) -> Fill | None:
    """A code that a tool gave during this call, such as the confirmation of a booking just made."""
    for call in reversed(state.calls):
        if not call.output or call.is_error:
            continue
        try:
            data = json.loads(call.output)
        except ValueError:
            data = None
        if isinstance(data, dict):
            for key, value in data.items():
                if key == slot.name or (slot.name_stems & set(key.lower().split("_"))):
                    return Fill(value, call.turn)
        found = re.search(
            r"(?:#|(?:code|number|reference|confirmation|id)(?: is|:| number| code)*\s*#?)\s*"
            r"([A-Z]{0,4}-?\d[\w-]{2,}|[A-Z]{2,}\d[\w-]*)",
            call.output,
        )
        if found:
            return Fill(found[1].rstrip("-."), call.turn)
    return None


def arguments(state: State, tool: ToolView, said: Utterance | None = None) -> dict[str, Any]:
    """The arguments of a call, gates left out."""
    values = current(state, tool, said)
    return {slot.name: values[slot.name].value for slot in tool.slots if slot.name in values and not slot.gate}


def missing(state: State, tool: ToolView, said: Utterance | None = None) -> list[Slot]:
    """The required slots that are not known, in the order to ask for them."""
    values = current(state, tool, said)
    open_slots = [slot for slot in tool.required if slot.name not in values]
    seen = [slot.kind in IDENTITY for slot in tool.slots]

    def rank(slot: Slot) -> int:
        if slot.kind is Kind.NOTE:
            return 2 if any(seen[: tool.slots.index(slot)]) else 0
        return int(slot.kind in IDENTITY)

    return sorted(open_slots, key=rank)
