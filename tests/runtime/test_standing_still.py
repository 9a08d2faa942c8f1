"""Where the event loop or the machine stood still, what stands ready comes before what fell due meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, function_tool
from antiphon.core import facts as f
from antiphon.runtime.stream_watch import Pulse, StreamWatch
from antiphon.runtime.timer import CATCH_UP, STOOD_STILL, Timer
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from antiphon.testing.clock import stand_still


def test_a_write_that_has_ended_is_not_unknown() -> None:
    ended: list[str] = []

    @function_tool(effect="writes")
    async def book() -> str:
        """Book."""
        await asyncio.sleep(5.0)
        ended.append("booked")
        return "number 4711"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("book", {})]), "Booked."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[book]))
            result = session.run(user_input="book it")
            await asyncio.sleep(1.0)
            stand_still(100.0)
            await result
            assert ended and "output book: number 4711" in transcript(session.history)

    run_virtual(main())


@pytest.mark.parametrize("seconds", [7.5, 9.2, 11.0, 3000.0])
def test_an_answer_that_stands_ready_is_given(seconds: float) -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["Here you are."], ttft=3.0)) as session:
            await session.start(Agent())
            result = session.run(user_input="hello")
            await asyncio.sleep(1.0)
            stand_still(seconds)
            await result
            assert transcript(session.history) == ["user: hello", "assistant: Here you are."]

    run_virtual(main(), timeout=4000.0)


def test_a_stream_whose_chunks_stand_ready_does_not_stand_still() -> None:
    async def main() -> None:
        llm = FakeLLM(["One two three four five six seven eight nine ten."], tokens_per_second=2.0)
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent())
            result = session.run(user_input="hello")
            await asyncio.sleep(1.0)
            stand_still(30.0)
            await result
            assert "ten" in transcript(session.history)[-1]

    run_virtual(main())


def test_time_goes_on_where_the_loop_is_always_late() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["Here you are."], ttft=60.0)) as session:
            await session.start(Agent())
            result = session.run(user_input="hello")
            for _ in range(200):
                await asyncio.sleep(0.05)
                stand_still(2 * STOOD_STILL)
            await result
            assert "something went wrong" in transcript(session.history)[-1]

    run_virtual(main())


def test_items_keep_their_time_of_day() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["One.", "Two."], ttft=3.0)) as session:
            await session.start(Agent())
            result = session.run(user_input="a")
            await asyncio.sleep(1.0)
            stand_still(1000.0)
            await result
            await session.run(user_input="b")
            first, last = (item.created_at for item in session.history.messages() if item.role == "user")
            assert last - first > 1000.0

    run_virtual(main())


def test_what_is_lost_of_time_is_in_the_journal() -> None:
    facts: list[Any] = []

    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM(["One."], ttft=3.0))
        session.on("journal", lambda event: facts.append(event))
        async with session:
            await session.start(Agent())
            result = session.run(user_input="a")
            await asyncio.sleep(1.0)
            stand_still(20.0)
            await result

    run_virtual(main())
    assert any(isinstance(getattr(fact, "fact", None), f.StoodStill) for fact in facts)


@pytest.mark.parametrize(("late", "comes_after"), [(0.0, 0.0), (STOOD_STILL / 2, 0.0), (0.4, 0.4), (5.0, CATCH_UP)])
def test_a_timer_that_is_late_lets_what_stands_ready_go_first(late: float, comes_after: float) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        came: list[float] = []
        Timer(loop, 1.0, lambda: came.append(loop.time()))
        await asyncio.sleep(0.9)
        stand_still(0.1 + late)
        await asyncio.sleep(1.0)
        assert came == [pytest.approx(1.0 + late + comes_after)]

    run_virtual(main())


def test_a_stream_is_looked_at_again_after_the_loop_stood_still() -> None:
    async def main() -> None:
        loop, pulse, paused = asyncio.get_running_loop(), Pulse(), []
        watch = StreamWatch(loop, lambda gen, seconds: paused.append(gen))
        pulse.came(loop.time())
        watch.goes_on(1, pulse)
        stand_still(10.0)
        loop.call_later(CATCH_UP / 2, lambda: pulse.came(loop.time()))
        await asyncio.sleep(0.9)
        assert not paused
        watch.stop()

    run_virtual(main())
