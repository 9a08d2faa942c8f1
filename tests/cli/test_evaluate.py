"""`antiphon eval`: what it prints and writes, and what its exit code means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from antiphon.cli.main import main
from tests.evaluation.test_running import file_of

CASES = """
cases:
  - name: a table for three
    say: A table, please
    expect: {tool: check, arguments: {guests: 3}}
  - name: a greeting
    say: Hello
    expect: {no_tools: true}
"""


def run(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str, cases: str = CASES) -> tuple[int, str, str]:
    (folder / "cases.yaml").write_text(cases, encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["eval", str(folder / "cases.yaml"), *arguments])
    told = capsys.readouterr()
    return int(left.value.code or 0), told.out, told.err


def test_an_agent_that_does_what_is_expected_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, tmp_path, str(file_of(tmp_path)), "--repeats", "3")
    assert code == 0
    assert "6 calls of 2 cases" in out
    assert "pass  3/3 100 % (44 to 100 %)  a table for three" in out


def test_one_that_does_not_ends_with_1_and_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junit = tmp_path / "junit.xml"
    code, out, _ = run(capsys, tmp_path, str(file_of(tmp_path, guests=2)), "--junit", str(junit))
    assert code == 1
    assert "expected check(guests=3), got check(day='Friday', guests=2)" in out
    assert 'failures="1"' in junit.read_text(encoding="utf-8")
    assert run(capsys, tmp_path, str(file_of(tmp_path, guests=2)), "--at-least", "0")[0] == 0


def test_a_version_that_is_surely_worse_than_another_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = str(file_of(tmp_path)), str(file_of(tmp_path, guests=2, name="other"))
    code, out, _ = run(capsys, tmp_path, bad, "--beside", good, "--repeats", "10")
    assert code == 1
    assert "worse by 100 points, real with 100 %  a table for three" in out
    assert run(capsys, tmp_path, good, "--beside", bad, "--repeats", "10")[0] == 0
    assert run(capsys, tmp_path, bad, "--beside", good, "--repeats", "1")[0] == 0  # one call says little


def test_json_is_all_that_is_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, tmp_path, "--json", cases=f"agent: {file_of(tmp_path).name}\n{CASES}")
    assert code == 0
    assert [case["name"] for case in json.loads(out)["cases"]] == ["a table for three", "a greeting"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["missing.py"], "no such agent file"),
        (["AGENT", "--judge", "local"], "is no judge. Name a language model"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line(
    arguments: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(file_of(tmp_path))
    code, _, err = run(capsys, tmp_path, *(file if one == "AGENT" else one for one in arguments))
    assert code == 2
    assert why in err


def test_a_file_of_cases_that_is_wrong_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, tmp_path, str(file_of(tmp_path)), cases=CASES.replace("say: Hello", "sya: Hello"))
    assert code == 2
    assert "cases.yaml:7: cases.2.sya: there is no such key" in err
