"""The end of a session.

    OPEN --a goodbye is asked for--> ENDING --said, and nobody speaks for a while--> DRAINING
    ENDING --the caller has more to say--> OPEN         ENDING --the caller says goodbye, too--> DRAINING
    OPEN --drain--> DRAINING --nothing said or done any more, or time--> CLOSING --all quiet, or time--> CLOSED
    OPEN --close--> CLOSING

Draining finishes what was begun and takes no more turns. Closing stops everything: children before their parents,
tools that may be stopped at once, tools that write after a grace in which they may still finish. It waits for
`close_grace` and not longer.

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

    __slots__ = ("_hook", "deadline", "goodbye", "linger", "phase", "reason")

    def __init__(self) -> None:
        self.phase = _OPEN
        self.deadline: float | None = None
        """When the phase ends whatever is still going on."""
        self.goodbye: int | None = None
        """The speech after which the call ends."""
        self.linger = 0.0
        """Seconds after it in which the caller may still go on."""
        self.reason = ""
        self._hook: int | None = None

    @property
    def is_open(self) -> bool:
        """Nothing of an end was asked for."""
        return self.phase is _OPEN

    @property
    def accepts_turns(self) -> bool:
        """False once the session is to end."""
        return self.phase is _OPEN or self.phase is _ENDING

    @property
    def ends_speech(self) -> bool:
        """Speech that is asked for now would not be heard."""
        return self.phase is _CLOSING or self.phase is _CLOSED

    @property
    def is_over(self) -> bool:
        """The session is closed."""
        return self.phase is _CLOSED

    @property
    def awaits_hook(self) -> bool:
        """`on_exit` of the last agent has not returned."""
        return self._hook is not None

    @property
    def is_ending(self) -> bool:
        """A goodbye is being said, or was a moment ago."""
        return self.phase is _ENDING

    @property
    def said_goodbye(self) -> bool:
        """The end was asked for with a goodbye, and the caller had nothing more to say."""
        return self.goodbye is not None

    def end_after(self, speech: int, linger: float, reason: str) -> None:
        """End the call when that speech is over, unless the caller goes on."""
        self.goodbye = speech
        if self.phase in (_OPEN, _ENDING):
            self.phase = _ENDING
            self.deadline = None
            self.linger, self.reason = linger, reason

    def go_on(self) -> None:
        """The caller has more to say: the call does not end."""
        if self.phase is _ENDING:
            self.phase = _OPEN
            self.deadline = self.goodbye = None

    def lingers(self, until: float | None) -> None:
        """The goodbye was said: when the call ends, or None while somebody goes on."""
        self.deadline = until

    def drain(self, reason: str, deadline: float) -> None:
        """What was begun is finished until then, and nothing else is begun."""
        self.phase, self.reason, self.deadline = _DRAINING, reason, deadline

    def close(self, hook: int, deadline: float) -> None:
        """Everything stops until then; the last agent's `on_exit` runs."""
        self.phase, self._hook, self.deadline = _CLOSING, hook, deadline

    def hook_returned(self, hook: int) -> bool:
        """`on_exit` of the last agent ran. True if it was this hook."""
        if hook != self._hook:
            return False
        self._hook = None
        return True

    def end(self) -> None:
        """It is over."""
        self.phase, self.deadline = _CLOSED, None
