"""Sound without a sound card: a microphone that speaks on cue and a loudspeaker that remembers.

Both keep the pace of the running loop's clock, sample by sample, and so cost nothing under `run_virtual`. `speech` is a
tone that `FakeVAD` takes for a voice; no model could.
"""

from __future__ import annotations

import asyncio
import math
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.transport import AudioInput, AudioOutput, check_frame

_EPSILON = 1e-6  # of a sample or a second: what floating point may be off


@lru_cache(maxsize=8)
def _tone(sample_rate: int) -> bytes:
    """One second of a 200 Hz tone on which no sample is zero, so that every stretch of it is sound."""
    wave = (round(8000 * math.sin(2 * math.pi * 200 * n / sample_rate)) or 1 for n in range(sample_rate))
    return array("h", wave).tobytes()


def speech(duration: float, sample_rate: int = 16_000) -> AudioFrame:
    """`duration` seconds of sound, mono."""
    length = 2 * round(duration * sample_rate)
    second = _tone(sample_rate)
    return AudioFrame((second * (length // len(second) + 1))[:length], sample_rate)


def silence(duration: float, sample_rate: int = 16_000) -> AudioFrame:
    """`duration` seconds of digital silence, mono."""
    return AudioFrame.silence(duration, sample_rate)


@lru_cache(maxsize=64)
def _nothing(length: int) -> bytes:
    return bytes(length)


def is_silent(data: bytes) -> bool:
    """True if no sample differs from zero."""
    return data == _nothing(len(data))


@dataclass(slots=True, frozen=True)
class Sound:
    """Something was audible, from `start` to `end` in seconds of the loop's clock."""

    start: float
    end: float

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.end - self.start


class Track:
    """What sounded when: the audio of one side of a call on the loop's clock."""

    def __init__(self, sample_rate: int) -> None:
        self.sample_rate = sample_rate
        self.sounds: list[Sound] = []
        """When it was not silent, oldest first; adjacent pieces are one."""
        self._pieces: list[tuple[float, bytes]] = []

    def add(self, start: float, data: bytes) -> None:
        """`data` sounded from `start` on. Silence at its ends is none of it."""
        if is_silent(data):
            return
        if not (data[0] or data[1]) or not (data[-1] or data[-2]):
            before = (len(data) - len(data.lstrip(b"\0"))) // 2 * 2
            after = (len(data) - len(data.rstrip(b"\0"))) // 2 * 2
            start, data = start + before / 2 / self.sample_rate, data[before : len(data) - after]
        self._pieces.append((start, data))
        end = start + len(data) / 2 / self.sample_rate
        if self.sounds and start - self.sounds[-1].end < 0.5 / self.sample_rate:
            self.sounds[-1] = Sound(self.sounds[-1].start, end)
        else:
            self.sounds.append(Sound(start, end))

    def sounding(self, start: float, end: float) -> float:
        """Seconds of sound between two times."""
        return sum(max(0.0, min(end, sound.end) - max(start, sound.start)) for sound in self.sounds)

    def render(self, begin: float, duration: float) -> AudioFrame:
        """`duration` seconds of the track from the time `begin` on, with silence where there was none."""
        rendered = bytearray(2 * round(duration * self.sample_rate))
        for start, data in self._pieces:
            at = 2 * round((start - begin) * self.sample_rate)
            if at < 0:
                data, at = data[-at:], 0
            data = data[: max(0, len(rendered) - at)]
            rendered[at : at + len(data)] = data
        return AudioFrame(bytes(rendered), self.sample_rate)


class FakeMicrophone(AudioInput):
    """A caller. It gives a frame of `frame` seconds as soon as that time has passed: voice, or silence in between.

    `script` is what it plays first, piece by piece, for example `[silence(1.0), speech(0.8)]`. Then it is silent until
    `speak`, `play` or `end`. It keeps no task: a test that ends without `aclose` leaves only a timer behind.
    """

    def __init__(self, script: Iterable[AudioFrame] = (), *, sample_rate: int = 16_000, frame: float = 0.02) -> None:
        self.sample_rate = sample_rate
        self.track = Track(sample_rate)
        """What the caller's side sounded like."""
        self.ended = False
        self._bytes = 2 * round(frame * sample_rate)
        self._frame = self._bytes / 2 / sample_rate
        self._silence = AudioFrame(bytes(self._bytes), sample_rate)
        self._after_frame: list[Callable[[], None]] = []
        self._queued = bytearray()
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        """Who waits until so many bytes were given out."""
        self._given = 0
        self._on_frame: Callable[[AudioFrame], None] | None = None
        self._on_end: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._began = 0.0
        self._frames = 0
        for piece in script:
            self._queue(piece)

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        if self._on_frame is not None:
            raise UsageError("FakeMicrophone.start: it has been started before; make a new one for each session")
        self._on_frame, self._on_end = on_frame, on_end
        self._began = asyncio.get_running_loop().time()
        self._schedule()

    def watch(self, after_frame: Callable[[], None]) -> None:
        """Call this after each frame, when the session has heard it."""
        self._after_frame.append(after_frame)

    @property
    def started(self) -> bool:
        """Whether somebody hears it."""
        return self._on_frame is not None

    @property
    def sounds(self) -> list[Sound]:
        """When the caller was audible, as far as frames were given out."""
        return self.track.sounds

    @property
    def position(self) -> float:
        """The loop's time up to which it has given out frames: what is queued now sounds from then on."""
        return self._began + self._frames * self._frame

    @property
    def queued(self) -> float:
        """Seconds of sound that are still to be given out."""
        return len(self._queued) / 2 / self.sample_rate

    def speak(self, duration: float) -> asyncio.Future[None]:
        """Speak for `duration` seconds from the next frame on, or behind what is still queued.

        The result may be awaited: it is done when the last frame of it was given out.
        """
        return self.play(speech(duration, self.sample_rate))

    def play(self, *pieces: AudioFrame) -> asyncio.Future[None]:
        """Give out these pieces from the next frame on, or behind what is still queued. May be awaited like `speak`."""
        for piece in pieces:
            self._queue(piece)
        done = asyncio.get_running_loop().create_future()
        if self.ended:
            done.cancel()
        elif self._queued:
            self._waiting.append((self._given + len(self._queued), done))
        else:
            done.set_result(None)
        return done

    async def finished(self) -> None:
        """Wait until everything queued was given out."""
        await self.play()

    def end(self) -> None:
        """Hang up: no more frames, `on_end` is called once."""
        if self.ended:
            return
        self._stop()
        if self._on_end is not None:
            self._on_end()

    async def aclose(self) -> None:
        self._stop()

    def _queue(self, piece: AudioFrame) -> None:
        if piece.sample_rate != self.sample_rate or piece.num_channels != 1:
            raise UsageError(
                f"FakeMicrophone: expected mono frames at {self.sample_rate} Hz, got {piece.num_channels} channels at"
                f" {piece.sample_rate} Hz; pass sample_rate= to the microphone or to speech()"
            )
        self._queued += piece.data

    def _schedule(self) -> None:
        # From the beginning, not from the last frame, so that errors do not add up.
        due = self._began + (self._frames + 1) * self._frame
        self._timer = asyncio.get_running_loop().call_at(due, self._tick)

    def _tick(self) -> None:
        frame = self._next_frame() if self._queued else self._silence
        self._frames += 1
        self._schedule()
        assert self._on_frame is not None  # set by start, which scheduled this
        self._on_frame(frame)
        for callback in self._after_frame:
            callback()
        while self._waiting and self._waiting[0][0] <= self._given:
            _, done = self._waiting.popleft()
            if not done.done():
                done.set_result(None)

    def _next_frame(self) -> AudioFrame:
        data = bytes(self._queued[: self._bytes])
        del self._queued[: self._bytes]
        self._given += len(data)
        self.track.add(self.position, data)
        return AudioFrame(data.ljust(self._bytes, b"\0"), self.sample_rate)

    def _stop(self) -> None:
        self.ended = True
        if self._timer is not None:
            self._timer.cancel()
        while self._waiting:
            self._waiting.popleft()[1].cancel()


class FakeSpeaker(AudioOutput):
    """A loudspeaker that plays at the pace of the loop's clock and remembers what sounded when.

    Position and timeline are exact to the sample. Where audio is written too late, there is a gap, as with real ones.
    """

    def __init__(self, *, sample_rate: int = 24_000, lead: float = 0.2) -> None:
        self.sample_rate = sample_rate
        self.lead = lead
        self.track = Track(sample_rate)
        """What the agent's side sounded like."""
        self.paused = False
        self.closed = False
        self.max_queued = 0.0
        """The most that was ever queued, in seconds."""
        self.log: list[tuple[float, str]] = []
        """(time, "pause" | "resume" | "clear"), oldest first."""
        self._queue: deque[bytes] = deque()
        self._queued = 0
        """Samples in the queue."""
        self._played = 0
        """Samples."""
        self._anchor: tuple[float, int] | None = None
        """Since when it has been playing without a gap, and the position then. None: it is silent."""

    @property
    def sounds(self) -> list[Sound]:
        """When the agent was audible, up to now."""
        self._advance()
        return self.track.sounds

    @property
    def played(self) -> float:
        self._advance()
        return self._played / self.sample_rate

    @property
    def queued(self) -> float:
        """Seconds of audio written and not yet played."""
        self._advance()
        return self._queued / self.sample_rate

    def write(self, frame: AudioFrame) -> None:
        check_frame(frame, self.sample_rate, "FakeSpeaker.write")
        if self.closed or not frame.data:
            return
        now = self._advance()
        self._queue.append(frame.data)
        self._queued += frame.samples_per_channel
        self.max_queued = max(self.max_queued, self._queued / self.sample_rate)
        if self._anchor is None and not self.paused:
            self._anchor = (now, self._played)

    def pause(self) -> None:
        if not self.paused:
            self.log.append((self._advance(), "pause"))
            self.paused = True
            self._anchor = None

    def resume(self) -> None:
        if self.paused:
            now = self._advance()
            self.log.append((now, "resume"))
            self._unpause(now)

    def clear(self) -> float:
        now = self._advance()
        self.log.append((now, "clear"))
        dropped, self._queued = self._queued, 0
        self._queue.clear()
        self._anchor = None
        self._unpause(now)
        return dropped / self.sample_rate

    async def aclose(self) -> None:
        self.clear()
        self.closed = True

    def _unpause(self, now: float) -> None:
        self.paused = False
        if self._queued:
            self._anchor = (now, self._played)

    def _advance(self) -> float:
        """Play what has sounded by now, and return the time."""
        now = asyncio.get_running_loop().time()
        if self._anchor is None:
            return now
        since, position = self._anchor
        due = position + math.floor((now - since) * self.sample_rate + _EPSILON) - self._played
        while due > 0 and self._queue:
            data = self._queue.popleft()
            part = data[: 2 * due]
            if len(part) < len(data):
                self._queue.appendleft(data[len(part) :])
            self.track.add(since + (self._played - position) / self.sample_rate, part)
            samples = len(part) // 2
            due -= samples
            self._played += samples
            self._queued -= samples
        if not self._queue:
            self._anchor = None
        return now


def stereo(microphone: FakeMicrophone, speaker: FakeSpeaker, *, duration: float, begin: float = 0.0) -> AudioFrame:
    """The call as heard by a third party, at the speaker's rate: the caller left, the agent right.

    `duration` seconds from the loop's time `begin` on.
    """
    import numpy as np

    from antiphon.audio import Resampler

    agent = np.frombuffer(speaker.track.render(begin, duration).data, dtype="<i2")
    resampler = Resampler(speaker.sample_rate)
    pushed, rest = resampler.push(microphone.track.render(begin, duration)), resampler.flush()
    caller = np.frombuffer((pushed.data + rest.data).ljust(len(agent) * 2, b"\0"), dtype="<i2")[: len(agent)]
    return AudioFrame(np.stack([caller, agent], axis=1).tobytes(), speaker.sample_rate, num_channels=2)
