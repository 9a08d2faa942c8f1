"""A session that nobody closed, on a loop that ended without it."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AgentTask, function_tool
from antiphon.testing import FakeLLM, FakeMicrophone, FakeSpeaker, FakeSTT, FakeTTS, FakeVAD, Hang, Reply
from antiphon.testing.realtime import FakeRealtimeModel


class Busy(Agent):
    @function_tool
    async def ask(self) -> str:
        """Ask."""
        return await AgentTask[str](instructions="Ask.")

    @function_tool
    async def slow(self) -> str:
        """Take a while."""
        await asyncio.sleep(100)
        return "done"


async def abandon(session: AgentSession[Any], *, by_voice: bool) -> None:
    """Have the agent at work, and leave."""
    if by_voice:
        await session.start(Busy(), input=FakeMicrophone(), output=FakeSpeaker())
    else:
        await session.start(Busy())
    session.submit_user_turn("hello")
    await asyncio.sleep(0.4)


def sessions(at: str) -> AgentSession[Any]:
    script = Hang("Let me see.") if at == "answer" else Reply("One moment.", [(at, {})])
    return AgentSession(llm=FakeLLM([script, "Well."]), tts=FakeTTS(speed=1), stt=FakeSTT(), vad=FakeVAD())


@pytest.mark.parametrize("by_voice", [True, False])
@pytest.mark.parametrize("at", ["ask", "slow", "answer", "realtime"])
def test_what_was_at_work_ends_without_a_word(
    at: str, by_voice: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    unraisable: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: unraisable.append(what.exc_value))
    loop = asyncio.new_event_loop()
    session = AgentSession[Any](llm=FakeRealtimeModel(["Well."] * 3)) if at == "realtime" else sessions(at)
    loop.run_until_complete(abandon(session, by_voice=by_voice))
    loop.close()
    del session, loop
    gc.collect()
    assert not [error for error in unraisable if isinstance(error, ReferenceError)]
    assert not [r for r in caplog.records if r.name == "antiphon" and r.levelno >= logging.ERROR]
