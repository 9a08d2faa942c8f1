"""How MCP servers are spoken to over HTTP: with bounded answers, and an ear for sessions that the server has forgotten.

Above: `mcp_servers`. Below: httpx2, which the SDK brings along.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

from antiphon.tools.mcp_connection import session_forgotten
from antiphon.tools.mcp_stdio import parts_in, too_much

if TYPE_CHECKING:
    import httpx2

SESSION_HEADER: Final = "mcp-session-id"
END_LIMIT: Final = 0.4
"""Seconds that a server has to hear that its session is over."""


class HTTPSession:
    """What is to be known of one session with a server: its id, as the server gave it.

    `is_in_url`: the older transport, where each address that messages go to is a session's.
    """

    def __init__(self, *, is_in_url: bool = False) -> None:
        self._is_in_url = is_in_url
        self._id: str | None = None

    def client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """A client whose answers are as long as a message may be; streams of events are bounded by whoever reads them.

        Answers come as they are: a few bytes that are compressed can be any number of others.
        """
        import httpx2

        return httpx2.AsyncClient(
            headers={**(headers or {}), "accept-encoding": "identity"},
            timeout=timeout,
            auth=auth,
            event_hooks={"response": [self._answered]},
        )

    async def _answered(self, response: httpx2.Response) -> None:
        import httpx2

        request = response.request
        is_in_session = self._is_in_url or SESSION_HEADER in request.headers
        if response.status_code == 404 and request.method == "POST" and is_in_session:
            session_forgotten()
        self._id = response.headers.get(SESSION_HEADER, self._id)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("the server compresses, which was not asked for", request=request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _bounded(response.stream)

    async def end(self, client: httpx2.AsyncClient, url: str) -> None:
        """Tell the server that the session is over. It is not waited for long, and may not care."""
        if self._id is not None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(END_LIMIT):
                    await client.delete(url, headers={SESSION_HEADER: self._id})


def _bounded(stream: Any) -> Any:
    """The body, as far as a message may go."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            length = parts = 0
            async for piece in stream:
                length += len(piece)
                parts += parts_in(piece)
                if (reason := too_much(length, parts)) is not None:
                    raise httpx2.StreamError(reason)
                yield piece

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()
