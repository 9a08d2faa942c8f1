"""The local voice: Hibari, an English voice small enough to speak a hundred times faster than real time.

Text is spoken sentence by sentence, in a thread of its own. The model opens each sentence with a third of a second of
silence; most of it is cut, because the caller would wait for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.providers.local.spoken import spoken
from antiphon.providers.local.weights import HIBARI
from antiphon.providers.local.worker import Ticket, Worker
from antiphon.tts import TTS, SynthesizedAudio

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RATE = 24000
_FRAME = 0.1
"""Seconds in a frame."""
_AUDIBLE = 10 ** (-50 / 20)
"""Full scale 1. What is quieter before the first and after the last sound is silence."""
_LEAD = 0.015
_TAIL = 0.2
"""Seconds of silence left before and after a sentence; the second is the pause between two sentences."""
_CACHED_SECONDS = 120.0

_worker = Worker("tts")


class HibariTTS(TTS):
    """English speech in the process, 24 kHz, one voice.

    `speed` from 0.5 (slow) to 2.0 (fast). The same sentence always sounds the same, and the latest two minutes of
    speech are kept, so that what an agent says again and again costs nothing. Raises `MissingModelFile` from
    `prewarm` or the first use.
    """

    sample_rate = _RATE

    adjustable = ("speed",)

    def __init__(self, *, speed: float = 1.0) -> None:
        if not 0.5 <= speed <= 2.0:
            raise UsageError(f"HibariTTS: expected a speed from 0.5 to 2.0, got {speed}")
        self.speed = speed

    def _adjust(self, name: str, value: Any) -> bool:
        fits = name != "speed" or (isinstance(value, (int, float)) and 0.5 <= value <= 2.0)
        return fits and super()._adjust(name, value)

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        sentences: list[str] = await _worker.run(lambda _: _load().split_sentences(text))
        for sentence in sentences:
            for index, frame in enumerate(await self._frames(sentence)):
                yield SynthesizedAudio(frame, "" if index else sentence)

    async def _frames(self, sentence: str) -> list[AudioFrame]:
        key = sentence, self.speed
        frames = _said.get(key)
        if frames is None:
            frames = await _worker.run(lambda ticket: _speak(*key, ticket))
            _said.put(key, frames)
        return frames

    async def prewarm(self) -> None:
        await _worker.run(lambda ticket: _speak("Ready, at 9:00 AM.", self.speed, ticket))


class SpeechCache:
    """The frames of the sentences said last, up to a length in seconds."""

    def __init__(self, capacity: float) -> None:
        self._capacity = capacity
        self._held = 0.0
        self._frames: OrderedDict[tuple[str, float], list[AudioFrame]] = OrderedDict()

    def get(self, key: tuple[str, float]) -> list[AudioFrame] | None:
        """The frames of (sentence, speed), if they are held."""
        frames = self._frames.get(key)
        if frames is not None:
            self._frames.move_to_end(key)
        return frames

    def put(self, key: tuple[str, float], frames: list[AudioFrame]) -> None:
        """Hold them, and forget what was not asked for since longest."""
        if key in self._frames:
            return
        self._frames[key] = frames
        self._held += _duration(frames)
        while self._held > self._capacity:
            self._held -= _duration(self._frames.popitem(last=False)[1])


def _duration(frames: list[AudioFrame]) -> float:
    return sum(frame.duration for frame in frames)


_said = SpeechCache(_CACHED_SECONDS)
_voices: list[Any] = []
"""The voice, once it is loaded. Used in the worker's thread only."""


def _load() -> Any:
    if not _voices:
        model = HIBARI.locate()
        from hibari import Hibari

        _voices.append(Hibari(model=str(model), threads=1))
    return _voices[0]


def _speak(sentence: str, speed: float, ticket: Ticket) -> list[AudioFrame]:
    """The sentence as frames; none if there is nothing in it to say."""
    import numpy as np

    parts: list[NDArray[np.float32]] = []
    for part in _load().stream(spoken(sentence), speed=speed, seed=0):
        ticket.check()
        parts.append(_trimmed(part))
    if not parts:
        return []
    samples = np.concatenate(parts)
    step = round(_FRAME * _RATE)
    return [AudioFrame.from_float32(samples[at : at + step], _RATE) for at in range(0, len(samples), step)]


def _trimmed(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """`samples` with a set length of silence at either end."""
    import numpy as np

    loud = np.flatnonzero(np.abs(samples) > _AUDIBLE)
    if not len(loud):
        return samples[:0]
    lead, tail = round(_LEAD * _RATE), round(_TAIL * _RATE)
    start = max(0, loud[0] - lead)
    kept = samples[start : loud[-1] + tail].copy()
    kept[:lead] *= np.linspace(0, 1, len(kept[:lead]), dtype=np.float32)
    missing = loud[-1] + tail - len(samples)
    return np.concatenate([kept, np.zeros(missing, np.float32)]) if missing > 0 else kept
