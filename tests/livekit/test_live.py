"""Agents that are live on a real server: workers as processes, and a server that dies in the middle of a call."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from antiphon.language import ENGLISH
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import JobContext
from antiphon.server.livekit.server import LiveKitServer
from antiphon.server.livekit.worker import Worker
from antiphon.session import AgentSession
from antiphon.testing import wait_until
from tests.livekit.agents import Greeter, sounding, voice
from tests.livekit.caller import RoomCaller, new_room
from tests.livekit.real import Address, needs_own_server, needs_server, own_server
from tests.livekit.sides import RealSide
from tests.livekit.test_room import words

ROOT = Path(__file__).parents[2]

AGENT_FILE = """
import os
from pathlib import Path
from antiphon import AgentServer, AgentSession, JobContext
from tests.livekit.agents import Greeter

server = AgentServer(load_fnc=lambda: 0.0)

@server.rtc_session(agent_name={name!r})
async def entrypoint(ctx: JobContext):
    Path(__file__).with_name("holder").write_text(str(os.getpid()))
    await AgentSession().start(Greeter(), room=ctx.room)
"""


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextlib.asynccontextmanager
async def process(address: Address, file: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """`antiphon start` for a file, once it takes calls."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "LIVEKIT_URL": address.url,
        "LIVEKIT_API_KEY": address.key,
        "LIVEKIT_API_SECRET": address.secret,
    }
    code = "from antiphon.cli.main import main; main()"
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "ignore", "-c", code, "start", str(file), *arguments),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    try:
        assert started.stdout is not None
        async with asyncio.timeout(40):
            while b"Taking calls" not in (line := await started.stdout.readline()):
                assert line, "antiphon start ended before it took calls"
        await asyncio.sleep(0.5)
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()


@pytest.mark.timeout(100)
@needs_server[0]
@needs_server[1]
def test_a_process_takes_calls_and_when_told_to_stop_waits_for_them(livekit_server: Address, tmp_path: Path) -> None:
    async def check() -> None:
        name, room = new_room("agent"), new_room()
        file = tmp_path / "agent.py"
        file.write_text(AGENT_FILE.format(name=name))
        side = RealSide(livekit_server)
        caller = await RoomCaller(livekit_server, room).join()
        async with process(livekit_server, file, "--drain", "20") as worker:
            await side.dispatch(name, room)
            await wait_until(lambda: sounding(caller))
            worker.send_signal(signal.SIGTERM)
            await asyncio.sleep(1.0)
            assert worker.returncode is None
            await caller.say(voice(1.0))
            await wait_until(lambda: [text for _, text in words(caller) if text == "Of course."])
            await caller.leave()
            async with asyncio.timeout(5):
                assert await worker.wait() == 0
        await side.server.aclose()

    asyncio.run(check())


@pytest.mark.timeout(100)
@needs_own_server[0]
@needs_own_server[1]
def test_a_call_goes_on_when_the_server_was_killed_and_comes_back() -> None:
    async def check() -> None:
        jobs: list[JobContext] = []
        agent = AgentServer(load_fnc=lambda: 0.0)

        @agent.rtc_session
        async def entrypoint(context: JobContext) -> None:
            jobs.append(context)
            await AgentSession().start(Greeter(), room=context.room)

        with own_server() as server:
            livekit = LiveKitServer("ws://" + server.address.url.removeprefix("ws://"), "devkey", "secret")
            worker = Worker(agent, livekit)
            running = asyncio.create_task(worker.run())
            await wait_until(lambda: worker.is_ready)
            caller = await RoomCaller(server.address, new_room()).join()
            await wait_until(lambda: [text for _, text in words(caller) if text == "Hello there!"])
            server.kill()
            await asyncio.sleep(2.0)
            server.start()
            await wait_until(lambda: worker.is_ready and caller.agent is not None, timeout=30.0)
            await wait_until(lambda: jobs[0].room.participants, timeout=30.0)
            await asyncio.sleep(1.0)
            await caller.say(voice(1.0))
            await wait_until(lambda: [text for _, text in words(caller) if text == "Of course."], timeout=20.0)
            kind = caller.rtc.ParticipantKind.PARTICIPANT_KIND_AGENT
            agents = [one for one in caller.room.remote_participants.values() if one.kind == kind]
            assert len(jobs) == len(agents) == 1
            await caller.leave()
            await wait_until(lambda: not worker.calls, timeout=5.0)
            running.cancel()
            await worker.aclose()
            await livekit.aclose()

    asyncio.run(check())


@pytest.mark.timeout(100)
@needs_server[0]
@needs_server[1]
def test_of_two_workers_one_takes_the_calls_of_the_other_that_was_killed(
    livekit_server: Address, tmp_path: Path
) -> None:
    async def check() -> None:
        name = new_room("agent")
        file = tmp_path / "agent.py"
        file.write_text(AGENT_FILE.format(name=name))
        side = RealSide(livekit_server)
        async with contextlib.AsyncExitStack() as stack:
            starting = (stack.enter_async_context(process(livekit_server, file)) for _ in range(2))
            first, _ = await asyncio.gather(*starting)
            first.kill()
            await first.wait()
            caller = await RoomCaller(livekit_server, room := new_room()).join()
            await side.dispatch(name, room)
            await wait_until(lambda: [text for _, text in words(caller) if text == "Hello there!"])
            await caller.leave()
        await side.server.aclose()

    asyncio.run(check())


@pytest.mark.timeout(150)
@pytest.mark.parametrize(("name", "workers"), [("", "1"), ("named", "1"), ("named", "2")])
@needs_server[0]
@needs_server[1]
def test_a_caller_whose_worker_was_killed_gets_another_agent(
    name: str, workers: str, livekit_server: Address, tmp_path: Path
) -> None:
    async def check() -> None:
        agent, room = name and new_room("agent"), new_room()
        file = tmp_path / "agent.py"
        file.write_text(AGENT_FILE.format(name=agent))
        side = RealSide(livekit_server)
        async with process(livekit_server, file, "--workers", workers):
            caller = await RoomCaller(livekit_server, room).join()
            if agent:
                await side.dispatch(agent, room, "what is known")
            await wait_until(lambda: [text for _, text in words(caller) if text == "Hello there!"], timeout=30.0)
            os.kill(int(file.with_name("holder").read_text()), signal.SIGKILL)
            await wait_until(lambda: len({sender for sender, _ in words(caller)}) == 2, timeout=60.0)
            assert words(caller)[-1][1] in (ENGLISH.resumed_line, "Hello there!")  # as much as was written down
            kind = caller.rtc.ParticipantKind.PARTICIPANT_KIND_AGENT
            assert len([one for one in caller.room.remote_participants.values() if one.kind == kind]) == 1
            await caller.say(voice(1.0))
            await wait_until(lambda: [text for _, text in words(caller) if text == "Of course."], timeout=20.0)
            await caller.leave()
        await side.server.aclose()

    asyncio.run(check())


@pytest.mark.timeout(150)
@needs_server[0]
@needs_server[1]
def test_an_upgrade_leaves_the_call_that_is_on_and_the_next_one_gets_the_new_agent(
    livekit_server: Address, tmp_path: Path
) -> None:
    async def check() -> None:
        agent, room, other = new_room("agent"), new_room(), new_room()
        file = tmp_path / "agent.py"
        file.write_text(AGENT_FILE.format(name=agent))
        side = RealSide(livekit_server)
        async with process(livekit_server, file, "--workers", "1") as supervisor:
            caller = await RoomCaller(livekit_server, room).join()
            await side.dispatch(agent, room)
            await wait_until(lambda: [text for _, text in words(caller) if text == "Hello there!"], timeout=30.0)
            before = children(supervisor.pid)
            file.write_text(AGENT_FILE.format(name=agent).replace("Greeter()", "Greeter('I am new.')"))
            supervisor.send_signal(signal.SIGHUP)
            await wait_until(lambda: len(children(supervisor.pid)) == 2, timeout=30.0)
            next_caller = await RoomCaller(livekit_server, other).join()
            greeted: list[str] = []
            async with asyncio.timeout(60):
                while "I am new." not in greeted:  # until the new worker is ready the old one takes calls
                    await side.dispatch(agent, other)
                    await asyncio.sleep(2.0)
                    greeted = [text for _, text in words(next_caller)]
            await caller.say(voice(1.0))
            await wait_until(lambda: [text for _, text in words(caller) if text == "Of course."], timeout=20.0)
            await caller.leave()
            await next_caller.leave()
            await wait_until(lambda: not set(before) & set(children(supervisor.pid)), timeout=30.0)
        await side.server.aclose()

    asyncio.run(check())
