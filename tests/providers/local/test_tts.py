from __future__ import annotations

import asyncio

import numpy as np
import pytest

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.providers.local.tts import HibariTTS, SpeechCache
from antiphon.tts import SynthesizedAudio
from tests.providers.local.models import needs_hibari


def say(text: str, speed: float = 1.0) -> list[SynthesizedAudio]:
    async def main() -> list[SynthesizedAudio]:
        return [audio async for audio in HibariTTS(speed=speed).synthesize(text)]

    return asyncio.run(main())


def duration(audio: list[SynthesizedAudio]) -> float:
    return sum(piece.frame.duration for piece in audio)


@needs_hibari
def test_each_sentence_comes_with_its_text_once() -> None:
    audio = say("Thanks for calling. Dr. Lee is in at 9:00 AM.")
    assert [piece.text for piece in audio if piece.text] == ["Thanks for calling.", "Dr. Lee is in at 9:00 AM."]


@needs_hibari
def test_frames_are_a_tenth_of_a_second_at_24_khz() -> None:
    audio = say("Good morning.")
    assert {piece.frame.sample_rate for piece in audio} == {24000}
    assert all(piece.frame.duration == pytest.approx(0.1) for piece in audio[:-1])


@needs_hibari
def test_the_voice_is_audible_at_once() -> None:
    samples = say("Hello, how can I help?")[0].frame.to_float32()
    assert np.flatnonzero(np.abs(samples) > 10 ** (-45 / 20))[0] / 24000 < 0.05


@needs_hibari
def test_faster_speech_is_shorter() -> None:
    sentence = "The next free time is on Friday."
    assert duration(say(sentence, speed=1.5)) < 0.8 * duration(say(sentence))


@needs_hibari
def test_nothing_to_say_is_no_audio() -> None:
    assert say("") == []


def test_an_impossible_speed_is_refused() -> None:
    with pytest.raises(UsageError, match="got 3"):
        HibariTTS(speed=3)


def test_the_cache_forgets_what_was_not_used_for_longest() -> None:
    cache = SpeechCache(capacity=2.0)
    second = [AudioFrame.silence(1.0, 24000)]
    cache.put(("a", 1.0), second)
    cache.put(("b", 1.0), second)
    cache.get(("a", 1.0))
    cache.put(("c", 1.0), second)
    assert [cache.get((key, 1.0)) is not None for key in "abc"] == [True, False, True]
