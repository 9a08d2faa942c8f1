"""A caller who says words, at instants exact to the sample, and a recogniser that reads them in the sound.

Each word said has a loudness of its own, so what was said is in the sound itself: `CallerSTT` understands whatever it
is given, late, again or in pieces, and adapters that replay a caller's sound to another recogniser can be tested whole.
"""

from __future__ import annotations

import asyncio
from array import array
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from antiphon.audio import AudioFrame
from antiphon.errors import ProviderError, UsageError
from antiphon.stt import STT, SpeechEvent, STTStream
from antiphon.testing.audio import FakeMicrophone, is_silent
from antiphon.testing.outlet import Outlet
from antiphon.vad import SpeechEnded, VADEvent

RATE = 16_000
"""Hz of the caller's sound."""

_NOISE = 500  # loudness of sound that means nothing
_FIRST = 1000  # loudness of the first word
_LAST = 32_000
_HALF_WAVE = RATE // 400  # samples


def _sound(loudness: int, samples: int) -> bytes:
    wave = array("h", [loudness] * _HALF_WAVE + [-loudness] * _HALF_WAVE)
    return (wave * (samples // len(wave) + 1))[:samples].tobytes()


@dataclass(slots=True, frozen=True)
class SpokenWord:
    """A word, and when it sounded, in seconds of the loop's clock."""

    text: str
    start: float
    end: float


@dataclass(slots=True)
class Utterance:
    """What a caller says in one go. Awaiting it waits until it was all given out, or the call ended, and returns it."""

    words: list[SpokenWord]
    """None for a noise."""
    start: float
    """When its sound begins, in seconds of the loop's clock."""
    end: float
    given: asyncio.Future[None] = field(repr=False)

    @property
    def text(self) -> str:
        """All of its words."""
        return " ".join(word.text for word in self.words)

    def __await__(self) -> Generator[object, None, Utterance]:
        try:
            yield from self.given
        except asyncio.CancelledError:
            if not self.given.cancelled():  # whoever waits was cancelled, not the rest of the words
                raise
        return self


class Caller:
    """Somebody on the line. What they say begins at once, or behind what they are still saying.

    `microphone` is what the session listens to. `words_per_second` is their pace.
    """

    def __init__(self, *, words_per_second: float = 3.0) -> None:
        self.microphone = FakeMicrophone(sample_rate=RATE)
        self.utterances: list[Utterance] = []
        """All they said and did, oldest first."""
        self.vocabulary: list[str] = []
        """Every word they said, in order. `CallerSTT` looks them up by their loudness."""
        self._word_samples = round(RATE / words_per_second)

    def says(self, *parts: str | float) -> Utterance:
        """Say words, with pauses of so many seconds between them: `says("I need a table", 0.8, "for two")`."""
        pieces: list[tuple[str | None, bytes]] = []
        for part in parts:
            if isinstance(part, str):
                pieces += ((word, _sound(self._loudness(word), self._word_samples)) for word in part.split())
            else:
                pieces.append((None, bytes(2 * round(part * RATE))))
        if not any(word for word, _ in pieces):
            raise UsageError(f"Caller.says: expected words, and pauses between them, got {parts!r}")
        return self.utters(pieces)

    def coughs(self, duration: float = 0.3) -> Utterance:
        """Make a noise without words, for `duration` seconds."""
        return self.utters([(None, _sound(_NOISE, round(duration * RATE)))])

    def hangs_up(self) -> None:
        """End the call."""
        self.microphone.end()

    def _loudness(self, word: str) -> int:
        loudness = _FIRST + len(self.vocabulary)
        if loudness > _LAST:
            raise UsageError(f"Caller: expected at most {_LAST - _FIRST} words in a call, got more")
        self.vocabulary.append(word)
        return loudness

    def utters(self, pieces: Sequence[tuple[str | None, bytes]]) -> Utterance:
        """Give out sound, 16-bit mono at 16 kHz, each piece with the words in it; None: it is a pause or a noise."""
        microphone = self.microphone
        now = asyncio.get_running_loop().time()
        begun = microphone.position + microphone.queued
        lead = max(0, round((now - begun) * RATE))
        at = start = begun + lead / RATE
        words: list[SpokenWord] = []
        for word, data in pieces:
            end = at + len(data) / 2 / RATE
            if word is not None:
                words.append(SpokenWord(word, at, end))
            at = end
        sound = bytes(2 * lead) + b"".join(data for _, data in pieces)
        utterance = Utterance(words, start, at, microphone.play(AudioFrame(sound, RATE)))
        self.utterances.append(utterance)
        return utterance


@dataclass(slots=True)
class Fault:
    """A recogniser fails, once: its first stream that is given sound at or after `at`, in seconds of the loop's clock.

    "dies" raises; "stalls" says nothing more on that stream for `duration` seconds, and forgets what it heard then;
    "mishears" has finals without words until so long after `at`.
    """

    at: float
    kind: Literal["dies", "stalls", "mishears"] = "dies"
    duration: float = 3600.0


class CallerSTT(STT):
    """Understands what a `Caller` says.

    A word is in the interim transcript `lag` seconds of sound after its end; the final transcript comes `delay`
    seconds after the session's VAD marked the end of speech. `faults` happen each once. What a stream was not given,
    it cannot understand.
    """

    def __init__(
        self,
        caller: Caller,
        *,
        lag: float = 0.1,
        delay: float = 0.1,
        faults: Iterable[Fault] = (),
        interims: bool = True,
    ) -> None:
        self.caller = caller
        self.lag = lag
        self.delay = delay
        self.interims = interims
        self.faults = deque(sorted(faults, key=lambda fault: fault.at))
        """Those that are still to happen."""
        self.closed = False

    def stream(self) -> STTStream:
        return _Stream(self)

    async def aclose(self) -> None:
        self.closed = True


_LOOK = RATE // 100  # samples from one look at the loudness to the next


class Ear:
    """Reads the words of a `Caller` in their sound."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._heard = 0
        """The loudness at the last look."""
        self.position = 0
        """Samples heard."""

    def hear(self, frame: AudioFrame) -> list[tuple[int, str]]:
        """The words that end in this sound, and where, in samples of all that was heard."""
        if not self._heard and is_silent(frame.data):
            self.position += frame.samples_per_channel
            return []
        if frame.sample_rate != RATE:
            raise UsageError(f"Ear: expected the caller's own sound at {RATE} Hz, got {frame.sample_rate} Hz")
        samples = memoryview(frame.data).cast("h")
        words: list[tuple[int, str]] = []
        for at in range(0, len(samples), _LOOK):
            loudness = abs(samples[min(at + _LOOK // 2, len(samples) - 1)])
            if loudness != self._heard:
                words += self._ended(self.position + at)
                self._heard = loudness
        self.position += len(samples)
        return words

    def end(self) -> list[tuple[int, str]]:
        """Nothing follows: the word that sounds, if one does, has ended."""
        return self._ended(self.position)

    def forget(self) -> None:
        """The word that sounds is lost."""
        self._heard = 0

    def _ended(self, at: int) -> list[tuple[int, str]]:
        number = self._heard - _FIRST
        return [(at, self._caller.vocabulary[number])] if 0 <= number < len(self._caller.vocabulary) else []


class _Stream(STTStream):
    """One call's recognition by a `CallerSTT`."""

    def __init__(self, stt: CallerSTT) -> None:
        self._stt = stt
        self._loop = asyncio.get_running_loop()
        self._ear = Ear(stt.caller)
        self._heard: deque[tuple[int, str]] = deque()
        """Words whose end was heard, and where it was, in samples; not yet in a transcript."""
        self._understood: list[str] = []
        """Words since the last final transcript."""
        self._events: Outlet[SpeechEvent] = Outlet()
        self._pending: deque[tuple[float, SpeechEvent | None]] = deque()
        """Events and when they are due. They come in order."""
        self._timer: asyncio.TimerHandle | None = None
        self._stalled_until = 0.0
        self._mishears_until = 0.0
        self._input_ended = False
        self._closed = False

    # -- what it hears

    def push(self, frame: AudioFrame) -> None:
        if self._closed:
            return
        if self._stt.faults and self._loop.time() >= self._stt.faults[0].at:
            self._fail(self._stt.faults.popleft())
        self._hear(self._ear.hear(frame))
        if self._heard:
            self._understand(self._ear.position - round(self._stt.lag * RATE))

    def _hear(self, words: Iterable[tuple[int, str]]) -> None:
        if self._loop.time() >= self._stalled_until:
            self._heard += words

    def _understand(self, up_to: int) -> None:
        before = len(self._understood)
        while self._heard and self._heard[0][0] <= up_to:
            self._understood.append(self._heard.popleft()[1])
        if self._stt.interims and len(self._understood) > before:
            self._give(0.0, SpeechEvent.interim(" ".join(self._understood)))

    def _fail(self, fault: Fault) -> None:
        if fault.kind == "dies":
            self._events.give(ProviderError("CallerSTT: told to fail", provider="testing.CallerSTT"))
        elif fault.kind == "mishears":
            self._mishears_until = fault.at + fault.duration
        else:
            self._stalled_until = self._loop.time() + fault.duration
            self._ear.forget()
            self._heard.clear()
            self._understood.clear()

    # -- what it says

    def mark(self, event: VADEvent) -> None:
        if isinstance(event, SpeechEnded):
            self._finalize(self._stt.delay)

    def flush(self) -> None:
        self._finalize(0.0)

    def end_input(self) -> None:
        if not self._closed and not self._input_ended:
            self._input_ended = True
            self._hear(self._ear.end())
            self._finalize(self._stt.delay)
            self._give(self._stt.delay, None)

    def _finalize(self, delay: float) -> None:
        if self._closed:
            return
        self._understood += [word for _, word in self._heard]
        self._heard.clear()
        if self._understood:
            text, self._understood = " ".join(self._understood), []
            self._give(delay, SpeechEvent.final("" if self._loop.time() < self._mishears_until else text))

    def _give(self, delay: float, event: SpeechEvent | None) -> None:
        if self._loop.time() < self._stalled_until and event is not None:
            return
        if not self._pending and delay <= 0:
            self._events.give(event)
            return
        due = self._loop.time() + delay
        self._pending.append((max(due, self._pending[-1][0]) if self._pending else due, event))
        if self._timer is None:
            self._timer = self._loop.call_at(self._pending[0][0], self._give_pending)

    def _give_pending(self) -> None:
        self._timer = None
        while self._pending and self._pending[0][0] <= self._loop.time() + 1e-9:
            event = self._pending.popleft()[1]
            if event is None or self._loop.time() >= self._stalled_until:
                self._events.give(event)
        if self._pending:
            self._timer = self._loop.call_at(self._pending[0][0], self._give_pending)

    def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        return self._events.read(self.aclose)

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._pending.clear()
        self._events.cut()
