"""Audio as it travels between microphone, models and loudspeaker.

Everywhere in Antiphon audio is 16-bit little-endian linear PCM. A frame is a slice of it with its
format beside it. Rates differ (a caller may send 8 kHz, a voice speak 24 kHz); whoever needs another
rate resamples with `Resampler`. numpy is imported on first use, so that importing `antiphon` stays cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from antiphon.errors import UsageError, missing_package

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(slots=True, frozen=True)
class AudioFrame:
    """A piece of sound.

    Raises `UsageError` when the bytes do not hold whole samples, or the format makes no sense.
    """

    data: bytes
    """Interleaved int16 little-endian samples."""
    sample_rate: int
    """Samples per second and channel, in Hz."""
    num_channels: int = 1

    def __post_init__(self) -> None:
        if self.sample_rate <= 0 or self.num_channels <= 0:
            raise UsageError(
                f"AudioFrame: expected a positive sample rate and channel count, got {self.sample_rate} Hz"
                f" and {self.num_channels} channels"
            )
        if len(self.data) % (2 * self.num_channels):
            raise UsageError(
                f"AudioFrame: expected whole 16-bit samples of {self.num_channels} channels, got {len(self.data)} bytes"
            )

    @property
    def samples_per_channel(self) -> int:
        """Number of samples in each channel."""
        return len(self.data) // (2 * self.num_channels)

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.samples_per_channel / self.sample_rate

    def to_float32(self) -> NDArray[np.float32]:
        """The samples as float32 in [-1, 1], shape (samples,), channels averaged."""
        try:
            import numpy as np
        except ModuleNotFoundError:
            raise missing_package("sound as numbers", "numpy", "audio") from None
        samples = np.frombuffer(self.data, dtype="<i2").astype(np.float32) / 32768.0
        if self.num_channels > 1:
            samples = samples.reshape(-1, self.num_channels).mean(axis=1)
        return samples

    @classmethod
    def from_float32(cls, samples: NDArray[np.float32], sample_rate: int) -> AudioFrame:
        """A mono frame from float samples in [-1, 1], shape (samples,). Louder samples are clipped."""
        try:
            import numpy as np
        except ModuleNotFoundError:
            raise missing_package("sound as numbers", "numpy", "audio") from None
        clipped = np.clip(samples, -1.0, 1.0)
        return cls(data=(clipped * 32767.0).astype("<i2").tobytes(), sample_rate=sample_rate)

    @classmethod
    def silence(cls, duration: float, sample_rate: int) -> AudioFrame:
        """`duration` seconds of digital silence, mono."""
        return cls(data=bytes(2 * round(duration * sample_rate)), sample_rate=sample_rate)


class Resampler:
    """Changes the sample rate of a mono stream, keeping its state between frames (soxr).

    Feed frames in order with `push`; `flush` returns what the filter still holds and starts afresh.
    A rate that is already right passes through untouched. `quality`: "HQ" holds back some 20 ms, "LQ" 6 ms, which is
    what a caller's voice needs on its way to a detector or a recogniser.
    """

    def __init__(self, sample_rate: int, *, quality: Literal["LQ", "HQ"] = "HQ") -> None:
        self.sample_rate = sample_rate
        self._quality = quality
        self._source = 0
        self._stream: Any = None

    def push(self, frame: AudioFrame) -> AudioFrame:
        """The frame at the target rate, mono. May be shorter than expected: the filter looks ahead."""
        if frame.sample_rate == self.sample_rate:
            if frame.num_channels == 1:
                return frame
            return AudioFrame.from_float32(frame.to_float32(), self.sample_rate)
        try:
            import soxr
        except ModuleNotFoundError:
            raise missing_package("sound at another rate", "soxr", "audio") from None
        if self._stream is None or self._source != frame.sample_rate:
            self._source = frame.sample_rate
            self._stream = soxr.ResampleStream(
                self._source, self.sample_rate, 1, dtype="float32", quality=self._quality
            )
        return AudioFrame.from_float32(self._stream.resample_chunk(frame.to_float32()), self.sample_rate)

    def flush(self) -> AudioFrame:
        """The tail of the stream, after which the resampler may be used for another one."""
        import numpy as np

        if self._stream is None:
            return AudioFrame(b"", self.sample_rate)
        tail = self._stream.resample_chunk(np.zeros(0, np.float32), last=True)
        self._stream = None
        return AudioFrame.from_float32(tail, self.sample_rate)
