"""Streaming recognition over an engine that only knows whole utterances.

Above is whoever pushes audio and reads transcripts (`antiphon.stt`); below is a `Recognizer`, which turns one piece of
sound into text. Nothing here detects speech: the session's voice activity detector marks where it begins and ends.

Theory of operation. All audio goes onto a tape. `SpeechStarted` opens an utterance on it, a little before the voice
itself; `SpeechEnded` closes it. The engine is run again and again on the utterance so far, one run at a time:

- after every `interval` of new sound, for an interim transcript, and less often when the engine is slow;
- as soon as the sound falls quiet, before the detector has decided. If speech goes on, that was one more
  interim transcript. If it does not, the final transcript is ready when `SpeechEnded` arrives;
- at `SpeechEnded`, if no run has covered the voice to its end. A run that covers less is given up.

Every `SpeechEnded` is answered by exactly one final transcript, "" if nothing was understood. An utterance that grows
long is settled at its next pause, and what follows it is a new one; so the cost of a run stays bounded.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from antiphon.audio import AudioFrame, Resampler
from antiphon.stt import STT, SpeechEvent, STTStream
from antiphon.vad import SpeechEnded, SpeechStarted, VADEvent

_logger = logging.getLogger("antiphon.stt")

_MAX_UTTERANCES = 16
"""Utterances that may wait for the engine. The oldest is dropped beyond that, with a warning."""
_MAX_LAG = 2.0
"""Seconds. A mark further back was made on another clock than this stream's."""
_MAX_LEAD = 0.3
"""Seconds by which a mark may be ahead: the detector may have been given the frame first."""
_CREDIBLE = 2
"""Words. So many are not unsaid by a later run that understands nothing: engines fail so now and then. A lone word may
have been a noise."""
_FADE = 0.06
"""Seconds that the last sound of a word goes on after a detector has lost the voice."""
_TYPICAL_LAG = 0.25
"""Seconds by which a mark on another clock is taken to be late."""


class Recognizer(Protocol):
    """Turns a piece of sound into text."""

    async def recognize(self, audio: AudioFrame) -> str:
        """What is said in `audio` (mono, any rate), "" if nothing is understood.

        Must not block the event loop. Cancelling gives the run up. Raises `ProviderError`.
        """


class PauseWatch(Protocol):
    """Guesses, ahead of the session's detector, that the speaker paused. May err: it only saves time."""

    @property
    def quiet(self) -> float:
        """Seconds for which it has been quiet."""

    def push(self, frame: AudioFrame) -> object:
        """Listen to the next frame of an utterance (mono)."""


@dataclass(slots=True, frozen=True)
class StreamOptions:
    """How an utterance is cut from the stream and when the engine is run. Seconds of audio."""

    pre_roll: float = 0.5
    """Sound before the voice that goes into the utterance: engines need it, and detectors are late on soft onsets,
    telephone lines above all, by up to 0.35 s."""
    tail: float = 0.12
    """Sound after the voice that goes into the utterance."""
    pause: float = 0.06
    """Quiet after which the engine is run at once."""
    interval: float = 0.4
    """New sound between two interim transcripts."""
    first_interval: float = 0.2
    """The same, until something was understood: the first words are what an interruption waits for."""
    cut_after: float = 8.0
    """An utterance longer than this is settled at its next pause."""
    max_length: float = 15.0
    """An utterance is settled here, pause or not."""


class LoudnessWatch:
    """The `PauseWatch` for want of a better one: by loudness alone.

    Loudness is measured in blocks of about 20 ms. Peak and floor follow it; the lower part of the range between them is
    quiet, and so is what lies far below the peak.
    """

    _BLOCK = 0.02
    _FALL = 0.1
    """dB by which the peak falls in a block, so that it follows the speaker."""
    _RISE = 0.1
    """dB by which the floor rises in a block, so that it follows the room."""

    def __init__(self) -> None:
        self._peak = -60.0
        self._floor = 0.0
        self._quiet = 0.0

    @property
    def quiet(self) -> float:
        return self._quiet

    def push(self, frame: AudioFrame) -> None:
        """Listen to the next frame (mono)."""
        import numpy as np

        samples = np.frombuffer(frame.data, "<i2").astype(np.float32)
        blocks = max(1, round(frame.duration / self._BLOCK))
        for block in np.array_split(samples, blocks) if blocks > 1 else (samples,):
            if len(block):
                power = float(block @ block) / len(block) / 32768**2
                self._hear(10 * math.log10(power + 1e-9), len(block) / frame.sample_rate)

    def _hear(self, level: float, duration: float) -> None:
        self._peak = max(level, self._peak - self._FALL)
        self._floor = min(level, self._floor + self._RISE)
        # What was quiet stays so until it is clearly louder: noise goes up and down.
        share = 0.5 if self._quiet else 0.35
        loud = max(self._floor + share * (self._peak - self._floor), self._peak - 30.0)
        self._quiet = 0.0 if level > loud else self._quiet + duration


class StreamAdapter(STT):
    """Makes a recogniser of whole utterances an `STT`. Sessions that use it need a voice activity detector.

    `watch` makes the guesser of pauses for one utterance.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        options: StreamOptions | None = None,
        watch: Callable[[], PauseWatch] = LoudnessWatch,
    ) -> None:
        self._recognizer = recognizer
        self._options = options or StreamOptions()
        self._watch = watch

    def update_options(self, **options: Any) -> None:
        """Have the recogniser work differently, as far as it can."""
        update = getattr(self._recognizer, "update_options", super().update_options)
        update(**options)

    def stream(self) -> STTStream:
        return UtteranceStream(self._recognizer, self._options, self._watch)


class Tape:
    """The latest audio of a stream, addressed by seconds since the stream began. Mono, at the first frame's rate."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._first = 0
        """Position, in samples, of the first sample still held."""
        self._rate = 0
        self._resampler: Resampler | None = None

    @property
    def now(self) -> float:
        """Seconds of audio so far."""
        return (self._first + len(self._data) // 2) / self._rate if self._rate else 0.0

    def push(self, frame: AudioFrame) -> AudioFrame:
        """Append the frame and return it as it stands on the tape."""
        self._rate = self._rate or frame.sample_rate
        if frame.num_channels != 1 or frame.sample_rate != self._rate:
            self._resampler = self._resampler or Resampler(self._rate)
            frame = self._resampler.push(frame)
        self._data += frame.data
        return frame

    def slice(self, start: float, end: float) -> AudioFrame:
        """The sound between two times, as far as it is still held."""
        first, last = (2 * max(0, round(at * self._rate) - self._first) for at in (start, end))
        return AudioFrame(bytes(self._data[first:last]), self._rate)

    def forget(self, before: float) -> None:
        """Drop what is older than `before`; in steps of a second, so that most calls cost nothing."""
        stale = int(before * self._rate) - self._first
        if stale >= self._rate > 0:
            del self._data[: 2 * stale]
            self._first += stale


@dataclass(slots=True)
class _Utterance:
    """A stretch of the tape and what is known of it. Times are those of the tape."""

    began: float
    voice_end: float | None = None
    """Where the voice ended; None while somebody speaks."""
    heard_until: float = 0.0
    """How far the latest completed run reached."""
    wanted_until: float = 0.0
    """How far a run should reach at once, because there is a pause."""
    text: str = ""

    def ended(self, at: float) -> float:
        """The voice ended: where, which is not before it began."""
        self.voice_end = max(at, self.began)
        return self.voice_end

    def understood(self, text: str, until: float) -> bool:
        """A run completed that reached so far. True if it changed the text."""
        before = self.text
        if text or len(before.split()) < _CREDIBLE:
            self.text = text
        self.heard_until = until
        return bool(self.text) and self.text != before

    def settled(self) -> bool:
        """True when the text covers all of the voice."""
        if self.voice_end is None:
            return False
        return self.voice_end - self.began < 0.05 or self.heard_until >= self.voice_end - 0.02


@dataclass(slots=True)
class _Run:
    """The engine at work on the tape up to `until`."""

    task: asyncio.Task[str]
    utterance: _Utterance
    until: float


class UtteranceStream(STTStream):
    """One call's recognition, see the module's text. The iterator drives the engine: iterate it, by one consumer."""

    def __init__(self, recognizer: Recognizer, options: StreamOptions, watch: Callable[[], PauseWatch]) -> None:
        self.recognizer = recognizer
        """The engine this stream runs."""
        self._new_watch = watch
        self._watch = watch()
        """Listens to the open utterance."""
        self._options = options
        self._tape = Tape()
        self._utterances: deque[_Utterance] = deque()
        """Oldest first. Only the last may be open."""
        self._settled_until = 0.0
        """Where the voice of the latest closed utterance has faded: no word is heard twice."""
        self._run: _Run | None = None
        self._pace = 0.0
        """New sound that there must be at least between two interim transcripts, by how slow the engine is."""
        self._wake = asyncio.Event()
        self._ended = False
        self._closed = False

    def push(self, frame: AudioFrame) -> None:
        if self._closed or self._ended or not frame.data:
            return
        frame = self._tape.push(frame)
        now = self._tape.now
        utterance = self._open()
        if utterance is None:
            oldest = self._utterances[0].began if self._utterances else now
            self._tape.forget(min(oldest, now - self._options.pre_roll - _MAX_LAG))
            return
        length = now - utterance.began
        was_quiet = self._watch.quiet >= self._options.pause
        self._watch.push(frame)
        if not was_quiet and self._watch.quiet >= self._options.pause:
            self._want(utterance, now)
            if length > self._options.cut_after:
                self._cut(utterance, now)
        elif length > self._options.max_length:
            self._cut(utterance, now)
        elif self._is_interim_due(utterance):
            self._wake.set()

    def mark(self, event: VADEvent) -> None:
        if self._closed or self._ended:
            return
        if isinstance(event, SpeechStarted):
            self._begin(max(self._own_time(event.at) - self._options.pre_roll, self._settled_until))
        elif isinstance(event, SpeechEnded):
            self._end(self._own_time(event.at))

    def flush(self) -> None:
        if utterance := self._open():
            self._cut(utterance, self._tape.now)

    def end_input(self) -> None:
        if not self._ended:
            self._end(self._tape.now)
            self._ended = True
            self._wake.set()

    async def aclose(self) -> None:
        self._closed = True
        self._utterances.clear()
        self._abandon()
        self._wake.set()

    async def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        try:
            while not self._closed:
                self._wake.clear()
                utterance = self._utterances[0] if self._utterances else None
                if utterance is not None and utterance.settled():
                    self._utterances.popleft()
                    yield SpeechEvent.final(utterance.text)
                elif utterance is not None and (until := self._due(utterance)) is not None:
                    changed = await self._recognize(utterance, until)
                    if changed and not utterance.settled() and not self._closed:
                        yield SpeechEvent.interim(utterance.text)
                elif utterance is None and self._ended:
                    return
                else:
                    await self._wake.wait()
        finally:
            self._abandon()

    def _open(self) -> _Utterance | None:
        """The utterance that is being spoken."""
        last = self._utterances[-1] if self._utterances else None
        return last if last and last.voice_end is None else None

    def _begin(self, at: float) -> None:
        if self._open():
            return
        if len(self._utterances) == _MAX_UTTERANCES:
            self._utterances.popleft()
            _logger.warning("recognition is %d utterances behind; the oldest was dropped", _MAX_UTTERANCES)
        self._utterances.append(_Utterance(began=at))
        self._watch = self._new_watch()
        self._watch.push(self._tape.slice(at, self._tape.now))

    def _end(self, at: float) -> None:
        utterance = self._open()
        if utterance is None:
            return
        end = utterance.ended(at)
        # The silence after it may be heard twice. A voice that returns soon needs it as its beginning.
        self._settled_until = end + _FADE
        if self._run and self._run.utterance is utterance and self._run.until < end - 0.02:
            self._abandon()
        self._wake.set()

    def _cut(self, utterance: _Utterance, at: float) -> None:
        """Settle the open utterance here and begin the next one without a gap."""
        self._end(at)
        self._begin(at)

    def _want(self, utterance: _Utterance, until: float) -> None:
        """Have a run that reaches `until`, soon: it may turn out to be the final one."""
        utterance.wanted_until = until
        if self._run and self._run.utterance is utterance:
            self._abandon()
        self._wake.set()

    def _due(self, utterance: _Utterance) -> float | None:
        """How far the next run on this utterance should reach; None if none is needed yet."""
        now = self._tape.now
        if utterance.voice_end is not None:
            return min(max(utterance.voice_end + self._options.tail, utterance.wanted_until), now)
        if utterance.wanted_until > utterance.heard_until:
            return now
        return now if self._is_interim_due(utterance) else None

    def _is_interim_due(self, utterance: _Utterance) -> bool:
        interval = self._options.interval if utterance.text else self._options.first_interval
        return self._tape.now - max(utterance.heard_until, utterance.began) >= max(interval, self._pace)

    async def _recognize(self, utterance: _Utterance, until: float) -> bool:
        """Run the engine up to `until`. True if it completed and changed the text."""
        audio = self._tape.slice(utterance.began, until)
        loop = asyncio.get_running_loop()
        started = loop.time()
        task = asyncio.ensure_future(self.recognizer.recognize(audio))
        self._run = run = _Run(task, utterance, until)
        try:
            await asyncio.wait({task})
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if self._run is run:
                self._run = None
        if task.cancelled():
            return False
        self._pace = 2 * (loop.time() - started)
        return utterance.understood(task.result().strip(), until)

    def _abandon(self) -> None:
        """Give up the run that is going on: nobody wants its result."""
        if self._run:
            self._run.task.cancel()
            self._run = None

    def _own_time(self, at: float) -> float:
        """A detector's time as this stream's.

        They are the same as long as both were fed the same frames from the start. A stream that joined a call later is
        told apart by times that cannot be.
        """
        now = self._tape.now
        return min(at, now) if -_MAX_LEAD <= now - at <= _MAX_LAG else max(0.0, now - _TYPICAL_LAG)
