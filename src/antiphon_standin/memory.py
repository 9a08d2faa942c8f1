"""The dialogue so far, re-read from the history.

The stand-in keeps nothing between requests: `State` is folded from the items of the request each time, turn by turn,
with `turns` and `reply` deciding at each point as they did then. So the state knows what was asked, what was read back
and heard, what each tool returned. Understanding is cached by text, so re-reading a long call costs little.
"""

from __future__ import annotations

import datetime as dt
import enum
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon_standin.results import is_running
from antiphon_standin.situation import Fill
from antiphon_standin.slots import ToolView
from antiphon_standin.understand import Kind


class Offer(enum.Enum):
    """What the agent's last words left open, besides slots."""

    NOTHING = "nothing"
    ANYTHING_ELSE = "anything else"
    """Asked whether there is more to do: "no" ends the call."""
    RETRY = "retry"
    """Offered to make the last call again."""
    TOOL = "tool"
    """Offered to use a tool (`State.offered_tool`)."""
    ANOTHER = "another"
    """Asked whether to do once more what is done already (`State.offered_tool`)."""
    SECOND_RUN = "second run"
    """Asked whether to make the last call beside the one that runs already (`State.offered_tool`)."""
    CHANGE = "change"
    """Asked what to change in what was read back."""


@dataclass(slots=True)
class Called:
    """A call in the history."""

    tool: str
    args: dict[str, Any]
    turn: int
    output: str | None = None
    """None while it runs."""
    is_error: bool = False
    said: tuple[str, ...] = ()
    """What the tool itself spoke while it ran."""
    call_id: str = ""
    after: tuple[str, ...] = ()
    """What the agent said since it returned."""


@dataclass(slots=True, frozen=True)
class ReadBack:
    """Details that were read back."""

    tool: str
    args: str
    """As canonical JSON, so that any change shows."""
    heard: bool = False


@dataclass(slots=True, frozen=True)
class PlannedCall:
    """A call to make."""

    tool: str
    args: dict[str, Any]


@dataclass(slots=True, frozen=True)
class Step:
    """What to do now: say something, or call."""

    say: str = ""
    calls: tuple[PlannedCall, ...] = ()
    goal: str | None = None
    """The tool that the conversation is working towards afterwards."""
    asked: frozenset[str] = frozenset()
    """The slots that `say` asks for."""
    read_back: ReadBack | None = None
    offer: Offer = Offer.NOTHING
    offered_tool: str | None = None
    missed: bool = False
    """True if the caller was not understood."""


@dataclass(slots=True)
class State:
    """All that a plan needs to know."""

    tools: dict[str, ToolView]
    instructions: str
    today: dt.date
    turn: int = 0
    """The number of the caller's turn, from 1."""
    known: dict[str, dict[str, Fill]] = field(default_factory=dict)
    """By tool and slot: the latest value."""
    goal: str | None = None
    suspended: str | None = None
    """The tool to go back to once the goal, which has to come first, is done."""
    asked: frozenset[str] = frozenset()
    read_back: ReadBack | None = None
    offer: Offer = Offer.NOTHING
    offered_tool: str | None = None
    calls: list[Called] = field(default_factory=list)
    spent: dict[str, int] = field(default_factory=dict)
    """By tool: the turn in which it last did its work, so that a new request starts afresh."""
    closed: int = 0
    """The turn in which the caller last took a request back."""
    heard: str = ""
    """The caller's last turn."""
    last_said: str = ""
    misses: int = 0
    offered_times: tuple[tuple[int, int], ...] = ()
    offered_items: tuple[str, ...] = ()
    negative: bool = False
    """The last result said that there is nothing."""

    def stays(self) -> Step:
        """A step that changes nothing: what was asked, read back and offered still stands."""
        return Step(
            goal=self.goal,
            asked=self.asked,
            read_back=self.read_back,
            offer=self.offer,
            offered_tool=self.offered_tool,
        )

    def asked_kinds(self) -> frozenset[Kind]:
        """The kinds of value that the last question was about."""
        return frozenset(slot.kind for tool in self.tools.values() for slot in tool.slots if slot.name in self.asked)

    def values(self, tool: ToolView) -> dict[str, Fill]:
        """What is known of a tool's slots."""
        return self.known.get(tool.name, {})

    def learn(self, tool: str, fills: dict[str, Fill]) -> None:
        """Keep newer values."""
        self.known.setdefault(tool, {}).update(fills)

    def forget(self, slot: str) -> None:
        """A value turned out to be wrong: no tool may use it again."""
        for values in self.known.values():
            values.pop(slot, None)

    def adopt(self, step: Step) -> None:
        """Go on as the step says, once it is done."""
        self.goal = step.goal
        self.asked = step.asked
        self.read_back = step.read_back
        self.offer = step.offer
        self.offered_tool = step.offered_tool
        self.misses = self.misses + 1 if step.missed else 0

    def running(self) -> list[Called]:
        """The calls that have only reported progress so far."""
        ended = {c.call_id.partition("/")[0] for c in self.calls if c.output and not is_running(c.output)}
        return [c for c in self.calls if c.output and is_running(c.output) and c.call_id not in ended]

    @property
    def last_call(self) -> Called | None:
        """The latest call that has returned."""
        return next((call for call in reversed(self.calls) if call.output is not None), None)


def canonical(args: dict[str, Any]) -> str:
    """Arguments as JSON with sorted keys."""
    return json.dumps(args, sort_keys=True, default=str)


def gated_by(instructions: str, tool: ToolView) -> bool:
    """True if the agent's instructions want the details read back before this tool is called."""
    import re

    for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n", instructions):
        low = " ".join(sentence.lower().split())
        if not re.search(r"\bread\b.*\bback\b", low):
            continue
        if tool.name.lower() in low or (
            not re.search(r"\w_\w", low) and not tool.reads and bool(tool.acts & _acts(low))
        ):
            return True
    return False


def _acts(text: str) -> frozenset[str]:
    from antiphon_standin.words import acts_of, tokenize

    return acts_of(tokenize(text))


def related(tool: ToolView, tools: Sequence[ToolView]) -> list[ToolView]:
    """The tools that act on what `tool` looks up: those that write and share a slot of the matter with it."""
    keys = {slot.key for slot in tool.slots if slot.kind not in (Kind.PERSON, Kind.EMAIL, Kind.PHONE)}
    kinds = {slot.kind for slot in tool.slots if slot.kind is Kind.DATE}
    return [
        other
        for other in tools
        if other.name != tool.name and not other.reads and (
            any(slot.key in keys for slot in other.slots) or (kinds and any(slot.kind in kinds for slot in other.slots))
        )
    ]  # fmt: skip
