"""`antiphon chaos`: what of an agent's tools is doubled or lost, said openly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from antiphon.cli.main import main

AGENT = """
from typing import Literal
from antiphon import Agent, function_tool

@function_tool(effect="writes", identity=("day",))
async def book(day: str, people: int = 2) -> str:
    '''Book a table.'''
    raise SystemExit("no function is run")

@function_tool(effect="irreversible")
async def pay(amount: int, currency: Literal["EUR", "USD"]) -> str:
    '''Pay.'''
    raise SystemExit("no function is run")

@function_tool(effect="reads")
async def look() -> str:
    '''Look.'''
    raise SystemExit("no function is run")

agent = Agent(instructions="You take bookings.", tools=[book, pay, look])
"""
CARELESS = """
from antiphon import Agent, function_tool

@function_tool(effect="writes", on_duplicate="allow")
async def book(day: str) -> str:
    '''Book a table.'''

agent = Agent(instructions="You take bookings.", tools=[book])
"""


def run(capsys: pytest.CaptureFixture[str], file: Path, source: str, *arguments: str) -> tuple[int, str, str]:
    file.write_text(source, encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["chaos", str(file), "--calls", "60", *arguments])
    told = capsys.readouterr()
    return int(left.value.code or 0), told.out, told.err


def test_an_agent_whose_tools_say_what_they_do_loses_and_doubles_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, tmp_path / "agent.py", AGENT, "--json")
    found: dict[str, Any] = json.loads(out)
    assert code == 0
    assert found["findings"] == []
    assert found["calls"] == 60
    assert {tool["name"]: tool["effect"] for tool in found["tools"]} == {
        "book": "writes",
        "pay": "irreversible",
        "look": "reads",
    }


def test_what_is_doubled_is_said_made_short_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, tmp_path / "agent.py", CARELESS, "--journals", str(tmp_path / "kept"))
    assert code == 1
    assert "book (writes): started" in out
    assert "doubled" in out
    assert "seed 1: 60 calls" in out
    assert list((tmp_path / "kept").glob("*doubled.jsonl"))


def test_a_dialogue_of_one_s_own_is_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dialogue = tmp_path / "dialogue.json"
    dialogue.write_text(json.dumps([[["book", {"day": "Friday"}]], [["book", {"day": "Sunday"}]]]), encoding="utf-8")
    code, out, _ = run(capsys, tmp_path / "agent.py", AGENT, "--dialogue", str(dialogue), "--json")
    assert code == 0
    assert next(tool for tool in json.loads(out)["tools"] if tool["name"] == "book")["starts"] >= 120


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "expected JSON such as"),
        ('[[["sing", {}]]]', "expected one of book, pay, look, got 'sing'"),
        ('[[["book", {}]]]', "book"),
        ("[[]]", "expected a call in it"),
    ],
)
def test_a_dialogue_that_is_none_is_an_error_of_one_line(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dialogue = tmp_path / "dialogue.json"
    dialogue.write_text(text, encoding="utf-8")
    code, _, err = run(capsys, tmp_path / "agent.py", AGENT, "--dialogue", str(dialogue))
    assert code == 2
    assert why in err
    assert len(err.strip().splitlines()) == 1


def test_an_agent_without_tools_has_nothing_to_try(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, tmp_path / "agent.py", "from antiphon import Agent\nagent = Agent(instructions='Talk.')")
    assert code == 2
    assert "expected an agent with tools" in err
