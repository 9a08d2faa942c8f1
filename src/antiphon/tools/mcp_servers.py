"""Where MCP servers are: `MCPServerHTTP`, `MCPServerStdio`, and how far the application trusts each.

Above: `mcp`, whose toolsets connect to them. Below: the transports of the official SDK for HTTP, our own for programs.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from antiphon.errors import UsageError
from antiphon.secrets import arguments_without_secrets
from antiphon.tools.mcp_guard import Transport
from antiphon.tools.mcp_http import HTTPSession
from antiphon.tools.mcp_stdio import MAX_MESSAGE, stdio_transport

__all__ = ["AllowedTools", "Elicitation", "MCPServer", "MCPServerHTTP", "MCPServerStdio", "name_filter"]

AllowedTools: TypeAlias = "Collection[str] | Callable[[str], bool] | None"
"""Names that are let through, or a function that says so of a name; None: all."""
Elicitation: TypeAlias = bool | str
"""Whether a server may ask the caller, and who is said to ask.

False: its questions are declined. True: the caller hears the toolset's id before the question ("wines asks: ..."). A
text: the caller hears this name, or, where the text has "{question}" in it, this sentence.
"""


class MCPServer(ABC):
    """Where an MCP server is and how far it is trusted. Holds no connection: each toolset opens its own.

    `timeout` (seconds) is for connecting, the list of tools included; `client_session_timeout_seconds` for every later
    request but calls, which have the time limit of their tool. `trusted`: the server's hints about its tools are
    believed (`readOnlyHint` means that a tool reads). `elicitation`: its questions may be asked of the caller. Raises
    `UsageError` for times that are not positive.
    """

    def __init__(
        self,
        *,
        timeout: float,
        client_session_timeout_seconds: float,
        allowed_tools: AllowedTools,
        trusted: bool,
        elicitation: Elicitation = False,
    ) -> None:
        for name, value in (("timeout", timeout), ("client_session_timeout_seconds", client_session_timeout_seconds)):
            if not value > 0:
                raise UsageError(f"{type(self).__name__}({name}=) must be a positive number of seconds, got {value!r}.")
        self.timeout = timeout
        self.client_session_timeout_seconds = client_session_timeout_seconds
        self.trusted = trusted
        self.elicitation = elicitation
        self.allows = name_filter(allowed_tools)
        self.is_filtered = allowed_tools is not None
        """Somebody has chosen among its tools."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What messages call it. Holds no secrets."""

    @property
    @abstractmethod
    def remedy(self) -> str:
        """What to look at if it cannot be reached."""

    @abstractmethod
    def open_transport(self) -> Transport:
        """A new way to the server, not entered yet."""


class MCPServerHTTP(MCPServer):
    """A server at a URL. Streamable HTTP, or the older SSE transport if `transport_type` or a path ending in /sse says.

    `headers` are sent with every request, for example an authorization. `sse_read_timeout` is how long (seconds) a
    stream may be silent.
    """

    def __init__(
        self,
        url: str,
        *,
        transport_type: Literal["streamable_http", "sse"] | None = None,
        allowed_tools: AllowedTools = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 5.0,
        sse_read_timeout: float = 300.0,
        client_session_timeout_seconds: float = 5.0,
        trusted: bool = False,
        elicitation: Elicitation = False,
    ) -> None:
        super().__init__(
            timeout=timeout,
            client_session_timeout_seconds=client_session_timeout_seconds,
            allowed_tools=allowed_tools,
            trusted=trusted,
            elicitation=elicitation,
        )
        if transport_type not in (None, "streamable_http", "sse"):
            raise UsageError(
                f"MCPServerHTTP(transport_type=) must be 'streamable_http', 'sse' or None, got {transport_type!r}."
            )
        self.url = url
        self.headers = dict(headers or {})
        self._is_sse = transport_type == "sse" or (transport_type is None and _path(url).endswith("/sse"))
        self._sse_read_timeout = sse_read_timeout

    @property
    def label(self) -> str:
        return re.sub(r"//[^/@]*@", "//", self.url).partition("?")[0]

    @property
    def remedy(self) -> str:
        return "Check that it runs, and its URL and headers."

    def open_transport(self) -> Transport:
        if not self._is_sse:
            return self._streamable_http()
        from mcp.client.sse import sse_client

        return sse_client(
            self.url,
            headers=self.headers,
            timeout=self.timeout,
            sse_read_timeout=self._sse_read_timeout,
            httpx_client_factory=HTTPSession(is_in_url=True).client,
        )

    @asynccontextmanager
    async def _streamable_http(self) -> AsyncIterator[tuple[Any, Any]]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(self.timeout, read=self._sse_read_timeout)
        session = HTTPSession()
        async with session.client(self.headers, timeout) as http:
            streams = streamable_http_client(
                self.url, http_client=http, terminate_on_close=False, max_sse_event_size=MAX_MESSAGE
            )
            async with streams as pair:
                try:
                    yield pair
                finally:
                    await session.end(http, self.url)

    def __repr__(self) -> str:
        return f"MCPServerHTTP({self.label!r})"


class MCPServerStdio(MCPServer):
    """A server that is a program of this machine, started with the toolset and ended with it.

    `env` is added to the few variables that such programs inherit (PATH, HOME, ...). `timeout` includes the program's
    start.
    """

    def __init__(
        self,
        command: str,
        args: Sequence[str] = (),
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        allowed_tools: AllowedTools = None,
        timeout: float = 30.0,
        client_session_timeout_seconds: float = 5.0,
        trusted: bool = False,
        elicitation: Elicitation = False,
    ) -> None:
        super().__init__(
            timeout=timeout,
            client_session_timeout_seconds=client_session_timeout_seconds,
            allowed_tools=allowed_tools,
            trusted=trusted,
            elicitation=elicitation,
        )
        self.command = command
        self.args = list(args)
        self.env = dict(env or {})
        self.cwd = cwd

    @property
    def label(self) -> str:
        return " ".join([Path(self.command).name, *arguments_without_secrets(self.args[:2])])

    @property
    def remedy(self) -> str:
        return "Check that the command runs in a terminal; what it prints to stderr is in the log, as INFO."

    def open_transport(self) -> Transport:
        return stdio_transport(self.command, self.args, env=self.env, cwd=self.cwd, name=self.label)

    def __repr__(self) -> str:
        return f"MCPServerStdio({self.label!r})"


def name_filter(allowed: AllowedTools) -> Callable[[str], bool]:
    """Whether a name is let through. Raises `UsageError` for a text in the place of a list."""
    if allowed is None:
        return lambda name: True
    if callable(allowed):
        return allowed
    if isinstance(allowed, str):
        raise UsageError(f"allowed_tools={allowed!r}: expected a list of names or a function, got a text. Use [...].")
    names = frozenset(allowed)
    return lambda name: name in names


def _path(url: str) -> str:
    return url.partition("?")[0].rstrip("/")
