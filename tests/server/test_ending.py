"""A call of a server that is told to end: tools that write may finish, and whoever is impatient hastens them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from antiphon import Agent, AgentServer, AgentSession, CloseEvent, function_tool
from antiphon.server.room import Room
from antiphon.testing import FakeLLM, Reply, now, run_virtual

if TYPE_CHECKING:
    import pytest


class Desk:
    """A server whose agent books when it is told to, which takes eight seconds."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.closes: list[CloseEvent] = []
        self.server = AgentServer()

        @function_tool(effect="writes")
        async def book() -> str:
            """Book."""
            try:
                await asyncio.sleep(8.0)
            except asyncio.CancelledError:
                self.log.append("stopped")
                raise
            self.log.append("ended")
            return "number 4711"

        @self.server.rtc_session
        async def entrypoint(session: AgentSession) -> None:
            session.on("close", self.closes.append)
            llm = FakeLLM({"": Reply(calls=[("book", {})])})
            async with session:  # leaving this would give what writes one second
                await session.start(Agent(tools=[book], llm=llm))
                await asyncio.Event().wait()

    async def call(self) -> None:
        """A call in which the tool works for a second, and then the job ends."""
        async with self.server.job(Room()) as job:
            session = await job.wait_for_session()
            assert session is not None
            session.submit_user_turn("Book it")
            await asyncio.sleep(1.0)


def test_what_writes_ends_before_the_call_and_the_log_says_what_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()

    async def test() -> None:
        await desk.call()
        assert 8.0 <= now() < 9.0

    run_virtual(test())
    assert desk.log == ["ended"]
    (close,) = desk.closes
    assert close.reason.value == "job_shutdown"
    assert [(one.name, one.outcome, one.output) for one in close.unheard] == [("book", "done", "number 4711")]
    assert "waits up to 30 s for book(). Told once more, it waits for 1 s." in caplog.text


def test_a_call_that_is_hastened_gives_what_writes_a_second() -> None:
    desk = Desk()

    async def test() -> None:
        call = asyncio.create_task(desk.call())
        await asyncio.sleep(3.0)
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        assert call.cancelled()
        assert 3.5 < now() < 4.5

    run_virtual(test())
    assert desk.log == ["stopped"]
    ((unheard,),) = [close.unheard for close in desk.closes]
    assert (unheard.name, unheard.outcome) == ("book", "unknown")
