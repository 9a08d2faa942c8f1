"""Speech to text.

An `STT` is a factory; each call gets an `STTStream`: audio goes in by `push` (synchronously, never blocking),
transcripts come out of the async iterator. The session's voice activity detector tells the stream where speech begins
and ends (`mark`), so that engines that work on whole utterances need no detector of their own.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import field

from antiphon.audio import AudioFrame
from antiphon.model import Model
from antiphon.record import frozen
from antiphon.streams import Closable
from antiphon.vad import VADEvent


class SpeechEventType(enum.StrEnum):
    """What a speech event says."""

    START_OF_SPEECH = "start_of_speech"
    """The engine's own detector heard speech begin."""
    INTERIM_TRANSCRIPT = "interim_transcript"
    """The utterance so far; replaced by the next event."""
    FINAL_TRANSCRIPT = "final_transcript"
    """The utterance, or a stretch of it that will not change; the next one follows it."""
    END_OF_SPEECH = "end_of_speech"
    """The engine's own detector heard speech end."""


@frozen
class SpeechData:
    """One reading of what was said."""

    text: str
    language: str = ""
    confidence: float = 0.0
    """0 to 1; 0 where the engine does not say."""


@frozen
class SpeechEvent:
    """Something an STT engine heard."""

    type: SpeechEventType
    alternatives: list[SpeechData] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The best reading, "" if there is none."""
        return self.alternatives[0].text if self.alternatives else ""

    @classmethod
    def interim(cls, text: str) -> SpeechEvent:
        """The utterance so far."""
        return cls(SpeechEventType.INTERIM_TRANSCRIPT, [SpeechData(text)])

    @classmethod
    def final(cls, text: str) -> SpeechEvent:
        """The utterance, settled."""
        return cls(SpeechEventType.FINAL_TRANSCRIPT, [SpeechData(text)])


class STTStream(Closable):
    """One call's recognition. Iterate it for `SpeechEvent`s; use it as an async context manager."""

    @abstractmethod
    def push(self, frame: AudioFrame) -> None:
        """Take the next frame, of any rate. Must not block; raises nothing after `aclose`."""

    def mark(self, event: VADEvent) -> None:
        """The session's voice activity detector heard a transition here. Engines with their own may ignore it.

        After `SpeechEnded` an engine that works on utterances gives its final transcript as soon as it can.
        """

    def flush(self) -> None:
        """Give a final transcript of what was heard so far, without waiting for silence."""

    def end_input(self) -> None:
        """No more audio will come. The iterator ends after the last transcript."""

    @abstractmethod
    def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        """Transcripts as they come. Raises `ProviderError` when the engine fails; the stream is then over."""

    @abstractmethod
    async def aclose(self) -> None:
        """Stop at once and release everything. May be called twice."""


class STT(Model, ABC):
    """A speech recogniser. Safe to share between calls; needs neither key nor network until the first use."""

    @abstractmethod
    def stream(self) -> STTStream:
        """Recognition for one call. Raises `MissingKey` if it cannot be had."""
