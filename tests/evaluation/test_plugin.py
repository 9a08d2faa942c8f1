"""For pytest: a file of cases is tests, and a fixture runs one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.evaluation.test_running import file_of

CASES = """
agent: agent.py
cases:
  - name: a table for three
    say: A table, please
    expect: {tool: check, arguments: {guests: 3}}
  - name: a greeting
    say: Hello
    expect: {says: evening}
"""
TESTS = """
def test_cases(evaluate_cases):
    assert evaluate_cases("desk.eval.yaml", at_least=0.0).passes == 1

def test_strict(evaluate_cases):
    evaluate_cases("desk.eval.yaml", "agent.py")
"""


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text('pytest_plugins = ["antiphon.evaluation.plugin"]\n', encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "-q",
        "--rootdir",
        str(folder),
    ]
    return subprocess.run([*command, *arguments, str(folder)], capture_output=True, text=True, cwd=folder)


def test_each_case_of_a_file_is_a_test(tmp_path: Path) -> None:
    file_of(tmp_path)
    (tmp_path / "desk.eval.yaml").write_text(CASES, encoding="utf-8")
    done = pytest_in(tmp_path)
    assert "1 failed, 1 passed" in done.stdout
    assert "turn 1: expected 'evening' in the answer, got 'Good day.'" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_fixture_runs_a_file_of_cases(tmp_path: Path) -> None:
    file_of(tmp_path)
    (tmp_path / "desk.eval.yaml").write_text(CASES, encoding="utf-8")
    (tmp_path / "test_desk.py").write_text(TESTS, encoding="utf-8")
    done = pytest_in(tmp_path, "-k", "test_cases or test_strict")
    assert "1 failed, 1 passed" in done.stdout
    assert "FAILED test_desk.py::test_strict" in done.stdout


def test_a_file_that_is_wrong_is_an_error_of_collection_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "desk.eval.yaml").write_text(CASES.replace("say: Hello", "sya: Hello"), encoding="utf-8")
    done = pytest_in(tmp_path)
    assert "desk.eval.yaml:8: cases.2.sya: there is no such key" in done.stdout


def test_the_plugin_imports_nothing_until_it_is_used() -> None:
    code = (
        "import sys, antiphon.evaluation.plugin\n"
        "print([name for name in sys.modules if name in ('pydantic', 'yaml', 'antiphon.session', 'antiphon.agent')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
