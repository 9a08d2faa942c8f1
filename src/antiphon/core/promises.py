"""What is open, until when, and what to assume if nothing comes.

A command that starts something registers a promise: a key, a deadline, and the fact to assume. A fact whose type
belongs to a promise is admitted only while that key is open, so late, doubled and orphaned facts are refused here
and nowhere else. A timeout is no second code path: when the deadline passes, the made-up closing fact goes the way
of a real one.

Above: the conversation and its rules. Below: nothing. It does not know what the commands mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from antiphon.core.commands import Command
from antiphon.core.facts import (
    Fact,
    GenerationFailed,
    HookReturned,
    InterruptionsDisallowed,
    PlayoutFinished,
    PlayoutProgressed,
    PlayoutStarted,
    PlayoutStarved,
    ReplyJudged,
    RunCancelRequested,
    RunResumed,
    RunSuspended,
    StepGenerated,
    StreamContinued,
    StreamPaused,
    TextStarted,
    ToolCalled,
    ToolReturned,
    ToolUpdated,
    TurnTranscribed,
)

_KEYS: dict[type[Fact], tuple[str, bool]] = {
    TextStarted: ("gen", False),
    ToolCalled: ("gen", False),
    StreamContinued: ("gen", False),
    StreamPaused: ("gen", False),
    StepGenerated: ("gen", True),
    GenerationFailed: ("gen", True),
    PlayoutStarted: ("segment", False),
    PlayoutStarved: ("segment", False),
    PlayoutProgressed: ("segment", False),
    PlayoutFinished: ("segment", True),
    ToolUpdated: ("run", False),
    InterruptionsDisallowed: ("run", False),
    RunSuspended: ("run", False),
    RunResumed: ("run", False),
    RunCancelRequested: ("run", False),
    ToolReturned: ("run", True),
    HookReturned: ("hook", True),
    ReplyJudged: ("judgement", True),
    TurnTranscribed: ("turn", True),
}
"""Which field of a fact names its promise, and whether the fact closes it."""


class Outbox:
    """The commands given, the promises they opened, the ids they carry, and the time."""

    __slots__ = ("_commands", "_deadlines", "_lost", "_open", "new_id", "now", "send")

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        """The time of the fact at hand, in seconds on the driver's clock, but for those that were lost.

        Never goes back.
        """
        self._lost = 0.0
        """Seconds in which everything stood still."""
        self._commands: list[Command] = []
        self.send: Callable[[Command], None] = self._commands.append
        """Give a command."""
        self._open: dict[int, Fact] = {}
        """What is assumed if nothing comes, by key."""
        self._deadlines: dict[int, float] = {}
        """Of those whose clock runs."""
        self.new_id: Callable[[], int] = itertools.count(1).__next__
        """A number never used before in this conversation, for whatever needs an id."""

    def it_is(self, now: float) -> None:
        """Time went on, to `now` on the driver's clock."""
        now -= self._lost
        if now > self.now:
            self.now = now

    def stood_still(self, seconds: float) -> None:
        """Time is lost that counts against nobody. To be told before it has gone on."""
        self._lost += max(0.0, seconds)

    def by_the_driver(self, time: float) -> float:
        """A time of this clock on the driver's: never so early that it would not have come here."""
        if not self._lost:
            return time
        shown = time + self._lost
        while shown - self._lost < time:
            shown = math.nextafter(shown, math.inf)
        return shown

    def promise(self, key: int, assume: Fact, within: float | None) -> None:
        """Open `key`. `assume` becomes true `within` seconds unless a closing fact comes; None: the clock stands."""
        self._open[key] = assume
        if within is not None:
            self._deadlines[key] = self.now + within
        else:
            self._deadlines.pop(key, None)

    def rearm(self, key: int, within: float | None) -> None:
        """Set the clock of an open promise anew. No effect on a closed one."""
        if key not in self._open:
            return
        if within is None:
            self._deadlines.pop(key, None)
        else:
            self._deadlines[key] = self.now + within

    def remaining(self, key: int) -> float | None:
        """Seconds left for an open promise; None if it is closed or its clock stands."""
        deadline = self._deadlines.get(key)
        return None if deadline is None else max(0.0, deadline - self.now)

    def withdraw(self, key: int) -> None:
        """Close `key` without a fact; what still comes for it is refused."""
        self._open.pop(key, None)
        self._deadlines.pop(key, None)

    def is_open(self, key: int) -> bool:
        """True while a closing fact is awaited."""
        return key in self._open

    def admits(self, fact: Fact) -> bool:
        """Whether the fact may be heard. A closing fact closes its promise."""
        named = _KEYS.get(type(fact))
        if named is None:
            return True
        field, closes = named
        key = getattr(fact, field)
        if key not in self._open:
            return False
        if closes:
            del self._open[key]
            self._deadlines.pop(key, None)
        return True

    @property
    def deadline(self) -> float | None:
        """When the next promise falls due, or None."""
        return min(self._deadlines.values()) if self._deadlines else None

    @property
    def is_overdue(self) -> bool:
        """A promise was not kept in time."""
        return bool(self._deadlines) and min(self._deadlines.values()) <= self.now

    def take_overdue(self) -> Fact:
        """What the promise that is longest overdue assumed. The promise is closed."""
        due = self.deadline
        key = next(key for key in self._open if self._deadlines.get(key) == due)
        assumed = self._open[key]
        self.withdraw(key)
        return assumed

    def take_commands(self) -> list[Command]:
        """The commands given since the last call, in order."""
        commands = self._commands[:]
        self._commands.clear()
        return commands
