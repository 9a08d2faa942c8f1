"""The machine's own line, and one with a clean microphone, keep the promises of a transport."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from antiphon.audio import AudioFrame
from antiphon.testing import FakeMicrophone, FakeSpeaker, Heard, TransportUnderTest, check_transport, run_virtual
from antiphon.transports.devices import Device, DeviceSettings, open_device
from antiphon.transports.processing import Processed
from antiphon.transports.terminal import TerminalAudio
from tests.transports.acoustics import RoomDevice

PERIOD = DeviceSettings().period
BUFFER = 0.08
"""Seconds of sound that the device has and no `clear` takes back, and the block under way."""


class FedDevice:
    """Another device, with something in its microphone and an ear at its loudspeaker."""

    def __init__(self, device: Device, now: Callable[[], float]) -> None:
        self.given: list[tuple[float, bytes]] = []
        self.unplugged = False
        self._device = device
        self._now = now
        self._sound: deque[bytes] = deque()

    def say(self, samples: Any) -> None:
        rate_times = 3  # from the microphone's rate to the device's
        data = np.repeat(np.asarray(samples, np.float32), rate_times)
        pcm = AudioFrame.from_float32(data, 48_000).data
        self._sound.extend(pcm[at : at + 1920] for at in range(0, len(pcm), 1920))

    def start(self, blocks: Any, /) -> None:
        def fed() -> Any:
            recorded = yield b""
            while True:
                sound = self._sound.popleft() if self._sound else b""
                given = blocks.send(sound.ljust(len(recorded), b"\0")[: len(recorded)])
                self.given.append((self._now() + DeviceSettings().periods * PERIOD, given))
                if self.unplugged:
                    return
                recorded = yield given

        started = fed()
        next(started)
        self._device.start(started)

    def stop(self) -> None:
        self.unplugged = True

    def close(self) -> None:
        self._device.close()


class TerminalUnderTest(TransportUnderTest):
    def __init__(self, audio: TerminalAudio, device: RoomDevice | FedDevice, *, clean: bool = False) -> None:
        self.audio = audio
        self.device = device
        self.input = audio.input
        self.output = audio.output
        if clean:
            line = Processed(audio.input, audio.output, noise_suppression=False, high_pass=False)
            assert line.output is not None
            self.input, self.output = line.input, line.output

    async def speak(self, frame: AudioFrame) -> None:
        samples = np.frombuffer(frame.data, "<i2").astype(np.float32)
        # `from_float32` cuts off what is behind the point: a quarter more, and each sample comes back as it was.
        self.device.say(np.asarray((samples + 0.25 * np.sign(samples)) / 32767, np.float32))

    def heard(self) -> Sequence[Heard]:
        rate = self.audio.settings.sample_rate
        return [Heard(at - PERIOD, AudioFrame(data, rate)) for at, data in list(self.device.given)]

    async def hang_up(self) -> None:
        self.device.stop()

    async def aclose(self) -> None:
        await self.audio.aclose()


def test_a_device_in_virtual_time_keeps_every_promise_to_the_sample() -> None:
    async def make() -> TerminalUnderTest:
        settings = DeviceSettings(sample_rate=16_000)
        device = RoomDevice(settings, None, noise=0.0)
        audio = await TerminalAudio(settings, open=lambda _: device).__aenter__()
        return TerminalUnderTest(audio, device)

    run_virtual(check_transport(make, latency=0.1, tolerance=BUFFER))


def test_the_null_device_keeps_every_promise_in_real_time() -> None:
    """Wide limits: on a busy machine the session writes late, and there are gaps."""

    async def make() -> TerminalUnderTest:
        settings = DeviceSettings(null=True)
        device = FedDevice(open_device(settings), asyncio.get_running_loop().time)
        audio = await TerminalAudio(settings, open=lambda _: device).__aenter__()
        return TerminalUnderTest(audio, device)

    before = threading.active_count()
    asyncio.run(check_transport(make, exact=False, latency=0.14, tolerance=0.3))
    assert threading.active_count() <= before + 1  # the executor's


def test_a_clean_terminal_line_keeps_every_promise() -> None:
    async def make() -> TerminalUnderTest:
        settings = DeviceSettings(sample_rate=16_000)
        device = RoomDevice(settings, None, noise=0.0)
        audio = await TerminalAudio(settings, open=lambda _: device).__aenter__()
        return TerminalUnderTest(audio, device, clean=True)

    run_virtual(check_transport(make, exact=False, latency=0.12, tolerance=BUFFER))


class FakesUnderTest(TransportUnderTest):
    def __init__(self) -> None:
        self.microphone, self.speaker = FakeMicrophone(), FakeSpeaker()
        line = Processed(self.microphone, self.speaker, noise_suppression=False)
        assert line.output is not None
        self.input, self.output = line.input, line.output

    async def speak(self, frame: AudioFrame) -> None:
        self.microphone.play(frame)

    def heard(self) -> Sequence[Heard]:
        track = self.speaker.track
        _ = self.speaker.played  # lets it catch up
        return [Heard(sound.start, track.render(sound.start, sound.duration)) for sound in track.sounds]

    async def hang_up(self) -> None:
        self.microphone.end()


def test_any_clean_line_keeps_every_promise() -> None:
    async def make() -> FakesUnderTest:
        return FakesUnderTest()

    run_virtual(check_transport(make, exact=False, latency=0.03, tolerance=0.03))
