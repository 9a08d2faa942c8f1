"""The dialogue so far, re-read from the history.

The stand-in keeps nothing between requests: `State` is folded from the items of the request each time, turn by turn,
with `turns` and `reply` deciding at each point as they did then. So the state knows what was asked, what was read back
and heard, what each tool returned. Understanding is cached by text, so re-reading a long call costs little.
"""

from __future__ import annotations

import datetime as dt
import enum
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon.chat import FunctionCallOutput
from antiphon_standin.own_outputs import not_run
from antiphon_standin.results import Digest, is_running
from antiphon_standin.situation import Fill
from antiphon_standin.slots import ToolView
from antiphon_standin.understand import Kind
from antiphon_standin.words import acts_of, tokenize

_RECENT = 6
"""The number of latest calls of which it is kept whether they were told."""


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

    def returned(self, item: FunctionCallOutput) -> None:
        """Its output stands in the history."""
        self.output, self.is_error = item.output, item.is_error or not_run(item.output) is not None

    def spoke(self, words: tuple[str, ...]) -> None:
        """The tool spoke these words while it ran, if nothing was known of its words yet."""
        self.said = self.said or words

    def agent_said(self, text: str) -> None:
        """The agent spoke: about what it returned, if it has."""
        if self.output is not None:
            self.after = (*self.after, text)


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

    def hears(self, text: str) -> None:
        """The caller's next turn begins."""
        self.turn += 1
        self.heard = text

    def says(self, text: str, asking_for: frozenset[str], *, interrupted: bool) -> None:
        """The agent spoke. Where no step planned that, what the words ask for is what it waits for."""
        self.last_said = text
        for call in self.calls[-_RECENT:]:
            call.agent_said(text)
        if self.read_back is not None and not interrupted:
            self.read_back = replace(self.read_back, heard=True)
        if not self.asked and self.read_back is None and self.offer in (Offer.NOTHING, Offer.ANYTHING_ELSE):
            self.asked = asking_for
            if "anything else" in text.lower():
                self.offer = Offer.ANYTHING_ELSE

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

    def answers_about(self, slots: Iterable[str], *, of: str | None = None) -> None:
        """The turn is about these slots although nothing asked for them: `of` the tool that is the goal now."""
        self.asked = frozenset(slots)
        self.goal = of or self.goal

    def take_back(self) -> None:
        """The caller does not want what they asked for: the matter is closed."""
        self.closed = self.turn
        self.goal, self.asked, self.read_back = None, frozenset(), None
        self.offer, self.offered_tool = Offer.NOTHING, None

    def suspend(self, tool: ToolView) -> None:
        """Another tool has to be called before this one."""
        self.suspended = tool.name

    def resume(self) -> ToolView | None:
        """The tool that waited for another one, which is no longer suspended."""
        waiting, self.suspended = self.tools.get(self.suspended or ""), None
        return waiting

    def offers(self, times: tuple[tuple[int, int], ...], items: tuple[str, ...]) -> None:
        """A result names what the caller can choose among; where it names nothing, what was offered still stands."""
        self.offered_times = times or self.offered_times
        self.offered_items = items or self.offered_items

    def works(self, call: Called) -> None:
        """The tool does what it was called for: another request for it starts afresh."""
        self.spent[call.tool] = call.turn

    def settle(self, call: Called, digest: Digest) -> None:
        """Note what a result offers, and that a request is done."""
        self.offers(digest.times, digest.items)
        self.negative = digest.negative
        if call.tool in self.tools and not digest.wants_read_back:
            self.works(call)
            if self.goal == call.tool:
                self.goal = None

    def revised(self, tool: ToolView) -> dict[str, Fill]:
        """The values given since the tool did its work that differ from what it did."""
        done = self._done_by(tool)
        if done is None:
            return {}
        since = self.spent[tool.name]
        return {k: f for k, f in self.values(tool).items() if f.turn > since and done.args.get(k) != f.value}

    def renew(self, tool: ToolView) -> None:
        """The caller wants it once more: as it was done, with what they said since."""
        changes = self.revised(tool)
        self.keep_as_done(tool)
        self.learn(tool.name, changes)
        del self.spent[tool.name]

    def keep_as_done(self, tool: ToolView) -> None:
        """The caller does not want it again: the values are those that the call was made with."""
        done = self._done_by(tool)
        if done is not None:
            self.known[tool.name] = {k: Fill(v, done.turn) for k, v in done.args.items() if tool.slot(k) is not None}
            self.spent[tool.name] = self.turn

    def _done_by(self, tool: ToolView) -> Called | None:
        return next((c for c in reversed(self.calls) if c.tool == tool.name and c.output is not None), None)

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
    for sentence in re.split(r"(?<=[.!?])\s+|\n\s*\n", instructions):
        low = " ".join(sentence.lower().split())
        if not re.search(r"\bread\b.*\bback\b", low):
            continue
        if tool.name.lower() in low or (
            not re.search(r"\w_\w", low) and not tool.reads and bool(tool.acts & acts_of(tokenize(low)))
        ):
            return True
    return False


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
