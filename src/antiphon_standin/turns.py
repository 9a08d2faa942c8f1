"""The caller's turn: understand it, note its values, and decide what to do.

Above: `replay` folds the history with `hear`. Below: `courtesies` (turns without a tool), `aim` (which tool), `pursue`
(the step towards a call). A function reads the state and returns a `Step`; beside that, `hear` only writes down what
was learnt.
"""

from __future__ import annotations

from collections.abc import Sequence

from antiphon_standin import redo, speak
from antiphon_standin.aim import (
    SEARCH,
    as_offered,
    chosen_tool,
    declining,
    disputed,
    just_given,
    open_kinds,
    same_matter,
    settled,
    share_words,
    sole,
    unsure_kinds,
    values_for,
)
from antiphon_standin.care import careful, is_of_something_else
from antiphon_standin.choose import Match, forbidden, match
from antiphon_standin.courtesies import conversational, lost
from antiphon_standin.known import IDENTITY, arguments, missing, named_anew
from antiphon_standin.memory import (
    Offer,
    PlannedCall,
    State,
    Step,
    canonical,
    related,
)
from antiphon_standin.opposites import either_way, poles
from antiphon_standin.pursue import call_now, pursue
from antiphon_standin.situation import Fill
from antiphon_standin.slots import Slot, ToolView
from antiphon_standin.understand import Intent, Kind, Utterance, understand
from antiphon_standin.words import thesaurus, tokenize


def hear(state: State, text: str) -> Step:
    """Understand a caller's turn, note its values, and decide what to do."""
    state.hears(text)
    return careful(state, _decided(state, text), understand(text, state.today))


def hear_again(state: State) -> Step:
    """The step for the caller's last turn, heard once more now that it is known what became of a call."""
    return careful(state, _decided(state, state.heard), understand(state.heard, state.today))


def _decided(state: State, text: str) -> Step:
    text = as_offered(state, text)
    disputed_call = disputed(state)
    if disputed_call is not None and _disputes(understand(text, state.today)):
        state.answers_about(disputed_call.args, of=disputed_call.tool)
    said = understand(text, state.today, state.asked_kinds(), open_kinds(state))
    if said.correction and not state.asked and len(said.tokens) <= 5 and not said.of(Kind.DATE):
        # "hmm, actually six": what was given last is what is taken back.
        state.answers_about(just_given(state))
        said = understand(text, state.today, state.asked_kinds(), open_kinds(state))
    refused = declining(state, said)
    if refused is not None:
        return call_now(refused, {})
    new = {name: values_for(state, tool, said, addressed=False) for name, tool in state.tools.items()}
    ranked = match([t for t in state.tools.values() if t.name != SEARCH], said, new)
    early = conversational(state, said, ranked, new)
    if early is not None:
        return early
    tool = chosen_tool(state, said, ranked, new)
    if tool is None:
        tool, said, new = sole(state, said, text, new)
    unfit = tool is not None and forbidden(tool, said) and (state.goal != tool.name or not said.inquires)
    if tool is not None and tool.reads and not _looks_for(state, tool, said, new):
        tool = None
    if tool is not None and (unfit or _wants_other_deed(state, tool, said, ranked)):
        tool = None
    if tool is not None and state.goal != tool.name:
        for name in named_anew(state, tool, said, new.get(tool.name, {})):
            state.known[tool.name].pop(name, None)
    requested = tool is not None and any(m.tool is tool and m.act >= 1.0 for m in ranked)
    if tool is not None and not (said.of(Kind.PERSON) and said.of(Kind.TIME)):
        # Now that it is known what is lacking, less is needed to recognise a name or a time.
        lacking = frozenset(
            s.kind for s in (*missing(state, tool, said), *(s for s in tool.slots if s.kind is Kind.NUMBER))
        )
        closer = understand(text, state.today, state.asked_kinds(), lacking - unsure_kinds(tool))
        kinds = {slot.kind for slot in tool.slots}
        if kinds & {m.kind for m in closer.mentions if m.strong} > kinds & {m.kind for m in said.mentions if m.strong}:
            said = closer
            new = {name: values_for(state, other, said, addressed=False) for name, other in state.tools.items()}
    new = _note(state, tool, said, new)
    answer = _answer_to_read_back(state, said, new)
    if answer is not None:
        return answer
    if tool is None and (said.acts & {"change"} or said.correction):
        tool = settled(state, said, new)
        if tool is not None:
            return _once_more(state, tool, said)
    if tool is None and SEARCH in state.tools and said.content and said.intent is Intent.NONE:
        query = state.tools[SEARCH].required[:1]
        return Step(calls=(PlannedCall(SEARCH, {slot.name: text.rstrip(" ,") for slot in query}),))
    if tool is None:
        return lost(state, said)
    if state.goal != tool.name and is_of_something_else(tool, arguments(state, tool, said), said):
        return lost(state, said)
    if redo.would_repeat(state, tool, said, requested=requested):
        if said.question and not said.correction and not said.mentions:
            return lost(state, said)
        return _once_more(state, tool, said)
    return pursue(state, tool, said)


def _looks_for(state: State, tool: ToolView, said: Utterance, new: dict[str, dict[str, Fill]]) -> bool:
    """False for a look-up where the turn wants a deed and names nothing to look up: "can I buy one of them?"."""
    deeds = said.acts - thesaurus().reading
    return (
        said.inquires
        or not deeds
        or bool(deeds & tool.acts)
        or bool(new.get(tool.name))
        or (state.goal == tool.name or not said.question)
    )


def _wants_other_deed(state: State, tool: ToolView, said: Utterance, ranked: Sequence[Match]) -> bool:
    """True if a deed that has an opposite was asked for by name, and the tool, which changes something, is not it."""
    asked = poles(said.tokens)
    if not asked or tool.reads or state.goal == tool.name:
        return False
    if asked & (poles(tool.own_words) | either_way(tokenize(tool.description))):
        return False
    return not any(m.tool is tool and m.act > 0 for m in ranked)


def _disputes(said: Utterance) -> bool:
    """True for a turn that can only be about the values just read out: a no, a correction, a bare value."""
    return said.polarity == "no" or said.correction or not (said.consents or said.question or said.acts)


def _note(
    state: State, tool: ToolView | None, said: Utterance, new: dict[str, dict[str, Fill]]
) -> dict[str, dict[str, Fill]]:
    """Write down what was said, and give what of it was: all for the tool that it is about, else what serves any."""
    noted = {}
    for name, fills in new.items():
        other = state.tools[name]
        if tool is not None and name == tool.name:
            fills = values_for(state, other, said, addressed=True)
        elif "change" in other.acts or other.ends_call:
            # What was said about something else is not what to change it to.
            fills = {
                k: f for k, f in fills.items() if (s := other.slot(k)) is not None and s.kind in (*IDENTITY, Kind.CODE)
            }
        if tool is not None and name != tool.name:
            if tool.name != state.goal:
                # A wish for something else was no answer, although any words would do for one.
                fills = {k: f for k, f in fills.items() if not (k in state.asked and _takes_words(other.slot(k)))}
            fills = {k: f for k, f in fills.items() if same_matter(tool, other.slot(k))}
        noted[name] = fills
        state.learn(name, fills)
    if tool is not None:
        share_words(state, tool, noted)
    return noted


def _takes_words(slot: Slot | None) -> bool:
    return slot is not None and slot.kind in (Kind.PLACE, Kind.THING, Kind.NOTE)


def _once_more(state: State, tool: ToolView, said: Utterance) -> Step:
    """A correction, or a value, for what is done already: change it if there is a tool for that, else ask."""
    for other in related(tool, list(state.tools.values())):
        fills = values_for(state, other, said, addressed=True) if "change" in other.acts else {}
        if fills:
            state.learn(other.name, fills)
            return pursue(state, other, said)
    changes = {k: f.value for k, f in state.revised(tool).items()}
    if any(call.tool == tool.name for call in state.running()):
        return Step(say=f"I'm still working on that. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    if not changes:
        return Step(say=f"That's already done. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    return Step(say=speak.another(tool, changes), offer=Offer.ANOTHER, offered_tool=tool.name)


def _answer_to_read_back(state: State, said: Utterance, new: dict[str, dict[str, Fill]]) -> Step | None:
    """The caller's answer to details that were read back: yes, a change, or no."""
    back = state.read_back
    if back is None or back.tool not in state.tools:
        return None
    tool = state.tools[back.tool]
    args = arguments(state, tool)
    if canonical(args) != back.args:
        if new.get(tool.name):
            return pursue(state, tool, said)
        return None
    if said.consents and not said.acts & ({"change", "cancel"} - tool.acts) and back.heard:
        return call_now(tool, args, confirmed=True)
    if said.polarity == "yes":
        return pursue(state, tool, said)
    if said.acts & {"cancel"} - tool.acts:
        return None
    if said.polarity == "no" and tool.acts & {"cancel", "refund"}:
        return Step(say=f"No problem, I've left everything as it is. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    if said.polarity == "no" or said.correction:
        return Step(say="Of course. What should I change?", goal=tool.name, offer=Offer.CHANGE, asked=frozenset(args))
    return None
