"""The microphone speaks on cue; the loudspeaker plays in time and remembers when it sounded."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.testing import (
    CallbackFailed,
    FakeMicrophone,
    FakeSpeaker,
    Sound,
    now,
    run_virtual,
    silence,
    speech,
    stereo,
)


def nothing() -> None:
    """Takes the end of input."""


def sounds(fake: FakeMicrophone | FakeSpeaker) -> list[tuple[float, float]]:
    return [(round(sound.start, 4), round(sound.end, 4)) for sound in fake.sounds]


# -- microphone


def test_a_script_is_given_out_in_frames_in_real_time() -> None:
    frames: list[tuple[float, int]] = []

    async def call() -> FakeMicrophone:
        mic = FakeMicrophone([silence(0.1), speech(0.06)])
        mic.start(lambda frame: frames.append((round(now(), 3), frame.samples_per_channel)), nothing)
        await asyncio.sleep(0.205)
        await mic.aclose()
        await asyncio.sleep(1)
        return mic

    mic = run_virtual(call())
    assert frames == [(round(0.02 * n, 3), 320) for n in range(1, 11)]
    assert sounds(mic) == [(0.1, 0.16)]


def test_told_to_speak_it_speaks_with_the_next_frame() -> None:
    async def call() -> tuple[float, FakeMicrophone]:
        mic = FakeMicrophone()
        mic.start(lambda _: None, nothing)
        await asyncio.sleep(1)
        await mic.speak(0.5)
        spoken = now()
        await mic.aclose()
        return spoken, mic

    spoken, mic = run_virtual(call())
    assert spoken == pytest.approx(1.5)
    assert sounds(mic) == [(1.0, 1.5)]


def test_the_end_of_the_call_is_told_once_and_no_frame_follows() -> None:
    ends: list[float] = []

    async def call() -> int:
        frames: list[AudioFrame] = []
        mic = FakeMicrophone([speech(0.1)])
        mic.start(frames.append, lambda: ends.append(now()))
        await mic.finished()
        mic.end()
        mic.end()
        await asyncio.sleep(1)
        assert mic.speak(1).cancelled()
        return len(frames)

    assert run_virtual(call()) == 5
    assert ends == [pytest.approx(0.1)]


def test_a_callback_that_raises_fails_the_test() -> None:
    async def call() -> None:
        mic = FakeMicrophone()
        mic.start(lambda _: [].pop(), nothing)
        await asyncio.sleep(0.05)
        await mic.aclose()

    with pytest.raises(CallbackFailed, match="pop from empty list"):
        run_virtual(call())


def test_a_microphone_refuses_another_rate_and_a_second_start() -> None:
    with pytest.raises(UsageError, match="8000 Hz"):
        FakeMicrophone([speech(1, 8_000)])

    async def call() -> None:
        mic = FakeMicrophone()
        mic.start(lambda _: None, nothing)
        with pytest.raises(UsageError, match="new one"):
            mic.start(lambda _: None, nothing)
        await mic.aclose()

    run_virtual(call())


# -- loudspeaker


def test_what_is_written_plays_in_real_time() -> None:
    async def call() -> tuple[float, float, FakeSpeaker]:
        speaker = FakeSpeaker()
        await asyncio.sleep(1)
        speaker.write(speech(0.5, 24_000))
        speaker.write(silence(0.25, 24_000))
        speaker.write(speech(0.25, 24_000))
        await asyncio.sleep(0.3)
        half = speaker.played
        await asyncio.sleep(2)
        return half, speaker.played, speaker

    half, whole, speaker = run_virtual(call())
    assert [half, whole, speaker.max_queued] == pytest.approx([0.3, 1.0, 1.0])
    assert sounds_of(speaker) == [(1.0, 1.5), (1.75, 2.0)]


def sounds_of(speaker: FakeSpeaker) -> list[tuple[float, float]]:
    return [(round(sound.start, 4), round(sound.end, 4)) for sound in speaker.track.sounds]


def test_audio_written_in_time_leaves_no_gap_and_audio_written_late_does() -> None:
    async def call() -> list[tuple[float, float]]:
        speaker = FakeSpeaker()
        for pause in (0.02, 0.02, 0.05, 0.02):
            speaker.write(speech(0.02, 24_000))
            await asyncio.sleep(pause)
        return sounds(speaker)

    assert run_virtual(call()) == [(0.0, 0.06), (0.09, 0.11)]


def test_a_pause_silences_at_once_and_loses_nothing() -> None:
    async def call() -> tuple[float, float, list[tuple[float, float]], list[str]]:
        speaker = FakeSpeaker()
        speaker.write(speech(1.0, 24_000))
        await asyncio.sleep(0.4)
        speaker.pause()
        speaker.pause()
        await asyncio.sleep(5)
        paused = speaker.played
        speaker.resume()
        await asyncio.sleep(5)
        return round(paused, 4), speaker.played, sounds(speaker), [what for _, what in speaker.log]

    assert run_virtual(call()) == (
        0.4,
        1.0,
        [(0.0, 0.4), (5.4, 6.0)],
        ["pause", "resume"],
    )


def test_clearing_throws_away_what_was_not_played_and_ends_a_pause() -> None:
    async def call() -> tuple[float, float, float, bool]:
        speaker = FakeSpeaker()
        speaker.write(speech(1.0, 24_000))
        await asyncio.sleep(0.25)
        speaker.pause()
        dropped = speaker.clear()
        speaker.write(speech(0.5, 24_000))
        await asyncio.sleep(1)
        return round(dropped, 4), round(speaker.played, 4), speaker.queued, speaker.paused

    assert run_virtual(call()) == (0.75, 0.75, 0.0, False)


def test_audio_written_during_a_pause_waits_for_its_end() -> None:
    async def call() -> list[tuple[float, float]]:
        speaker = FakeSpeaker()
        speaker.pause()
        speaker.write(speech(0.2, 24_000))
        await asyncio.sleep(1)
        speaker.resume()
        await asyncio.sleep(1)
        return sounds(speaker)

    assert run_virtual(call()) == [(1.0, 1.2)]


def test_a_loudspeaker_refuses_another_rate() -> None:
    async def call() -> None:
        with pytest.raises(UsageError, match="Resample it"):
            FakeSpeaker().write(speech(0.1, 16_000))

    run_virtual(call())


def test_a_closed_loudspeaker_is_silent() -> None:
    async def call() -> list[tuple[float, float]]:
        speaker = FakeSpeaker()
        await speaker.aclose()
        speaker.write(speech(0.1, 24_000))
        await asyncio.sleep(1)
        return sounds(speaker)

    assert run_virtual(call()) == []


ACTIONS = st.lists(
    st.sampled_from(["write", "pause", "resume", "clear"]) | st.floats(0.001, 0.7).map(lambda d: round(d, 4)),
    max_size=30,
)


@given(ACTIONS)
def test_every_sample_written_was_played_dropped_or_still_waits(actions: list[str | float]) -> None:
    async def call() -> None:
        speaker, written, dropped = FakeSpeaker(), 0.0, 0.0
        for action in actions:
            match action:
                case "write":
                    speaker.write(speech(0.25, 24_000))
                    written += 0.25
                case "pause":
                    speaker.pause()
                case "resume":
                    speaker.resume()
                case "clear":
                    dropped += speaker.clear()
                case float():
                    await asyncio.sleep(action)
        assert speaker.played + speaker.queued + dropped == pytest.approx(written)
        sample = 1 / 24_000  # where a sound was cut lies between two of them
        heard = sum(sound.duration for sound in speaker.sounds)
        assert heard == pytest.approx(speaker.played, abs=sample * (1 + len(speaker.sounds)))
        assert all(a.end <= b.start for a, b in itertools.pairwise(speaker.sounds))

    run_virtual(call())


# -- both sides


def test_the_seconds_that_sounded_between_two_times_are_counted() -> None:
    async def call() -> float:
        speaker = FakeSpeaker()
        speaker.write(speech(1.0, 24_000))
        await asyncio.sleep(2)
        assert speaker.sounds == [Sound(0.0, 1.0)]
        return speaker.track.sounding(0.75, 3.0)

    assert run_virtual(call()) == pytest.approx(0.25)


def test_the_recording_has_the_caller_left_and_the_agent_right() -> None:
    async def call() -> AudioFrame:
        mic, speaker = FakeMicrophone([silence(0.5), speech(0.5)]), FakeSpeaker()
        mic.start(lambda _: None, nothing)
        speaker.write(speech(0.25, 24_000))
        await mic.finished()
        await mic.aclose()
        assert speaker.played == 0.25
        return stereo(mic, speaker, duration=1.0)

    recording = run_virtual(call())
    assert (recording.num_channels, recording.sample_rate, recording.duration) == (2, 24_000, 1.0)
    samples = memoryview(recording.data).cast("h")
    left, right = samples[::2].tolist(), samples[1::2].tolist()
    assert max(map(abs, left[: 24_000 * 45 // 100])) < 200 < max(map(abs, left[24_000 * 55 // 100 :]))
    assert max(map(abs, right[:5_000])) > 200 > max(map(abs, right[6_000:]))
