"""`antiphon replay`: from a call that a customer complained of to a test of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.records import Record
from tests.cli.test_main import refused, run
from tests.rerun.made import EXAMPLES, KINDS, record_of_call, scenarios_of

RECEPTIONIST = EXAMPLES / "receptionist.py"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an agent file, and its records."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "agent.py").write_text(RECEPTIONIST.read_text(encoding="utf-8"), encoding="utf-8")
    scenario = next(one for one in scenarios_of(KINDS[0]) if one.name == "books a free slot")
    record_of_call(folder / "agent.py", scenario, place=folder / ".antiphon" / "records")
    return folder


@pytest.fixture
def record(place: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    from antiphon.records.places import place_of

    monkeypatch.chdir(place)
    (name,) = (known := place_of(place / ".antiphon" / "records")).names()
    return known.record(name)


def test_a_call_is_found_by_the_beginning_of_its_id(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", record.id[:8]) == 0
    assert "Equal:" in capsys.readouterr().out


def test_a_record_is_found_by_its_path(record: Record, place: Path) -> None:
    folder = place / ".antiphon" / "records" / record.name
    assert run("replay", folder, "agent.py") == 0
    assert run("replay", folder / "record.json", place / "agent.py") == 0


def test_a_changed_agent_ends_with_1_and_both_sides(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    Path("changed.py").write_text(RECEPTIONIST.read_text().replace("a friendly", "a grumpy"))
    assert run("replay", record.id, "--agent", "changed.py") == 1
    shown = capsys.readouterr().out
    assert "Parts at" in shown and "the instructions" in shown and "friendly" in shown and "grumpy" in shown
    assert "StandInLLM" in shown and "\x1b[" not in shown


def test_it_is_told_as_data(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    Path("changed.py").write_text(RECEPTIONIST.read_text().replace("a friendly", "a grumpy"))
    assert run("replay", record.id, "--agent", "changed.py", "--no-llm", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["equal"], told["divergence"]["step"], told["divergence"]["number"]) == (False, "request", 1)
    assert "no model was named" in told["stopped"]
    assert run("replay", record.id, "--json") == 0
    assert json.loads(capsys.readouterr().out)["equal"] is True


def test_a_test_is_written_that_fails_as_the_call_failed(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = 'tool book_appointment(time="4:30 PM")'
    assert run("replay", record.id, "--to-test", "test_time.py", "--expect", wanted) == 0
    assert "It fails" in capsys.readouterr().out
    tried = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_time.py"], capture_output=True, text=True
    )
    assert tried.returncode == 1, tried.stdout + tried.stderr
    assert "expected tool book_appointment(time='4:30 PM'), but" in tried.stdout


def test_a_test_is_not_overwritten_unasked(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    Path("test_mine.py").write_text("")
    assert "is there already" in refused(
        capsys, "replay", record.id, "--to-test", "test_mine.py", "--expect", "says hi"
    )
    assert run("replay", record.id, "--to-test", "test_mine.py", "--expect", "says hi", "--force") == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], "there is no record of a call 'nobody'"),
        (["CALL", "none.py"], "no such agent file: none.py"),
        (["CALL", "--records", "elsewhere"], "there are no records in elsewhere"),
        (["CALL", "--to-test", "test_x.py"], "say what a test shall expect"),
        (["CALL", "--to-test", "test_x.py", "--finding", "1"], "--finding 1: expected 1 to 0"),
        (["CALL", "--to-test", "test_x.py", "--expect", "tool book("], "expected a call such as"),
        (["CALL", "--to-test", "test_x.py", "--expect", "sings"], "expected 'tool NAME"),
        (["CALL", "--to-test", "test_x.py", "--expect", "says ("], "no regular expression"),
        (["CALL", "--to-test", "no/such/test_x.py", "--expect", "says hi"], "cannot write no/such/test_x.py"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    record: Record, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    given = [record.id if one == "CALL" else one for one in arguments]
    assert words in refused(capsys, "replay", *given)
