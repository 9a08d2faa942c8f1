"""Text to speech.

A `TTS` turns text into frames of sound. `synthesize` speaks one piece of text; engines that take text as
it is being written override `stream`. The default `stream` cuts the text into sentences and synthesizes them one by
one, the next while the one before plays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import field

from antiphon.audio import AudioFrame
from antiphon.model import Model
from antiphon.record import frozen
from antiphon.streams import closing as closing


@frozen
class WordTiming:
    """Where a word sounds. Seconds from the first sample of the text it belongs to."""

    text: str
    start: float
    end: float


@frozen
class SynthesizedAudio:
    """A piece of speech.

    `text` is what this and the following audio says, given once with the first frame of a stretch (a sentence, as
    a rule) and "" on the others: so text and sound stay together however the engine cuts them.
    """

    frame: AudioFrame
    text: str = ""
    words: list[WordTiming] = field(default_factory=list)
    """Word timings of `text`, where the engine knows them."""


class TTS(Model, ABC):
    """A voice. Safe to share between calls; needs neither key nor network until the first use."""

    sample_rate: int
    """Hz of every frame it gives."""
    streaming: bool = False
    """True if `stream` takes text piece by piece, so that the session need not cut it into sentences."""

    @abstractmethod
    def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        """Speak `text`, a sentence or more. An async generator; closing it stops the engine.

        Raises `ProviderError`, `MissingKey`.
        """

    async def stream(self, text: AsyncIterable[str]) -> AsyncIterator[SynthesizedAudio]:
        """Speak text as it arrives. Engines that set `streaming` override this."""
        from antiphon.text import SentenceSplitter

        splitter = SentenceSplitter()
        async for piece in text:
            for sentence in splitter.push(piece):
                async with closing(self.synthesize(sentence)) as sound:
                    async for audio in sound:
                        yield audio
        for sentence in splitter.flush():
            async with closing(self.synthesize(sentence)) as sound:
                async for audio in sound:
                    yield audio
