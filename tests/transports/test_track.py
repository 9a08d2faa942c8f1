"""A channel on disk: answers are exact, memory does not grow with the call, and a bad disk stops no call."""

from __future__ import annotations

import tempfile
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile
import soxr
from hypothesis import given
from hypothesis import strategies as st

from antiphon.audio import AudioFrame
from antiphon.transports import track as tracks
from antiphon.transports.recorder import StereoRecorder
from antiphon.transports.track import AUDIBLE, BUCKET, Track

if TYPE_CHECKING:
    import pytest

RATE = 16_000
LOUD = round(AUDIBLE * 32768) + 100


def samples(track: Track) -> np.ndarray:
    blocks = list(track.blocks(track.end))
    return np.concatenate(blocks) if blocks else np.zeros(0, np.float32)


@given(
    pieces=st.lists(
        st.tuples(st.integers(0, 40_000), st.lists(st.sampled_from([0, 5, LOUD, -32768]), min_size=1, max_size=9)),
        max_size=12,
    ),
    since=st.integers(0, 90_000),
    length=st.integers(1, 40_000),
)
def test_what_is_told_of_the_sound_is_what_the_samples_say(
    pieces: list[tuple[int, list[int]]], since: int, length: int
) -> None:
    track, whole = Track(RATE), np.zeros(0, np.int32)
    for gap, values in pieces:
        sound = np.repeat(values, 100).astype("<i2")
        track.write(track.end + gap, sound.tobytes())
        whole = np.concatenate((whole, np.zeros(gap, np.int32), sound))
    assert np.array_equal(samples(track), (whole / 32768).astype(np.float32))
    loud = np.flatnonzero(np.abs(whole) > AUDIBLE * 32768)
    # Where sound lies on both sides of the question's edge, the answer may be off by one entry of the index.
    near = BUCKET * RATE
    after, first = loud[loud >= since], track.first_sound(since)
    assert (first is None) == (not after.size) or abs(loud - since).min() < near
    if first is not None and after.size:
        assert first == after[0] or abs(first - after[0]) < near
    within, last = loud[(loud >= since) & (loud < since + length)], track.last_sound(since, since + length)
    if last is not None and within.size:
        assert last == within[-1] or abs(last - within[-1]) < near
    size = round(near)
    padded = np.pad(np.abs(whole), (0, -len(whole) % size)).reshape(-1, size)
    assert track.peaks(1) == (padded.max(axis=1).tolist() if whole.size else [])


def test_sound_of_another_rate_is_written_as_if_it_were_converted_at_once(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    sound = random.uniform(-0.5, 0.5, 30 * RATE + 7).astype(np.float32)
    recorder = StereoRecorder(caller_rate=RATE, agent_rate=24_000)
    for part in np.array_split(sound, 1500):
        recorder.hear_caller(AudioFrame.from_float32(part, RATE))
    recorder.save(tmp_path / "call.wav")
    left = soundfile.read(tmp_path / "call.wav", dtype="float32")[0][:, 0]
    assert np.abs(left - soxr.resample(sound, RATE, 24_000, quality="HQ")[: len(left)]).max() < 5 / 32768


def test_a_long_call_is_recorded_and_filed_in_little_memory(tmp_path: Path) -> None:
    recorder = StereoRecorder(caller_rate=24_000, agent_rate=24_000)
    second = AudioFrame.from_float32(np.full(24_000, 0.25, np.float32), 24_000)
    tracemalloc.start()
    try:
        for number in range(17 * 60):
            recorder.hear_caller(second)
            if number % 3 == 0:
                recorder.hear_agent(number * 24_000, second.data)
        recorder.save(tmp_path / "call.wav")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert soundfile.info(tmp_path / "call.wav").frames == 17 * 60 * 24_000


def test_an_hour_of_silence_costs_no_memory() -> None:
    track = Track(RATE)
    track.write(0, bytes(200))
    tracemalloc.start()
    try:
        track.write(3600 * RATE, np.full(100, LOUD, "<i2").tobytes())
        track.peaks(1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000
    assert track.first_sound(0) == 3600 * RATE


def test_a_disk_that_fails_ends_the_recording_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    nowhere = tmp_path / "file"
    nowhere.touch()
    monkeypatch.setattr(tempfile, "tempdir", str(nowhere))
    monkeypatch.setattr(tracks, "SPOOL", tmp_path / "missing")
    track = Track(RATE)
    for second in range(5):
        track.write(second * RATE, np.full(RATE, LOUD, "<i2").tobytes())
    assert not samples(track).any()
    assert track.first_sound(RATE) == RATE
    assert [record.message for record in caplog.records if "not recorded any further" in record.message] != []
    assert len(caplog.records) == 1
