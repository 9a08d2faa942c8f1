"""Turns that need no tool: greetings, small talk, thanks, refusals, goodbyes, and what was not understood.

Below: `pursue`, `speak`. Above: `turns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from antiphon_standin import speak
from antiphon_standin.aim import disputed
from antiphon_standin.choose import Match
from antiphon_standin.known import arguments
from antiphon_standin.memory import (
    Offer,
    PlannedCall,
    State,
    Step,
)
from antiphon_standin.pursue import call_now, pursue
from antiphon_standin.results import is_duplicate
from antiphon_standin.situation import Fill
from antiphon_standin.slots import ToolView
from antiphon_standin.understand import Intent, Utterance
from antiphon_standin.words import content_stems, is_stop, phrases, stem


def conversational(
    state: State, said: Utterance, ranked: Sequence[Match], new: dict[str, dict[str, Fill]]
) -> Step | None:
    """Turns that no tool is needed for; None if it is not such a turn."""
    stays = state.stays()
    wanted = bool(ranked) and ranked[0].asked_for and ranked[0].act >= 1.0
    if said.takes_back and (step := _taken_back(state, said, wanted=wanted)) is not None:
        return step
    if state.offer is Offer.ANOTHER and state.offered_tool in state.tools and not wanted:
        tool = state.tools[state.offered_tool]
        if said.consents:
            state.renew(tool)
            return pursue(state, tool, said)
        if said.intent is Intent.FAREWELL and "bye" in " ".join(said.lows):
            state.keep_as_done(tool)
            return farewell(state)
        if said.polarity == "no" and not any(new.values()):
            state.keep_as_done(tool)
            return Step(say=f"No problem, it stays as it is. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    if state.offer is Offer.SECOND_RUN and state.offered_tool in state.tools and not wanted:
        tool = state.tools[state.offered_tool]
        refused = next(c for c in reversed(state.calls) if c.tool == tool.name and is_duplicate(c.output or ""))
        if said.consents and tool.second_run is not None:
            return call_now(tool, {**refused.args, tool.second_run.name: True})
        if said.polarity == "no":
            return Step(say=f"No problem. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    if said.intent is Intent.SMALL_TALK:
        return replace(stays, say=f"I'm doing well, thank you. {_open_question(state) or 'How can I help you?'}")
    if said.intent is Intent.REPEAT:
        return replace(stays, say=state.last_said or "How can I help you?")
    if said.intent is Intent.HELP and not wanted:
        open_question = _open_question(state) or "What would you like to do?"
        return replace(stays, say=f"{speak.capabilities(list(state.tools.values()))} {open_question}")
    if said.intent is Intent.WAIT:
        return replace(stays, say="Of course, take your time.")
    if said.intent is Intent.RETRY or (state.offer is Offer.RETRY and said.polarity == "yes" and not said.mentions):
        last = state.last_call
        if last is not None and last.tool in state.tools and not any(new.values()):
            return pursue(state, state.tools[last.tool], said)
    if said.intent is Intent.GREETING and not said.mentions and not wanted:
        return replace(stays, say=f"Hello! {_open_question(state) or 'How can I help you?'}")
    if state.offer is Offer.TOOL and said.polarity == "no" and not any(new.values()) and not wanted and not _firm(said):
        return Step(say=f"No problem. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    concluding = _conclusion(state, said)
    if concluding is not None:
        return pursue(state, concluding, said)
    if _is_farewell(state, said, wanted=wanted):
        if _only_thanks(said) and any(tool.ends_call for tool in state.tools.values()):
            return Step(say=f"You're welcome. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
        return farewell(state, "you're welcome" if "thank" in " ".join(said.lows) else "")
    return None


def _open_question(state: State) -> str:
    """What the agent waits for, asked once more after other talk; "" if it waits for nothing."""
    goal = state.tools.get(state.goal or "")
    if goal is None:
        return ""
    if state.read_back is not None:
        return speak.read_back(goal, arguments(state, goal))
    slots = [s for s in goal.slots if s.name in state.asked]
    return speak.question(slots[0]) if slots else ""


def _taken_back(state: State, said: Utterance, *, wanted: bool) -> Step | None:
    """A refusal closes the matter. What is asked for in the same breath is heard; else it is only acknowledged."""
    was_open = bool(state.goal or state.read_back) or state.offer not in (Offer.NOTHING, Offer.ANYTHING_ELSE)
    if state.offer is Offer.ANOTHER and state.offered_tool in state.tools:
        state.keep_as_done(state.tools[state.offered_tool])
    state.take_back()
    if (wanted and len(said.tokens) > 5 and said.acts - {"change", "cancel"}) or (said.question and said.mentions):
        return None
    text = "No problem, I've left everything as it is." if was_open else "No problem."
    if _firm(said):
        return farewell(state)
    return Step(say=f"{text} {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)


_FIRM = phrases("farewells, firm")


def _firm(said: Utterance) -> bool:
    text = " ".join(said.lows)
    return any(firm in text for firm in _FIRM)


def _is_farewell(state: State, said: Utterance, *, wanted: bool) -> bool:
    text = " ".join(said.lows)
    if state.offer is Offer.ANYTHING_ELSE and said.polarity == "no" and not said.mentions and not wanted:
        # "No. Send it to Ben." says no to nothing but the question, and asks for something.
        return said.intent is Intent.FAREWELL or (not said.content and not said.inquires)
    if said.intent is not Intent.FAREWELL or said.mentions or wanted:
        return False
    if said.polarity == "yes" and (state.read_back is not None or disputed(state) is not None):
        return False
    if _firm(said):
        return not (state.read_back is not None and said.polarity != "no") or "bye" in text
    return state.goal is None and state.read_back is None and (state.turn > 1 or "bye" in text) and text != "no"


def _only_thanks(said: Utterance) -> bool:
    """True for thanks without a word of leaving: no reason to hang up."""
    return bool({"thanks", "thank", "cheers"} & set(said.lows)) and not _firm(said) and said.polarity != "no"


def _conclusion(state: State, said: Utterance) -> ToolView | None:
    """The tool to conclude with when the caller has nothing to add: there is something to conclude, and it was not."""
    finished = (said.intent is Intent.FAREWELL and "bye" not in " ".join(said.lows)) or (
        state.offer is Offer.ANYTHING_ELSE and said.polarity == "no"
    )
    if not finished or state.goal is not None or said.mentions:
        return None
    for tool in state.tools.values():
        worked = [n for n in state.spent if n in state.tools and n != tool.name and not state.tools[n].reads]
        if tool.finishes and worked and state.spent.get(tool.name, -1) < max(state.spent[n] for n in worked):
            return tool
    return None


def farewell(state: State, courtesy: str = "") -> Step:
    """Close the call: with the tool for it, if there is one."""
    for tool in state.tools.values():
        if tool.ends_call:
            return Step(calls=(PlannedCall(tool.name, {}),))
    # A goodbye may have been misheard: what was under way can still be gone on with.
    return Step(say=speak.WELCOME if courtesy else speak.GOODBYE, goal=state.goal, asked=state.asked)


def lost(state: State, said: Utterance) -> Step:
    """Not understood: ask again, then say what can be done."""
    tools = list(state.tools.values())
    if said.polarity == "no" and not said.mentions and state.turn > 1:
        return Step(say=f"No problem. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    thanks = len(said.lows) <= 5 and bool({"thanks", "thank", "cheers"} & set(said.lows))
    if said.intent is Intent.FAREWELL or (thanks and not said.mentions):
        return Step(say=f"You're welcome. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    if state.goal is None and not said.question and _has_all(state, said):
        return Step(say=f"Thank you, I have that already. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    goal = state.tools.get(state.goal or "")
    slots = [s for s in goal.slots if s.name in state.asked][:2] if goal is not None else []
    if state.running() and goal is None:
        text = "I'm still working on that. Is there anything else I can help you with in the meantime?"
        return Step(say=text, offer=Offer.ANYTHING_ELSE)
    if state.turn == 1 and not state.last_said and said.acts & {"transfer"}:
        text = speak.greeting(state.instructions)  # just handed over to this agent
    elif state.read_back is not None and goal is not None and state.misses == 0:
        text = "Sorry, I didn't get that. " + speak.read_back(goal, arguments(state, goal))
    elif said.polarity == "yes" and goal is None:
        text = "Sure. What would you like to do?"
    elif slots and state.misses == 0:
        text = speak.ask(slots[:1], again=True)
    elif not tools:
        text = "I'm a simple automatic assistant, and I'm afraid I can't help with that."
    elif said.content or state.misses:
        text = f"I'm afraid I can't help with that. {speak.capabilities(tools)} What would you like to do?"
    else:
        text = "Sorry, I didn't get that. How can I help you?"
    return replace(state.stays(), say=text, missed=True)


def _has_all(state: State, said: Utterance) -> bool:
    """True if all that was said went into a call that was made: the caller repeats it."""
    used = {word for c in state.calls for v in c.args.values() for word in content_stems(str(v))}
    topics = [stem(low) for low in said.lows if not is_stop(low)]
    return bool(topics) and all(topic in used for topic in topics)
