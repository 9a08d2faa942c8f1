"""A room with a loudspeaker and a microphone in it: what the one plays comes back in the other.

`Acoustics` is the air: delay, loss and a mild reverberation. `RoomDevice` is a sound device that stands in that air, in
the place of miniaudio's, and keeps the pace of the loop's clock; the caller is whatever is given to `say`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from antiphon.audio import AudioFrame
from antiphon.transports.devices import DeviceSettings
from antiphon.transports.wav import read_recording

RECORDINGS = Path(__file__).parents[2] / "examples" / "recordings"
Samples = NDArray[np.float32]


def spoken(*names: str, rate: int, gap: float = 0.15, peak: float = 0.5) -> Samples:
    """Recordings one after the other."""
    pieces: list[Samples] = []
    for name in names:
        samples = read_recording(RECORDINGS / f"{name}.wav", rate).to_float32()
        pieces += [samples, np.zeros(round(gap * rate), np.float32)]
    whole = np.concatenate(pieces)
    return np.asarray(whole / np.abs(whole).max() * peak, np.float32)


def frame_of(samples: Samples, rate: int) -> AudioFrame:
    return AudioFrame.from_float32(samples, rate)


def decibels(samples: Samples) -> float:
    return float(10 * np.log10(np.mean(np.square(samples, dtype=np.float64)) + 1e-12))


class Acoustics:
    """From the loudspeaker to the microphone: `delay` seconds later, `loss` decibels down, with a room around it."""

    def __init__(self, rate: int, *, delay: float = 0.08, loss: float = 12.0, reverberation: float = 0.12) -> None:
        rng = np.random.default_rng(7)
        length = round(reverberation * rate)
        room = 0.25 * rng.standard_normal(length) * np.exp(-np.arange(length) / (0.025 * rate))
        room[0] = 1.0
        room *= 10 ** (-loss / 20) / np.sqrt(np.square(room).sum())
        self._delay = round(delay * rate)
        self._past = np.zeros(self._delay + length - 1)
        self._size = 1 << (3 * length).bit_length()
        """Of the transform: more than what is convolved."""
        self._response = np.fft.rfft(room, self._size)

    def pass_on(self, played: Samples) -> Samples:
        """What arrives in the microphone while this is played; call with block after block."""
        line = np.concatenate([self._past, played])
        self._past = line[-len(self._past) :]
        line = line[: len(line) - self._delay]
        assert len(line) <= self._size
        heard = np.fft.irfft(np.fft.rfft(line, self._size) * self._response, self._size)
        return heard[len(line) - len(played) : len(line)].astype(np.float32)


class RoomDevice:
    """A duplex sound device in a room. Started from a thread, as devices are; runs on the loop it was made in."""

    def __init__(self, settings: DeviceSettings, acoustics: Acoustics | None, *, noise: float = 1e-4) -> None:
        self.settings = settings
        self.given: list[tuple[float, bytes]] = []
        """What it was given to play, and when it had played it."""
        self.closed = False
        self._loop = asyncio.get_running_loop()
        self._acoustics = acoustics
        self._samples = round(settings.period * settings.sample_rate)
        self._buffer = [bytes(2 * self._samples)] * settings.periods
        self._caller = np.zeros(0, np.float32)
        self._noise = noise
        self._rng = np.random.default_rng(11)
        self._blocks: Any = None
        self._timer: asyncio.TimerHandle | None = None

    def say(self, samples: Samples) -> None:
        """The caller says this, from now on."""
        self._caller = np.concatenate([self._caller, samples])

    def start(self, blocks: Any, /) -> None:
        self._blocks = blocks
        self._loop.call_soon_threadsafe(self._begin)

    def stop(self) -> None:
        self._blocks = None

    def close(self) -> None:
        self.closed = True
        self.stop()
        self._loop.call_soon_threadsafe(self._end)

    def _begin(self) -> None:
        self._due = self._loop.time() + self.settings.period
        self._timer = self._loop.call_at(self._due, self._tick)

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        if self._blocks is None:
            return
        self._due += self.settings.period
        self._timer = self._loop.call_at(self._due, self._tick)
        playing = self._buffer.pop(0)
        recorded = self._record(playing)
        try:
            given = self._blocks.send(bytearray(recorded.data))
        except StopIteration:
            self._blocks, given = None, b""
        assert len(given) in (0, 2 * self._samples)  # the library copies without a check
        self._buffer.append(given.ljust(2 * self._samples, b"\0"))
        self.given.append((self._loop.time() + self.settings.period * self.settings.periods, given))

    def _record(self, playing: bytes) -> AudioFrame:
        sound = self._noise * self._rng.standard_normal(self._samples).astype(np.float32)
        caller, self._caller = self._caller[: self._samples], self._caller[self._samples :]
        sound[: len(caller)] += caller
        if self._acoustics is not None:
            sound += self._acoustics.pass_on(AudioFrame(playing, self.settings.sample_rate).to_float32())
        return frame_of(sound, self.settings.sample_rate)


def blocks_of(samples: Samples, size: int) -> Iterator[Samples]:
    """Whole blocks; what is left over is left out."""
    for start in range(0, len(samples) - size + 1, size):
        yield samples[start : start + size]
