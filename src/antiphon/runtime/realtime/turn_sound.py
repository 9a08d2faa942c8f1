"""The sound of the turn that goes on, for a model that takes over in the middle of it.

Above: the links to models that hear and speak. Below: nothing. A turn may begin before one agent hands over to another,
or while a broken session is opened anew: whoever hears its end must hear its beginning, too.
"""

from __future__ import annotations

from collections import deque

from antiphon.audio import AudioFrame

LEAD = 0.5
"""Seconds kept while the caller is silent: a voice is noticed late."""

LONGEST = 20.0
"""Seconds kept of a turn."""


class TurnSound:
    """What the caller said since their last turn, from a little before their voice began. Bounded."""

    __slots__ = ("_duration", "_frames", "_is_voiced")

    def __init__(self) -> None:
        self._frames: deque[AudioFrame] = deque()
        self._duration = 0.0
        self._is_voiced = False

    @property
    def frames(self) -> list[AudioFrame]:
        """All of it; empty while the caller has said nothing."""
        return list(self._frames) if self._is_voiced else []

    def push(self, frame: AudioFrame, *, speaking: bool) -> None:
        """The caller's sound goes on. `speaking`: it is voice, as far as anybody noticed."""
        self._is_voiced = self._is_voiced or speaking
        self._frames.append(frame)
        self._duration += frame.duration
        kept = LONGEST if self._is_voiced else LEAD
        while self._duration > kept:
            self._duration -= self._frames.popleft().duration

    def clear(self) -> None:
        """The turn is over, or was none."""
        self._frames.clear()
        self._duration = 0.0
        self._is_voiced = False
