"""Clean microphones: the agent's own voice, noise and rumble taken out of what the caller's side records.

Above: a session, which is asked for it by a room option (`RoomOptions`, `RoomInputOptions`), and the console. Below: a
pair of `AudioInput` and `AudioOutput`, and WebRTC's audio processing from the package `livekit`.

Sound goes through in blocks of 10 ms, synchronously, inside the call that delivers a frame: a block of the *reference*
(what the loudspeaker plays), then the block of the microphone in which it may echo. Frames that hold whole blocks are
not held back at all, others by less than one block.

The reference is what really sounds, not what was written: a pause and a clear must end it at once. A line whose input
is an `EchoAware` brings it along, block for block, from the device. For all others it is read off `played`, which is
as exact as the line's own bookkeeping; where the caller's device cancels echo itself (browsers and telephones do),
leave it to the device and set `echo_cancellation=False`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, Protocol, runtime_checkable

from antiphon.audio import AudioFrame, Resampler
from antiphon.errors import UsageError
from antiphon.transport import AudioInput, AudioOutput, AudioProcessor
from antiphon.transports.livekit.library import real_rtc
from antiphon.transports.mixer import MixedOutput

logger = logging.getLogger("antiphon")

BLOCKS_PER_SECOND: Final = 100
"""The library takes blocks of 10 ms and no others."""
ECHO_DELAY: Final = 0.05
"""Seconds from the loudspeaker to the microphone where nobody knows better; the library finds out and corrects it."""
REFERENCE_LIMIT: Final = 0.2
"""Seconds that the reference may run ahead of the microphone; what is older is dropped."""
WARM_UP: Final = 3.0
"""Seconds of the loudspeaker's sound after which the echo cancellation has learnt the room."""
RESIDUE: Final = 10 ** (-12 / 10)
"""Until then, what is left of the echo is quieter than the loudspeaker by this much in power, or more."""
FALLBACK_RATE: Final = 48_000
"""For microphones whose rate has no whole number of samples in 10 ms. Hz."""


@runtime_checkable
class EchoAware(Protocol):
    """An input that knows what the loudspeaker was given while it recorded: both run on one device."""

    @property
    def echo_delay(self) -> float:
        """Seconds from a block given to the loudspeaker to the block recorded while it sounds."""

    def listen(self, on_block: Callable[[AudioFrame, AudioFrame], None], /) -> None:
        """Call `on_block(recorded, given)`, of equal length, before each frame is delivered."""


@dataclass(slots=True, frozen=True)
class AudioProcessing(AudioProcessor):
    """What is to be done to the caller's sound: a room option.

    ```python
    await session.start(agent, room=room, room_input_options=RoomInputOptions(noise_cancellation=AudioProcessing()))
    ```

    `prepare` and `wrap` raise `UsageError` where the package `livekit` is missing. A line that is clean already is left
    as it is.
    """

    echo_cancellation: bool = True
    """Take out what the loudspeaker plays. Needs a line with an output."""
    noise_suppression: bool = True
    high_pass: bool = True
    """Take out rumble and direct current."""
    gain: bool = False
    """Bring quiet callers up, and loud ones down, to an even level."""

    @staticmethod
    def available() -> bool:
        """True where the package is installed. Loads it."""
        try:
            _library()
        except UsageError:
            return False
        return True

    async def prepare(self) -> None:
        await asyncio.to_thread(_library)

    def wrap(self, input: AudioInput, output: AudioOutput | None) -> tuple[AudioInput, AudioOutput | None]:
        if isinstance(input, _CleanInput):
            return input, output
        processed = Processed(
            input,
            output.below if isinstance(output, MixedOutput) else output,
            echo_cancellation=self.echo_cancellation,
            noise_suppression=self.noise_suppression,
            high_pass=self.high_pass,
            gain=self.gain,
        )
        if isinstance(output, MixedOutput) and processed.output is not None:
            # What comes back is all that sounds: speech and whatever is mixed with it.
            output.put_below(processed.output)
            return processed.input, output
        return processed.input, processed.output


class Processed:
    """A line with a clean microphone: use `input` and `output` in the place of those it was made from.

    The clean frames have the rate of the microphone's, or 48 kHz where that has no whole number of samples in 10 ms,
    and are mono. `delay`: seconds from the loudspeaker to its echo in the microphone, if you know better than the
    line; it need not be exact. Raises `UsageError` where the package `livekit` is missing.
    """

    def __init__(
        self,
        input: AudioInput,
        output: AudioOutput | None,
        *,
        echo_cancellation: bool = True,
        noise_suppression: bool = True,
        high_pass: bool = True,
        gain: bool = False,
        delay: float | None = None,
    ) -> None:
        reference: _Reference | None = None
        self.output = output
        """What to write to; the very output that was given, unless its playing must be followed."""
        if echo_cancellation and isinstance(input, EchoAware):
            reference = _Given(input)
            delay = input.echo_delay if delay is None else delay
        elif echo_cancellation and output is not None:
            self.output = followed = FollowedOutput(output)
            reference = followed
        module = _Module(
            echo_cancellation=reference is not None,
            noise_suppression=noise_suppression,
            high_pass=high_pass,
            gain=gain,
            delay=ECHO_DELAY if delay is None else delay,
        )
        self.input: AudioInput = _CleanInput(input, module, reference)


# -- what sounds


class _Reference(Protocol):
    """What the loudspeaker plays, as a stream in step with the microphone's frames."""

    @property
    def rate(self) -> int:
        """Hz."""

    def begin(self) -> None:
        """The microphone begins: what has sounded before is no part of the stream."""

    def follow(self) -> None:
        """A frame of the microphone is about to be processed: take in what has sounded since the last one."""

    def take(self, samples: int) -> bytes:
        """The next samples, silence where nothing sounds."""


class _Given:
    """The reference of a line that brings it along."""

    def __init__(self, source: EchoAware) -> None:
        self.rate = FALLBACK_RATE
        self._data = bytearray()
        source.listen(self._on_block)

    def begin(self) -> None:
        self._data.clear()

    def _on_block(self, recorded: AudioFrame, given: AudioFrame) -> None:
        if given.sample_rate != self.rate:
            self.rate = given.sample_rate
            self._data.clear()
        self._data += given.data
        del self._data[: -2 * round(REFERENCE_LIMIT * self.rate)]

    def follow(self) -> None:
        pass

    def take(self, samples: int) -> bytes:
        data = bytes(self._data[: 2 * samples])
        del self._data[: len(data)]
        return data.ljust(2 * samples, b"\0")


class FollowedOutput(AudioOutput):
    """An output whose playing is followed: plays what it is given, and knows what of it sounded when."""

    def __init__(self, output: AudioOutput) -> None:
        self._output = output
        self.sample_rate = self.rate = output.sample_rate
        self.lead = output.lead
        self._written = bytearray()
        """Samples from `_position` on. Bounded by the writer, who keeps at most `lead` seconds ahead."""
        self._position = 0
        self._sounded = bytearray()
        """What has sounded and was not taken yet."""
        self._sounding = False
        """The last block taken was sound to its end."""

    # the output

    def start(self) -> None:
        self._output.start()
        self._position = round(self._output.played * self.rate)

    def write(self, frame: AudioFrame) -> None:
        self._output.write(frame)
        self._written += frame.data

    @property
    def played(self) -> float:
        return self._output.played

    def pause(self) -> None:
        self._output.pause()

    def resume(self) -> None:
        self._output.resume()

    def clear(self) -> float:
        lost = self._output.clear()
        # It is the last that was written that will not sound.
        del self._written[max(0, len(self._written) - 2 * round(lost * self.rate)) :]
        return lost

    async def aclose(self) -> None:
        await self._output.aclose()
        self._written.clear()

    # the reference

    def begin(self) -> None:
        self.follow()
        self._sounded.clear()

    def follow(self) -> None:
        position = round(self._output.played * self.rate)
        sounded = self._written[: 2 * max(0, position - self._position)]
        del self._written[: len(sounded)]
        self._position = position
        self._sounded += sounded
        del self._sounded[: -2 * round(REFERENCE_LIMIT * self.rate)]

    def take(self, samples: int) -> bytes:
        data = bytes(self._sounded[: 2 * samples])
        del self._sounded[: len(data)]
        whole = len(data) == 2 * samples
        # Sound that begins lies at the end of its block, sound that ends at the beginning.
        block = data.ljust(2 * samples, b"\0") if whole or self._sounding else data.rjust(2 * samples, b"\0")
        self._sounding = whole or (bool(data) and not self._sounding)
        return block


# -- the microphone


class WarmUp:
    """Silences what is left of the echo while the cancellation learns: it would be taken for a caller.

    Only what is much quieter than the loudspeaker is silenced, so that a caller who speaks up is heard from the
    first word on. Blocks are 10 ms of 16-bit samples.
    """

    def __init__(self, duration: float = WARM_UP) -> None:
        self._left = round(duration * BLOCKS_PER_SECOND)
        """Blocks with sound that are still to be learnt from."""
        self._played: deque[float] = deque(maxlen=round(0.4 * BLOCKS_PER_SECOND))
        """How loud the loudspeaker was lately: the echo of that may still be in the air."""
        self._open = 0
        """Blocks for which the caller, once heard, is believed to speak on."""

    @property
    def over(self) -> bool:
        """There is nothing more to do."""
        return self._left <= 0

    def play(self, block: bytes) -> None:
        """The loudspeaker plays this."""
        power = _power(block)
        self._played.append(power)
        self._left -= power > _AUDIBLE

    def passes(self, block: bytes) -> bool:
        """Whether a clean block of the microphone is more than what is left of the echo."""
        self._open = max(0, self._open - 1)
        power = _power(block)
        if power > _AUDIBLE and power > RESIDUE * max(self._played, default=0.0):
            self._open = BLOCKS_PER_SECOND // 5
        return self._open > 0 or max(self._played, default=0.0) <= _AUDIBLE


_AUDIBLE: Final = 10 ** (-55 / 10)
"""Power, where 1 is that of the loudest square wave."""


def _power(block: bytes) -> float:
    import numpy as np

    samples = np.frombuffer(block, "<i2").astype(np.float32)
    return float(np.mean(np.square(samples))) / 32768**2 if samples.size else 0.0


class _CleanInput(AudioInput):
    """The microphone, block by block through the module."""

    def __init__(self, input: AudioInput, module: _Module, reference: _Reference | None) -> None:
        self._warm_up = WarmUp() if reference is not None else None
        self._input = input
        self._module = module
        self._reference = reference
        self._resampler: Resampler | None = None
        self._pending = bytearray()
        self._rate = 0
        self._on_frame: Callable[[AudioFrame], None] | None = None

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        self._on_frame = on_frame
        if self._reference is not None:
            self._reference.begin()
        self._input.start(self._clean, on_end)

    async def aclose(self) -> None:
        self._on_frame = None
        await self._input.aclose()

    def _clean(self, frame: AudioFrame) -> None:
        frame = self._fitting(frame)
        if frame.sample_rate != self._rate:
            self._rate = frame.sample_rate
            self._pending.clear()
        self._pending += frame.data
        if self._reference is not None:
            self._reference.follow()
        size = 2 * (self._rate // BLOCKS_PER_SECOND)
        clean = bytearray()
        while len(self._pending) >= size:
            block = self._pending[:size]
            del self._pending[:size]
            if self._reference is not None:
                self._play(self._reference)
            clean += self._without_residue(self._module.record(block, self._rate))
        if clean and self._on_frame is not None:
            self._on_frame(AudioFrame(bytes(clean), self._rate))

    def _play(self, reference: _Reference) -> None:
        rate = reference.rate
        block = reference.take(rate // BLOCKS_PER_SECOND)
        self._module.play(block, rate)
        if self._warm_up is not None:
            self._warm_up.play(block)

    def _without_residue(self, block: bytes) -> bytes:
        if self._warm_up is None:
            return block
        passed = self._warm_up.passes(block)
        if self._warm_up.over:
            self._warm_up = None
        return block if passed else bytes(len(block))

    def _fitting(self, frame: AudioFrame) -> AudioFrame:
        """Mono, at a rate with whole blocks."""
        if frame.sample_rate % BLOCKS_PER_SECOND:
            if self._resampler is None:
                self._resampler = Resampler(FALLBACK_RATE)
            return self._resampler.push(frame)
        if frame.num_channels > 1:
            return AudioFrame.from_float32(frame.to_float32(), frame.sample_rate)
        return frame


# -- the library


class _Module:
    """WebRTC's audio processing. Should it fail, the sound goes on as it came, and that is logged once."""

    def __init__(
        self, *, echo_cancellation: bool, noise_suppression: bool, high_pass: bool, gain: bool, delay: float
    ) -> None:
        library = _library()
        self._frame = library.AudioFrame
        self._module: Any = library.AudioProcessingModule(
            echo_cancellation=echo_cancellation,
            noise_suppression=noise_suppression,
            high_pass_filter=high_pass,
            auto_gain_control=gain,
        )
        self._delay_ms = round(1000 * delay) if echo_cancellation else None

    def play(self, block: bytes, rate: int) -> None:
        """10 ms that the loudspeaker plays."""
        if self._module is not None:
            self._call("process_reverse_stream", bytearray(block), rate)

    def record(self, block: bytearray, rate: int) -> bytes:
        """10 ms that the microphone recorded, made clean."""
        if self._module is None:
            return bytes(block)
        return self._call("process_stream", block, rate)

    def _call(self, method: str, block: bytearray, rate: int) -> bytes:
        frame = self._frame(block, rate, 1, len(block) // 2)
        try:
            if self._delay_ms is not None and method == "process_stream":
                self._module.set_stream_delay_ms(self._delay_ms)  # it is forgotten after each block
            getattr(self._module, method)(frame)
        except RuntimeError as error:
            logger.warning("audio processing failed, the microphone is heard as it is from now on: %s", error)
            self._module = None
            return bytes(block)
        return bytes(frame.data)


def _library() -> ModuleType:
    """The real `livekit.rtc`, ready for use. Takes half a second the first time. Raises `UsageError` without it."""
    try:
        return real_rtc()
    except ImportError as error:
        raise UsageError(
            f"cleaning the microphone needs the package livekit ({error}). Install it with:"
            " pip install 'antiphon[processing]'"
        ) from None
