"""The way to one page: what is to be sent waits here, bounded, until the socket takes it.

Above: a call, which never waits for its page. Below: a WebSocket that is open. A page that does not read, or is gone,
costs its own call and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Literal

from starlette.websockets import WebSocket, WebSocketDisconnect

from antiphon.console.protocol import MAX_REASON, CloseCode, Message, Refused, beat, playout
from antiphon.visible import to_json

logger = logging.getLogger("antiphon")

# Starlette raises a RuntimeError for what is sent after the end.
_GONE = (WebSocketDisconnect, RuntimeError, OSError)

MAX_WAITING = 1_000_000
"""Bytes that may wait for the page: some ten seconds of sound."""
BEAT = 0.5
"""Seconds without anything to say after which the page is told that somebody is there."""
CLOSE_TIMEOUT = 2.0
"""Seconds that the page has for the last messages and the close frame."""

_BEAT = to_json(beat(), separators=(",", ":"))


class Line:
    """Sends to one page, in order. `run` is its task; everything else returns at once.

    `beats`: a page is told while there is nothing to send that the line is there; a carrier takes no such message.
    """

    def __init__(self, socket: WebSocket, *, max_waiting: int = MAX_WAITING, beats: bool = True) -> None:
        self._socket = socket
        self._beats = beats
        self._max_waiting = max_waiting
        self._queue: deque[str | bytes] = deque()
        self._waiting = 0
        self._wake = asyncio.Event()
        self._ending = False
        self._broken: asyncio.Future[Refused | None] = asyncio.get_running_loop().create_future()

    def send(self, message: Message) -> None:
        """Queue a message."""
        self._put(to_json(message, separators=(",", ":")))

    def send_text(self, text: str) -> None:
        """Queue a message that is written already."""
        self._put(text)

    def send_audio(self, data: bytes) -> None:
        """Queue sound."""
        self._put(data)

    def send_playout(self, command: Literal["pause", "resume", "clear"], epoch: int) -> None:
        """Queue a command to the loudspeaker. Sound that a `clear` would throw away there does not travel any more."""
        if command == "clear":
            kept = [piece for piece in self._queue if isinstance(piece, str)]
            self._queue = deque(kept)
            self._waiting = sum(map(len, kept))
        self.send(playout(command, epoch))

    async def run(self) -> None:
        """Send until `finish`, or until the page is gone."""
        try:
            while not self._ending or self._queue:
                while self._queue:
                    piece = self._queue.popleft()
                    self._waiting -= len(piece)
                    if isinstance(piece, str):
                        await self._socket.send_text(piece)
                    else:
                        await self._socket.send_bytes(piece)
                self._wake.clear()
                if not self._ending and not await self._has_more():
                    await self._socket.send_text(_BEAT)
        except _GONE:
            self._break(None)

    async def _has_more(self) -> bool:
        """Wait until there is something to send. False: there was nothing for a while."""
        try:
            async with asyncio.timeout(BEAT if self._beats else None):
                await self._wake.wait()
        except TimeoutError:
            return False
        return True

    async def broken(self) -> None:
        """Wait until the page is gone; then return. Raises `Refused` if it did not read."""
        refusal = await asyncio.shield(self._broken)
        if refusal is not None:
            raise refusal

    async def finish(self, sender: asyncio.Task[None], code: CloseCode, reason: str) -> None:
        """Send what is queued and close the socket. Waits `CLOSE_TIMEOUT` seconds at most. `sender` is `run`'s task."""
        self._ending = True
        self._wake.set()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await asyncio.wait([sender])
                if not self._is_gone:
                    await self._socket.close(code, _short(reason))
        except TimeoutError:
            logger.info("a page did not take the end of its call within %g s", CLOSE_TIMEOUT)
        except _GONE:
            pass  # it is gone already
        finally:
            self._break(None)
            sender.cancel()
            await asyncio.wait([sender])

    @property
    def _is_gone(self) -> bool:
        return self._broken.done() and self._broken.result() is None

    def _put(self, piece: str | bytes) -> None:
        if self._broken.done() or self._ending:
            return
        self._queue.append(piece)
        self._waiting += len(piece)
        if self._waiting > self._max_waiting:
            waiting, allowed = self._waiting // 1000, self._max_waiting // 1000
            self._queue.clear()
            self._break(
                Refused(
                    CloseCode.NOT_READING,
                    f"the page does not read: {waiting} kB wait, {allowed} kB are allowed. Reload it.",
                )
            )
        self._wake.set()

    def _break(self, refusal: Refused | None) -> None:
        if not self._broken.done():
            self._broken.set_result(refusal)


def _short(reason: str) -> str:
    """As much of a reason as fits into a close frame."""
    return reason.encode()[:MAX_REASON].decode(errors="ignore")
