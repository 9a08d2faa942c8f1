"""Silero's voice activity detector, run directly on onnxruntime.

The network judges windows of 32 ms at 16 kHz. Hysteresis turns its probabilities into transitions: speech begins
when enough voiced windows came together, and ends after a long enough silence. A window costs a fraction
of a millisecond, so it runs inside `push`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antiphon.audio import AudioFrame, Resampler
from antiphon.errors import UsageError
from antiphon.providers.local.onnx_session import onnx_session
from antiphon.providers.local.weights import SILERO
from antiphon.providers.local.worker import Worker
from antiphon.vad import VAD, SpeechEnded, SpeechStarted, VADEvent, VADStream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RATE = 16000
_WINDOW = 512
_CONTEXT = 64
"""Samples of the window before that the network wants in front of each window; without them it fails quietly."""
_SECONDS = _WINDOW / _RATE

_loader = Worker("vad")


@dataclass(slots=True, frozen=True)
class VADOptions:
    """When a voice counts as begun or ended."""

    threshold: float = 0.5
    """Probability from which a window counts as voiced."""
    release: float = 0.35
    """Once somebody speaks, a window counts as silent only below this probability."""
    min_speech: float = 0.1
    """Seconds of voice before speech has begun."""
    min_silence: float = 0.25
    """Seconds of silence before speech has ended."""

    def __post_init__(self) -> None:
        if not 0 < self.release <= self.threshold < 1:
            raise UsageError(
                f"VADOptions: expected 0 < release <= threshold < 1, got release={self.release} and"
                f" threshold={self.threshold}"
            )


class SileroVAD(VAD):
    """Voice activity detection in the process, at any input rate.

    Raises `MissingModelFile` from `prewarm` or the first `stream` when the weights are not installed.
    """

    def __init__(self, options: VADOptions | None = None) -> None:
        self._options = options or VADOptions()

    def stream(self) -> SileroStream:
        return SileroStream(_network(), self._options)

    async def prewarm(self) -> None:
        def load(_: object) -> None:
            stream = SileroStream(_network(), self._options)
            stream.push(AudioFrame.silence(_SECONDS, _RATE))

        await _loader.run(load)


class SileroStream(VADStream):
    """Silero on one stream of audio."""

    def __init__(self, network: Any, options: VADOptions) -> None:
        import numpy as np

        self._network = network
        self._options = options
        self._resampler = Resampler(_RATE, quality="LQ")
        self._memory: NDArray[np.float32] = np.zeros((2, 1, 128), np.float32)
        self._input: NDArray[np.float32] = np.zeros((1, _CONTEXT + _WINDOW), np.float32)
        self._rate = np.array(_RATE)
        self._pending = b""
        self._hysteresis = Hysteresis(options)

    @property
    def quiet(self) -> float:
        """Seconds since the last voiced window."""
        return self._hysteresis.quiet

    def push(self, frame: AudioFrame) -> Sequence[VADEvent]:
        data = self._pending + self._resampler.push(frame).data
        size = 2 * _WINDOW
        whole = len(data) - len(data) % size
        self._pending = data[whole:]
        events: list[VADEvent] = []
        for start in range(0, whole, size):
            event = self._hysteresis.push(self._probability(data[start : start + size]))
            if event:
                events.append(event)
        return events

    def end(self) -> Sequence[VADEvent]:
        event = self._hysteresis.end()
        return (event,) if event else ()

    def _probability(self, window: bytes) -> float:
        import numpy as np

        self._input[0, :_CONTEXT] = self._input[0, -_CONTEXT:]
        self._input[0, _CONTEXT:] = np.frombuffer(window, "<i2")
        self._input[0, _CONTEXT:] *= 1 / 32768
        probability, self._memory = self._network.run(
            None, {"input": self._input, "state": self._memory, "sr": self._rate}
        )
        return float(probability[0, 0])


class Hysteresis:
    """Turns the probabilities of consecutive windows into transitions.

    Silent -> speaking: voiced windows that add up to `min_speech`, not broken by `min_silence`. Speaking ->
    silent: windows below `release` for `min_silence`. The times given are those of the voice, not of the decision.
    """

    def __init__(self, options: VADOptions) -> None:
        self._options = options
        self._now = 0.0
        self._speaking = False
        self._onset = 0.0
        self._voiced = 0.0
        """Seconds of voice since the onset, while it is not yet speech."""
        self._last_voiced = 0.0

    @property
    def quiet(self) -> float:
        """Seconds since the last voiced window."""
        return self._now - self._last_voiced

    def push(self, probability: float) -> VADEvent | None:
        """The transition that the next window brings, if any."""
        self._now += _SECONDS
        if probability >= (self._options.release if self._speaking else self._options.threshold):
            return self._hear()
        if self._now - self._last_voiced < self._options.min_silence - 1e-6:
            return None
        self._voiced = 0.0
        return self.end()

    def end(self) -> SpeechEnded | None:
        """The transition that is due if nothing more comes."""
        if not self._speaking:
            return None
        self._speaking = False
        self._voiced = 0.0
        return SpeechEnded(self._last_voiced)

    def _hear(self) -> SpeechStarted | None:
        self._last_voiced = self._now
        if self._speaking:
            return None
        if not self._voiced:
            self._onset = self._now - _SECONDS
        self._voiced += _SECONDS
        if self._voiced < self._options.min_speech - _SECONDS / 2:
            return None
        self._speaking = True
        return SpeechStarted(self._onset)


@functools.cache
def _network() -> Any:
    """The network, loaded once per process. It keeps no state, so that all streams share it."""
    return onnx_session(SILERO.locate())
