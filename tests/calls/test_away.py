"""`AgentSession(away_ladder=)`: a caller who falls silent, in whole calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AwayLadder, CloseReason, UsageError
from antiphon.language.german import GERMAN
from antiphon.testing import FakeLLM, run_virtual, transcript
from tests.calls import VoiceCall


def test_a_call_whose_caller_falls_silent_ends_and_says_why() -> None:
    async def main() -> None:
        closed: list[CloseReason] = []
        async with VoiceCall(FakeLLM(["Hello."]), ["hello"], away_ladder=True, language="de") as call:
            call.session.on("close", lambda event: closed.append(event.reason))
            await call.begin(Agent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(60.0)
            ladder = GERMAN.away_ladder
            said = [f"assistant: {line}" for line in (ladder.ask, ladder.again, ladder.goodbye)]
            assert transcript(call.session.history)[2:] == said
            assert call.session.user_state == "away"
        assert closed == [CloseReason.USER_AWAY]

    run_virtual(main())


def test_who_answers_goes_on() -> None:
    async def main() -> None:
        llm = FakeLLM(["Hello.", "Take your time."])
        async with VoiceCall(llm, ["hello", "yes"], away_ladder={"ask_after": 3.0}) as call:
            await call.begin(Agent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(7.0)
            assert transcript(call.session.history)[-1] == f"assistant: {AwayLadder().ask}"
            await call.microphone.speak(0.5)
            await asyncio.sleep(3.0)
            assert transcript(call.session.history)[-2:] == ["user: yes", "assistant: Take your time."]

    run_virtual(main())


def test_there_is_none_in_text() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["Hello."]), away_ladder=True) as session:
            await session.start(Agent())
            await session.run(user_input="Hello.")
            await asyncio.sleep(300.0)
            assert transcript(session.history) == ["user: Hello.", "assistant: Hello."]
            assert session.is_running

    run_virtual(main())


@pytest.mark.parametrize("name", ["ask_after", "again_after", "goodbye_after"])
def test_a_time_that_is_none_is_an_error_that_names_it(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        AgentSession[Any](away_ladder={name: 0.0})
