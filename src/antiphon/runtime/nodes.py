"""The built-in nodes that do work of their own: words from sound, and sound from words.

Above: `Agent.default`. Below: STT and TTS contracts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator

from antiphon.audio import AudioFrame
from antiphon.runtime.synthesis import speak
from antiphon.stt import STT, SpeechEvent

__all__ = ["recognise", "speak"]


async def recognise(stt: STT, audio: AsyncIterable[AudioFrame]) -> AsyncIterator[SpeechEvent]:
    """The transcripts of `audio`, as they come."""
    async with stt.stream() as stream:

        async def feed() -> None:
            async for frame in audio:
                stream.push(frame)
            stream.end_input()

        feeding = asyncio.create_task(feed(), name="stt_node audio")
        try:
            async for event in stream:
                yield event
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
