"""What lies under the voice: clips and streams of sound, each with its own beginning, fades and end.

Above: the mixer, which asks for the same stretch more than once: what it had queued and took back is asked for again.
So nothing here moves on by being read. Positions are samples on the mixer's time line, at its rate; sound is int16.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from antiphon.audio import AudioFrame, Resampler

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FADE = 0.08
"""Seconds in which a sound that is stopped falls silent: soft, and not noticed as a fade."""

_KEPT = 1.0
"""Seconds of a stream that are kept behind what was read: more than any loudspeaker has queued."""
_BUFFERED = 1.0
"""Seconds of a stream that are fetched ahead."""


class Source(ABC):
    """Where a sound comes from. Positions count from its first sample."""

    @abstractmethod
    def read(self, at: int, samples: int) -> NDArray[np.int16]:
        """The stretch that begins at `at`; shorter where the source ends."""

    @property
    @abstractmethod
    def length(self) -> int | None:
        """Samples in all. None: it has no end, or none that is known yet."""


class Clip(Source):
    """A sound that is there as a whole."""

    def __init__(self, pcm: NDArray[np.int16], *, loop: bool = False) -> None:
        self._pcm = pcm
        self._loop = loop and len(pcm) > 0

    def read(self, at: int, samples: int) -> NDArray[np.int16]:
        if self._loop:
            at %= len(self._pcm)
        piece = self._pcm[at : at + samples]
        if self._loop and len(piece) < samples:
            import numpy as np

            rounds = -(-samples // len(self._pcm))
            piece = np.concatenate([piece, *[self._pcm] * rounds])[:samples]
        return piece

    @property
    def length(self) -> int | None:
        return None if self._loop else len(self._pcm)


class Stream(Source):
    """A sound that is still being made. Where it comes too late there is silence, and it goes on behind that.

    Whoever feeds it waits for `room` first, which bounds it.
    """

    def __init__(self, sample_rate: int, *, volume: float = 1.0) -> None:
        self._rate = sample_rate
        self._volume = volume
        self._resampler = Resampler(sample_rate)
        self._pcm = bytearray()
        self._first = 0
        """Position of the first sample that is kept."""
        self._read = 0
        """How far it was read."""
        self._ended = False
        self._moved = asyncio.Event()

    def feed(self, frame: AudioFrame) -> None:
        """Append a frame of any format."""
        import numpy as np

        frame = self._resampler.push(frame)
        silence = self._read - self._end
        if silence > 0:
            self._pcm += bytes(2 * silence)
        samples = np.frombuffer(frame.data, "<i2").astype(np.float32) * self._volume
        self._pcm += samples.clip(-32768, 32767).astype("<i2").tobytes()

    async def room(self) -> None:
        """Wait until more is wanted."""
        while self._end - self._read > _BUFFERED * self._rate:
            self._moved.clear()
            await self._moved.wait()

    def end(self) -> None:
        """Nothing more will come."""
        self._ended = True

    def read(self, at: int, samples: int) -> NDArray[np.int16]:
        import numpy as np

        if at + samples > self._read:
            self._read = at + samples
            self._moved.set()
            stale = at - self._first - round(_KEPT * self._rate)
            if stale > 0:
                stale = min(stale, len(self._pcm) // 2)
                del self._pcm[: 2 * stale]
                self._first += stale
        start = 2 * (at - self._first)
        data = bytes(self._pcm[max(0, start) : max(0, start + 2 * samples)])
        return np.frombuffer(data, "<i2")

    @property
    def length(self) -> int | None:
        return self._end if self._ended else None

    @property
    def _end(self) -> int:
        return self._first + len(self._pcm) // 2


class Sound:
    """A source that is being played. Made by `MixedOutput.add`.

    `yields`: it stops where speech begins. Fades are in samples.
    """

    def __init__(self, source: Source, began: int, *, fade_in: int, fade_out: int, yields: bool) -> None:
        self.yields = yields
        self.began = began
        """Where on the time line its first sample is."""
        self._source = source
        self._fade_in = fade_in
        self._fade_out = max(1, fade_out)
        self._stopped: int | None = None
        self._over = asyncio.Event()

    @property
    def over(self) -> bool:
        """True once the last of it has been played."""
        return self._over.is_set()

    @property
    def end(self) -> int | None:
        """Where on the time line it is over, if that is known."""
        length = self._source.length
        ends = [self.began + length] if length is not None else []
        if self._stopped is not None:
            ends.append(self._stopped + self._fade_out)
        return min(ends, default=None)

    async def wait(self) -> None:
        """Wait until the last of it has been played."""
        await self._over.wait()

    def stop(self, at: int) -> None:
        """Fade out from there on. Only the first call counts."""
        if self._stopped is None:
            self._stopped = max(at, self.began)

    def finish(self) -> None:
        """It has been played, or never will be."""
        self._over.set()

    def plain(self, start: int, samples: int) -> NDArray[np.int16] | None:
        """The stretch as it is, where no fade touches it and it does not end; else None."""
        if start - self.began < self._fade_in or self._stopped is not None:
            return None
        piece = self._source.read(start - self.began, samples)
        return piece if len(piece) == samples else None

    def add_to(self, mix: NDArray[np.float32], start: int) -> None:
        """Add the stretch from `start` on to `mix`."""
        at = start - self.began
        skipped = max(0, -at)
        piece = self._source.read(at + skipped, max(0, len(mix) - skipped))
        if not len(piece):
            return
        faded = self._gains(at + skipped, len(piece))
        mix[skipped : skipped + len(piece)] += piece if faded is None else piece * faded

    def _gains(self, at: int, samples: int) -> NDArray[np.float32] | None:
        import numpy as np

        gains: NDArray[np.float32] | None = None
        if at < self._fade_in:
            gains = np.minimum(np.arange(at, at + samples, dtype=np.float32) / np.float32(self._fade_in), 1.0)
        if self._stopped is not None:
            since = at + self.began - self._stopped
            out = 1.0 - np.arange(since, since + samples, dtype=np.float32) / np.float32(self._fade_out)
            out = out.clip(0.0, 1.0)
            gains = out if gains is None else gains * out
        return gains
