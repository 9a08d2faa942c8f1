"""Workers as processes: they share a socket, are replaced when they are unfit, and end with their supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from antiphon.server.process import CommandFailed
from antiphon.server.supervisor.child import Limits
from antiphon.server.supervisor.supervisor import Supervisor
from antiphon.testing import wait_until

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0
"""Seconds that anything may take on a machine that is busy."""


@contextlib.contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.setblocking(False)
        yield made


class Side:
    """A supervisor that runs, and the calls of those who come."""

    def __init__(self, supervisor: Supervisor, port: int, running: asyncio.Task[None]) -> None:
        self.supervisor = supervisor
        self.port = port
        self.running = running
        self.calls: list[Call] = []

    def pids(self) -> list[int]:
        return [one.pid for one in self.supervisor.children]

    async def call(self) -> Call:
        self.calls.append(call := Call(*await asyncio.open_connection("127.0.0.1", self.port)))
        return call

    async def ready(self) -> None:
        await wait_until(
            lambda: all(one.state == "ready" for one in self.supervisor.children) or self.running.done(),
            timeout=PATIENCE,
        )

    async def get(self, path: str) -> tuple[int, str]:
        assert self.supervisor.health_port is not None
        return await get(self.supervisor.health_port, path)


class Call:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def say(self, word: str) -> None:
        self.writer.write(word.encode() + b"\n")

    async def who(self) -> int:
        self.say("who")
        async with asyncio.timeout(PATIENCE):
            return int(await self.reader.readline())

    async def hang_up(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


async def get(port: int, path: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    async with asyncio.timeout(PATIENCE):
        answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


@contextlib.asynccontextmanager
async def supervised(
    count: int = 1, *, places: int = 5, behaviour: str = "", limits: Limits | None = None
) -> AsyncIterator[Side]:
    command = [sys.executable, "-m", "tests.server.supervised_worker", str(places), behaviour]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with listening() as taking:
        supervisor = Supervisor(
            count, listening=taking, limits=limits, port=0, command=command, environment={"PYTHONPATH": path}
        )
        running = asyncio.create_task(supervisor.run())
        side = Side(supervisor, taking.getsockname()[1], running)
        try:
            await wait_until(lambda: len(supervisor.children) == count or running.done(), timeout=PATIENCE)
            if not behaviour:
                await side.ready()
            yield side
        finally:
            for call in side.calls:
                await call.hang_up()
            running.cancel()
            await asyncio.wait([running])


def run(check: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(100):
            await check()

    asyncio.run(bounded())


def test_workers_share_the_socket() -> None:
    async def check() -> None:
        async with supervised(2, places=1) as side:
            calls = [await side.call() for _ in range(2)]
            assert {await call.who() for call in calls} == set(side.pids())

    run(check)


def test_when_all_are_full_whoever_comes_is_told_so_and_later_let_in() -> None:
    async def check() -> None:
        async with supervised(2, places=1) as side:
            calls = [await side.call() for _ in range(2)]
            for call in calls:
                await call.who()
            await wait_until(lambda: not any(one.is_open for one in side.supervisor.children), timeout=PATIENCE)
            status, text = await get(side.port, "/")
            assert (status, "taken" in text) == (503, True)
            assert (await side.get("/readyz"))[0] == 503
            await calls[0].hang_up()
            await wait_until(lambda: any(one.is_open for one in side.supervisor.children), timeout=PATIENCE)
            assert await (await side.call()).who() in side.pids()
            assert 'refused_total{reason="all_full"} 1' in (await side.get("/metrics"))[1]

    run(check)


def test_a_worker_that_was_killed_is_replaced_and_its_figures_stay(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        async with supervised() as side:
            before = await (await side.call()).who()
            await wait_until(lambda: "antiphon_calls_total" in side.supervisor.snapshot(), timeout=PATIENCE)
            os.kill(before, signal.SIGKILL)
            call = await side.call()
            assert await call.who() != before
            _, text = await side.get("/metrics")
            assert 'antiphon_worker_restarts_total{reason="crashed"} 1' in text
            await wait_until(lambda: side.supervisor.snapshot()["antiphon_calls_total"] == 2, timeout=PATIENCE)
        assert "crashed (signal 9) with 1 calls on" in caplog.text

    run(check)


@pytest.mark.parametrize("count", [1, 2])
def test_what_a_worker_held_when_it_died_is_told_to_another_or_to_the_next(count: int) -> None:
    async def check() -> None:
        async with supervised(count, places=3 - count) as side:
            calls = [await side.call() for _ in range(count)]
            before = await calls[0].who()
            calls[0].say("job")
            await wait_until(lambda: any(one.status.jobs for one in side.supervisor.children), timeout=PATIENCE)
            os.kill(before, signal.SIGKILL)
            asked = calls[1] if count == 2 else await side.call()
            asked.say("lost")
            async with asyncio.timeout(PATIENCE):
                line = await asked.reader.readline()
            assert line, side.supervisor.snapshot()
            assert json.loads(line) == [{"id": "AJ_1", "room": "the room"}]

    run(check)


def test_a_worker_that_is_stuck_says_where_and_is_replaced(capfd: pytest.CaptureFixture[str]) -> None:
    async def check() -> None:
        async with supervised(limits=Limits(stall=3.0)) as side:
            call = await side.call()
            before = await call.who()
            call.say("block")
            await wait_until(lambda: side.pids() != [before], timeout=PATIENCE)
            await side.ready()
            assert await (await side.call()).who() != before
            assert side.supervisor.snapshot()['antiphon_worker_restarts_total{reason="stuck"}'] >= 1

    run(check)
    assert "supervised_worker.py" in capfd.readouterr().err


def test_a_worker_that_holds_too_much_memory_is_replaced_and_its_call_goes_on_meanwhile() -> None:
    async def check() -> None:
        async with supervised(limits=Limits(memory=800)) as side:
            call = await side.call()
            before = await call.who()
            call.say("swell")
            await wait_until(lambda: side.pids() != [before], timeout=PATIENCE)
            assert await call.who() == before
            assert await (await side.call()).who() != before
            await call.hang_up()
            await wait_until(lambda: not alive(before), timeout=PATIENCE)

    run(check)


def test_workers_that_crash_again_and_again_are_started_less_and_less_often(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        async with supervised(behaviour="dies") as side:
            await wait_until(lambda: "in 1 s: it is the 3th time" in caplog.text, timeout=PATIENCE)
            assert side.supervisor.snapshot()['antiphon_worker_restarts_total{reason="crashed"}'] == 3

    run(check)
    assert "started at once" in caplog.text
    assert "started in 0.5 s" in caplog.text


def test_if_the_first_worker_does_not_get_ready_its_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    async def check() -> None:
        async with supervised(behaviour=f"fails-if-there:{tmp_path}") as side:
            with pytest.raises(CommandFailed) as failed:
                await side.running
            assert failed.value.code == 7

    run(check)


def test_told_to_end_it_waits_for_the_calls_that_are_on() -> None:
    async def check() -> None:
        async with supervised(2) as side:
            call = await side.call()
            holder = await call.who()
            pids = side.pids()
            side.running.cancel()
            await wait_until(lambda: [pid for pid in pids if alive(pid)] == [holder], timeout=PATIENCE)
            assert (await side.get("/readyz"))[1] == "draining\n"
            with pytest.raises(OSError):
                await side.call()
            assert await call.who() == holder
            await call.hang_up()
            await asyncio.wait([side.running], timeout=PATIENCE)
            assert side.running.done()

    run(check)


def test_an_upgrade_replaces_all_and_ends_no_call() -> None:
    async def check() -> None:
        async with supervised(2, places=2) as side:
            before = side.pids()
            calls = [await side.call() for _ in range(3)]
            holders = [await call.who() for call in calls]
            side.supervisor.upgrade()
            await wait_until(lambda: not set(before) & set(side.pids()), timeout=PATIENCE)
            assert [await call.who() for call in calls] == holders
            assert await (await side.call()).who() in side.pids()
            for call in calls:
                await call.hang_up()
            await wait_until(lambda: not any(map(alive, before)), timeout=PATIENCE)

    run(check)


def test_an_upgrade_that_does_not_get_ready_leaves_the_workers_as_they_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        broken = tmp_path / "broken"
        async with supervised(behaviour=f"fails-if-there:{broken}") as side:
            await side.ready()
            before = side.pids()
            broken.touch()
            side.supervisor.upgrade()
            await wait_until(lambda: "did not become ready" in caplog.text, timeout=PATIENCE)
            assert side.pids() == before
            assert await (await side.call()).who() in before

    run(check)


def test_workers_end_when_their_supervisor_was_killed() -> None:
    program = """
    import asyncio, socket, sys
    from antiphon.server.supervisor.supervisor import Supervisor
    command = [sys.executable, "-m", "tests.server.supervised_worker", "5"]

    async def supervise(listening):
        opened = lambda where, count: print(*(one.pid for one in supervisor.children), flush=True)
        supervisor = Supervisor(2, listening=listening, port=0, command=command, opened=opened)
        await supervisor.run()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        asyncio.run(supervise(listening))
    """
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as supervisor:
        assert supervisor.stdout is not None
        pids = [int(word) for word in supervisor.stdout.readline().split()]
        supervisor.kill()
    assert len(pids) == 2
    asyncio.run(wait_until(lambda: not any(map(alive, pids)), timeout=PATIENCE))


def test_health_readiness_and_figures_are_told() -> None:
    async def check() -> None:
        async with supervised(2) as side:
            status, text = await side.get("/healthz")
            assert status == 200
            assert [one["state"] for one in json.loads(text)["workers"]] == ["ready", "ready"]
            assert await side.get("/readyz") == (200, "ready\n")
            status, text = await side.get("/metrics")
            assert status == 200
            assert '# TYPE antiphon_workers gauge\nantiphon_workers{state="ready"} 2' in text
            assert 'antiphon_memory_bytes{worker="1"} 50000000' in text
            assert (await side.get("/else"))[0] == 404

    run(check)


def test_who_sends_half_a_request_keeps_nobody_waiting() -> None:
    async def check() -> None:
        async with supervised() as side:
            assert side.supervisor.health_port is not None
            _, writer = await asyncio.open_connection("127.0.0.1", side.supervisor.health_port)
            writer.write(b"GET /healthz HTTP/1.1\r\n")
            assert (await side.get("/healthz"))[0] == 200
            writer.close()
            await writer.wait_closed()

    run(check)


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.fixture(autouse=True)
def _told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="antiphon")
