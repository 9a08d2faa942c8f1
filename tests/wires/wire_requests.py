"""What comes on a connection of the page server: requests, their headers, queries and tokens, and a socket's frames."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from uvicorn.server import ServerState

from antiphon.console.access import Access, ClientAllowances, Limits
from antiphon.console.app import page_app
from antiphon.console.archive import Archive
from antiphon.console.calls import Calls, Models
from antiphon.console.reload import AgentFile
from antiphon.console.serve import connection_config
from antiphon.console.wires import HttpConnection
from tests.wires import mutate
from tests.wires.wire import Finding, Wire

if TYPE_CHECKING:
    import uvicorn

LONGEST = 10.0
"""Seconds until an answer must be there, once the client has said everything and is gone."""
PATIENCE = 0.01
"""Seconds that the client stays for an answer; whoever has opened a socket goes away then."""
PATHS = ("/", "/call", "/watch", "/style.css", "/view/log.js", "/calls/abc/report", "/calls/abc/recording.wav", "/view")
HOSTS = (
    "localhost:8080", "127.0.0.1:8080", "example.org", "[::1]:8080", "[::1", "[", "", "a b", "localhost:x", "\xe9",
    "::", "user@localhost", "localhost/..", "localhost:99999", "xn--", "." * 300,
)  # fmt: skip
ORIGINS = ("http://localhost:8080", "null", "http://[", "http://[::1", "http://\u2100", "://", "http://a:b@c", "")
TOKENS = (
    "right",
    "right",
    "right",
    "right",
    "wrong",
    "",
    "right&token=wrong",
    "%ff",
    "%",
    "%00",
    "\xe9",
    "x" * 2_000,
    "r%69ght",
    "%ed%a0%80",
)
HEADERS = (
    "Content-Length: 5", "Content-Length: -1", "Transfer-Encoding: chunked", "Expect: 100-continue", "Range: bytes=0-",
    "Range: bytes=5-1,-", "Range: bytes=" + "0-1," * 200, "If-Modified-Since: yesterday", "If-None-Match: *",
    "Connection: close", "Connection: upgrade, \xff", "Upgrade: h2c", "Cookie: a=\x7f", "X-Forwarded-For: " + "1," * 99,
    "Sec-WebSocket-Extensions: permessage-deflate; x=\"", "Sec-WebSocket-Protocol: a, ,b", "Sec-WebSocket-Key: short",
    "Sec-WebSocket-Version: 12", "X: " + "y" * 9_000,
)  # fmt: skip
UPGRADE = (
    "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
)  # fmt: skip
SAID = (b'{"type":"start","rate":48000,"audio":false}', b"{}", b"\xff\xfe", b"", bytes(100))


def make(random: Random) -> list[bytes]:
    """What is sent, in pieces, the first of them a request."""
    if random.random() < 0.3:  # a socket that is opened, for its frames
        asked = "GET /call?token=right HTTP/1.1", f"Host: {HOSTS[0]}", *UPGRADE, "", ""
        return ["\r\n".join(asked).encode(), b"", _frames(random)]
    path = random.choice(PATHS)
    if random.random() < 0.3:
        path = (
            mutate.torn_text(random, path)
            if random.random() < 0.5
            else path + quote(mutate.text(random), errors="replace")
        )
    upgrade = random.random() < 0.5
    lines = [
        f"{random.choice(('GET', 'GET', 'HEAD', 'POST', 'OPTIONS'))} {path}?token={random.choice(TOKENS)} HTTP/1.1"
    ]
    lines += [f"Host: {HOSTS[0] if random.random() < 0.6 else random.choice(HOSTS)}"]
    lines += [f"Origin: {random.choice(ORIGINS)}"] if random.random() < 0.4 else []
    lines += UPGRADE if upgrade else []
    lines += random.sample(HEADERS, random.choice((0, 0, 0, 1, 3)))
    random.shuffle(tail := lines[1:])
    head = "\r\n".join([lines[0], *tail, "", ""]).encode(errors="replace")
    if random.random() < 0.2:
        head = mutate.torn(random, head)
    rest = _frames(random)
    if not upgrade:
        rest = random.choice((b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", head, rest))
    cut = random.randrange(len(head) + 1)
    return [head[:cut], head[cut:], rest] if random.random() < 0.5 else [head, rest]


def _frames(random: Random) -> bytes:
    said = b"".join(_frame(random) for _ in range(random.randrange(6)))
    return mutate.torn(random, said) if random.random() < 0.3 else said


def _frame(random: Random) -> bytes:
    data = random.choice(SAID)[:125]
    first = random.choice((0x81, 0x82, 0x01, 0x00, 0x80, 0x89, 0x8A, 0x88, random.randrange(256)))
    return bytes([first, 0x80 | len(data)]) + bytes(4) + data


class Pipe(asyncio.Transport):
    """A connection whose other side takes everything, and counts it."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__({"peername": ("10.0.0.9", 5_000), "sockname": ("10.0.0.1", 8_080)})
        self._protocol: Any = protocol
        self._closing = False
        self.sent = bytearray()
        self.lost = asyncio.Event()
        protocol.connection_made(self)

    def get_protocol(self) -> Any:
        return self._protocol

    def set_protocol(self, protocol: Any) -> None:
        self._protocol = protocol

    def write(self, data: Any) -> None:
        self.sent += data

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            _loop.call_soon(self._lose)

    abort = close

    def _lose(self) -> None:
        self.lost.set()
        self._protocol.connection_lost(None)

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


_loop = asyncio.new_event_loop()
_escaped: list[BaseException] = []


async def _server() -> uvicorn.Config:
    limits = Limits(max_calls=2)
    access = Access("right", _wrong=ClientAllowances(1e9, 1e9))  # what earlier inputs sent does not count
    models = Models(lambda wanted: {}, lambda wanted: {})
    archive = Archive(Path(tempfile.gettempdir()) / "antiphon-none")
    calls = Calls(AgentFile(Path("none.py")), models=models, access=access, archive=archive, limits=limits)
    app = page_app(calls)

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        except Exception as error:
            if type(error).__name__ != "ClientDisconnected":  # uvicorn's own, which it takes back
                _escaped.append(error)
            raise

    config = connection_config(watched)
    config.load()
    return config


_config = _loop.run_until_complete(_server())


def feed(pieces: list[bytes]) -> None:
    _escaped.clear()
    state = ServerState()
    _loop.run_until_complete(_talk(pieces, state))
    if _escaped:
        raise _escaped[0]
    if state.connections or state.tasks:
        raise Finding(f"{state.connections} and {state.tasks} stay after the client is gone")


async def _talk(pieces: list[bytes], state: ServerState) -> None:
    pipe = Pipe(HttpConnection(_config, state, {}))
    for piece in pieces:
        if piece and not pipe.is_closing():
            pipe.get_protocol().data_received(piece)
        for _ in range(4):  # a socket is accepted meanwhile
            await asyncio.sleep(0)
    async with asyncio.timeout(LONGEST):
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=PATIENCE)
        pipe.close()
        if state.tasks:
            await asyncio.wait(state.tasks)
        await pipe.lost.wait()
    if b"Traceback" in pipe.sent or b"HTTP/1.1 500" in pipe.sent:
        raise Finding(f"the answer was {bytes(pipe.sent[:300])!r}")


WIRE = Wire("requests", make, feed, share=0.5)
