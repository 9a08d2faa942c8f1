"""Turns text into sound: the voice behind a segment, and what of it is said when.

Above: `playout`, which owns the segments and plays them. Below: `segments`, TTS, and the pure `PlayoutLedger` that sets
text against samples.

A segment is made with its first text. Its voice starts at once, so that sound is ready when it is to be played; at
most `MAX_AHEAD` seconds are made ahead. Spoken text is what enters the voice: the default `tts_node` (`speak`) is the
tap, and where an agent's own node never calls it, the text which that node was given.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing
from dataclasses import InitVar, dataclass, field

from antiphon.audio import AudioFrame, Resampler
from antiphon.runtime.feed import TextFeed
from antiphon.runtime.masked_text import Unmasked
from antiphon.runtime.segments import Rendered, current_segment, speakable
from antiphon.runtime.sound import Sound, Told
from antiphon.streams import closing
from antiphon.text import SpeechText, words
from antiphon.text.alignment import PlayoutLedger
from antiphon.transport import AudioOutput
from antiphon.tts import TTS, SynthesizedAudio
from antiphon.visible import well_formed


@dataclass(slots=True, eq=False, kw_only=True)
class Voiced(Rendered):
    """A segment with sound."""

    rate: InitVar[int]
    pace: InitVar[float]
    respells: bool
    """The agent has a `tts_node` of its own, which may speak other words than those written."""
    sound: Sound = field(init=False)
    ledger: PlayoutLedger = field(init=False)
    audio_done: bool = field(default=False, init=False)
    cut: bool = field(default=False, init=False)
    """It was ended early, at a word."""
    told: Told = field(default_factory=Told, init=False)
    """What the core was told of its sound."""
    _unmasked: Unmasked = field(init=False)
    """What the voice is given of masked text."""
    _filter: SpeechText = field(default_factory=SpeechText, init=False)
    _spoken: list[str] = field(default_factory=list, init=False)
    _voiced_text: int = field(default=0, init=False)
    """How many of `_spoken` are in the ledger, where nothing taps."""
    _respelled: asyncio.Future[None] | None = field(default=None, init=False)

    def __post_init__(self, rate: int, pace: float) -> None:
        self.sound = Sound(rate)
        self.ledger = PlayoutLedger(rate, pace=pace)
        self._unmasked = Unmasked(self.port.masks, self.id)

    # -- text

    def push(self, piece: str) -> None:
        if self.respells:
            Rendered.push(self, piece)  # `super()` knows no class that is made anew for its slots
        else:
            piece = well_formed(piece)
            self._pieces.append(piece)
            self._speak(self._filter.push(piece))

    def _speak(self, text: str) -> None:
        if text:
            self._note(text)
            if self.port.masks.is_active:
                text = self._unmasked.push(text)
            self.feed.push(text)

    def _note(self, text: str) -> None:
        """This is spoken."""
        self._spoken.append(text)
        self.caption.spoken(text)

    def end(self) -> str | None:
        if not self.complete:
            self.complete = True
            if not self.respells:
                self._speak(self._filter.flush())
                if self._unmasked.held:
                    self.feed.push(self._unmasked.flush())
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

    def _all_respelled(self) -> None:
        """The words that are spoken are all known."""
        if self._respelled is None:
            if self.audio_done:
                return
            self._respelled = asyncio.get_running_loop().create_future()
        if not self._respelled.done():
            self._respelled.set_result(None)

    @property
    def made(self) -> int:
        return len(self._spoken) + self.sound.total + self.sound.cursor

    def give_up(self) -> None:
        self._stop_making()
        self.end_audio()

    # -- what the default `tts_node` reads and makes

    async def tap(self, text: AsyncIterable[str]) -> AsyncGenerator[str, None]:
        self._tapped = True
        if text is self.feed and not self.respells:
            async for piece in text:
                yield piece
            return
        # Read ahead of the voice: the next request needs the whole text, however slow the voice is.
        feed = TextFeed()
        reading = self.port.spawn(self._read(text, feed), f"tts_node text {self.id}")
        try:
            async for piece in feed:
                yield piece
            await reading
        finally:
            reading.cancel()

    async def _read(self, text: AsyncIterable[str], feed: TextFeed) -> None:
        try:
            async for piece in speakable(text):
                self._note(piece)
                feed.push(self._unmasked.push(piece) if self.port.masks.is_active else piece)
            if self._unmasked.held:
                feed.push(self._unmasked.flush())
        finally:
            feed.close()
            self._all_respelled()

    def tapped(self, audio: SynthesizedAudio) -> None:
        """A piece of sound comes out of the voice."""
        if audio.text:
            self.ledger.add_text(audio.text)
        if audio.words:
            self.ledger.add_words(audio.words)
        self.ledger.add_audio(round(audio.frame.duration * self.sound.rate))

    # -- sound

    def add(self, frame: AudioFrame) -> None:
        """The next piece of sound."""
        if not self._tapped:
            self._enter_untapped(frame)
        self.sound.add(frame)

    def _enter_untapped(self, frame: AudioFrame) -> None:
        if self.respells and self._voiced_text == 0:
            self._spoken = list(self._pieces)
        new = self._spoken[self._voiced_text :]
        if new:
            self._voiced_text += len(new)
            self.ledger.add_text("".join(new))
        self.ledger.add_audio(round(frame.duration * self.sound.rate))

    def cut_at(self, sample: int) -> None:
        """End there: what was to follow will not be heard."""
        self.cut = self.audio_done = True
        self.sound.cut_at(sample)
        self.close()

    def end_audio(self) -> None:
        """No more sound will come."""
        if self.cut or self.audio_done:
            return
        if not self._tapped:
            if self.respells:
                self._spoken = list(self._pieces)
            if new := self._spoken[self._voiced_text :]:
                self.ledger.add_text("".join(new))
        self.sound.end()
        self.ledger.end()
        self.audio_done = True
        self._all_respelled()

    # -- what was heard

    def heard(self, played: float) -> str:
        return self._unmasked.masked(self.ledger.heard(self.sound.position(played)))

    def heard_whole(self) -> str:
        """What was heard when it has been played to its end."""
        if self.unsaid:
            return ""
        return self._unmasked.masked(self.ledger.heard(self.sound.total)) if self.failed or self.cut else self.spoken

    @property
    def unsaid(self) -> str:
        if self.sound.total or self.cut or not self.audio_done:
            return ""
        raw = self.raw.strip()
        return raw if words(raw) else ""


async def speak(tts: TTS, text: AsyncIterable[str]) -> AsyncIterator[AudioFrame]:
    """The default `tts_node`: markup out, text into the voice, and the ledger of the current segment kept."""
    segment = current_segment.get()
    spoken = speakable(text) if segment is None else segment.tap(text)
    if segment is not None and not isinstance(segment, Voiced):  # nobody hears it
        async with aclosing(spoken):
            async for _ in spoken:
                pass
        return
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
