"""A call by voice over fallback adapters, and sound to push into a recogniser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from antiphon import LLM, STT, TTS, Agent, AgentSession
from antiphon.audio import AudioFrame
from antiphon.stt import SpeechEventType, STTStream
from antiphon.testing import FakeLLM, FakeMicrophone, FakeSpeaker, FakeSTT, FakeTTS, FakeVAD, now, silence, speech

FRAME = 0.02


class Call:
    """A session with a caller at the other end, and the errors that the application is told of."""

    def __init__(
        self, *, llm: LLM | None = None, stt: STT | None = None, tts: TTS | None = None, **options: Any
    ) -> None:
        self.microphone = FakeMicrophone()
        self.speaker = FakeSpeaker()
        self.errors: list[tuple[float, BaseException]] = []
        self.session = AgentSession[Any](
            llm=llm or FakeLLM(), stt=stt or FakeSTT(), tts=tts or FakeTTS(), vad=FakeVAD(), **options
        )
        self.session.on("error", lambda event: self.errors.append((now(), event.error)))

    async def __aenter__(self) -> Call:
        return self

    async def begin(self, agent: Agent | None = None) -> None:
        """Put the agent on the line."""
        await self.session.start(agent or Agent(), input=self.microphone, output=self.speaker)

    async def __aexit__(self, *_: object) -> None:
        await self.session.aclose()


class Caller:
    """Somebody who speaks into a recogniser in real time, with a detector beside it."""

    def __init__(self, stream: STTStream) -> None:
        self.stream = stream
        self.detector = FakeVAD().stream()

    async def speak(self, seconds: float) -> None:
        """A voice for so long."""
        await self._sound(speech(seconds, 16_000).data)

    async def wait(self, seconds: float) -> None:
        """Silence for so long."""
        await self._sound(silence(seconds, 16_000).data)

    async def _sound(self, data: bytes) -> None:
        step = round(2 * FRAME * 16_000)
        for at in range(0, len(data), step):
            frame = AudioFrame(data[at : at + step], 16_000)
            events = self.detector.push(frame)
            self.stream.push(frame)
            for event in events:
                self.stream.mark(event)
            await asyncio.sleep(FRAME)


async def finals(stream: STTStream, heard: list[str]) -> None:
    """Gather the final transcripts in `heard`, until the stream ends."""
    async for event in stream:
        if event.type is SpeechEventType.FINAL_TRANSCRIPT:
            heard.append(event.text)  # noqa: PERF401  # it is looked at meanwhile


async def pieces(*texts: str) -> AsyncIterator[str]:
    """Text as a model writes it."""
    for text in texts:
        yield text
