"""Beeps are found in the sound of a telephone, and nothing else is taken for one."""

from __future__ import annotations

import itertools
import wave
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from antiphon.audio import AudioFrame, Resampler
from antiphon.errors import UsageError
from antiphon.toolkit import Tone, ToneDetector
from antiphon.transports.telephone.mulaw import decode, encode

RATE = 8_000
RECORDINGS = sorted((Path(__file__).parents[2] / "examples" / "recordings").glob("*.wav"))
Wave = NDArray[np.float64]


def beep(frequency: float, duration: float, level: float = 0.2, phase: float = 0.0) -> Wave:
    at = np.arange(round(duration * RATE)) / RATE
    edge = np.minimum(1.0, np.minimum(at, at[::-1]) / 0.005)
    return np.asarray(level * edge * np.sin(2 * np.pi * frequency * at + phase))


def quiet(seconds: float) -> Wave:
    return np.zeros(round(seconds * RATE))


def found(*pieces: Wave, noise: float = 0.0) -> list[Tone]:
    """The beeps in these, by a line that codes them, in frames of 20 ms."""
    sound = np.concatenate([quiet(0.1), *pieces, quiet(0.5)])
    sound = sound + np.random.default_rng(len(sound)).normal(0.0, noise or 1e-9, len(sound))
    data = decode(encode((np.clip(sound, -1, 1) * 32_767).astype("<i2").tobytes()))
    detector, tones = ToneDetector(), []
    for start in range(0, len(data), 320):
        tones += detector.push(AudioFrame(data[start : start + 320], RATE))
    return tones


@pytest.mark.parametrize("decibels", [99, 20, 12, 9])
def test_beeps_are_found_in_noise_at_every_pitch_and_length(decibels: int) -> None:
    for frequency, duration, level in itertools.product(
        (400, 440, 620, 850, 1000, 1400, 1800, 2000), (0.15, 0.3, 0.5, 1.5), (0.03, 0.2, 0.7)
    ):
        noise = level / 2**0.5 / 10 ** (decibels / 20)
        tones = found(beep(frequency, duration, level, phase=frequency * duration), noise=noise)
        assert len(tones) == 1, (frequency, duration, level)
        assert tones[0].frequency == pytest.approx(frequency, rel=0.03)
        assert tones[0].duration == pytest.approx(duration, abs=0.08)
        assert tones[0].ended == pytest.approx(0.1 + duration, abs=0.06)


def test_no_key_of_a_telephone_is_one() -> None:
    for low, high, duration, twist in itertools.product(
        (697, 770, 852, 941), (1209, 1336, 1477, 1633), (0.08, 0.2, 1.0), (0.5, 1.0, 2.0)
    ):
        assert found(beep(low, duration) + beep(high, duration, 0.2 * twist)) == [], (low, high, duration, twist)


def recording(path: Path, speed: float = 1.0) -> Wave:
    with wave.open(str(path)) as file:
        frame = AudioFrame(file.readframes(file.getnframes()), round(file.getframerate() * speed))
    resampler = Resampler(RATE)
    data = resampler.push(frame).data + resampler.flush().data
    return np.asarray(np.frombuffer(data, "<i2") / 32_768.0)


@pytest.mark.parametrize("speed", [0.8, 1.0, 1.3])
def test_no_voice_is_one_high_or_low(speed: float) -> None:
    sound = [recording(path, speed) for path in RECORDINGS]
    assert sum(map(len, sound)) > 60 * RATE
    assert [found(one) for one in sound] == [[]] * len(sound)


@pytest.mark.parametrize("gap", [0.05, 0.2, 1.0])
def test_a_beep_behind_a_voice_is_found(gap: float) -> None:
    assert [len(found(recording(path), quiet(gap), beep(1000, 0.4))) for path in RECORDINGS] == [1] * len(RECORDINGS)


def test_what_else_sounds_on_a_line_is_none() -> None:
    assert found(beep(950, 0.33), beep(1400, 0.33), beep(1800, 0.33)) == []  # before a network's notice
    assert found(beep(350, 3.0) + beep(440, 3.0)) == []  # a line that waits for a number
    assert found(beep(440, 2.0) + beep(480, 2.0)) == []  # ringing
    assert found(np.random.default_rng(1).normal(0.0, 0.1, 20 * RATE)) == []
    assert found(beep(1000, 3.0)) == []
    assert found(beep(1000, 0.06)) == []
    assert found(beep(1000, 0.3, level=0.001)) == []


def test_two_beeps_are_two_and_one_with_a_packet_lost_is_one() -> None:
    assert len(found(beep(950, 0.2), quiet(0.4), beep(950, 0.2))) == 2
    assert len(found(beep(950, 0.2), quiet(0.02), beep(950, 0.2))) == 1


def test_sound_that_cannot_be_looked_at_is_refused() -> None:
    with pytest.raises(UsageError, match="expected 4100 Hz or more, got 2000"):
        ToneDetector().push(AudioFrame.silence(0.1, 2_000))
    detector = ToneDetector()
    detector.push(AudioFrame.silence(0.1, RATE))
    with pytest.raises(UsageError, match="expected sound of 8000 Hz as before"):
        detector.push(AudioFrame.silence(0.1, 16_000))
