"""The built-in nodes that do work of their own: words from sound, and sound from words.

Above: `Agent.default`. Below: STT and TTS contracts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator

from antiphon.audio import AudioFrame
from antiphon.errors import as_exception, pass_on
from antiphon.runtime.recognition import heard_frames
from antiphon.runtime.synthesis import speak
from antiphon.stt import STT, SpeechEvent

__all__ = ["recognise", "speak"]


async def recognise(stt: STT, audio: AsyncIterable[AudioFrame]) -> AsyncIterator[SpeechEvent]:
    """The transcripts of `audio`, as they come.

    Inside a session's `stt_node` the recogniser is told what the session's voice detector hears in the frames.
    """
    frames = heard_frames.get()
    async with stt.stream() as stream:
        if frames is not None:
            frames.stream = stream

        def mark() -> None:
            for event in frames.marks() if frames is not None else ():
                stream.mark(event)

        failures: list[BaseException] = []

        async def feed() -> None:
            try:
                async for frame in audio:
                    stream.push(frame)
                    mark()
                mark()
                stream.end_input()
            except BaseException as error:
                pass_on(error)
                failures.append(error)
                await stream.aclose()  # which ends what it gives

        feeding = asyncio.create_task(feed(), name="stt_node audio")
        try:
            async for event in stream:
                yield event
            for failure in failures:
                raise as_exception(failure)
        finally:
            if frames is not None:
                frames.stream = None
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
