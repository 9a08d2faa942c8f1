"""A caller is passed on: whatever comes of it comes back to the agent, nobody is called twice, no call is left over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from antiphon import Agent
from antiphon.chat import FunctionCallOutput
from antiphon.testing import FakeLLM, Reply, run_virtual, speech, wait_until
from antiphon.toolkit import TransferCallTool
from tests.telephone.carrier import FakeCall, Person
from tests.telephone.desk import VOICE, Desk, desk

COLLEAGUE = "+15550777"
SUMMARY = "Jordan Park calls about a crown that came off."


def agent(**options: Any) -> Callable[[], Agent]:
    options = {"confirm": False, **options}
    return lambda: Agent(instructions="", tools=[TransferCallTool({"Dr Lee": COLLEAGUE}, **options)])


def llm() -> FakeLLM:
    call = ("transfer_call", {"to": "Dr Lee", "summary": SUMMARY})
    return FakeLLM([Reply(calls=[call]), "Doctor Lee is not there.", "Goodbye."], ttft=0.1)


async def asks(there: Desk) -> FakeCall:
    """The caller asks for a person."""
    caller = await there.carrier.ring(VOICE)
    await asyncio.sleep(0.5)
    caller.speak(speech(1.0, 8_000))
    await wait_until(lambda: len(there.carrier.calls) == 2, timeout=10.0)
    return caller


def leg(there: Desk) -> FakeCall:
    """The call to the person."""
    _, other = there.carrier.calls.values()
    return other


def output(there: Desk) -> tuple[str, bool] | None:
    """What came back to the agent, and whether it is an error."""
    found = None
    for item in there.sessions[0].history.items:
        if isinstance(item, FunctionCallOutput) and "still running" not in item.output:
            found = item.output, item.is_error
    return found


@pytest.mark.parametrize("warm", [True, False])
def test_the_caller_is_connected_and_the_person_called_hears_a_summary_first(warm: bool) -> None:
    async def call() -> None:
        async with desk(agent=agent(warm=warm), llm=llm, hears=["a person please"]) as there:
            caller = await asks(there)
            other = leg(there)
            await wait_until(lambda: caller.redirected, timeout=60.0)
            await there.door.drain()
            assert other.said == ([SUMMARY, "Press one to take the call."] if warm else [])
            assert (other.to, other.from_) == (COLLEAGUE, "+15550100")
            assert caller.conference == other.conference != ""
            assert not caller.is_over
            assert output(there) == (
                "The caller is connected with Dr Lee. Your part of the call is over: say nothing more.",
                False,
            )
            await caller.hang_up()
            assert other.is_over

    run_virtual(call())


@pytest.mark.parametrize(
    ("person", "word"),
    [
        (Person("busy"), "is busy"),
        (Person("no answer", after=100.0), "did not answer"),
        (Person(after=100.0), "did not answer"),
        (Person("voicemail"), "only a voicemail"),
        (Person("failed"), "could not be called"),
        (Person(presses=""), "did not take the call"),
    ],
)
def test_what_came_of_it_comes_back_to_the_agent(person: Person, word: str) -> None:
    async def call() -> None:
        async with desk(agent=agent(), llm=llm, hears=["a person please"], people={COLLEAGUE: person}) as there:
            caller = await asks(there)
            await wait_until(lambda: output(there) is not None, timeout=90.0)
            found = output(there)
            assert found is not None
            assert word in found[0]
            assert found[1]
            assert "still with you" in found[0]
            await wait_until(lambda: leg(there).is_over, timeout=5.0)
            assert not caller.is_over
            assert caller.far is not None
            assert caller.redirected == 0
            await caller.hang_up()

    run_virtual(call())


@pytest.mark.parametrize("after", [0.0, 0.04, 0.3, 1.0, 2.1, 4.0, 6.0, 8.0, 9.0, 9.5])
def test_a_caller_who_hangs_up_while_it_rings_leaves_nobody_behind(after: float) -> None:
    async def call() -> None:
        async with desk(agent=agent(), llm=llm, hears=["a person please"]) as there:
            caller = await asks(there)
            await asyncio.sleep(after)
            await caller.hang_up()
            await there.door.drain()
            assert leg(there).is_over
            assert len(there.carrier.calls) == 2
            assert not caller.redirected or caller.is_over

    run_virtual(call())


def test_a_carrier_that_does_not_do_it_is_told_to_the_agent() -> None:
    def refuse(method: str, place: str) -> int:
        return 500 if (method, place) == ("POST", "Calls.json") else 0

    async def call() -> None:
        async with desk(agent=agent(), llm=llm, hears=["a person please"], refuse=refuse) as there:
            caller = await there.carrier.ring(VOICE)
            await asyncio.sleep(0.5)
            caller.speak(speech(1.0, 8_000))
            await wait_until(lambda: output(there) is not None, timeout=30.0)
            assert output(there) == (
                "Dr Lee could not be called. The caller is still with you and knows nothing of it yet.",
                True,
            )
            await caller.hang_up()

    run_virtual(call())


def test_looks_that_fail_now_and_then_change_nothing() -> None:
    random = Random(5)

    def refuse(method: str, place: str) -> int:
        return 503 if method == "GET" and random.random() < 0.15 else 0

    async def call() -> None:
        async with desk(agent=agent(), llm=llm, hears=["a person please"], refuse=refuse) as there:
            caller = await asks(there)
            await wait_until(lambda: caller.redirected, timeout=60.0)
            await caller.hang_up()

    run_virtual(call())


def test_nobody_is_called_before_the_caller_has_agreed_and_nobody_twice() -> None:
    async def call() -> None:
        async with desk(
            agent=agent(confirm="Shall I put you through to {to}?"),
            llm=llm,
            hears=["a person please", "yes please", "are you there", "hello"],
        ) as there:
            caller = await there.carrier.ring(VOICE)
            await asyncio.sleep(0.5)
            caller.speak(speech(1.0, 8_000))
            await asyncio.sleep(5.0)
            assert len(there.carrier.calls) == 1
            for _ in range(3):
                if caller.far is not None:
                    caller.speak(speech(1.0, 8_000))
                await asyncio.sleep(2.5)
            await wait_until(lambda: caller.redirected, timeout=60.0)
            assert len(there.carrier.calls) == 2
            await caller.hang_up()

    run_virtual(call())
