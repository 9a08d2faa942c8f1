"""One peer connection by aiortc, sound going in and out as plain samples: the one place that knows aiortc and Opus.

aiortc's own way in does not suit a listener: after the first lost packet its audio jitter buffer stays about 280 ms
late for the rest of the call, since it hands out at most one frame for each packet that comes. `_PacketTap` takes its
place: it sees each packet, in the event loop, and what lies behind it (order, decoding) is ours, while aiortc's decoder
thread has nothing to do. On the way out the track gives packets that are encoded already, which spares a change of
thread for each.

aiortc offers no public way to see packets (`tap_packets`) and to choose the addresses that ICE uses (`use_addresses`).
The release is pinned, and one that moved what these two reach for is refused by name.

Above: `call`, which imports this module when a call begins. Below: aiortc, aioice, PyAV.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import av
from aiortc import RTCConfiguration, RTCPeerConnection, RTCRtpReceiver, RTCRtpSender, RTCSessionDescription
from aiortc.exceptions import InvalidAccessError, InvalidStateError, OperationError
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from aiortc.sdp import SessionDescription

from antiphon.errors import UsageError
from antiphon.transports.webrtc.pacer import Pacer
from antiphon.transports.webrtc.rtp import FRAME, SAMPLE_RATE, Reorder, RtpPacket

BIT_RATE = 40_000
EXPECTED_LOSS = 5
"""Percent of packets against which Opus protects speech by repeating it in the next one."""
MAX_CANDIDATES = 64
CLOSE_TIMEOUT = 3.0

logger = logging.getLogger("antiphon")

_TICK = Fraction(1, SAMPLE_RATE)
_INSIDE = "_RTCRtpReceiver__jitter_buffer"
# What aiortc's parser raises, depending on where a text stops being SDP.
_MALFORMED = (ValueError, IndexError, KeyError, AttributeError, AssertionError, TypeError)


class OpusEncoder:
    """Frames of 20 ms to Opus packets: mono, tuned for speech, speech repeated against loss."""

    def __init__(self) -> None:
        codec = av.CodecContext.create("libopus", "w")
        assert isinstance(codec, av.AudioCodecContext)
        codec.format = av.AudioFormat("s16")
        codec.layout = av.AudioLayout("mono")
        codec.sample_rate = SAMPLE_RATE
        codec.bit_rate = BIT_RATE
        codec.time_base = _TICK
        codec.options = {"application": "voip", "fec": "1", "packet_loss": str(EXPECTED_LOSS)}
        self._codec = codec
        self._position = 0

    def encode(self, sound: bytes) -> bytes:
        """The packet for 960 samples."""
        frame = av.AudioFrame(format="s16", layout="mono", samples=FRAME)
        frame.planes[0].update(sound)
        frame.sample_rate = SAMPLE_RATE
        frame.time_base = _TICK
        frame.pts = self._position
        self._position += FRAME
        (packet,) = self._codec.encode(frame)  # frames are of Opus' own length: one in, one out
        return bytes(packet)


class OpusDecoder:
    """Opus packets to mono samples at 48 kHz."""

    def __init__(self) -> None:
        codec = av.CodecContext.create("libopus", "r")
        assert isinstance(codec, av.AudioCodecContext)
        codec.format = av.AudioFormat("s16")
        codec.layout = av.AudioLayout("mono")
        codec.sample_rate = SAMPLE_RATE
        self._codec = codec

    def decode(self, payload: bytes) -> bytes:
        """The sound of a packet; nothing if it is broken."""
        try:
            frames = self._codec.decode(av.Packet(payload))
        except av.FFmpegError:
            return b""
        return b"".join(bytes(frame.planes[0])[: 2 * frame.samples] for frame in frames)


class SpeakingTrack(MediaStreamTrack):
    """What is sent: a packet every 20 ms, with timestamps that keep in step with time."""

    kind = "audio"

    def __init__(self, take: Callable[[], bytes]) -> None:
        super().__init__()
        self._take = take
        self._encoder = OpusEncoder()
        self._pacer = Pacer()

    async def recv(self) -> av.Packet[Any]:
        """The next packet, when it is time for it. Raises `MediaStreamError` once stopped."""
        number, delay = self._pacer.next(asyncio.get_running_loop().time())
        if delay:
            await asyncio.sleep(delay)
        if self.readyState != "live":
            raise MediaStreamError
        packet = av.Packet(self._encoder.encode(self._take()))
        packet.pts = number * FRAME
        packet.time_base = _TICK
        return packet


class _PacketTap:
    """Stands where aiortc's jitter buffer stood, passes each packet on, and gives aiortc nothing to decode."""

    capacity = 0

    def __init__(self, on_packet: Callable[[RtpPacket], None]) -> None:
        self._on_packet = on_packet

    def add(self, packet: Any) -> tuple[bool, None]:
        self._on_packet(RtpPacket(packet.sequence_number, packet.timestamp, packet.payload))
        return False, None


def tap_packets(receiver: RTCRtpReceiver, on_packet: Callable[[RtpPacket], None]) -> None:
    """Have each packet of a receiver, instead of frames from its track. Before the connection is up."""
    _require(receiver, _INSIDE)
    setattr(receiver, _INSIDE, _PacketTap(on_packet))


def use_addresses(receiver: RTCRtpReceiver, hosts: Sequence[str]) -> None:
    """Offer these addresses of this machine to the peer, and no others. Before candidates are gathered."""
    gatherer = receiver.transport.transport.iceGatherer
    _require(gatherer, "_connection")
    connection: Any = gatherer._connection
    _require(connection, "get_component_candidates")
    gather = connection.get_component_candidates

    @functools.wraps(gather)
    async def of_hosts(component: int, addresses: list[str], timeout: int = 5) -> Any:
        return await gather(component=component, addresses=list(hosts), timeout=timeout)

    connection.get_component_candidates = of_hosts


def _require(owner: object, attribute: str) -> None:
    if not hasattr(owner, attribute):
        raise UsageError(
            f"WebRTCCall: expected aiortc 1.16, where {type(owner).__name__} has {attribute}; this one has not."
            " Install the release that the extra names: pip install 'antiphon[webrtc]'"
        )


class Peer:
    """A peer connection with one audio section.

    `take()` gives each 20 ms to send; `hear(timestamp, sound)` gets what arrives, in order; `on_state()` is told when
    `state` changes.
    """

    def __init__(
        self,
        *,
        take: Callable[[], bytes],
        hear: Callable[[int, bytes], None],
        on_state: Callable[[], None],
        ice_hosts: Sequence[str] | None,
    ) -> None:
        self.last_packet: float | None = None
        """When sound last arrived, by the event loop's clock; None before."""
        self._hear = hear
        self._ice_hosts = ice_hosts
        self._closing: asyncio.Task[None] | None = None
        self._reorder = Reorder()
        self._decoder = OpusDecoder()
        # Without an empty list aiortc would ask a public server for this machine's address.
        self._connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._connection.on("connectionstatechange", on_state)
        transceiver = self._connection.addTransceiver(SpeakingTrack(take), direction="sendrecv")
        transceiver.setCodecPreferences(
            [codec for codec in RTCRtpSender.getCapabilities("audio").codecs if codec.mimeType.lower() == "audio/opus"]
        )
        tap_packets(transceiver.receiver, self._on_packet)
        if ice_hosts is not None:
            use_addresses(transceiver.receiver, ice_hosts)

    @property
    def state(self) -> str:
        """One of "new", "connecting", "connected", "failed", "closed"."""
        return self._connection.connectionState

    async def answer(self, offer_sdp: str) -> str:
        """The answer to an offer, with all candidates. Raises `UsageError` for an offer that it cannot serve."""
        check_offer(offer_sdp)
        try:
            await self._connection.setRemoteDescription(RTCSessionDescription(offer_sdp, "offer"))
            await self._connection.setLocalDescription()
        except OperationError:
            raise UsageError(
                "WebRTC offer: expected Opus among its audio codecs, found none that is known. Offer audio/opus."
            ) from None
        except (*_MALFORMED, InvalidStateError, InvalidAccessError):
            raise _malformed() from None
        answer = self._connection.localDescription.sdp
        if "a=candidate:" not in answer:
            lack = "no network" if self._ice_hosts is None else f"no such address: {', '.join(self._ice_hosts)}"
            raise UsageError(
                f"WebRTCCall: expected an address to offer to the caller, but this machine has {lack}."
                " Give one of its addresses as ice_hosts, or use the WebSocket transport."
            )
        return answer

    async def aclose(self) -> None:
        """Say goodbye and release the sockets. Later calls wait for the first one."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="Peer: closing")
        # aiortc must not be cancelled in the middle: what waits for its end would then wait for ever.
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._connection.close()
        except TimeoutError:
            logger.warning("a WebRTC connection did not close within %g s", CLOSE_TIMEOUT)

    def _on_packet(self, packet: RtpPacket) -> None:
        self.last_packet = asyncio.get_running_loop().time()
        for due in self._reorder.add(packet):
            if sound := self._decoder.decode(due.payload):
                self._hear(due.timestamp, sound)


def check_offer(offer_sdp: str) -> None:
    """Raise `UsageError` unless this is an offer with one audio section that can be connected to."""
    try:
        description = SessionDescription.parse(offer_sdp)
    except Exception:  # aiortc's parser raises whatever it trips over: a StopIteration, too
        raise _malformed() from None
    kinds = [media.kind for media in description.media]
    if kinds != ["audio"]:
        raise UsageError(
            f"WebRTC offer: expected exactly one audio section, got {', '.join(kinds) or 'none'}."
            " Add one audio track or transceiver, and no video or data channel, before the offer is made."
        )
    (audio,) = description.media
    if audio.dtls is None or not audio.dtls.fingerprints:
        raise UsageError("WebRTC offer: expected a DTLS fingerprint, got none. Send the offer as the browser made it.")
    if len(audio.ice_candidates) > MAX_CANDIDATES:
        raise UsageError(
            f"WebRTC offer: expected at most {MAX_CANDIDATES} ICE candidates, got {len(audio.ice_candidates)}."
            " Send the offer as the browser made it."
        )


def _malformed() -> UsageError:
    return UsageError(
        "WebRTC offer: expected SDP as a browser makes it, got text that is not. Send the offer as the browser made it."
    )
