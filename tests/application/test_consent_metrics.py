"""What is read back before a call is an answer, and what follows the caller's yes is one to that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, function_tool
from antiphon.metrics import TurnMetrics
from antiphon.testing import FakeLLM, Reply, run_virtual
from tests.calls import VoiceCall

BOOK = Reply(calls=[("book", {"people": 2})])


@function_tool(effect="writes", confirm="A table for {people}. Shall I book it?")
async def book(people: int) -> str:
    """Book a table."""
    await asyncio.sleep(0.5)
    return "Booked."


def replies(*heard: str) -> list[TurnMetrics]:
    """The replies of a call in which the caller says this, eight seconds apart."""
    measured: list[TurnMetrics] = []

    async def main() -> None:
        async with VoiceCall(FakeLLM([BOOK, "It is booked.", "Bye."]), list(heard)) as call:
            call.session.on("turn_metrics", lambda event: measured.append(event.metrics))
            await call.begin(Agent(tools=[book]))
            for _ in heard:
                call.microphone.speak(1.0)
                await asyncio.sleep(8.0)
            await asyncio.sleep(20.0)

    run_virtual(main())
    return measured


def figures(reply: TurnMetrics) -> tuple[Any, ...]:
    return reply.turn, reply.origin, [tool.name for tool in reply.tools], reply.rounds


def test_the_read_back_answers_the_turn_and_what_follows_answers_the_yes() -> None:
    asked, done = replies("A table for two", "yes")
    assert [figures(asked), figures(done)] == [(1, "caller", [], 0), (2, "caller", ["book"], 1)]
    assert asked.response_delay == pytest.approx(0.7, abs=0.1)
    assert asked.first_answer == asked.first_audio
    assert done.waiting_since == pytest.approx(9.0, abs=0.1)
    assert done.dead_air == pytest.approx(1.2, abs=0.1)


def test_while_the_caller_makes_up_their_mind_nobody_owes_them_anything() -> None:
    asked, again, given_up = replies("A table for two")
    assert [reply.origin for reply in (asked, again, given_up)] == ["caller", "application", "application"]
    assert max(reply.dead_air for reply in (asked, again, given_up)) < 1.0
