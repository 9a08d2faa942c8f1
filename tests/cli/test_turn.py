"""A call driven turn by turn from a shell: each command takes it up, says one thing, and leaves it for the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_main import run

AGENT = """
from antiphon import Agent, AgentServer, AgentSession, EndCallTool, function_tool
from antiphon.testing import FakeLLM, Reply

class Host(Agent):
    def __init__(self):
        super().__init__(instructions="You take reservations.", id="host", tools=[EndCallTool()])

    async def on_enter(self):
        self.session.say("Welcome.")

    @function_tool(effect="writes")
    async def book(self, people: int) -> str:
        '''Book a table.'''
        print("a tool prints")
        with open("booked", "a") as file:
            file.write(f"{people} ")
        return f"number {people}"

def answer(request):
    items = request.chat_ctx.items
    last = getattr(items[-1], "output", None) or getattr(items[-1], "text_content", None) or ""
    if last.startswith("book "):
        return Reply(calls=[("book", {"people": int(last.split()[1])})])
    if last == "bye":
        return Reply(calls=[("end_call", {})])
    known = [item.text_content for item in items if getattr(item, "role", "") == "user"]
    return Reply(f"I heard: {', '.join(known)}.")

server = AgentServer()

@server.rtc_session
async def entrypoint(session: AgentSession):
    await session.start(agent=Host(), room=session.room, llm=FakeLLM(answer, ttft=0.0))
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT)
    return tmp_path


def say(capsys: pytest.CaptureFixture[str], call: str, text: str, *more: str) -> dict[str, Any]:
    assert run("say", call, text, *more) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_each_command_is_a_turn_of_the_same_call(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = say(capsys, "new", "hello")
    assert (first["said"], first["ended"]) == (["Welcome.", "I heard: hello."], False)
    second = say(capsys, first["call"][:8], "book 4")
    assert second["call"] == first["call"]
    assert second["said"] == ["I heard: hello, book 4."]
    assert [(one["name"], one["output"]) for one in second["tool_calls"]] == [("book", "number 4")]
    third = say(capsys, first["call"], "and now?")
    assert (third["said"], third["tool_calls"]) == (["I heard: hello, book 4, and now?."], [])
    assert (here / "booked").read_text() == "4 "


def test_the_caller_may_hang_up_and_the_call_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    call = say(capsys, "new", "hello")["call"]
    assert say(capsys, call, "thanks", "--hang-up")["ended"] is True
    assert run("say", call, "hello?") == 2
    assert "has come to its end" in capsys.readouterr().err


def test_an_agent_that_ends_the_call_ends_it_for_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    call = say(capsys, "new", "hello")["call"]
    assert say(capsys, call, "bye")["ended"] is True
    assert run("say", call, "hello?") == 2
    assert "has come to its end" in capsys.readouterr().err


def test_a_call_that_nobody_knows_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("say", "nowhere", "hello") == 2
    assert "has no call 'nowhere'" in capsys.readouterr().err


def test_a_tool_that_raises_fails_the_command_and_not_the_call(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "agent.py").write_text(AGENT.replace('print("a tool prints")', 'raise KeyError("shelf")'))
    assert run("say", "new", "book 4") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["failed"] == ["the tool book raised"]
    assert say(capsys, told["call"], "hello")["said"] == ["I heard: book 4, hello."]
