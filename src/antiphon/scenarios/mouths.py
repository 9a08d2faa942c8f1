"""How a caller is heard: by fake sound in virtual time, by a real voice of this machine, or in text.

Above: the caller's end of the line. Below: the line of `antiphon.testing`, the session's typed turns, the local voice.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from antiphon.audio import AudioFrame, Resampler
from antiphon.scenarios.definition import LineQuality
from antiphon.session import AgentSession
from antiphon.testing.caller import RATE, Caller
from antiphon.testing.line import CallLine
from antiphon.transport import AudioInput
from antiphon.tts import TTS

PAUSE = 0.7
"""Seconds that "..." lasts."""
TYPED = 0.05
"""Seconds that a typed turn takes."""


class Mouth(ABC):
    """One caller's."""

    @abstractmethod
    async def says(self, words: str) -> None:
        """Say this now, and return when it is said, or when the call is over."""

    @abstractmethod
    async def coughs(self, seconds: float) -> None:
        """Make a noise without words."""

    @abstractmethod
    def hangs_up(self) -> None:
        """Leave."""

    @property
    @abstractmethod
    def is_speaking(self) -> bool:
        """Whether there is something that is not said yet."""

    @property
    @abstractmethod
    def fell_silent(self) -> float:
        """When the caller was last heard, in seconds of the loop's clock."""


class SoundMouth(Mouth):
    """Fake sound: each word as long as the caller's pace has it, exact to the sample."""

    def __init__(self, line: CallLine) -> None:
        self._caller = line.caller

    async def says(self, words: str) -> None:
        await self._caller.says(*_parts(words))

    async def coughs(self, seconds: float) -> None:
        await self._caller.coughs(seconds)

    def hangs_up(self) -> None:
        self._caller.hangs_up()

    @property
    def is_speaking(self) -> bool:
        return self._caller.microphone.queued > 0

    @property
    def fell_silent(self) -> float:
        return self._caller.utterances[-1].end if self._caller.utterances else 0.0


class VoiceMouth(SoundMouth):
    """A real voice. `voice` speaks the words first, which takes none of the call's time where it is virtual."""

    def __init__(self, line: CallLine, voice: TTS) -> None:
        super().__init__(line)
        self._voice = voice

    async def says(self, words: str) -> None:
        pieces: list[tuple[str | None, bytes]] = []
        for part in _parts(words):
            if isinstance(part, float):
                pieces.append((None, bytes(2 * round(part * RATE))))
            else:
                pieces.append((part, await spoken(part, self._voice)))
        if not self._caller.microphone.ended:
            await self._caller.utters(pieces)


class TextMouth(Mouth):
    """No sound: turns are typed."""

    def __init__(self, session: Callable[[], AgentSession[Any] | None], hang_up: Callable[[], None]) -> None:
        self._session = session
        self._hang_up = hang_up
        self._last = 0.0

    async def says(self, words: str) -> None:
        session = self._session()
        if session is not None and session.is_running:
            session.submit_user_turn(words.replace("...", " "))
            await asyncio.sleep(TYPED)
        self._last = asyncio.get_running_loop().time()

    async def coughs(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def hangs_up(self) -> None:
        self._hang_up()

    @property
    def is_speaking(self) -> bool:
        return False

    @property
    def fell_silent(self) -> float:
        return self._last


def _parts(words: str) -> list[str | float]:
    """Words, and a pause for each "..."."""
    parts: list[str | float] = []
    for number, part in enumerate(words.split("...")):
        if number and parts:
            parts.append(PAUSE)
        if any(map(str.isalnum, part)):
            parts.append(part.strip())
    while parts and isinstance(parts[-1], float):
        parts.pop()
    return parts


async def spoken(words: str, voice: TTS) -> bytes:
    """Words as sound: 16-bit mono at the caller's rate."""
    resampler = Resampler(RATE)
    pieces = [resampler.push(said.frame).data async for said in voice.synthesize(words)]
    return b"".join([*pieces, resampler.flush().data])


class HeardThrough(AudioInput):
    """A caller's microphone behind a line of this quality, with noise about them.

    `offset`: where in the noise it begins, from 0 to 1.
    """

    SPEECH = 10 ** (-22 / 20)
    """How loud a voice is, as the root of its mean square; full scale is 1."""

    def __init__(self, caller: Caller, quality: LineQuality, offset: float) -> None:
        self._microphone = caller.microphone
        self._quality = quality
        self._narrow = Resampler(8_000, quality="LQ") if quality.telephone else None
        self._noise = None if quality.noise is None else self._noise_of(quality)
        self._at = 0 if self._noise is None else int(offset * len(self._noise))

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        self._microphone.start(lambda frame: on_frame(self._heard(frame)), on_end)

    async def aclose(self) -> None:
        await self._microphone.aclose()

    def _noise_of(self, quality: LineQuality) -> Any:
        import numpy as np

        from antiphon.background_audio import BuiltinAudioClip
        from antiphon.background_audio.clips import render

        clip = render(BuiltinAudioClip(quality.noise), RATE).astype(np.float32) / 32768
        level = float(np.sqrt(np.mean(clip**2)))
        return clip * (self.SPEECH / 10 ** (quality.snr / 20) / level)

    def _heard(self, frame: AudioFrame) -> AudioFrame:
        if self._noise is not None:
            import numpy as np

            samples = frame.to_float32()
            at = (self._at + np.arange(len(samples))) % len(self._noise)
            self._at = int(at[-1]) + 1
            frame = AudioFrame.from_float32(samples + self._noise[at], frame.sample_rate)
        if self._narrow is not None:
            from antiphon.transports.telephone.mulaw import decode, encode

            narrow = self._narrow.push(frame)
            frame = AudioFrame(decode(encode(narrow.data)), 8_000)
        return frame
