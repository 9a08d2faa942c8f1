"""A WebSocket server on loopback that plays a vendor's service, on good days and bad ones."""

from __future__ import annotations

import http
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

Service = Callable[["ServerConnection"], Awaitable[None]]
"""Serves one connection until it returns; then the connection is closed as it should."""


class WebSocketDouble:
    """Serves connections by `services`, in order; the last one serves all that follow.

    `refuse`: HTTP statuses with which the first ones are turned away.
    """

    def __init__(self, *services: Service, refuse: Sequence[int] = ()) -> None:
        self.connections: list[ServerConnection] = []
        self.attempts: list[Request] = []
        self._services = list(services)
        self._refuse = list(refuse)

    @property
    def url(self) -> str:
        host, port = next(iter(self._server.sockets)).getsockname()[:2]
        return f"ws://{host}:{port}"

    @property
    def query(self) -> dict[str, str]:
        """Of the latest attempt."""
        return dict(parse_qsl(urlsplit(self.attempts[-1].path).query))

    async def __aenter__(self) -> Self:
        from websockets.asyncio.server import serve

        self._server = await serve(self._serve, "127.0.0.1", 0, process_request=self._admit, close_timeout=0.1)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        for connection in self.connections:
            connection.transport.abort()
        self._server.close()
        await self._server.wait_closed()

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        self.attempts.append(request)
        if not self._refuse:
            return None
        status = self._refuse.pop(0)
        return connection.respond(http.HTTPStatus(status), f"no ({status})")

    async def _serve(self, connection: ServerConnection) -> None:
        from websockets.exceptions import ConnectionClosed

        self.connections.append(connection)
        service = self._services.pop(0) if len(self._services) > 1 else self._services[0]
        try:
            await service(connection)
        except ConnectionClosed:
            pass


async def hang(connection: ServerConnection) -> None:
    """Take everything, say nothing."""
    await connection.wait_closed()


async def cut(connection: ServerConnection) -> None:
    """Break off without a word, as soon as the client has spoken."""
    await connection.recv()
    connection.transport.abort()


async def garble(connection: ServerConnection) -> None:
    """Answer with what is no JSON."""
    await connection.recv()
    await connection.send("{nonsense")
    await connection.wait_closed()
