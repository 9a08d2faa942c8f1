"""Voice activity detection: is somebody speaking?

A `VAD` is a factory; each call gets a `VADStream`. Frames are pushed synchronously, in order; what comes back
are transitions only. Detection is cheap (tens of microseconds a frame), so there is no task and no queue, and
an interruption is known inside the very call that delivered the audio.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

from antiphon.audio import AudioFrame
from antiphon.record import frozen


@frozen
class SpeechStarted:
    """Somebody began to speak. `at`: seconds of audio pushed so far when the speech itself began."""

    at: float


@frozen
class SpeechEnded:
    """Somebody stopped speaking. `at`: seconds of audio pushed so far at the last voiced sample."""

    at: float


VADEvent: TypeAlias = SpeechStarted | SpeechEnded


class VADStream(ABC):
    """The detector's state for one stream of audio. Starts in silence."""

    @abstractmethod
    def push(self, frame: AudioFrame) -> Sequence[VADEvent]:
        """Take the next frame (any rate, any length) and return the transitions in it, oldest first.

        Transitions alternate: started, ended, started, ... Must not block.
        """

    def end(self) -> Sequence[VADEvent]:
        """The input is over. Returns `SpeechEnded` if somebody was still speaking."""
        return ()


class VAD(ABC):
    """A voice activity detector. Safe to share between calls."""

    @abstractmethod
    def stream(self) -> VADStream:
        """A detector for one call."""

    async def prewarm(self) -> None:
        """Load what takes long, before the first call."""

    async def aclose(self) -> None:
        """Release what the detector holds. No stream may be used afterwards."""
