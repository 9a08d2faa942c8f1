"""Replies that are not over, and what they are made of, as they are measured.

Above: the meter, which sees what happens to them. Below: the metrics that come of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from antiphon.core.notices import ToolOutcome
from antiphon.metrics import Origin, ResponseMetrics, Stretch, ToolMetrics
from antiphon.runtime.sounds import SHORTEST_SILENCE


@dataclass(slots=True)
class MeasuredTurn:
    """A turn that the caller took."""

    number: int
    origin: Origin
    decided: float
    speech_ended: float | None
    transcribed: float | None
    hooked: bool = True
    """The agent it was said to has an `on_user_turn_completed` of its own."""
    hook: float | None = None
    answered: bool = False
    """A reply to it was begun."""

    def is_answered(self) -> None:
        """A reply to it was begun."""
        self.answered = True

    def committed(self, now: float) -> None:
        """The hook, if there is one, has returned."""
        if self.hooked:
            self.hook = now - self.decided


@dataclass(slots=True)
class MeasuredResponse:
    """What a model, or a text, gave to a reply."""

    metrics: ResponseMetrics
    segment: int
    reply: MeasuredReply | None = None
    """None while it is made ahead, and nobody knows for what."""

    def joined(self, reply: MeasuredReply, *, filler: bool) -> None:
        """It is known what it is for."""
        self.reply = reply
        if filler:
            self.update(filler=True)

    def update(self, **changes: object) -> None:
        """More is known of it."""
        self.metrics = replace(self.metrics, **changes)  # type: ignore[arg-type]  # fields by name


@dataclass(slots=True)
class MeasuredTool:
    """A run of a tool for a reply."""

    metrics: ToolMetrics
    reply: MeasuredReply

    def ended(self, status: ToolOutcome, now: float) -> None:
        """It has come to its end."""
        self.metrics = replace(self.metrics, ended=now, status=status)


@dataclass(slots=True, eq=False)
class MeasuredReply:
    """A reply that is not over."""

    speech: int | None
    """None: only a filler was said for it so far."""
    origin: Origin
    turn: MeasuredTurn | None
    """The turn that it answers."""
    turns: int
    """Turns so far."""
    asked: float
    gens: list[int] = field(default_factory=list)
    tools: list[MeasuredTool] = field(default_factory=list)
    sound: list[Stretch] = field(default_factory=list)
    called: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By call id: the tool that the model called, and when."""
    rounds: int = 0
    max_tool_steps_reached: bool = False
    interrupted_at: float | None = None
    is_asking: bool = False
    """A call of it is read back to the caller."""

    def asks(self) -> None:
        """A call of it is read back."""
        self.is_asking = True

    def heard_until(self, now: float) -> float:
        """When it was over, if it is over now, and nobody waited for it since it was heard."""
        return self.sound[-1].ended if self.sound else now

    def goes_on(self, turn: MeasuredTurn | None, turns: int, now: float) -> MeasuredReply:
        """What follows the caller's answer, or none, to what it asked."""
        origin = "application" if turn is None else turn.origin
        return MeasuredReply(self.speech, origin, turn, turns, now, called=self.called)

    def answers(self, turn: MeasuredTurn, speech: int, turns: int) -> None:
        """Fillers were said for it before the model could be asked."""
        self.speech, self.origin, self.turn, self.turns = speech, turn.origin, turn, turns

    def made(self, gen: int) -> None:
        """A response belongs to it."""
        self.gens.append(gen)

    def calls(self, call_id: str, name: str, now: float) -> None:
        """The model called a tool."""
        self.called[call_id] = (name, now)

    def sounded(self, heard: Stretch) -> None:
        """It was heard, so long."""
        if self.sound and heard.started - self.sound[-1].ended < SHORTEST_SILENCE:
            heard = Stretch(self.sound.pop().started, heard.ended)
        self.sound.append(heard)

    def runs(self, tool: MeasuredTool) -> None:
        """A tool runs for it."""
        self.tools.append(tool)

    def round_over(self, call_ids: Iterable[str]) -> None:
        """The results of these calls are in. Those that never ran were refused."""
        self.rounds += 1
        known = {tool.metrics.call_id for tool in self.tools}
        for call_id in call_ids:
            name, called = self.called.get(call_id, ("", 0.0))
            if name and call_id not in known:
                self.tools.append(MeasuredTool(ToolMetrics(name, call_id, called, called, "refused"), self))

    def used_up_its_steps(self) -> None:
        """It may have no more rounds."""
        self.max_tool_steps_reached = True

    def interrupted(self, now: float) -> None:
        """The caller spoke over it."""
        self.interrupted_at = now

    @property
    def waiting_since(self) -> float:
        """When the caller began to wait for it."""
        if self.turn is None:
            return self.asked
        return self.turn.decided if self.turn.speech_ended is None else self.turn.speech_ended
