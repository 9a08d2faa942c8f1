"""A turn of the caller that is over.

    WAITING --its place comes--> TAKEN (the hook has it) --allowed--> OWED --a speech answers it--> ANSWERED
    TAKEN --only asks whether somebody is there--> ANSWERED, by the reply in the making
    TAKEN --vetoed--> gone      TAKEN --said over a call that goes on--> HELD --the round is written--> OWED
    ANSWERED --the speech was cut before anything of it was heard--> OWED     --it is over--> gone

Above: `turns`, which keeps them. Below: nothing.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from antiphon.core.history import Slot
from antiphon.core.state import Speech


class TurnState(enum.Enum):
    """How far a turn of the caller is."""

    WAITING = enum.auto()
    """Over, and nobody has looked at it."""
    TAKEN = enum.auto()
    """`on_user_turn_completed` has it before it."""
    HELD = enum.auto()
    """It was said over calls that go on: it enters the history behind their round."""
    OWED = enum.auto()
    """In the history. No speech answers it yet."""
    ANSWERED = enum.auto()
    """A speech answers it."""


@dataclass(slots=True, eq=False)
class Turn:
    """A turn of the caller that is over."""

    text: str
    state: TurnState = TurnState.WAITING
    speech: Speech | None = None
    """The one that holds it, or answers it."""
    hook: int = 0
    """The hook that decided on it, or does."""
    agent: str = ""
    """Who is to answer it: its words go into this agent's context when they come."""
    item: str = ""
    """The id of the message that has its words."""
    place: Slot | None = None
    """Where it stands in the history once it is allowed: before what was said since."""
    known_to: set[str] = field(default_factory=set)
    """The agents in whose context it is, or will be with its words."""
    heard_as: int | None = None
    """The id under which the model itself heard it; None: it has the text only."""
    heard_by: str = ""
    """The agent whose model that is."""
    answered: bool = False
    """That model is to answer it unasked."""
    over_agent: bool = False
    """It was said while the agent spoke."""
    answer_due: float | None = None
    """When the model that heard it must have begun to answer it unasked; None: it has to be asked."""
    over: Speech | None = None
    """The speech that it was said over and does not interrupt. A backchannel: one with a call that runs."""
    joins: bool = False
    """It only asked whether somebody is there while that speech, a reply, was in the making: that one answers it."""

    def is_answered_by(self, speech: Speech) -> bool:
        """Whether the speech answers it."""
        return self.speech is speech and self.state is TurnState.ANSWERED

    def reworded(self, text: str) -> None:
        """The application put other words into its place."""
        self.text = text

    def worded(self, text: str) -> None:
        """Its words came, behind those of anybody who knew them before."""
        self.text = self.text or text

    def taken(self, hook: int, over: Speech | None, answer_by: float, place: Slot, *, joins: bool) -> None:
        """The hook has it before it. `over`, `joins`: see there.

        `answer_by`: when an answer that comes unasked must begin.
        """
        self.joins = joins
        self.state, self.hook, self.over, self.place = TurnState.TAKEN, hook, over, place
        if self.answered:
            self.answer_due = answer_by

    def stands_alone(self) -> None:
        """It asks for more than that reply can answer."""
        self.over, self.joins = None, False

    def take_place(self) -> Slot | None:
        """Its place, which it takes or leaves."""
        taken, self.place = self.place, None
        return taken

    def held_by(self, speech: Speech) -> None:
        """It was said over calls of the speech that go on."""
        self.state, self.speech = TurnState.HELD, speech

    def entered(self, item: str, agent: str) -> None:
        """It is in the history, or has its place there. `agent` is to answer it."""
        self.item, self.agent = item, agent
        self.known_to.add(agent)

    def is_owed(self) -> None:
        """Nobody answers it yet, or any more."""
        self.state, self.speech, self.over = TurnState.OWED, None, None

    def passed_to(self, agent: str) -> None:
        """Another agent is to answer it: no model does so unasked."""
        self.agent, self.answer_due = agent, None

    def is_news_to(self, agent: str) -> bool:
        """Whether it is not in the agent's context yet. It is from now on."""
        if agent in self.known_to:
            return False
        self.known_to.add(agent)
        return True

    def is_taken_up_by(self, speech: Speech) -> None:
        """The speech answers it."""
        self.state, self.speech = TurnState.ANSWERED, speech

    def must_be_asked(self) -> None:
        """No model answers it unasked."""
        self.answered, self.answer_due = False, None
