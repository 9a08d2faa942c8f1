"""The next step towards a call: ask for what is missing, look up what there is to choose from, read back, or call.

Below: `known`, `speak`. Above: `turns` (the caller's turns) and `reply` (results).
"""

from __future__ import annotations

from typing import Any

from antiphon_standin import redo, results, speak
from antiphon_standin.known import IDENTITY, arguments, current, missing
from antiphon_standin.memory import (
    Called,
    Offer,
    PlannedCall,
    ReadBack,
    State,
    Step,
    canonical,
    gated_by,
)
from antiphon_standin.opposites import contrary
from antiphon_standin.slots import Slot, ToolView
from antiphon_standin.understand import Intent, Kind, Utterance


def pursue(state: State, tool: ToolView, said: Utterance | None = None) -> Step:
    """Get on towards a call of `tool`: ask for what is missing, read back where that is wanted, or call."""
    goal = tool.name
    if tool.reads and state.goal in state.tools and state.goal != tool.name and not state.tools[state.goal or ""].reads:
        # A look-up on the way to something else: come back to that afterwards.
        goal = state.goal or goal
    values = current(state, tool, said)
    for slot in tool.slots:
        fill_ = values.get(slot.name)
        if fill_ is not None and slot.kind is Kind.NUMBER and isinstance(fill_.value, (int, float)):
            if (slot.low is not None and fill_.value < slot.low) or (slot.high is not None and fill_.value > slot.high):
                state.forget(slot.name)
                return Step(
                    say=f"{speak.out_of_bounds(slot)} {speak.question(slot)}",
                    goal=tool.name,
                    asked=frozenset({slot.name}),
                )
    wanted = missing(state, tool, said)
    if estimated := [slot for slot in wanted if slot.unasked]:
        return Step(say=f"{speak.cannot_estimate(estimated)} {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    if wanted:
        return _collect(state, tool, wanted, goal)
    args = arguments(state, tool, said)
    if tool.gated or gated_by(state.instructions, tool):
        return Step(say=speak.read_back(tool, args), goal=tool.name, read_back=ReadBack(tool.name, canonical(args)))
    done = next((c for c in reversed(state.calls) if c.tool == tool.name and c.output is not None), None)
    if done is not None and done.args == args and not done.is_error and not _to_be_done_anew(state, tool, done):
        renewed = any(f.turn == state.turn for f in values.values()) or (
            said is not None and said.intent is Intent.RETRY
        )
        if done.turn == state.turn or not (tool.reads and renewed):
            repeated = " ".join(results.digest(done.output or "").facts)
            if done in state.running():
                return Step(say=f"I'm still working on that. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
            if not tool.reads:
                return Step(say=f"That's already done. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
            return Step(say=repeated or speak.ANYTHING_ELSE, goal=state.goal)
    if done is not None and done.args == args and done.is_error and said is not None and not _again(state, said):
        told = speak.apology(results.digest(done.output or "").facts)
        return Step(say=f"{told} What should I change?", goal=tool.name, asked=state.asked or frozenset(args))
    return Step(calls=(PlannedCall(tool.name, args),), goal=goal)


def _to_be_done_anew(state: State, tool: ToolView, done: Called) -> bool:
    """True if a deed may be wanted a second time although it was done with the same values.

    The opposite was done since, or it only sets something, which does no harm. While it still runs in the background,
    the session knows better: it asks whether to run it beside the other.
    """
    if tool.reads or done.turn == state.turn:
        return False
    if any(call.tool == tool.name for call in state.running()):
        return tool.second_run is not None
    later = state.calls[state.calls.index(done) + 1 :]
    others = [state.tools[call.tool] for call in later if call.tool in state.tools and not call.is_error]
    undone = any(contrary(other.own_words, tool.own_words) for other in others if not other.reads)
    return undone or not redo.commits(tool)


def _again(state: State, said: Utterance) -> bool:
    """True if what failed is to be tried again as it is."""
    return said.intent is Intent.RETRY or state.offer is Offer.RETRY


def _collect(state: State, tool: ToolView, wanted: list[Slot], goal: str) -> Step:
    """Ask for what is missing, or look up first what the caller would choose from."""
    before = _look_up_first(state, tool, wanted)
    if before is not None:
        open_slots = missing(state, before)
        if not open_slots:
            args = arguments(state, before)
            if not any(c.tool == before.name and c.args == args for c in state.calls):
                return Step(calls=(PlannedCall(before.name, args),), goal=tool.name)
        else:
            wanted = [slot for slot in wanted if slot.key in {s.key for s in open_slots}] or wanted
            wanted = wanted[:1]
    first = wanted[0]
    pair = wanted[:2]
    if len(pair) == 2 and (
        pair[1].kind in (Kind.CHOICE, Kind.NOTE, Kind.FLAG, Kind.THING, Kind.PLACE)
        or pair[0].kind in (Kind.CHOICE, Kind.NOTE, Kind.THING, Kind.PLACE)
    ):
        pair = pair[:1]
    learnt = {name: f.value for name, f in state.values(tool).items() if f.turn == state.turn}
    again = state.asked == frozenset(s.name for s in pair) and state.goal == tool.name and not learnt

    if again:
        pair = [first]
    text = speak.ask(pair, again=again)
    if learnt and state.goal == tool.name and _passed_over(state, tool, first):
        # The same question once more: only so does the caller hear that what they said instead was understood.
        text = f"{speak.noted(tool, learnt)} {text}"
    return Step(
        say=text,
        goal=goal if goal != tool.name and not tool.reads else tool.name,
        asked=frozenset(s.name for s in pair),
        missed=again,
    )


def _passed_over(state: State, tool: ToolView, slot: Slot) -> bool:
    """True if the caller was asked for this, and at most answered what was asked after it."""
    order = {s.name: (s.kind in IDENTITY, k) for k, s in enumerate(tool.slots)}
    given = (name for name in state.asked if name in order and name in state.values(tool))
    return slot.name in state.asked and all(order[slot.name] < order[name] for name in given)


def _look_up_first(state: State, tool: ToolView, wanted: list[Slot]) -> ToolView | None:
    """The look-up of what is available that must come before a missing time can be chosen, or None."""
    if tool.reads or not any(slot.kind is Kind.TIME for slot in wanted) or "avail" not in state.instructions.lower():
        return None
    keys = {slot.key for slot in tool.slots}
    for other in state.tools.values():
        text = f"{other.name} {other.description}".lower()
        if (
            other.reads
            and not other.fallback
            and other.required
            and any(word in text for word in ("avail", "free", "open"))
            and all(s.key in keys for s in other.required)
        ):
            return other
    return None


def call_now(tool: ToolView, args: dict[str, Any], *, confirmed: bool = False) -> Step:
    """The call itself, with its gate open if the details were confirmed."""
    if confirmed and tool.gate is not None:
        args = {**args, tool.gate.name: True}
    return Step(calls=(PlannedCall(tool.name, args),), goal=tool.name)
