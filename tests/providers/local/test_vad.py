from __future__ import annotations

import asyncio

import numpy as np
import pytest

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.providers.local.tts import HibariTTS
from antiphon.providers.local.vad import Hysteresis, SileroVAD, VADOptions
from antiphon.vad import SpeechEnded, SpeechStarted, VADEvent
from tests.providers.local.models import needs_hibari, needs_silero
from tests.providers.local.speech import noise, telephone

WINDOW = 0.032


def transitions(*runs: tuple[float, int], options: VADOptions | None = None) -> list[VADEvent]:
    """What the hysteresis makes of runs of (probability, windows)."""
    hysteresis = Hysteresis(options or VADOptions())
    events = [hysteresis.push(probability) for probability, count in runs for _ in range(count)]
    return [event for event in [*events, hysteresis.end()] if event]


def test_speech_is_reported_with_the_times_of_the_voice_itself() -> None:
    started, ended = transitions((0.1, 10), (0.9, 20), (0.1, 20))
    assert isinstance(started, SpeechStarted)
    assert started.at == pytest.approx(10 * WINDOW)
    assert isinstance(ended, SpeechEnded)
    assert ended.at == pytest.approx(30 * WINDOW)


def test_a_click_is_not_speech() -> None:
    assert transitions((0.1, 10), (0.9, 1), (0.1, 20), (0.9, 1), (0.1, 20)) == []


def test_a_short_gap_does_not_end_speech() -> None:
    assert len(transitions((0.9, 20), (0.1, 5), (0.9, 20), (0.1, 20))) == 2


def test_a_hesitating_voice_does_not_end_speech() -> None:
    assert len(transitions((0.9, 20), (0.4, 30), (0.1, 20))) == 2


def test_a_longer_silence_ends_speech_and_it_may_begin_again() -> None:
    kinds = [type(event) for event in transitions((0.9, 20), (0.1, 9), (0.9, 20), (0.1, 9))]
    assert kinds == [SpeechStarted, SpeechEnded, SpeechStarted, SpeechEnded]


def test_the_end_of_the_input_ends_speech() -> None:
    ended = transitions((0.9, 10))[-1]
    assert isinstance(ended, SpeechEnded)
    assert ended.at == pytest.approx(10 * WINDOW)


def test_a_release_above_the_threshold_is_refused() -> None:
    with pytest.raises(UsageError, match=r"release=0\.6"):
        VADOptions(threshold=0.5, release=0.6)


def speech() -> AudioFrame:
    """A second of silence, a sentence, a second of silence."""

    async def main() -> bytes:
        return b"".join([audio.frame.data async for audio in HibariTTS().synthesize("We open at nine on Saturday.")])

    silence = AudioFrame.silence(1.0, 24000).data
    return AudioFrame(silence + asyncio.run(main()) + silence, 24000)


def listen(sound: AudioFrame, frame: float = 0.02) -> list[VADEvent]:
    stream = SileroVAD().stream()
    step = 2 * round(frame * sound.sample_rate)
    pieces = [AudioFrame(sound.data[at : at + step], sound.sample_rate) for at in range(0, len(sound.data), step)]
    return [event for piece in pieces for event in stream.push(piece)] + list(stream.end())


@needs_silero
@needs_hibari
@pytest.mark.parametrize("line", ["clean", "telephone"])
def test_a_sentence_is_heard_where_it_is(line: str) -> None:
    sound = speech()
    started, ended = listen(telephone(sound) if line == "telephone" else sound)
    assert isinstance(started, SpeechStarted)
    assert started.at == pytest.approx(1.0, abs=0.2)
    assert isinstance(ended, SpeechEnded)
    assert ended.at == pytest.approx(sound.duration - 1.2, abs=0.2)


@needs_silero
@needs_hibari
def test_the_size_of_frames_does_not_matter() -> None:
    sound = speech()
    assert listen(sound, 0.02) == listen(sound, 0.1)


@needs_silero
def test_silence_and_noise_are_not_speech() -> None:
    hiss = np.random.default_rng(1).standard_normal(5 * 16000).astype(np.float32) * 0.05
    for sound in (np.zeros(5 * 16000, np.float32), noise(5 * 16000, 0.05), hiss):
        assert listen(AudioFrame.from_float32(sound, 16000)) == []


@needs_silero
def test_prewarming_loads_the_model() -> None:
    asyncio.run(SileroVAD().prewarm())
