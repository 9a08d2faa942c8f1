"""The web application: the page's files, the socket of each call, news of the agent file, and what is left of calls.

Above: `serve.py`, which puts it on a port. Below: `Calls` and the archive. The page's own files are no secret; a call
and the news need what `Access` asks for, and what is left of a call opens with that call's id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles

from antiphon.calls.ends import first_end
from antiphon.console.access import Access
from antiphon.console.archive import FiledCall
from antiphon.console.calls import Calls
from antiphon.console.line import Line
from antiphon.console.narration import MAX_TEXT
from antiphon.console.protocol import CloseCode, Refused
from antiphon.visible import visible_data

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection, Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from starlette.websockets import WebSocket

    from antiphon.console.studio.app import Studio
    from antiphon.console.telephone import Telephone

LOOK = ("palette.css", "inter.woff2")
"""What the page has in common with the report of a call, and with it lies there."""

PAGE_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "media-src 'self' blob: mediastream:",
        "font-src 'self'",
        "worker-src 'self'",
        "connect-src 'self' ws: wss:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""What the page may load: its own files, and nothing else from anywhere."""

REPORT_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; media-src 'self'; " + (
    "font-src data:; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""A report is one file with everything in it, and plays the recording beside it."""

_HEADERS = {
    "Cache-Control": "no-cache",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_SECRET = {"Cache-Control": "no-store"}
"""Of what was said in a call, no browser and nobody on the way keeps a copy."""


def page_app(calls: Calls, telephone: Telephone | None = None, studio: Studio | None = None) -> Starlette:
    """The application around `calls`, and `telephone` and `studio` if there are such."""
    gate = _Gate(calls.access, calls.limits.max_pages)

    async def call(socket: WebSocket) -> None:
        await gate.hold(socket, calls.answer)

    async def watch(socket: WebSocket) -> None:
        await gate.hold(socket, partial(_tell_news, calls))

    async def may_call(request: Request) -> Response:
        return gate.refusal(request) or Response(status_code=204)

    async def about(request: Request) -> Response:
        refusal = gate.refusal(request)
        if refusal is not None:
            return refusal
        told = await calls.about()
        if told is None:
            return Response(status_code=204)
        return JSONResponse(visible_data({**told, "studio": studio is not None}, MAX_TEXT), headers=_SECRET)

    async def report(request: Request) -> Response:
        filed = _filed(calls, request)
        if filed is None or filed.report is None:
            return _gone()
        return FileResponse(
            filed.report,
            media_type="text/html; charset=utf-8",
            headers={"Content-Security-Policy": REPORT_POLICY, **_SECRET},
        )

    async def recording(request: Request) -> Response:
        filed = _filed(calls, request)
        if filed is None or filed.recording is None:
            return _gone()
        return FileResponse(filed.recording, media_type="audio/wav", headers=_SECRET)

    app = Starlette(
        routes=[
            WebSocketRoute("/call", call),
            WebSocketRoute("/watch", watch),
            Route("/call", may_call),
            Route("/watch", may_call),
            Route("/about", about),
            Route("/calls/{call_id}/report", report),
            Route("/calls/{call_id}/recording.wav", recording),
            *(() if telephone is None else telephone.routes()),
            *(() if studio is None else studio.routes()),
            *page_files(),
        ]
    )
    app.add_middleware(PageHeaders)
    return app


def page_files() -> list[BaseRoute]:
    """The files of pages. They are no secret."""
    static = Path(str(files("antiphon.console") / "static"))
    return [
        *(Route(f"/{name}", partial(_look, name)) for name in LOOK),
        Mount("/", StaticFiles(directory=static, html=True)),
    ]


async def _look(name: str, request: Request) -> Response:
    return FileResponse(Path(str(files("antiphon.calls") / name)))


def _filed(calls: Calls, request: Request) -> FiledCall | None:
    return calls.archive.get(request.path_params["call_id"])


def _gone() -> Response:
    return PlainTextResponse("There is no such call, or it was long ago. Only the last ones are kept.", 404)


class _Gate:
    """Opens sockets for pages that may have one, and no more than `most` at a time."""

    def __init__(self, access: Access, most: int) -> None:
        self._access = access
        self._most = most
        self._open = 0

    def refusal(self, asked: HTTPConnection) -> Response | None:
        """The answer to whoever may not call: the status is the last three digits of the code. None to others."""
        try:
            self._access.check(asked, asyncio.get_running_loop().time())
            if self._open >= self._most:
                raise Refused(CloseCode.TOO_MANY, f"{self._most} pages are open. Close some.")
        except Refused as refusal:
            return PlainTextResponse(refusal.reason, refusal.code - 4000)
        return None

    async def hold(self, socket: WebSocket, talk: Callable[[WebSocket], Awaitable[None]]) -> None:
        """Accept a socket and `talk` on it. Whoever is refused is not accepted, and nothing that they send is read.

        A browser does not tell its page why a socket was refused. So the page asks again without one (`may_call`).
        """
        refusal = self.refusal(socket)
        if refusal is not None:
            await socket.send_denial_response(refusal)
            return
        self._open += 1
        try:
            await socket.accept()
            await talk(socket)
        finally:
            self._open -= 1


async def _tell_news(calls: Calls, socket: WebSocket) -> None:
    """Tell a page of the agent file for as long as it is open."""
    line = Line(socket)
    sender = asyncio.create_task(line.run(), name="page: news")
    code, reason = CloseCode.GOING_AWAY, "the server stops"
    stop = calls.file.on_change(lambda: line.send(calls.file_news()))
    try:
        if calls.file.server is None:
            line.send(calls.file_news())
        await first_end(_until_gone(socket), line.broken())
        code, reason = CloseCode.NORMAL, ""
    except Refused as refusal:
        code, reason = refusal.code, refusal.reason
    finally:
        stop()
        await line.finish(sender, code, reason)


async def _until_gone(socket: WebSocket) -> None:
    """Wait until the page closes the socket. Raises `Refused` if it says anything."""
    received = await socket.receive()
    if received["type"] != "websocket.disconnect":
        raise Refused(CloseCode.MALFORMED, "expected nothing on this socket, got a message. Calls are on /call.")


class PageHeaders:
    """Puts the usual headers on every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", PAGE_POLICY)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
