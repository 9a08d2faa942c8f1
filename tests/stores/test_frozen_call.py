"""A worker that is frozen behind STARTED, before it enters the tool, and wakes after another took its call over."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, function_tool
from antiphon.store import Pending, RowState, open_store
from antiphon.stores.sqlite import SQLiteStore
from antiphon.testing import FakeLLM, Reply, transcript

CHILD = """
import asyncio, pathlib, sys
from tests.stores.test_frozen_call import frozen
asyncio.run(frozen(pathlib.Path(sys.argv[1])))
"""

PAY = Reply(calls=[("pay", {"amount": 5})])


class Shop(Agent):
    """Writes a line into a file for each payment."""

    def __init__(self, book: Path) -> None:
        super().__init__(instructions="You take payments.", id="shop")
        self._book = book

    @function_tool(effect="writes")
    async def pay(self, ctx: RunContext[Any], amount: int) -> str:
        """Pay."""
        with self._book.open("a") as file:
            file.write(f"{amount} under {ctx.fence}\n")
        return f"paid {amount}"


class Freezing(SQLiteStore):
    """Its process stands still in the moment in which a start is on the disk."""

    def start(self, lease: Any, row: Any) -> Pending | None:
        pending = super().start(lease, row)
        assert pending is not None
        pending.add_done_callback(lambda _: os.kill(os.getpid(), signal.SIGSTOP))
        return pending


async def frozen(folder: Path) -> None:
    """What the child does: it is told to pay, freezes, and wakes."""
    async with Freezing(folder / "calls.db") as store:
        session = AgentSession[Any](llm=FakeLLM([PAY, "That cannot be done."]), store=store, max_silence=None)
        await session.start(Shop(folder / "book"))
        print(session.call_id, flush=True)
        await session.run(user_input="Pay five.")
        await session.wait_for_idle()
        print(*transcript(session.history), sep="\n", flush=True)
        await session.aclose()


async def take_over(folder: Path, call: str, wake: Any) -> list[str]:
    async with open_store(str(folder / "calls.db")) as store:
        llm = FakeLLM(["I don't know whether it was paid.", "It was not paid.", PAY, "Now it is paid."])
        session = AgentSession[Any](llm=llm, store=store, max_silence=None)
        await session.resume(call, agents=[Shop(folder / "book")])
        await session.wait_for_idle()
        [(_, row)] = await store.rows(call=call)
        assert row.state is RowState.UNKNOWN
        await wake()
        async with asyncio.timeout(10.0):
            while "assistant: It was not paid." not in transcript(session.history):  # noqa: ASYNC110  # it is far away
                await asyncio.sleep(0.1)
        await session.run(user_input="Then pay five.")
        [(_, row)] = await store.rows(call=call)
        assert (row.state, row.attempt) == (RowState.SUCCEEDED, 2)
        await session.aclose()
        return transcript(session.history)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="SIGSTOP is of POSIX")
def test_it_does_not_enter_the_tool_and_whoever_has_the_call_hears_that(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        call = child.stdout.readline().strip()
        os.waitpid(child.pid, os.WUNTRACED)
        said: list[str] = []

        async def wake() -> None:
            os.kill(child.pid, signal.SIGCONT)
            output, _ = await asyncio.to_thread(child.communicate, None, 30.0)
            said.extend(output.splitlines())

        asyncio.run(take_over(tmp_path, call, wake))
        assert child.returncode == 0
        assert "assistant: That cannot be done." in said
        assert any("was not started" in line for line in said)
        assert (tmp_path / "book").read_text() == "5 under 2\n"
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
