"""The job and the shell that a session runs in."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AudioInput, AudioOutput, UsageError, get_job_context
from antiphon.options import is_given
from antiphon.protocols import ModelKind, current_job, model_resolver
from antiphon.testing import FakeLLM, FakeMicrophone, FakeSpeaker, FakeTTS, run_virtual


class Room:
    def __init__(self) -> None:
        self.microphone, self.speaker = FakeMicrophone(), FakeSpeaker()

    @property
    def audio_input(self) -> AudioInput:
        return self.microphone

    @property
    def audio_output(self) -> AudioOutput:
        return self.speaker


class Job:
    resumes = by_turns = False

    def __init__(self, room: Any) -> None:
        self.room = room
        self.parts: dict[str, bytes] = {}

    def attach(self, session: Any) -> None: ...
    async def prepare(self, models: Sequence[Any]) -> None: ...
    def started(self, session: Any) -> None: ...
    def add_shutdown_callback(self, callback: Any) -> None: ...
    async def delete_room(self) -> None: ...
    def shutdown(self, reason: str = "") -> None: ...


def test_a_job_is_known_inside_it_only() -> None:
    job = Job("room")

    def inside() -> None:
        current_job.set(job)
        assert get_job_context() is job
        assert AgentSession[Any]().room == "room"

    contextvars.copy_context().run(inside)
    assert get_job_context(required=False) is None
    with pytest.raises(UsageError, match="no job"):
        get_job_context()


def test_a_room_gives_its_sound() -> None:
    async def main() -> None:
        room = Room()
        async with AgentSession[Any](llm=FakeLLM(), tts=FakeTTS()) as session:
            await session.start(Agent(), room=room)
            await session.say("Hello.")
            assert session.room is room and room.speaker.sounds

    run_virtual(main())


def test_the_shell_chooses_the_models() -> None:
    seen: list[Mapping[ModelKind, Any]] = []
    llm = FakeLLM(["One."])

    def choose(given: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
        seen.append(given)
        return {**given, "llm": llm}

    async def main() -> None:
        model_resolver.set(choose)
        async with AgentSession[Any](stt="deepgram/nova", tts=None, llm=...) as session:
            with pytest.raises(UsageError, match="stt='deepgram/nova'"):
                await session.start(Agent())
            await session.start(Agent(), stt=None)
            await session.run(user_input="a")
        assert not is_given(seen[0]["llm"]) and seen[0]["stt"] == "deepgram/nova"
        assert seen[1]["stt"] is None and len(llm.requests) == 1

    async def apart() -> None:
        await asyncio.create_task(main())

    run_virtual(apart())


def test_a_session_is_started_once() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM()) as session:
            await session.start(Agent())
            with pytest.raises(UsageError, match="started already"):
                await session.start(Agent())

    run_virtual(main())


def test_an_agent_works_in_one_session_at_a_time() -> None:
    async def main() -> None:
        agent = Agent()
        async with AgentSession[Any](llm=FakeLLM()) as session:
            await session.start(agent)
            async with AgentSession[Any](llm=FakeLLM()) as other:
                with pytest.raises(UsageError, match="another session"):
                    await other.start(agent)
        async with AgentSession[Any](llm=FakeLLM()) as later:
            await later.start(agent)

    run_virtual(main())
