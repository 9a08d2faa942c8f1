"""What comes from one page, frame by frame, within the limits: more than that is refused, which ends the call.

Above: a call. Below: its socket, open already. What the frames mean is the call's business, but for the first: a page
begins with `start`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from antiphon.console import protocol
from antiphon.console.access import Allowance, Limits
from antiphon.console.protocol import CloseCode, Refused, Start

if TYPE_CHECKING:
    from starlette.websockets import WebSocket


class Incoming:
    """What comes from one page, within the limits."""

    def __init__(self, socket: WebSocket, limits: Limits) -> None:
        self._socket = socket
        self._limits = limits
        self._allowance = Allowance(limits.messages_per_second, limits.messages_burst)

    async def start(self) -> Start:
        """The first message. Raises `Refused` if it is another one, or late."""
        try:
            async with asyncio.timeout(self._limits.start_timeout):
                first = await self.next()
        except TimeoutError:
            raise Refused(
                CloseCode.NO_START, f"expected a start message within {self._limits.start_timeout:g} s, got nothing."
            ) from None
        message = protocol.parse(first) if isinstance(first, str) else None
        if not isinstance(message, Start):
            got = "a binary frame" if message is None else message.type
            raise Refused(CloseCode.MALFORMED, f"expected start as the first message, got {got}.")
        return message

    async def next(self) -> str | bytes | None:
        """The next frame; None when the page is gone. Raises `Refused` for more than is allowed."""
        received = await self._socket.receive()
        if received["type"] == "websocket.disconnect":
            return None
        if not self._allowance.take(1, asyncio.get_running_loop().time()):
            raise Refused(
                CloseCode.TOO_MANY, f"more than {self._limits.messages_per_second:g} messages a second. Send fewer."
            )
        text: str | None = received.get("text")
        if text is None:
            data: bytes = received["bytes"]
            return data
        if len(text) > self._limits.max_text:
            raise Refused(
                CloseCode.TOO_LARGE,
                f"a message of {len(text)} characters: expected {self._limits.max_text} at most.",
            )
        return text
