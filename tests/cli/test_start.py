"""`antiphon start` with an agent file: real processes that hold calls of real pages."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import websockets

from antiphon.cli.main import main
from antiphon.testing import wait_until
from tests.console.page import Page

AGENT = """
import os, time
from antiphon import Agent, AgentServer, AgentSession, JobContext, RunContext, function_tool
from antiphon.testing import FakeLLM, Reply

server = AgentServer(drain_timeout=20.0)

@function_tool(effect="reads")
async def wait(context: RunContext) -> str:
    '''Wait.'''
    time.sleep(600)

@server.rtc_session
async def entrypoint(ctx: JobContext):
    llm = FakeLLM({"block": Reply(calls=[("wait", {})]), "": f"I am {os.getpid()}, VERSION."}, ttft=0.0)
    await AgentSession().start(agent=Agent(instructions="", tools=[wait]), room=ctx.room, llm=llm)
"""

PATIENCE = 60.0
NO_LOCAL_MODELS = {f"{vendor}_API_KEY": "none" for vendor in ("OPENAI", "DEEPGRAM", "CARTESIA")}
"""So none are loaded ahead; the agent brings its own."""


class Started:
    """`antiphon start`, once it takes calls."""

    def __init__(self, process: asyncio.subprocess.Process, output: list[str]) -> None:
        self.process = process
        self.output = output

    @property
    def url(self) -> str:
        found = re.search(r"Taking calls at (http\S+?)[, ]", "".join(self.output))
        assert found is not None
        return found[1]

    def page(self) -> Page:
        return Page(self.url, audio=False)


@contextlib.asynccontextmanager
async def started(folder: Path, *arguments: str, **environment: str) -> AsyncIterator[Started]:
    file = folder / "agent.py"
    if not file.exists():
        file.write_text(AGENT)
    code = "from antiphon.cli.main import main; main()"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "ignore", "-c", code, "start", str(file), "--port", "0", *arguments),
        env={**os.environ, **NO_LOCAL_MODELS, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    output: list[str] = []

    async def read() -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            output.append(line.decode())

    reading = asyncio.create_task(read())
    try:
        await wait_until(lambda: "Taking calls" in "".join(output) or reading.done(), timeout=PATIENCE)
        assert not reading.done(), "".join(output)
        yield Started(process, output)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        async with asyncio.timeout(PATIENCE):
            await reading  # the workers have ended, too: the pipe is theirs as well


@contextlib.asynccontextmanager
async def called_again(one: Started) -> AsyncIterator[Page]:
    """A call while a worker is started: tried, as a page in a browser does, until somebody answers."""
    async with contextlib.AsyncExitStack() as stack, asyncio.timeout(PATIENCE) as waiting:
        page: Page | None = None
        while page is None:
            with contextlib.suppress(OSError, TimeoutError, websockets.InvalidHandshake):
                page = await stack.enter_async_context(one.page())
        await page.wait_for("ready", timeout=PATIENCE)
        waiting.reschedule(None)
        yield page


async def who(page: Page) -> int:
    found = re.search(r"I am (\d+)", await page.asks("Who are you?", timeout=PATIENCE))
    assert found is not None
    return int(found[1])


def run(check: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(150):
            await check()

    asyncio.run(bounded())


async def get(url: str, path: str) -> tuple[int, str]:
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port.partition("/")[0]))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.timeout(160)
def test_a_call_whose_worker_was_killed_is_called_again_and_answered(tmp_path: Path) -> None:
    async def check() -> None:
        async with started(tmp_path, "--workers", "1") as one:
            async with one.page() as page:
                await page.wait_for("ready", timeout=PATIENCE)
                os.kill(before := await who(page), signal.SIGKILL)
                code, _ = await page.closed()
                assert code == 1006
            async with called_again(one) as page:
                assert await who(page) != before

    run(check)


@pytest.mark.timeout(160)
def test_an_upgrade_while_three_calls_are_on_ends_none_and_new_calls_get_the_new_agent(tmp_path: Path) -> None:
    async def check() -> None:
        async with started(tmp_path, "--workers", "2") as one, contextlib.AsyncExitStack() as stack:
            pages = [await stack.enter_async_context(one.page()) for _ in range(3)]
            for page in pages:
                await page.wait_for("ready", timeout=PATIENCE)
            holders = [await who(page) for page in pages]
            (tmp_path / "agent.py").write_text(AGENT.replace("VERSION", "new"))
            one.process.send_signal(signal.SIGHUP)
            await wait_until(lambda: "".join(one.output).count("is replaced by") == 2, timeout=PATIENCE)
            async with one.page() as page:
                assert "new" in await page.asks("Who are you?", timeout=PATIENCE)
            assert [await who(page) for page in pages] == holders

    run(check)


@pytest.mark.timeout(160)
def test_told_to_stop_it_waits_for_the_call_and_exits_with_0(tmp_path: Path) -> None:
    async def check() -> None:
        async with started(tmp_path, "--workers", "2") as one:
            async with one.page() as page:
                await page.wait_for("ready", timeout=PATIENCE)
                one.process.send_signal(signal.SIGTERM)
                await wait_until(lambda: "may come to their end" in "".join(one.output), timeout=PATIENCE)
                with pytest.raises(OSError):
                    await get(one.url, "/")
                assert await who(page)
                await page.send("hang_up")
            async with asyncio.timeout(PATIENCE):
                assert await one.process.wait() == 0

    run(check)


@pytest.mark.timeout(160)
def test_told_to_stop_twice_it_ends_the_calls_that_are_on_and_exits(tmp_path: Path) -> None:
    async def check() -> None:
        async with started(tmp_path, "--workers", "2") as one, one.page() as page:
            await page.wait_for("ready", timeout=PATIENCE)
            await who(page)
            one.process.send_signal(signal.SIGTERM)
            await wait_until(lambda: "may come to their end" in "".join(one.output), timeout=PATIENCE)
            await who(page)
            one.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(10):
                assert await one.process.wait() == 128 + signal.SIGTERM
            assert "Traceback" not in "".join(one.output)

    run(check)


@pytest.mark.timeout(160)
def test_when_all_places_are_taken_pages_are_told_503_until_one_is_free(tmp_path: Path) -> None:
    async def check() -> None:
        async with started(tmp_path, "--workers", "1", "--max-calls", "1") as one:
            async with one.page() as page:
                await page.wait_for("ready", timeout=PATIENCE)
                await wait_for_status(one.url, 503)
                with pytest.raises(websockets.InvalidStatus):
                    async with one.page():
                        pass
            await wait_for_status(one.url, 200)

    async def wait_for_status(url: str, wanted: int) -> None:
        async with asyncio.timeout(PATIENCE):
            status = 0
            while status != wanted:
                await asyncio.sleep(0.1)
                status, _ = await get(url, "/")

    run(check)


@pytest.mark.timeout(160)
def test_a_worker_that_its_agent_keeps_is_replaced(tmp_path: Path) -> None:
    async def check() -> None:
        async with started(tmp_path, "--workers", "1", "--stall-limit", "5") as one:
            async with one.page() as page:
                before = await who(page)
                await page.send("text", text="block")
                await page.closed(timeout=PATIENCE)
            await wait_until(lambda: "stuck" in "".join(one.output), timeout=PATIENCE)
            assert "in wait" in "".join(one.output)
            async with called_again(one) as page:
                assert await who(page) != before

    run(check)


@pytest.mark.timeout(160)
def test_the_log_is_json_with_the_call_that_a_line_is_about(tmp_path: Path) -> None:
    agent = AGENT.replace(
        "    await AgentSession",
        "    import logging; logging.getLogger('antiphon.agent').info('here')\n    await AgentSession",
    )
    (tmp_path / "agent.py").write_text(agent)

    async def check() -> None:
        async with started(tmp_path, "--workers", "1", "--log-format", "json") as one:
            async with one.page() as page:
                await page.wait_for("ready", timeout=PATIENCE)
            lines = [json.loads(line) for line in one.output if line.startswith("{")]
            (here,) = (line for line in lines if line["message"] == "here")
            assert here["level"] == "info"
            assert here["job"].startswith("job-")
            assert here["room"].startswith("page-")

    run(check)


@pytest.mark.timeout(160)
def test_an_agent_file_that_is_broken_ends_it_with_its_error(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("1 / 0")

    async def check() -> None:
        with pytest.raises(AssertionError, match="ZeroDivisionError"):
            async with started(tmp_path):
                pass

    run(check)


@pytest.mark.timeout(160)
def test_a_token_that_was_given_is_asked_for_and_is_not_in_the_log(tmp_path: Path) -> None:
    async def check() -> None:
        async with started(tmp_path, "--workers", "2", ANTIPHON_TOKEN="open sesame") as one:
            assert (await get(one.url, "/call"))[0] == 401
            for _ in range(4):
                assert (await get(one.url, "/call?token=open%20sesame"))[0] == 204
            assert "sesame" not in "".join(one.output)

    run(check)


@pytest.mark.timeout(160)
def test_health_and_figures_are_where_they_are_asked_for(tmp_path: Path) -> None:
    async def check() -> None:
        health = free_port()
        async with started(tmp_path, "--workers", "2", "--health-port", str(health)) as one:
            base = f"http://127.0.0.1:{health}"
            assert await get(base, "/readyz") == (200, "ready\n")
            async with one.page() as page:
                await who(page)
                await wait_for_figure(base, "antiphon_calls_active 1")
                await wait_for_figure(base, 'antiphon_turns_total{origin="typed"} 1')
            await wait_for_figure(base, "antiphon_calls_active 0")
            await wait_for_figure(base, "antiphon_calls_total 1")

    run(check)


async def wait_for_figure(base: str, line: str) -> None:
    text: Any = ""
    try:
        async with asyncio.timeout(PATIENCE):
            while line not in text.splitlines():
                await asyncio.sleep(0.1)
                _, text = await get(base, "/metrics")
    except TimeoutError:
        raise AssertionError(f"no {line!r} in:\n{text}") from None


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def test_what_calls_need_is_fetched_ahead(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    with pytest.raises(SystemExit) as ended:
        main(["download-files", str(tmp_path / "agent.py"), "--llm", "local"])
    assert ended.value.code == 0
    assert "SileroVAD is ready." in capsys.readouterr().out
