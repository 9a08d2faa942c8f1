"""What to do at each point of a call: ask, read back, call a tool, or speak.

Above: `replay` folds the history with these functions, `llm` performs the last step. Below: `memory` (what is known),
`choose` (which tool), `fill` (which values), `results` and `speak` (the words). A function reads the
state and returns a `Step`; beside that, `hear` and `answer` only write down what was learnt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from antiphon.providers.standin import moments, redo, results, speak
from antiphon.providers.standin.choose import Match, match
from antiphon.providers.standin.fill import Fill, Situation, fill, is_address
from antiphon.providers.standin.memory import (
    Called,
    Offer,
    PlannedCall,
    ReadBack,
    State,
    Step,
    canonical,
    gated_by,
    related,
)
from antiphon.providers.standin.slots import SPECIFIC, Slot, ToolView, write
from antiphon.providers.standin.understand import Intent, Kind, Utterance, understand
from antiphon.providers.standin.words import content_stems, is_stop, phrases, stem

SEARCH = "tool_search"
"""The tool that finds further tools: used where no other fits."""
IDENTITY = (Kind.PERSON, Kind.EMAIL, Kind.PHONE)
"""What belongs to the caller and not to one request."""


# -- the caller's turn


def hear(state: State, text: str) -> Step:
    """Understand a caller's turn, note its values, and decide what to do."""
    state.turn += 1
    state.heard = text
    said = understand(text, state.today, state.asked_kinds(), _open_kinds(state))
    if said.correction and not state.asked and len(said.tokens) <= 5 and not said.of(Kind.DATE):
        # "hmm, actually six": what was given last is what is taken back.
        state.asked = _recent(state)
        said = understand(text, state.today, state.asked_kinds(), _open_kinds(state))
    new = {name: _fills(state, tool, said, addressed=False) for name, tool in state.tools.items()}
    ranked = match([t for t in state.tools.values() if t.name != SEARCH], said, new)
    early = _conversational(state, said, ranked, new)
    if early is not None:
        return early
    tool = _chosen(state, said, ranked, new)
    if tool is None:
        tool, said = _only(state, said, text, new)
    requested = tool is not None and any(m.tool is tool and m.act >= 1.0 for m in ranked)
    if tool is not None and not (said.of(Kind.PERSON) and said.of(Kind.TIME)):
        # Now that it is known what is lacking, less is needed to recognise a name or a time.
        lacking = frozenset(s.kind for s in (*missing(state, tool), *(s for s in tool.slots if s.kind is Kind.NUMBER)))
        closer = understand(text, state.today, state.asked_kinds(), lacking - _unsure(tool))
        kinds = {slot.kind for slot in tool.slots}
        if kinds & {m.kind for m in closer.mentions if m.strong} > kinds & {m.kind for m in said.mentions if m.strong}:
            said = closer
            new = {name: _fills(state, other, said, addressed=False) for name, other in state.tools.items()}
    for name, fills in new.items():
        other = state.tools[name]
        if tool is not None and name == tool.name:
            fills = _fills(state, other, said, addressed=True)
        elif "change" in other.acts or other.ends_call:
            # What was said about something else is not what to change it to.
            fills = {
                k: f for k, f in fills.items() if (s := other.slot(k)) is not None and s.kind in (*IDENTITY, Kind.CODE)
            }
        if tool is not None and name != tool.name:
            fills = {k: f for k, f in fills.items() if _same_matter(tool, other.slot(k))}
        new[name] = fills
        state.learn(name, fills)
    if tool is not None:
        _share(state, tool, new)
    answer = _answer_to_read_back(state, said, new)
    if answer is not None:
        return answer
    if tool is None and (said.acts & {"change"} or said.correction):
        tool = _settled(state, said, new)
        if tool is not None:
            return _once_more(state, tool, said, new)
    if tool is None and SEARCH in state.tools and said.content and said.intent is Intent.NONE:
        query = state.tools[SEARCH].required[:1]
        return Step(calls=(PlannedCall(SEARCH, {slot.name: text.rstrip(" ,") for slot in query}),))
    if tool is None:
        return _lost(state, said)
    if redo.would_repeat(state, tool, said, requested=requested):
        if said.question and not said.correction and not said.mentions:
            return _lost(state, said)
        return _once_more(state, tool, said, new)
    return pursue(state, tool, said)


def _once_more(state: State, tool: ToolView, said: Utterance, new: dict[str, dict[str, Fill]]) -> Step:
    """A correction, or a value, for what is done already: change it if there is a tool for that, else ask."""
    for other in related(tool, list(state.tools.values())):
        fills = _fills(state, other, said, addressed=True) if "change" in other.acts else {}
        if fills:
            state.learn(other.name, fills)
            return pursue(state, other, said)
    changes = {k: f.value for k, f in redo.revised(state, tool).items()}
    if not changes:
        return Step(say=f"That's already done. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    return Step(say=speak.another(tool, changes), offer=Offer.ANOTHER, offered_tool=tool.name)


def _settled(state: State, said: Utterance, new: dict[str, dict[str, Fill]]) -> ToolView | None:
    """What was done last and would be done again with the values just said."""
    last = next((c for c in reversed(state.calls) if c.output is not None and c.tool in state.spent), None)
    tool = state.tools.get(last.tool) if last is not None else None
    return tool if tool is not None and redo.commits(tool) and new.get(tool.name) else None


def _only(
    state: State, said: Utterance, text: str, new: dict[str, dict[str, Fill]]
) -> tuple[ToolView | None, Utterance]:
    """The one tool that does something, where a wish or a bare value can be for nothing else."""
    doing = [t for t in state.tools.values() if not t.reads and not t.ends_call and not t.fallback and t.required]
    complaint = _for_complaint(state, said, doing)
    if complaint is not None:
        doing = [complaint]
    if len(doing) != 1 or state.goal is not None or (said.question and not said.wants_one):
        return None, said
    tool = doing[0]
    if tool.name in state.spent or said.intent is not Intent.NONE or said.polarity or said.acts & SPECIFIC:
        return None, said
    known = set(tool.vocabulary) | set(content_stems(state.instructions))
    evident = any(w in known or any(len(w) > 4 and w[:4] == k[:4] for k in known) for w in said.content)
    if (said.wish or said.wants_one) and (evident or said.wants_one):
        return tool, said
    if new.get(tool.name) and len(state.tools) == 1:
        return tool, said
    slot = next((s for s in missing(state, tool) if s.kind in (Kind.PLACE, Kind.THING, Kind.NOTE)), None)
    if slot is not None and slot.kind is not Kind.NOTE and is_address(said):
        slot = next((s for s in missing(state, tool) if s.kind is Kind.PLACE), slot)
    elif len(said.tokens) >= 4:
        slot = next((s for s in missing(state, tool) if s.kind is Kind.NOTE), slot)
    if slot is None or not said.content or (len(said.tokens) > 7 and slot.kind is not Kind.NOTE):
        return None, said
    told = {
        Kind.NOTE: complaint is not None or len(said.content) >= 2,
        Kind.PLACE: is_address(said),
        Kind.THING: len(said.tokens) <= 3 and not said.mentions and len(state.tools) == 1,
    }
    if told[slot.kind]:
        state.asked = frozenset({slot.name})
        said = understand(text, state.today, state.asked_kinds(), _open_kinds(state))
        for name, other in state.tools.items():
            new[name] = _fills(state, other, said, addressed=name == tool.name)
        return tool, said
    return None, said


_PROBLEMS = frozenset(stem(word) for word in phrases("names a problem"))
_MATTERS = frozenset(phrases("is the matter"))


def _for_complaint(state: State, said: Utterance, doing: Sequence[ToolView]) -> ToolView | None:
    """The one tool that takes a problem in the caller's words, where what was said sounds like one."""
    if said.question or said.polarity or len(said.tokens) < 4 or not said.content:
        return None
    if _MATTERS.isdisjoint(said.lows) and "report" not in said.acts:
        return None
    taking = [t for t in doing if any(s.kind is Kind.NOTE and s.stems & _PROBLEMS for s in missing(state, t))]
    return taking[0] if len(taking) == 1 else None


def _unsure(tool: ToolView) -> frozenset[Kind]:
    """Names are not guessed at for a tool that takes free words as well: they could be either."""
    free = any(slot.kind in (Kind.THING, Kind.PLACE, Kind.NOTE) and slot.required for slot in tool.slots)
    return frozenset({Kind.PERSON}) if free else frozenset()


def _recent(state: State) -> frozenset[str]:
    """The slots of the goal that the turn before filled, where a bare value can take their place."""
    tool = state.tools.get(state.goal or "")
    if tool is None:
        return frozenset()
    plain = {s.name for s in tool.slots if s.kind in (Kind.DATE, Kind.TIME, Kind.NUMBER, Kind.CODE)}
    recent = {k for k, f in state.values(tool).items() if f.turn == state.turn - 1 and k in plain}
    return frozenset(recent) if len(recent) == 1 else frozenset()


def _share(state: State, tool: ToolView, new: dict[str, dict[str, Fill]]) -> None:
    """Free text belongs to the tool that was spoken of, and to other tools' slots of the same name."""
    for key, fill_ in new[tool.name].items():
        slot = tool.slot(key)
        if slot is None or slot.kind not in (Kind.THING, Kind.PLACE):
            continue
        for other in state.tools.values():
            if other.name != tool.name and other.slot(key) is not None and "change" not in other.acts:
                state.learn(other.name, {key: fill_})


def _open_kinds(state: State) -> frozenset[Kind]:
    """The kinds of value that the goal, or the tool just offered, still lacks."""
    tool = state.tools.get(state.goal or state.offered_tool or "")
    return frozenset(slot.kind for slot in missing(state, tool)) if tool is not None else frozenset()


def _same_matter(tool: ToolView, slot: Slot | None) -> bool:
    """False for a code said to `tool` that another tool's slot would take for a code of its own kind."""
    if slot is None or slot.kind is not Kind.CODE:
        return True
    generic = {"number", "code", "id", "refer"}
    return any(s.kind is Kind.CODE and (s.name_stems & slot.name_stems) - generic for s in tool.slots)


def _fills(state: State, tool: ToolView, said: Utterance, *, addressed: bool) -> dict[str, Fill]:
    at = Situation(
        today=state.today,
        turn=state.turn,
        asked=state.asked,
        offered_times=state.offered_times,
        offered_items=state.offered_items,
        free_asked=bool(state.asked_kinds() & {Kind.PLACE, Kind.THING, Kind.NOTE})
        and Kind.NUMBER not in state.asked_kinds(),
        addressed=addressed,
    )
    return fill(tool, said, state.values(tool), at)


def _conversational(
    state: State, said: Utterance, ranked: Sequence[Match], new: dict[str, dict[str, Fill]]
) -> Step | None:
    """Turns that no tool is needed for; None if it is not such a turn."""
    keep = Step(
        goal=state.goal,
        asked=state.asked,
        read_back=state.read_back,
        offer=state.offer,
        offered_tool=state.offered_tool,
    )
    wanted = bool(ranked) and ranked[0].asked_for and ranked[0].act >= 1.0
    if said.takes_back and (step := _taken_back(state, said, wanted=wanted)) is not None:
        return step
    if state.offer is Offer.ANOTHER and state.offered_tool in state.tools and not wanted:
        tool = state.tools[state.offered_tool]
        if said.consents:
            redo.renew(state, tool)
            return pursue(state, tool, said)
        if said.intent is Intent.FAREWELL and "bye" in " ".join(said.lows):
            redo.keep_as_done(state, tool)
            return farewell(state)
        if said.polarity == "no" and not any(new.values()):
            redo.keep_as_done(state, tool)
            return Step(say=f"No problem, it stays as it is. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    if said.intent is Intent.SMALL_TALK:
        return _again(keep, f"I'm doing well, thank you. {_open_question(state) or 'How can I help you?'}")
    if said.intent is Intent.REPEAT:
        return _again(keep, state.last_said or "How can I help you?")
    if said.intent is Intent.HELP and not wanted:
        open_question = _open_question(state) or "What would you like to do?"
        return _again(keep, f"{speak.capabilities(list(state.tools.values()))} {open_question}")
    if said.intent is Intent.WAIT:
        return _again(keep, "Of course, take your time.")
    if said.intent is Intent.RETRY or (state.offer is Offer.RETRY and said.polarity == "yes" and not said.mentions):
        last = state.last_call
        if last is not None and last.tool in state.tools and not any(new.values()):
            return pursue(state, state.tools[last.tool], said)
    if said.intent is Intent.GREETING and not said.mentions and not wanted:
        return _again(keep, f"Hello! {_open_question(state) or 'How can I help you?'}")
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
        redo.keep_as_done(state, state.tools[state.offered_tool])
    state.closed = state.turn
    state.goal, state.asked, state.read_back = None, frozenset(), None
    state.offer, state.offered_tool = Offer.NOTHING, None
    if (wanted and len(said.tokens) > 5 and said.acts - {"change", "cancel"}) or (said.question and said.mentions):
        return None
    text = "No problem, I've left everything as it is." if was_open else "No problem."
    if _firm(said):
        return farewell(state)
    return Step(say=f"{text} {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)


def _again(keep: Step, text: str) -> Step:
    return Step(
        say=text,
        goal=keep.goal,
        asked=keep.asked,
        read_back=keep.read_back,
        offer=keep.offer,
        offered_tool=keep.offered_tool,
    )


_FIRM = phrases("farewells, firm")


def _firm(said: Utterance) -> bool:
    text = " ".join(said.lows)
    return any(firm in text for firm in _FIRM)


def _is_farewell(state: State, said: Utterance, *, wanted: bool) -> bool:
    text = " ".join(said.lows)
    if state.offer is Offer.ANYTHING_ELSE and said.polarity == "no" and not said.mentions and not wanted:
        return True
    if said.intent is not Intent.FAREWELL or said.mentions or wanted:
        return False
    if said.polarity == "yes" and state.read_back is not None:
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


def _chosen(state: State, said: Utterance, ranked: Sequence[Match], new: dict[str, dict[str, Fill]]) -> ToolView | None:
    """The tool that this turn is about."""
    goal = state.tools.get(state.goal or "")
    if state.offer is Offer.TOOL and state.offered_tool in state.tools and said.consents:
        if not (ranked and ranked[0].act >= 2.0 and ranked[0].tool.name != state.offered_tool):
            return state.tools[state.offered_tool]
    if _takes_offer(state, said, new):
        return state.tools[state.offered_tool or ""]
    best = _best(state, said, ranked, new)
    changing = _instead(state, said, new)
    if changing is not None:
        return changing
    answering = goal is not None and bool(state.asked & new.get(goal.name, {}).keys())
    if best is not None and best.asked_for:
        if goal is None or best.tool is goal:
            return best.tool
        own = next((m for m in ranked if m.tool is goal), None)
        margin = 0.5 if not answering else 1.2
        if answering and best.act < 2.0:
            return goal
        if (
            own is None
            or best.total > own.total + (margin if own.asked_for or answering else 0.0)
            or best.act >= own.act + 1.0
        ):
            if not (said.polarity == "yes" and state.read_back is not None):
                return best.tool
        return goal
    if goal is not None:
        side = _side_question(state, goal, said, new)
        if side is not None:
            return side
        if new.get(goal.name) or said.polarity is not None or not state.asked or _may_be_text(state, goal):
            return goal
        return None
    found = _by_values(state, said, ranked, new) if any(new.values()) else None
    return found or _another(state, said)


def _takes_offer(state: State, said: Utterance, new: dict[str, dict[str, Fill]]) -> bool:
    """True for a value that the tool just offered still lacks: "spin, please"."""
    tool = state.tools.get(state.offered_tool or "")
    if tool is None or state.offer is not Offer.TOOL or said.question or said.polarity == "no" or said.acts & SPECIFIC:
        return False
    lacking = {slot.name for slot in missing(state, tool)}
    return bool(lacking & new.get(tool.name, {}).keys())


def _instead(state: State, said: Utterance, new: dict[str, dict[str, Fill]]) -> ToolView | None:
    """The tool that changes what was settled before: "can I get it on Friday instead"."""
    text = " ".join(said.lows)
    if state.goal is not None or state.read_back is not None or not state.calls or said.acts & SPECIFIC:
        return None
    if not any(word in text for word in ("instead", "another day", "different", "another time", "rather")):
        return None
    last = state.last_call
    if (
        last is not None
        and last.tool in state.tools
        and related(state.tools[last.tool], list(state.tools.values()))
        and state.offered_times
    ):
        return None  # choosing among what was offered
    return next((t for t in state.tools.values() if "change" in t.acts and new.get(t.name)), None)


def _another(state: State, said: Utterance) -> ToolView | None:
    """The last look-up again for another thing: "what about ..."."""
    last = state.last_call
    tool = state.tools.get(last.tool) if last is not None else None
    if (
        tool is None
        or not tool.reads
        or not said.content
        or said.polarity
        or said.acts
        or said.intent is not Intent.NONE
        or any(all(s.kind is not m.kind for s in tool.slots) for m in said.mentions)
    ):
        return None
    about = " ".join(said.lows).startswith(("what about", "how about", "and "))
    free = any(slot.kind in (Kind.THING, Kind.PLACE) and slot.required for slot in tool.slots)
    return tool if free and (about or len(said.tokens) <= 4) and not (said.question and not about) else None


def _best(state: State, said: Utterance, ranked: Sequence[Match], new: dict[str, dict[str, Fill]]) -> Match | None:
    """The best match, where what is known decides between near equals."""
    if not ranked:
        return None

    def ready(m: Match) -> float:
        have = {**state.values(m.tool), **new.get(m.tool.name, {})}
        bonus = 0.4 if m.tool.required and all(s.name in have for s in m.tool.required) else 0.0
        if m.tool.fallback and state.negative:
            bonus += 1.6
        if state.goal == m.tool.name:
            bonus += 0.2
        return m.total + bonus

    return max(ranked, key=ready)


def _may_be_text(state: State, goal: ToolView) -> bool:
    return any((s := goal.slot(name)) is not None and s.kind in (Kind.NOTE,) for name in state.asked)


def _side_question(state: State, goal: ToolView, said: Utterance, new: dict[str, dict[str, Fill]]) -> ToolView | None:
    """A look-up to make again for another value ("what about Wednesday?") while the goal stays."""
    last = state.last_call
    if last is None or last.tool not in state.tools or last.tool == goal.name:
        return None
    tool = state.tools[last.tool]
    if not tool.reads:
        return None
    changed = {k for k, f in new.get(tool.name, {}).items() if last.args.get(k) != f.value}
    text = " ".join(said.lows)
    asks = said.question or said.correction or any(p in text for p in ("what about", "how about", "or "))
    if changed and asks and not (new.get(goal.name, {}).keys() - new.get(tool.name, {}).keys()):
        return tool
    return None


def _by_values(
    state: State, said: Utterance, ranked: Sequence[Match], new: dict[str, dict[str, Fill]]
) -> ToolView | None:
    """Without a request in words, the values said decide: "What about Wednesday?", "The 2 PM one. I'm Jordan Park."."""
    last = state.last_call
    if said.question and said.content and not any(found.words > 0 for found in ranked):
        return None
    best: tuple[float, ToolView] | None = None
    for found in ranked:
        tool = found.tool
        fills = new.get(tool.name, {})
        if not fills or tool.fallback:
            continue
        have = {**state.values(tool), **fills}
        covered = sum(1 for m in said.mentions if any(s.kind is m.kind for s in tool.slots))
        chosen = sum(1 for k in fills if (s := tool.slot(k)) is not None and s.kind in (Kind.CHOICE, Kind.FLAG))
        score = covered + chosen - 1.2 * (len(said.mentions) - covered) + found.words * 0.5 + found.act * 0.5
        if all(s.name in have for s in tool.required):
            score += 0.7
        if last is not None and last.tool == tool.name:
            score += 1.0 if tool.reads or last.is_error or said.correction else 0.3
            if said.question and not tool.reads:
                score -= 0.6
        elif last is not None and last.tool in state.tools and tool in related(state.tools[last.tool], [tool]):
            earlier = {slot.kind for slot in state.tools[last.tool].slots}
            score += 0.8 if any(m.kind not in earlier for m in said.mentions) else 0.1
        if any(s.kind is Kind.PLACE for s in tool.slots) and is_address(said):
            score += 1.0
        if state.asked & fills.keys():
            score += 0.5
        if best is None or score > best[0]:
            best = (score, tool)
    if best is None or (best[0] < 0.9 and not state.asked & new[best[1].name].keys()):
        return None
    if last is None and best[0] < 1.5 and not state.asked & new[best[1].name].keys() and len(ranked) > 1:
        # A bare value before anything was asked for says too little.
        rivals = [m for m in ranked if new.get(m.tool.name) and m.tool is not best[1]]
        if rivals:
            return None
    return best[1]


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
        return _call(tool, args, confirmed=True)
    if said.polarity == "yes":
        return pursue(state, tool, said)
    if said.acts & {"cancel"} - tool.acts:
        return None
    if said.polarity == "no" and tool.acts & {"cancel", "refund"}:
        return Step(say=f"No problem, I've left everything as it is. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    if said.polarity == "no" or said.correction:
        return Step(say="Of course. What should I change?", goal=tool.name, offer=Offer.CHANGE, asked=frozenset(args))
    return None


def _lost(state: State, said: Utterance) -> Step:
    """Not understood: ask again, then say what can be done."""
    tools = list(state.tools.values())
    if said.polarity == "no" and not said.mentions and state.turn > 1:
        return Step(say=f"No problem. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    thanks = len(said.lows) <= 5 and bool({"thanks", "thank", "cheers"} & set(said.lows))
    if said.intent is Intent.FAREWELL or (thanks and not said.mentions):
        return Step(say=f"You're welcome. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    if state.goal is None and not said.question and _has_all(state, said):
        return Step(say=f"Thank you, I have that already. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    keep = Step(
        goal=state.goal,
        asked=state.asked,
        read_back=state.read_back,
        offer=state.offer,
        offered_tool=state.offered_tool,
    )
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
    return Step(
        say=text, goal=keep.goal, asked=keep.asked, read_back=keep.read_back, offer=keep.offer,
        offered_tool=keep.offered_tool, missed=True,
    )  # fmt: skip


def _has_all(state: State, said: Utterance) -> bool:
    """True if all that was said went into a call that was made: the caller repeats it."""
    used = {word for c in state.calls for v in c.args.values() for word in content_stems(str(v))}
    topics = [stem(low) for low in said.lows if not is_stop(low)]
    return bool(topics) and all(topic in used for topic in topics)


# -- working towards a call


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
                keep = slot.name in fresh or slot.kind in (*IDENTITY, Kind.NUMBER)
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
        ):
            values[slot.name] = found
    return values


def _is_general(tool: ToolView, said: Utterance) -> bool:
    """True for a question that names its topic anew ("what classes are there on ..."), unlike "and on Friday?"."""
    anew = said.question and bool(said.acts & tool.acts) and said.lows[:1] not in (["and"], ["or"])
    return anew or any(tool.vocabulary.get(word, 0.0) >= 0.9 for word in said.content)


def _time_of_item(state: State, tool: ToolView, slot: Slot, values: dict[str, Fill]) -> Fill | None:
    """The time that goes with a thing in the last result: "Blue at 6:00 PM" settles when, once Blue was chosen."""
    last = state.last_call
    if last is None or last.is_error or not last.output:
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
    if wanted:
        return _collect(state, tool, wanted, said, goal)
    args = arguments(state, tool, said)
    if tool.gated or gated_by(state.instructions, tool):
        return Step(say=speak.read_back(tool, args), goal=tool.name, read_back=ReadBack(tool.name, canonical(args)))
    done = next((c for c in reversed(state.calls) if c.tool == tool.name and c.output is not None), None)
    if done is not None and done.args == args and not done.is_error:
        renewed = any(f.turn == state.turn for f in values.values()) or (
            said is not None and said.intent is Intent.RETRY
        )
        if done.turn == state.turn or not (tool.reads and renewed):
            repeated = " ".join(results.digest(done.output or "").facts)
            if not tool.reads:
                return Step(say=f"That's already done. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
            return Step(say=repeated or speak.ANYTHING_ELSE, goal=state.goal)
    return Step(calls=(PlannedCall(tool.name, args),), goal=goal)


def _collect(state: State, tool: ToolView, wanted: list[Slot], said: Utterance | None, goal: str) -> Step:
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
    learnt = any(f.turn == state.turn for f in state.values(tool).values())
    again = state.asked == frozenset(s.name for s in pair) and state.goal == tool.name and not learnt

    if again:
        pair = [first]
    text = speak.ask(pair, again=again)
    return Step(
        say=text,
        goal=goal if goal != tool.name and not tool.reads else tool.name,
        asked=frozenset(s.name for s in pair),
        missed=again,
    )


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


def _call(tool: ToolView, args: dict[str, Any], *, confirmed: bool = False) -> Step:
    if confirmed and tool.gate is not None:
        args = {**args, tool.gate.name: True}
    return Step(calls=(PlannedCall(tool.name, args),), goal=tool.name)


# -- results


def answer(state: State, calls: Sequence[Called]) -> Step:
    """Speak about calls that have just returned, and go on."""
    digests = [results.digest(c.output or "", said=c.said) for c in calls]
    if calls and calls[-1].tool == SEARCH and not calls[-1].is_error:
        return _searched(state)
    if calls and all(results.is_running(c.output or "") for c in calls):
        for call in calls:
            state.spent[call.tool] = call.turn
        text = " ".join(part for d in digests for part in (*d.facts, *d.questions))
        return Step(say=text or "I'm working on it.", goal=state.goal if state.goal != calls[-1].tool else None)
    for call, digest in zip(calls, digests, strict=True):
        tool = state.tools.get(call.tool)
        if tool is not None and digest.wants_read_back:
            args = {k: v for k, v in call.args.items() if tool.gate is None or k != tool.gate.name}
            return Step(say=speak.read_back(tool, args), goal=tool.name, read_back=ReadBack(tool.name, canonical(args)))
        if digest.again and tool is not None and not call.is_error:
            return Step(calls=(PlannedCall(call.tool, call.args),), goal=state.goal)
    if any(d.goodbye for d in digests):
        facts = [f for d in digests for f in d.facts]
        return Step(say=" ".join([*facts, speak.GOODBYE]))
    failed = next((k for k, c in enumerate(calls) if c.is_error), None)
    if failed is not None:
        return _failure(state, calls[failed], digests[failed])
    for call, digest in zip(calls, digests, strict=True):
        _settle(state, call, digest)
    said = [*(f for d in digests for f in d.facts), *(r for d in digests for r in d.remarks)]
    ahead = _next(state, calls[-1], digests[-1], spoken=bool(said))
    if ahead.calls:
        # The caller asked for this already; what was found is said when it is done.
        return ahead
    questions = [q for d in digests for q in d.questions]
    if questions:
        helper = _offered_by(state, questions, besides=calls[-1].tool)
        if helper is not None:
            return Step(say=" ".join([*said, *questions]), offer=Offer.TOOL, offered_tool=helper)
        return Step(
            say=" ".join([*said, *questions]),
            goal=ahead.goal if not _is_done(state, calls[-1]) else None,
            asked=_asked_in(state, questions[-1]),
        )
    if any(fact.endswith("?") for fact in said[-1:]):
        return Step(say=" ".join(said), goal=ahead.goal, asked=_asked_in(state, said[-1]))
    return Step(
        say=" ".join([*said, ahead.say]).strip(), goal=ahead.goal, asked=ahead.asked, read_back=ahead.read_back,
        offer=ahead.offer, offered_tool=ahead.offered_tool,
    )  # fmt: skip


def _searched(state: State) -> Step:
    """Tools were searched for: what the caller said is heard again, now with those found."""
    said = understand(state.heard, state.today)
    new = {name: _fills(state, tool, said, addressed=True) for name, tool in state.tools.items()}
    ranked = match([t for t in state.tools.values() if t.name != SEARCH], said, new)
    best = _best(state, said, ranked, new)
    if best is None or not (best.asked_for or best.words > 0.3 or new[best.tool.name]):
        return _lost(state, said)
    state.learn(best.tool.name, new[best.tool.name])
    return pursue(state, best.tool, said)


def deliver(state: State, calls: Sequence[Called]) -> Step:
    """Tell results of background calls that were not told yet; say nothing if all were."""
    fresh = [call for call in calls if untold(call)]
    if not fresh:
        return Step(goal=state.goal, asked=state.asked, read_back=state.read_back, offer=state.offer,
                    offered_tool=state.offered_tool)  # fmt: skip
    return answer(state, fresh)


def untold(call: Called) -> str:
    """What of a result nobody has said yet, as speech."""
    digest = results.digest(call.output or "", said=(*call.said, *call.after))
    if call.is_error and digest.facts:
        return speak.apology(digest.facts)
    return " ".join((*digest.facts, *digest.remarks))


def _settle(state: State, call: Called, digest: results.Digest) -> None:
    """Note what a result offers, and that a request is done."""
    if digest.times:
        state.offered_times = digest.times
    if digest.items:
        state.offered_items = digest.items
    state.negative = digest.negative
    tool = state.tools.get(call.tool)
    if tool is not None and not digest.wants_read_back:
        state.spent[tool.name] = call.turn
        if state.goal == tool.name:
            state.goal = None


def _is_done(state: State, call: Called) -> bool:
    return state.goal is None or state.goal == call.tool


def _next(state: State, call: Called, digest: results.Digest, *, spoken: bool) -> Step:
    """What comes after a result: the goal, a choice among what it offers, or whether there is more to do."""
    waiting, state.suspended = state.tools.get(state.suspended or ""), None
    if waiting is not None and waiting.name != call.tool:
        return pursue(state, waiting)
    goal = state.tools.get(state.goal or "")
    tool = state.tools.get(call.tool)
    if goal is not None and goal.name != call.tool:
        step = pursue(state, goal)
        if (
            digest.times
            and len(digest.times) > 1
            and any((s := goal.slot(n)) and s.kind is Kind.TIME for n in step.asked)
        ):
            rest = [s for n in sorted(step.asked) if (s := goal.slot(n)) is not None and s.kind is not Kind.TIME]
            return Step(
                say=" ".join(
                    ["Which time would you like?", *(f"And {q[:1].lower() + q[1:]}" for q in map(speak.question, rest))]
                ),
                goal=goal.name,
                asked=step.asked,
            )
        return step
    if tool is None or not tool.reads:
        return Step(say=speak.ANYTHING_ELSE, offer=Offer.ANYTHING_ELSE)
    if digest.negative:
        helper = next((t for t in state.tools.values() if t.fallback and t.name != tool.name), None)
        if helper is not None:
            return Step(say="Would you like me to look for alternatives?", offer=Offer.TOOL, offered_tool=helper.name)
        return Step(say=speak.ANYTHING_ELSE, offer=Offer.ANYTHING_ELSE)
    for other in related(tool, list(state.tools.values())):
        if other.acts & {"change", "cancel", "report", "refund", "renew"}:
            continue
        slot = next(
            (
                s
                for s in other.required
                if s.kind in (Kind.TIME, Kind.THING) and s.key not in {x.key for x in tool.slots}
            ),
            None,
        )
        known = state.values(other).get(slot.name) if slot is not None else None
        if (
            slot is not None
            and slot.kind is Kind.TIME
            and known is not None
            and known.turn == state.turn
            and digest.times
        ):
            when = results.speakable(str(known.value))
            if set(moments.times_in(str(known.value))) <= set(digest.times):
                question = f"{when} is free. Shall I go ahead with that?"
                return Step(say=question, offer=Offer.TOOL, offered_tool=other.name)
            return Step(
                say=f"{when} isn't among them, I'm afraid. Would any of those work for you?",
                asked=frozenset({slot.name}),
                offer=Offer.TOOL,
                offered_tool=other.name,
            )
        if slot is not None and (len(digest.times) > 1 or len(digest.items) > 1):
            return Step(
                say="Would any of those work for you?",
                asked=frozenset({slot.name}) if slot.kind is Kind.TIME else frozenset(),
                offer=Offer.TOOL,
                offered_tool=other.name,
            )
    return Step(say=speak.ANYTHING_ELSE, offer=Offer.ANYTHING_ELSE)


def _failure(state: State, call: Called, digest: results.Digest) -> Step:
    """An error in words: what went wrong, what there is instead, and the question that goes on from there."""
    tool = state.tools.get(call.tool)
    text = speak.apology(digest.facts)
    refused = {t for value in call.args.values() for t in moments.times_in(str(value))}
    if offered := tuple(t for t in digest.times if t not in refused):
        state.offered_times = offered
    if digest.items:
        state.offered_items = digest.items
    text = " ".join([text, *digest.remarks])
    if tool is None:
        return Step(say=f"{text} {speak.ANYTHING_ELSE}", goal=state.goal, offer=Offer.ANYTHING_ELSE)
    if digest.retry_later or text == speak.NOT_AVAILABLE:
        question = " ".join(digest.questions) or "Shall I try again?"
        return Step(say=f"{text} {question}", goal=tool.name, offer=Offer.RETRY)
    helper = _offered_by(state, digest.questions, besides=tool.name)
    if helper is not None:
        return Step(say=f"{text} {' '.join(digest.questions)}", offer=Offer.TOOL, offered_tool=helper)
    first = _needed_first(state, tool, digest.questions)
    if first is not None:
        state.suspended = tool.name
        asked = frozenset(s.name for s in missing(state, first))
        return Step(say=f"{text} {' '.join(digest.questions)}", goal=first.name, asked=asked)
    wrong = _wrong(tool, call)
    for slot in wrong:
        state.forget(slot.name)
    asked = frozenset(slot.name for slot in wrong)

    if digest.questions:
        question = " ".join(digest.questions)
    elif len(digest.items) > 1 or len(digest.times) > 1:
        question = "Would any of those work for you?"
    elif wrong:
        question = speak.question(wrong[0])
    else:
        question = "What would you like to do?"
    return Step(say=f"{text} {question}", goal=tool.name, asked=asked)


def _needed_first(state: State, tool: ToolView, questions: Sequence[str]) -> ToolView | None:
    """Another tool that takes all that an error asks for: it has to be called before this one."""
    asked = _asked_in(state, questions[-1]) if questions else frozenset()
    for other in state.tools.values():
        needs = {slot.name for slot in other.required}
        own = asked & {slot.name for slot in tool.required}
        if other.name == tool.name or not needs or not needs <= asked or len(own) >= len(needs):
            continue
        if missing(state, other):
            return other
    return None


def _offered_by(state: State, questions: Sequence[str], *, besides: str) -> str | None:
    """The tool that does what a question offers ("Would you like me to look for another one?")."""
    offers = [q for q in questions if q.startswith("Would you like")]
    if not offers:
        return None
    said = understand(offers[-1], state.today)
    found = [m for m in match(list(state.tools.values()), said, {}) if m.tool.name != besides and m.words >= 0.5]
    return max(found, key=lambda m: m.words).tool.name if found else None


def _wrong(tool: ToolView, call: Called) -> list[Slot]:
    """The slots whose values an error complains about: those it quotes, else those it names."""
    text = results.sentences(call.output or "")[:1]
    first = text[0] if text else ""
    quoted = [
        s
        for s in tool.slots
        if (v := call.args.get(s.name)) is not None and not isinstance(v, bool) and _quotes(first, v)
    ]
    if len(quoted) > 1:
        # "10:00 AM on Tuesday is not available": the time, or the thing, is more likely what is to change.
        order = (Kind.TIME, Kind.CODE, Kind.CHOICE, Kind.THING, Kind.NUMBER, Kind.DATE)
        for kind in order:
            some = [s for s in quoted if s.kind is kind]
            if some:
                return some[:1]
    if quoted:
        return quoted
    stems = set(content_stems(call.output or ""))
    named = [s for s in tool.required if s.name in call.args and (s.name_stems & stems)]
    if named:
        return named[:1]
    if len(tool.required) == 1:
        return list(tool.required)
    codes = [s for s in tool.required if s.kind is Kind.CODE]
    return codes[:1]


def _quotes(text: str, value: Any) -> bool:
    plain = str(value)
    return plain.lower() in text.lower() or results.speakable(plain).lower() in text.lower()


def _asked_in(state: State, text: str) -> frozenset[str]:
    """The slots that a question in somebody else's words is about."""
    last = next((s for s in reversed(results.sentences(text)) if s.endswith("?")), "")
    if not last:
        return frozenset()
    stems = set(content_stems(last)) | {
        w for w in ("name", "time", "date", "day", "email", "phone", "code", "number") if f" {w}" in last.lower()
    }
    found = set()
    for tool in state.tools.values():
        for slot in tool.slots:
            names = {n for n in slot.name_stems if n not in ("full", "of", "the")}
            if (names and names <= stems | {"full"}) or (slot.kind is Kind.PERSON and "name" in stems) or (
                slot.kind is Kind.DATE and stems & {"date", "day"}) or (slot.kind is Kind.TIME and "time" in stems) or (
                slot.kind is Kind.CODE and names & stems):  # fmt: skip
                found.add(slot.name)
    return frozenset(found)


def overheard(state: State, text: str) -> frozenset[str]:
    """The slots that words not planned here (a scripted line, a tool's own speech) ask for."""
    return _asked_in(state, text)


# -- lines that somebody else wants spoken


def follow(state: State, instruction: str) -> Step:
    """Turn an instruction for one reply ("Ask the user to provide their address.") into speech."""
    said: list[str] = []
    asked: frozenset[str] = frozenset()
    goodbye = False
    for sentence in results.sentences(instruction):
        if not results.is_guidance(sentence):
            said.append(results.to_you(results.speakable(sentence)))
            continue
        guide = results.guide(sentence)
        if guide.greet:
            hello = speak.greeting(state.instructions)
            said.append(
                hello
                if not guide.question or guide.question in hello
                else f"{hello.rsplit(' How can', 1)[0]} {guide.question}"
            )
        elif guide.goodbye:
            goodbye = True
        elif guide.anything_else:
            said.append(speak.ANYTHING_ELSE)
        elif guide.question or guide.remark:
            said.append(guide.question or guide.remark)
    if goodbye:
        said.append(speak.GOODBYE)
    text = " ".join(said) or speak.greeting(state.instructions)
    return Step(say=text, goal=state.goal, asked=asked or _asked_in(state, text), read_back=state.read_back)
