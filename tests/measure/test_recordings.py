from __future__ import annotations

import json
from itertools import pairwise

import pytest

from .scripts import RECORDINGS, load

np = pytest.importorskip("numpy")
soundfile = pytest.importorskip("soundfile")
measure = load("measure_voice_to_voice")

DEMO = json.loads((RECORDINGS / "demo.json").read_text("utf-8"))
PAUSES = json.loads((RECORDINGS / "pauses.json").read_text("utf-8"))


@pytest.mark.parametrize("entry", DEMO + PAUSES, ids=lambda entry: entry["file"])
def test_each_recording_is_small_mono_and_neither_silent_nor_clipped(entry: dict[str, str]) -> None:
    path = RECORDINGS / entry["file"]
    info = soundfile.info(path)
    assert (info.samplerate, info.channels, info.subtype) == (16_000, 1, "PCM_16")
    assert path.stat().st_size < 150_000
    peak = np.abs(soundfile.read(path)[0]).max()
    assert 0.1 < peak < 1.0


def test_there_are_twenty_pauses_of_six_to_nine_tenths_of_a_second() -> None:
    assert len(PAUSES) == 20
    assert all(0.6 <= entry["pause_seconds"] <= 0.9 for entry in PAUSES)
    assert len({entry["voice"] for entry in PAUSES}) >= 10


@pytest.mark.parametrize("entry", PAUSES, ids=lambda entry: entry["file"])
def test_the_longest_silence_of_a_pause_call_is_where_the_manifest_says(entry: dict[str, float]) -> None:
    samples, rate = soundfile.read(RECORDINGS / str(entry["file"]))
    pieces = measure.sounds(samples, rate, -45.0, gap=0.01)
    length, start = max((after.start - before.end, before.end) for before, after in pairwise(pieces))
    assert length == pytest.approx(entry["pause_seconds"], abs=0.02)
    assert start == pytest.approx(entry["pause_start"], abs=0.02)
