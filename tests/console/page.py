"""A page in Python: what the browser's does on the wire, with a microphone and a loudspeaker that keep real time.

It plays from a ring with a prebuffer, sample by sample of the loop's clock, reports what has sounded, and obeys pause,
resume and clear as it hears of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import websockets
from websockets.asyncio.client import ClientConnection, connect

from antiphon.audio import AudioFrame
from antiphon.testing.audio import Track
from antiphon.testing.sweep import Heard

FRAME = 0.02
PATIENCE = 10.0
UNDERRUN = 0.25
"""Seconds: sound that comes this soon after the ring ran dry came too late."""


class Loudspeaker:
    """The page's playout ring."""

    def __init__(self, rate: int, prebuffer: float = 0.04) -> None:
        self.rate = rate
        self.track = Track(rate)
        """When it was not silent, on the loop's clock."""
        self.heard: list[Heard] = []
        """What sounded when."""
        self.epoch = 0
        self.played = 0
        """Samples of this epoch."""
        self.underruns = 0
        self._prebuffer = prebuffer
        self._ring: deque[bytes] = deque()
        self._queued = 0
        self._paused = False
        self._since: tuple[float, int] | None = None
        """Since when it has been playing, and the position then."""
        self._first_at = 0.0
        self._dry_at: float | None = None

    @property
    def sounding(self) -> bool:
        return self._since is not None

    def write(self, data: bytes) -> None:
        now = self.advance()
        if self._since is None and not self._queued:
            self._first_at = now
            if self._dry_at is not None and now - self._dry_at < UNDERRUN:
                self.underruns += 1
        self._ring.append(data)
        self._queued += len(data) // 2
        self.advance()

    def pause(self) -> None:
        self.advance()
        self._paused = True
        self._since = None

    def resume(self) -> None:
        self._paused = False
        self._begin(_now())

    def clear(self, epoch: int) -> None:
        self.advance()
        self._ring.clear()
        self._queued = 0
        self._paused = False
        self._since = self._dry_at = None
        self.played = 0
        self.epoch = epoch

    def advance(self) -> float:
        """Play what has become due. Returns the time."""
        now = _now()
        if self._since is None and self._queued and not self._paused:
            ready = self._queued >= self._prebuffer * self.rate or now - self._first_at >= self._prebuffer
            if ready:
                self._begin(now)
        if self._since is None:
            return now
        since, position = self._since
        due = position + int((now - since) * self.rate) - self.played
        while due > 0 and self._ring:
            data = self._ring.popleft()
            part = data[: 2 * due]
            if len(part) < len(data):
                self._ring.appendleft(data[len(part) :])
            at = since + (self.played - position) / self.rate
            self.track.add(at, part)
            self.heard.append(Heard(at, AudioFrame(part, self.rate)))
            self.played += len(part) // 2
            self._queued -= len(part) // 2
            due -= len(part) // 2
        if not self._ring:
            self._dry_at = since + (self.played - position) / self.rate
            self._since = None
        return now

    def _begin(self, now: float) -> None:
        if self._since is None and self._queued:
            self._since = now, self.played
            self._dry_at = None


class Page:
    """One call. `async with Page(url) as page:`; what the server says is in `messages`."""

    def __init__(
        self,
        url: str,
        *,
        rate: int = 48_000,
        audio: bool = True,
        transport: str = "websocket",
        resume: str | None = None,
        push_to_talk: bool = False,
        token: str | None = None,
        origin: str | None = None,
        reports: bool = True,
        address: str | None = None,
    ) -> None:
        self._url = socket_url(url, "/call", token)
        self._origin = origin
        self._address = None if address is None else (address, 0)
        self._start = {
            "type": "start",
            "rate": rate,
            "audio": audio,
            "transport": transport,
            "push_to_talk": push_to_talk,
            "resume": resume,
        }
        self.messages: list[dict[str, Any]] = []
        self.times: list[float] = []
        """When each message came."""
        self.speaker = Loudspeaker(rate)
        self.rate = rate
        self._audio = audio and transport == "websocket"
        self._reports = reports
        self._microphone = bytearray()
        self._next_frame = 0.0
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.socket: ClientConnection

    async def __aenter__(self) -> Self:
        self.socket = await connect(
            self._url,
            origin=self._origin,  # type: ignore[arg-type]  # a plain str is one
            max_size=None,
            compression=None,
            local_addr=self._address,
            ssl=ssl._create_unverified_context() if self._url.startswith("wss:") else None,
        )
        await self.socket.send(json.dumps(self._start))
        self._tasks.append(asyncio.create_task(self._read(), name="page reads"))
        if self._audio:
            self._tasks.append(asyncio.create_task(self._play(), name="page plays"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.socket.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- saying

    async def send(self, type: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type, **fields}))

    def speak(self, *pieces: AudioFrame) -> None:
        """Say this from the next frame on, behind what is being said."""
        for piece in pieces:
            assert piece.sample_rate == self.rate
            self._microphone += piece.data

    @property
    def speaking(self) -> bool:
        """Whether there is more to say."""
        return bool(self._microphone)

    @property
    def next_frame(self) -> float:
        """When the first sample of the next frame is picked up, if nothing waits to be said."""
        return self._next_frame

    # -- what came

    def of(self, type: str, **fields: Any) -> list[dict[str, Any]]:
        """The messages of this kind, so far."""
        return [m for m in self.messages if m["type"] == type and all(m.get(k) == v for k, v in fields.items())]

    async def until(self, condition: Callable[[], Any], timeout: float = PATIENCE) -> Any:
        """Wait until `condition()` holds, looking after every message and every frame. Returns what it gave."""
        async with asyncio.timeout(timeout):
            while not (found := condition()):
                self._changed.clear()
                await self._changed.wait()
        return found

    async def wait_for(self, type: str, *, timeout: float = PATIENCE, **fields: Any) -> dict[str, Any]:
        """The first message of this kind, once it is there."""
        found: list[dict[str, Any]] = await self.until(lambda: self.of(type, **fields), timeout)
        return found[0]

    async def closed(self, timeout: float = PATIENCE) -> tuple[int | None, str | None]:
        """Wait for the end. Code and reason."""
        async with asyncio.timeout(timeout):
            await self.socket.wait_closed()
        return self.socket.close_code, self.socket.close_reason

    async def asks(self, text: str, timeout: float = PATIENCE) -> str:
        """Type a turn and wait for the answer to be over."""
        before = len(self.of("message", role="assistant"))
        await self.send("text", text=text)
        await self.until(lambda: len(self.of("message", role="assistant")) > before, timeout)
        await self.until(lambda: self.of("state")[-1]["agent"] == "listening", timeout)
        answers: list[dict[str, Any]] = self.of("message", role="assistant")
        return str(answers[-1]["text"])

    # -- the wire

    async def _read(self) -> None:
        with contextlib.suppress(websockets.ConnectionClosed):
            async for received in self.socket:
                if isinstance(received, bytes):
                    self.speaker.write(received)
                else:
                    self._obey(json.loads(received))
                self._changed.set()
        self._changed.set()

    def _obey(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "pause":
                self.speaker.pause()
            case "resume":
                self.speaker.resume()
            case "clear":
                self.speaker.clear(message["epoch"])
        self.messages.append(message)
        self.times.append(_now())

    async def _play(self) -> None:
        size = 2 * round(FRAME * self.rate)
        began = self._next_frame = _now()
        frames = 0
        told = (0, 0)
        with contextlib.suppress(websockets.ConnectionClosed):
            while True:
                frames += 1
                await asyncio.sleep(max(0.0, began + frames * FRAME - _now()))
                self._next_frame = began + frames * FRAME
                data = bytes(self._microphone[:size])
                del self._microphone[:size]
                await self.socket.send(data.ljust(size, b"\0"))
                self.speaker.advance()
                self._changed.set()
                state = self.speaker.epoch, self.speaker.played
                if self._reports and state != told:
                    told = state
                    await self.send("played", epoch=state[0], samples=state[1])


def socket_url(url: str, path: str, token: str | None = None) -> str:
    """The address of a socket, for the address of a page."""
    base, _, query = url.partition("/?")
    own = query.partition("token=")[2]
    token = token if token is not None else own or None
    return "ws" + base.removeprefix("http") + path + (f"?token={token}" if token is not None else "")


def _now() -> float:
    return asyncio.get_running_loop().time()
