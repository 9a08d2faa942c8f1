"""`FallbackTTS`: the next voice goes on where one broke off.

Above: sessions. Below: voices, `roster`, `attempt`, and `script`, which knows what was said.

Theory of operation. All text is kept on a `Script`. A voice that takes text as it is written is given the script from
the first word that was not said; other voices are given one sentence after the other. A voice that breaks off within
a stretch is followed by the next one with the rest of that stretch, from the first word that had not begun to sound:
by the voice's word timings where it has them, else by its pace. The text of that stretch has been announced with its
first frame, so that the rest of its sound comes without text, and text and sound stay together.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from antiphon.adapters.fallback.attempt import Attempt
from antiphon.adapters.fallback.roster import (
    AllProvidersFailed,
    Backoff,
    Fallback,
    Member,
    OnAvailabilityChanged,
    Roster,
)
from antiphon.adapters.fallback.script import TYPICAL_PACE, Script, Stretch
from antiphon.audio import AudioFrame, Resampler
from antiphon.errors import ProviderError, ProviderTimeout, UsageError, as_exception, pass_on
from antiphon.text import words
from antiphon.tts import TTS, SynthesizedAudio, WordTiming

_LOOK = 0.2
"""Seconds between two looks at whether a voice waits for text, or is waited for."""


class FallbackTTS(Fallback, TTS):
    """Several voices, in order of preference, that speak as one.

    A voice that raises or stalls is followed by the next one: with the same text if it had not begun to sound, else
    with the rest of it from the next word on, so that nothing is said twice. A voice is kept until the end of a text.
    Raises `AllProvidersFailed` when no voice is left. Misuse (`UsageError`) is not retried.

    Args:
        voices: The voices. All are resampled to one rate.
        sample_rate: Hz of every frame; None: the first voice's.
        attempt_timeout: Seconds to the first sound, once a voice has a whole sentence to speak.
        stall_timeout: Seconds between two pieces of sound.
        backoff: For how long a voice that failed is left out.
        on_availability_changed: Called when a voice fails and when it has recovered.
    """

    streaming = True

    def __init__(
        self,
        voices: Sequence[TTS],
        *,
        sample_rate: int | None = None,
        attempt_timeout: float = 2.5,
        stall_timeout: float = 2.0,
        backoff: Backoff | None = None,
        on_availability_changed: OnAvailabilityChanged | None = None,
    ) -> None:
        self._roster: Roster[TTS] = Roster("FallbackTTS", voices, backoff, on_availability_changed)
        self.sample_rate = voices[0].sample_rate if sample_rate is None else sample_rate
        self._stage = _Stage(self._roster, self.sample_rate, attempt_timeout, stall_timeout)

    def update_options(self, **options: Any) -> None:
        """Have every one of them work differently, as far as it can."""
        self._roster.update_options(**options)

    async def prewarm(self) -> None:
        await super().prewarm()
        if other := [
            m.provider.sample_rate for m in self._roster.members if m.provider.sample_rate != self.sample_rate
        ]:
            # No first word of a spare voice should wait until the resampler is loaded.
            await asyncio.to_thread(lambda: Resampler(self.sample_rate).push(AudioFrame.silence(0.01, other[0])))

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        script = Script()
        script.push(text)
        script.close()
        async with aclosing(self._speak(script, whole=True)) as sound:
            async for audio in sound:
                yield audio

    async def stream(self, text: AsyncIterable[str]) -> AsyncIterator[SynthesizedAudio]:
        script = Script()
        reading = asyncio.create_task(script.fill(text), name="FallbackTTS text")
        try:
            async with aclosing(self._speak(script, whole=False)) as sound:
                async for audio in sound:
                    yield audio
            await reading
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _speak(self, script: Script, *, whole: bool) -> AsyncGenerator[SynthesizedAudio, None]:
        tried: list[Member[TTS]] = []
        errors: list[Exception] = []
        reader = _Reader(script, whole=whole)
        while (member := self._roster.choose(tried)) is not None:
            tried.append(member)
            voice = _Voice(self._stage, member, reader)
            try:
                async with aclosing(voice.speak()) as sound:
                    async for audio in sound:
                        yield audio
                return
            except (UsageError, GeneratorExit):  # the latter closes this very generator
                raise
            except BaseException as raised:
                pass_on(raised)
                error = as_exception(raised)
                self._roster.failed(member, error)
                errors.append(error)
                reader.broke_off(self._stage.pace(member))
                if reader.is_done():
                    return
        raise AllProvidersFailed(self._roster.owner, errors)


class _Stage:
    """What the voices of an adapter share, whatever they say."""

    def __init__(self, roster: Roster[TTS], sample_rate: int, attempt_timeout: float, stall_timeout: float) -> None:
        self.roster = roster
        self.sample_rate = sample_rate
        self._attempt_timeout = attempt_timeout
        self._stall_timeout = stall_timeout
        self._paces: dict[Member[TTS], float] = {}

    def attempt(self, member: Member[TTS], sound: AsyncIterator[SynthesizedAudio]) -> Attempt[SynthesizedAudio]:
        """Have a voice make sound."""
        return Attempt(sound, name=f"FallbackTTS {member.provider.label}", retired=self.roster.retired)

    def patience(self, *, sounding: bool) -> float:
        """Seconds to wait for the next sound of a voice."""
        return self._stall_timeout if sounding else self._attempt_timeout

    def pace(self, member: Member[TTS]) -> float:
        """How fast a voice speaks, in characters a second."""
        return self._paces.get(member, TYPICAL_PACE)

    def spoke(self, member: Member[TTS], stretch: Stretch | None) -> None:
        """A voice gave sound, and has finished a stretch."""
        self.roster.succeeded(member)
        if stretch is not None and (pace := stretch.pace()) is not None:
            self._paces[member] = pace


class _Reader:
    """Where in the script the voices are."""

    def __init__(self, script: Script, *, whole: bool) -> None:
        self.script = script
        self.whole = whole
        """The text is spoken in one piece, not by sentences."""
        self.cursor = 0
        """Up to here, the text was announced."""
        self.stretch: Stretch | None = None
        """What is being said."""
        self.left: tuple[int, int] | None = None
        """The rest of a stretch that a voice broke off in."""
        self._announced = 0.0
        """Seconds of sound of the announced stretch, by the voices that broke off."""
        self._text_began = 0.0
        """Seconds of the present voice's sound before the text that its timings are about."""

    def is_done(self) -> bool:
        """Nothing is left to say, and no text will come."""
        return self.left is None and self.script.is_over(self.cursor)

    def take(self, audio: SynthesizedAudio) -> tuple[str, list[WordTiming], Stretch | None]:
        """A voice made this. Returns the text and the timings to give with it, and a stretch that is complete now."""
        text, complete = audio.text, None
        if text and self.left is None:
            complete = self.complete()
            begin, self.cursor = self.script.find(self.cursor, text)
            self.stretch = Stretch(begin, self.cursor, self.script.text[begin : self.cursor])
            self._text_began = 0.0
        elif text:
            text = ""  # it was announced by the voice that broke off
            self._text_began = 0.0 if self.stretch is None else self.stretch.seconds
        timings = _shifted(audio.words, self._text_began)
        if self.stretch is not None:
            self.stretch.words += timings
            self.stretch.seconds += audio.frame.duration
        return text, _shifted(timings, self._announced), complete

    def resume(self) -> str:
        """The rest of the stretch that was broken off, which is now being said."""
        assert self.left is not None
        begin, end = self.left
        text = self.script.text[begin:end]
        self.stretch = Stretch(begin, end, text)
        return text

    def complete(self) -> Stretch | None:
        """The stretch was said to its end."""
        stretch, self.stretch = self.stretch, None
        self.left = None
        self._announced = 0.0
        return stretch

    def end_of(self, piece: str) -> int:
        """Where the next piece of the text ends."""
        return self.script.find(self.cursor, piece)[1]

    def said_up_to(self, end: int) -> Stretch | None:
        """A piece was said whole, whatever of its text was announced."""
        self.cursor = end
        return self.complete()

    def broke_off(self, pace: float) -> None:
        """The voice is gone. Find out what it left unsaid of its stretch."""
        stretch, self.stretch = self.stretch, None
        if stretch is None:
            return
        begin = stretch.rest(pace)
        self._announced += stretch.seconds
        if words(self.script.text[begin : stretch.end]):
            self.left = (begin, stretch.end)
        else:
            self.complete()


def _shifted(timings: Sequence[WordTiming], seconds: float) -> list[WordTiming]:
    if not seconds:
        return list(timings)
    return [replace(timing, start=timing.start + seconds, end=timing.end + seconds) for timing in timings]


class _Voice:
    """One voice, from where the reader stands until the end of the text or its failure."""

    def __init__(self, stage: _Stage, member: Member[TTS], reader: _Reader) -> None:
        self._stage = stage
        self._member = member
        self._reader = reader

    async def speak(self) -> AsyncGenerator[SynthesizedAudio, None]:
        """All that is left to say. Raises what the voice raises, and `ProviderTimeout` when it stalls."""
        tts, reader = self._member.provider, self._reader
        if reader.left is not None:
            async with aclosing(self._perform(tts.synthesize(reader.resume()), waits=False)) as sound:
                async for audio in sound:
                    yield audio
            self._stage.spoke(self._member, reader.complete())
        if tts.streaming and not reader.whole:
            async with aclosing(self._perform(tts.stream(reader.script.read(reader.cursor)), waits=True)) as sound:
                async for audio in sound:
                    yield audio
            if not reader.script.closed:
                raise ProviderError(
                    f"{tts.label}: expected speech until the end of the text, but its sound ended before",
                    provider=tts.label,
                )
            self._stage.spoke(self._member, reader.complete())
            return
        while (piece := await self._next_piece()) is not None:
            end = reader.end_of(piece)
            async with aclosing(self._perform(tts.synthesize(piece), waits=False)) as sound:
                async for audio in sound:
                    yield audio
            self._stage.spoke(self._member, reader.said_up_to(end))

    async def _next_piece(self) -> str | None:
        reader = self._reader
        if reader.whole:
            return reader.script.text[reader.cursor :] if not reader.is_done() else None
        return await reader.script.sentence(reader.cursor)

    async def _perform(
        self, sound: AsyncIterator[SynthesizedAudio], *, waits: bool
    ) -> AsyncGenerator[SynthesizedAudio, None]:
        """The sound of one synthesis, as the adapter gives it. `waits`: the voice may be waiting for more text."""
        resampler: Resampler | None = None
        attempt = self._stage.attempt(self._member, sound)
        sounding = failed = False
        try:
            while (audio := await self._next(attempt, waits=waits, sounding=sounding)) is not None:
                sounding = True
                text, timings, complete = self._reader.take(audio)
                self._stage.spoke(self._member, complete)
                frame = audio.frame
                if resampler is None and (frame.sample_rate != self._stage.sample_rate or frame.num_channels != 1):
                    resampler = Resampler(self._stage.sample_rate)
                yield SynthesizedAudio(frame if resampler is None else resampler.push(frame), text, timings)
        except Exception:
            failed = True
            raise
        finally:
            if failed:
                attempt.retire()
            else:
                await attempt.aclose()
        if resampler is not None and (tail := resampler.flush()).data:
            yield SynthesizedAudio(tail)

    async def _next(
        self, attempt: Attempt[SynthesizedAudio], *, waits: bool, sounding: bool
    ) -> SynthesizedAudio | None:
        patience = self._stage.patience(sounding=sounding)
        waited = 0.0
        while True:
            look = min(_LOOK, patience - waited) if waits else patience
            try:
                return await attempt.next(look)
            except TimeoutError:
                reader = self._reader
                waited = waited + look if not waits or reader.script.is_due(reader.cursor) else 0.0
            if waited >= patience - 1e-6:
                label = self._member.provider.label
                raise ProviderTimeout(
                    f"{label}: expected sound within {patience:g} s, got none. If the voice is that slow, raise"
                    f" {'stall_timeout' if sounding else 'attempt_timeout'} of the FallbackTTS.",
                    provider=label,
                )
