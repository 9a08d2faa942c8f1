"""Turns text into sound and plays it: segments, the voice behind each, and the pace at which the loudspeaker gets them.

Above: the driver and `generation`, which fills segments with text. Below: the agent's `tts_node`, the `AudioOutput`,
and the pure `PlayoutLedger` that sets text against samples.

A segment is made with its first text. Its voice starts at once, so that sound is ready when `Play` comes; at most
`MAX_AHEAD` seconds are made ahead. Segments given to `Play` sound in order without a gap. The loudspeaker gets at
most `output.lead` seconds ahead of what was played, so that little is lost when it is cleared; everything that was
heard lately is kept, so that a false alarm can go back to the start of the cut word.

Without a loudspeaker or a voice a segment is text only, and counts as heard the moment it is complete.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Coroutine
from contextlib import aclosing
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from antiphon.audio import AudioFrame, Resampler
from antiphon.chat import ChatMessage
from antiphon.core.commands import Record, message_id
from antiphon.core.facts import Fact, PlayoutFinished, PlayoutProgressed, PlayoutStarted
from antiphon.core.playout import DEFAULT_PACE, PlayoutLedger
from antiphon.errors import UsageError
from antiphon.options import ModelSettings
from antiphon.runtime.captions import Rewording
from antiphon.runtime.feed import TextFeed
from antiphon.runtime.ticker import Ticker
from antiphon.text import SpeechText
from antiphon.transport import AudioOutput
from antiphon.tts import TTS, SynthesizedAudio, closing

if TYPE_CHECKING:
    from antiphon.runtime.driver import Driver
    from antiphon.runtime.host import Host

logger = logging.getLogger("antiphon")

MAX_AHEAD = 30.0
"""Seconds of sound that a voice may make ahead of what was played of its segment."""

KEPT = 5.0
"""Seconds of played sound that are kept for going back."""

PROGRESS_PERIOD = 1.0
"""Seconds of sound between two `PlayoutProgressed`."""

_SETTINGS = ModelSettings()


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
        "speech",
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
        self.complete = False
        """All text is here."""
        self.settled = False
        """The core knows all of its text."""
        self.given = False
        """`Play` has come."""

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
        "failed",
        "feed",
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

    def end_audio(self) -> None:
        """No more sound will come."""
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
        return self.ledger.heard(self.total) if self.failed else self.spoken


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


class Playout:
    """Performs `Play`, `StopPlayout`, `PausePlayout` and `ResumePlayout`, and owns the segments."""

    def __init__(self, driver: Driver, host: Host, output: AudioOutput | None) -> None:
        self._driver = driver
        self._host = host
        self._output = output
        self._segments: dict[int, Segment] = {}
        self._queue: deque[Voiced] = deque()
        """Given to `Play` and not finished, in order."""
        self._end = 0.0
        """Where on the loudspeaker's clock everything written will have been played."""
        self._paused = False
        self._pace = DEFAULT_PACE
        self._raw: dict[str, str] = {}
        """By message id: what the model wrote, where that is not what was spoken."""

    def start(self) -> None:
        """The call begins."""
        if self._output is not None:
            self._output.start()
            self._end = self._output.played

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run something for a segment as a task of the session."""
        return self._driver.spawn(work, name)

    # -- segments

    def open(
        self, segment_id: int, speech: int, agent: str, *, audio: AsyncIterable[AudioFrame] | None = None
    ) -> Segment:
        """A segment for text that begins. `audio`: ready-made sound for it."""
        segment: Segment
        if self._output is None or not (audio is not None or self._host.has_voice(agent)):
            segment = Segment(self, segment_id, speech, agent)
        else:
            segment = Voiced(
                self,
                segment_id,
                speech,
                agent,
                rate=self._output.sample_rate,
                pace=self._pace,
                respells=audio is None and self.respells(agent),
            )
            segment.task = self._driver.spawn(self._synthesize(segment, audio), f"voice {segment_id}")
        self._segments[segment_id] = segment
        return segment

    def respells(self, agent: str) -> bool:
        """True if the agent's own `tts_node` decides on the words that are spoken."""
        return (
            self._output is not None
            and self._host.has_voice(agent)
            and "tts_node" in self._host.agent(agent).overridden
        )

    def is_mute(self, agent: str) -> bool:
        """True if there is a loudspeaker, and the agent has no voice for it."""
        return self._output is not None and not self._host.has_voice(agent)

    @property
    def has_output(self) -> bool:
        """There is a loudspeaker."""
        return self._output is not None

    def settle(self, segment: Segment) -> None:
        """The core knows all of its text: it may end."""
        segment.settled = True
        if isinstance(segment, Voiced):
            self._finish_played()
        elif segment.given:
            self._finish_text(segment)

    def abandon(self, segment: Segment) -> None:
        """No more text will come, and none is waited for."""
        segment.end()
        self.settle(segment)

    def forget(self, speech: int) -> None:
        """The speech is over: what was never played of it never will be."""
        for segment in [s for s in self._segments.values() if s.speech == speech and not s.given]:
            self._drop(segment)

    def _drop(self, segment: Segment) -> None:
        self._segments.pop(segment.id, None)
        if isinstance(segment, Voiced):
            segment.feed.close()
            if segment.task is not None:
                segment.task.cancel()

    def raw_text(self, command: Record) -> str | None:
        """What the model wrote for a message that is settled now, where that is not what was spoken."""
        if self._raw and isinstance(command.item, ChatMessage):
            return self._raw.pop(command.item.id, None)
        return None

    # -- the voice

    async def _synthesize(self, segment: Voiced, audio: AsyncIterable[AudioFrame] | None) -> None:
        current_segment.set(segment)
        source: Any = audio
        try:
            if source is None:
                source = self._host.agent(segment.agent).tts_node(segment.feed, _SETTINGS)
                if inspect.isawaitable(source):
                    source = await source
            if source is not None:
                try:
                    await self._fill(segment, source)
                finally:
                    close = getattr(source, "aclose", None)
                    if close is not None:
                        await close()
        except Exception as error:
            segment.failed = True
            logger.error("agent %r: speech synthesis failed: %s", segment.agent, error, exc_info=error)
            self._host.failed(error, "tts")
        finally:
            segment.end_audio()
        self._pace = segment.ledger.pace
        self._pump()
        self._finish_played()

    async def _fill(self, segment: Voiced, source: AsyncIterable[Any]) -> None:
        async for frame in source:
            if isinstance(frame, SynthesizedAudio):
                frame = frame.frame
            if not isinstance(frame, AudioFrame):
                raise UsageError(
                    f"tts_node of agent {segment.agent!r}: expected AudioFrame, got {type(frame).__name__}"
                )
            segment.add(frame)
            if segment.given:
                self._pump()
            await segment.wait_for_room()

    # -- commands

    def play(self, segment_id: int) -> None:
        """Play it behind what plays now; closes with `PlayoutFinished`."""
        segment = self._segments.get(segment_id)
        if segment is None:
            self._driver.report(PlayoutFinished(segment_id, ""))
            return
        segment.given = True
        if not isinstance(segment, Voiced):
            if segment.settled:
                self._finish_text(segment)
            return
        self._queue.append(segment)
        Ticker.of(self._driver.loop).add(self._tick)
        self._pump()
        self._finish_played()

    def stop(self, segment_id: int) -> None:
        """Silence it at once. One that was given to `Play` closes with what was heard of it."""
        segment = self._segments.get(segment_id)
        if segment is None:
            return
        if isinstance(segment, Voiced) and segment in self._queue:
            played = self._played()
            self._clear(keep=segment)
            heard = segment.ledger.heard(segment.position(played))
            if heard:
                self._raw[message_id(segment.id)] = segment.raw  # for those who ask what was cut
            self._queue.remove(segment)
            self._release_ticker()
        else:
            heard = segment.heard() if segment.given else ""
        self._drop(segment)
        if segment.given:
            self._report_finished(segment, heard)
        self._pump()

    def pause(self) -> None:
        """Silence the line at once, keep everything."""
        self._paused = True
        if self._output is not None:
            self._output.pause()

    def resume(self) -> None:
        """Sound again, from the start of the cut word."""
        self._paused = False
        if self._output is None:
            return
        if self._queue:
            first = self._queue[0]
            position = self.position(first)
            word = max(first.ledger.word_start(position), first.base)
            if word < position:
                self._clear()
                first.rewind(word)
        self._output.resume()
        self._pump()

    # -- the loudspeaker

    def _played(self) -> float:
        return 0.0 if self._output is None else self._output.played

    def position(self, segment: Voiced) -> int:
        """Samples of the segment that were heard."""
        return segment.position(self._played())

    def _clear(self, keep: Voiced | None = None) -> None:
        """Empty the loudspeaker, which ends a pause of its: while paused nothing is written to it.

        What it had not played is written again later, except of `keep`.
        """
        output = self._output
        assert output is not None  # a voiced segment has a loudspeaker
        played = output.played
        self._end -= output.clear()
        for segment in self._queue:
            if segment is not keep and segment.origin is not None:
                segment.rewind(segment.position(played))

    def _pump(self) -> None:
        """Give the loudspeaker what it may have."""
        output = self._output
        if output is None or self._paused or not self._queue:
            return
        ahead = self._end - output.played
        if ahead > output.lead / 2:
            return
        started: list[Fact] = []
        for segment in self._queue:
            ahead += self._write(output, segment, output.lead - ahead, started)
            if not segment.audio_done or segment.cursor < segment.total:
                break
        for fact in started:
            self._driver.report(fact)

    def _write(self, output: AudioOutput, segment: Voiced, seconds: float, started: list[Fact]) -> float:
        samples = min(segment.total - segment.cursor, int(seconds * segment.rate))
        if samples <= 0:
            return 0.0
        if segment.origin is None:
            segment.origin = self._end - segment.cursor / segment.rate
        if not segment.started:
            segment.started = True
            started.append(PlayoutStarted(segment.id))
        output.write(segment.take(samples))
        self._end += samples / segment.rate
        return samples / segment.rate

    def _tick(self) -> None:
        self._pump()
        if self._queue:
            first = self._queue[0]
            position = self.position(first)
            first.drop_before(position - round(KEPT * first.rate))
            self._tell_progress(first, position)
        self._finish_played()

    def _tell_progress(self, segment: Voiced, position: int) -> None:
        if self.captions and position > segment.progress:
            self.caption(segment, segment.ledger.heard(position), final=False)
        if position - segment.progress >= PROGRESS_PERIOD * segment.rate:
            segment.progress = position
            self._driver.report(PlayoutProgressed(segment.id, segment.ledger.heard(position)))

    def _finish_played(self) -> None:
        """Close segments that have been played to their end."""
        finished: list[Voiced] = []
        while self._queue and self._is_played(self._queue[0]):
            segment = self._queue.popleft()
            self._segments.pop(segment.id, None)
            finished.append(segment)
        for segment in finished:
            self._keep_raw(segment)
            self._report_finished(segment, segment.heard_whole())
        self._release_ticker()

    def _is_played(self, segment: Voiced) -> bool:
        if not (segment.settled and segment.audio_done):
            return False
        return segment.cursor >= segment.total and segment.position(self._played()) >= segment.total

    def _finish_text(self, segment: Segment) -> None:
        self._segments.pop(segment.id, None)
        self._report_finished(segment, segment.heard())

    def _report_finished(self, segment: Segment, heard: str) -> None:
        if self.captions:
            self.caption(segment, heard, final=True)
        self._driver.report(PlayoutFinished(segment.id, heard))

    def _keep_raw(self, segment: Voiced) -> None:
        if not segment.failed and segment.spoken and segment.raw.strip() != segment.spoken:
            self._raw[message_id(segment.id)] = segment.raw

    def _release_ticker(self) -> None:
        if not self._queue:
            Ticker.of(self._driver.loop).remove(self._tick)

    # -- captions

    @property
    def captions(self) -> bool:
        """Whether anybody reads along."""
        return self._host.listened("agent_output_transcribed")

    def caption(self, segment: Segment, text: str, *, final: bool) -> None:
        """Tell those who read along what was heard so far."""
        if segment.rewording is None:
            self._host.spoken(segment.id, text, final)
        else:
            spoken = segment.spoken
            segment.rewording.show(len(text) / len(spoken) if spoken else 1.0, final=final)

    def rewording(self, segment_id: int, agent: str) -> Rewording | None:
        """A way for captions through the agent's own `transcription_node`, if it has one."""
        if "transcription_node" not in self._host.agent(agent).overridden:
            return None
        return Rewording(self._driver, self._host, segment_id, agent)

    # -- the end

    def halt(self) -> None:
        """Silence, now and for good."""
        self._queue.clear()
        self._segments.clear()
        self._release_ticker()
        if self._output is not None:
            self._output.clear()

    async def aclose(self) -> None:
        """Release the loudspeaker."""
        if self._output is not None:
            await self._output.aclose()
