"""Turns text into sound: a segment of speech, the voice behind it, and what of it is said when.

Above: `playout`, which owns the segments and plays them. Below: TTS, and the pure `PlayoutLedger` that sets text
against samples.

A segment is made with its first text. Its voice starts at once, so that sound is ready when it is to be played; at
most `MAX_AHEAD` seconds are made ahead. Spoken text is what enters the voice: the default `tts_node` (`speak`) is the
tap, and where an agent's own node never calls it, the text which that node was given.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from contextlib import aclosing
from contextvars import ContextVar
from typing import TYPE_CHECKING

from antiphon.audio import AudioFrame, Resampler
from antiphon.core.playout import PlayoutLedger
from antiphon.runtime.feed import TextFeed
from antiphon.streams import closing
from antiphon.text import SpeechText
from antiphon.transport import AudioOutput
from antiphon.tts import TTS, SynthesizedAudio

if TYPE_CHECKING:
    from antiphon.runtime.playout import Playout

logger = logging.getLogger("antiphon")

MAX_AHEAD = 30.0
"""Seconds of sound that a voice may make ahead of what was played of its segment."""


class Segment:
    """A stretch of what the agent says. This one is text only; `Voiced` has sound."""

    __slots__ = (
        "_captioned",
        "_pieces",
        "_playout",
        "agent",
        "complete",
        "given",
        "id",
        "rewording",
        "settled",
        "shown",
        "speech",
        "when_cut",
    )

    def __init__(self, playout: Playout, segment_id: int, speech: int, agent: str) -> None:
        self._playout = playout
        self.id = segment_id
        self.speech = speech
        self.agent = agent
        self._pieces: list[str] = []
        self._captioned = playout.captions
        """Somebody reads along."""
        self.rewording = playout.rewording(segment_id, agent) if self._captioned else None
        """The agent words its captions itself."""
        self.shown = ""
        """What those who read along have seen of it."""
        self.complete = False
        """All text is here."""
        self.settled = False
        """The core knows all of its text."""
        self.given = False
        """`Play` has come."""
        self.when_cut: Callable[[float], None] | None = None
        """Told how many seconds of its sound were heard, if not all."""

    @property
    def raw(self) -> str:
        """The text so far, as it was written."""
        return "".join(self._pieces)

    def push(self, piece: str) -> None:
        """Take the next piece of text."""
        self._pieces.append(piece)
        if self._captioned:
            if self.rewording is not None:
                self.rewording.feed.push(piece)
            self._playout.caption(self, self.raw, final=False)

    def end(self) -> str | None:
        """The text is over. Returns what will be spoken, or None if only `respelled` will know."""
        self.complete = True
        return self.raw.strip()

    async def respelled(self) -> str:
        """What will be spoken, once the agent's `tts_node` has read it all."""
        return self.raw.strip()

    def heard(self) -> str:
        """What was heard so far. Of text only: everything written so far, as it can be read."""
        return self.raw.strip()

    @property
    def spoken(self) -> str:
        """The text that is spoken, as far as it is known."""
        return self.raw.strip()


async def speakable(text: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    """The text without what cannot be spoken."""
    spoken = SpeechText()
    async for piece in text:
        if words := spoken.push(piece):
            yield words
    if words := spoken.flush():
        yield words


class Voiced(Segment):
    """A segment with sound, which one task makes."""

    __slots__ = (
        "_filter",
        "_resampler",
        "_respelled",
        "_room",
        "_spoken",
        "_tapped",
        "_voiced_text",
        "audio_done",
        "base",
        "cursor",
        "cut",
        "failed",
        "feed",
        "has_sound",
        "ledger",
        "origin",
        "pcm",
        "progress",
        "rate",
        "respells",
        "rest",
        "started",
        "task",
    )

    def __init__(
        self, playout: Playout, segment_id: int, speech: int, agent: str, *, rate: int, pace: float, respells: bool
    ) -> None:
        super().__init__(playout, segment_id, speech, agent)
        self.rate = rate
        self.ledger = PlayoutLedger(rate, pace=pace)
        self.respells = respells
        """The agent has a `tts_node` of its own, which may speak other words than those written."""
        self.feed = TextFeed()
        self._filter = SpeechText()
        self._spoken: list[str] = []
        self._tapped = False
        """The default `tts_node` reads the text: it enters text and sound in the ledger."""
        self._voiced_text = 0
        """How many of `_spoken` are in the ledger, where nothing taps."""
        self._respelled: asyncio.Future[None] | None = None
        self._resampler: Resampler | None = None
        """Only for sound of another rate: loading what it needs takes a while."""
        self._room: asyncio.Future[None] | None = None
        self.pcm = bytearray()
        """The sound from sample `base` on."""
        self.base = 0
        self.cursor = 0
        """Samples given to the loudspeaker."""
        self.origin: float | None = None
        """Where on the loudspeaker's clock sample 0 would sound; None: the next write decides."""
        self.rest = 0
        """The position while `origin` is None."""
        self.audio_done = False
        self.has_sound = False
        """There is sound that was not played yet, as far as the core knows."""
        self.cut = False
        """It was ended early, at a word."""
        self.failed = False
        self.started = False
        self.progress = 0
        self.task: asyncio.Task[None] | None = None

    # -- text

    def push(self, piece: str) -> None:
        self._pieces.append(piece)
        if self.respells:
            self.feed.push(piece)
        else:
            self._speak(self._filter.push(piece))

    def _speak(self, text: str) -> None:
        if text:
            self._note(text)
            self.feed.push(text)

    def _note(self, words: str) -> None:
        """These words are spoken."""
        self._spoken.append(words)
        if self.rewording is not None:
            self.rewording.feed.push(words)

    def end(self) -> str | None:
        if not self.complete:
            self.complete = True
            if not self.respells:
                self._speak(self._filter.flush())
            self.feed.close()
        return None if self.respells and not self._is_respelled else self.spoken

    @property
    def spoken(self) -> str:
        return "".join(self._spoken).strip()

    @property
    def _is_respelled(self) -> bool:
        return self.audio_done or (self._respelled is not None and self._respelled.done())

    async def respelled(self) -> str:
        if not self._is_respelled:
            if self._respelled is None:
                self._respelled = asyncio.get_running_loop().create_future()
            await self._respelled
        return self.spoken

    def all_respelled(self) -> None:
        """The words that are spoken are all known."""
        if self._respelled is None:
            self._respelled = asyncio.get_running_loop().create_future()
        if not self._respelled.done():
            self._respelled.set_result(None)

    # -- what the default `tts_node` reads and makes

    async def tap(self, text: AsyncIterable[str]) -> AsyncGenerator[str, None]:
        """The text on its way into the voice. What passes here is what is spoken."""
        self._tapped = True
        if text is self.feed and not self.respells:
            async for piece in text:
                yield piece
            return
        # Read ahead of the voice: the next request needs the whole text, however slow the voice is.
        feed = TextFeed()
        reading = self._playout.spawn(self._read(text, feed), f"tts_node text {self.id}")
        try:
            async for words in feed:
                yield words
            await reading
        finally:
            reading.cancel()

    async def _read(self, text: AsyncIterable[str], feed: TextFeed) -> None:
        try:
            async for words in speakable(text):
                self._note(words)
                feed.push(words)
        finally:
            feed.close()
            self.all_respelled()

    def tapped(self, audio: SynthesizedAudio) -> None:
        """A piece of sound comes out of the voice."""
        if audio.text:
            self.ledger.add_text(audio.text)
        if audio.words:
            self.ledger.add_words(audio.words)
        self.ledger.add_audio(round(audio.frame.duration * self.rate))

    # -- sound

    @property
    def total(self) -> int:
        """Samples made so far."""
        return self.base + len(self.pcm) // 2

    def add(self, frame: AudioFrame) -> None:
        """The next piece of sound."""
        if not self._tapped:
            self._enter_untapped(frame)
        if self._resampler is None and (frame.sample_rate != self.rate or frame.num_channels != 1):
            self._resampler = Resampler(self.rate)
        self.pcm += frame.data if self._resampler is None else self._resampler.push(frame).data

    def _enter_untapped(self, frame: AudioFrame) -> None:
        if self.respells and self._voiced_text == 0:
            self._spoken = list(self._pieces)
        new = self._spoken[self._voiced_text :]
        if new:
            self._voiced_text += len(new)
            self.ledger.add_text("".join(new))
        self.ledger.add_audio(round(frame.duration * self.rate))

    def cut_at(self, sample: int) -> None:
        """End there: what was to follow will not be heard."""
        self.cut = self.audio_done = True
        del self.pcm[2 * max(0, sample - self.base) :]
        self.cursor = min(self.cursor, sample)
        self.feed.close()
        if self.task is not None:
            self.task.cancel()

    def end_audio(self) -> None:
        """No more sound will come."""
        if self.cut:
            return
        if not self._tapped:
            if self.respells:
                self._spoken = list(self._pieces)
            if new := self._spoken[self._voiced_text :]:
                self.ledger.add_text("".join(new))
        if self._resampler is not None:
            self.pcm += self._resampler.flush().data
        self.ledger.end()
        self.audio_done = True
        self.all_respelled()

    async def wait_for_room(self) -> None:
        """Until less than `MAX_AHEAD` seconds are made ahead."""
        while self.total - self.cursor > MAX_AHEAD * self.rate:
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def take(self, samples: int) -> AudioFrame:
        """The next samples for the loudspeaker, at most so many."""
        start = 2 * (self.cursor - self.base)
        data = bytes(self.pcm[start : start + 2 * samples])
        self.cursor += len(data) // 2
        if self._room is not None and not self._room.done() and self.total - self.cursor < MAX_AHEAD * self.rate:
            self._room.set_result(None)
        return AudioFrame(data, self.rate)

    def rewind(self, sample: int) -> None:
        """Play on from `sample`, which was not heard, or not well enough."""
        self.cursor = self.rest = max(sample, self.base)
        self.origin = None

    def position(self, played: float) -> int:
        """Samples that were heard, when the loudspeaker's clock says `played`."""
        if self.origin is None:
            return self.rest
        return min(self.cursor, max(0, round((played - self.origin) * self.rate)))

    def drop_before(self, sample: int) -> None:
        """Forget sound that is too old to go back to."""
        samples = sample - self.base
        if samples > 0:
            del self.pcm[: 2 * samples]
            self.base += samples

    def heard(self) -> str:
        return self.ledger.heard(self._playout.position(self))

    def heard_whole(self) -> str:
        """What was heard when it has been played to its end."""
        return self.ledger.heard(self.total) if self.failed or self.cut else self.spoken


current_segment: ContextVar[Voiced | None] = ContextVar("antiphon_segment", default=None)
"""The segment that the running `tts_node` speaks."""


async def speak(tts: TTS, text: AsyncIterable[str]) -> AsyncIterator[AudioFrame]:
    """The default `tts_node`: markup out, text into the voice, and the ledger of the current segment kept."""
    segment = current_segment.get()
    spoken = speakable(text) if segment is None else segment.tap(text)
    async with aclosing(spoken), closing(tts.stream(spoken)) as sound:
        async for audio in sound:
            if segment is not None:
                segment.tapped(audio)
            yield audio.frame


async def prepare(tts: object, output: AudioOutput | None) -> None:
    """Load what changing the sample rate takes, if it will be changed, so that no first word waits for it."""
    if output is not None and isinstance(tts, TTS) and tts.sample_rate != output.sample_rate:
        sound = AudioFrame.silence(0.01, tts.sample_rate)
        await asyncio.to_thread(lambda: Resampler(output.sample_rate).push(sound))
