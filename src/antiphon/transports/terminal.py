"""The microphone and the loudspeaker of this machine, as one line.

Above: a session, by way of `TerminalAudio.input` and `.output`; the console, which opens and closes the line. Below:
one miniaudio duplex device, so that both directions share one clock and never drift apart. Nothing here knows of turns
or terminals.

The device calls from a thread of its own, once for each block of `period` seconds: it brings what was recorded and
takes what shall sound next. That thread waits for nothing of ours. Between it and the event loop lie two bounded rings:

- `Playback`, filled by `write`, emptied by the device. Full means that the writer ignored `lead`: an error for it.
- `Recorded`, filled by the device, emptied on the loop. Full means that the loop has been blocked for as long as the
  ring holds: the oldest blocks go, are counted, and it is logged once.

With each recorded block comes the block that was given to the loudspeaker at that moment: what an echo is made of.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final, Self, TypeAlias

from antiphon.audio import AudioFrame
from antiphon.errors import AntiphonError, UsageError
from antiphon.transport import AudioInput, AudioOutput, Transport, check_frame
from antiphon.transports.devices import Device, DeviceSettings, device_settings, open_device

logger = logging.getLogger("antiphon")

PLAYBACK_LIMIT: Final = 30.0
"""Seconds that may be written and not played."""
RECORDED_LIMIT: Final = 2.0
"""Seconds that the event loop may be late."""
SILENT_LIMIT: Final = 3.0
"""Seconds without a block after which the device counts as gone."""

Blocks: TypeAlias = Generator[bytes, bytes, None]
"""A generator that is sent what was recorded and yields what shall sound, started already."""

OnBlock: TypeAlias = Callable[[AudioFrame, AudioFrame], None]
"""Called with a recorded block and the block given to the loudspeaker with it, of equal length and rate."""


# -- the rings


class Playback:
    """What shall sound, on its way from the event loop to the audio thread. Counted in samples.

    Every sample written is played or cleared, and counted as exactly one of the two. The lock guards a few
    assignments. The audio thread tries it and does not wait: it plays a block of silence in the rare case that it
    meets the loop there.
    """

    def __init__(self, *, limit: int, device_buffer: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._blocks: deque[bytes] = deque()
        self._queued = 0
        self._paused = False
        self._taken = 0
        self._device_buffer = device_buffer
        self._in_device: deque[tuple[int, int]] = deque()
        """The blocks that the device has and has not played, each with how much of it was written (not silence)."""
        self._in_device_total = 0
        self._in_device_written = 0
        self._missed = 0
        """Silence given without the lock, not in `_in_device` yet."""

    # the audio thread

    def take(self, samples: int) -> bytes:
        """The next samples for the device, with silence where there is nothing to play. Never waits."""
        if not self._lock.acquire(blocking=False):
            self._missed += samples
            return bytes(2 * samples)
        try:
            missed, self._missed = self._missed, 0
            if missed:
                self._given(missed, 0)
            data = b"" if self._paused else self._next(samples)
            self._taken += len(data) // 2
            self._given(samples, len(data) // 2)
        finally:
            self._lock.release()
        return data.ljust(2 * samples, b"\0")

    def _next(self, samples: int) -> bytes:
        data = bytearray()
        while self._blocks and len(data) < 2 * samples:
            block = self._blocks.popleft()
            room = 2 * samples - len(data)
            if len(block) > room:
                self._blocks.appendleft(block[room:])
                block = block[:room]
            data += block
        self._queued -= len(data) // 2
        return bytes(data)

    def _given(self, samples: int, written: int) -> None:
        """The device has so many more samples; what it had before them has moved on."""
        self._in_device.append((samples, written))
        self._in_device_total += samples
        self._in_device_written += written
        while self._in_device_total - self._in_device[0][0] >= self._device_buffer:
            played, of_them_written = self._in_device.popleft()
            self._in_device_total -= played
            self._in_device_written -= of_them_written

    # the event loop

    def write(self, data: bytes) -> None:
        """Queue samples. Raises `UsageError`, and queues nothing, beyond the limit."""
        with self._lock:
            if self._queued + len(data) // 2 > self.limit:
                raise UsageError(
                    f"TerminalAudio: {self._queued + len(data) // 2} samples would be waiting to be played, the limit"
                    f" is {self.limit}. Write no more than `lead` seconds ahead of `played`."
                )
            self._blocks.append(data)
            self._queued += len(data) // 2

    @property
    def played(self) -> int:
        """Samples that have sounded: taken by the device, and not in its buffer any more."""
        with self._lock:
            return self._taken - self._in_device_written

    def pause(self) -> None:
        """Give silence from the next block on."""
        with self._lock:
            self._paused = True

    def resume(self) -> None:
        """Go on with what is queued."""
        with self._lock:
            self._paused = False

    def clear(self) -> int:
        """Forget what is queued, end a pause. Returns how many samples that were."""
        with self._lock:
            lost, self._queued = self._queued, 0
            self._blocks.clear()
            self._paused = False
            return lost


class Recorded:
    """What was recorded, with what sounded then, on its way from the audio thread to the event loop."""

    def __init__(self, *, limit: int) -> None:
        self.dropped = 0
        """Blocks that were lost because nobody came for them."""
        self._blocks: deque[tuple[bytes, bytes]] = deque(maxlen=limit)
        self._told = False
        """The loop is on its way, and will see what is added before it looks."""

    def push(self, recorded: bytes, given: bytes) -> bool:
        """Add a block; full, the oldest goes. True: the loop must be told. Never waits."""
        self.dropped += len(self._blocks) == self._blocks.maxlen
        self._blocks.append((recorded, given))
        # After the append: a loop that resets it now finds the block.
        if self._told:
            return False
        self._told = True
        return True

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        """Take the blocks out, oldest first, until there are none."""
        self._told = False
        while True:
            try:
                yield self._blocks.popleft()
            except IndexError:
                return


# -- the line


class TerminalAudio(Transport):
    """One line through the machine's microphone and loudspeaker.

    ```python
    async with TerminalAudio() as audio:
        await session.start(agent, input=audio.input, output=audio.output)
        await audio.wait_failed()
    ```

    Opening raises what `open_device` raises. A device that vanishes, or fails, ends the call: the session is told
    that the input has ended, and `wait_failed` raises the reason.

    Args:
        settings: Which devices, at which rate.
        open: What opens the device; for tests, and for other sound libraries.
    """

    input: Microphone
    output: Loudspeaker

    def __init__(
        self, settings: DeviceSettings | None = None, *, open: Callable[[DeviceSettings], Device] = open_device
    ) -> None:
        self.settings = settings = settings or DeviceSettings()
        self.input = Microphone(settings)
        self.output = Loudspeaker(settings)
        self._open = open
        self._recorded = Recorded(limit=round(RECORDED_LIMIT / settings.period))
        self._device: Device | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failed: asyncio.Future[Exception] | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._last_block = 0.0
        self._warned = False

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._failed = self._loop.create_future()
        # Opening asks the sound server, and may wait for it: not on the loop.
        self._device = await asyncio.to_thread(self._open_and_start)
        self._last_block = self._loop.time()
        self._look()
        return self

    @classmethod
    def of(cls, device: str = "") -> Self:
        """The line through a device, by number or part of its name; "": the system's own, "null": none."""
        return cls(device_settings([device] if device else [], null=device == "null"))

    async def aclose(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        await super().aclose()
        device, self._device = self._device, None
        if device is not None:
            await asyncio.to_thread(device.close)  # waits for the block under way

    async def wait_failed(self) -> None:
        if self._failed is None:
            raise UsageError("TerminalAudio: the line is not open. Use it with `async with`.")
        raise await asyncio.shield(self._failed)

    def _open_and_start(self) -> Device:
        device = self._open(self.settings)
        blocks = self._blocks()
        next(blocks)
        try:
            device.start(blocks)
        except BaseException:
            device.close()
            raise
        return device

    # the audio thread

    def _blocks(self) -> Blocks:
        recorded = yield b""
        try:
            while True:
                recorded = yield self._exchange(bytes(recorded))
        except Exception as error:
            # The library would print it and go on in silence.
            self._call_loop(self._fail, AntiphonError(f"the sound device failed: {type(error).__name__}: {error}."))

    def _exchange(self, recorded: bytes) -> bytes:
        given = self.output.ring.take(len(recorded) // 2)
        if self._recorded.push(recorded, given):
            self._call_loop(self._deliver)
        return given

    def _call_loop(self, callback: Callable[..., None], *arguments: Any) -> None:
        assert self._loop is not None  # the device was started on it
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(callback, *arguments)

    # the event loop

    def _deliver(self) -> None:
        assert self._loop is not None  # it calls this
        self._last_block = self._loop.time()
        for recorded, given in self._recorded:
            self.input.deliver(recorded, given)
        dropped, self._recorded.dropped = self._recorded.dropped, 0
        if dropped and self.input.started and not self._warned:
            self._warned = True
            logger.warning("the event loop was blocked for %g s: recorded sound was lost", RECORDED_LIMIT)

    def _look(self) -> None:
        """See whether the device still lives: one that is unplugged may just fall silent."""
        assert self._loop is not None
        if self._loop.time() - self._last_block > SILENT_LIMIT:
            self._fail(AntiphonError("the sound device has stopped. Plug it in again, or choose one with --device."))
        else:
            self._watch = self._loop.call_later(SILENT_LIMIT / 3, self._look)

    def _fail(self, error: Exception) -> None:
        if self._failed is not None and not self._failed.done():
            self._failed.set_result(error)
            self.input.end()


class Microphone(AudioInput):
    """The recording half of a `TerminalAudio`: a mono frame for each block of the device.

    It is converted once here, with under 1 ms held back, instead of in each detector and recogniser.
    """

    def __init__(self, settings: DeviceSettings) -> None:
        self.sample_rate = settings.microphone_rate
        self._device_rate = settings.sample_rate
        ratio, rest = divmod(settings.sample_rate, settings.microphone_rate)
        if rest or not ratio:
            raise UsageError(
                f"TerminalAudio: expected a device rate that is a multiple of the microphone's {self.sample_rate} Hz,"
                f" got {self._device_rate} Hz. Give 48000, or the same for both."
            )
        self._decimator = Decimator(ratio) if ratio > 1 else None
        self.echo_delay = settings.period * (settings.periods + 1)
        """Seconds from a block given to the loudspeaker to the block recorded while it sounds, air excluded."""
        self._listeners: list[OnBlock] = []
        self._on_frame: Callable[[AudioFrame], None] | None = None
        self._on_end: Callable[[], None] | None = None

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        self._on_frame, self._on_end = on_frame, on_end

    @property
    def started(self) -> bool:
        """Somebody hears it."""
        return self._on_frame is not None

    def listen(self, on_block: OnBlock) -> None:
        """Call `on_block(recorded, given)` on the loop for each block, before its frame is delivered."""
        self._listeners.append(on_block)

    def deliver(self, recorded: bytes, given: bytes) -> None:
        """A block has come from the device."""
        frame = AudioFrame(recorded, self._device_rate)
        if self._listeners:
            sounding = AudioFrame(given, self._device_rate)
            for listener in self._listeners:
                listener(frame, sounding)
        if self._on_frame is not None:
            if self._decimator is not None:
                frame = AudioFrame(self._decimator.push(frame.data), self.sample_rate)
            self._on_frame(frame)

    def end(self) -> None:
        """No more will come."""
        on_end, self._on_frame, self._on_end = self._on_end, None, None
        if on_end is not None:
            on_end()

    async def aclose(self) -> None:
        self._on_frame = self._on_end = None
        self._listeners.clear()


class Decimator:
    """Every `ratio`-th sample, once what would fold into the band is filtered out.

    A filter of our own: soxr gives a stream out in lumps, and is late by 20 ms at its lower quality and 37 ms at the
    one that the rest of the way uses.
    """

    def __init__(self, ratio: int) -> None:
        import numpy as np

        self._ratio = ratio
        taps = 24 * ratio + 1
        time = np.arange(taps) - taps // 2
        response = np.sinc(0.9 * time / ratio) * np.hamming(taps)
        self._response = response / response.sum()
        self._past = np.zeros(taps - 1)

    def push(self, data: bytes) -> bytes:
        """The next samples, and what comes of them."""
        import numpy as np

        line = np.concatenate([self._past, np.frombuffer(data, "<i2")])
        samples = (len(line) - len(self._response)) // self._ratio + 1
        self._past = line[samples * self._ratio :]
        filtered = np.convolve(line, self._response, mode="valid")[:: self._ratio][:samples]
        return np.clip(np.rint(filtered), -32768, 32767).astype("<i2").tobytes()


class Loudspeaker(AudioOutput):
    """The playing half of a `TerminalAudio`."""

    def __init__(self, settings: DeviceSettings) -> None:
        self.sample_rate = settings.sample_rate
        self.ring = Playback(
            limit=round(PLAYBACK_LIMIT * settings.sample_rate),
            device_buffer=round(settings.period * settings.sample_rate) * settings.periods,
        )
        self._closed = False

    def write(self, frame: AudioFrame) -> None:
        check_frame(frame, self.sample_rate, "TerminalAudio")
        if not self._closed:
            self.ring.write(frame.data)

    @property
    def played(self) -> float:
        return self.ring.played / self.sample_rate

    def pause(self) -> None:
        self.ring.pause()

    def resume(self) -> None:
        self.ring.resume()

    def clear(self) -> float:
        return self.ring.clear() / self.sample_rate

    async def aclose(self) -> None:
        self._closed = True
        self.ring.clear()
