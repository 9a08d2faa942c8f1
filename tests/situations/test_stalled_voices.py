"""A voice hangs: what the caller hears, and when; what is told; and that no call is left in silence for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from antiphon import Agent, CloseEvent
from antiphon.adapters.fallback import FallbackTTS
from antiphon.testing import FakeTTS, SimulatedCall, now, run_virtual
from antiphon.testing.caller import RATE
from antiphon.tts import SynthesizedAudio
from tests.situations.calls import calling, model, said
from tests.situations.test_stalled_models import FOR_EVER, SORRY, Errors

ANSWER = "There are two tables free tonight."


class HungTTS(FakeTTS):
    """A voice that falls silent for ever after `after` seconds of each of its first `times` texts."""

    def __init__(self, after: float = 0.0, times: int = 10_000) -> None:
        super().__init__(sample_rate=RATE)
        self.after = after
        self.times = times

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        self.times -= 1
        hangs, given = self.times >= 0, 0.0
        async for audio in super().synthesize(text):
            if hangs and given >= self.after:
                await asyncio.sleep(FOR_EVER)
            given += audio.frame.duration
            yield audio


def ends(call: SimulatedCall) -> list[tuple[float, str]]:
    """When and why the call ended."""
    closed: list[tuple[float, str]] = []

    def note(event: CloseEvent) -> None:
        closed.append((now(), event.reason.value))

    call.session.on("close", note)
    return closed


@pytest.mark.parametrize("after", [0.0, 0.1])
@pytest.mark.parametrize("max_silence", [1.5, None])
def test_a_dead_voice_is_told_and_ends_the_call(after: float, max_silence: float | None) -> None:
    async def main() -> None:
        voice = HungTTS(after)
        async with calling(model([ANSWER]), tts=voice, max_silence=max_silence) as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Agent())
            asked = await call.caller.says("find me a table")
            await asyncio.sleep(30.0)
            begun = asked.end + 0.65 + after
            assert errors[0][0] - begun < 3.0
            assert "HungTTS" in str(errors[0][1]) and "FallbackTTS" in str(errors[0][1])
            assert [reason for _, reason in closed] == ["error"]
            assert closed[0][0] - asked.end < 25.0
            assert "the call ends" in str(errors[-1][1])
            assert said(call.session, "assistant") == []
            assert len(voice.said) < 10  # no endless fillers

    run_virtual(main())


def test_a_greeting_that_nobody_heard_is_no_call_in_silence_either() -> None:
    class Greeter(Agent):
        async def on_enter(self) -> None:
            await self.session.say("Welcome to the harbour.")

    async def main() -> None:
        async with calling(model(), tts=HungTTS()) as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Greeter())
            await asyncio.sleep(40.0)
            assert errors[0][0] < 3.0
            assert [reason for _, reason in closed] == ["error"]

    run_virtual(main())


@pytest.mark.parametrize("after", [0.0, 0.1])
def test_a_voice_that_hung_once_is_apologised_for_and_speaks_on(after: float) -> None:
    async def main() -> None:
        async with calling(model([ANSWER, "At eight."]), tts=HungTTS(after, times=1)) as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Agent())
            await call.caller.says("find me a table")
            await call.settled(quiet=1.0)
            assert said(call.session, "assistant")[-1] == SORRY
            await call.caller.says("and when")
            await call.settled(quiet=10.0)
            assert said(call.session, "assistant")[-1] == "At eight."
            assert not closed
            assert len(errors) <= 1

    run_virtual(main())


def test_a_voice_that_comes_back_is_heard_with_an_apology() -> None:
    class Greeter(Agent):
        async def on_enter(self) -> None:
            await self.session.say("Welcome to the harbour.")

    async def main() -> None:
        voice = HungTTS(times=1)
        async with calling(model(["At eight."]), tts=voice) as call:
            closed = ends(call)
            await call.start(Greeter())
            await asyncio.sleep(12.0)
            assert call.timeline.agent  # somebody is there
            await call.caller.says("and when")
            await call.settled(quiet=10.0)
            assert said(call.session, "assistant")[-1] == "At eight."
            assert not closed

    run_virtual(main())


def test_a_voice_that_raises_each_time_is_given_a_while() -> None:
    async def main() -> None:
        voice = FakeTTS(sample_rate=RATE, fail_on="")
        async with calling(model([ANSWER]), tts=voice) as call:
            closed = ends(call)
            await call.start(Agent())
            asked = await call.caller.says("find me a table")
            await asyncio.sleep(30.0)
            assert [reason for _, reason in closed] == ["error"]
            assert closed[0][0] - asked.end > 7.0

    run_virtual(main())


@pytest.mark.parametrize("after", [0.0, 0.5])
def test_the_next_voice_of_a_fallback_goes_on(after: float) -> None:
    async def main() -> None:
        both = FallbackTTS([HungTTS(after), FakeTTS(sample_rate=RATE)])
        async with calling(model([ANSWER, "At eight."]), tts=both) as call:
            await call.start(Agent())
            asked = await call.caller.says("find me a table")
            await call.settled(quiet=1.0)
            assert said(call.session, "assistant") == [ANSWER]
            assert call.timeline.agent_begins(asked.end) is not None
            await call.caller.says("and when")
            await call.settled()
            assert said(call.session, "assistant")[-1] == "At eight."

    run_virtual(main())


def test_a_fallback_of_voices_that_are_all_dead_ends_the_call_too() -> None:
    async def main() -> None:
        both: Any = FallbackTTS([HungTTS(), HungTTS()])
        async with calling(model([ANSWER]), tts=both) as call:
            errors, closed = Errors(call), ends(call)
            await call.start(Agent())
            await call.caller.says("find me a table")
            await asyncio.sleep(40.0)
            assert errors and [reason for _, reason in closed] == ["error"]

    run_virtual(main())
