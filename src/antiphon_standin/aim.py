"""Which tool a caller's turn is about, given the course of the conversation.

Below: `choose` scores what was said by itself; `fill` finds the values. Here the goal, what was asked, what was offered
and what was done before decide between the candidates. Above: `turns`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from antiphon_standin import redo
from antiphon_standin.choose import Match
from antiphon_standin.fill import fill
from antiphon_standin.known import missing
from antiphon_standin.memory import (
    Called,
    Offer,
    State,
    related,
)
from antiphon_standin.situation import Fill, Situation
from antiphon_standin.slots import SPECIFIC, Slot, ToolView
from antiphon_standin.typed import is_address
from antiphon_standin.understand import Intent, Kind, Utterance, understand
from antiphon_standin.words import content_stems, phrases, stem

SEARCH = "tool_search"
"""The tool that finds further tools: used where no other fits."""


def settled(state: State, said: Utterance, new: dict[str, dict[str, Fill]]) -> ToolView | None:
    """What was done last and would be done again with the values just said."""
    last = next((c for c in reversed(state.calls) if c.output is not None and c.tool in state.spent), None)
    tool = state.tools.get(last.tool) if last is not None else None
    return tool if tool is not None and redo.commits(tool) and new.get(tool.name) else None


def sole(
    state: State, said: Utterance, text: str, new: dict[str, dict[str, Fill]]
) -> tuple[ToolView | None, Utterance, dict[str, dict[str, Fill]]]:
    """The one tool that does something, where a wish or a bare value can be for nothing else; what was said, for it."""
    doing = [t for t in state.tools.values() if not t.reads and not t.ends_call and not t.fallback and t.required]
    complaint = _for_complaint(state, said, doing)
    if complaint is not None:
        doing = [complaint]
    if len(doing) != 1 or state.goal is not None or (said.question and not said.wants_one):
        return None, said, new
    tool = doing[0]
    if tool.name in state.spent or said.intent is not Intent.NONE or said.polarity or said.acts & SPECIFIC:
        return None, said, new
    known = set(tool.vocabulary) | set(content_stems(state.instructions))
    evident = any(w in known or any(len(w) > 4 and w[:4] == k[:4] for k in known) for w in said.content)
    if (said.wish or said.wants_one) and (evident or said.wants_one):
        return tool, said, new
    if new.get(tool.name) and len(state.tools) == 1:
        return tool, said, new
    slot = next((s for s in missing(state, tool) if s.kind in (Kind.PLACE, Kind.THING, Kind.NOTE)), None)
    if slot is not None and slot.kind is not Kind.NOTE and is_address(said):
        slot = next((s for s in missing(state, tool) if s.kind is Kind.PLACE), slot)
    elif len(said.tokens) >= 4:
        slot = next((s for s in missing(state, tool) if s.kind is Kind.NOTE), slot)
    if slot is None or not said.content or (len(said.tokens) > 7 and slot.kind is not Kind.NOTE):
        return None, said, new
    told = {
        Kind.NOTE: complaint is not None or len(said.content) >= 2,
        Kind.PLACE: is_address(said),
        Kind.THING: len(said.tokens) <= 3 and not said.mentions and len(state.tools) == 1,
    }
    if told[slot.kind]:
        state.answers_about({slot.name})
        said = understand(text, state.today, state.asked_kinds(), open_kinds(state))
        new = {name: values_for(state, one, said, addressed=one is tool) for name, one in state.tools.items()}
        return tool, said, new
    return None, said, new


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


def unsure_kinds(tool: ToolView) -> frozenset[Kind]:
    """Names are not guessed at for a tool that takes free words as well: they could be either."""
    free = any(slot.kind in (Kind.THING, Kind.PLACE, Kind.NOTE) and slot.required for slot in tool.slots)
    return frozenset({Kind.PERSON}) if free else frozenset()


def just_given(state: State) -> frozenset[str]:
    """The slots of the goal that the turn before filled, where a bare value can take their place."""
    tool = state.tools.get(state.goal or "")
    if tool is None:
        return frozenset()
    plain = {s.name for s in tool.slots if s.kind in (Kind.DATE, Kind.TIME, Kind.NUMBER, Kind.CODE)}
    recent = {k for k, f in state.values(tool).items() if f.turn == state.turn - 1 and k in plain}
    return frozenset(recent) if len(recent) == 1 else frozenset()


def disputed(state: State) -> Called | None:
    """The call whose values the agent has just read out for the caller to confirm, by another tool's leave."""
    tool = state.tools.get(state.offered_tool or "")
    last = state.last_call
    if state.offer is not Offer.TOOL or tool is None or tool.required or "verify" not in tool.acts:
        return None
    return last if last is not None and last.tool in state.tools and last.tool != tool.name else None


_REFUSED = re.compile(
    r"\b(?:refuses?|declines?|(?:would )?prefers? not|do(?:es)? not (?:want|wish|like) to (?:give|say|share|tell))\b",
    re.I,
)
_WITHHOLDS = re.compile(
    r"\b(?:(?:rather|prefer|prefer to) not\b|(?:don't|do not|won't|will not|not going to|not comfortable)"
    r" (?:want to |like to |wish to |feel like )?(?:giv|say|shar|tell|provid|disclos)\w*"
    r"|(?:don't|do not|haven't) (?:have|got|know|remember) (?:an?|my|any|one|it|the)\b"
    r"|have no \w+$|can't remember|forgot(?:ten)?\b"
    r"|keep (?:that|it|this) (?:private|to myself)|none of your business|skip (?:this|that|it))"
)


_REFUSING = frozenset(
    stem(w)
    for w in (
        "rather prefer give giving say share tell provide disclose have got know remember keep private skip want feel"
        " comfortable go wish forgot forgotten like afraid sorry thank"
    ).split()
)


def as_offered(state: State, text: str) -> str:
    """What was said, with a time that was offered written as one, where the recogniser wrote a number: "1130"."""

    def clock(found: re.Match[str]) -> str:
        hour, minute = int(found[1]), int(found[2])
        offered = any(minute == m and hour % 12 == h % 12 for h, m in state.offered_times)
        return f"{hour}:{found[2]}" if offered and hour < 24 else found[0]

    return re.sub(r"(?<![\w:.,-])(?<!\d )(\d{1,2})\.?(\d{2})(?![\w:,-]|\.\d| \d)", clock, text)


def declining(state: State, said: Utterance) -> ToolView | None:
    """The tool that takes it down that the caller refuses what was asked for, or does not have it."""
    if said.question or any(m.kind not in (Kind.PERSON, Kind.NUMBER) for m in said.mentions):
        return None
    if not _WITHHOLDS.search(" ".join(said.lows)):
        return None
    topics = set(said.content) - _REFUSING
    for tool in state.tools.values():
        if topics and not any(tool.vocabulary.get(word, 0.0) >= 0.9 for word in topics):
            continue  # "I don't have a preference" when a name was asked for
        if not tool.required and _REFUSED.search(f"{tool.name.replace('_', ' ')} {tool.description}"):
            return tool
    return None


def share_words(state: State, tool: ToolView, new: dict[str, dict[str, Fill]]) -> None:
    """Free text belongs to the tool that was spoken of, and to other tools' slots of the same name."""
    for key, fill_ in new[tool.name].items():
        slot = tool.slot(key)
        if slot is None or slot.kind not in (Kind.THING, Kind.PLACE):
            continue
        for other in state.tools.values():
            if other.name != tool.name and other.slot(key) is not None and "change" not in other.acts:
                state.learn(other.name, {key: fill_})


def open_kinds(state: State) -> frozenset[Kind]:
    """The kinds of value that the goal, or the tool just offered, still lacks."""
    tool = state.tools.get(state.goal or state.offered_tool or "")
    return frozenset(slot.kind for slot in missing(state, tool)) if tool is not None else frozenset()


def same_matter(tool: ToolView, slot: Slot | None) -> bool:
    """False for a code said to `tool` that another tool's slot would take for a code of its own kind."""
    if slot is None or slot.kind is not Kind.CODE:
        return True
    generic = {"number", "code", "id", "refer"}
    return any(s.kind is Kind.CODE and (s.name_stems & slot.name_stems) - generic for s in tool.slots)


def values_for(state: State, tool: ToolView, said: Utterance, *, addressed: bool) -> dict[str, Fill]:
    """What was said, as values for the slots of a tool. `addressed`: it was said about this tool."""
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


def chosen_tool(
    state: State, said: Utterance, ranked: Sequence[Match], new: dict[str, dict[str, Fill]]
) -> ToolView | None:
    """The tool that this turn is about."""
    goal = state.tools.get(state.goal or "")
    if state.offer is Offer.TOOL and state.offered_tool in state.tools and said.consents:
        if not (ranked and ranked[0].act >= 2.0 and ranked[0].tool.name != state.offered_tool):
            return state.tools[state.offered_tool]
    if _takes_offer(state, said, new):
        return state.tools[state.offered_tool or ""]
    best = best_match(state, said, ranked, new)
    changing = _instead(state, said, new)
    if changing is not None:
        return changing
    answering = goal is not None and bool(state.asked & new.get(goal.name, {}).keys())
    if best is not None and best.asked_for:
        if goal is None or best.tool is goal:
            return best.tool
        own = next((m for m in ranked if m.tool is goal), None)
        plain = best.words >= 0.9 and _names_deed(said, best.tool)
        margin = 0.5 if plain or not answering else 1.2
        if answering and best.act < 2.0 and not plain:
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


_ASKING = frozenset(
    "please and also but well um uh oh so actually no sorry first now can could would will you i i'd i'll we want need"
    " like to just kindly".split()
)
"""What may come before the verb of a request."""


def _names_deed(said: Utterance, tool: ToolView) -> bool:
    """True for a request that begins with the tool's own verb: "please wash my car" for `wash_car`."""
    head = next((low for low in said.lows if low not in _ASKING), "")
    names = re.split(r"_|-|(?<=[a-z\d])(?=[A-Z])", tool.name)
    return bool(head) and stem(head) == stem(names[0].lower())


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


def best_match(state: State, said: Utterance, ranked: Sequence[Match], new: dict[str, dict[str, Fill]]) -> Match | None:
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
