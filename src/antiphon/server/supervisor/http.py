"""HTTP in its smallest form: a GET, an answer, the end. For health and figures, and for whoever comes when all is full.

Above: the supervisor. Below: asyncio's streams. Nothing that comes is looked at but the path.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from antiphon.errors import UsageError

logger = logging.getLogger("antiphon")

MAX_HEAD = 8_192
"""Bytes of the head of a request."""
TIMEOUT = 5.0
"""Seconds that a request and its answer may take."""
MOST = 100
"""Connections at a time; with one more, that one is closed."""


@dataclass(slots=True, frozen=True)
class Answer:
    """What is answered."""

    status: HTTPStatus
    text: str
    kind: str = "text/plain; charset=utf-8"
    retry_after: int | None = None

    def to_bytes(self) -> bytes:
        body = self.text.encode()
        head = [
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            f"Content-Type: {self.kind}",
            f"Content-Length: {len(body)}",
            "Cache-Control: no-store",
            "Connection: close",
        ]
        if self.retry_after is not None:
            head.append(f"Retry-After: {self.retry_after}")
        return "\r\n".join([*head, "", ""]).encode() + body


Routes = Mapping[str, Callable[[], Answer]]

FULL = Answer(HTTPStatus.SERVICE_UNAVAILABLE, "All places are taken. Try again soon.\n", retry_after=2)


class Answering:
    """Answers requests of one kind, from so many clients at a time."""

    def __init__(self, answer: Callable[[str], Answer]) -> None:
        self._answer = answer
        self._open = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from the request to the end."""
        self._open += 1
        try:
            if self._open <= MOST:
                async with asyncio.timeout(TIMEOUT):
                    await self._talk(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asks so has no answer
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(TIMEOUT):
                    await writer.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split()
        if len(words) != 3 or words[0] not in ("GET", "HEAD"):
            answer = Answer(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET.\n")
        else:
            answer = self._answer(words[1].partition("?")[0])
        writer.write(answer.to_bytes())
        await writer.drain()


def routed(routes: Routes) -> Callable[[str], Answer]:
    """Answers by path."""

    def answer(path: str) -> Answer:
        found = routes.get(path)
        if found is None:
            return Answer(HTTPStatus.NOT_FOUND, f"There is {', '.join(routes)}.\n")
        return found()

    return answer


async def serve(host: str, port: int, routes: Routes) -> asyncio.Server:
    """Serve these. Raises `UsageError` if the address cannot be used."""
    try:
        return await asyncio.start_server(Answering(routed(routes)), host, port, limit=MAX_HEAD)
    except OSError as error:
        raise UsageError(f"cannot serve at {host}:{port}: {error.strerror}. Choose another --health-port.") from error


class Refusing:
    """Takes whoever waits at a listening socket, while `begin` was called and `end` was not, and tells them no."""

    def __init__(self, listening: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        self._listening = listening
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._answering = Answering(lambda path: FULL)
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun = False
        self.refused = 0
        """How many there were."""

    def set(self, refusing: bool) -> None:
        """Begin or end."""
        if refusing != self._begun:
            self._begun = refusing
            if refusing:
                self._loop.add_reader(self._listening, self._come)
            else:
                self._loop.remove_reader(self._listening)

    def _come(self) -> None:
        try:
            connected, _ = self._listening.accept()
        except OSError:
            return
        self.refused += 1
        task = self._loop.create_task(self._refuse(connected), name="supervisor: no place")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refuse(self, connected: socket.socket) -> None:
        reader = asyncio.StreamReader(limit=MAX_HEAD)
        try:
            async with asyncio.timeout(TIMEOUT):
                transport, protocol = await self._loop.connect_accepted_socket(
                    lambda: asyncio.StreamReaderProtocol(reader), connected, ssl=self._tls
                )
        except (OSError, TimeoutError):
            connected.close()
            return
        await self._answering(reader, asyncio.StreamWriter(transport, protocol, reader, self._loop))
