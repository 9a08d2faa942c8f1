"""A sound in which each instant has its own pitch, and the ear that knows it.

Above: `transport_contract`, which plays it through transports. A long sweep from low to high: the ear can tell from a
few milliseconds of sound which piece of it it hears, through a lossy codec too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from antiphon.audio import AudioFrame
from antiphon.testing.checks import require

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SWEEP = 6.0
"""Seconds in the sweep."""
_LOWEST, _HIGHEST = 300.0, 3000.0
"""Hz at its beginning and end: what a telephone lets through."""
_LOUDNESS = 8000
_AUDIBLE = 400
"""Samples beyond this are sound; a lossy codec leaves less than that of silence."""
BLOCK = 0.005
"""Seconds: silence shorter than this is not told from sound."""
WINDOW = 0.04
"""Seconds of sound from which a pitch is measured."""


@dataclass(slots=True, frozen=True)
class Heard:
    """A piece of what the far ear heard."""

    at: float
    """When its first sample sounded, in seconds of the running loop's clock."""
    frame: AudioFrame


@lru_cache(maxsize=8)
def sweep(sample_rate: int) -> NDArray[np.int16]:
    """The sweep as samples, none of them zero: so silence is told from it sample by sample."""
    import numpy as np

    times = np.arange(round(_SWEEP * sample_rate)) / sample_rate
    phase = 2 * np.pi * (_LOWEST * times + (_HIGHEST - _LOWEST) / (2 * _SWEEP) * times**2)
    wave = np.round(_LOUDNESS * np.sin(phase)).astype(np.int16)
    wave[wave == 0] = 1
    return wave


def piece(sample_rate: int, start: int, end: int) -> AudioFrame:
    """A piece of the sweep, from one sample to another."""
    return AudioFrame(sweep(sample_rate)[start:end].astype("<i2").tobytes(), sample_rate)


def _pitches(windows: NDArray[np.float64], sample_rate: int) -> NDArray[np.float64]:
    """The pitch of each window, in Hz: the peak of its spectrum, and where between its lines that lies."""
    import numpy as np

    size = windows.shape[1]
    length = 4 * round(WINDOW * sample_rate)
    spectrum = np.abs(np.fft.rfft(windows * np.hanning(size), length))
    peak = np.clip(spectrum.argmax(axis=1), 1, spectrum.shape[1] - 2)
    rows = np.arange(len(peak))
    below, top, above = (np.log(spectrum[rows, peak + step] + 1e-9) for step in (-1, 0, 1))
    pitches: NDArray[np.float64] = (peak + 0.5 * (below - above) / (below - 2 * top + above)) * sample_rate / length
    return pitches


@dataclass(slots=True, frozen=True)
class Point:
    """At the time `at`, the instant `position` of the sweep was heard. Seconds."""

    at: float
    position: float


class Ear:
    """What was heard, as one piece of sound with the times at which it sounded."""

    def __init__(self, pieces: Sequence[Heard]) -> None:
        import numpy as np

        pieces = [piece for piece in pieces if piece.frame.data]
        rates = {piece.frame.sample_rate for piece in pieces}
        require(len(rates) <= 1, f"heard() must keep one rate, got {sorted(rates)} Hz")
        self.rate = rates.pop() if rates else 24_000
        samples: list[NDArray[np.int16]] = [np.zeros(0, np.int16)]
        times: list[NDArray[np.float64]] = [np.zeros(0)]
        end = None
        for piece in pieces:
            if end is not None and piece.at - end > 1.5 * WINDOW:
                # A silence that was left out: what lies on both sides of it does not belong together.
                length = round(WINDOW * self.rate)
                samples.append(np.zeros(length, np.int16))
                times.append(end + np.arange(length) / self.rate)
            mono = np.frombuffer(piece.frame.data, "<i2").reshape(-1, piece.frame.num_channels)
            samples.append(mono[:, 0].astype(np.int16))
            times.append(piece.at + np.arange(len(mono)) / self.rate)
            end = piece.at + len(mono) / self.rate
        self.samples = np.concatenate(samples)
        self.times = np.concatenate(times)
        size = max(1, round(BLOCK * self.rate))
        blocks = len(self.samples) // size
        loud = np.abs(self.samples[: blocks * size].astype(np.int32)).reshape(blocks, size).max(axis=1) > _AUDIBLE
        self._loud_at = self.times[: blocks * size : size][loud]
        self._block = size / self.rate

    def sounded(self, until: float) -> float:
        """Seconds of sound up to that time."""
        import numpy as np

        return float(np.clip((until - self._loud_at) / self._block, 0.0, 1.0).sum() * self._block)

    def sounding(self, start: float, end: float) -> float:
        """Seconds of sound between two times."""
        return self.sounded(end) - self.sounded(start)

    @property
    def span(self) -> float:
        """Seconds from the first to the last sound."""
        return float(self._loud_at[-1] - self._loud_at[0] + self._block) if len(self._loud_at) else 0.0

    def points(self) -> list[Point]:
        """Which instants of the sweep were heard when: one for each 10 ms of clear sound."""
        import numpy as np

        size, hop = round(WINDOW * self.rate), round(self.rate / 100)
        if len(self.samples) < size:
            return []
        windows = np.lib.stride_tricks.sliding_window_view(self.samples, size)[::hop].astype(np.float64)
        quarters = windows[:, : size // 4 * 4].reshape(len(windows), 4, -1)
        clear = np.sqrt((quarters**2).mean(axis=2)).min(axis=1) > 0.3 * _LOUDNESS
        pitch = _pitches(windows[clear], self.rate)
        # A window with a seam in it has no pitch of its own: its halves tell.
        first, second = (_pitches(half, self.rate) for half in np.split(windows[clear][:, : size // 2 * 2], 2, axis=1))
        rise = (_HIGHEST - _LOWEST) / _SWEEP * WINDOW / 2
        whole = np.abs(second - first - rise) < 2 * rise
        positions = (pitch - _LOWEST) / (_HIGHEST - _LOWEST) * _SWEEP
        centres = self.times[size // 2 :: hop][: len(windows)][clear]
        pairs = zip(centres[whole], positions[whole], strict=True)
        return [Point(float(at), float(position)) for at, position in pairs]

    def sound(self) -> NDArray[np.int16]:
        """The samples that are not silence."""
        sound: NDArray[np.int16] = self.samples[self.samples != 0]
        return sound
