"""A server that says what it is told to: the other end of the page's wire, for tests of what the page shows.

A script is a list of steps for one call: a message to send, sound to send, or what to wait for. The next call of the
page plays the next script. What the page sent is kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from antiphon.console.app import LOOK

if TYPE_CHECKING:
    from starlette.requests import Request

Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Until:
    """Go on when the page has sent a message of this type with these fields."""

    type: str
    fields: Message = field(default_factory=dict)


@dataclass(frozen=True)
class After:
    """Go on after so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Close:
    """Close the socket."""

    code: int = 1000
    reason: str = ""


Step: TypeAlias = Message | bytes | Until | After | Close
Script: TypeAlias = Sequence[Step]

READY: Message = {
    "type": "ready",
    "call": "c1",
    "rate": 48000,
    "agent": "Receptionist",
    "models": "stand-in",
    "transport": "websocket",
}
ENDED: Message = {"type": "ended", "reason": "the caller hung up", "report": None, "recording": None}
OPENING: Script = (Until("start"), READY)
CLOSING: Script = (Until("hang_up"), ENDED, Close())


def state(agent: str, user: str = "listening") -> Message:
    """What the two are doing."""
    return {"type": "state", "agent": agent, "user": user}


def _has(sent: list[Message], wanted: Message) -> bool:
    return any(wanted.items() <= one.items() for one in sent)


async def _look(name: str, request: Request) -> Response:
    return FileResponse(Path(str(files("antiphon.calls") / name)))


class Double:
    """Plays scripts. `sent` is what the page said, a list for each call; `peaks` the loudest sample of each frame of
    the microphone."""

    def __init__(self) -> None:
        self.url = ""
        self.sent: list[list[Message]] = []
        self.peaks: list[int] = []
        self.about: Message | None = None
        """What the page is told of the agent before a call."""
        self._scripts: list[Script] = []
        self._watching: set[WebSocket] = set()
        self._loop = asyncio.new_event_loop()
        static = Path(str(files("antiphon.console") / "static"))
        self.app = Starlette(
            routes=[
                WebSocketRoute("/call", self._call),
                WebSocketRoute("/watch", self._watch),
                *(Route(f"/{name}", partial(_look, name)) for name in LOOK),
                Route("/about", self._about),
                Mount("/", StaticFiles(directory=static, html=True)),
            ]
        )

    async def _about(self, request: Request) -> Response:
        return Response(status_code=204) if self.about is None else JSONResponse(self.about)

    def play(self, *scripts: Script) -> None:
        """What the next calls are like. Forgets what was sent before."""
        self._scripts = list(scripts)
        self.sent = []
        self.peaks = []

    def tell(self, message: Message) -> None:
        """Send news to every page that watches."""

        async def send() -> None:
            for page in list(self._watching):
                await page.send_json(message)

        asyncio.run_coroutine_threadsafe(send(), self._loop).result(5)

    async def _watch(self, page: WebSocket) -> None:
        await page.accept()
        self._watching.add(page)
        with contextlib.suppress(WebSocketDisconnect):
            await page.receive_text()
        self._watching.discard(page)

    async def _call(self, page: WebSocket) -> None:
        await page.accept()
        sent: list[Message] = []
        news = asyncio.Condition()
        self.sent.append(sent)
        script = self._scripts.pop(0) if self._scripts else (Close(4429, "no script is left"),)
        reading = asyncio.create_task(self._read(page, sent, news))
        playing = asyncio.create_task(self._play(page, script, sent, news))
        await asyncio.wait([reading])  # the page goes, or is told to
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)

    async def _read(self, page: WebSocket, sent: list[Message], news: asyncio.Condition) -> None:
        while (received := await page.receive())["type"] != "websocket.disconnect":
            if received.get("text") is None:
                self.peaks.append(max(map(abs, array("h", received["bytes"]))))
                continue
            async with news:
                sent.append(json.loads(received["text"]))
                news.notify_all()

    async def _play(self, page: WebSocket, script: Script, sent: list[Message], news: asyncio.Condition) -> None:
        for step in script:
            if isinstance(step, bytes):
                await page.send_bytes(step)
            elif isinstance(step, After):
                await asyncio.sleep(step.seconds)
            elif isinstance(step, Close):
                await page.close(step.code, step.reason)
            elif isinstance(step, Until):
                async with news:
                    await news.wait_for(partial(_has, sent, {"type": step.type, **step.fields}))
            else:
                await page.send_json(step)

    # -- the thread it runs in

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Serve on a free port of this machine."""
        with serving(self.app, self._loop) as self.url:
            yield


@contextlib.contextmanager
def serving(app: Any, loop: asyncio.AbstractEventLoop) -> Iterator[str]:
    """Serve an application from a thread. Gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="websockets-sansio", lifespan="off"))
    thread = threading.Thread(target=lambda: loop.run_until_complete(server.serve([listener])), name="page server")
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(10)
        listener.close()
        loop.close()
