"""Whole calls with secrets: their digits are in nothing that a call leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.application.secret_calls import SAID, hold, leaks, wish

CALLS = 40


@pytest.mark.parametrize("seed", range(1, CALLS + 1))
def test_the_secret_of_a_call_reaches_its_tool_and_nothing_that_is_kept(seed: int, tmp_path: Path) -> None:
    left = hold(seed, tmp_path)
    assert left.got == left.made.number
    assert leaks(left) == []


def test_the_calls_are_of_all_kinds() -> None:
    assert len({(made.kind, made.by) for made in map(wish, range(1, CALLS + 1))}) == 6


def test_the_recording_has_what_is_no_secret(tmp_path: Path) -> None:
    seed = next(seed for seed in range(1, CALLS) if wish(seed).by == "voice")
    left = hold(seed, tmp_path)
    assert 1000 in left.loudness["caller"]  # "I", before anything was asked for
    assert max(left.loudness["agent"] - {SAID}) > 0
    assert left.voiced > 0
