"""`antiphon lint`: what it prints, and what its exit code means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.cli.main import main

GOOD = """
from antiphon import Agent, function_tool
print("loaded")

@function_tool(effect="writes", idempotent=True)
async def book(day: str) -> str:
    '''Book a table.

    Args:
        day: The day, as the caller says it
    '''
    return f"Booked for {day}."

agent = Agent(instructions="You take bookings with book.", tools=[book])
"""
BAD = GOOD.replace("    return", "    import time\n    time.sleep(1)\n    return")
SIZED = GOOD.replace("day: str)", "day: str, size: tuple[int, int] = (1, 2))")


def run(capsys: pytest.CaptureFixture[str], file: Path, source: str, *arguments: str) -> tuple[int, str, str]:
    file.write_text(source, encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["lint", str(file), *arguments])
    told = capsys.readouterr()
    return int(left.value.code or 0), told.out, told.err


def test_a_good_file_costs_and_promises_something_and_ends_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, tmp_path / "agent.py", GOOD)
    assert code == 0
    assert "agent.py:" in out
    assert "writes, effectively once" in out
    assert out.endswith("Nothing found.\n")


def test_what_is_found_has_its_line_its_reason_and_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, tmp_path / "agent.py", BAD)
    assert code == 1
    assert "agent.py:13: error: book: time.sleep blocks the event loop [blocking-call]\n  While it waits" in out
    assert "Use await asyncio.sleep(...)." in out
    assert out.endswith("1 error, 0 warnings, 0 of advice\n")


def test_json_is_all_that_is_on_standard_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, tmp_path / "agent.py", BAD, "--json")
    found: dict[str, Any] = json.loads(out)
    assert code == 1
    assert "loaded" in err
    (finding,) = found["findings"]
    assert (finding["rule"], finding["tool"], finding["line"]) == ("blocking-call", "book", 13)
    (agent,) = found["agents"]
    assert agent["tools"][0]["guarantee"] == "effectively once"
    assert agent["instruction_tokens"] > 0


def test_a_rule_that_is_left_out_finds_nothing_and_one_that_is_none_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, tmp_path / "agent.py", BAD, "--ignore", "blocking-call")[0] == 0
    code, _, err = run(capsys, tmp_path / "agent.py", BAD, "--ignore", "blocking")
    assert code == 2
    assert "expected a rule, one of" in err


def test_a_schema_that_a_named_provider_refuses_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "refuses" not in run(capsys, tmp_path / "agent.py", SIZED)[1]
    code, out, _ = run(capsys, tmp_path / "agent.py", SIZED, "--for", "openai")
    assert code == 1
    assert "book: openai refuses an array without items (size): a tuple is one" in out


def test_advice_counts_only_when_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terse = GOOD.replace("The day, as the caller says it", "").replace("Args:\n        day: ", "")
    assert run(capsys, tmp_path / "agent.py", terse)[0] == 0
    assert run(capsys, tmp_path / "agent.py", terse, "--strict")[0] == 1


def test_a_file_without_an_agent_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, tmp_path / "agent.py", "x = 1")
    assert code == 2
    assert "holds no agent" in err


def test_a_file_written_for_livekit_is_read_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys,
        tmp_path / "agent.py",
        GOOD.replace("from antiphon", "from livekit.agents").replace('effect="writes", idempotent=True', ""),
    )
    assert code == 0
    assert "does not say what it does" in out
