"""A row of the ledger: one start of a tool that does not only read, and what came of it.

    STARTED --returned--> SUCCEEDED | FAILED    STARTED --no answer in time, raised in the middle, cancelled--> UNKNOWN
    SUCCEEDED, UNKNOWN --the caller has heard what came of it--> settled
    UNKNOWN --it says so after all, or who was asked does--> SUCCEEDED | FAILED, not settled
    UNKNOWN --the caller wants it tried again--> its key is another start's, and so is what came of it

Above: the ledger, which numbers and judges them; runs and calls, which have theirs. Below: the history.
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass

from antiphon.core.commands import Undoes
from antiphon.core.facts import Call
from antiphon.core.history import Note
from antiphon.record import record


class Outcome(enum.Enum):
    """What is known of what a start of a tool did."""

    STARTED = enum.auto()
    SUCCEEDED = enum.auto()
    FAILED = enum.auto()
    """It did not happen."""
    UNKNOWN = enum.auto()
    """It may have happened."""


@record
class Asked:
    """When a model was asked for a response."""

    turn: int
    """Turns that the caller had taken."""
    outcomes: int
    """Outcomes of tools that were in."""


@dataclass(slots=True, eq=False)
class Row:
    """One start of a tool."""

    call: Call
    """The one that started it."""
    writes: bool
    """It changes the world, as its author says."""
    number: int
    """Among those of its wish, from 1 on."""
    turn: int
    """The turn of the request that asked for it."""
    started: float
    """In seconds of the session."""
    run: int
    """The execution that it is the start of."""
    key: int
    """What its key is made of, with the wish: that of the start before it, where that is known not to have happened."""
    wish: int
    """Which wish it is for, among those with equal calls, from 1 on."""
    outcome: Outcome = Outcome.STARTED
    output: str = ""
    ended_at: float = 0.0
    ended_as: int = 0
    """The number of its outcome among all outcomes."""
    settled: bool = False
    """The caller has heard what came of it, was not to, or did not after all attempts."""
    hands_over: bool = False
    """It put another agent in charge, who speaks."""
    last_turn: int = 0
    """Calls of this turn and of those before it mean this start."""
    undoes: Undoes | None = None
    """The start that it takes back."""
    undone_by: Row | None = None
    """The start that takes it back."""
    found: bool = False
    """Nobody knew what it did, and who was asked knows."""
    retry_of: Row | None = None
    """The start whose key it has, because nobody knows what that did."""
    retried_by: Row | None = None
    """The start that has its key."""
    was_unknown: bool = False
    """Nobody knew what it did, and somebody does by now."""
    notes: tuple[Note, ...] = ()
    """Where the history shows what came of it."""

    def is_seen_by(self, agent: str) -> bool:
        """What came of it is in the context of the agent."""
        return any(agent in note.known_to for note in self.notes)

    def context_changed(self, agent: str, learns: Collection[str], forgets: Collection[str]) -> None:
        """Other calls than before are in the context of the agent."""
        for note in self.notes:
            note.context_changed(agent, learns, forgets)

    def ended(self, outcome: Outcome, output: str, now: float, number: int) -> None:
        """What came of it is known, or that it never will be."""
        self.outcome, self.output, self.ended_at, self.ended_as = outcome, output, now, number

    def takes_back(self, row: Row) -> None:
        """It undoes that start."""
        self.undoes = Undoes(row.call, row.key)
        row.taken_back(self)

    def taken_back(self, by: Row) -> None:
        """Its inverse is started."""
        self.undone_by = by

    def is_undone(self, asked: Asked) -> bool:
        """It was undone, and a request that was made then knew it."""
        by = self.undone_by
        return by is not None and by.outcome is Outcome.SUCCEEDED and by.ended_as <= asked.outcomes

    def handed_over(self) -> None:
        """It put another agent in charge."""
        self.hands_over = True

    def reopened(self, *, found: bool) -> None:
        """There is news of it: what the caller has heard is not true any more. `found`: somebody was asked for it."""
        self.settled, self.found, self.was_unknown = False, found, True

    @property
    def is_in_doubt(self) -> bool:
        """Nobody knows whether what was wished with it happened."""
        return self.outcome is Outcome.UNKNOWN and self.retried_by is None

    @property
    def last_try(self) -> Row:
        """The last start with its key, by the caller's word."""
        return self if self.retried_by is None else self.retried_by.last_try

    @property
    def leaves_key(self) -> bool:
        """The next start of its wish has its key: it did not happen, or nobody knows, and it is tried again."""
        return (self.writes and self.is_in_doubt) or (self.found and self.outcome is Outcome.FAILED)

    @property
    def next_key(self) -> int:
        """What the key of the next start of its wish is made of."""
        return self.key if self.leaves_key else self.key + 1

    def retries(self, row: Row) -> None:
        """It has the key of that start."""
        self.retry_of = row
        row.retried_by = self

    def shown_in(self, note: Note) -> None:
        """The history tells here what came of it."""
        self.notes += (note,)

    def stands_for(self, turn: int) -> None:
        """Calls of this turn mean this start."""
        self.last_turn = max(self.last_turn, turn)

    def heard_in(self, turn: int) -> None:
        """The caller knows what came of it, from this turn on."""
        self.settled = True
        self.stands_for(turn)
