"""The fuzzer as part of the test suite: a short run every time, a long one where `ANTIPHON_FUZZ_FACTS` asks for it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from antiphon.core.commands import Record
from antiphon.replay import read
from tests.core.fuzz.fuzz import Failed, Session, check_journal, commands_of, fuzz, run_session, tell
from tests.core.fuzz.known import KNOWN
from tests.core.fuzz.mutate import stale
from tests.core.fuzz.promises.promise import Violation
from tests.core.fuzz.watch import Watch

FACTS = int(os.environ.get("ANTIPHON_FUZZ_FACTS", "50000"))

pytestmark = pytest.mark.timeout(max(120, FACTS // 1500))  # whichever test comes first waits for all facts

REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.jsonl"))

MECHANISMS = (
    "adopted", "adopted after its end", "cancelled run", "call without tools", "close during a tool",
    "cut while playing", "delivery", "fallback line", "failure line", "false_interruption", "goodbye",
    "goodbye taken back", "hand-off", "hand-off of an orphan", "kept in the background", "orphaned", "paused",
    "played without a gap", "recorded cut", "recorded finished", "recorded update", "replayed", "resumed",
    "stale prediction", "stalled", "step limit hit", "task", "turn answered", "turn carried", "turn vetoed",
    "went to the background", "asked ahead", "away", "discarded", "filler discarded", "filler of a tool", "filler said",
    "filler ended for something better", "offer", "played first", "released", "requested filler", "starved",
    "turn too long", "no sound", "said once more", "adopted by the task it waits for",
    "notice heard", "notice said again", "found to have happened", "found not to have happened",
)  # fmt: skip


@pytest.fixture(scope="module")
def counters() -> Counter[str]:
    """What occurred in a run of the fuzzer."""
    counters: Counter[str] = Counter()
    try:
        fuzz(seed="suite", facts=FACTS, counters=counters, known=KNOWN)
    except Failed as failed:
        pytest.fail(f"{tell(failed.session)}\n{failed}", pytrace=False)
    return counters


def test_no_promise_is_broken_by_any_interleaving_of_facts(counters: Counter[str]) -> None:
    assert counters["sessions"] > 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_fuzzer_reaches(mechanism: str, counters: Counter[str]) -> None:
    assert counters[mechanism] > 0


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_a_recorded_defect_does_not_come_back(path: Path) -> None:
    check_journal(read(path))


def test_a_session_is_the_same_whenever_it_is_run() -> None:
    first, second = (run_session("tests/7", Counter()).journal.entries for _ in range(2))

    assert [one.at for one in first] == [one.at for one in second]
    assert len(first) > 20


def test_a_journal_survives_being_written_down(tmp_path: Path) -> None:
    journal = run_session("tests/11", Counter()).journal
    journal.save(tmp_path / "journal.jsonl")

    again = read(tmp_path / "journal.jsonl")

    assert again == journal
    assert [len(commands) for commands in commands_of(again)] == [len(commands) for commands in commands_of(journal)]


def test_what_is_recorded_twice_is_noticed() -> None:
    session = _one_with(Record)
    watch = Watch(session.journal.head.options)

    with pytest.raises(Violation, match=r"twice|stands behind call|stands beside call"):
        for entry, commands in zip(session.journal.entries, session.commands, strict=True):
            twice = [one for command in commands for one in ([command] * 2 if type(command) is Record else [command])]
            watch.observe(entry.at, entry.fact, twice, entry.at + 1.0, idle=False)


def _one_with(kind: type) -> Session:
    for number in range(200):
        session = run_session(f"tests/{number}", Counter())
        if any(type(one) is kind for commands in session.commands for one in commands):
            return session
    raise AssertionError(f"no session with {kind.__name__}")


def test_every_break_of_the_proof_still_applies_to_the_core() -> None:
    assert stale() == []
