"""The connections of the page server, byte by byte: uvicorn's, within limits that uvicorn has not.

uvicorn bounds the head of a request and the length of a message, but not what it costs to take bytes apart: 200 kB of
empty frames or of one-byte chunks stop the event loop, and all calls with it, for half a second. So bytes are taken
apart a little at a time, frames are counted, bodies are not read, and pongs wait for a client that reads.

Above: `door`, which decides how long a connection may wait and for what. Below: uvicorn's protocols, h11, websockets.
What messages mean, and how many of them a call may send, is none of this module's business.
"""

from __future__ import annotations

import asyncio
import enum
from asyncio.transports import BaseTransport
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState

from antiphon.console.access import Allowance
from antiphon.console.protocol import CloseCode

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent

SLICE = 512
"""Bytes that are taken apart without a look at what they were: some 80 empty frames, a millisecond."""
FRAMES_AT_ONCE = 64
"""Frames after which a socket lets the others have their turn. Nothing is lost: it goes on right after."""
FRAMES_PER_SECOND = 1_000.0
"""Frames of every kind, pings and pieces of messages among them. A page sends 100 in a second."""
FRAMES_BURST = 4_000.0
"""Frames that may come at once, after a network has held them back. Beyond, the socket is closed with 4429."""
BYTES_PER_SECOND = 1_000_000.0
"""Bytes on a socket. Sound at the highest rate that a page may name takes 460,000."""
BYTES_BURST = 8_000_000.0
"""Bytes that may come at once, after a network has held them back. Beyond, the socket is closed with 4429."""
MAX_MESSAGE = 1_000_000
"""Bytes of a message, all its pieces together. Beyond, the socket is closed with 1009."""
MAX_HEAD = 16_384
"""Bytes of the head of a request, and of what comes before it is read. Beyond, the answer is HTTP 400."""
BODIES = "/telephone/"
"""What begins with this takes bodies, of a length that is said before: carriers send forms."""
MAX_BODY = 8_192
"""Bytes of such a body."""


class Wait(enum.Enum):
    """What a connection waits for, and how many seconds, after which it is cut."""

    REQUEST = 10.0
    """The head of a request, its last byte too; and the handshake of TLS before."""
    READER = 30.0
    """A client that takes nothing of what it was sent. So much fits into the buffers that a pause is not noticed."""
    ANSWER = 60.0
    """An answer that is being made."""
    CLOSE = 5.0
    """A connection that was closed, for its last bytes to be taken, and for a socket's other side to agree."""


@dataclass(slots=True, frozen=True)
class Waiting:
    """What a connection waits for. As long as this is equal, it has waited without a break."""

    what: Wait
    number: int = 0
    """Of the request that is waited for, or how often the client has taken something."""


class HttpConnection(H11Protocol):
    """HTTP until it becomes a WebSocket. What comes behind a request is not read: the answer, then the end.

    But for short bodies of what begins with `BODIES`.
    """

    _requests = _taken = 0

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), SLICE):
            if self.transport.is_closing():
                return
            try:
                super().data_received(data[start : start + SLICE])
            except h11.LocalProtocolError:  # nonsense behind a request that is being answered
                self.transport.abort()
                return
            if self.transport.get_protocol() is not self:  # it has become a socket
                if self.conn.trailing_data[0] or data[start + SLICE :]:
                    self.transport.abort()  # whoever asks to speak waits for the answer
                return
            is_answering = self.cycle is not None and not self.cycle.response_complete
            if is_answering and self.conn.their_state is h11.SEND_BODY and self._takes_body:
                continue
            if is_answering and (self.conn.their_state is h11.SEND_BODY or data[start + SLICE :] or self._has_more):
                self.cycle.keep_alive = False  # the answer, then the end
                self.flow.pause_reading()
                return

    @property
    def _takes_body(self) -> bool:
        """What is behind this request is short, and somebody reads it."""
        length = dict(self.headers).get(b"content-length", b"")
        is_short = length.isdigit() and len(length) < 6 and int(length) <= MAX_BODY
        return is_short and self.scope["path"].startswith(BODIES)

    @property
    def _has_more(self) -> bool:
        """Another request has come before the answer: browsers do not do so."""
        return bool(self.conn.trailing_data[0])

    def on_response_complete(self) -> None:
        self._requests += 1
        super().on_response_complete()

    def resume_writing(self) -> None:
        self._taken += 1
        super().resume_writing()

    @property
    def waiting(self) -> Waiting:
        """What it waits for."""
        if self.transport.is_closing():
            return Waiting(Wait.CLOSE)
        if self.flow.write_paused:
            return Waiting(Wait.READER, self._taken)
        if self.cycle is None or self.cycle.response_complete:
            return Waiting(Wait.REQUEST, self._requests)
        return Waiting(Wait.ANSWER, self._taken)


class SocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket. Whoever sends too much is closed with a code; nothing is read before it was accepted."""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self._frames = Allowance(FRAMES_PER_SECOND, FRAMES_BURST)
        self._bytes = Allowance(BYTES_PER_SECOND, BYTES_BURST)
        self._taken = 0
        """How often the client has taken what waited for it."""
        self._unparsed = bytearray()
        self._parsing: asyncio.Handle | None = None
        self._at_once = 0
        """Frames of this turn."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_parsing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.handshake_initiated and not self.handshake_complete:
            self.transport.abort()  # whoever asks to speak waits for the answer
        elif not self._bytes.take(len(data), self.loop.time()):
            self._give_up(f"more than {BYTES_PER_SECOND / 1000:g} kB a second. Send less.")
        else:
            self._unparsed += data
            if self._parsing is None:
                self._parse()

    def _parse(self) -> None:
        """Take what came apart, a little at a time. In between, other calls have their turn."""
        self._parsing = None
        self._at_once = 0
        while self._unparsed and not self.transport.is_closing():
            if self._at_once >= FRAMES_AT_ONCE:
                self._parsing = self.loop.call_soon(self._parse)
                return
            piece = bytes(self._unparsed[:SLICE])
            del self._unparsed[:SLICE]
            try:
                super().data_received(piece)
            except (InvalidState, AssertionError):  # uvicorn trips over what comes behind a message that it refused
                self.transport.abort()
            if self.conn.handshake_exc is not None and not self.handshake_initiated:
                self._refuse_handshake()

    def _refuse_handshake(self) -> None:
        """Send what websockets says to a request that it cannot read; uvicorn would leave it unanswered."""
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.transport.close()

    def handle_events(self) -> None:
        number = len(self.conn.events)
        self._at_once += number
        if self._frames.take(number, self.loop.time()):
            super().handle_events()
        else:
            self._give_up(f"more than {FRAMES_PER_SECOND:g} frames a second. Send fewer.")

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # by a refusal: uvicorn would log that there was no answer

    def handle_ping(self) -> None:
        # RFC 6455, 5.5.3: of several pings, only the last must be answered. So none waits for one who does not read.
        pong = self.conn.data_to_send()
        if self.writable.is_set():
            self.transport.write(b"".join(pong))

    def _give_up(self, reason: str) -> None:
        """Close it, and look at nothing that came."""
        self._stop_parsing()
        if self.transport.is_closing():
            return
        self.conn.fail(CloseCode.TOO_MANY, reason)
        self.queue.put_nowait({"type": "websocket.disconnect", "code": int(CloseCode.TOO_MANY), "reason": reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.close()

    def resume_writing(self) -> None:
        self._taken += 1
        super().resume_writing()

    def _stop_parsing(self) -> None:
        self._unparsed.clear()
        if self._parsing is not None:
            self._parsing.cancel()
            self._parsing = None

    @property
    def waiting(self) -> Waiting | None:
        """What it waits for; None while it is open and its page reads."""
        if self.transport.is_closing() or (self.handshake_complete and self.close_sent):
            return Waiting(Wait.CLOSE)
        if not self.writable.is_set():
            return Waiting(Wait.READER, self._taken)
        return None if self.handshake_complete else Waiting(Wait.REQUEST)


def cut(connection: HttpConnection | SocketConnection) -> None:
    """End it at once, whatever it had to say."""
    connection.transport.abort()
