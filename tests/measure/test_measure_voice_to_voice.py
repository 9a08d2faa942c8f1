from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from .scripts import load

measure = load("measure_voice_to_voice")

RATE = 8_000


def channel(*stretches: tuple[float, float], level_db: float = -20.0, seconds: float = 12.0) -> npt.NDArray[np.float64]:
    """A channel that sounds from start to end (seconds) of each stretch, over noise at -60 dBFS."""
    samples = np.random.default_rng(1).uniform(-0.001, 0.001, round(seconds * RATE))
    for start, end in stretches:
        samples[round(start * RATE) : round(end * RATE)] = 10 ** (level_db / 20)
    return samples


def turns(caller: list[tuple[float, float]], agent: list[tuple[float, float]], **rules: float) -> list[Any]:
    found: list[Any] = measure.turns(channel(*caller), channel(*agent), RATE, measure.Rules(**rules))
    return found


def latencies(found: list[Any]) -> list[float | None]:
    return [None if t.latency is None else round(t.latency) for t in found]


def test_the_wait_is_from_the_last_caller_sample_to_the_first_agent_sample() -> None:
    (turn,) = turns(caller=[(1.0, 2.0)], agent=[(2.75, 4.0)])
    assert turn.latency == pytest.approx(750, abs=0.2)
    assert (turn.barge_in, turn.begun_over, turn.talked_over, turn.cut_in) == (False, False, False, False)


def test_sound_below_the_threshold_is_silence() -> None:
    quiet = channel((1.0, 2.0), level_db=-46.0)
    assert measure.turns(quiet, channel((3.0, 4.0)), RATE) == []
    assert len(measure.turns(quiet, channel((3.0, 4.0)), RATE, measure.Rules(threshold_db=-50.0))) == 1


def test_a_pause_shorter_than_the_turn_gap_does_not_part_a_turn() -> None:
    assert latencies(turns(caller=[(1.0, 2.0), (2.9, 4.0)], agent=[(4.5, 6.0)])) == [500]


def test_a_longer_pause_parts_turns_and_the_first_has_no_answer() -> None:
    assert latencies(turns(caller=[(1.0, 2.0), (3.3, 4.0)], agent=[(4.5, 6.0)])) == [None, 500]


def test_the_turn_gap_can_be_set() -> None:
    assert latencies(turns(caller=[(1.0, 2.0), (2.9, 4.0)], agent=[(4.5, 6.0)], turn_gap=0.5)) == [None, 500]


def test_an_agent_that_begins_in_a_pause_ends_the_turn_there_and_is_marked() -> None:
    first, second = turns(caller=[(1.0, 2.0), (2.9, 4.0)], agent=[(2.4, 3.0), (4.6, 6.0)])
    assert (first.cut_in, second.cut_in) == (True, False)
    assert latencies([first, second]) == [400, 600]
    assert second.barge_in


def test_a_turn_that_begins_over_the_agent_is_a_barge_in_and_waits_for_what_comes_after_it() -> None:
    _, barging = turns(caller=[(1.0, 2.0), (4.0, 5.0)], agent=[(2.5, 4.2), (5.8, 7.0)])
    assert barging.barge_in
    assert not barging.talked_over
    assert latencies([barging]) == [800]


def test_an_agent_that_talks_on_over_the_end_of_a_turn_does_not_answer_by_it() -> None:
    (turn,) = turns(caller=[(2.0, 3.0)], agent=[(1.0, 4.0), (4.5, 5.0)])
    assert turn.talked_over
    assert latencies([turn]) == [1500]


def test_an_agent_that_begins_over_the_caller_and_stops_is_marked() -> None:
    (turn,) = turns(caller=[(1.0, 3.0)], agent=[(2.0, 2.2), (3.6, 5.0)])
    assert (turn.begun_over, turn.talked_over) == (True, False)
    assert latencies([turn]) == [600]


def test_short_gaps_inside_the_agents_speech_are_not_new_answers() -> None:
    (turn,) = turns(caller=[(2.0, 3.0)], agent=[(1.0, 2.9), (3.1, 4.0)])
    assert turn.talked_over
    assert turn.latency is None


def test_an_answer_belongs_to_the_turn_before_it_only() -> None:
    found = turns(caller=[(1.0, 2.0), (4.0, 5.0), (7.0, 8.0)], agent=[(2.5, 3.5), (8.7, 9.0)])
    assert latencies(found) == [500, None, 700]


def test_the_summary_gives_median_p95_and_counts() -> None:
    found = turns(caller=[(1.0, 2.0), (4.0, 5.0), (7.0, 8.0)], agent=[(2.5, 3.5), (5.7, 6.0)])
    total = measure.summary(found)
    assert (total["turns"], total["answered"], total["unanswered"]) == (3, 2, 1)
    assert total["median_ms"] == pytest.approx(600, abs=0.2)
    assert total["p95_ms"] == pytest.approx(690, abs=0.2)


def test_a_recording_without_answers_has_no_median() -> None:
    assert measure.summary(turns(caller=[(1.0, 2.0)], agent=[]))["median_ms"] is None


def test_the_command_measures_files_and_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    soundfile = pytest.importorskip("soundfile")
    path = tmp_path / "call.wav"
    soundfile.write(path, np.stack([channel((1.0, 2.0)), channel((2.75, 4.0))], axis=1), RATE, subtype="PCM_16")
    measure.main([str(path), "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["summary"]["median_ms"] == pytest.approx(750, abs=0.2)
    assert printed["files"][str(path)][0]["latency_ms"] == pytest.approx(750, abs=0.2)
    measure.main([str(path)])
    assert "median 750 ms" in capsys.readouterr().out


def test_a_mono_file_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    path = tmp_path / "mono.wav"
    soundfile.write(path, channel((1.0, 2.0)), RATE, subtype="PCM_16")
    with pytest.raises(SystemExit, match="expected 2 channels"):
        measure.main([str(path)])
