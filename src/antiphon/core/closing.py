"""The end of a session.

    OPEN --a goodbye is asked for--> ENDING --said, and nobody speaks for a while--> DRAINING
    ENDING --the caller has more to say--> OPEN         ENDING --the caller says goodbye, too--> DRAINING
    OPEN --drain--> DRAINING --nothing said or done any more, or time--> CLOSING --all quiet, or time--> CLOSED
    OPEN --close--> CLOSING

Draining finishes what was begun and takes no more turns; what tools that write came to is told. Closing stops
everything: children before their parents, tools that may be stopped at once, tools that write after a grace in which
they may still finish: `write_grace` from when the end was asked for, or `close_grace` if it is to be now.

Above: the floor, and `rules.closing`, which moves it on. Below: nothing.
"""

from __future__ import annotations

import enum


class Phase(enum.Enum):
    """How far the end is."""

    OPEN = enum.auto()
    ENDING = enum.auto()
    """A goodbye is being said; the caller may still change their mind."""
    DRAINING = enum.auto()
    CLOSING = enum.auto()
    CLOSED = enum.auto()


_OPEN, _ENDING, _DRAINING, _CLOSING, _CLOSED = Phase


class Closing:
    """How far the end of the session is."""

    __slots__ = (
        "_hook",
        "accepts_turns",
        "deadline",
        "ends_speech",
        "goodbye",
        "grace_until",
        "is_ending",
        "is_open",
        "is_over",
        "linger",
        "phase",
        "reason",
    )

    def __init__(self) -> None:
        self.deadline: float | None = None
        """When the phase ends whatever is still going on."""
        self.goodbye: int | None = None
        """The speech after which the call ends."""
        self.linger = 0.0
        """Seconds after it in which the caller may still go on."""
        self.reason = ""
        self.grace_until = float("-inf")
        """Until then tools that write may work when all else is over."""
        self._hook: int | None = None
        self._enter(_OPEN)

    def _enter(self, phase: Phase) -> None:
        """What is asked for with every fact is looked up only when the phase changes."""
        self.phase = phase
        self.is_open = phase is _OPEN
        """Nothing of an end was asked for."""
        self.is_ending = phase is _ENDING
        """A goodbye is being said, or was a moment ago."""
        self.accepts_turns = self.is_open or self.is_ending
        """False once the session is to end."""
        self.is_over = phase is _CLOSED
        """The session is closed."""
        self.ends_speech = phase is _CLOSING or self.is_over
        """Speech that is asked for now would not be heard."""

    @property
    def awaits_hook(self) -> bool:
        """`on_exit` of the last agent has not returned."""
        return self._hook is not None

    @property
    def said_goodbye(self) -> bool:
        """The end was asked for with a goodbye, and the caller had nothing more to say."""
        return self.goodbye is not None

    def end_after(self, speech: int, linger: float, reason: str) -> None:
        """End the call when that speech is over, unless the caller goes on."""
        self.goodbye = speech
        if self.accepts_turns:
            self._enter(_ENDING)
            self.deadline = None
            self.linger, self.reason = linger, reason

    def go_on(self) -> None:
        """The caller has more to say: the call does not end."""
        if self.is_ending:
            self._enter(_OPEN)
            self.deadline = self.goodbye = None

    def goes_on(self) -> None:
        """The goodbye is not over, or somebody has more to say."""
        self.deadline = None

    def lingers(self, now: float) -> None:
        """The goodbye was said, and nobody speaks: the call ends in a moment."""
        if self.deadline is None:
            self.deadline = now + self.linger

    def waits_until(self, time: float) -> None:
        """Nor before then: a voice has just begun."""
        self.deadline = time if self.deadline is None else max(self.deadline, time)

    def drain(self, reason: str, deadline: float, grace_until: float) -> None:
        """What was begun is finished until then, and nothing else is begun."""
        self._enter(_DRAINING)
        self.reason, self.deadline, self.grace_until = reason, deadline, grace_until

    def hasten(self, deadline: float) -> None:
        """Tools that write have until then, and not longer."""
        self.grace_until = float("-inf")
        if self.deadline is not None:
            self.deadline = min(self.deadline, deadline)

    def close(self, hook: int, deadline: float) -> None:
        """Everything stops until then; the last agent's `on_exit` runs."""
        self._enter(_CLOSING)
        self._hook, self.deadline = hook, deadline

    def hook_returned(self, hook: int) -> bool:
        """`on_exit` of the last agent ran. True if it was this hook."""
        if hook != self._hook:
            return False
        self._hook = None
        return True

    def end(self) -> None:
        """It is over."""
        self._enter(_CLOSED)
        self.deadline = None
