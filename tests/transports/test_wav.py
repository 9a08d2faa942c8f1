"""A caller made of recordings takes turns as a person would."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import soundfile

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.testing import run_virtual, wait_until
from antiphon.transports.recorder import RecordingOutput, StereoRecorder
from antiphon.transports.wav import FRAME, Cue, Hearing, RecordedCaller, read_recording


def heard(now: float, *, busy: bool = False, sounding: bool = False, onset: float | None = None) -> Hearing:
    return Hearing(now, busy, sounding, onset)


# -- when a turn begins


def test_a_turn_begins_a_moment_after_the_agent_was_heard_and_has_finished() -> None:
    cue = Cue(1.0, gap=0.3)
    assert cue.begins(heard(1.5)) is None
    assert cue.begins(heard(2.0, busy=True, sounding=True, onset=2.0)) is None
    assert cue.begins(heard(3.0, onset=2.0)) is None
    assert cue.begins(heard(3.2, onset=2.0)) is None
    assert cue.begins(heard(3.31, onset=2.0)) == 3.31


def test_a_turn_waits_while_the_agent_is_busy_in_silence() -> None:
    cue = Cue(0.0, gap=0.3)
    assert cue.begins(heard(2.0, sounding=True, onset=1.0)) is None
    for tenth in range(21, 60):
        assert cue.begins(heard(tenth / 10, busy=True, onset=1.0)) is None


def test_ten_seconds_of_silence_begin_the_turn_whatever_the_agent_does() -> None:
    cue = Cue(1.0)
    assert cue.begins(heard(10.9, busy=True)) is None
    assert cue.begins(heard(11.0, busy=True)) == 11.0


def test_the_ten_seconds_count_from_the_agents_last_sound() -> None:
    cue = Cue(0.0)
    assert cue.begins(heard(4.0, busy=True, sounding=True, onset=1.0)) is None
    assert cue.begins(heard(13.9, busy=True, onset=1.0)) is None
    assert cue.begins(heard(14.0, busy=True, onset=1.0)) == 14.0


def test_the_first_turn_does_not_wait_for_a_greeting() -> None:
    cue = Cue(0.0, answer=False, gap=0.3)
    assert cue.begins(heard(0.1)) is None
    assert cue.begins(heard(0.4)) == 0.4


def test_a_barge_in_begins_so_many_seconds_after_the_agents_first_sound() -> None:
    cue = Cue(5.0, barge_in=1.5)
    assert cue.begins(heard(6.0)) is None
    assert cue.begins(heard(7.4, sounding=True, onset=6.0)) is None
    assert cue.begins(heard(7.51, sounding=True, onset=6.0)) == 7.5


def test_a_barge_in_still_comes_when_the_agent_was_brief() -> None:
    cue = Cue(5.0, barge_in=3.0)
    assert cue.begins(heard(8.0, onset=6.0)) is None
    assert cue.begins(heard(9.0, onset=6.0)) == 9.0


def test_a_barge_in_on_an_agent_that_stays_silent_comes_after_ten_seconds() -> None:
    cue = Cue(5.0, barge_in=1.0)
    assert cue.begins(heard(14.9)) is None
    assert cue.begins(heard(15.0)) == 15.0


# -- the caller on the line

TURN = AudioFrame.from_float32(np.full(16_000, 0.5, np.float32), 16_000)


def call(
    turns: int, answers: Mapping[int, float], barge_in: Mapping[int, float] | None = None
) -> tuple[RecordedCaller, StereoRecorder, list[AudioFrame]]:
    """A call with turns of one second; the agent answers turn n half a second later, for answers[n] seconds."""
    recorder = StereoRecorder()
    output = RecordingOutput(recorder)
    caller = RecordedCaller([TURN] * turns, recorder, output, busy=lambda: False, barge_in=barge_in)
    frames: list[AudioFrame] = []

    def due(number: int) -> bool:
        return len(caller.spoken) >= number and recorder.now() >= caller.spoken[number - 1].end + 0.5

    async def agent() -> None:
        for number, duration in answers.items():
            await wait_until(partial(due, number), timeout=60)
            output.write(AudioFrame.from_float32(np.full(round(duration * 24_000), 0.5, np.float32), 24_000))

    async def scene() -> None:
        ended = asyncio.Event()
        output.start()
        caller.start(frames.append, ended.set)
        speaking = asyncio.create_task(agent())
        await ended.wait()
        await caller.hung_up()
        await caller.aclose()
        await speaking
        assert recorder.now() == pytest.approx(len(frames) * FRAME, abs=2 * FRAME)

    run_virtual(scene(), timeout=120)
    return caller, recorder, frames


def test_turns_follow_the_answers_and_silence_lies_between() -> None:
    caller, recorder, frames = call(2, {1: 2.0, 2: 1.0})
    first, second = caller.spoken
    answer = recorder.agent_spans()[0]
    assert answer.start == pytest.approx(first.end + 0.5, abs=0.02)
    assert second.start == pytest.approx(answer.end + 0.3, abs=0.05)
    line = np.concatenate([frame.to_float32() for frame in frames])
    assert {frame.duration for frame in frames} == {FRAME}
    sound = np.flatnonzero(line) / 16_000
    assert sound[0] == pytest.approx(first.start, abs=1 / 16_000)
    assert np.count_nonzero(line) == 2 * len(TURN.data) // 2
    assert not line[round(first.end * 16_000) + 1 : round(second.start * 16_000)].any()


def test_the_caller_hangs_up_when_the_last_answer_has_ended() -> None:
    _, recorder, frames = call(1, {1: 2.0})
    assert len(frames) * FRAME == pytest.approx(recorder.agent_spans()[-1].end + 0.3, abs=0.05)


def test_a_barge_in_is_exact_to_the_sample() -> None:
    caller, recorder, _ = call(2, {1: 3.0, 2: 0.5}, barge_in={2: 1.005})
    onset = recorder.first_agent_sound(caller.spoken[0].end)
    assert onset is not None
    assert caller.spoken[1].start == pytest.approx(onset + 1.005, abs=1 / 16_000)


def test_a_caller_who_gets_no_answer_goes_on_after_ten_seconds() -> None:
    caller, _, _ = call(2, {2: 0.5})
    assert caller.spoken[1].start == pytest.approx(caller.spoken[0].end + 10, abs=0.05)


def test_a_barge_in_of_a_turn_that_is_not_there_is_an_error() -> None:
    recorder = StereoRecorder()
    with pytest.raises(UsageError, match="expected a turn from 1 to 1, got 3"):
        RecordedCaller([TURN], recorder, RecordingOutput(recorder), busy=lambda: False, barge_in={3: 1.0})


def test_closing_stops_the_frames() -> None:
    async def scene() -> None:
        recorder = StereoRecorder()
        frames: list[AudioFrame] = []
        caller = RecordedCaller([TURN], recorder, RecordingOutput(recorder), busy=lambda: False)
        caller.start(frames.append, lambda: None)
        await asyncio.sleep(0.5)
        await caller.aclose()
        count = len(frames)
        await asyncio.sleep(0.5)
        assert len(frames) == count > 0

    run_virtual(scene())


def test_what_breaks_the_line_is_raised_to_whoever_waits_for_the_caller() -> None:
    async def scene() -> None:
        recorder = StereoRecorder()
        caller = RecordedCaller([TURN], recorder, RecordingOutput(recorder), busy=lambda: False)

        def broken(frame: AudioFrame) -> None:
            raise LookupError("broken")

        caller.start(broken, lambda: None)
        with pytest.raises(LookupError, match="broken"):
            await caller.hung_up()

    run_virtual(scene())


# -- recordings


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 44_100, 48_000])
@pytest.mark.parametrize("channels", [1, 2])
def test_any_wav_becomes_mono_at_the_wanted_rate(tmp_path: Path, rate: int, channels: int) -> None:
    path = tmp_path / "turn.wav"
    wave = 0.5 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)
    soundfile.write(path, np.stack([wave] * channels, axis=1), rate)
    frame = read_recording(path)
    assert (frame.sample_rate, frame.num_channels) == (16_000, 1)
    assert frame.duration == pytest.approx(1.0, abs=0.001)
    spectrum = np.abs(np.fft.rfft(frame.to_float32()))
    assert np.argmax(spectrum) * 16_000 / frame.samples_per_channel == pytest.approx(440, abs=2)


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_24", "FLOAT", "ULAW"])
def test_any_sample_format_is_read(tmp_path: Path, subtype: str) -> None:
    path = tmp_path / "turn.wav"
    soundfile.write(path, np.full(1600, 0.5), 16_000, subtype=subtype)
    assert read_recording(path).to_float32().max() == pytest.approx(0.5, abs=0.02)


def test_a_missing_recording_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such recording: .*none\.wav"):
        read_recording(tmp_path / "none.wav")


def test_a_file_that_is_no_audio_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "text.wav"
    path.write_text("this is not audio")
    with pytest.raises(UsageError, match=r"text\.wav cannot be read as audio") as raised:
        read_recording(path)
    assert "\n" not in str(raised.value)


def test_an_empty_recording_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.wav"
    soundfile.write(path, np.zeros(0), 16_000)
    with pytest.raises(UsageError, match="holds no sound"):
        read_recording(path)


def test_a_rate_out_of_range_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "fast.wav"
    soundfile.write(path, np.zeros(960), 96_000)
    with pytest.raises(UsageError, match="expected 8 to 48 kHz, got 96000 Hz"):
        read_recording(path)


def test_spoken_tells_when_each_turn_sounded() -> None:
    caller, _, _ = call(1, {})
    (turn,) = caller.spoken
    assert turn.start == pytest.approx(0.3, abs=0.05)
    assert turn.end == turn.start + 1.0
