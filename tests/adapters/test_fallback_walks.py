"""Providers that die or stall at any instant: each word is understood once, and none is said twice.

The sound itself says which word it is (all samples of a word have one value), so that what is replayed, lost or doubled
shows in what comes out.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Iterable

import numpy as np
import pytest

from antiphon.adapters.fallback import Backoff, FallbackSTT, FallbackTTS
from antiphon.adapters.stream import StreamAdapter
from antiphon.audio import AudioFrame
from antiphon.errors import ProviderError
from antiphon.stt import SpeechEvent, STTStream
from antiphon.testing import FakeVAD, run_virtual
from antiphon.text import word_spans
from antiphon.tts import TTS, SynthesizedAudio, WordTiming
from antiphon.vad import VADEvent
from tests.adapters.fallback_calls import FRAME, finals

RATE = 16_000

# -- the caller's words


class Levels:
    """Understands a voice by its level."""

    def __init__(self, delay: float = 0.05) -> None:
        self._delay = delay

    async def recognize(self, audio: AudioFrame) -> str:
        await asyncio.sleep(self._delay)
        samples = np.frombuffer(audio.data, "<i2")
        return " ".join(str(level) for level in dict.fromkeys(samples[samples != 0].tolist()))


class Dying(STTStream):
    """A stream that raises, or says nothing more, from some instant on."""

    def __init__(self, stream: STTStream, lives: float, *, stalls: bool) -> None:
        self._stream = stream
        self._until = asyncio.get_running_loop().time() + lives
        self._stalls = stalls

    def push(self, frame: AudioFrame) -> None:
        self._stream.push(frame)

    def mark(self, event: VADEvent) -> None:
        self._stream.mark(event)

    def end_input(self) -> None:
        self._stream.end_input()

    async def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        events = aiter(self._stream)
        while True:
            try:
                async with asyncio.timeout_at(self._until):
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if self._stalls:
                    await asyncio.get_running_loop().create_future()
                raise ProviderError("connection lost") from None
            yield event

    async def aclose(self) -> None:
        await self._stream.aclose()


class DiesOnce(StreamAdapter):
    """A recogniser whose first stream dies."""

    def __init__(self, lives: float, *, stalls: bool) -> None:
        super().__init__(Levels())
        self._death: tuple[float, bool] | None = (lives, stalls)

    def stream(self) -> STTStream:
        death, self._death = self._death, None
        return super().stream() if death is None else Dying(super().stream(), death[0], stalls=death[1])


async def call(stream: STTStream, utterances: Iterable[tuple[float, float]]) -> None:
    """Utterances of levels 1000, 2000 and so on: (seconds of voice, seconds of silence behind it)."""
    detector = FakeVAD().stream()
    for number, (voice, pause) in enumerate(utterances, 1):
        for value, seconds in ((1000 * number, voice), (0, pause)):
            for _ in range(round(seconds / FRAME)):
                frame = AudioFrame(np.full(round(FRAME * RATE), value, "<i2").tobytes(), RATE)
                stream.push(frame)
                for event in detector.push(frame):
                    stream.mark(event)
                await asyncio.sleep(FRAME)
    stream.end_input()


@pytest.mark.parametrize("stalls", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_each_utterance_is_understood_once_whenever_a_recogniser_dies(seed: int, stalls: bool) -> None:
    walk = random.Random(seed)

    async def main() -> None:
        engines = [DiesOnce(walk.uniform(0.01, 7.0), stalls=stalls), StreamAdapter(Levels())]
        heard: list[str] = []
        async with FallbackSTT(engines, backoff=Backoff(first=1.0)).stream() as stream:
            reading = asyncio.create_task(finals(stream, heard))
            await call(stream, [(walk.uniform(0.3, 2.0), walk.uniform(0.25, 1.5)) for _ in range(3)])
            await reading
        assert " ".join(heard).split() == ["1000", "2000", "3000"]

    run_virtual(main())


def test_a_recogniser_that_owes_two_transcripts_gives_both_before_a_better_one_takes_over() -> None:
    async def main() -> None:
        engines = [DiesOnce(0.05, stalls=True), StreamAdapter(Levels(0.3))]
        heard: list[str] = []
        async with FallbackSTT(engines).stream() as stream:
            reading = asyncio.create_task(finals(stream, heard))
            # The first two are handed over together; the third begins when one of them is understood.
            await call(stream, [(0.3, 0.4), (0.5, 1.0), (0.5, 3.0)])
            await reading
        assert " ".join(heard).split() == ["1000", "2000", "3000"]

    run_virtual(main())


# -- the agent's words

TEXT = "The table is booked for two. It is on Tuesday at seven, by the window. Would you like anything else? Goodbye."
BEGINS = [begin for begin, _ in word_spans(TEXT)]


class Numbers(TTS):
    """A voice whose every sample is the number of the word it belongs to, and which may die after so much sound."""

    sample_rate = 8_000

    def __init__(self, walk: random.Random, *, dies_after: float | None, timed: bool) -> None:
        self.streaming = walk.random() < 0.5
        self._stalls = walk.random() < 0.3
        self._pace = walk.uniform(13.0, 17.0)
        self._dies_after = dies_after
        self._timed = timed
        self._sounded = 0.0

    async def synthesize(self, text: str) -> AsyncGenerator[SynthesizedAudio, None]:
        sound = np.zeros(round(len(text) / self._pace * self.sample_rate), "<i2")
        timings = []
        for begin, end in word_spans(text):
            start, stop = begin / self._pace, end / self._pace
            number = BEGINS.index(TEXT.index(text) + begin)
            sound[round(start * self.sample_rate) : round(stop * self.sample_rate)] = number + 1
            timings.append(WordTiming(text[begin:end], start, stop))
        for at in range(0, len(sound), 800):
            if self._dies_after is not None and self._sounded >= self._dies_after:
                await asyncio.sleep(3600.0 if self._stalls else 0.0)
                raise ProviderError("connection lost")
            self._sounded += 0.1
            frame = AudioFrame(sound[at : at + 800].tobytes(), self.sample_rate)
            yield SynthesizedAudio(frame, "" if at else text, timings if self._timed and not at else [])


async def written(walk: random.Random) -> AsyncIterator[str]:
    at = 0
    while at < len(TEXT):
        size = walk.randint(1, 9)
        yield TEXT[at : at + size]
        at += size
        await asyncio.sleep(walk.choice([0.0, 0.02, 0.3]))


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_no_word_is_said_twice_whenever_voices_die_and_none_is_lost_where_words_are_timed(
    seed: int, timed: bool
) -> None:
    walk = random.Random(seed)
    voices = [Numbers(walk, dies_after=after, timed=timed) for after in (walk.uniform(0, 7), walk.uniform(0, 3), None)]
    sound: list[SynthesizedAudio] = []

    async def main() -> None:
        async for audio in FallbackTTS(voices).stream(written(walk)):
            sound.append(audio)  # noqa: PERF401

    run_virtual(main())
    samples = np.concatenate([np.frombuffer(audio.frame.data, "<i2") for audio in sound])
    numbers = samples[samples != 0]
    assert (np.diff(numbers) >= 0).all()
    for number, count in zip(*np.unique(numbers, return_counts=True), strict=True):
        begin, end = word_spans(TEXT)[number - 1]
        assert count / 8_000 <= (end - begin) / 13.0 + 0.01
    said = set(numbers.tolist())
    assert said == set(range(1, len(BEGINS) + 1)) if timed else len(said) >= len(BEGINS) - 2
    assert "".join("".join(audio.text for audio in sound).split()) == "".join(TEXT.split())
