"""A call between two ends of WebRTC in one process, over loopback: sound, and all the ways in which it can end."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.testing import wait_until
from antiphon.transports.webrtc import WebRTCCall
from antiphon.transports.webrtc.output import FAR_DELAY
from tests.transports.far_end import LOOPBACK, RATE, FarEnd, a_call, loudness, tone
from tests.transports.relay import BadNetwork, Weather

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Ear:
    """What the session heard."""

    def __init__(self, call: WebRTCCall) -> None:
        self.frames: list[AudioFrame] = []
        self.ended = 0
        call.input.start(self.frames.append, self._end)

    def _end(self) -> None:
        self.ended += 1

    def loudest(self, hz: float) -> bool:
        """Whether the last half second sounds, and that pitch stands out in it."""
        samples = np.concatenate([frame.to_float32() for frame in self.frames[-25:]] or [np.zeros(1, np.float32)])
        return _pitch(samples) == pytest.approx(hz, abs=10)


def _pitch(samples: NDArray[np.float32]) -> float:
    """Hz; 0 of silence."""
    if loudness(samples) < 0.05:
        return 0.0
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(samples.size)))
    return float(np.argmax(spectrum)) * RATE / samples.size


def far_pitch(far: FarEnd) -> float:
    """Of the last half second that the far end heard."""
    pieces = [piece.samples for piece in far.heard[-25:]]
    return _pitch(np.concatenate(pieces)) if pieces else 0.0


def run(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


# -- sound


def test_the_caller_is_heard_and_the_agent_is_heard() -> None:
    async def scene() -> None:
        async with a_call() as (call, far):
            ear = Ear(call)
            far.say(tone(1.5, 440))
            call.output.write(tone(1.5, 700))
            await wait_until(lambda: ear.loudest(440) and far_pitch(far) == pytest.approx(700, abs=10))

    run(scene())


def test_frames_come_at_the_pace_of_real_time() -> None:
    async def scene() -> None:
        async with a_call() as (call, _):
            ear = Ear(call)
            await wait_until(lambda: ear.frames)
            began, count = time.monotonic(), len(ear.frames)
            await wait_until(lambda: len(ear.frames) >= count + 50)
            assert 0.85 < time.monotonic() - began < 3.0  # a busy machine hears them late, and never early

    run(scene())


def test_a_pause_is_silent_at_the_far_end_within_100_ms_and_nothing_is_lost_by_it() -> None:
    async def scene() -> None:
        async with a_call() as (call, far):
            call.output.write(tone(0.8))
            await wait_until(lambda: call.output.played > 0.2)
            call.output.pause()
            paused = asyncio.get_running_loop().time()
            await wait_until(lambda: far.heard[-1].at > paused + 0.4)
            in_pause = [piece for piece in far.heard if piece.at > paused + 0.1]
            assert max(loudness(piece.samples) for piece in in_pause) < 0.01
            call.output.resume()
            await wait_until(lambda: call.output.played >= 0.8 - 1e-6)
            sounding = sum(piece.samples.size for piece in far.heard if loudness(piece.samples) > 0.05)
            assert sounding / RATE == pytest.approx(0.8, abs=0.06)

    run(scene())


def test_what_is_cleared_is_not_heard() -> None:
    async def scene() -> None:
        async with a_call() as (call, far):
            call.output.write(tone(0.8))
            await wait_until(lambda: call.output.played > 0.2)
            lost = call.output.clear()
            heard_in_the_end = 0.8 - lost
            await wait_until(lambda: call.output.played >= heard_in_the_end - 1e-6)
            assert lost == pytest.approx(0.8 - 0.2 - FAR_DELAY, abs=0.1)
            sounding = sum(piece.samples.size for piece in far.heard if loudness(piece.samples) > 0.05)
            assert sounding / RATE == pytest.approx(heard_in_the_end, abs=0.06)

    run(scene())


def test_a_stalled_loop_is_not_followed_by_a_burst() -> None:
    async def scene() -> None:
        async with a_call() as (_, far):
            await wait_until(lambda: len(far.heard) > 10)
            before = len(far.heard)
            time.sleep(0.5)  # noqa: ASYNC251 - what this test is about
            stalled_until = asyncio.get_running_loop().time()
            await wait_until(lambda: far.heard[-1].at > stalled_until + 0.1)
            after = [piece for piece in far.heard[before:] if piece.at <= stalled_until + 0.1]
            assert len(after) <= 12, "0.1 s of a steady stream, a little to catch up, and what was under way"

    run(scene())


# -- the end


def test_the_caller_hangs_up() -> None:
    async def scene() -> None:
        reasons: list[str] = []
        async with a_call(on_end=reasons.append) as (call, far):
            ear = Ear(call)
            await wait_until(lambda: ear.frames)
            await far.hang_up()
            await wait_until(lambda: ear.ended)
            assert reasons == ["the caller hung up"]
        assert (ear.ended, len(reasons)) == (1, 1)

    run(scene())


def test_a_caller_who_vanishes_is_given_up_after_the_patience() -> None:
    async def scene() -> None:
        reasons: list[str] = []
        async with (
            BadNetwork.open(Weather()) as network,
            a_call(network, on_end=reasons.append, patience=1.0) as (call, _),
        ):
            ear = Ear(call)
            await wait_until(lambda: len(ear.frames) > 10)
            network.cut = True
            cut = time.monotonic()
            await wait_until(lambda: ear.ended)
            assert 0.5 < time.monotonic() - cut < 5.0
            assert reasons == ["nothing came from the caller for 1 s"]

    run(scene())


def test_a_network_that_comes_back_in_time_ends_nothing() -> None:
    async def scene() -> None:
        async with BadNetwork.open(Weather()) as network, a_call(network, patience=3.0) as (call, far):
            ear = Ear(call)
            await wait_until(lambda: len(ear.frames) > 10)
            network.cut = True
            await wait_until(lambda: call.input.concealed > RATE)
            network.cut = False
            far.say(tone(1.0, 440))
            await wait_until(lambda: ear.loudest(440))
            assert ear.ended == 0

    run(scene())


def test_a_caller_who_never_connects_is_given_up_after_the_deadline() -> None:
    async def scene() -> None:
        reasons: list[str] = []
        call, far = WebRTCCall(LOOPBACK, on_end=reasons.append, connect_timeout=0.5), FarEnd()
        ear = Ear(call)
        await call.answer(await far.offer())
        await wait_until(lambda: ear.ended)
        assert reasons == ["no WebRTC connection came up within 0.5 s; a firewall may block UDP"]
        await call.aclose()
        await far.hang_up()

    run(scene())


def test_after_aclose_no_callback_is_called_and_the_far_end_learns_of_it() -> None:
    async def scene() -> None:
        reasons: list[str] = []
        async with a_call(on_end=reasons.append) as (call, far):
            ear = Ear(call)
            await wait_until(lambda: ear.frames)
            await call.aclose()
            await wait_until(lambda: far.connection.connectionState == "closed")
            assert (reasons, ear.ended) == ([], 0)
            await call.aclose()

    run(scene())


def test_closing_while_the_caller_hangs_up_releases_everything() -> None:
    async def scene() -> None:
        async with a_call() as (call, far):
            ear = Ear(call)
            await wait_until(lambda: ear.frames)
            async with asyncio.timeout(2.0):
                await asyncio.gather(far.hang_up(), call.aclose())
        async with asyncio.timeout(2.0):
            while len(asyncio.all_tasks()) > 1:
                await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})

    run(scene())


def test_a_call_that_was_never_answered_closes_too() -> None:
    async def scene() -> None:
        call = WebRTCCall()
        await call.aclose()
        with pytest.raises(UsageError, match="Make a new WebRTCCall for each offer"):
            await call.answer("v=0")

    run(scene())


def test_a_second_offer_is_refused_with_the_remedy() -> None:
    async def scene() -> None:
        async with a_call() as (call, far):
            with pytest.raises(UsageError, match="Make a new WebRTCCall for each offer"):
                await call.answer(await far.offer())

    run(scene())


def test_an_offer_that_takes_too_long_to_answer_is_refused() -> None:
    async def scene() -> None:
        far = FarEnd()
        with pytest.raises(UsageError, match="Offer IP addresses instead of names"):
            await WebRTCCall(LOOPBACK, connect_timeout=0.0).answer(await far.offer())
        await far.hang_up()

    run(scene())


def test_a_program_that_stalls_for_longer_than_the_patience_ends_nothing() -> None:
    async def scene() -> None:
        async with a_call(patience=0.5) as (call, _):
            ear = Ear(call)
            await wait_until(lambda: ear.frames)
            time.sleep(1.0)  # noqa: ASYNC251 - what this test is about
            heard = len(ear.frames)
            await wait_until(lambda: len(ear.frames) > heard + 20)
            assert ear.ended == 0

    run(scene())


def test_one_address_given_as_text_is_refused() -> None:
    with pytest.raises(UsageError, match=r"as a list of addresses, got the text '127\.0\.0\.1'"):
        WebRTCCall("127.0.0.1")


def test_an_error_of_who_is_told_of_the_end_is_raised_by_aclose() -> None:
    async def scene() -> None:
        def fail(reason: str) -> None:
            raise RuntimeError(reason)

        call, far = WebRTCCall(LOOPBACK, on_end=fail), FarEnd()
        ear = Ear(call)
        await far.accept(await call.answer(await far.offer()))
        await wait_until(lambda: ear.frames)
        await far.hang_up()
        await wait_until(lambda: ear.ended)
        with pytest.raises(RuntimeError, match="the caller hung up"):
            await call.aclose()

    run(scene())


def test_without_aiortc_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiortc", None)
    monkeypatch.delitem(sys.modules, "antiphon.transports.webrtc.peer")

    async def scene() -> None:
        with pytest.raises(UsageError, match=r"pip install 'antiphon\[webrtc\]'"):
            await WebRTCCall().answer("v=0")

    run(scene())


def test_aiortc_is_not_loaded_before_a_call_begins() -> None:
    code = "import sys, antiphon.transports.webrtc; print({'aiortc', 'av', 'numpy'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert loaded.stdout.strip() == "set()"


def test_a_call_leaves_no_warning_behind(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with a_call() as (call, _):
            ear = Ear(call)
            await wait_until(lambda: ear.frames)

    with caplog.at_level(logging.WARNING):
        run(scene())
    assert caplog.records == []
