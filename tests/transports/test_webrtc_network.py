"""What a bad network does to a call: words come through soon, and no delay stays behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np

from antiphon.audio import AudioFrame
from antiphon.testing import wait_until
from tests.transports.far_end import RATE, a_call, tone
from tests.transports.relay import BadNetwork, Weather

BURSTS = 24
ATTEMPTS = 3
FRAMES = 10
"""Frames of 20 ms from one burst of sound to the next; the last three of them sound."""


def onsets(frames: list[tuple[float, AudioFrame]]) -> list[float]:
    """When sound began after silence."""
    found: list[float] = []
    last = -1.0
    for at, frame in frames:
        if np.abs(frame.to_float32()).max() > 0.03:
            if at > last + 0.1:
                found.append(at)
            last = at
    return found


async def uplink(weather: Weather, seed: int = 1) -> tuple[list[float], float]:
    """How long bursts of sound took from the far end's microphone to the session, and how far the clock went wrong."""
    loop = asyncio.get_running_loop()
    frames: list[tuple[float, AudioFrame]] = []
    async with BadNetwork.open(weather, seed=seed) as network, a_call(network) as (call, far):
        call.input.start(lambda frame: frames.append((loop.time(), frame)), lambda: None)
        await wait_until(lambda: len(frames) > 10)
        first = len(far.said)
        for _ in range(BURSTS):
            far.say(AudioFrame.silence(0.02 * (FRAMES - 3), RATE))
            far.say(tone(0.06, 1000, 0.5))
        far.say(AudioFrame.silence(0.2, RATE))
        await wait_until(lambda: not far.mouth, timeout=20.0)
        heard = onsets(frames)
        began = [far.said[first + FRAMES * burst + FRAMES - 3][0] for burst in range(BURSTS)]
    delays = [min((at - moment for at in heard if at >= moment), default=1.0) for moment in began]
    drift = sum(frame.duration for _, frame in frames) - (frames[-1][0] - frames[0][0])
    return delays, drift


def measured(weather: Weather) -> tuple[list[float], float]:
    return asyncio.run(uplink(weather))


def within(weather: Weather, limit: float, figure: Callable[[list[float], float], float]) -> bool:
    """Whether the figure is within its limit, in one of several runs: what else the machine does can only delay."""
    return any(figure(*measured(weather)) <= limit for _ in range(ATTEMPTS))


def test_with_a_lossy_network_words_arrive_within_60_ms() -> None:
    """20 ms of that are the way."""
    assert within(Weather(delay=0.02, loss=0.02), 0.06, lambda delays, _: float(np.median(delays)))


def test_after_many_losses_no_delay_stays_behind() -> None:
    assert within(Weather(delay=0.02, loss=0.1), 0.05, lambda delays, _: float(np.median(delays[-8:])))


def test_jitter_and_loss_do_not_make_the_callers_clock_go_wrong() -> None:
    assert within(Weather(delay=0.03, jitter=0.008, loss=0.05), 0.15, lambda _, drift: abs(drift))
