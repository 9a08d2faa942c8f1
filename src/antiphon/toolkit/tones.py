"""Beeps in a caller's sound: the tone behind the greeting of a voicemail.

A beep is one pure tone that keeps its pitch, from 400 to 2,000 Hz, for about 0.15 to 1.5 s, without one of another
pitch close before it or behind it. So keys of telephones (two tones at once), quick tunes and the three tones before a
network's notice are none, and neither are voices, whose sound is never pure for so long.

Above: `answer_watch`, or whoever hears a line. Below: numpy, loaded with the first sound.
"""

from __future__ import annotations

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.record import record

LOWEST, HIGHEST = 390.0, 2_050.0
"""Hz."""
SHORTEST, LONGEST = 0.12, 1.7
"""Seconds."""
HOP = 0.02
"""Seconds between two looks, each at twice as much sound."""
PURE = 0.82
"""The least share of the power that stands at one pitch."""
QUIETEST = 0.004
"""The least loudness (root of the mean square; 1 is the loudest): some 48 dB below it."""
STEADY = 0.02
"""By how much of itself the pitch may change between two looks."""
SETTLED = 0.14
"""Seconds behind a tone in which no other one may begin."""
BRIDGED = 2
"""Looks in a row at something else inside a tone: a packet that was lost."""


@record
class Tone:
    """A beep."""

    frequency: float
    """Hz."""
    duration: float
    """Seconds."""
    ended: float
    """Seconds of sound before its end."""


@record
class _Run:
    """One pitch, held for a while."""

    frequency: float
    began: float
    ended: float

    @property
    def duration(self) -> float:
        return self.ended - self.began

    def is_like(self, other: _Run) -> bool:
        return abs(self.frequency - other.frequency) < 2 * STEADY * self.frequency


class ToneDetector:
    """Finds beeps in one line's sound: feed it frames in order. Any one rate from 4,100 Hz on (`HIGHEST`, twice)."""

    def __init__(self) -> None:
        self._rate = 0
        self._buffer = b""
        self._looks = 0
        self._run: _Run | None = None
        """At hand."""
        self._missing = 0
        """Looks in a row at something else inside it."""
        self._group: list[_Run] = []
        """Runs that are long enough, each soon behind the one before."""

    @property
    def is_sounding(self) -> bool:
        """A tone is heard now, or was a moment ago, which may become a beep."""
        return bool(self._group) or (self._run is not None and self._run.duration >= SHORTEST)

    def push(self, frame: AudioFrame) -> list[Tone]:
        """The next sound. Returns the beeps that have ended by now, some 0.15 s after their end."""
        if self._rate == 0:
            if frame.sample_rate < 2 * HIGHEST:
                raise UsageError(
                    f"ToneDetector: expected {2 * HIGHEST:.0f} Hz or more, got {frame.sample_rate}. Resample it."
                )
            self._rate = frame.sample_rate
        elif self._rate != frame.sample_rate:
            raise UsageError(
                f"ToneDetector: expected sound of {self._rate} Hz as before, got {frame.sample_rate}. Take a new one."
            )
        self._buffer += frame.data if frame.num_channels == 1 else _mono(frame)
        size = 2 * round(HOP * self._rate)
        found: list[Tone] = []
        while len(self._buffer) >= 2 * size:
            window, self._buffer = self._buffer[: 2 * size], self._buffer[size:]
            pitch = _pitch(window, self._rate) if any(window) else 0.0
            now = (self._looks + 2) * HOP
            self._looks += 1
            self._look(pitch, now)
            found += self._grouped(now)
        return found

    def _look(self, pitch: float, now: float) -> None:
        """The pitch of the last two hops."""
        run = self._run
        if run is not None and pitch and abs(pitch - run.frequency) <= STEADY * run.frequency:
            self._run = _Run(run.frequency + (pitch - run.frequency) / 4, run.began, now)
            self._missing = 0
            return
        if run is not None:
            self._missing += 1
            if self._missing <= BRIDGED and run.duration >= SHORTEST and not pitch:
                return
            if run.duration >= SHORTEST:
                self._group.append(run)
        self._run, self._missing = (_Run(pitch, now - 1.5 * HOP, now) if pitch else None), 0

    def _grouped(self, now: float) -> list[Tone]:
        """The beep that the runs of this moment are, once nothing more can join them."""
        if not self._group or now - self._group[-1].ended < SETTLED:
            return []
        if self._run is not None and self._run.began - self._group[-1].ended < SETTLED:
            return []
        group, self._group = self._group, []
        first, last = group[0], group[-1]
        duration = last.ended - first.began
        if not all(one.is_like(first) for one in group) or not SHORTEST <= duration <= LONGEST:
            return []
        return [Tone(round(last.frequency, 1), round(duration, 3), round(last.ended, 3))]


def _pitch(window: bytes, rate: int) -> float:
    """The frequency of the one tone that is in it, in Hz; 0: it is something else."""
    import numpy as np

    samples = np.frombuffer(window, "<i2").astype(np.float32) / 32_768.0
    if float(np.sqrt(np.mean(samples * samples))) < QUIETEST:
        return 0.0
    size = 1 << (len(samples) - 1).bit_length()
    power = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), size)) ** 2
    top = int(np.argmax(power))
    if not 1 < top < len(power) - 2:
        return 0.0
    near = 2 * size // len(samples) + 1
    share = float(power[max(0, top - near) : top + near + 1].sum() / power.sum())
    left, middle, right = (float(np.log(power[top + at] + 1e-12)) for at in (-1, 0, 1))
    bent = left - 2 * middle + right
    frequency = (top + (0.5 * (left - right) / bent if bent else 0.0)) * rate / size
    return frequency if share >= PURE and LOWEST <= frequency <= HIGHEST else 0.0


def _mono(frame: AudioFrame) -> bytes:
    return AudioFrame.from_float32(frame.to_float32(), frame.sample_rate).data
