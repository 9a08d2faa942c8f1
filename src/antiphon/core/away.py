"""A caller who has fallen silent: how often they were asked, and since when it is their turn.

    HERE --nothing is said--> ASKED --> ASKED AGAIN --> goodbye: the call ends        any --words--> HERE

Above: `rules.away`, which knows whose turn it is. Below: the lines and the times (`AwayLadder`).
"""

from __future__ import annotations

from antiphon.core.state import Speech
from antiphon.options import AwayLadder


class Away:
    """How far the silence of the caller has gone."""

    __slots__ = ("_known", "_steps", "apology", "deadline", "line", "rung", "since")

    def __init__(self, ladder: AwayLadder) -> None:
        self.speaks(ladder)
        self._known = 0
        """How many turns of the caller there were."""
        self.rung = 0
        """Steps that were taken since the caller said anything."""
        self.since: float | None = None
        """Since when it is the caller's turn; None: it is not."""
        self.line: Speech | None = None
        """Asks, or says goodbye."""
        self.apology: Speech | None = None
        """Tells that a sound had no words. If it was a noise, nobody is there to hear it."""
        self.deadline: float | None = None
        """When to ask again, if nothing happens before."""

    def speaks(self, ladder: AwayLadder) -> None:
        """These lines are said, from the next on."""
        self._steps = (
            (ladder.ask_after, ladder.ask),
            (ladder.again_after, ladder.again),
            (ladder.goodbye_after, ladder.goodbye),
        )

    @property
    def has_asked(self) -> bool:
        """The caller was asked whether they are there, and has not said so."""
        return self.rung > 0

    @property
    def is_over(self) -> bool:
        """All steps were taken."""
        return self.rung == len(self._steps)

    @property
    def due(self) -> float | None:
        """When the next step is to be taken, by the clock; None: not while it is somebody else's turn."""
        return None if self.since is None or self.is_over else self.since + self._steps[self.rung][0]

    def is_due(self, now: float) -> bool:
        """A step is to be taken, and was put off by a noise."""
        return self.due is not None and now >= self.due

    def is_own(self, speech: Speech) -> bool:
        """It is said to a caller who may not be there, and nothing else is to follow it."""
        return speech is self.line or speech is self.apology

    def callers_turn(self, now: float) -> None:
        """Nobody else is to say or do anything."""
        if self.since is None:
            self.since = now

    def is_news(self, turns: int) -> bool:
        """Whether the caller's turns, of which there were so many, are more than they were."""
        before, self._known = self._known, turns
        return turns > before

    def attended(self) -> None:
        """The caller is spoken to, or waits for something: the time begins anew behind it."""
        self.since = self.deadline = None

    def answered(self) -> None:
        """The caller says something: they are there."""
        self.rung = 0
        self.line = self.apology = None
        self.attended()

    def climbs(self) -> str:
        """The next step is taken. Returns its line; empty: nothing is said."""
        line = self._steps[self.rung][1]
        self.rung += 1
        self.attended()
        return line

    def says(self, line: Speech) -> None:
        """This speech asks, or says goodbye."""
        self.line = line

    def apologised(self, apology: Speech) -> None:
        """A sound without words was answered with this speech."""
        self.apology = apology
