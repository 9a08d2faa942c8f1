"""A call whose process was killed goes on by another command: what was done is not done again, and is told."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.testing import wait_until
from tests.cli.test_main import run

AGENT = """
import asyncio, pathlib
from antiphon import Agent, AgentServer, AgentSession, function_tool
from antiphon.testing import FakeLLM, Reply

BOOKED = pathlib.Path(__file__).with_name("booked")

class Host(Agent):
    def __init__(self):
        super().__init__(instructions="You take reservations.", id="host")

    @function_tool(effect="writes")
    async def book(self, people: int) -> str:
        '''Book a table.'''
        with BOOKED.open("a") as file:
            file.write(f"{people} ")
        if people == 9:
            await asyncio.sleep(600)
        return f"number {people}"

def answer(request):
    last = request.chat_ctx.items[-1]
    text = getattr(last, "output", None) or getattr(last, "text_content", None) or ""
    known = " / ".join(i.output for i in request.chat_ctx.items if hasattr(i, "output"))
    if text.startswith("book "):
        return Reply(calls=[("book", {"people": int(text.split()[1])})])
    return Reply(f"I know: {known}.")

server = AgentServer()

@server.rtc_session
async def entrypoint(session: AgentSession):
    await session.start(agent=Host(), room=session.room, llm=FakeLLM(answer, ttft=0.0))
"""


@pytest.mark.timeout(120)
def test_a_call_that_was_killed_in_a_booking_goes_on_and_nothing_is_booked_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, booked = tmp_path / "agent.py", tmp_path / "booked"
    file.write_text(AGENT)
    code = "from antiphon.cli.main import main; main()"
    command = [sys.executable, "-c", code, "call", str(file), "--say", "book 2", "book 9"]

    async def killed() -> None:
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await wait_until(lambda: booked.exists() and booked.read_text() == "2 9 ", timeout=60.0)
        await asyncio.sleep(1.1)  # what was said has a second to be on disk
        process.kill()
        await process.wait()

    asyncio.run(killed())
    assert run("calls", "--store", file, "--json") == 0
    call = json.loads(capsys.readouterr().out)[0]["id"]
    assert run("call", file, "--resume", call[:8], "--say", "what now?") == 0
    out = capsys.readouterr().out
    assert "Sorry, we were cut off for a moment." in out
    assert "number 2 / It is unknown whether `book` happened" in out
    assert booked.read_text() == "2 9 "
    assert run("call", file, "--resume", call, "--say", "again") == 2
    assert "has come to its end" in capsys.readouterr().err


def test_a_call_that_nobody_knows_cannot_be_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    assert run("call", tmp_path / "agent.py", "--resume", "none", "--say", "Hi") == 2
    assert "has no call 'none'" in capsys.readouterr().err
