"""Figures of calls: counted, added up over processes, and told in the format of Prometheus."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from antiphon import function_tool
from antiphon.agent import Agent
from antiphon.server.entrypoint import AgentServer
from antiphon.server.figures import Figures, added_up, as_text, lasting
from antiphon.server.job import JobContext
from antiphon.server.room import Room
from antiphon.session import AgentSession
from antiphon.testing import FakeLLM, FakeMicrophone, FakeSpeaker, FakeSTT, FakeTTS, FakeVAD, Reply, run_virtual

LINE = re.compile(r'[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+')


@function_tool(effect="reads")
async def look() -> str:
    """Look."""
    return "seen"


def one_call() -> Figures:
    """Those of a call with a turn and a tool."""
    figures, server = Figures(), AgentServer()
    server.watch_jobs(figures.call)

    @server.rtc_session
    async def entrypoint(context: JobContext) -> None:
        llm = FakeLLM([Reply(calls=[("look", {})]), "There it is."])
        await AgentSession().start(agent=Agent(instructions="", tools=[look], llm=llm), room=context.room)

    async def main() -> None:
        async with server.job(Room()) as job:
            session = await job.wait_for_session()
            assert session is not None
            assert figures.active == 1
            await session.run(user_input="Where is it?")
            await session.wait_for_idle()

    run_virtual(main())
    return figures


def test_a_call_its_turns_and_its_tools_are_counted() -> None:
    found = one_call().snapshot()
    assert found["antiphon_calls_active"] == 0
    assert found["antiphon_calls_total"] == 1
    assert found['antiphon_turns_total{origin="typed"}'] == 1
    assert found['antiphon_tool_calls_total{status="done"}'] == 1


def test_tokens_dead_air_outcomes_and_consents_are_counted() -> None:
    figures, server, microphone = Figures(), AgentServer(), FakeMicrophone()
    server.watch_jobs(figures.call)

    @function_tool(effect="writes", confirm="Shall I book {day}?")
    async def book(day: str) -> str:
        """Book."""
        return "booked"

    @server.rtc_session
    async def entrypoint(context: JobContext) -> None:
        llm = FakeLLM([Reply(calls=[("book", {"day": "Friday"})]), "It is booked."])
        session = AgentSession[Any](llm=llm, stt=FakeSTT(["Friday", "yes"]), vad=FakeVAD(), tts=FakeTTS())
        agent = Agent(instructions="", tools=[book])
        await session.start(agent, room=context.room, input=microphone, output=FakeSpeaker())

    async def main() -> None:
        async with server.job(Room()) as job:
            assert await job.wait_for_session() is not None
            for _ in range(2):
                await microphone.speak(1.0)
                await asyncio.sleep(5.0)

    run_virtual(main(), timeout=300)
    found = figures.snapshot()
    assert found['antiphon_tool_outcomes_total{outcome="succeeded"}'] == 1
    assert found['antiphon_consents_total{decision="yes"}'] == 1
    assert found['antiphon_tokens_total{type="input"}'] > 0
    assert found['antiphon_tokens_total{type="output"}'] > 0
    assert found["antiphon_dead_air_seconds_total"] == pytest.approx(1.42, abs=0.01)
    text = as_text(found)
    assert [line for line in text.splitlines() if not line.startswith("#") and not LINE.fullmatch(line)] == []
    assert "# TYPE antiphon_dead_air_seconds_total counter" in text


def test_an_entrypoint_that_raises_is_a_failed_call() -> None:
    figures, server = Figures(), AgentServer()
    server.watch_jobs(figures.call)

    @server.rtc_session
    async def entrypoint(context: JobContext) -> None:
        raise RuntimeError("no")

    async def main() -> None:
        async with server.job(Room()) as job:
            await job.wait_for_shutdown()

    run_virtual(main())
    assert figures.snapshot()["antiphon_calls_failed_total"] == 1


def test_figures_of_several_processes_are_added_up_and_what_lasts_outlives_them() -> None:
    figures = one_call()
    figures.refused("full")
    both = added_up(figures.snapshot(), figures.snapshot())
    assert both["antiphon_calls_total"] == 2
    assert both['antiphon_calls_refused_total{reason="full"}'] == 2
    assert "antiphon_calls_active" not in lasting(both)
    assert lasting(both)["antiphon_calls_total"] == 2


def test_every_line_is_one_that_prometheus_reads() -> None:
    lines = as_text(one_call().snapshot()).splitlines()
    assert [line for line in lines if not line.startswith("#") and not LINE.fullmatch(line)] == []
    assert "# TYPE antiphon_response_delay_seconds histogram" in lines


def test_the_last_bucket_of_a_histogram_holds_all_that_was_counted() -> None:
    found = one_call().snapshot()
    assert found['antiphon_response_delay_seconds_bucket{le="+Inf"}'] == found["antiphon_response_delay_seconds_count"]
