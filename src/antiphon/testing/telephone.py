"""The far end of a call by telephone, in the place of a carrier: an ear with a true playout clock, and a mouth.

It shares no code with what it tests. Sound plays in the order of its coming at the pace of the loop's time, a mark is
given back when what was sent before it has sounded, `clear` throws away what has not and gives all marks back at once.
With `run_virtual` an hour of calls takes a second.

Above: tests, and whoever tries an agent without an account. Below: a door to the server: `AsgiDoor` in this process.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import urlencode, urlsplit

from antiphon.audio import AudioFrame
from antiphon.testing.sweep import Heard

RATE = 8_000
FRAME = 0.02
"""Seconds of sound in a message."""


class StreamSocket(ABC):
    """A WebSocket that was opened to the server."""

    @abstractmethod
    def send(self, text: str) -> None:
        """Send a text frame. Never waits."""

    @abstractmethod
    async def close(self) -> None:
        """Close it."""


class Door(ABC):
    """The way to the server."""

    @abstractmethod
    async def post(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> tuple[int, str]:
        """Post a form. Returns status and body."""

    @abstractmethod
    async def connect(
        self, url: str, headers: Mapping[str, str], on_text: Callable[[str], None], on_close: Callable[[], None]
    ) -> StreamSocket:
        """Open a WebSocket. Raises `ConnectionError` if it is refused."""


# -- one stream


@dataclass(slots=True)
class _Queued:
    """Sound in the far end's queue."""

    at: float
    samples: bytes


class FarEnd:
    """A telephone behind a stream: an ear with a true playout clock, and a mouth.

    `send` takes messages for the server. `delay()` gives the seconds that a message is under way, for each, in both
    directions; the order is kept. `loss()`: whether the next frame of the caller never comes.
    """

    def __init__(
        self,
        send: Callable[[str], None],
        *,
        stream: str = "MZ1",
        call: str = "CA1",
        telnyx: bool = False,
        parameters: Mapping[str, str] | None = None,
        delay: Callable[[], float] = lambda: 0.0,
        loss: Callable[[], bool] = lambda: False,
    ) -> None:
        self.heard: list[Heard] = []
        self.cuts: list[float] = []
        """When a `clear` came."""
        self.problems: list[str] = []
        """What the server sent that a carrier does not take."""
        self._out = _Slow(send, delay)
        self._in = _Slow(self._obey, delay)
        self._loss = loss
        self._stream, self._call, self._telnyx = stream, call, telnyx
        self._parameters = dict(parameters or {})
        self._loop = asyncio.get_running_loop()
        self._free = 0.0
        """When all that is queued has sounded."""
        self._queue: deque[_Queued] = deque()
        self._marks: dict[asyncio.TimerHandle, str] = {}
        self._numbers, self._chunks = itertools.count(1), itertools.count(1)
        self._speech = bytearray()
        self._mouth: asyncio.Task[None] | None = None
        self._gone = False

    # -- from the server

    def receive(self, text: str) -> None:
        """The server sent this."""
        self._in.put(text)

    def _obey(self, text: str) -> None:
        if self._gone:
            return
        said = json.loads(text)
        if not self._telnyx and said.get("streamSid") != self._stream:
            self.problems.append(f"expected streamSid {self._stream}: {text[:200]}")
            return
        now = self._loop.time()
        match said.get("event"):
            case "media":
                self._play(base64.b64decode(said["media"]["payload"], validate=True), now)
            case "mark":
                handle = self._loop.call_at(max(now, self._free), self._give_back_due)
                self._marks[handle] = said["mark"]["name"]
            case "clear":
                self._clear(now)
            case event:
                self.problems.append(f"unknown event {event!r}")

    def _play(self, data: bytes, now: float) -> None:
        at = max(now, self._free)
        self._free = at + len(data) / RATE
        self.heard.append(Heard(at, AudioFrame(_decoded(data), RATE)))

    def _clear(self, now: float) -> None:
        self.cuts.append(now)
        kept = []
        for piece in self.heard:
            if piece.at >= now:
                continue
            length = min(piece.frame.samples_per_channel, round((now - piece.at) * RATE))
            kept.append(Heard(piece.at, AudioFrame(piece.frame.data[: 2 * length], RATE)))
        self.heard[:] = kept
        self._free = now
        names = list(self._marks.values())
        for handle in self._marks:
            handle.cancel()
        self._marks.clear()
        for name in names:
            self._give_back(name)

    def _give_back_due(self) -> None:
        now = self._loop.time()
        for handle in [one for one in self._marks if one.when() <= now + 1e-9]:
            self._give_back(self._marks.pop(handle))

    def _give_back(self, name: str) -> None:
        self._say({"event": "mark", "mark": {"name": name}})

    @property
    def seconds_heard(self) -> float:
        """How much has sounded until now."""
        now = self._loop.time()
        return sum(min(piece.frame.duration, max(0.0, now - piece.at)) for piece in self.heard)

    # -- from the caller

    def begin(self) -> None:
        """Say that the stream begins; from now on the mouth gives a frame every 20 ms."""
        self._out.put(json.dumps({"event": "connected", "protocol": "Call", "version": "1.0.0"}))
        kind: dict[str, Any]
        if self._telnyx:
            kind = {"encoding": "PCMU", "sample_rate": RATE, "channels": 1}
            start = {"call_control_id": self._call, "media_format": kind, "custom_parameters": self._parameters}
        else:
            kind = {"encoding": "audio/x-mulaw", "sampleRate": RATE, "channels": 1}
            start = {
                "streamSid": self._stream,
                "accountSid": "AC1",
                "callSid": self._call,
                "tracks": ["inbound"],
                "customParameters": self._parameters,
                "mediaFormat": kind,
            }
        self._say({"event": "start", "start": start})
        self._mouth = asyncio.create_task(self._speak_on(), name="far end: mouth")

    def speak(self, frame: AudioFrame) -> None:
        """Say this, behind what is still to be said. Mono, 8 kHz."""
        self._speech += frame.data

    @property
    def is_speaking(self) -> bool:
        return bool(self._speech)

    def press(self, digits: str) -> None:
        """Press keys."""
        for digit in digits:
            self._say({"event": "dtmf", "dtmf": {"track": "inbound_track", "digit": digit}})

    def stop(self) -> None:
        """The stream ends as one does whose caller hangs up."""
        self._say({"event": "stop", "stop": {"accountSid": "AC1", "callSid": self._call}})

    async def aclose(self) -> None:
        """Nothing comes any more."""
        self._gone = True
        for handle in self._marks:
            handle.cancel()
        self._marks.clear()
        self._out.close()
        self._in.close()
        if self._mouth is not None:
            self._mouth.cancel()
            await asyncio.wait([self._mouth])

    async def _speak_on(self) -> None:
        size = 2 * round(FRAME * RATE)
        due = self._loop.time()
        while True:
            data = bytes(self._speech[:size]).ljust(size, b"\0")
            del self._speech[:size]
            chunk = next(self._chunks)
            if not self._loss():
                payload = base64.b64encode(_encoded(data)).decode()
                said = {"track": "inbound", "chunk": str(chunk), "timestamp": str(20 * chunk), "payload": payload}
                self._say({"event": "media", "media": said})
            due += FRAME
            await asyncio.sleep(max(0.0, due - self._loop.time()))

    def _say(self, message: dict[str, Any]) -> None:
        number = "sequence_number" if self._telnyx else "sequenceNumber"
        stream = "stream_id" if self._telnyx else "streamSid"
        if not self._gone:
            self._out.put(json.dumps({**message, number: str(next(self._numbers)), stream: self._stream}))


class _Slow:
    """Passes texts on in order, each a while later."""

    def __init__(self, to: Callable[[str], None], delay: Callable[[], float]) -> None:
        self._to, self._delay = to, delay
        self._last = 0.0
        self._under_way: deque[str] = deque()
        self._timers: deque[asyncio.TimerHandle] = deque()

    def put(self, text: str) -> None:
        loop = asyncio.get_running_loop()
        self._last = max(loop.time() + self._delay(), self._last)
        if self._last <= loop.time() and not self._under_way:
            self._to(text)
            return
        self._under_way.append(text)
        self._timers.append(loop.call_at(self._last, self._arrive))

    def _arrive(self) -> None:
        self._timers.popleft()
        self._to(self._under_way.popleft())  # timers of one instant come in any order

    def close(self) -> None:
        for handle in self._timers:
            handle.cancel()
        self._timers.clear()
        self._under_way.clear()


def jitter(random: Random, *, least: float = 0.01, most: float = 0.08) -> Callable[[], float]:
    """Gives the seconds that messages are under way."""
    return lambda: random.uniform(least, most)


# -- mu-law by its formula: the tables of the transport are tried against it


def _encoded(samples: bytes) -> bytes:
    import numpy as np

    x = np.frombuffer(samples, "<i2").astype(np.int32)
    size = np.minimum(np.abs(x), 32_635) + 132
    exponent = np.frexp(size.astype(np.float64))[1] - 8
    code = (size >> (exponent + 3)) & 0x0F | exponent << 4 | np.where(x < 0, 0x80, 0)
    return bytes((code ^ 0xFF).astype(np.uint8).tobytes())


def _decoded(data: bytes) -> bytes:
    import numpy as np

    code = np.frombuffer(data, np.uint8).astype(np.int32) ^ 0xFF
    size = ((code & 0x0F) * 8 + 132) * 2 ** ((code >> 4) & 7) - 132
    return bytes(np.where(code & 0x80, -size, size).astype("<i2").tobytes())


# -- a server in this process


class AsgiDoor(Door):
    """The door to an ASGI application in this process: no network, so virtual time goes as it should."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app
        self._sockets: set[_AsgiSocket] = set()

    async def post(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> tuple[int, str]:
        body = urlencode(form).encode()
        scope = _scope("http", url, {**headers, "content-type": "application/x-www-form-urlencoded"})
        scope["method"] = "POST"
        received = iter([{"type": "http.request", "body": body, "more_body": False}])
        status, parts = 500, []

        async def receive() -> dict[str, Any]:
            return next(received, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, send)
        return status, b"".join(parts).decode()

    async def connect(
        self, url: str, headers: Mapping[str, str], on_text: Callable[[str], None], on_close: Callable[[], None]
    ) -> StreamSocket:
        socket = _AsgiSocket(on_text, on_close)
        scope = _scope("websocket", url, headers)
        scope["extensions"] = {"websocket.http.response": {}}
        socket.task = asyncio.create_task(self._run(scope, socket), name="carrier: a stream")
        await socket.opened.wait()
        if not socket.is_open:
            raise ConnectionError("the stream was refused")
        self._sockets.add(socket)
        return socket

    async def _run(self, scope: dict[str, Any], socket: _AsgiSocket) -> None:
        try:
            await self._app(scope, socket.receive, socket.send_message)
        finally:
            socket.gone()
            self._sockets.discard(socket)

    async def drain(self) -> None:
        """Wait until the server has left every socket."""
        while self._sockets:
            await asyncio.wait([socket.task for socket in self._sockets if socket.task is not None])


class _AsgiSocket(StreamSocket):
    def __init__(self, on_text: Callable[[str], None], on_close: Callable[[], None]) -> None:
        self.opened = asyncio.Event()
        self.is_open = False
        self.task: asyncio.Task[None] | None = None
        self._on_text, self._on_close = on_text, on_close
        self._messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._messages.put_nowait({"type": "websocket.connect"})

    def send(self, text: str) -> None:
        self._messages.put_nowait({"type": "websocket.receive", "text": text})

    async def close(self) -> None:
        self._messages.put_nowait({"type": "websocket.disconnect", "code": 1006})
        self.is_open = False

    async def receive(self) -> dict[str, Any]:
        return await self._messages.get()

    async def send_message(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "websocket.accept":
                self.is_open = True
                self.opened.set()
            case "websocket.send" if self.is_open:
                self._on_text(message["text"])
            case "websocket.close":
                self.gone()

    def gone(self) -> None:
        self.is_open = False
        self.opened.set()
        self._on_close()


def _scope(kind: str, url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    split = urlsplit(url)
    named: Sequence[tuple[bytes, bytes]] = [
        (name.lower().encode(), value.encode()) for name, value in {"host": split.netloc, **headers}.items()
    ]
    return {
        "type": kind,
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": split.scheme,
        "path": split.path,
        "raw_path": split.path.encode(),
        "query_string": split.query.encode(),
        "root_path": "",
        "headers": named,
        "client": ("192.0.2.1", 4711),
        "server": (split.hostname, split.port or 443),
        "subprotocols": [],
    }
