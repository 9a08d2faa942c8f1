"""One agent speech and its steps: data that the rules move along.

    WAITING --may begin--> GENERATING --no calls--> SPEAKING --nothing left on the line--> DONE
    HELD (made ahead) --released--> GENERATING      HELD --discarded--> DONE
                           GENERATING --calls, all closed--> GENERATING | SPEAKING
    any --interrupted--> SPEAKING, interrupted

A speech is what a handle stands for: a `say()`, a reply with all its rounds of tools, a delivery of results. A step
is one model response (or one text to say) with the calls it made.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from antiphon.chat import ImageContent
from antiphon.core.facts import Call, Handoff
from antiphon.core.history import Note
from antiphon.options import ToolChoice, ToolPolicy

if TYPE_CHECKING:
    from antiphon.core.floor import Frame
    from antiphon.core.line import Segment
    from antiphon.core.runs import Run


class Kind(enum.Enum):
    """Why a speech exists."""

    SAY = enum.auto()
    """Text that the application gave."""
    REPLY = enum.auto()
    """A model's answer: to the caller, or because the application asked for one."""
    DELIVERY = enum.auto()
    """Results from the background, told unasked."""
    FILLER = enum.auto()
    """A line that bridges a wait: said before anything else that waits, ended at a word by anything better."""


class Stage(enum.Enum):
    """How far a speech is."""

    WAITING = enum.auto()
    """Not begun: its turn has not come."""
    HELD = enum.auto()
    """Made ahead, before it is known to be wanted: nothing of it is played, run or told."""
    GENERATING = enum.auto()
    """A model (or a synthesis) is at work on a step."""
    TOOLS = enum.auto()
    """The step is written; its calls are not all closed."""
    SPEAKING = enum.auto()
    """Nothing more will be generated; what is on the line still sounds."""
    DONE = enum.auto()


class Gate(enum.Enum):
    """How far a call is."""

    WAITING = enum.auto()
    """It may not run yet: calls before it come first."""
    RUNNING = enum.auto()
    CLOSED = enum.auto()
    """Its output is known."""
    DROPPED = enum.auto()
    """The caller spoke over it; it leaves no trace."""


@dataclass(slots=True)
class OpenCall:
    """A call of the step at hand."""

    call: Call
    policy: ToolPolicy
    gate: Gate = Gate.WAITING
    run: Run | None = None
    output: str = ""
    is_error: bool = False
    reply: bool = True
    """The model is to answer this output."""
    update: bool = False
    """The output is progress; the tool goes on in the background."""
    handoff: Handoff | None = None
    images: tuple[ImageContent, ...] = ()
    note: Note | None = None
    """The call and its output, as the history has them."""

    @property
    def was_protected(self) -> bool:
        """It asked not to be interrupted: what came of it is not lost either."""
        return self.run is not None and self.run.protected

    def close(self, output: str, *, is_error: bool = False, reply: bool = True) -> None:
        """Its output is known."""
        self.gate = Gate.CLOSED
        self.output = output
        self.is_error = is_error
        self.reply = reply


@dataclass(slots=True)
class Step:
    """One response of the model, or one text to say."""

    gen: int
    segment: Segment
    tools: bool
    """Calls are wanted; False: those that come are dropped."""
    calls: list[OpenCall] = field(default_factory=list)
    begun: bool = False
    """Its text has begun."""
    generated: bool = False


@dataclass(slots=True)
class Turn:
    """A committed turn of the caller."""

    id: int
    text: str
    agent: str = ""
    """Who is to answer it: its words go into this agent's context when they come."""
    item: str = ""
    """The id of the message that has its words."""
    known_to: set[str] = field(default_factory=set)
    """The agents in whose context it is, or will be with its words."""
    heard_as: int | None = None
    """The id under which the model itself heard it; None: it has the text only."""
    heard_by: str = ""
    """The agent whose model that is."""
    answer_due: float | None = None
    """When the model that heard it must have begun to answer it unasked; None: it has to be asked."""
    over: Speech | None = None
    """A backchannel: the speech with the running call that it was said over and does not interrupt."""


@dataclass(slots=True, eq=False)
class Speech:
    """A speech of the agent."""

    id: int
    kind: Kind
    frame: Frame
    rank: int
    """Order among what is not yet played: 0 fillers, 1 replies and what their tools say, 2 announcements."""
    interruptible: bool = True
    stage: Stage = Stage.WAITING
    interrupted: bool = False
    parent: Run | None = None
    """The run that asked for it, if one did."""
    instructions: str | None = None
    tool_choice: ToolChoice | None = None
    text: str | None = None
    """For lines of the core's own: what to say."""
    record: bool = True
    user_input: str | None = None
    on_enter: bool = False
    agent: str = ""
    """Who speaks: the agent that was in charge when its first step began."""
    rounds: int = 0
    step: Step | None = None
    live: list[Segment] = field(default_factory=list)
    """Its segments that may still sound."""
    turns: list[Turn] = field(default_factory=list)
    """The caller's turns that it answers."""
    held: list[Turn] = field(default_factory=list)
    """Turns spoken over its protected calls: they enter the history behind the round."""
    heard: bool = False
    """Anything of it was heard."""
    told_in: int = 0
    """The latest round, from 1 on, in which a tool said anything by itself."""
    retried: bool = False
    failed: bool = False
    fallback: bool = False
    """The core's own line was said in the model's place."""
    last_round: bool = False
    """The task it belonged to is over: nothing follows the calls at hand."""
    ends_call: bool = False
    """The call ends with it: what it lacks is not asked for again, nor made up for."""
    farewell: bool = False
    """Its last response, before a hand-off: no tools."""
    carried: list[int] = field(default_factory=list)
    """Offers that its requests carried."""
    made_for: list[int] = field(default_factory=list)
    """The offers it was made for: all that it carries if it is a delivery, else those of the turns that it answers."""
    writes: list[tuple[int, OpenCall]] = field(default_factory=list)
    """Calls that changed the world and whose result nobody has heard yet, with the round that closed them."""
    half_told: list[OpenCall] = field(default_factory=list)
    """Such calls whose result a reply was built with that was cut."""
    owes: bool = False
    """A round wanted a reply, and nothing was said since."""
    said: list[Note] = field(default_factory=list)
    """Its messages in the history: what was heard of it."""

    @property
    def finished(self) -> bool:
        """True once its handle is done."""
        return self.stage is Stage.DONE

    def open_calls(self) -> list[OpenCall]:
        """The calls of the step at hand that are not closed."""
        if self.step is None:
            return []
        return [c for c in self.step.calls if c.gate in (Gate.WAITING, Gate.RUNNING)]
