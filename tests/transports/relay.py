"""A bad network in user space: UDP between two ends on this machine, late, out of order, and not all of it.

`BadNetwork.between` rewrites offer and answer so that all of a WebRTC call passes the relay; with other candidates left
in them the two ends would find the direct way and go round it.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

Address = tuple[str, int]

HOST = "127.0.0.1"
_CANDIDATE = re.compile(r"^a=candidate:(\S+) 1 udp (\d+) (\S+) (\d+) typ host.*$", re.MULTILINE)


@dataclass(slots=True, frozen=True)
class Weather:
    """What happens to packets, in each direction."""

    delay: float = 0.0
    """Seconds on the way."""
    jitter: float = 0.0
    """Standard deviation of that, in seconds."""
    loss: float = 0.0
    """Share of the packets that do not arrive."""


class _Side(asyncio.DatagramProtocol):
    """The relay's socket towards one end. It pretends to be the other end."""

    def __init__(self, network: BadNetwork) -> None:
        self.end: Address | None = None
        self.other: _Side | None = None
        self.transport: asyncio.DatagramTransport | None = None
        self._network = network

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # asyncio's own gap: this is a datagram transport

    def datagram_received(self, data: bytes, addr: Address) -> None:
        self.end = addr
        assert self.other is not None
        self._network.carry(data, self.other)

    def send(self, data: bytes) -> None:
        if self.end is not None and self.transport is not None and not self.transport.is_closing():
            self.transport.sendto(data, self.end)

    @property
    def port(self) -> int:
        assert self.transport is not None
        return int(self.transport.get_extra_info("sockname")[1])


class BadNetwork:
    """Two sockets and the weather between them. `weather` may change at any time; `cut` makes both ends vanish."""

    def __init__(self, weather: Weather, seed: int) -> None:
        self.weather = weather
        self.cut = False
        self._random = random.Random(seed)
        self._near, self._far = _Side(self), _Side(self)
        self._near.other, self._far.other = self._far, self._near

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, weather: Weather, *, seed: int = 1) -> AsyncIterator[BadNetwork]:
        network = cls(weather, seed)
        loop = asyncio.get_running_loop()
        for side in (network._near, network._far):
            await loop.create_datagram_endpoint(lambda side=side: side, local_addr=(HOST, 0))  # type: ignore[misc]
        try:
            yield network
        finally:
            for side in (network._near, network._far):
                assert side.transport is not None
                side.transport.close()

    def offer(self, sdp: str) -> str:
        """The far end's offer, as if the far end were at the relay."""
        return self._move(sdp, end=self._far, to=self._near)

    def answer(self, sdp: str) -> str:
        """The near end's answer, as if the near end were at the relay."""
        return self._move(sdp, end=self._near, to=self._far)

    def carry(self, data: bytes, to: _Side) -> None:
        """Take a packet towards one end, if it does not get lost."""
        weather = self.weather
        if self.cut or self._random.random() < weather.loss:
            return
        delay = max(self._random.gauss(weather.delay, weather.jitter), 0.0)
        asyncio.get_running_loop().call_later(delay, to.send, data)

    @staticmethod
    def _move(sdp: str, *, end: _Side, to: _Side) -> str:
        found = _CANDIDATE.search(sdp)
        assert found is not None, "no host candidate"
        end.end = (found[3], int(found[4]))
        here = f"a=candidate:1 1 udp {found[2]} {HOST} {to.port} typ host"
        first = True

        def move(_: re.Match[str]) -> str:
            nonlocal first
            moved, first = (here if first else "a=x-moved"), False
            return moved

        return re.sub(r"^a=candidate:.*$", move, sdp.replace("\r\n", "\n"), flags=re.MULTILINE).replace("\n", "\r\n")
