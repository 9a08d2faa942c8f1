"""Holds dialogues with the agents of trades, and judges them: wrong writes, words that are not so, wishes granted."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon import AgentSession
from antiphon.chat import ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.tools.function import FunctionTool
from antiphon_standin import StandInLLM

from .dialogues import ABSENT, Call
from .test_blind_dialogues import argument_fits
from .trade_dialogues import NOW, Held, Turn
from .trades import Trade

CLAIMS = re.compile(
    r"\b(?:done|all set|taken care of|already|successful(?:ly)?|I'?ve (?!got|no )|I have (?:now )?\w+ed\b|is now"
    r"|has been|have been|was (?:sent|booked|added|closed))\b",
    re.I,
)
"""Words that say that something was done."""
NO_CLAIM = re.compile(r"\bI can [^?!]*?\. What would|I'?ve left everything as it is|it stays as it is", re.I)
"""What the agent can do, and that it did nothing."""
UNABLE = re.compile(
    r"\b(?:can'?t|cannot|can only|not able|unable|don'?t (?:have|know)|do not (?:have|know)|not sure|didn'?t|did not"
    r"|no (?:information|way)|sorry|afraid|nothing|not something)\b|\?",
    re.I,
)
"""Words that say that something cannot be done or is not known, or ask."""
ODD = re.compile(
    r"[{}\[\]_\"]|\b(?:on|at) (?:next|tomorrow|today|this)\b|\bNone\b|\bnull\b|T\d\d:\d\d|\d\d:\d\d:\d\d", re.I
)
"""What nobody says aloud."""


@dataclass(slots=True)
class Made:
    """A call that was made, and whether its tool took it."""

    tool: str
    arguments: dict[str, Any]
    output: str = ""
    failed: bool = False

    def __str__(self) -> str:
        return f"{self.tool}({', '.join(f'{k}={v!r}' for k, v in self.arguments.items())})"


@dataclass(slots=True)
class Verdict:
    """What was right and wrong in dialogues."""

    units: int = 0
    right: int = 0
    wrong_writes: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def add(self, other: Verdict) -> None:
        self.units += other.units
        self.right += other.right
        for name in ("wrong_writes", "untrue", "odd", "silent", "missed", "log"):
            getattr(self, name).extend(getattr(other, name))

    @property
    def faults(self) -> list[str]:
        """What must never be."""
        return (
            [f"wrong write: {line}" for line in self.wrong_writes]
            + [f"not so: {line}" for line in self.untrue]
            + [f"nothing to say aloud: {line}" for line in self.odd]
            + [f"does not say that it cannot: {line}" for line in self.silent]
        )

    def __str__(self) -> str:
        return (
            f"{self.right} of {self.units} right, {len(self.wrong_writes)} wrong writes, {len(self.untrue)} untrue,"
            f" {len(self.odd)} odd, {len(self.silent)} silent"
        )


def defaults_of(tools: Iterable[Any]) -> dict[str, dict[str, object]]:
    """For each tool, the parameters that may be left out, with what they are then."""
    found: dict[str, dict[str, object]] = {}
    for tool in tools:
        if isinstance(tool, FunctionTool):
            parameters = inspect.signature(tool.function).parameters.values()
            found[tool.id] = {
                p.name: getattr(p.default, "value", p.default) for p in parameters if p.default is not p.empty
            }
    return found


def fits(expected: Call, made: Made, defaults: dict[str, object]) -> bool:
    """Whether a call is the one expected; what is left out counts as its default."""
    if expected.tool != made.tool:
        return False
    given = {key: value for key, value in made.arguments.items() if defaults.get(key, ABSENT) != value}
    wanted = expected.arguments
    return given.keys() <= wanted.keys() and all(
        _fits(value, given.get(key, ABSENT)) or (key in made.arguments and _fits(value, made.arguments[key]))
        for key, value in wanted.items()
    )


def _fits(expected: Any, given: object) -> bool:
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return isinstance(given, int | float) and not isinstance(given, bool) and expected == given
    if type(expected).__module__ == "tests.standin.trade_dialogues":
        return bool(expected == given)
    return argument_fits(expected, given)


def judge(
    trade: Trade, turn: Turn, made: Sequence[Made], said: str, owed: list[Call], defaults: dict[str, dict[str, object]]
) -> Verdict:
    """Judge a turn. `owed` are calls that earlier turns asked for and that were not made; those made late leave it."""
    verdict = Verdict(units=1)
    left = list(made)
    granted = True
    late: list[Call] = []
    for expected in turn.calls:
        found = next((m for m in left if fits(expected, m, defaults.get(m.tool, {}))), None)
        if found is not None:
            left.remove(found)
        elif expected.tool not in trade.writes and turn.says and any(word in said.casefold() for word in turn.says):
            continue  # looked up before, and told again
        elif not expected.optional:
            granted = False
            late.append(expected)
            verdict.missed.append(f"{expected.tool}({dict(expected.arguments)})")
    for call in list(left):
        was_owed = next((o for o in owed if fits(o, call, defaults.get(call.tool, {}))), None)
        if was_owed is not None:
            owed.remove(was_owed)
            left.remove(call)
    owed += late
    writes = [m for m in made if m.tool in trade.writes and not m.failed]
    verdict.wrong_writes += [str(m) for m in left if m.tool in trade.writes]
    outputs = " ".join(m.output for m in made)
    claimed = [word for word in CLAIMS.findall(NO_CLAIM.sub("", said)) if word.casefold() not in outputs.casefold()]
    if claimed and not writes:
        verdict.untrue.append(f"{claimed}")
    verdict.odd += [found.group() for found in ODD.finditer(said)]
    verdict.odd += [number for number in trade.unspoken if number in said]
    if (turn.unable or not granted) and not UNABLE.search(said):
        verdict.silent.append("no words of it")
    spoken = not turn.says or any(word in said.casefold() for word in turn.says)
    if granted and not spoken:
        verdict.missed.append(f"does not say {'|'.join(turn.says)}")
    verdict.right = int(granted and spoken and not left and not verdict.faults)
    return verdict


async def hold(trade: Trade, dialogue: Held) -> Verdict:
    """Hold a dialogue with a new session, in text."""
    agent = trade.agent()
    defaults = defaults_of(agent.tools)
    session = AgentSession(llm=StandInLLM(now=lambda: NOW), max_tool_steps=5)
    await session.start(agent)
    total = Verdict(log=[f"== {trade.name}: {dialogue.name}"])
    owed: list[Call] = []
    seen = len(session.history.items)
    for turn in dialogue.turns:
        await session.run(user_input=turn.caller)
        items = session.history.items[seen:]
        seen += len(items)
        made = {i.call_id: Made(i.name, json.loads(i.arguments)) for i in items if isinstance(i, FunctionCall)}
        for item in items:
            if isinstance(item, FunctionCallOutput) and item.call_id in made:
                made[item.call_id].output, made[item.call_id].failed = str(item.output), item.is_error
        said = " ".join(i.text_content or "" for i in items if isinstance(i, ChatMessage) and i.role == "assistant")
        verdict = judge(trade, turn, list(made.values()), said, owed, defaults)
        where = f"{trade.name}, {dialogue.name}: {turn.caller!r} -> {said!r}"
        for name in ("wrong_writes", "untrue", "odd", "silent", "missed"):
            setattr(verdict, name, [f"{where}: {fault}" for fault in getattr(verdict, name)])
        mark = " " if verdict.right else "x"
        verdict.log += [
            f"{mark} C: {turn.caller}",
            *(f"     {m}{' FAILED' if m.failed else ''}" for m in made.values()),
        ]
        verdict.log.append(f"    A: {said}")
        total.add(verdict)
    await session.aclose()
    return total
