"""Whoever keeps the event loop waiting is named: the tool, and the line."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

from antiphon import Agent, AgentSession, function_tool
from antiphon.calls.loop_watch import Blocked, watched_loop
from antiphon.testing import FakeLLM, Reply


def seconds_of_work(seconds: float) -> None:
    """What a caller would wait for: it is the subject here, so it takes real time."""
    time.sleep(seconds)


@function_tool(effect="reads")
async def slow_look(day: str) -> str:
    """Look at a day."""
    seconds_of_work(0.3)
    return "Nothing."


async def told_in_a_call(tool_calls: list[tuple[str, dict[str, str]]]) -> list[Blocked]:
    told: list[Blocked] = []
    came = asyncio.Event()

    def tell(blocked: Blocked) -> None:
        told.append(blocked)
        came.set()

    with watched_loop(tell, limit=0.1):
        llm = FakeLLM([Reply(calls=tool_calls), "There is nothing."])
        async with AgentSession(llm=llm) as session:
            await session.start(Agent(instructions="Look.", tools=[slow_look]))
            await session.run(user_input="Friday?")
        if tool_calls:
            await asyncio.wait_for(came.wait(), 5.0)
    return told


def test_the_tool_and_the_line_that_blocked_the_loop_are_named() -> None:
    told = asyncio.run(told_in_a_call([("slow_look", {"day": "Friday"})]))
    blocked = next(one for one in told if one.tool == "slow_look")
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    file, _, line = blocked.place.rpartition(":")
    assert Path(file).name == Path(__file__).name
    assert lines[int(line) - 1].strip() == blocked.line == "time.sleep(seconds)"
    assert 0.1 <= blocked.seconds < 5.0
    assert "tool 'slow_look' blocked the event loop for 0." in str(blocked)


def test_a_loop_that_is_not_watched_has_no_thread_beside_it() -> None:
    async def call() -> set[str]:
        async with AgentSession(llm=FakeLLM(["Hello."])) as session:
            await session.start(Agent(instructions="Greet."))
            await session.run(user_input="Hi")
            return {thread.name for thread in threading.enumerate()}

    assert "antiphon loop watch" not in asyncio.run(call())
