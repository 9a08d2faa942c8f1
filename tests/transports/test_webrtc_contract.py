"""A call by WebRTC keeps the promises of every transport, as its far end sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from antiphon.audio import AudioFrame
from antiphon.testing import Heard, TransportUnderTest, check_transport, wait_until
from antiphon.transports.webrtc import WebRTCCall
from antiphon.transports.webrtc.output import FAR_DELAY
from tests.transports.far_end import LOOPBACK, RATE, FarEnd

ATTEMPTS = 3
"""The promises are about real time, and what else the machine does can only delay."""


class Line(TransportUnderTest):
    microphone_rate = RATE

    def __init__(self) -> None:
        self.call = WebRTCCall(LOOPBACK)
        self.far = FarEnd()
        self.input, self.output = self.call.input, self.call.output

    async def connect(self) -> Line:
        await self.far.accept(await self.call.answer(await self.far.offer()))
        await wait_until(lambda: self.far.heard)
        return self

    async def speak(self, frame: AudioFrame) -> None:
        self.far.say(frame)

    def heard(self) -> Sequence[Heard]:
        return [Heard(piece.at, AudioFrame.from_float32(piece.samples, RATE)) for piece in self.far.heard]

    async def hang_up(self) -> None:
        await self.far.hang_up()

    async def aclose(self) -> None:
        await self.far.hang_up()
        await self.call.aclose()


def test_webrtc_keeps_the_promises_of_a_transport() -> None:
    async def check() -> None:
        await check_transport(
            lambda: Line().connect(),
            exact=False,
            # What was sent counts as played only when it sounds, and a far end in Python plays at once.
            tolerance=FAR_DELAY + 0.03,
            latency=0.05,
        )

    for attempt in range(1, ATTEMPTS + 1):
        try:
            asyncio.run(check())
            return
        except AssertionError:
            if attempt == ATTEMPTS:
                raise
