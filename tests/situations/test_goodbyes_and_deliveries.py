"""The caller speaks over a goodbye, or over a result from the background."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, CloseEvent, EndCallTool, RunContext, function_tool
from antiphon.testing import Reply, SimulatedCall, now, run_virtual
from tests.situations.calls import (
    FRAME,
    REACTION,
    TTFB,
    TTFT,
    agent_sounds,
    calling,
    lines,
    model,
    reaction,
    said,
    until_heard,
    voiced,
)
from tests.situations.figures import measured

GOODBYE = "Thank you for calling us today, and good bye to you."


async def goodbye(words: str, at: float, *replies: str) -> tuple[SimulatedCall, Any, list[tuple[float, CloseEvent]]]:
    """Have the agent say goodbye and the caller say something, `at` seconds after the goodbye began."""
    closed: list[tuple[float, CloseEvent]] = []
    async with calling(model([Reply(calls=[("end_call", {})]), GOODBYE, *replies])) as call:
        call.session.on("close", lambda event: closed.append((now(), event)))
        await call.start(Agent(tools=[EndCallTool()]))
        await call.caller.says("that is all I wanted")
        await until_heard(call, lambda: agent_sounds(call))
        await asyncio.sleep(at)
        spoken = await call.caller.says(words)
        await asyncio.sleep(8.0)
    return call, spoken, closed


@pytest.mark.parametrize("at", [0.5, 1.5, len(GOODBYE) * 0.06 + 0.5])
def test_wait_one_more_thing_over_the_goodbye_goes_on_with_the_call(at: float) -> None:
    async def main() -> None:
        call, spoken, closed = await goodbye("wait one more thing", at, "Of course, what is it?")
        row = '"wait, one more thing" over the goodbye'
        assert said(call.session)[-2:] == ["wait one more thing", "Of course, what is it?"]
        measured(row, "answer after the end", reaction(call, spoken), at_most=REACTION)
        ended, event = closed[0]
        assert event.reason.value == "user_initiated"  # the test's own end, eight seconds later
        assert ended - spoken.end >= 8.0

    run_virtual(main())


@pytest.mark.parametrize("at", [0.5, 1.5, len(GOODBYE) * 0.06 + 0.5])
def test_bye_bye_over_the_goodbye_ends_the_call(at: float) -> None:
    async def main() -> None:
        call, spoken, closed = await goodbye("bye-bye", at)
        assert said(call.session)[-1] == "bye-bye" and len(call.session.history.messages()) == 3
        ended, event = closed[0]
        assert event.reason.value == "user_initiated"
        over = max(spoken.end, call.timeline.agent[-1].end)
        measured('"bye-bye" over the goodbye', "end of both to the end of the call", ended - over, at_most=2.0)

    run_virtual(main())


def background(name: str, seconds: float, result: str) -> Any:
    """A tool that reports at once and goes on in the background."""

    async def work(ctx: RunContext[Any]) -> str:
        """Work."""
        await ctx.update(f"{name} is under way.", silent=True)
        await asyncio.sleep(seconds)
        return result

    return function_tool(work, name=name)


def test_an_interrupted_delivery_of_a_background_result_is_made_again_once() -> None:
    async def main() -> None:
        delivery = "Good news for you, the booking was made under the number 4711."
        llm = model([Reply("I am on it.", [("book", {})]), delivery, "It is sunny.", delivery])
        async with calling(llm) as call:
            await call.start(Agent(tools=[background("book", 5.0, "booked under 4711")]))
            await call.caller.says("book a table please")
            await asyncio.sleep(3.0)
            await until_heard(call, lambda: agent_sounds(call))
            await asyncio.sleep(1.0)
            spoken = await call.caller.says("how is the weather")
            await call.settled(quiet=5.0)
        row = "interrupted delivery of a background result"
        measured(row, "answer to the interruption", reaction(call, spoken), at_most=REACTION)
        answered = call.timeline.agent[-2].end
        measured(
            row, "its end to the second delivery", call.timeline.agent[-1].start - answered, at_most=TTFT + TTFB + FRAME
        )
        assert said(call.session, "assistant")[-2:] == ["It is sunny.", delivery]
        assert voiced(call.session, "4711") == 1 and llm.remaining == 0

    run_virtual(main())


def test_two_results_that_come_in_while_the_caller_talks_are_told_in_one_reply_with_the_answer() -> None:
    async def main() -> None:
        llm = model(
            [
                Reply("I am on it.", [("book", {}), ("pay", {})]),
                "Four people, and it is booked under 4711 and paid with 12 euros.",
                "",
            ]
        )
        tools = [background("book", 4.0, "booked under 4711"), background("pay", 4.5, "paid 12 euros")]
        async with calling(llm) as call:
            await call.start(Agent(tools=tools))
            await call.caller.says("book a table please and pay for it")
            await asyncio.sleep(3.0)
            spoken = await call.caller.says("there will be four of us tonight by the way so a large table")
            await call.settled(quiet=5.0)
        row = "two results while the caller talks"
        assert any("booked under 4711" in line for line in llm.histories[1])
        assert any("paid 12 euros" in line for line in llm.histories[1])
        measured(row, "one reply with both, after the caller", reaction(call, spoken), at_most=REACTION)
        assert voiced(call.session, "4711") == voiced(call.session, "12 euros") == 1
        assert lines(call.session)[-1].startswith("assistant: Four people") and llm.remaining == 0

    run_virtual(main())
