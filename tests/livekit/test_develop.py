"""The rooms of an agent file that is being worked on: each change is another worker, and calls come back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.cli.develop import Rooms
from antiphon.console.reload import AgentFile
from antiphon.testing import wait_until
from tests.livekit.caller import new_room
from tests.livekit.sides import Check, Side

AGENT = """
from antiphon import Agent, AgentServer, AgentSession, JobContext
from antiphon.testing import FakeLLM

server = AgentServer(load_fnc=lambda: 0.0)

@server.rtc_session(agent_name={name!r})
async def entrypoint(ctx: JobContext):
    with open({log!r}, "a") as log:
        log.write("VERSION" + ctx.job.metadata + "\\n")
    await AgentSession().start(Agent(instructions="", llm=FakeLLM([])))
"""

pytestmark = pytest.mark.timeout(60)


def test_a_change_ends_the_call_and_asks_for_the_new_agent(on: Callable[[Check], None], tmp_path: Path) -> None:
    path, log = tmp_path / "agent.py", tmp_path / "log"
    log.touch()

    async def check(side: Side) -> None:
        name, room = new_room("agent"), new_room()
        code = AGENT.format(name=name, log=str(log))
        path.write_text(code.replace("VERSION", "one "))
        file = AgentFile(path)
        await file.load()
        rooms = Rooms(file, side.server, models=lambda given: given, notice=print, make_call=side.make_call)
        running = asyncio.create_task(rooms.run())
        visitor = await side.visit(room)
        await asyncio.sleep(0.5)  # the worker registers
        await side.dispatch(name, room, "known")
        await wait_until(lambda: log.read_text() == "one known\n", timeout=20.0)
        path.write_text(code.replace("VERSION", "two "))
        await file.load()
        await wait_until(lambda: log.read_text() == "one known\ntwo known\n", timeout=20.0)
        path.write_text("1 / 0")
        await file.load()
        assert file.server is None
        await asyncio.sleep(0.5)
        assert len(visitor.agents()) == 1
        running.cancel()
        await asyncio.wait([running])
        await visitor.leave()

    on(check)
