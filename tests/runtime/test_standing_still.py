"""Where the event loop or the machine stood still, what stands ready comes before what fell due meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, function_tool
from antiphon.adapters.fallback import FallbackLLM, FallbackSTT
from antiphon.core import facts as f
from antiphon.language.consent import Reply as Meaning
from antiphon.runtime.stream_watch import Pulse, StreamWatch
from antiphon.testing import Caller as VoiceOfCaller
from antiphon.testing import CallerSTT, FakeLLM, FakeSTT, Reply, run_virtual, transcript
from antiphon.testing.clock import stand_still
from antiphon.timer import CATCH_UP, STOOD_STILL, Timer, within
from tests.adapters.fallback_calls import Caller, finals
from tests.situations.calls import calling, model


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


@pytest.mark.parametrize(("late", "comes_after"), [(0.0, 0.0), (STOOD_STILL / 2, 0.0), (0.4, 0.4), (5.0, CATCH_UP)])
def test_a_limit_that_is_late_lets_what_stands_ready_go_first(late: float, comes_after: float) -> None:
    async def waits_for(answer: float) -> tuple[str, float]:
        loop = asyncio.get_running_loop()
        try:
            async with within(1.0):
                await asyncio.sleep(answer)
        except TimeoutError:
            return "given up", loop.time()
        return "answered", loop.time()

    async def main() -> None:
        ready, hung = asyncio.create_task(waits_for(0.95)), asyncio.create_task(waits_for(99.0))
        await asyncio.sleep(0.9)
        stand_still(0.1 + late)
        assert (await ready)[0] == "answered"
        became, at = await hung
        assert became == "given up" and at == pytest.approx(1.0 + late + comes_after)

    run_virtual(main())


def test_a_limit_that_is_kept_or_is_none_does_nothing() -> None:
    async def main() -> None:
        for seconds in (None, 1.0):
            async with within(seconds) as limit:
                await asyncio.sleep(0.5)
            await asyncio.sleep(1.0)
            assert not limit.expired()

    run_virtual(main())


def test_a_model_whose_answer_stands_ready_gives_way_to_no_other() -> None:
    async def main() -> None:
        llm = FallbackLLM([FakeLLM(["First."], ttft=3.0), FakeLLM(["Second."])], attempt_timeout=4.0)
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent())
            result = session.run(user_input="hello")
            await asyncio.sleep(1.0)
            stand_still(3.5)
            await result
            assert transcript(session.history)[-1] == "assistant: First."

    run_virtual(main())


def test_a_recogniser_whose_words_stand_ready_gives_way_to_no_other() -> None:
    heard: list[str] = []

    async def main() -> None:
        stts = [FakeSTT(["hello"], delay=1.5), FakeSTT(["other"])]
        async with FallbackSTT(stts, transcript_timeout=2.0).stream() as stream:
            reading = asyncio.create_task(finals(stream, heard))
            caller = Caller(stream)
            await caller.speak(1.0)
            await caller.wait(0.5)
            stand_still(3.0)
            await caller.wait(2.0)
            stream.end_input()
            await reading

    run_virtual(main())
    assert heard == ["hello"]


def test_a_recogniser_whose_words_stand_ready_is_not_late() -> None:
    """The caller speaks on, and each frame of theirs has somebody look whether words are missing."""

    async def main() -> None:
        caller = VoiceOfCaller()
        stt = CallerSTT(caller, delay=1.5, interims=False)
        async with calling(model(["Six, tonight."]), caller=caller, stt=stt) as call:
            errors: list[Any] = []
            call.session.on("error", errors.append)
            await call.start(Agent())
            first = caller.says("find me a table for six", 0.4, "and a chair for the dog and one for the cat")
            await asyncio.sleep(2.6)
            stand_still(3.0)
            await first
            await call.settled(quiet=2.0)
            assert not errors

    run_virtual(main())


def test_a_judge_whose_answer_stands_ready_is_heard() -> None:
    async def judge(words: str, asked: Any) -> Meaning:
        await asyncio.sleep(1.0)
        for _ in range(3):  # an answer goes through some hands
            await asyncio.sleep(0.0)
        return Meaning.YES

    booked: list[str] = []

    @function_tool(effect="writes", confirm=True)
    async def book() -> str:
        """Book."""
        booked.append("booked")
        return "number 4711"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("book", {})]), "Booked."])
        async with AgentSession[Any](llm=llm, consent_judge=judge) as session:
            await session.start(Agent(tools=[book]))
            await session.run(user_input="a table")
            result = session.run(user_input="make my day")
            await asyncio.sleep(0.5)
            stand_still(30.0)
            await result
            assert booked

    run_virtual(main())
