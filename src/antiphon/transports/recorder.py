"""A recorded line: what caller and agent said, sample-accurate, on one time line.

`StereoRecorder` has two tracks: the caller's is one unbroken stream, the agent's is made of pieces placed where they
sounded. `RecordingOutput` is a loudspeaker without a device: it plays by the event loop's clock and
records what sounded. Both know nothing of turns, sessions or files of agents.
"""

from __future__ import annotations

import asyncio
import wave
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon import private
from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.events import EventEmitter
from antiphon.transport import AudioOutput, check_frame
from antiphon.transports.mixer import MixedFrame
from antiphon.transports.track import Track

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(slots=True, frozen=True)
class Span:
    """A stretch of time. Seconds since the call began."""

    start: float
    end: float


class StereoRecorder:
    """Both directions of one call: caller left, agent right. The sound lies on disk, whatever the length of the call.

    Times are seconds since `begin`, which the first half of the line to start calls. A call longer than `max_duration`
    seconds is recorded up to there.
    """

    def __init__(self, *, caller_rate: int = 16_000, agent_rate: int = 24_000, max_duration: float = 3600.0) -> None:
        self.caller_rate = caller_rate
        self.agent_rate = agent_rate
        self._max_duration = max_duration
        self._began: float | None = None
        self._caller = Track(caller_rate)
        self._agent = Track(agent_rate)
        self._agent_end = 0
        self._hushed = (False, False)

    def begin(self) -> None:
        """Time starts to run, unless it does already. Needs a running event loop."""
        if self._began is None:
            self._began = asyncio.get_running_loop().time()

    def hush(self, *, caller: bool, agent: bool) -> None:
        """From now on there is silence in place of these sides' sound, and from now on again their sound.

        `follow` has a session say so. What the agent said before and has not sounded yet is silent, too.
        """
        self._hushed = (caller, agent)

    def follow(self, session: EventEmitter) -> None:
        """Keep out of the recording what the session says must not be recorded."""
        session.on("recording_hushed", lambda event: self.hush(caller=event.caller, agent=event.agent))

    @property
    def began(self) -> bool:
        """True once the call has begun."""
        return self._began is not None

    def now(self) -> float:
        """Seconds since the call began; 0 before."""
        return 0.0 if self._began is None else asyncio.get_running_loop().time() - self._began

    def hear_caller(self, frame: AudioFrame) -> None:
        """Append the caller's next frame, mono at `caller_rate`. Raises `UsageError` for another format."""
        check_frame(frame, self.caller_rate, "StereoRecorder.hear_caller")
        if self._caller.end < self._max_duration * self.caller_rate:
            self._caller.write(self._caller.end, bytes(len(frame.data)) if self._hushed[0] else frame.data)

    def hear_agent(self, position: int, data: bytes, speech: bytes | None = None) -> None:
        """Place 16-bit mono samples of the agent, the first at sample `position`. Pieces come in order of time.

        `speech`: what of it was said, b"" if nothing was; None: all of it. Raises `UsageError` for a piece that
        overlaps the one before.
        """
        if position < self._agent_end:
            raise UsageError(
                f"StereoRecorder: expected agent audio at or after sample {self._agent_end}, got {position}"
            )
        self._agent_end = position + len(data) // 2
        if self._agent_end <= self._max_duration * self.agent_rate:
            self._agent.write(position, bytes(len(data)) if self._hushed[1] else data, speech)

    def last_caller_sound(self, span: Span) -> float:
        """When the caller was last audible within `span`; its end if never."""
        start, end = (round(t * self.caller_rate) for t in (span.start, span.end))
        last = self._caller.last_sound(start, end)
        return span.end if last is None else (last + 1) / self.caller_rate

    def first_agent_sound(self, after: float) -> float | None:
        """When speech of the agent was first audible at or after that time, or None."""
        first = self._agent.first_sound(round(after * self.agent_rate))
        return None if first is None else first / self.agent_rate

    def agent_spans(self, gap: float = 0.25) -> list[Span]:
        """When the agent's speech played. Pauses shorter than `gap` seconds do not divide a span."""
        spans: list[Span] = []
        for first, last in self._agent.speech:
            start, end = first / self.agent_rate, last / self.agent_rate
            if spans and start - spans[-1].end < gap:
                spans[-1] = Span(spans[-1].start, end)
            else:
                spans.append(Span(start, end))
        return spans

    @property
    def duration(self) -> float:
        """Seconds recorded: to the end of the longer channel."""
        return max(self._caller.end / self.caller_rate, self._agent_end / self.agent_rate)

    def peaks(self, buckets: int) -> tuple[list[int], list[int]]:
        """The loudest sample (0 to 32768) of caller and agent in each `buckets` times 20 ms."""
        return self._caller.peaks(buckets), self._agent.peaks(buckets)

    def channels(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Caller and agent as float32 of equal length at `agent_rate`, sample i of both at i / agent_rate seconds.

        All of it at once: 192 kB for each second. Waits for the disk.
        """
        import numpy as np

        left, right = zip(*self._blocks(), strict=True) if self.duration else ([], [])
        return np.concatenate([np.zeros(0, np.float32), *left]), np.concatenate([np.zeros(0, np.float32), *right])

    def save(self, path: Path) -> None:
        """Write a 16-bit stereo WAV file at `agent_rate`, block by block. Waits for the disk: call it in a thread.

        Raises `OSError` if it cannot be written.
        """
        import numpy as np

        # Not by a library of another language: on a full disk it prints our own error and raises another.
        with private.open_to_write(path) as file, wave.open(file, "wb") as wav:
            wav.setparams((2, 2, self.agent_rate, round(self.duration * self.agent_rate), "NONE", ""))
            for left, right in self._blocks():
                both = np.rint(np.stack((left, right), axis=1) * 32767)
                wav.writeframesraw(np.clip(both, -32768, 32767).astype("<i2").tobytes())

    def _blocks(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Both channels at `agent_rate`, in pieces of equal length."""
        import numpy as np

        length = round(self.duration * self.agent_rate)
        caller = _resampled(self._caller.blocks(self._caller.end), self.caller_rate, self.agent_rate)
        left = np.zeros(0, np.float32)
        for right in self._agent.blocks(length):
            while left.size < right.size and (more := next(caller, None)) is not None:
                left = np.concatenate((left, more))
            left = np.pad(left, (0, max(right.size - left.size, 0)))
            yield left[: right.size], right
            left = left[right.size :]


def _resampled(blocks: Iterator[NDArray[np.float32]], rate: int, to: int) -> Iterator[NDArray[np.float32]]:
    """The same sound at another rate, no sample shifted. soxr takes its filter's delay out, in a stream as well."""
    import numpy as np
    import soxr

    if rate == to:
        yield from blocks
        return
    stream = soxr.ResampleStream(rate, to, 1, dtype="float32", quality="HQ")
    for block in blocks:
        yield stream.resample_chunk(block)
    yield stream.resample_chunk(np.zeros(0, np.float32), last=True)


@dataclass(slots=True, frozen=True)
class Cut:
    """Audio that was thrown away unheard, because the caller interrupted. Seconds."""

    at: float
    """When, since the call began."""
    lost: float
    """How much of what was already written was not heard."""


class Written:
    """What was written to a loudspeaker and has not sounded: the sound, and beside it the speech in it."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[bytes, bytes]] = deque()
        self.speech = 0
        """Samples of speech in it."""

    def push(self, frame: AudioFrame) -> None:
        """A mono frame was written."""
        speech = frame.speech if isinstance(frame, MixedFrame) else frame.data
        self._pieces.append((frame.data, speech))
        self.speech += len(speech) // 2

    def take(self, samples: int) -> Iterator[tuple[bytes, bytes]]:
        """The next `samples` samples, as far as there are any, as pairs of sound and speech; no speech is b""."""
        while samples > 0 and self._pieces:
            data, speech = self._pieces.popleft()
            if len(data) // 2 > samples:
                self._pieces.appendleft((data[2 * samples :], speech[2 * samples :]))
                data, speech = data[: 2 * samples], speech[: 2 * samples]
            samples -= len(data) // 2
            self.speech -= len(speech) // 2
            if data:
                yield data, speech

    def clear(self) -> None:
        """It will not sound."""
        self._pieces.clear()
        self.speech = 0

    @property
    def samples(self) -> int:
        """Samples in it."""
        return sum(len(data) for data, _ in self._pieces) // 2


class RecordingOutput(AudioOutput):
    """A loudspeaker without a device: plays by the event loop's clock, sample by sample, and records what sounded.

    It holds no timer: whatever is asked or told first lets time catch up. Its queue is bounded by the writer, who
    keeps at most `lead` seconds ahead.
    """

    def __init__(self, recorder: StereoRecorder) -> None:
        self.sample_rate = recorder.agent_rate
        self.cuts: list[Cut] = []
        """What was thrown away, oldest first."""
        self._recorder = recorder
        self._written = Written()
        self._played = 0  # samples
        self._position = 0  # the time line's sample up to which playing has been accounted for
        self._paused = False
        self._closed = False

    def start(self) -> None:
        self._recorder.begin()

    def write(self, frame: AudioFrame) -> None:
        check_frame(frame, self.sample_rate, "RecordingOutput")
        self._catch_up()
        if self._closed:
            return
        self._written.push(frame)

    @property
    def played(self) -> float:
        self._catch_up()
        return self._played / self.sample_rate

    @property
    def sounding(self) -> bool:
        """True while there is written speech that has not been played; a pause does not end it."""
        self._catch_up()
        return self._written.speech > 0

    def pause(self) -> None:
        self._catch_up()
        self._paused = True

    def resume(self) -> None:
        self._catch_up()
        self._paused = False

    def clear(self) -> float:
        self._catch_up()
        dropped, lost = self._written.samples, self._written.speech
        self._written.clear()
        self._paused = False
        if lost:
            self.cuts.append(Cut(self._recorder.now(), lost / self.sample_rate))
        return dropped / self.sample_rate

    async def aclose(self) -> None:
        self._catch_up()
        self._written.clear()
        self._closed = True

    def _catch_up(self) -> None:
        """Play what has become due since the last look."""
        now = int(self._recorder.now() * self.sample_rate)
        if not self._paused:
            for data, speech in self._written.take(now - self._position):
                self._recorder.hear_agent(self._position, data, speech)
                self._position += len(data) // 2
                self._played += len(data) // 2
        # With nothing to play, or in a pause, time passes in silence. It never goes back.
        self._position = max(now, self._position)
