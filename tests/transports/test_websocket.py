"""The audio halves of a page's call: what the page has played, and what it is told to play."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.testing import run_virtual
from antiphon.testing.audio import speech
from antiphon.testing.contract import check_transport
from antiphon.testing.sweep import Heard
from antiphon.testing.transport_contract import TransportUnderTest
from antiphon.transports.websocket import TRUST, WebSocketInput, WebSocketOutput
from tests.console.page import FRAME, Loudspeaker

RATE = 48_000


class Wire:
    """What would have gone to the page."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int]] = []
        """("audio", samples), or a command and its epoch."""

    def send_audio(self, data: bytes) -> None:
        self.sent.append(("audio", len(data) // 2))

    def send_playout(self, command: Literal["pause", "resume", "clear"], epoch: int) -> None:
        self.sent.append((command, epoch))


def with_output(check: Callable[[WebSocketOutput, Wire], Coroutine[Any, Any, None]]) -> None:
    """Run `check` with a loudspeaker and its wire, in virtual time."""

    async def run() -> None:
        wire = Wire()
        await check(WebSocketOutput(wire, sample_rate=RATE), wire)

    run_virtual(run())


def test_what_is_written_travels_at_once() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(0.1, RATE))
        assert wire.sent == [("audio", 4800)]

    with_output(check)


def test_nothing_counts_as_played_before_the_page_says_so() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(1.0, RATE))
        await asyncio.sleep(0.5)
        assert output.played == 0.0

    with_output(check)


def test_between_two_reports_the_position_goes_on_by_the_clock() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(1.0, RATE))
        output.report(0, 4800)
        await asyncio.sleep(0.03)
        assert output.played == pytest.approx(0.13, abs=1e-4)

    with_output(check)


def test_a_page_that_has_fallen_silent_is_not_trusted_for_long() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(2.0, RATE))
        output.report(0, 4800)
        await asyncio.sleep(1.5)
        assert output.played == pytest.approx(0.1 + TRUST, abs=1e-4)

    with_output(check)


def test_the_position_never_passes_what_was_written() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(0.1, RATE))
        output.report(0, 4700)
        await asyncio.sleep(1.0)
        assert output.played == pytest.approx(0.1)

    with_output(check)


def test_a_report_behind_the_clock_does_not_take_anything_back() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(1.0, RATE))
        output.report(0, 4800)
        await asyncio.sleep(0.05)
        before = output.played
        output.report(0, 4900)
        assert output.played == before

    with_output(check)


@pytest.mark.parametrize(("epoch", "samples"), [(1, 100), (0, 48_001), (0, -1), (-1, 5), (7, 0)])
def test_news_that_cannot_be_is_ignored(epoch: int, samples: int) -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(1.0, RATE))
        output.report(epoch, samples)
        await asyncio.sleep(0.05)
        assert output.played == 0.0

    with_output(check)


def test_after_silence_new_sound_waits_for_the_pages_word() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(0.1, RATE))
        output.report(0, 4800)
        output.write(speech(0.1, RATE))
        await asyncio.sleep(0.05)
        assert output.played == pytest.approx(0.1)

    with_output(check)


def test_a_pause_stops_the_clock_and_is_sent_once() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(1.0, RATE))
        output.report(0, 4800)
        output.pause()
        output.pause()
        await asyncio.sleep(0.05)
        assert output.played == pytest.approx(0.1)
        assert wire.sent[1:] == [("pause", 0)]

    with_output(check)


def test_what_sounded_before_the_page_heard_of_a_pause_counts() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(1.0, RATE))
        output.report(0, 4800)
        output.pause()
        output.report(0, 5300)
        await asyncio.sleep(0.05)
        assert output.played == pytest.approx(5300 / RATE)

    with_output(check)


def test_clear_gives_the_length_of_what_will_not_be_heard() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(1.0, RATE))
        output.report(0, 4800)
        lost = output.clear()
        assert lost == pytest.approx(0.9)
        assert output.played == pytest.approx(0.1)
        assert wire.sent[-1] == ("clear", 1)

    with_output(check)


def test_a_report_of_before_a_clear_says_nothing() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(1.0, RATE))
        output.clear()
        output.write(speech(1.0, RATE))
        output.report(0, 9600)
        assert output.played == 0.0

    with_output(check)


def test_a_clear_ends_a_pause() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        output.write(speech(1.0, RATE))
        output.pause()
        output.clear()
        output.write(speech(1.0, RATE))
        output.report(1, 480)
        await asyncio.sleep(0.01)
        assert output.played == pytest.approx(0.02)

    with_output(check)


def test_after_the_end_nothing_is_sent() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        await output.aclose()
        output.write(speech(0.1, RATE))
        output.pause()
        output.resume()
        output.clear()
        assert wire.sent == []

    with_output(check)


def test_another_rate_is_refused_with_both_rates() -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        with pytest.raises(UsageError, match=r"expected mono at 48000 Hz, got 1 channels at 16000 Hz"):
            output.write(speech(0.1, 16_000))

    with_output(check)


def test_the_microphone_gives_what_comes_and_ends_once() -> None:
    microphone = WebSocketInput(sample_rate=RATE)
    frames: list[AudioFrame] = []
    ends: list[None] = []
    microphone.push(b"\1\0")  # nobody listens yet
    microphone.start(frames.append, lambda: ends.append(None))
    microphone.push(b"\2\0")
    microphone.end()
    microphone.end()
    microphone.push(b"\3\0")
    assert ([frame.data for frame in frames], len(ends)) == ([b"\2\0"], 1)


def test_a_microphone_is_started_once() -> None:
    microphone = WebSocketInput(sample_rate=RATE)
    microphone.start(lambda frame: None, lambda: None)
    with pytest.raises(UsageError, match="make a new one"):
        microphone.start(lambda frame: None, lambda: None)


# -- whatever a page reports, and whenever


samples = st.integers(min_value=-10, max_value=20_000)
acts = st.one_of(
    st.tuples(st.just("write"), st.integers(min_value=1, max_value=9_600)),
    st.tuples(st.just("report"), samples),
    st.tuples(st.just("stale report"), samples),
    st.tuples(st.just("wait"), st.integers(min_value=1, max_value=300)),
    st.tuples(st.sampled_from(["pause", "resume", "clear"]), st.just(0)),
)


@given(st.lists(acts, max_size=30))
def test_the_account_is_always_settled(steps: list[tuple[str, int]]) -> None:
    async def check(output: WebSocketOutput, wire: Wire) -> None:
        written = cleared = heard = 0.0
        for act, amount in steps:
            match act:
                case "write":
                    output.write(AudioFrame(bytes(2 * amount), RATE))
                    written += amount / RATE
                case "report":
                    output.report(output.epoch, amount)
                case "stale report":
                    output.report(output.epoch - 1, amount)
                case "wait":
                    await asyncio.sleep(amount / 1000)
                case "pause":
                    output.pause()
                case "resume":
                    output.resume()
                case _:
                    cleared += output.clear()
                    assert output.played == pytest.approx(written - cleared)
            assert heard <= output.played <= written - cleared + 1e-9
            heard = output.played

    with_output(check)


# -- the contract, with a page at the far end of a network


class Network:
    """Delivers what is sent `delay` seconds later, in order."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._under_way: deque[Callable[[], None]] = deque()

    def send(self, arrive: Callable[[], None]) -> None:
        self._under_way.append(arrive)
        # Timers of the same instant have no order of their own.
        asyncio.get_running_loop().call_later(self._delay, lambda: self._under_way.popleft()())


class PageAtTheFarEnd(TransportUnderTest):
    """A page with a ring of its own, whose messages take `delay` seconds each way."""

    microphone_rate = RATE

    def __init__(self, delay: float) -> None:
        self.input = self._microphone = WebSocketInput(sample_rate=RATE)
        self.output = self._output = WebSocketOutput(self, sample_rate=RATE)
        self._down, self._up = Network(delay), Network(delay)
        self._speaker = Loudspeaker(RATE)
        self._saying = bytearray()
        self._ticking = asyncio.create_task(self._tick())

    def send_audio(self, data: bytes) -> None:
        self._down.send(lambda: self._speaker.write(data))

    def send_playout(self, command: Literal["pause", "resume", "clear"], epoch: int) -> None:
        match command:
            case "pause":
                self._down.send(self._speaker.pause)
            case "resume":
                self._down.send(self._speaker.resume)
            case "clear":
                self._down.send(lambda: self._speaker.clear(epoch))

    async def speak(self, frame: AudioFrame) -> None:
        self._saying += frame.data

    def heard(self) -> list[Heard]:
        self._speaker.advance()
        return self._speaker.heard

    async def hang_up(self) -> None:
        self._ticking.cancel()
        self._microphone.end()

    async def aclose(self) -> None:
        self._ticking.cancel()
        await asyncio.wait([self._ticking])

    async def _tick(self) -> None:
        size = 2 * round(FRAME * RATE)
        while True:
            await asyncio.sleep(FRAME)
            data = bytes(self._saying[:size]).ljust(size, b"\0")
            del self._saying[:size]
            self._up.send(partial(self._microphone.push, data))
            self._speaker.advance()
            self._up.send(partial(self._output.report, self._speaker.epoch, self._speaker.played))


@pytest.mark.parametrize("delay", [0.001, 0.02])
def test_it_keeps_the_promises_of_a_transport(delay: float) -> None:
    async def make() -> TransportUnderTest:
        return PageAtTheFarEnd(delay)

    # The page hears of things one way later, and reports another way later; its ring begins with 40 ms.
    run_virtual(check_transport(make, latency=0.05 + delay, tolerance=0.02 + 2 * delay))
