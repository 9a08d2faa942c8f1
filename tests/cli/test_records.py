"""Records on the command line: what is recorded unasked, lists, searches, the story of a call, its page, its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_calls import AGENT, listed, run

WRONG = AGENT.replace('"13": pay_13', '"wrong": Reply(calls=[("pay", {"amount": "xylophon"})]), "13": pay_13')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two calls were held here: one that went well, and one with a wrong argument."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(WRONG)
    assert run("call", "--say", "hi") == 0
    assert "Records of them are in .antiphon/records." in capsys.readouterr().out
    assert run("call", "--say", "wrong") == 0
    capsys.readouterr()
    return tmp_path


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in found]


def test_calls_are_listed_once_and_searched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong, well = ids(listed(capsys))
    assert ids(listed(capsys, "--finding")) == ids(listed(capsys, "--tool", "pay", "--outcome", "error")) == [wrong]
    assert ids(listed(capsys, "--said", "HELLO")) == [well]
    assert ids(listed(capsys, "--since", "1h")) == [wrong, well] and listed(capsys, "--until", "1h") == []
    assert ids(listed(capsys, "--agent", "desk", "--error", "expected integer")) == [wrong]
    assert run("calls") == 0
    assert "wrong-arguments" in capsys.readouterr().out
    assert run("calls", "--said", "nobody said this") == 0
    assert "No such calls." in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [("--since", "yesterday"), ("--finding", "nothing"), ("--slower", "x")])
def test_a_search_for_what_is_none_says_what_is_expected(
    wrong: tuple[str, str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("calls", *wrong) == 2
    assert "expected" in capsys.readouterr().err


def test_the_story_of_a_call_has_what_should_be_mended(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong, _ = ids(listed(capsys))
    assert run("calls", "show", wrong[:8]) == 0
    told = capsys.readouterr().out
    lines = [line.strip() for line in told.splitlines()]
    order = ["Caller  wrong", 'Tool    pay(amount="xylophon")', "!  wrong-arguments (invalid)", "Agent"]
    places = [next(at for at, line in enumerate(lines) if word in line) for word in order]
    assert places == sorted(places) and "antiphon report" in told
    shown = listed(capsys, "show", wrong)
    assert [one["kind"] for one in shown["findings"]] == ["invalid"] and shown["turns"] and shown["history"]


def test_the_page_of_a_call_needs_nothing_but_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong, _ = ids(listed(capsys))
    assert run("report", wrong[:8], "--out", "page.html") == 0
    page = (folder / "page.html").read_text()
    assert "Call with agent.py" in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    (record,) = (folder / ".antiphon" / "records").glob(f"*{wrong}")
    assert run("report", record, "--out", "other.html") == 0
    assert (folder / "other.html").read_text() == page
    assert run("report", "nothing") == 2


def test_a_call_is_erased_everywhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong, well = ids(listed(capsys))
    assert run("calls", "erase", wrong) == 0
    assert capsys.readouterr().out == "1 call erased.\n"
    assert ids(listed(capsys)) == [well]
    files = [path for path in (folder / ".antiphon").rglob("*") if path.is_file()]
    assert [path.name for path in files if b"xylophon" in path.read_bytes()] == []
    assert run("calls", "prune", "--days", "0") == 0
    assert listed(capsys) == []


def test_nothing_is_recorded_where_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "agent.py").write_text(AGENT.replace("AgentServer()", "AgentServer(records='own')"))
    assert run("call", tmp_path / "agent.py", "--say", "hi", "--no-records") == 0
    assert "Records" not in capsys.readouterr().out
    assert not (tmp_path / ".antiphon" / "records").exists()


def test_a_place_that_is_named_is_taken_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    assert run("call", tmp_path / "agent.py", "--say", "hi", "--no-records") == 0  # in the store of this folder
    place = tmp_path / "elsewhere"
    assert run("call", tmp_path / "agent.py", "--say", "hi", "--no-store", "--records", place) == 0
    assert place.name in capsys.readouterr().out
    assert len(listed(capsys, "--records", place)) == 1
    assert run("calls", "--records", tmp_path / "nothing") == 2


def test_production_records_nothing_unasked() -> None:
    from antiphon.cli.kept import records_of
    from antiphon.cli.parser import command_line

    for command in ("start", "connect --room x"):
        name, *more = command.split()
        options = command_line("antiphon", with_file=True).parse_args([name, "agent.py", *more])
        assert records_of(options, Path("agent.py")) is None


def test_the_commands_json_is_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("calls", "--json") == 0
    (first, _) = json.loads(capsys.readouterr().out)
    assert first["record"]["findings"][0]["remedy"] and first["state"] == "job_shutdown"
