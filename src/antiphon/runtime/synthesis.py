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
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from antiphon.audio import AudioFrame, Resampler
from antiphon.runtime.feed import TextFeed
from antiphon.runtime.sound import Sound, Told
from antiphon.scope import Scoped
from antiphon.streams import closing
from antiphon.text import SpeechText, words
from antiphon.text.alignment import PlayoutLedger
from antiphon.transport import AudioOutput
from antiphon.tts import TTS, SynthesizedAudio
from antiphon.visible import well_formed

if TYPE_CHECKING:
    from antiphon.runtime.playout import Playout
    from antiphon.runtime.reading import Reworded

logger = logging.getLogger("antiphon")


class Segment:
    """A stretch of what the agent says. This one is text only; `Voiced` has sound."""

    __slots__ = (
        "_pieces",
        "_playout",
        "agent",
        "caption",
        "complete",
        "failed",
        "given",
        "id",
        "settled",
        "speech",
        "when_cut",
    )

    def __init__(
        self,
        playout: Playout,
        segment_id: int,
        speech: int,
        agent: str,
        when_cut: Callable[[float], None] | None = None,
    ) -> None:
        self._playout = playout
        self.id = segment_id
        self.speech = speech
        self.agent = agent
        self._pieces: list[str] = []
        self.caption = playout.captions.of(segment_id, agent)
        self.complete = False
        """All text is here."""
        self.settled = False
        """The core knows all of its text."""
        self.given = False
        """`Play` has come."""
        self.failed = False
        """What was to voice or word it broke."""
        self.when_cut = when_cut
        """Told how many seconds of its sound were heard, if not all."""

    @property
    def raw(self) -> str:
        """The text so far, as it was written, and well-formed."""
        return well_formed("".join(self._pieces))

    def push(self, piece: str) -> None:
        """Take the next piece of text."""
        self._pieces.append(piece)
        if self.caption.is_read:
            self.caption.spoken(well_formed(piece))
            self.caption.show(self.raw, self.spoken)

    # -- what becomes of it

    def settle(self) -> None:
        """The core knows all of its text: it may end."""
        self.settled = True

    def give(self) -> None:
        """It is to be played when its turn comes."""
        self.given = True

    def breaks(self) -> None:
        """What voices or words it failed."""
        self.failed = True

    # -- its text

    def end(self) -> str | None:
        """The text is over. Returns what will be spoken, or None if only `respelled` will know."""
        self.complete = True
        return self.raw.strip()

    async def respelled(self) -> str:
        """What will be spoken, once the agent's `tts_node` has read it all."""
        return self.raw.strip()

    @property
    def made(self) -> int:
        """Grows while something is made of the text, or what was made waits to be played."""
        return 0

    def give_up(self) -> None:
        """Nothing more will be made of the text."""

    def heard(self) -> str:
        """What was heard so far. Of text only: everything written so far, as it can be read."""
        return self.raw.strip()

    @property
    def spoken(self) -> str:
        """The text that is spoken, as far as it is known."""
        return self.raw.strip()

    @property
    def unsaid(self) -> str:
        """All of it as it was written, where it has words and came to an end without a sound, or a word; else ""."""
        return ""


async def speakable(text: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    """The text without what cannot be spoken."""
    spoken = SpeechText()
    async for piece in text:
        if sayable := spoken.push(piece):
            yield sayable
    if sayable := spoken.flush():
        yield sayable


class Voiced(Segment):
    """A segment with sound, which one task makes."""

    __slots__ = (
        "__weakref__",
        "_filter",
        "_respelled",
        "_spoken",
        "_tapped",
        "_task",
        "_voiced_text",
        "audio_done",
        "cut",
        "feed",
        "ledger",
        "respells",
        "sound",
        "told",
    )

    def __init__(
        self,
        playout: Playout,
        segment_id: int,
        speech: int,
        agent: str,
        when_cut: Callable[[float], None] | None = None,
        *,
        rate: int,
        pace: float,
        respells: bool,
    ) -> None:
        super().__init__(playout, segment_id, speech, agent, when_cut)
        self.sound = Sound(rate)
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
        self.audio_done = False
        self.cut = False
        """It was ended early, at a word."""
        self.told = Told()
        """What the core was told of its sound."""
        self._task: asyncio.Task[None] | None = None

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Have it voiced by a task."""
        self._task = self._playout.spawn(work, f"voice {self.id}")

    def close(self) -> None:
        """Nothing more is wanted of it."""
        self.feed.close()
        if self._task is not None:
            self._task.cancel()

    # -- text

    def push(self, piece: str) -> None:
        piece = well_formed(piece)
        self._pieces.append(piece)
        if self.respells:
            self.feed.push(piece)
        else:
            self._speak(self._filter.push(piece))

    def _speak(self, text: str) -> None:
        if text:
            self._note(text)
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
        if self._task is not None:
            self._task.cancel()
        self.end_audio()

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
            async for piece in feed:
                yield piece
            await reading
        finally:
            reading.cancel()

    async def _read(self, text: AsyncIterable[str], feed: TextFeed) -> None:
        try:
            async for piece in speakable(text):
                self._note(piece)
                feed.push(piece)
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

    def heard(self) -> str:
        return self.ledger.heard(self.sound.position(self._playout.played))

    def heard_whole(self) -> str:
        """What was heard when it has been played to its end."""
        if self.unsaid:
            return ""
        return self.ledger.heard(self.sound.total) if self.failed or self.cut else self.spoken

    @property
    def unsaid(self) -> str:
        if self.sound.total or self.cut or not self.audio_done:
            return ""
        raw = self.raw.strip()
        return raw if words(raw) else ""


current_segment: Scoped[Voiced | Reworded] = Scoped("antiphon_segment")
"""The segment that the running `tts_node` speaks, or only words."""


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
