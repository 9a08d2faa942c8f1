"""A call in a LiveKit room keeps the promises of every transport, as the caller's end sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from antiphon.audio import AudioFrame
from antiphon.testing import Heard, TransportUnderTest, check_transport, wait_until
from antiphon.transports.livekit import LiveKitCall
from antiphon.transports.livekit.output import FAR_DELAY
from tests.livekit.caller import RATE, RoomCaller, new_room, token
from tests.livekit.real import Address, needs_server

pytestmark = needs_server


class Line(TransportUnderTest):
    microphone_rate = RATE

    def __init__(self, server: Address) -> None:
        room = new_room("line")
        self.call = LiveKitCall(server.url, token(server, room, "agent", kind="agent"))
        self.far = RoomCaller(server, room)
        self.input, self.output = self.call.input, self.call.output

    async def connect(self) -> Line:
        await self.far.join()
        await self.call.join()
        await wait_until(lambda: self.far.heard)
        return self

    async def speak(self, frame: AudioFrame) -> None:
        await self.far.say(frame)

    def heard(self) -> Sequence[Heard]:
        return self.far.heard

    async def hang_up(self) -> None:
        await self.far.leave()

    async def aclose(self) -> None:
        await self.call.leave()
        await self.far.leave()


@pytest.mark.timeout(120)
def test_a_call_in_a_room_keeps_the_promises_of_a_transport(livekit_server: Address) -> None:
    async def check() -> None:
        await check_transport(
            lambda: Line(livekit_server).connect(), exact=False, tolerance=FAR_DELAY + 0.05, latency=0.06
        )

    asyncio.run(check())
