"""What the caller's voice over the agent means: that they interrupt, or that they listen.

    CLEAR --caller starts, something sounds--> SUSPECTED (paused) --words--> the agent is cut
    SUSPECTED --caller stops--> DOUBTFUL (paused) --words--> cut | --time--> resumed
    nothing sounds any more --> CLEAR

Above: the line, which pauses while it is in doubt. Below: nothing.
"""

from __future__ import annotations

import enum

from antiphon.options import SessionOptions

VOICE_WITHOUT_WORDS = 0.5
"""Seconds of voice that cut the agent where nobody turns it into words."""


class _State(enum.Enum):
    CLEAR = enum.auto()
    SUSPECTED = enum.auto()
    """The caller speaks, no words understood yet."""
    DOUBTFUL = enum.auto()
    """The caller stopped without words."""


_CLEAR, _SUSPECTED, _DOUBTFUL = _State


class Doubt:
    """Whether a voice over the agent means to interrupt, and since when that is open."""

    __slots__ = ("_cut_after", "_false_after", "_since", "_state", "long_enough")

    def __init__(self, options: SessionOptions) -> None:
        interruption = options.turns.interruption
        self.long_enough = VOICE_WITHOUT_WORDS if interruption.cancel_after is None else interruption.cancel_after
        """Seconds of voice that mean to interrupt where there are no words to go by."""
        self._cut_after = None if interruption.cancel_after is None and options.has_stt else self.long_enough
        """Seconds of voice that interrupt by themselves; None: words must come."""
        self._false_after = interruption.false_after
        self._state = _CLEAR
        self._since = 0.0

    @property
    def is_open(self) -> bool:
        """A voice was heard over the agent, and nobody knows yet what it means."""
        return self._state is not _CLEAR

    @property
    def has_fallen_silent(self) -> bool:
        """The caller stopped without words."""
        return self._state is _DOUBTFUL

    def arose(self, now: float) -> None:
        """The caller's voice began over the agent."""
        self._state, self._since = _SUSPECTED, now

    def fell_silent(self, now: float, silence: float) -> None:
        """The caller's voice ended `silence` seconds ago, without words so far."""
        if self._state is _SUSPECTED:
            self._state, self._since = _DOUBTFUL, now - silence

    def cleared(self) -> None:
        """The matter is settled, or there is nothing left to interrupt."""
        self._state = _CLEAR

    @property
    def deadline(self) -> float | None:
        """When it resolves by itself."""
        if self._state is _CLEAR:
            return None
        after = self._false_after if self._state is _DOUBTFUL else self._cut_after
        return None if after is None else self._since + after
