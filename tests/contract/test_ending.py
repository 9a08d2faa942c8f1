"""The end of a call: after the goodbye, unless the caller has more to say."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from antiphon import Agent, AgentSession, EndCallTool, RunContext, function_tool
from antiphon.testing import FakeLLM, FakeTTS, Reply, now, run_virtual, transcript, wait_until
from antiphon.testing.fakes import Turn
from tests.calls import VoiceCall

END = Reply(calls=[("end_call", {})])
GOODBYE = "Thank you for calling, and have a very nice day."


async def ending(
    script: list[Turn], *speaks: tuple[float, str], wait: float = 20.0, tool: EndCallTool | None = None
) -> tuple[list[str], list[float]]:
    """The caller says goodbye at 0 s, then speaks at the times given, in seconds after the goodbye has begun.

    Returns the history, and when the call was over, counted from the goodbye's last sound.
    """
    closed: list[float] = []
    async with VoiceCall(FakeLLM(script), ["that is all", *(words for _, words in speaks)]) as call:
        call.session.on("close", lambda _: closed.append(now()))
        await call.begin(Agent(tools=[tool or EndCallTool()]))
        await call.microphone.speak(0.8)
        await wait_until(lambda: bool(call.speaker.sounds))
        began = now()
        for at, _ in speaks:
            await asyncio.sleep(began + at - now())
            await call.microphone.speak(0.6)
        await asyncio.sleep(wait)
        last = max(sound.end for sound in [*call.speaker.sounds, *call.microphone.sounds])
        return transcript(call.session.history), [time - last for time in closed]


DURATION = FakeTTS().duration(GOODBYE)


def test_the_call_ends_two_seconds_after_the_goodbye_was_heard() -> None:
    lines, (after,) = run_virtual(ending([END, GOODBYE]))
    assert lines[-1] == f"assistant: {GOODBYE}"
    assert after == pytest.approx(2.0, abs=0.3)


@pytest.mark.parametrize("at", [1.0, DURATION + 0.5])
@pytest.mark.parametrize("words", ["wait i have another question", "how late are you open"])
def test_a_caller_with_more_to_say_is_answered_and_the_call_goes_on(at: float, words: str) -> None:
    lines, closed = run_virtual(ending([END, GOODBYE, "Of course."], (at, words)))
    assert lines[-2:] == [f"user: {words}", "assistant: Of course."]
    assert closed == []


@pytest.mark.parametrize("at", [1.0, DURATION + 0.5])
@pytest.mark.parametrize("words", ["bye", "thanks take care", "goodbye", "mm-hmm", "okay"])
def test_a_closing_phrase_or_a_backchannel_lets_the_call_end(at: float, words: str) -> None:
    lines, closed = run_virtual(ending([END, GOODBYE], (at, words)))
    assert not any(line == "assistant: Of course." for line in lines)
    assert len(closed) == 1 and closed[0] < 4.0


def test_a_second_call_of_it_works_again() -> None:
    words = "wait how late are you open"
    script: list[Turn] = [END, GOODBYE, "Until nine.", END, "Bye, then."]

    async def main() -> None:
        closed = asyncio.Event()
        async with VoiceCall(FakeLLM(script), ["that is all", words, "thank you that is all"]) as call:
            call.session.on("close", lambda _: closed.set())
            await call.begin(Agent(tools=[EndCallTool()]))
            await call.microphone.speak(0.8)
            await asyncio.sleep(2.5)
            await call.microphone.speak(0.8)
            await asyncio.sleep(8.0)
            assert not closed.is_set()
            await call.microphone.speak(0.8)
            await asyncio.sleep(8.0)
            assert closed.is_set()
            assert transcript(call.session.history)[-1] == "assistant: Bye, then."

    run_virtual(main())


def test_without_instructions_the_call_ends_after_what_plays_already() -> None:
    script: list[Turn] = [Reply(GOODBYE, [("end_call", {})])]
    lines, (after,) = run_virtual(ending(script, tool=EndCallTool(end_instructions=None)))
    assert f"assistant: {GOODBYE}" in lines
    assert 0.0 <= after <= 2.5


def test_what_runs_in_the_background_does_not_hold_the_end() -> None:
    @function_tool
    async def search(ctx: RunContext) -> str:
        """Search."""
        await ctx.update("Searching.", silent=True)
        await asyncio.sleep(1000.0)
        return "found"

    async def main() -> None:
        closed = asyncio.Event()
        session = AgentSession[Any](llm=FakeLLM([Reply(calls=[("search", {})]), END, "Goodbye."]))
        session.on("close", lambda _: closed.set())
        await session.start(Agent(tools=[search, EndCallTool()]))
        await session.run(user_input="Search.")
        session.submit_user_turn("Never mind. Bye.")
        async with asyncio.timeout(5.0):
            await closed.wait()

    run_virtual(main())


def test_outside_of_a_job_the_session_ends_with_a_note_for_developers_and_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        seen: list[Any] = []
        session = AgentSession[Any](llm=FakeLLM([Reply(calls=[("end_call", {})]), "Goodbye."]))
        session.on("error", seen.append)
        session.on("close", lambda event: seen.append(event.error))
        await session.start(Agent(tools=[EndCallTool()]))
        session.submit_user_turn("Bye.")
        await asyncio.sleep(5.0)
        assert not session.is_running and seen == [None]

    with caplog.at_level(logging.DEBUG, logger="antiphon"):
        run_virtual(main())
    (record,) = [record for record in caplog.records if "outside of a job" in record.message]
    assert record.levelno == logging.DEBUG
