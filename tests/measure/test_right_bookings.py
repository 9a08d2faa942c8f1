from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .scripts import load

right_bookings = load("right_bookings")

ENTRY = {
    "call": "kokoro-am_eric-clean",
    "voice": "kokoro am_eric",
    "condition": "clean",
    "expected_calls": [
        {"name": "check", "arguments": {"date": ["Friday", "on Friday"]}},
        {"name": "book", "arguments": {"name": ["Ann Lee"], "time": ["2:00 PM"]}},
    ],
}


def made(tool: str, /, is_error: bool = False, **arguments: str) -> dict[str, Any]:
    return {"name": tool, "arguments": arguments, "is_error": is_error}


CHECK = made("check", date="on friday")
BOOK = made("book", name="Ann Lee.", time="2:00 PM")


@pytest.mark.parametrize(
    ("calls", "verdict", "looked_up"),
    [
        ([CHECK, BOOK], "right", True),
        ([BOOK], "right", False),
        ([CHECK, made("book", is_error=True, name="Ann Lee", time="3 PM"), BOOK], "right", True),
        ([CHECK, made("book", name="Ann Lee", time="4:30 PM")], "wrong", True),
        ([CHECK, made("book", name="Ann Lee")], "wrong", True),
        ([CHECK, BOOK, BOOK], "doubled", True),
        ([CHECK], "missing", True),
        ([made("check", date="Monday"), BOOK], "right", False),
    ],
)
def test_a_booking_is_right_if_it_succeeded_once_as_wanted(
    calls: list[dict[str, Any]], verdict: str, looked_up: bool
) -> None:
    result = right_bookings.judge(ENTRY, {"tool_calls": calls})
    assert (result.verdict, result.looked_up) == (verdict, looked_up)


def test_the_command_prints_each_group_and_fails_below_what_is_required(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "evaluation.json"
    manifest.write_text(json.dumps([ENTRY]))
    call = tmp_path / "kokoro-am_eric-clean.json"
    call.write_text(json.dumps({"tool_calls": [CHECK, BOOK]}))
    right_bookings.main([str(call), "--manifest", str(manifest), "--at-least", "1"])
    assert "kokoro, clean: 1 of 1 right" in capsys.readouterr().out
    call.write_text(json.dumps({"tool_calls": [CHECK]}))
    with pytest.raises(SystemExit) as exit_info:
        right_bookings.main([str(call), "--manifest", str(manifest), "--at-least", "1"])
    assert exit_info.value.code == 1
