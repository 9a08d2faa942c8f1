"""What to say about results, and about lines that somebody else wants spoken.

Below: `results` (a result taken apart), `pursue`, `known`, `aim`, `turns`. Above: `replay`, which calls these at the
moments that the history shows.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

from antiphon_standin import moments, results, speak, turns
from antiphon_standin.aim import SEARCH, best_match, values_for
from antiphon_standin.choose import match
from antiphon_standin.courtesies import lost
from antiphon_standin.known import missing
from antiphon_standin.memory import (
    Called,
    Offer,
    PlannedCall,
    ReadBack,
    State,
    Step,
    canonical,
    related,
)
from antiphon_standin.own_outputs import NotRun, not_run
from antiphon_standin.pursue import pursue
from antiphon_standin.slots import Slot, ToolView
from antiphon_standin.understand import Kind, understand
from antiphon_standin.words import content_stems


def answer(state: State, calls: Sequence[Called]) -> Step:
    """Speak about calls that have just returned, and go on."""
    digests = [results.digest(c.output or "", said=c.said) for c in calls]
    if calls and calls[-1].tool == SEARCH and not calls[-1].is_error:
        return _searched(state)
    twin = next((c for c in calls if c.tool in state.tools and results.is_duplicate(c.output or "")), None)
    if twin is not None and state.tools[twin.tool].second_run is not None:
        question = "I'm still working on that. Shall I run it a second time?"
        return Step(say=question, offer=Offer.SECOND_RUN, offered_tool=twin.tool)
    if calls and all(results.is_running(c.output or "") for c in calls):
        for call in calls:
            state.works(call)
        text = " ".join(part for d in digests for part in (*d.facts, *d.questions))
        return Step(say=text or "I'm working on it.", goal=state.goal if state.goal != calls[-1].tool else None)
    if calls and (why := not_run(calls[-1].output or "")) is not None:
        return _not_run(state, calls[-1], why)
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
        state.settle(call, digest)
    said = [*(f for d in digests for f in d.facts), *(r for d in digests for r in d.remarks)]
    ahead = _next(state, calls[-1], digests[-1])
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
            asked=asked_in(state, questions[-1]),
        )
    if any(fact.endswith("?") for fact in said[-1:]):
        return Step(say=" ".join(said), goal=ahead.goal, asked=asked_in(state, said[-1]))
    return Step(
        say=" ".join([*said, ahead.say]).strip(), goal=ahead.goal, asked=ahead.asked, read_back=ahead.read_back,
        offer=ahead.offer, offered_tool=ahead.offered_tool,
    )  # fmt: skip


def _not_run(state: State, call: Called, why: NotRun) -> Step:
    """On from a call that was read back and not agreed to: nothing was done."""
    tool = state.tools.get(call.tool)
    if why.over or tool is None:
        return Step()
    if why.refused:
        state.take_back()
        return Step(say=f"No problem, I've left everything as it is. {speak.ANYTHING_ELSE}", offer=Offer.ANYTHING_ELSE)
    state.goal = tool.name
    if why.changed:
        state.answers_about(call.args, of=tool.name)
        step = turns.hear_again(state)
        if step.calls and step.calls[0].tool == tool.name and step.calls[0].args == call.args:
            return Step(say="Of course. What should I change?", goal=tool.name, asked=frozenset(call.args))
        return step
    if why.asked:
        step = turns.hear_again(state)
        if step.calls or not step.missed:
            return step
        return Step(say="I'm afraid I can't tell you that. Shall I go ahead?", goal=tool.name, offer=Offer.RETRY)
    return Step(say="I have not done that yet. Shall I?", goal=tool.name, offer=Offer.RETRY)


def begin(state: State, *, taken_over: bool) -> Step:
    """An agent's own beginning: on with what the caller wants, or, with the call `taken_over`, what it is to find out.

    Else it greets, unless it has spoken before.
    """
    goal = state.tools.get(state.goal or "") or (_to_collect(state) if taken_over else None)
    wanted = [slot for slot in missing(state, goal) if not slot.unasked] if goal is not None else []
    if goal is not None and wanted:
        return Step(say=speak.ask(wanted[:1]), goal=goal.name, asked=frozenset({wanted[0].name}))
    if taken_over and (asks := _ASKS_FOR.search(state.instructions)) is not None:
        text = results.guide(f"Ask {asks[1]}").question
        return Step(say=text, goal=state.goal, asked=asked_in(state, text))
    if taken_over or state.turn == 0:
        return Step(say=speak.greeting(state.instructions), goal=state.goal)
    return Step(say=speak.ANYTHING_ELSE, goal=state.goal, offer=Offer.ANYTHING_ELSE)


def _to_collect(state: State) -> ToolView | None:
    """The next of an agent's tools that each take down one thing of the caller ("update_name"), if it has several."""
    several = [tool for tool in state.tools.values() if _collects(tool)]
    if len(several) < 2:
        return None
    return next((tool for tool in several if tool.name not in state.spent), None)


def _collects(tool: ToolView) -> bool:
    named = re.match(r"(?:update|set|record|note|save|store|collect|capture)(?:_|[A-Z])", tool.name)
    return named is not None and len(tool.required) == 1 and tool.required[0].kind in _COLLECTED


_ASKS_FOR = re.compile(r"\bask ((?:the (?:user|caller|customer|guest) )?for [^.,;\n]+)", re.I)
"""Where an agent's instructions say what it finds out first."""
_HANDING_OVER = re.compile(r"(?:transferring|connecting|handing|routing|putting|forwarding) ", re.I)
_COLLECTED = frozenset({Kind.DATE, Kind.TIME, Kind.NUMBER, Kind.PERSON, Kind.EMAIL, Kind.PHONE, Kind.PLACE})


def _searched(state: State) -> Step:
    """Tools were searched for: what the caller said is heard again, now with those found."""
    said = understand(state.heard, state.today)
    new = {name: values_for(state, tool, said, addressed=True) for name, tool in state.tools.items()}
    ranked = match([t for t in state.tools.values() if t.name != SEARCH], said, new)
    best = best_match(state, said, ranked, new)
    if best is None or not (best.asked_for or best.words > 0.3 or new[best.tool.name]):
        return lost(state, said)
    state.learn(best.tool.name, new[best.tool.name])
    return pursue(state, best.tool, said)


def deliver(state: State, calls: Sequence[Called]) -> Step:
    """Tell results of background calls that were not told yet; say nothing if all were."""
    fresh = [call for call in calls if untold(call)]
    if not fresh:
        return state.stays()
    return answer(state, fresh)


def untold(call: Called) -> str:
    """What of a result nobody has said yet, as speech."""
    digest = results.digest(call.output or "", said=(*call.said, *call.after))
    if call.is_error and digest.facts:
        return speak.apology(digest.facts)
    return " ".join((*digest.facts, *digest.remarks))


def _is_done(state: State, call: Called) -> bool:
    return state.goal is None or state.goal == call.tool


def _next(state: State, call: Called, digest: results.Digest) -> Step:
    """What comes after a result: the goal, a choice among what it offers, or whether there is more to do."""
    waiting = state.resume()
    if waiting is not None and waiting.name != call.tool:
        return pursue(state, waiting)
    goal = state.tools.get(state.goal or "")
    if goal is not None and goal.name != call.tool:
        return _towards(state, goal, digest)
    if digest.facts and _HANDING_OVER.match(digest.facts[0]):
        return Step()  # whoever takes over asks
    tool = state.tools.get(call.tool)
    following = _to_collect(state) if tool is not None and _collects(tool) else None
    if following is not None and (wanted := missing(state, following)):
        return Step(say=speak.ask(wanted), goal=following.name, asked=frozenset(s.name for s in wanted))
    if tool is not None and tool.reads and digest.negative:
        helper = next((t for t in state.tools.values() if t.fallback and t.name != tool.name), None)
        if helper is not None:
            return Step(say="Would you like me to look for alternatives?", offer=Offer.TOOL, offered_tool=helper.name)
    elif tool is not None and tool.reads:
        for other in related(tool, list(state.tools.values())):
            step = _choice(state, tool, other, digest)
            if step is not None:
                return step
    return Step(say=speak.ANYTHING_ELSE, offer=Offer.ANYTHING_ELSE)


def _towards(state: State, goal: ToolView, digest: results.Digest) -> Step:
    """On with the goal; where a result has just named times, the question is which of them."""
    step = pursue(state, goal)
    slots = [s for n in sorted(step.asked) if (s := goal.slot(n)) is not None]
    rest = [s for s in slots if s.kind is not Kind.TIME]
    if len(digest.times) < 2 or len(rest) == len(slots):
        return step
    questions = [f"And {q[:1].lower() + q[1:]}" for q in map(speak.question, rest)]
    return Step(say=" ".join(["Which time would you like?", *questions]), goal=goal.name, asked=step.asked)


def _choice(state: State, tool: ToolView, other: ToolView, digest: results.Digest) -> Step | None:
    """Whether the caller wants one of what was found, for another tool to use; None if there is no choice."""
    if other.acts & {"change", "cancel", "report", "refund", "renew"}:
        return None
    own = {slot.key for slot in tool.slots}
    slot = next((s for s in other.required if s.kind in (Kind.TIME, Kind.THING) and s.key not in own), None)
    if slot is None:
        return None
    known = state.values(other).get(slot.name)
    if slot.kind is Kind.TIME and known is not None and known.turn == state.turn and digest.times:
        when = results.speakable(str(known.value))
        if set(moments.times_in(str(known.value))) <= set(digest.times):
            question = f"{when} is free. Shall I go ahead with that?"
            return Step(say=question, offer=Offer.TOOL, offered_tool=other.name)
        question, asks = f"{when} isn't among them, I'm afraid. Would any of those work for you?", True
    elif len(digest.times) > 1 or len(digest.items) > 1:
        question, asks = "Would any of those work for you?", slot.kind is Kind.TIME
    else:
        return None
    asked = frozenset({slot.name}) if asks else frozenset()
    return Step(say=question, asked=asked, offer=Offer.TOOL, offered_tool=other.name)


def _failure(state: State, call: Called, digest: results.Digest) -> Step:
    """An error in words: what went wrong, what there is instead, and the question that goes on from there."""
    tool = state.tools.get(call.tool)
    text = speak.apology(digest.facts)
    refused = {t for value in call.args.values() for t in moments.times_in(str(value))}
    state.offers(tuple(t for t in digest.times if t not in refused), digest.items)
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
        state.suspend(tool)
        asked = frozenset(s.name for s in missing(state, first))
        return Step(say=f"{text} {' '.join(digest.questions)}", goal=first.name, asked=asked)
    wrong = _wrong(tool, call, state.today)
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
    asked = asked_in(state, questions[-1]) if questions else frozenset()
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


def _wrong(tool: ToolView, call: Called, today: dt.date) -> list[Slot]:
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
    spoken = {m.kind for m in understand(first, today).mentions} & {Kind.TIME, Kind.DATE, Kind.NUMBER}
    alike_in_kind = [s for s in tool.required if s.name in call.args and s.kind in spoken]
    if alike_in_kind:
        return alike_in_kind[:1]
    if len(tool.required) == 1:
        return list(tool.required)
    codes = [s for s in tool.required if s.kind is Kind.CODE]
    return codes[:1]


def _quotes(text: str, value: Any) -> bool:
    plain = str(value)
    return plain.lower() in text.lower() or results.speakable(plain).lower() in text.lower()


def asked_in(state: State, text: str) -> frozenset[str]:
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
    return Step(say=text, goal=state.goal, asked=asked or asked_in(state, text), read_back=state.read_back)
