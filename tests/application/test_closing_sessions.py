"""The end of a session: in time, with nothing left behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from antiphon import Agent, AgentSession, CloseReason, function_tool
from antiphon.testing import FakeLLM, Hang, Reply, now, run_virtual, transcript

if TYPE_CHECKING:
    import pytest


class Deaf(Agent):
    @function_tool
    async def work(self) -> str:
        """Work."""
        for _ in range(100):
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                continue
            if now() > 20:
                break
        return "done"


def test_closing_does_not_wait_for_a_tool_that_swallows_its_cancellation(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM([Reply(calls=[("work", {})])]))
        await session.start(Deaf())
        session.submit_user_turn("Work.")
        await asyncio.sleep(2)
        began = now()
        await session.aclose()
        assert now() - began <= 1.2
        await asyncio.sleep(30)

    run_virtual(main())
    assert "abandoned" in caplog.text


def test_shutdown_lets_the_agent_finish_and_tells_when_it_is_over() -> None:
    async def main() -> None:
        closed: list[Any] = []
        session = AgentSession[Any](llm=FakeLLM(["Good bye, and thank you."]))
        session.on("close", closed.append)
        await session.start(Agent())
        handle = session.generate_reply(instructions="Say good bye.")
        session.shutdown()
        await handle
        await asyncio.sleep(1)
        assert transcript(session.history) == ["assistant: Good bye, and thank you."]
        assert [event.reason.value for event in closed] == ["user_initiated"]
        assert not session.is_running

    run_virtual(main())


def test_the_reason_is_told() -> None:
    async def main() -> None:
        closed: list[Any] = []
        session = AgentSession[Any](llm=FakeLLM())
        session.once("close", closed.append)
        await session.start(Agent())
        await session.aclose(reason=CloseReason.JOB_SHUTDOWN)
        assert closed[0].reason is CloseReason.JOB_SHUTDOWN

    run_virtual(main())


def test_everybody_who_waits_is_released() -> None:
    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM([Hang()]))
        await session.start(Agent())
        result = session.run(user_input="a")
        await asyncio.sleep(1)
        handle = session.current_speech
        assert handle is not None
        await session.aclose()
        await result
        await handle
        assert handle.interrupted

    run_virtual(main())


def test_a_tool_may_end_the_session() -> None:
    class Ending(Agent):
        @function_tool
        async def end(self) -> str:
            """End."""
            self.session.shutdown()
            return "say good bye"

    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM([Reply(calls=[("end", {})]), "Good bye."]))
        closed = asyncio.Event()
        session.on("close", lambda _: closed.set())
        await session.start(Ending())
        session.submit_user_turn("Bye.")
        await closed.wait()
        assert transcript(session.history)[-1] == "assistant: Good bye."

    run_virtual(main())


def test_a_hook_that_waits_for_the_end_is_cancelled() -> None:
    class Waiting(Agent):
        async def on_enter(self) -> None:
            await asyncio.get_running_loop().create_future()

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM()) as session:
            await session.start(Waiting())
        assert now() < 1.2

    run_virtual(main())
