"""Who ends the caller's turns, decided by the shell around the session."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Agent, AgentSession
from antiphon.errors import UsageError
from antiphon.testing import FakeLLM, FakeMicrophone, FakeSpeaker, FakeSTT, FakeTTS, FakeVAD, run_virtual
from antiphon.testing.audio import silence, speech


def test_with_manual_detection_silence_ends_no_turn_and_the_shell_does() -> None:
    async def call() -> None:
        microphone = FakeMicrophone([speech(0.5), silence(4.0)])
        session = AgentSession[Any](llm=FakeLLM(["Yes."]), stt=FakeSTT(["a question"]), vad=FakeVAD(), tts=FakeTTS())
        session.set_turn_detection("manual")
        async with session:
            await session.start(Agent(instructions=""), input=microphone, output=FakeSpeaker())
            await microphone.finished()
            assert session.history.items == []
            session.commit_user_turn()
            await session.wait_for_idle()
            assert [m.text_content for m in session.history.messages()] == ["a question", "Yes."]

    run_virtual(call())


def test_a_session_that_runs_keeps_its_detection() -> None:
    async def call() -> None:
        async with AgentSession[Any](llm=FakeLLM([])) as session:
            await session.start(Agent(instructions=""))
            with pytest.raises(UsageError, match="call it before `start`"):
                session.set_turn_detection("manual")

    run_virtual(call())
