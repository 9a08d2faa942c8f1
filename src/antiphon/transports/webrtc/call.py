"""One call by WebRTC, from the page's offer to its end.

`answer` makes the connection's other half; from then on a task of the call watches it: whether it comes up in time, and
whether the caller is still there. A caller who vanishes says nothing (a closed lid, a lost network), and ICE takes half
a minute to notice; so a connection over which sound came, and then none for `patience` seconds, is over, too.

Above: the application, which carries offer and answer and gives the two halves to a room. Below: `peer`, loaded at the
first answer, since it is heavy.
"""

from __future__ import annotations

import asyncio
import enum
import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from antiphon.errors import UsageError
from antiphon.transports.webrtc.input import WebRTCInput
from antiphon.transports.webrtc.output import WebRTCOutput

if TYPE_CHECKING:
    from antiphon.transports.webrtc.peer import Peer

MAX_SDP = 32_768
"""Characters of an offer; a browser's has two to five thousand."""

READING = 0.1
"""Seconds in which what came while the program itself stalled is read, before it counts as not having come."""


class _State(enum.Enum):
    NEW = enum.auto()
    """No offer yet."""
    ANSWERING = enum.auto()
    """An offer is being answered."""
    WATCHED = enum.auto()
    """Answered: connecting, connected or just ended; the watching task runs."""
    CLOSED = enum.auto()
    """Closed by us, or never came to be."""


class WebRTCCall:
    """A caller by WebRTC: `input` is their microphone, `output` their loudspeaker.

    `ice_hosts`: the addresses of this machine to be reached at; by default all but loopback. `on_end` is called once,
    with the reason in words, when the caller has gone; `input` ends at the same moment. Neither happens after `aclose`.
    `connect_timeout`: seconds for the connection to come up. `patience`: seconds without a packet from a caller who was
    heard before.
    """

    def __init__(
        self,
        ice_hosts: Sequence[str] | None = None,
        *,
        on_end: Callable[[str], None] | None = None,
        connect_timeout: float = 10.0,
        patience: float = 5.0,
    ) -> None:
        if isinstance(ice_hosts, str):
            raise UsageError(f"WebRTCCall: expected ice_hosts as a list of addresses, got the text {ice_hosts!r}")
        self.input = WebRTCInput()
        self.output = WebRTCOutput()
        self._ice_hosts = ice_hosts
        self._on_end = on_end
        self._connect_timeout = connect_timeout
        self._patience = patience
        self._state = _State.NEW
        self._changed = asyncio.Event()
        self._peer: Peer | None = None
        self._watch: asyncio.Task[None] | None = None

    async def answer(self, offer_sdp: str) -> str:
        """Answer the page's offer, which must hold its ICE candidates. Once in a call.

        Raises `UsageError` for an offer that is malformed, too long or without audio, and if aiortc is not installed.
        The call cannot be used any more then.
        """
        if self._state is not _State.NEW:
            raise UsageError(
                f"WebRTCCall.answer: expected a call without an offer, this one is {self._state.name.lower()}."
                " Make a new WebRTCCall for each offer."
            )
        self._state = _State.ANSWERING
        try:
            async with asyncio.timeout(self._connect_timeout):
                answer = await self._negotiate(offer_sdp)
        except TimeoutError:
            await self.aclose()
            raise UsageError(
                f"WebRTC offer: expected addresses that can be looked up, got no answer made within"
                f" {self._connect_timeout:g} s. Offer IP addresses instead of names."
            ) from None
        except BaseException:
            await self.aclose()
            raise
        self._state = _State.WATCHED
        self._watch = asyncio.create_task(self._watch_over(), name="WebRTCCall: whether the caller is there")
        return answer

    async def _negotiate(self, offer_sdp: str) -> str:
        check_length(offer_sdp)
        try:
            # In a thread: the first import takes half a second, during which other calls go on.
            module = await asyncio.to_thread(importlib.import_module, "antiphon.transports.webrtc.peer")
        except ImportError as error:
            raise UsageError(
                f"WebRTCCall: {error.name} is not installed. Install it with: pip install 'antiphon[webrtc]'"
            ) from None
        peer: Peer = module.Peer(
            take=self.output.take, hear=self.input.hear, on_state=self._changed.set, ice_hosts=self._ice_hosts
        )
        self._peer = peer
        return await peer.answer(offer_sdp)

    async def aclose(self) -> None:
        """Hang up and release everything. No callback is called afterwards. Later calls do nothing."""
        if self._state is _State.CLOSED:
            return
        self._state = _State.CLOSED
        await self.input.aclose()
        await self.output.aclose()
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        if self._peer is not None:
            await self._peer.aclose()
        if self._watch is not None and not self._watch.cancelled():
            self._watch.result()

    # -- is the caller there?

    async def _watch_over(self) -> None:
        assert self._peer is not None
        reason = await self._end_of(self._peer)
        self.input.end()
        if self._on_end is not None:
            self._on_end(reason)
        await self._peer.aclose()

    async def _end_of(self, peer: Peer) -> str:
        """Wait until the caller has gone. Returns why, in words."""
        try:
            async with asyncio.timeout(self._connect_timeout):
                while peer.state in ("new", "connecting"):
                    await self._change()
        except TimeoutError:
            return f"no WebRTC connection came up within {self._connect_timeout:g} s; a firewall may block UDP"
        if peer.state == "failed":
            return "the WebRTC connection could not be made; a firewall may block UDP"
        while peer.state == "connected":
            try:
                async with asyncio.timeout_at(self._deadline(peer)):
                    await self._change()
            except TimeoutError:
                await asyncio.sleep(READING)
                if self._is_silent(peer):
                    return f"nothing came from the caller for {self._patience:g} s"
        return "the caller hung up" if peer.state == "closed" else "the WebRTC connection broke"

    async def _change(self) -> None:
        """Wait until the connection's state changes."""
        self._changed.clear()
        await self._changed.wait()

    def _deadline(self, peer: Peer) -> float:
        """When to look next whether the caller is still heard."""
        now = asyncio.get_running_loop().time()
        return (now if peer.last_packet is None else peer.last_packet) + self._patience

    def _is_silent(self, peer: Peer) -> bool:
        now = asyncio.get_running_loop().time()
        return peer.last_packet is not None and now >= peer.last_packet + self._patience


def check_length(offer_sdp: str) -> None:
    """Raise `UsageError` for an offer of more than `MAX_SDP` characters, before anything looks into it."""
    if len(offer_sdp) > MAX_SDP:
        raise UsageError(
            f"WebRTC offer: expected at most {MAX_SDP} characters, got {len(offer_sdp)}."
            " Send the offer as the browser made it."
        )
