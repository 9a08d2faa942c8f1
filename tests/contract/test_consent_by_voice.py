"""`confirm=` by voice, in whole calls: what the caller hears, says, and gets."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon import Agent, ToolCall, function_tool
from antiphon.errors import UsageError
from antiphon.events import ConsentDecidedEvent
from antiphon.llm import ChatRequest
from antiphon.server.room import Room
from antiphon.testing import (
    FakeLLM,
    FakeRealtimeModel,
    FakeTTS,
    Reply,
    SimulatedCall,
    run_virtual,
    transcript,
    wait_until,
)
from antiphon.testing.fakes import Turn


def desk() -> tuple[Any, list[int]]:
    booked: list[int] = []

    @function_tool(effect="writes", confirm="I'll book a table on {day} for {people}.")
    async def book(day: dt.date, people: int) -> str:
        """Book a table."""
        booked.append(people)
        await asyncio.sleep(0.3)
        return f"booked for {people}"

    return book, booked


def model(request: ChatRequest) -> Turn:
    """Books a table for as many as the caller said last, and tells what came of it."""
    lines = transcript(request.chat_ctx)
    newest = lines[-1]
    if newest.startswith("user: ") and "table" in newest:
        return Reply(calls=[("book", {"day": "2026-12-04", "people": 3 if "three" in newest else 2})])
    outputs = [line for line in lines if line.startswith("output book")]
    if "three" in newest and outputs and "was not run" in outputs[-1]:
        return Reply(calls=[("book", {"day": "2026-12-04", "people": 3})])
    return f"Well: {outputs[-1].removeprefix('output book: ')[:40]}." if outputs else "Hello."


def dial(
    talk: Callable[[SimulatedCall, list[str]], Awaitable[None]], *, room: Any = None, **options: Any
) -> tuple[list[int], list[str], list[str]]:
    """A call: what was booked, how each question was decided, and the history."""
    book, booked = desk()
    decided: list[str] = []

    async def main() -> Any:
        llm = FakeLLM(model, ttft=0.2, tokens_per_second=1e6)
        async with SimulatedCall(llm, preemptive_generation=False, **options) as call:

            def note(event: ConsentDecidedEvent) -> None:
                decided.append(event.decision)

            call.session.on("consent_decided", note)
            await call.start(Agent(instructions="You take bookings.", tools=[book]), room=room)
            await talk(call, decided)
            await call.settled()
            silences = [one.duration for one in call.timeline.silences(call.pending)]
            assert max(silences, default=0.0) < 2.6, silences
            return transcript(call.session.history)

    history = run_virtual(main())
    return booked, decided, history


async def heard(call: SimulatedCall, after: float = 0.2) -> None:
    """What is read back has been heard whole."""
    await wait_until(lambda: call.session.agent_state == "speaking")
    await wait_until(lambda: call.session.agent_state != "speaking")
    await asyncio.sleep(after)


def test_a_yes_after_the_read_back_books_once() -> None:
    async def talk(call: SimulatedCall, decided: list[str]) -> None:
        await call.caller.says("a table for two please")
        await heard(call)
        await call.caller.says("yes please")

    booked, decided, history = dial(talk)
    assert (booked, decided) == ([2], ["yes"])
    assert history[:2] == [
        "user: a table for two please",
        "assistant: I'll book a table on December 4th, 2026 for two. Shall I go ahead?",
    ]
    assert history[-1].startswith("assistant: Well: booked for 2")


@pytest.mark.parametrize("word", ["okay", "mm hmm", "yes"])
def test_a_word_in_the_middle_of_it_does_nothing(word: str) -> None:
    async def talk(call: SimulatedCall, decided: list[str]) -> None:
        await call.caller.says("a table for two please")
        await wait_until(lambda: call.session.agent_state == "speaking")
        await asyncio.sleep(0.6)
        await call.caller.says(word)
        await heard(call)
        assert decided == []
        await call.caller.says("okay")

    booked, decided, _ = dial(talk)
    assert (booked, decided) == ([2], ["yes"])


def test_a_no_in_the_middle_of_it_stops_it_and_is_answered() -> None:
    async def talk(call: SimulatedCall, decided: list[str]) -> None:
        await call.caller.says("a table for two please")
        await wait_until(lambda: call.session.agent_state == "speaking")
        await asyncio.sleep(0.6)
        await call.caller.says("no")

    booked, decided, history = dial(talk)
    assert (booked, decided) == ([], ["no"])
    assert "user: no" in history and history[-1].startswith("assistant: Well")


def test_a_change_of_mind_is_read_back_again() -> None:
    async def talk(call: SimulatedCall, decided: list[str]) -> None:
        await call.caller.says("a table for two please")
        await heard(call)
        await call.caller.says("yes but for three people")
        await heard(call)
        await call.caller.says("yes")

    booked, decided, _ = dial(talk)
    assert (booked, decided) == ([3], ["change", "yes"])


def test_a_cough_in_the_middle_of_it_is_no_answer() -> None:
    async def talk(call: SimulatedCall, decided: list[str]) -> None:
        await call.caller.says("a table for two please")
        await wait_until(lambda: call.session.agent_state == "speaking")
        await asyncio.sleep(0.6)
        await call.caller.coughs()
        await heard(call)
        assert decided == []
        await call.caller.says("yes")

    booked, decided, _ = dial(talk)
    assert (booked, decided) == ([2], ["yes"])


def test_who_says_nothing_is_asked_once_more_and_nothing_is_booked() -> None:
    async def talk(call: SimulatedCall, decided: list[str]) -> None:
        await call.caller.says("a table for two please")
        await heard(call)
        await asyncio.sleep(30)

    booked, decided, history = dial(talk, away_ladder=True)
    assert (booked, decided) == ([], ["unanswered"])
    assert sum("I'll book a table" in line for line in history) == 2


def test_the_keys_of_a_telephone_answer() -> None:
    room = Room()

    async def talk(call: SimulatedCall, decided: list[str]) -> None:
        for key in ("1", "2"):
            await call.caller.says("a table for two please" if key == "1" else "and a table for three")
            room.receive_dtmf("1")
            await asyncio.sleep(0.5)
            assert len(decided) == int(key) - 1, "nothing was asked yet"
            await heard(call)
            room.receive_dtmf("5")
            room.receive_dtmf(key)
            await asyncio.sleep(0.5)
            assert len(decided) == int(key)
            await call.settled()

    booked, decided, history = dial(talk, room=room)
    assert (booked, decided) == ([2], ["yes", "no"])
    assert "user: 1" in history and "user: 2" in history


def test_a_realtime_model_without_a_voice_of_ours_is_refused_in_words() -> None:
    book, _ = desk()

    async def main(tts: Any) -> None:
        async with SimulatedCall(FakeRealtimeModel([]), tts=tts) as call:
            await call.start(Agent(instructions="", tools=[book]))

    with pytest.raises(UsageError, match="Give the agent a tts"):
        run_virtual(main(None))
    run_virtual(main(FakeTTS()))


def test_while_somebody_is_asked_to_approve_it_the_line_is_not_silent() -> None:
    async def approve(call: ToolCall, ctx: Any) -> bool:
        await asyncio.sleep(12.0)
        return True

    booked: list[int] = []

    @function_tool(effect="writes", approve=approve)
    async def book(day: dt.date, people: int) -> str:
        """Book a table."""
        booked.append(people)
        return f"booked for {people}"

    async def main() -> None:
        async with SimulatedCall(FakeLLM(model, ttft=0.2, tokens_per_second=1e6)) as call:
            await call.start(Agent(instructions="", tools=[book]))
            await call.caller.says("a table for two please")
            await asyncio.sleep(16.0)
            await call.settled()
            assert max(one.duration for one in call.timeline.silences(call.pending)) < 2.6

    run_virtual(main())
    assert booked == [2]
