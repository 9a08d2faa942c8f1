"""`antiphon simulate`: what it prints and writes, and what its exit code means."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from antiphon.cli.main import main
from tests.scenarios.desk import agent_file, scenarios_file

GOOD = "{name: looks, caller: {wishes: [Is it free]}, expect: {calls: look_up}}"
BAD = "{name: never looks, caller: {wishes: [Is it free]}, expect: {no_calls: true}}"


def run(capsys: pytest.CaptureFixture[str], folder: Path, lines: list[str], *arguments: str) -> tuple[int, str, str]:
    scenarios = scenarios_file(folder, *lines)
    if not (folder / "agent.py").exists():
        agent_file(folder)
    common = ["--jobs", "1", "--reports", str(folder / "pages")]
    with pytest.raises(SystemExit) as left:
        main(["simulate", str(folder / "agent.py"), str(scenarios), *common, *arguments])
    told = capsys.readouterr()
    return int(left.value.code or 0), told.out, told.err


def test_scenarios_that_pass_end_with_0_and_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, tmp_path, [GOOD], "--repeat", "3", "--seed", "5")
    assert code == 0
    assert any(line.split()[:3] == ["pass", "looks", "3/3"] for line in out.splitlines())
    assert "seeds 5 to 7; " in out
    assert "times real time a core" in out
    assert not (tmp_path / "pages").exists()


def test_one_that_fails_ends_with_1_says_why_and_how_to_make_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "junit.xml"
    code, out, _ = run(capsys, tmp_path, [GOOD, BAD], "--junit", str(junit))
    assert code == 1
    assert "expected no call, got look_up(day='Friday')" in out
    assert '--only "never looks" --seed 1' in out
    assert (tmp_path / "pages" / "never-looks.html").is_file()
    suite = ElementTree.fromstring(junit.read_text(encoding="utf-8")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert run(capsys, tmp_path, [GOOD, BAD], "--only", "LOOKS")[0] == 0
    assert run(capsys, tmp_path, [GOOD, BAD], "--only", "never*", "--at-least", "0", "--text")[0] == 0


def test_json_is_all_that_is_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, tmp_path, [GOOD], "--json", "--no-reports")
    assert code == 0
    told = json.loads(out)
    assert told["seed"] == 1
    assert told["scenarios"][0]["calls"][0]["calls"][0]["arguments"] == {"day": "Friday"}
    assert told["speed"]["times_real_time_a_core"] > 1


@pytest.mark.parametrize(
    ("lines", "arguments", "why"),
    [
        (["{name: a}"], [], "scenarios.yaml:2: scenarios.1: it has no caller. Add"),
        ([GOOD], ["--only", "else"], "no scenario is called else"),
        ([GOOD], ["--llm", "nobody"], "no LLM called 'nobody'"),
        (["{name: a, caller: {persona: Ann}}"], [], "Name one: --caller-llm NAME"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line(
    lines: list[str], arguments: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, tmp_path, lines, *arguments)
    assert code == 2
    assert why in err
    assert len(err.strip().splitlines()) == 1


def test_an_agent_file_that_breaks_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent_file(tmp_path, text="import nowhere")
    code, _, err = run(capsys, tmp_path, [GOOD])
    assert code == 2
    assert "agent.py:1: ModuleNotFoundError: No module named 'nowhere'" in err
