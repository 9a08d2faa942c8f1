"""Random calls, checked on their facts and on their sound: some every time, more where `ANTIPHON_WALKS` asks for them.

`python -m tests.situations.walks --only SEED/N` tells the story of a call that failed here.
"""

from __future__ import annotations

import os

import pytest

from antiphon.sim import Findings, seeds, stroll
from antiphon.sim.checks import GRACE, MAX_PAUSE, NOTICED_LATE, TOLERANCE
from antiphon.sim.walks import MAX_SILENCE
from tests.situations.figures import measured

CALLS = int(os.environ.get("ANTIPHON_WALKS", "150"))
FEW = 60
"""Calls for which more than one process is not worth while."""

pytestmark = pytest.mark.timeout(max(120, CALLS))  # whichever test comes first waits for all calls

ROW = f"random walks, {CALLS} calls"
REACHED = (
    "barge-ins",
    "barge-ins over sound",
    "calls, realtime, its turns",
    "calls, realtime, our turns",
    "calls, three models",
    "coughs",
    "goodbyes, then bye",
    "goodbyes, then more",
    "goodbyes, then silence",
    "hand-offs",
    "hums",
    "keys for a tool",
    "keys while a tool runs",
    "keys while the agent speaks",
    "pauses inside turns",
    "provider faults",
    "results delivered",
    "runs of announce",
    "runs of ask",
    "runs of dial",
    "runs of find",
    "runs of protected",
    "runs of read",
    "runs of transfer",
    "runs of work",
    "runs of write",
    "turns put while the agent speaks",
    "turns typed in a hand-off",
    "turns typed while a tool runs",
    "turns typed while the agent speaks",
)


@pytest.fixture(scope="module")
def found() -> Findings:
    """What was found in all the calls."""
    found = Findings()
    for stride in stroll(seeds("tests", CALLS), 1 if CALLS <= FEW else os.cpu_count() or 1):
        found.merge(stride.found)
    return found


def test_no_turn_is_lost(found: Findings) -> None:
    assert list(found.turns_lost) == []


def test_every_result_of_a_kept_call_is_told(found: Findings) -> None:
    assert list(found.results_never_voiced) == []


def test_no_result_is_told_twice(found: Findings) -> None:
    assert list(found.results_voiced_twice) == []


def test_the_line_is_never_silent_for_long_while_work_is_pending(found: Findings) -> None:
    assert list(found.silences) == []
    # Each silence is held to what is allowed for it; this is the most that any may be where no voice fails.
    most = MAX_SILENCE + GRACE + TOLERANCE + NOTICED_LATE
    measured(ROW, "longest silence with work pending", found.longest_silence, at_most=most)


def test_nothing_else_goes_wrong(found: Findings) -> None:
    assert list(found.other) == []


def test_every_barge_in_silences_the_agent_at_once(found: Findings) -> None:
    assert list(found.slow_pauses) == []
    measured(ROW, "slowest onset to pause", found.slowest_pause, at_most=MAX_PAUSE)


@pytest.mark.parametrize("what", REACHED)
def test_the_walks_reach(what: str, found: Findings) -> None:
    assert found.figures[what] > 0
