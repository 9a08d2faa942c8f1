"""Ending a call: the order of things, the job, and the caller who is not done yet."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, CloseEvent, EndCallTool, FunctionTool
from antiphon.server.entrypoint import AgentServer
from antiphon.server.room import Room
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
    assert seen == ["called {}", "completed say goodbye to the user", "user_initiated"]


@pytest.mark.parametrize("slow", ["on_tool_called", "on_tool_completed"])
def test_a_call_of_it_that_the_caller_spoke_over_ends_nothing_and_the_next_one_does(slow: str) -> None:
    async def note(_: object) -> None:
        await asyncio.sleep(2.0)

    async def main() -> None:
        tool = EndCallTool(on_tool_called=note) if slow == "on_tool_called" else EndCallTool(on_tool_completed=note)
        session: AgentSession[Any] = AgentSession(llm=FakeLLM([END, "Sure.", END, "Goodbye."]))
        await session.start(Agent(tools=[tool]))
        session.submit_user_turn("that's all")
        await asyncio.sleep(1.0)
        session.submit_user_turn("wait, one more thing")
        await asyncio.sleep(10.0)
        assert session.is_running
        session.submit_user_turn("now that's all")
        await asyncio.sleep(3.0)
        assert not session.is_running
        assert transcript(session.history)[-1] == "assistant: Goodbye."

    run_virtual(main())


@pytest.mark.parametrize("goes_on", [True, False])
def test_the_room_is_deleted_with_the_call_unless_the_caller_went_on_after_the_goodbye(goes_on: bool) -> None:
    deleted: list[str] = []

    async def main() -> None:
        server = AgentServer()
        llm = FakeLLM([END, "Goodbye, and thank you.", "Sure."])

        @server.rtc_session()
        async def entrypoint(session: AgentSession[Any]) -> None:
            await session.start(agent=Agent(tools=[EndCallTool()]), llm=llm)

        async with server.job(Room()) as job:
            job.room.on("disconnected", deleted.append)
            session = await job.wait_for_session()
            assert session is not None
            session.submit_user_turn("That's all.")
            if goes_on:
                await asyncio.sleep(0.15)
                session.submit_user_turn("One more thing.")
                await session.wait_for_idle()
                assert transcript(session.history)[-1] == "assistant: Sure."
                await session.aclose()
            await job.wait_for_shutdown()

    run_virtual(main())
    assert bool(deleted) is not goes_on


def test_one_tool_may_serve_several_sessions() -> None:
    async def main() -> None:
        tool = EndCallTool()
        sessions = [AgentSession[Any](llm=FakeLLM([END, "Goodbye."])) for _ in range(2)]
        for session in sessions:
            await session.start(Agent(tools=[tool]))
        sessions[0].submit_user_turn("bye")
        await asyncio.sleep(2.0)
        assert [session.is_running for session in sessions] == [False, True]
        sessions[1].submit_user_turn("bye")
        await asyncio.sleep(2.0)
        assert not sessions[1].is_running

    run_virtual(main())


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
