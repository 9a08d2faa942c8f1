"""How a page's call carries sound: over its own socket, over WebRTC beside it, or not at all.

Above: a call, which hands on what the page sends. Below: the transports. A call does not know which it is; what a page
sends and its kind of call has no use for is refused here.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from antiphon.console import protocol
from antiphon.console.access import Allowance, Limits
from antiphon.console.line import Line
from antiphon.console.protocol import CloseCode, Refused, Start
from antiphon.errors import UsageError
from antiphon.transport import AudioInput, AudioOutput
from antiphon.transports.websocket import WebSocketInput, WebSocketOutput

if TYPE_CHECKING:
    from antiphon.transports.webrtc import WebRTCCall

logger = logging.getLogger("antiphon")

Kind: TypeAlias = Literal["text", "websocket", "webrtc"]


class Media:
    """A call in text; and what the kinds of call with sound have in common."""

    kind: Kind = "text"
    lag: float = 0.0
    """Seconds that the caller's sound is behind the messages of the page."""
    input: AudioInput | None = None
    output: AudioOutput | None = None

    async def connect(self) -> None:
        """Wait until sound can travel. Raises `Refused` if it does not come to that."""

    def hear(self, data: bytes, now: float) -> None:
        """A binary frame came from the page."""
        raise Refused(CloseCode.MALFORMED, f"expected no binary frames in a {self.kind} call. Send them by its track.")

    def report(self, epoch: int, samples: int) -> None:
        """The page says how much has sounded."""

    def offer(self, sdp: str) -> None:
        """The page offers WebRTC."""
        raise Refused(CloseCode.MALFORMED, f"expected no offer in a {self.kind} call. Start it with transport webrtc.")

    async def ended(self) -> str:
        """Wait until sound cannot travel any more. Returns why."""
        await asyncio.get_running_loop().create_future()
        raise AssertionError("unreachable")

    async def aclose(self) -> None:
        """Release what there is."""


class SocketMedia(Media):
    """Sound over the socket of the call."""

    kind: Kind = "websocket"

    def __init__(self, line: Line, rate: int, limits: Limits) -> None:
        self.input: WebSocketInput = WebSocketInput(sample_rate=rate)
        self.output: WebSocketOutput = WebSocketOutput(line, sample_rate=rate)
        self._rate = rate
        self._longest = 2 * round(limits.max_frame * rate)
        self._allowance = Allowance(limits.sound_per_second, limits.sound_burst)

    def hear(self, data: bytes, now: float) -> None:
        if len(data) > self._longest:
            longest = 500 * self._longest // self._rate
            raise Refused(CloseCode.TOO_LARGE, f"a frame of {len(data)} bytes: expected {longest} ms of sound at most.")
        if len(data) % 2 or not data:
            raise Refused(CloseCode.MALFORMED, f"expected whole 16-bit samples, got {len(data)} bytes.")
        if not self._allowance.take(len(data) / 2 / self._rate, now):
            raise Refused(CloseCode.TOO_MANY, "more sound than time has passed. Send it as it is recorded.")
        self.input.push(data)

    def report(self, epoch: int, samples: int) -> None:
        self.output.report(epoch, samples)

    async def aclose(self) -> None:
        self.input.end()


class WebRTCMedia(Media):
    """Sound over WebRTC. Offer and answer travel over the socket of the call."""

    kind: Kind = "webrtc"
    lag = 0.15  # the browser's encoder, the network, and packets that are put in order

    def __init__(self, line: Line, limits: Limits, ice_hosts: tuple[str, ...] | None) -> None:
        from antiphon.transports.webrtc import WebRTCCall

        self._line = line
        self._timeout = limits.offer_timeout
        self._gone: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._offer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._call: WebRTCCall = WebRTCCall(ice_hosts, on_end=self._on_end)
        self.input = self._call.input
        self.output = self._call.output

    def _on_end(self, reason: str) -> None:
        if not self._gone.done():
            self._gone.set_result(reason)

    def offer(self, sdp: str) -> None:
        if self._offer.done():
            raise Refused(CloseCode.MALFORMED, "expected one offer in a call, got a second. Make a new call.")
        self._offer.set_result(sdp)

    async def connect(self) -> None:
        sdp = await self._offered()
        if importlib.util.find_spec("aiortc") is None:
            await self._decline()
        try:
            self._line.send(protocol.answer(await self._call.answer(sdp)))
        except UsageError as error:
            raise Refused(CloseCode.MALFORMED, str(error)) from error

    async def _offered(self) -> str:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._offer
        except TimeoutError:
            raise Refused(CloseCode.NO_START, f"no WebRTC offer came within {self._timeout:g} s.") from None

    async def _decline(self) -> NoReturn:
        """There is no WebRTC here: the page may call again with its sound on the socket."""
        remedy = "Install it with: pip install 'antiphon[webrtc]'"
        logger.warning("a page asked for WebRTC, and aiortc is not installed. %s", remedy)
        self._line.send(protocol.answer(""))
        await asyncio.sleep(self._timeout)
        raise Refused(CloseCode.INTERNAL, f"no WebRTC: aiortc is not installed. {remedy}")

    async def ended(self) -> str:
        return await asyncio.shield(self._gone)

    async def aclose(self) -> None:
        await self._call.aclose()


def media_for(start: Start, line: Line, limits: Limits, ice_hosts: tuple[str, ...] | None) -> Media:
    """The way that a page asked for."""
    if not start.audio:
        return Media()
    if start.transport == "webrtc":
        return WebRTCMedia(line, limits, ice_hosts)
    return SocketMedia(line, start.rate, limits)
