from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .scripts import RECORDINGS, load

whole_turns = load("whole_turns")

ENTRY = {"before": "I'd like to come on", "after": "Friday at two thirty.", "expected_turns": 1}


def call(*texts: str) -> dict[str, Any]:
    """What the command line prints for a call in which the caller said `texts`."""
    turns = [{"role": "assistant", "text": "Hello, how can I help you?"}]
    for text in texts:
        turns += [{"role": "user", "text": text}, {"role": "assistant", "text": "Certainly."}]
    return {"turns": turns}


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        (["I'd like to come on Friday at 2:30."], "whole"),
        (["I like to comb on, frying at two thirty"], "whole"),
        (["I'd like to come on.", "Friday at two thirty."], "split"),
        (["I'd like to come on."], "cut"),
        (["Friday at two thirty."], "cut"),
        ([], "lost"),
        ([""], "lost"),
    ],
)
def test_a_turn_is_whole_if_both_halves_came_as_one(texts: list[str], verdict: str) -> None:
    assert whole_turns.judge("pause-01", ENTRY, call(*texts)).verdict == verdict


def test_figures_stand_for_number_words() -> None:
    entry = {"before": "Can you book me in at", "after": "eleven thirty?", "expected_turns": 1}
    assert whole_turns.judge("p", entry, call("Can you book me in at 11:30?")).verdict == "whole"
    assert whole_turns.judge("p", entry, call("Can you book me in at")).verdict == "cut"


def test_the_command_prints_the_share_and_fails_below_what_is_required(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "pauses.json"
    manifest.write_text(json.dumps([{**ENTRY, "file": "pause-01.wav"}, {**ENTRY, "file": "pause-02.wav"}]))
    (tmp_path / "pause-01.json").write_text(json.dumps(call("I'd like to come on Friday")))
    (tmp_path / "pause-02.json").write_text(json.dumps(call("I'd like to come on", "Friday")))
    files = [str(tmp_path / "pause-01.json"), str(tmp_path / "pause-02.json")]
    whole_turns.main([*files, "--manifest", str(manifest), "--at-least", "0.5"])
    assert "1 of 2 turns whole (50%)" in capsys.readouterr().out
    with pytest.raises(SystemExit) as exit_info:
        whole_turns.main([*files, "--manifest", str(manifest), "--at-least", "0.95"])
    assert exit_info.value.code == 1


def test_every_shipped_entry_would_be_whole_if_heard_right_and_split_if_not() -> None:
    for entry in json.loads((RECORDINGS / "pauses.json").read_text("utf-8")):
        assert whole_turns.judge(entry["file"], entry, call(entry["text"])).verdict == "whole"
        assert whole_turns.judge(entry["file"], entry, call(entry["before"], entry["after"])).verdict == "split"
        assert whole_turns.judge(entry["file"], entry, call(entry["before"])).verdict == "cut"


def test_a_file_without_a_call_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pause-01.json"
    path.write_text("")
    with pytest.raises(SystemExit, match=r"pause-01.json: expected the JSON of a call"):
        whole_turns.main([str(path), "--manifest", str(RECORDINGS / "pauses.json")])
