"""A folder to begin with: its test passes at once, and its agent takes a call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.cli.init import FILES, make_folder
from antiphon.errors import UsageError
from tests.cli.test_main import refused, run


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    assert run("init", "chez-ann") == 0
    shown = capsys.readouterr().out
    assert "cd chez-ann" in shown
    assert "antiphon console" in shown
    return tmp_path / "chez-ann"


def test_it_has_all_that_is_promised_and_no_gap(made: Path) -> None:
    assert {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()} == set(FILES)
    for path in made.rglob("*"):
        assert path.is_dir() or "{{" not in path.read_text(encoding="utf-8")


def test_its_test_passes_at_once(made: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ran = subprocess.run(command, cwd=made, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout


def test_its_agent_takes_a_call(
    made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(made)
    assert run("call", "--say", "How many tables are free on Friday?") == 0
    shown = capsys.readouterr().out
    assert "Hello, this is chez-ann." in shown
    assert 'free_tables(day="Friday")' in shown


def test_a_folder_that_is_in_use_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").touch()
    assert "is there already, and not empty. Choose another name." in refused(capsys, "init", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_name_without_letters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gives the agent no name"):
        make_folder(tmp_path / "!!!")
