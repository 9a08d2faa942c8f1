"""The other end of a WebRTC call, in Python: what a browser is to `WebRTCCall`.

`FarEnd` speaks what its `mouth` holds and keeps what it hears with the time at which it came, by means of the same
library; that a browser does the same is for the browser's tests to say.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

from antiphon.audio import AudioFrame
from antiphon.transports.webrtc import WebRTCCall
from antiphon.transports.webrtc.peer import OpusDecoder, SpeakingTrack, tap_packets, use_addresses
from antiphon.transports.webrtc.rtp import Reorder, RtpPacket
from tests.transports.relay import BadNetwork

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE = 48_000
LOOPBACK = ("127.0.0.1",)


@dataclass(slots=True, frozen=True)
class Heard:
    """A piece of sound, and when it came by the event loop's clock."""

    at: float
    samples: NDArray[np.float32]


class FarEnd:
    """A person with a telephone in the browser's place."""

    def __init__(self) -> None:
        self.mouth = bytearray()
        """Mono 16-bit sound at 48 kHz still to be said."""
        self.said: list[tuple[float, bytes]] = []
        """What was said when."""
        self.heard: list[Heard] = []
        self._decoder = OpusDecoder()
        self._reorder = Reorder()
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        transceiver = self.connection.addTransceiver(SpeakingTrack(self._speak), direction="sendrecv")
        tap_packets(transceiver.receiver, self._hear)
        use_addresses(transceiver.receiver, LOOPBACK)

    async def offer(self) -> str:
        await self.connection.setLocalDescription(await self.connection.createOffer())
        return self.connection.localDescription.sdp

    async def accept(self, answer_sdp: str) -> None:
        await self.connection.setRemoteDescription(RTCSessionDescription(answer_sdp, "answer"))

    async def hang_up(self) -> None:
        await self.connection.close()

    def say(self, sound: AudioFrame) -> None:
        assert (sound.sample_rate, sound.num_channels) == (RATE, 1)
        self.mouth += sound.data

    def _speak(self) -> bytes:
        sound = bytes(self.mouth[:1920])
        del self.mouth[:1920]
        self.said.append((asyncio.get_running_loop().time(), sound))
        return sound.ljust(1920, b"\0")

    def _hear(self, packet: RtpPacket) -> None:
        now = asyncio.get_running_loop().time()
        for due in self._reorder.add(packet):
            sound = AudioFrame(self._decoder.decode(due.payload), RATE)
            self.heard.append(Heard(now, sound.to_float32()))


@contextlib.asynccontextmanager
async def a_call(network: BadNetwork | None = None, **options: Any) -> AsyncIterator[tuple[WebRTCCall, FarEnd]]:
    """A call between `WebRTCCall` and `FarEnd`, offered, answered and accepted, over that network if one is given."""
    call, far = WebRTCCall(LOOPBACK, **options), FarEnd()
    try:
        offer = await far.offer()
        answer = await call.answer(network.offer(offer) if network else offer)
        await far.accept(network.answer(answer) if network else answer)
        yield call, far
    finally:
        await far.hang_up()
        await call.aclose()


def tone(seconds: float, hz: float = 440.0, level: float = 0.3) -> AudioFrame:
    t = np.arange(round(seconds * RATE)) / RATE
    return AudioFrame.from_float32((level * np.sin(2 * np.pi * hz * t)).astype(np.float32), RATE)


def loudness(samples: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.mean(samples**2))) if samples.size else 0.0
