"""Whole calls by telephone, with the double in the carrier's place."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

from antiphon import Agent, RunContext, function_tool
from antiphon.console.access import Limits
from antiphon.testing import FakeLLM, Reply, run_virtual, speech, transcript, wait_until
from antiphon.testing.telephone import jitter
from tests.telephone.carrier import FakeCall
from tests.telephone.desk import VOICE, Desk, desk


async def say(call: FakeCall, seconds: float = 1.0) -> None:
    """The caller speaks, and is silent for a moment."""
    call.speak(speech(seconds, 8_000))
    await asyncio.sleep(seconds)


def heard(call: FakeCall) -> float:
    """Seconds of sound that are not silence."""
    far = [] if call.far is None else call.far.heard
    return sum(one.frame.duration for one in [*call.heard, *far] if any(one.frame.data))


class Booking(Agent):
    """Books once it was agreed to."""

    def __init__(self) -> None:
        super().__init__(instructions="")
        self.booked: list[str] = []

    async def on_enter(self) -> None:
        self.session.say("Bright Smile Dental, how can I help?")

    @function_tool(effect="writes", confirm="An appointment on {day}. Shall I book it?")
    async def book(self, ctx: RunContext[Any], day: str) -> str:
        """Book.

        Args:
            ctx: The call.
            day: The day.
        """
        self.booked.append(day)
        return f"Booked for {day}."


def booking_llm() -> FakeLLM:
    return FakeLLM([Reply(calls=[("book", {"day": "Tuesday"})]), "It is booked for Tuesday.", "Goodbye."], ttft=0.1)


def test_a_call_by_telephone_books_an_appointment(tmp_path: Path) -> None:
    agent = Booking()

    async def call() -> Desk:
        async with desk(
            agent=lambda: agent, llm=booking_llm, hears=["on Tuesday please", "yes please"], folder=tmp_path
        ) as there:
            caller = await there.carrier.ring(VOICE)
            await asyncio.sleep(4.0)
            await say(caller)
            await asyncio.sleep(6.0)
            await say(caller)
            await asyncio.sleep(4.0)
            assert agent.booked == ["Tuesday"]
            said = transcript(there.sessions[0].history)
            assert said[0] == "assistant: Bright Smile Dental, how can I help?"
            assert said[-1] == "assistant: It is booked for Tuesday."
            attributes = there.jobs[0].room.caller.attributes
            assert attributes["sip.phoneNumber"] == "+15550199"
            assert attributes["sip.trunkPhoneNumber"] == "+15550100"
            await caller.hang_up()
            return there

    there = run_virtual(call())
    assert next(iter(there.carrier.calls.values())).status == "completed"
    folders = list(tmp_path.iterdir())
    assert len(folders) == 1
    assert "booked for Tuesday" in (folders[0] / "report.html").read_text()
    assert (folders[0] / "recording.wav").stat().st_size > 100_000


def test_a_caller_who_interrupts_is_not_spoken_over_and_only_what_they_heard_is_in_the_history() -> None:
    long = "These are some words of an answer that takes a while to be said, and even longer than that."

    async def call() -> None:
        replies = FakeLLM({"first": long, "": "Yes?"}, ttft=0.0)
        async with desk(llm=lambda: replies, hears=["the first thing", "stop that now"]) as there:
            caller = await there.carrier.ring(VOICE)
            await asyncio.sleep(0.5)
            await say(caller)
            await asyncio.sleep(2.0)
            assert caller.far is not None
            at = asyncio.get_running_loop().time()
            await say(caller)
            await wait_until(lambda: len(transcript(there.sessions[0].history)) >= 4, timeout=5.0)
            assert 0.0 < caller.far.cuts[0] - at < 0.6
            said = transcript(there.sessions[0].history)
            assert said[1].startswith("assistant: These are some words")
            assert len(said[1]) < len(long) * 0.8
            await caller.hang_up()

    run_virtual(call())


def test_keys_reach_the_room() -> None:
    async def call() -> None:
        keys: list[str] = []
        async with desk() as there:
            caller = await there.carrier.ring(VOICE)
            await asyncio.sleep(0.5)
            there.jobs[0].room.on("dtmf", lambda key: keys.append(key.digit))
            assert caller.far is not None
            caller.far.press("12#")
            await asyncio.sleep(0.1)
            await caller.hang_up()
        assert keys == ["1", "2", "#"]

    run_virtual(call())


@pytest.mark.parametrize("at", [0.0, 0.01, 0.3, 1.0, 2.2, 3.1, 4.5, 5.5, 7.0, 9.0])
def test_a_caller_may_hang_up_at_any_point(at: float) -> None:
    agent = Booking()

    async def call() -> None:
        async with desk(agent=lambda: agent, llm=booking_llm, hears=["on Tuesday", "yes please"]) as there:
            caller = await there.carrier.ring(VOICE)

            async def talk() -> None:
                for _ in range(2):
                    await asyncio.sleep(2.0)
                    if caller.far is not None:
                        await say(caller)
                    await asyncio.sleep(2.0)

            talking = asyncio.create_task(talk())
            await asyncio.sleep(at)
            await caller.hang_up()
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)
            await there.door.drain()
            assert there.calls.admission.is_open
            assert not any(session.is_running for session in there.sessions)
            assert not any(place for method, place, _ in there.carrier.requests if method == "POST")

    run_virtual(call())


def test_an_agent_that_ends_the_call_hangs_up() -> None:
    class Brief(Agent):
        async def on_enter(self) -> None:
            await self.session.say("Goodbye.")
            self.session.shutdown()

    async def call() -> None:
        async with desk(agent=lambda: Brief(instructions="")) as there:
            caller = await there.carrier.ring(VOICE)
            await wait_until(lambda: caller.is_over, timeout=10.0)
            assert heard(caller) > 0.2
            assert [request[:2] for request in there.carrier.requests] == [("POST", f"Calls/{caller.sid}.json")]

    run_virtual(call())


def test_an_agent_that_cannot_reach_the_api_hangs_up_all_the_same() -> None:
    class Brief(Agent):
        async def on_enter(self) -> None:
            self.session.shutdown()

    async def call() -> None:
        async with desk(agent=lambda: Brief(instructions=""), refuse=lambda method, place: 503) as there:
            caller = await there.carrier.ring(VOICE)
            await wait_until(lambda: caller.is_over, timeout=10.0)
            assert caller.asked[-1].endswith("/again?n=0")

    run_virtual(call())


def test_a_stream_that_breaks_comes_back_and_the_call_goes_on() -> None:
    async def call() -> None:
        llm = FakeLLM(["It is me, yes.", "I know: about Tuesday."], ttft=0.0)
        async with desk(llm=lambda: llm, hears=["are you there", "and now"]) as there:
            caller = await there.carrier.ring(VOICE)
            await asyncio.sleep(0.5)
            await say(caller)
            await asyncio.sleep(3.0)
            await caller.break_stream()
            await wait_until(lambda: caller.far is not None and len(there.sessions) == 2, timeout=5.0)
            await asyncio.sleep(1.0)
            await say(caller)
            await asyncio.sleep(3.0)
            said = transcript(there.sessions[1].current_agent.chat_ctx)
            assert said == [
                "user: are you there",
                "assistant: It is me, yes.",
                "user: and now",
                "assistant: I know: about Tuesday.",
            ]
            await caller.hang_up()

    run_virtual(call())


def test_a_stream_that_breaks_for_ever_ends_the_call() -> None:
    async def call() -> None:
        async with desk() as there:
            caller = await there.carrier.ring(VOICE)
            for _ in range(20):
                await asyncio.sleep(1.0)
                if caller.is_over:
                    break
                if caller.far is not None:
                    await caller.break_stream()
            assert caller.is_over
            assert caller.said == ["Sorry, we have been cut off. Please call again."]

    run_virtual(call())


def test_a_silent_call_sends_the_carrier_nothing_that_it_does_not_take() -> None:
    async def call() -> None:
        async with desk() as there:
            caller = await there.carrier.ring(VOICE)
            await asyncio.sleep(30.0)
            await caller.hang_up()
            assert caller.problems == []

    run_virtual(call())


def test_a_server_without_a_place_is_busy() -> None:
    async def call() -> None:
        async with desk(limits=Limits(max_calls=1)) as there:
            first = await there.carrier.ring(VOICE)
            await asyncio.sleep(0.5)
            second = await there.carrier.ring(VOICE)
            assert (first.status, second.status) == ("in-progress", "busy")
            await first.hang_up()
            await there.door.drain()
            third = await there.carrier.ring(VOICE)
            assert third.status == "in-progress"
            await third.hang_up()

    run_virtual(call())


def test_a_hundred_calls_over_a_bad_network_leave_nothing_behind() -> None:
    random = Random(3)

    async def call(there: Desk, number: int) -> None:
        caller = await there.carrier.ring(VOICE, from_=f"+1555{number:04}")
        end = asyncio.get_running_loop().time() + random.uniform(0.5, 4.0)
        while asyncio.get_running_loop().time() < end and not caller.is_over:
            await asyncio.sleep(random.uniform(0.1, 1.5))
            if caller.far is not None:
                match random.randrange(6):
                    case 0:
                        caller.far.press("5")
                    case 1:
                        await caller.break_stream()
                    case _:
                        caller.speak(speech(random.uniform(0.2, 1.0), 8_000))
        await caller.hang_up()

    async def calls() -> None:
        async with desk(
            hears=["hello there"] * 1_000,
            limits=Limits(max_calls=10),
            delay=jitter(random),
            loss=lambda: random.random() < 0.03,
        ) as there:
            for start in range(0, 100, 10):
                await asyncio.gather(*(call(there, number) for number in range(start, start + 10)))
                await there.door.drain()
            assert len(there.carrier.calls) == 100
            assert all(one.is_over for one in there.carrier.calls.values())
            assert there.calls.admission.is_open
            assert not any(session.is_running for session in there.sessions)

    run_virtual(calls(), timeout=600.0)
