"""Ending a call: the order of things, the job, and the caller who is not done yet."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, CloseEvent, EndCallTool, FunctionTool
from antiphon.testing import (
    FakeLLM,
    FakeMicrophone,
    FakeSpeaker,
    FakeSTT,
    FakeTTS,
    FakeVAD,
    Reply,
    run_virtual,
    transcript,
)
from antiphon.toolkit.end_call import END_CALL_DESCRIPTION
from antiphon.tools.toolset import Toolset

END = Reply(calls=[("end_call", {})])


def test_it_is_one_tool_described_as_asked() -> None:
    toolset = EndCallTool(extra_description="Only after the order is placed.")
    (tool,) = toolset.tools
    assert (toolset.id, tool.id) == ("end_call", "end_call")
    assert isinstance(tool, FunctionTool)
    assert tool.description == f"{END_CALL_DESCRIPTION}\nOnly after the order is placed."


def test_the_session_ends_after_the_goodbye_with_called_and_completed_in_order() -> None:
    seen: list[str] = []

    async def called(event: Toolset.ToolCalledEvent) -> None:
        seen.append(f"called {event.arguments}")

    async def completed(event: Toolset.ToolCompletedEvent) -> None:
        seen.append(f"completed {event.output}")
        event.output = "say bye in French"

    async def call() -> None:
        llm = FakeLLM([END, "Au revoir."])
        session: AgentSession[Any] = AgentSession(llm=llm)
        closed = asyncio.Event()

        @session.on("close")
        def on_close(event: CloseEvent) -> None:
            seen.append(event.reason.value)
            closed.set()

        await session.start(Agent(tools=[EndCallTool(on_tool_called=called, on_tool_completed=completed)]))
        session.submit_user_turn("that's all")
        await closed.wait()
        assert any("say bye in French" in line for line in transcript(session.history))
        assert transcript(session.history)[-1] == "assistant: Au revoir."

    run_virtual(call())
    assert seen == ["called {}", "completed say goodbye to the user", "task_completed"]


def test_without_instructions_it_ends_after_what_is_being_said() -> None:
    async def call() -> None:
        llm = FakeLLM([Reply("Bye then.", calls=[("end_call", {})])])
        session: AgentSession[Any] = AgentSession(llm=llm)
        closed = asyncio.Event()
        session.on("close", lambda _: closed.set())
        await session.start(Agent(tools=[EndCallTool(end_instructions=None)]))
        session.submit_user_turn("bye")
        await closed.wait()
        assert "assistant: Bye then." in transcript(session.history)
        assert len(llm.requests) == 1

    run_virtual(call())


@pytest.mark.parametrize(
    ("words", "goes_on"),
    [("wait one more thing", True), ("bye-bye", False), ("thanks take care", False)],
)
def test_a_caller_who_speaks_over_the_goodbye(words: str, goes_on: bool) -> None:
    async def call() -> None:
        llm = FakeLLM([END, "Thank you for calling, and have a very nice day, goodbye.", "Sure, what is it?"])
        mic, speaker = FakeMicrophone(), FakeSpeaker()
        session: AgentSession[Any] = AgentSession(
            llm=llm, stt=FakeSTT(["that is all", words]), tts=FakeTTS(seconds_per_character=0.1), vad=FakeVAD()
        )
        closed = asyncio.Event()
        session.on("close", lambda _: closed.set())
        await session.start(Agent(tools=[EndCallTool()]), input=mic, output=speaker)
        await mic.speak(0.8)
        await asyncio.sleep(2.5)
        await mic.speak(0.8)
        await asyncio.sleep(20)
        assert closed.is_set() is not goes_on
        if goes_on:
            assert transcript(session.history)[-1] == "assistant: Sure, what is it?"
        await session.aclose()

    run_virtual(call(), timeout=120)
