"""From "a customer complained" to a test that fails as the call failed, and passes once the defect is mended."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_main import run
from tests.rerun.planted import PLANTED, Planted


def outcome(file: Path) -> str:
    """What the test in a file comes to: "", or why it fails."""
    names: dict[str, object] = {"__file__": str(file), "__name__": "planted"}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    (test,) = [value for name, value in names.items() if name.startswith("test_") and callable(value)]
    try:
        test()
    except AssertionError as error:
        return str(error)
    return ""


def parted(told: str) -> str:
    found = re.search(r"^Parts at [\d.]+ s: (.*)$", told, re.MULTILINE)
    return "" if found is None else found[1]


@pytest.mark.parametrize("planted", PLANTED, ids=[one.name for one in PLANTED])
def test_a_complaint_becomes_a_test(
    planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    planted.lay(tmp_path)

    def told(expected: int, *arguments: str) -> str:
        assert run(*arguments) == expected, capsys.readouterr().err
        return capsys.readouterr().out

    run("call", "agent.py", "--say", *planted.says)
    capsys.readouterr()
    (call,) = json.loads(told(0, "calls", *planted.search, "--json"))
    assert call["id"] in told(0, "calls", "show", call["id"][:8])
    runs = [argument for name in planted.runs for argument in ("--run-tool", name)]
    assert "Equal:" in told(0, "replay", call["id"][:8], *runs)
    assert parted(told(1, "replay", call["id"], "--agent", "mended.py", *runs)).startswith(planted.parts)
    assert "It fails" in told(0, "replay", call["id"], "--to-test", "test_call.py", *planted.test, *runs)
    assert_fails_then_passes(tmp_path, planted, outcome)


def assert_fails_then_passes(folder: Path, planted: Planted, tried: Callable[[Path], str]) -> None:
    test = folder / "test_call.py"
    assert tried(test).startswith("expected "), planted.name
    (folder / "agent.py").write_text(planted.sound, encoding="utf-8")
    assert tried(test) == "", planted.name
