"""WebSockets to a vendor's service: opening one, and what goes wrong with it, in our errors.

Above: `deepgram`, `cartesia`, `openai_realtime`. Below: the `websockets` package, imported at first use.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon.errors import ProviderConnectionError, ProviderError, ProviderStatusError, ProviderTimeout
from antiphon.visible import well_formed_data

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

T = TypeVar("T")

_PING = 5.0
"""Seconds between two pings, and for which a pong is awaited: a dead line must be noticed within a sentence."""


async def open_websocket(
    url: str, *, headers: Mapping[str, str], timeout: float, provider: str, key_variable: str
) -> ClientConnection:
    """A connection. Raises `ProviderStatusError` if the service refuses it, else the other `ProviderError`s."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidStatus

    with translated_errors(provider, timeout=timeout):
        try:
            return await connect(
                url,
                additional_headers=dict(headers),
                open_timeout=timeout,
                close_timeout=1.0,
                ping_interval=_PING,
                ping_timeout=_PING,
                max_size=2**22,
            )
        except InvalidStatus as refused:
            status = refused.response.status_code
            body = (refused.response.body or b"").decode(errors="replace")[:500]
            hint = f" Check the key: {key_variable}, or api_key=." if status in (401, 403) else ""
            raise ProviderStatusError(
                f"{provider}: the service answered {status}: {body or refused.response.reason_phrase}.{hint}",
                status=status,
                body=body,
                provider=provider,
            ) from refused


@contextmanager
def translated_errors(provider: str, *, timeout: float) -> Iterator[None]:
    """What breaks on a connection becomes a `ProviderError` that names the provider."""
    from websockets.exceptions import ConnectionClosed, WebSocketException

    try:
        yield
    except TimeoutError as error:
        raise ProviderTimeout(
            f"{provider}: no answer within {timeout:g} s. Check the connection to the service, or raise timeout=.",
            provider=provider,
        ) from error
    except ConnectionClosed as error:
        why = error.rcvd.reason or f"code {error.rcvd.code}" if error.rcvd else "the line is dead"
        raise ProviderConnectionError(f"{provider}: the connection broke: {why}.", provider=provider) from error
    except (WebSocketException, OSError) as error:
        raise ProviderConnectionError(
            f"{provider}: the service cannot be reached: {error or type(error).__name__}.", provider=provider
        ) from error


def parsed(message: str | bytes, provider: str) -> dict[str, Any]:
    """A JSON object from the wire, its texts well-formed.

    Raises `ProviderConnectionError` if it is none: such a peer is not to be trusted.
    """
    try:
        value = well_formed_data(json.loads(message))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ProviderConnectionError(
            f"{provider}: expected a JSON object from the service, got {message[:80]!r}.", provider=provider
        )
    return value


@contextmanager
def understood(message: Mapping[str, Any], provider: str) -> Iterator[None]:
    """What goes wrong while a message is read means that it is malformed: a `ProviderConnectionError` says so."""
    try:
        yield
    except ProviderError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ProviderConnectionError(
            f"{provider}: the service sent {message.get('type')!r} of another form ({error!r}).", provider=provider
        ) from error


def text_in(message: Mapping[str, Any], name: str) -> str:
    """A text of a message. Raises `KeyError`, `TypeError`."""
    value = message[name]
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected text, got {type(value).__name__}")
    return value


class WholeSamples:
    """16-bit samples of sound that comes in pieces of any length."""

    def __init__(self) -> None:
        self._rest = b""

    def push(self, data: bytes) -> bytes:
        """The samples that are whole by now."""
        data = self._rest + data
        whole = len(data) & ~1
        self._rest = data[whole:]
        return data[:whole]


class WebSocketPool:
    """Connections that wait for the next request, so that it need not wait for a connection. For one event loop.

    Whoever takes one has it alone, and gives it back in a state in which the next can use it, or closes it.
    """

    def __init__(self, connect: Callable[[], Awaitable[ClientConnection]], *, max_idle: int = 2) -> None:
        self._connect = connect
        self._max_idle = max_idle
        self._idle: list[ClientConnection] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def take(self, *, fresh: bool = False) -> ClientConnection:
        """A connection that is open, as far as one knows. `fresh`: not one that has waited."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # Connections of a loop that is gone cannot be closed any more; their sockets went with the loop.
            self._loop, self._idle = loop, []
        while self._idle and not fresh:
            connection = self._idle.pop()
            if is_open(connection):
                return connection
        return await self._connect()

    async def perform(self, request: Callable[[ClientConnection], AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
        """What `request` gives with a connection; if that proves dead before it gave anything, with a new one.

        One that had waited may have died meanwhile. So there is a second try, and no third.
        """
        for fresh in (False, True):
            given = False
            try:
                async with aclosing(request(await self.take(fresh=fresh))) as answer:
                    async for piece in answer:
                        given = True
                        yield piece
                return
            except ProviderConnectionError:
                if given or fresh:
                    raise

    async def give_back(self, connection: ClientConnection) -> None:
        """Keep it for the next; close it if there are enough."""
        if is_open(connection) and len(self._idle) < self._max_idle:
            self._idle.append(connection)
        else:
            await connection.close()

    async def aclose(self) -> None:
        """Close what is idle."""
        idle, self._idle = self._idle, []
        if self._loop is asyncio.get_running_loop():
            await asyncio.gather(*(connection.close() for connection in idle))


def is_open(connection: ClientConnection) -> bool:
    """False once either side has begun to close."""
    return connection.state.name == "OPEN"
