"""The last look at a step before a tool that changes something is called.

Whatever led to the call, a question and the opposite of a wish never make it. A question that names all that a call
needs ("is four o'clock possible?") is answered with a read-back: only a yes to that makes the call.

Below: `choose`, `pursue`. Above: `turns`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from antiphon_standin import speak
from antiphon_standin.choose import forbidden
from antiphon_standin.courtesies import lost
from antiphon_standin.leftover import leftover
from antiphon_standin.memory import Offer, PlannedCall, ReadBack, State, Step, canonical
from antiphon_standin.opposites import poles
from antiphon_standin.slots import ToolView
from antiphon_standin.understand import Kind, Utterance
from antiphon_standin.words import alike, stem, thesaurus


def careful(state: State, step: Step, said: Utterance) -> Step:
    """The step, or another one in the place of a call that the turn does not ask for."""
    wrong = next((call for call in step.calls if _is_wrong(state, call, said)), None)
    if wrong is None:
        return step
    tool = state.tools[wrong.tool]
    proposed = any(fill.turn == state.turn for fill in state.values(tool).values())
    if said.inquires and proposed and state.goal == tool.name:
        return Step(
            say=speak.read_back(tool, wrong.args), goal=tool.name, read_back=ReadBack(tool.name, canonical(wrong.args))
        )
    return replace(lost(state, said), goal=state.goal, asked=state.asked)


_MODALS = frozenset("can could will would may might".split())


def _is_bare_question(state: State, said: Utterance) -> bool:
    """True for a value with a question mark, where nothing was asked: "And the lawn?" wants to be told something."""
    waits = state.goal is not None or state.asked or state.offer not in (Offer.NOTHING, Offer.ANYTHING_ELSE)
    if not _MODALS.isdisjoint(said.lows[:4]):
        return False
    return said.question and not waits and not said.acts and not poles(said.tokens)


def _is_wrong(state: State, call: PlannedCall, said: Utterance) -> bool:
    tool = state.tools.get(call.tool)
    if tool is None or tool.ends_call:
        return False
    if not tool.reads and _is_bare_question(state, said):
        return True
    return forbidden(tool, said) or (state.goal != tool.name and is_of_something_else(tool, call.args, said))


def is_of_something_else(tool: ToolView, args: Mapping[str, Any], said: Utterance) -> bool:
    """True if the turn names a thing that a call leaves out, and nothing that the tool is about.

    "Open the window in the kitchen" is not for `open_blinds(room)`.
    """
    about = {stem(token.low) for token in tool.own_words[1:]} - {stem(token.low) for token in tool.own_words[:1]}
    about = {word for word in about if (word,) not in thesaurus().acts}
    if any(slot.kind in (Kind.THING, Kind.NOTE, Kind.PLACE) for slot in tool.slots):
        return False  # it may well be what the tool takes
    if tool.reads or not about or not said.acts or any(alike(w, stem(low)) >= 0.8 for w in about for low in said.lows):
        return False
    named = leftover(said, tool, args.values())
    held = [low for before, low in itertools.pairwise(said.lows) if before in ("the", "a", "an", "my", "our", "your")]
    return any(word in held for word in named)
