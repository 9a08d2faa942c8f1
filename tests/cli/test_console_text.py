"""Text chats on a terminal: what is typed, and what appears meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal

FILE = """
import asyncio
from antiphon import Agent, AgentServer, AgentSession, RunContext, function_tool
from antiphon.testing import FakeLLM, Reply

server = AgentServer()


@function_tool
async def search(context: RunContext) -> str:
    "Search."
    await context.update("searching")
    await asyncio.sleep(1)
    return "nine seats"


@server.rtc_session
async def entrypoint(session: AgentSession):
    script = {
        "searching": "I am on it.",
        "nine seats": "There are nine of them.",
        "search": Reply(calls=[("search", {})]),
        "": "Pardon?",
    }
    await session.start(agent=Agent(instructions="", tools=[search]), room=session.room, llm=FakeLLM(script))
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / "agent.py").write_text(FILE)
    with contextlib.closing(Terminal("console", tmp_path / "agent.py", columns=60)) as opened:
        opened.wait_for("Ctrl-D ends the call")
        yield opened


def test_what_was_typed_stands_whole_below_what_appears_meanwhile(terminal: Terminal) -> None:
    terminal.press("search\r")
    terminal.wait_for("I am on it.")
    terminal.press("what else")
    terminal.wait_for("> what else")
    terminal.wait_for("There are nine of them. > what else")
    terminal.press(" is there\r")
    terminal.wait_for("> what else is there")
    terminal.wait_for("Pardon?")


def test_ctrl_d_on_an_empty_line_ends_the_chat_and_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.press("hello\r")
    terminal.wait_for("Pardon?")
    terminal.press("half a line\x04")
    terminal.wait_for("> half a line")
    terminal.press("\x15\x04")
    assert terminal.end() == 0
    assert terminal.restored


def test_ctrl_c_ends_the_chat_and_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.interrupt()
    assert terminal.end() == 130
    assert terminal.restored


def test_an_agent_that_ends_the_call_ends_the_chat(tmp_path: Path) -> None:
    ending = FILE.replace('"Search."\n', '"Search."\n    context.session.shutdown()\n    return "bye"\n')
    (tmp_path / "agent.py").write_text(ending)
    with contextlib.closing(Terminal("console", tmp_path / "agent.py")) as terminal:
        terminal.wait_for("Ctrl-D ends the call")
        terminal.press("search\r")
        assert terminal.end() == 0
        assert terminal.restored
