"""Detects the caller's voice, by the session's VAD.

Above: `recognition`. Below: the `VAD` contract. A detector that raises is told of and opened anew, later each time:
it must not stop the transport that delivers the frames, and no error may come with every one of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.errors import pass_on
from antiphon.vad import VAD, SpeechEnded, SpeechStarted, VADEvent, VADStream

logger = logging.getLogger("antiphon")

FIRST_PAUSE = 1.0
"""Seconds of sound after which a detector that broke is opened anew; twice as many the next time."""

LONGEST_PAUSE = 60.0
"""Seconds of sound between two attempts, at most. A detector that worked for so long is new again."""


class Detection:
    """What the detector hears in the frames. Between a break and the next attempt it hears nothing."""

    __slots__ = ("_broke", "_next_pause", "_pause", "_pushed", "_speaking", "_stream", "_vad")

    def __init__(self, vad: VAD, broke: Callable[[BaseException, Any], None]) -> None:
        self._vad = vad
        self._broke = broke
        self._stream: VADStream | None = None
        self._pushed = 0.0
        """Seconds of sound given to the stream."""
        self._pause = 0.0
        """Seconds of sound until the next attempt."""
        self._next_pause = FIRST_PAUSE
        self._speaking = False

    def push(self, frame: AudioFrame) -> Sequence[VADEvent]:
        """Take the next frame. A caller who speaks when the detector breaks has ended, as far as it can tell."""
        try:
            if self._stream is None:
                if self._pause > 0:
                    self._pause -= frame.duration
                    return ()
                self._stream = self._vad.stream()
            self._pushed += frame.duration
            events = self._stream.push(frame)
            return self._noted(events) if events else ()
        except BaseException as error:
            pass_on(error)
            return self._break(error)

    def end(self) -> Sequence[VADEvent]:
        """The input is over."""
        if self._stream is None:
            return ()
        try:
            return self._noted(self._stream.end())
        except BaseException as error:
            pass_on(error)
            return self._break(error)

    def since(self, event: VADEvent) -> float:
        """Seconds that the caller has spoken by now, or been silent."""
        return max(0.0, self._pushed - event.at)

    def _noted(self, events: Sequence[VADEvent]) -> list[VADEvent]:
        events = list(events)
        if events:
            self._speaking = isinstance(events[-1], SpeechStarted)
        return events

    def _break(self, error: BaseException) -> list[VADEvent]:
        if self._pushed >= LONGEST_PAUSE:
            self._next_pause = FIRST_PAUSE
        self._pause, self._next_pause = self._next_pause, min(LONGEST_PAUSE, 2 * self._next_pause)
        self._stream, self._pushed = None, 0.0
        spoke, self._speaking = self._speaking, False
        logger.error("voice detection failed, opened anew in %g s: %s", self._pause, error, exc_info=error)
        self._broke(error, self._vad)
        return [SpeechEnded(0.0)] if spoke else []
