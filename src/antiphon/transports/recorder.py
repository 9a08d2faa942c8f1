"""A recorded line: what caller and agent said, sample-accurate, on one time line.

`StereoRecorder` is plain data: the caller's channel is one unbroken stream, the agent's channel is made of pieces
placed where they sounded. `RecordingOutput` is a loudspeaker without a device: it plays by the event loop's clock and
records what sounded. Both know nothing of turns, sessions or files of agents.
"""

from __future__ import annotations

import asyncio
import bisect
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.transport import AudioOutput, check_frame
from antiphon.transports.mixer import MixedFrame

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AUDIBLE = 10 ** (-45 / 20)
"""Samples louder than this (-45 dBFS) count as sound."""


@dataclass(slots=True, frozen=True)
class Span:
    """A stretch of time. Seconds since the call began."""

    start: float
    end: float


class StereoRecorder:
    """Both directions of one call: caller left, agent right.

    Times are seconds since `begin`, which the first half of the line to start calls. A call longer than `max_duration`
    seconds is recorded up to there.
    """

    def __init__(self, *, caller_rate: int = 16_000, agent_rate: int = 24_000, max_duration: float = 3600.0) -> None:
        self.caller_rate = caller_rate
        self.agent_rate = agent_rate
        self._max_duration = max_duration
        self._began: float | None = None
        self._caller = bytearray()
        self._agent: list[tuple[int, bytes]] = []
        self._speech: list[tuple[int, bytes]] = []
        """The same without background sound: what is looked at to tell when the agent spoke."""
        self._agent_end = 0

    def begin(self) -> None:
        """Time starts to run, unless it does already. Needs a running event loop."""
        if self._began is None:
            self._began = asyncio.get_running_loop().time()

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
        if len(self._caller) < 2 * self._max_duration * self.caller_rate:
            self._caller += frame.data

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
            self._agent.append((position, data))
            if speech is None or speech:
                self._speech.append((position, data if speech is None else speech))

    def last_caller_sound(self, span: Span) -> float:
        """When the caller was last audible within `span`; its end if never."""
        import numpy as np

        start, end = (round(t * self.caller_rate) for t in (span.start, span.end))
        samples = np.frombuffer(bytes(self._caller[2 * start : 2 * end]), "<i2").astype(np.int32)
        loud = np.flatnonzero(np.abs(samples) > AUDIBLE * 32768)
        return (start + int(loud[-1]) + 1) / self.caller_rate if loud.size else span.end

    def first_agent_sound(self, after: float) -> float | None:
        """When speech of the agent was first audible at or after that time, or None."""
        import numpy as np

        since = round(after * self.agent_rate)
        first = max(bisect.bisect_right(self._speech, since, key=lambda piece: piece[0]) - 1, 0)
        for position, data in self._speech[first:]:
            samples = np.frombuffer(data, "<i2")
            skipped = max(since - position, 0)
            loud = np.flatnonzero(np.abs(samples[skipped:].astype(np.int32)) > AUDIBLE * 32768)
            if loud.size:
                return float(position + skipped + int(loud[0])) / self.agent_rate
        return None

    def agent_spans(self, gap: float = 0.25) -> list[Span]:
        """When the agent's speech played. Pauses shorter than `gap` seconds do not divide a span."""
        spans: list[Span] = []
        for position, data in self._speech:
            start, end = position / self.agent_rate, (position + len(data) // 2) / self.agent_rate
            if spans and start - spans[-1].end < gap:
                spans[-1] = Span(spans[-1].start, end)
            else:
                spans.append(Span(start, end))
        return spans

    @property
    def duration(self) -> float:
        """Seconds recorded: to the end of the longer channel."""
        return max(len(self._caller) / 2 / self.caller_rate, self._agent_end / self.agent_rate)

    def channels(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Caller and agent as float32 of equal length at `agent_rate`, sample i of both at i / agent_rate seconds."""
        import numpy as np
        import soxr

        caller = np.frombuffer(bytes(self._caller), "<i2").astype(np.float32) / 32768.0
        if self.caller_rate != self.agent_rate and caller.size:
            # The whole channel at once: the filter's delay is compensated, which it is not in a stream.
            caller = soxr.resample(caller, self.caller_rate, self.agent_rate, quality="HQ")
        length = max(caller.size, self._agent_end)
        left = np.zeros(length, np.float32)
        left[: caller.size] = caller
        right = np.zeros(length, np.float32)
        for position, data in self._agent:
            samples = np.frombuffer(data, "<i2").astype(np.float32) / 32768.0
            right[position : position + samples.size] = samples
        return left, right

    def save(self, path: Path) -> None:
        """Write a 16-bit stereo WAV file at `agent_rate`. Raises `OSError` if it cannot be written."""
        import numpy as np
        import soundfile

        path.parent.mkdir(parents=True, exist_ok=True)
        stereo = np.stack(self.channels(), axis=1)
        with path.open("wb") as file:
            soundfile.write(file, stereo, self.agent_rate, subtype="PCM_16", format="WAV")


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
