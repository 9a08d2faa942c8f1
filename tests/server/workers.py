"""Real workers of `antiphon start`, pages that come back by themselves, and a backend that outlives them all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from websockets.exceptions import WebSocketException

from antiphon.store import Store
from antiphon.testing import wait_until
from tests.console.page import Page

PATIENCE = 40.0
"""Seconds that anything may take on a machine that is busy."""
SILENCE = 2.0
"""Seconds without a word after which a page calls again."""
START = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would mean nothing, and upgrade no worker
from antiphon.cli.main import main
main()
"""
COMMAND = (sys.executable, "-c", START)

AGENT = '''
import asyncio
import json
import re
from pathlib import Path
from typing import Any

from antiphon import Agent, AgentServer, AgentSession, Happened, RunContext, function_tool
from antiphon.testing import FakeLLM, Reply

BACKEND = Path(__file__).parent / "backend"
server = AgentServer()


async def booked(key: str, arguments: dict[str, Any]) -> Happened | None:
    found = [line.split()[1] for line in BACKEND.read_text().splitlines() if line.split()[0] == key]
    return Happened(f"Booked number {found[0]}.") if found else None


@function_tool(effect="writes", reconcile=booked)
async def book(ctx: RunContext, number: int) -> str:
    """Book a table."""
    with BACKEND.open("a") as file:
        file.write(f"{ctx.idempotency_key} {number}\\n")
    await asyncio.sleep(2.0)
    return f"Booked number {number}."


def answer(request):
    items = request.chat_ctx.items
    said = " ".join(one.text_content or "" for one in items if one.type == "message" and one.role == "assistant")
    asked = " ".join(one.text_content or "" for one in items if one.type == "message" and one.role == "user")
    called = {json.loads(one.arguments)["number"] for one in items if one.type == "function_call"}
    wanted = [number for number in map(int, re.findall(r"table (\\d+)", asked)) if number not in called]
    if wanted:
        return Reply(calls=[("book", {"number": number}) for number in wanted])
    outputs = " ".join(one.output for one in items if one.type == "function_call_output")
    news = [one for one in re.findall(r"Booked number \\d+\\.", outputs) if one not in said]
    return Reply(" ".join(news) or "I do not know yet.")


@server.rtc_session
async def entrypoint(session: AgentSession):
    agent = Agent(instructions="", tools=[book], id="desk", llm=FakeLLM(answer, ttft=0.01))
    await session.start(agent=agent, room=session.room)
'''


class Workers:
    """The processes of one `antiphon start`."""

    def __init__(self, folder: Path, url: str, process: asyncio.subprocess.Process) -> None:
        self.url = url
        self.process = process
        self._backend = folder / "backend"

    def booked(self) -> Counter[int]:
        """What stands in the backend: how often each table was booked."""
        return Counter(int(line.split()[1]) for line in self._backend.read_text().splitlines())

    def upgrade(self) -> None:
        """Have each worker replaced by a new one."""
        self.process.send_signal(signal.SIGHUP)


@contextlib.asynccontextmanager
async def started(folder: Path, store: str, *options: str) -> AsyncIterator[Workers]:
    """Two workers, until this is left."""
    (folder / "backend").touch()
    (folder / "agent.py").write_text(AGENT)
    told = folder / "told"
    with told.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *("start", str(folder / "agent.py"), "--workers", "2", "--port", "0", "--host", "127.0.0.1"),
            *("--health-port", "0", "--store", store, *options),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "ANTIPHON_SECRETS_KEY": "a secret that both workers share, and the next ones"},
        )
    workers: list[int] = []
    try:
        await wait_until(lambda: _address(told) is not None or process.returncode is not None, timeout=PATIENCE)
        address = _address(told)
        assert address is not None, told.read_text()
        yield Workers(folder, address, process)
    finally:
        workers += _children(process.pid)
        for pid in (process.pid, *workers):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await process.wait()
        print(told.read_text())


def _address(told: Path) -> str | None:
    found = re.search(r"Taking calls at (http://[0-9.]+:[0-9]+)", told.read_text())
    return None if found is None else found[1]


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def worker_of(store: Store, call: str) -> int:
    """The process that holds a call."""
    stored = await store.load(call)
    assert stored is not None
    return int(stored.info.worker.partition("-")[0])


class Caller:
    """A page that calls again when its server is gone, or says nothing any more."""

    def __init__(self, url: str) -> None:
        self.call = ""
        self.said: list[str] = []
        """What the agent said, in all its connections."""
        self.came_back: list[float] = []
        """When."""
        self._url = url
        self._task: asyncio.Task[None] | None = None
        self._asked: asyncio.Queue[str] = asyncio.Queue()

    async def __aenter__(self) -> Caller:
        self._task = asyncio.create_task(self._run())
        await wait_until(lambda: self.call, timeout=PATIENCE)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait([self._task])

    def says(self, words: str) -> None:
        """Type it, now or when there is a line again."""
        self._asked.put_nowait(words)

    def heard(self, words: str) -> bool:
        """Whether the agent said it."""
        return any(words in one for one in self.said)

    async def _run(self) -> None:
        delay = 0.5
        while True:
            try:
                async with Page(self._url, audio=False, resume=self.call or None) as page:
                    ready = await page.wait_for("ready", timeout=PATIENCE)
                    if self.call:
                        self.came_back.append(time.monotonic())
                    self.call, delay = ready["call"], 0.5
                    await self._talk(page)
            except (OSError, AssertionError, WebSocketException):
                delay = min(2 * delay, 10.0)
            await asyncio.sleep(delay)

    async def _talk(self, page: Page) -> None:
        seen = 0
        typing: asyncio.Task[Any] = asyncio.create_task(self._type(page))
        try:
            while page.socket.close_code is None:
                await asyncio.sleep(0.05)
                for message in page.messages[seen:]:
                    if message["type"] == "message" and message["role"] == "assistant":
                        self.said.append(message["text"])
                seen = len(page.messages)
                if time.monotonic() - page.times[-1] > SILENCE:
                    page.socket.transport.abort()
                    return
        finally:
            typing.cancel()
            await asyncio.wait([typing])

    async def _type(self, page: Page) -> None:
        while True:
            await page.send("text", text=await self._asked.get())
