"""The recorded line: exact in time, caller left, agent right."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
import soundfile

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.testing import run_virtual
from antiphon.transports.recorder import RecordingOutput, Span, StereoRecorder

RATE = 24_000


def tone(duration: float, rate: int = RATE) -> AudioFrame:
    return AudioFrame.from_float32(np.full(round(duration * rate), 0.5, np.float32), rate)


def speaker() -> RecordingOutput:
    output = RecordingOutput(StereoRecorder(agent_rate=RATE))
    output.start()
    return output


def test_audio_plays_at_the_pace_of_time() -> None:
    async def scene() -> None:
        output = speaker()
        output.write(tone(1.0))
        assert output.played == 0.0
        await asyncio.sleep(0.25)
        assert output.played == pytest.approx(0.25, abs=1 / RATE)
        assert output.sounding
        await asyncio.sleep(2)
        assert output.played == 1.0
        assert not output.sounding

    run_virtual(scene())


def test_a_pause_holds_what_is_queued_and_resume_goes_on_there() -> None:
    async def scene() -> None:
        output = speaker()
        output.write(tone(1.0))
        await asyncio.sleep(0.5)
        output.pause()
        await asyncio.sleep(3)
        assert output.played == pytest.approx(0.5, abs=1 / RATE)
        output.resume()
        await asyncio.sleep(0.25)
        assert output.played == pytest.approx(0.75, abs=2 / RATE)

    run_virtual(scene())


def test_clear_returns_what_was_not_heard_ends_the_pause_and_notes_the_cut() -> None:
    async def scene() -> None:
        output = speaker()
        output.write(tone(1.0))
        await asyncio.sleep(0.4)
        output.pause()
        await asyncio.sleep(0.1)
        assert output.clear() == pytest.approx(0.6, abs=2 / RATE)
        (cut,) = output.cuts
        assert cut.at == pytest.approx(0.5)
        assert cut.lost == pytest.approx(0.6, abs=2 / RATE)
        output.write(tone(0.1))
        await asyncio.sleep(0.2)
        assert output.played == pytest.approx(0.5, abs=2 / RATE)

    run_virtual(scene())


def test_clearing_an_empty_loudspeaker_is_no_cut() -> None:
    async def scene() -> None:
        output = speaker()
        assert output.clear() == 0.0
        assert output.cuts == []

    run_virtual(scene())


def test_a_frame_of_another_rate_is_refused() -> None:
    async def scene() -> None:
        with pytest.raises(UsageError, match="expected mono at 24000 Hz"):
            speaker().write(tone(0.1, 16_000))

    run_virtual(scene())


def test_the_recording_has_each_sample_where_it_sounded(tmp_path: Path) -> None:
    async def scene() -> None:
        recorder = StereoRecorder(caller_rate=16_000, agent_rate=RATE)
        output = RecordingOutput(recorder)
        output.start()
        recorder.hear_caller(AudioFrame.silence(1.0, 16_000))
        recorder.hear_caller(tone(0.5, 16_000))
        await asyncio.sleep(2.0)
        output.write(tone(0.5))
        await asyncio.sleep(0.25)
        output.pause()
        await asyncio.sleep(1.0)
        output.resume()
        await asyncio.sleep(1.0)
        assert output.played == 0.5
        recorder.save(tmp_path / "new" / "call.wav")

    run_virtual(scene())
    samples, rate = soundfile.read(tmp_path / "new" / "call.wav", dtype="float32")
    assert rate == RATE
    assert samples.shape[1] == 2
    caller, agent = (np.flatnonzero(np.abs(samples[:, channel]) > 0.25) / RATE for channel in (0, 1))
    assert caller[0] == pytest.approx(1.0, abs=0.001)
    assert caller[-1] == pytest.approx(1.5, abs=0.001)
    first, second = agent[agent < 2.5], agent[agent > 2.5]
    assert first[0] == 2.0
    assert first[-1] == pytest.approx(2.25, abs=2 / RATE)
    assert second[0] == pytest.approx(3.25, abs=2 / RATE)
    assert second[-1] == pytest.approx(3.5, abs=2 / RATE)


def test_the_first_sound_after_a_time_passes_over_silence() -> None:
    recorder = StereoRecorder(agent_rate=RATE)
    recorder.hear_agent(0, AudioFrame.silence(0.5, RATE).data)
    recorder.hear_agent(RATE, tone(1.0).data)
    assert recorder.first_agent_sound(0.0) == 1.0
    assert recorder.first_agent_sound(1.5) == 1.5
    assert recorder.first_agent_sound(2.0) is None


def test_agent_spans_join_over_short_gaps() -> None:
    recorder = StereoRecorder(agent_rate=RATE)
    for start in (0.0, 0.6, 2.0):
        recorder.hear_agent(round(start * RATE), tone(0.5).data)
    assert recorder.agent_spans() == [Span(0.0, 1.1), Span(2.0, 2.5)]


def test_overlapping_agent_audio_is_an_error() -> None:
    recorder = StereoRecorder(agent_rate=RATE)
    recorder.hear_agent(0, tone(0.5).data)
    with pytest.raises(UsageError, match="at or after sample 12000, got 6000"):
        recorder.hear_agent(6000, tone(0.5).data)


def test_an_endless_call_is_recorded_up_to_the_limit() -> None:
    recorder = StereoRecorder(agent_rate=RATE, caller_rate=RATE, max_duration=1.0)
    for second in range(3):
        recorder.hear_caller(tone(1.0))
        recorder.hear_agent(second * RATE, tone(1.0).data)
    caller, agent = recorder.channels()
    assert np.count_nonzero(caller) == np.count_nonzero(agent) == RATE
