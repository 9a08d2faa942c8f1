"""An HTTP server on loopback that answers by a script, down to the bytes: also late, wrong, and half."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
"""Writes an answer. Returning without a complete one breaks the connection off."""


class HTTPDouble:
    """Answers requests by `answers`, in order; the last one serves all that follow."""

    def __init__(self, *answers: Answer) -> None:
        self.requests: list[Request] = []
        self.disconnected = asyncio.Event()
        """Set when a client went away while it was being answered."""
        self._answers = list(answers)
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append(Request(method, path, headers, body))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        answering = asyncio.ensure_future(answer(writer))
        gone = asyncio.ensure_future(reader.read())
        await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        if gone.done() and not answering.done():
            self.disconnected.set()
        gone.cancel()
        answering.cancel()
        await asyncio.gather(answering, gone, return_exceptions=True)


def status(code: int, body: Any = None, *, headers: str = "") -> Answer:
    """A complete answer with a JSON body."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        data = json.dumps(body or {}).encode()
        writer.write(
            f"HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n{headers}"
            "connection: close\r\n\r\n".encode()
            + data
        )
        await writer.drain()

    return answer


def pieces(*parts: bytes, content_type: str, then: str = "end") -> Answer:
    """A body in pieces. `then`: "end" as it should; "cut" breaks the connection; "hang" leaves it open in silence."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(
            f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n"
            "connection: close\r\n\r\n".encode()
        )
        for part in parts:
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
        if then == "end":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        elif then == "hang":
            await asyncio.get_running_loop().create_future()

    return answer


async def silence(writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.get_running_loop().create_future()


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Break the connection off without an answer."""
