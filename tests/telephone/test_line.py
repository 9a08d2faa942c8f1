"""The two halves of a line by telephone keep the promises of every transport, by marks alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest

from antiphon.audio import AudioFrame
from antiphon.testing import Heard, TransportUnderTest, check_transport, run_virtual, speech
from antiphon.testing.sweep import piece
from antiphon.testing.telephone import FarEnd, jitter
from antiphon.transports.telephone import (
    DIALECTS,
    Dialect,
    Marked,
    Sound,
    Stopped,
    TelephoneInput,
    TelephoneOutput,
    mulaw,
    read,
)


class Line(TransportUnderTest):
    """A line whose far end is the double."""

    microphone_rate = 8_000

    def __init__(self, dialect: Dialect, delay: Callable[[], float] = lambda: 0.0) -> None:
        self.input: TelephoneInput = TelephoneInput()
        self.far = FarEnd(self._take, telnyx=dialect.name == "telnyx", delay=delay)
        self.output: TelephoneOutput = TelephoneOutput(dialect, "MZ1", self.far.receive)
        self._dialect = dialect
        self.far.begin()

    def _take(self, text: str) -> None:
        match read(text, self._dialect):
            case Sound() as sound:
                self.input.push(sound)
            case Marked(name):
                self.output.marked(name)
            case Stopped():
                self.input.end()

    async def speak(self, frame: AudioFrame) -> None:
        self.far.speak(frame)

    def heard(self) -> Sequence[Heard]:
        now = asyncio.get_running_loop().time()
        found = []
        for one in self.far.heard:
            length = min(one.frame.samples_per_channel, round((now - one.at) * 8_000))
            if length > 0:
                found.append(Heard(one.at, AudioFrame(one.frame.data[: 2 * length], 8_000)))
        return found

    async def hang_up(self) -> None:
        self.far.stop()

    async def aclose(self) -> None:
        assert self.far.problems == []
        await self.far.aclose()


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_telephone_keeps_the_promises_of_a_transport(name: str) -> None:
    async def make() -> Line:
        return Line(DIALECTS[name])

    run_virtual(check_transport(make, exact=False, tolerance=0.03))


def test_it_keeps_them_over_a_network_that_is_slow_and_uneven() -> None:
    random = Random(7)

    async def make() -> Line:
        return Line(DIALECTS["twilio"], jitter(random, least=0.02, most=0.05))

    run_virtual(check_transport(make, exact=False, tolerance=0.2, latency=0.1))


def test_what_was_heard_is_what_marks_say_and_nothing_else() -> None:
    async def call() -> None:
        sent: list[str] = []
        output = TelephoneOutput(DIALECTS["twilio"], "MZ1", sent.append)
        output.write(AudioFrame.silence(1.0, 8_000))
        await asyncio.sleep(5.0)
        assert output.played == 0.0  # no mark came back: nothing was heard
        output.marked("0.1")  # that in front: it begins to sound
        await asyncio.sleep(5.0)
        assert output.played == pytest.approx(0.1)  # by the clock, as far as the next mark that is awaited
        output.marked("0.4")
        assert output.played == pytest.approx(0.3)
        assert output.clear() == pytest.approx(0.7)
        output.marked("0.9")  # given back by the clear
        assert output.played == pytest.approx(0.3)
        assert '"event":"clear"' in sent[-1]

    run_virtual(call())


def test_a_pause_throws_away_and_sends_again_from_where_the_caller_stopped_hearing() -> None:
    async def call() -> None:
        line = Line(DIALECTS["twilio"])
        line.output.write(piece(8_000, 0, 8_000))
        await asyncio.sleep(0.4)
        line.output.pause()
        heard = line.far.seconds_heard
        assert heard == pytest.approx(0.4, abs=0.03)
        await asyncio.sleep(1.0)
        assert line.far.seconds_heard == pytest.approx(heard)
        line.output.resume()
        await asyncio.sleep(1.0)
        assert line.far.seconds_heard == pytest.approx(1.0, abs=0.03)
        assert line.output.played == 1.0
        await line.output.aclose()
        await line.aclose()

    run_virtual(call())


def test_frames_that_come_late_are_left_out_and_lost_ones_are_silence() -> None:
    async def call() -> None:
        got: list[AudioFrame] = []
        line = TelephoneInput()
        line.start(got.append, lambda: None)
        voice = b"\x00" * 160
        for chunk in (1, 2, 5, 4, 6, 7):
            line.push(Sound(voice, chunk))
        assert [frame.samples_per_channel for frame in got] == [160, 160, 480, 160, 160]
        assert got[2].data[:640] == bytes(640)
        line.push(Sound(voice, 100))
        line.push(Sound(voice, 1))  # the carrier counts anew
        assert [frame.samples_per_channel for frame in got[5:]] == [160, 160]

    run_virtual(call())


def test_each_sample_has_a_near_code_of_mu_law() -> None:
    codes = np.frombuffer(mulaw.decode(bytes(range(256))), "<i2").astype(int)
    assert [codes[0x00], codes[0x7F], codes[0x80], codes[0xFF], codes[0xF0]] == [-32_124, 0, 32_124, 0, 120]
    every = np.arange(-32_768, 32_768)
    loud = np.clip(every, -32_635, 32_635)
    heard = np.frombuffer(mulaw.decode(mulaw.encode(every.astype("<i2").tobytes())), "<i2").astype(int)
    assert (np.abs(heard - loud) <= 4 + np.abs(loud) / 30).all()
    assert (np.diff(heard) >= 0).all()


def test_speech_survives_the_telephone() -> None:
    said = speech(0.5, 8_000)
    heard = AudioFrame(mulaw.decode(mulaw.encode(said.data)), 8_000)
    noise = heard.to_float32() - said.to_float32()
    assert (noise**2).mean() < (said.to_float32() ** 2).mean() / 1_000  # 30 dB
