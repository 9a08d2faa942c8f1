"""Agents for calls in LiveKit rooms: scripted models, and an ear that tells a voice from the noise of a codec."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from antiphon.agent import Agent
from antiphon.audio import AudioFrame
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import JobContext
from antiphon.server.livekit.hold import HeldCall
from antiphon.session import AgentSession
from antiphon.testing import FakeLLM, FakeSTT, FakeTTS, FakeVAD, Heard
from antiphon.transports.livekit import LiveKitCall
from antiphon.vad import VAD, VADEvent, VADStream
from tests.livekit.caller import RATE, RoomCaller, token
from tests.livekit.real import Address

LOUD = 500
"""Samples above this are a voice."""


class LoudVAD(VAD):
    """Voice is what is loud."""

    def stream(self) -> VADStream:
        return _LoudStream(FakeVAD().stream())


class _LoudStream(VADStream):
    def __init__(self, below: VADStream) -> None:
        self._below = below

    def push(self, frame: AudioFrame) -> Sequence[VADEvent]:
        loud = is_loud(frame)
        return self._below.push(frame if loud else AudioFrame(bytes(len(frame.data)), frame.sample_rate))

    def end(self) -> Sequence[VADEvent]:
        return self._below.end()


def is_loud(frame: AudioFrame) -> bool:
    return max(map(abs, memoryview(frame.data).cast("h")), default=0) > LOUD


def voice(seconds: float) -> AudioFrame:
    """Somebody who talks: a tone."""
    import numpy as np

    at = np.arange(round(seconds * RATE)) / RATE
    return AudioFrame((8000 * np.sin(2 * np.pi * 440 * at)).astype("<i2").tobytes(), RATE)


class Greeter(Agent):
    """Says hello, and answers by a script."""

    def __init__(
        self, greeting: str = "Hello there!", answers: Sequence[str] = ("Of course.",) * 5, **more: Any
    ) -> None:
        super().__init__(
            instructions="",
            llm=FakeLLM(list(answers)),
            tts=FakeTTS(seconds_per_character=0.03),
            vad=LoudVAD(),
            stt=FakeSTT(["A table please."] * 5),
        )
        self._greeting = greeting

    async def on_enter(self) -> None:
        if self._greeting:
            self.session.say(self._greeting)


def serving(
    make: Callable[[], Agent] = Greeter, prepare: Callable[[JobContext], Any] = lambda context: None
) -> AgentServer:
    """A server whose entrypoint starts this agent. `prepare(context)` is called, and awaited, before."""
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(context: JobContext) -> None:
        waiting = prepare(context)
        if waiting is not None:
            await waiting
        await AgentSession().start(make(), room=context.room)

    return server


class Holding:
    """A call that is being held."""

    def __init__(self, call: LiveKitCall, task: asyncio.Task[str]) -> None:
        self.call = call
        self.task = task

    async def ended(self, seconds: float) -> str:
        """Wait until the agent has left. Returns why."""
        async with asyncio.timeout(seconds):
            return await asyncio.shield(self.task)


@contextlib.asynccontextmanager
async def held(server: Address, agent: AgentServer, room: str, **options: Any) -> AsyncIterator[Holding]:
    """An agent in a room, as long as this lasts."""
    call = LiveKitCall(
        server.url, token(server, room, "agent", kind="agent", agent=True, can_update_own_metadata=True), **options
    )
    task = asyncio.create_task(HeldCall(agent, call, room).run())
    try:
        yield Holding(call, task)
    finally:
        task.cancel()
        await asyncio.wait([task])


def sounding(caller: RoomCaller, since: float = 0.0) -> list[Heard]:
    """What of the agent's voice was heard after `since`."""
    return [piece for piece in caller.heard if piece.at >= since and is_loud(piece.frame)]
