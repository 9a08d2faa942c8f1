"""The control socket to a LiveKit server: one registration of a worker, kept up as long as it is wanted.

It registers, sends what it is given, hands on what comes, tells how the worker is every 2.5 s, and comes back when the
socket is lost. Jobs do not depend on it: their rooms have connections of their own.

Above: `worker`, which decides. Below: a WebSocket with a protobuf message in each frame; `livekit.protocol.agent`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from antiphon.errors import AntiphonError, UsageError
from antiphon.server.livekit.server import LiveKitServer

if TYPE_CHECKING:
    import aiohttp

logger = logging.getLogger("antiphon")

REGISTER_TIMEOUT = 10.0
"""Seconds in which the server must take the registration."""
UPDATE_PERIOD = 2.5
"""Seconds between two reports of how the worker is."""
PING_PERIOD = 10.0
"""Seconds between two pings."""
SILENCE = 30.0
"""Seconds without a word of the server after which the socket counts as lost: pings are answered."""
FIRST_DELAY, LONGEST_DELAY = 0.25, 10.0
"""Seconds before the second try to come back, and before each later one at most; the first is at once.

A dispatch that finds no worker is lost for good, so the first tries are close together.
"""


class Wanted(Protocol):
    """What the link asks of the worker."""

    def status(self) -> Any:
        """`UpdateWorkerStatus`."""

    def running(self) -> Sequence[str]:
        """The ids of the jobs that run."""

    def offered(self, link: Link, offer: Any) -> None: ...
    def assigned(self, link: Link, assignment: Any) -> None: ...
    def terminated(self, job: str) -> None: ...


class Link:
    """One registration. `registration` is LiveKit's `RegisterWorkerRequest`."""

    def __init__(
        self,
        server: LiveKitServer,
        registration: Any,
        worker: Wanted,
        *,
        max_retry: int = 16,
        proxy: str | None = None,
    ) -> None:
        self.agent_name: str = registration.agent_name
        self.worker_id = ""
        """What the server calls it; "" before the first registration."""
        self._server = server
        self._registration = registration
        self._worker = worker
        self._max_retry = max_retry
        self._proxy = proxy
        self.registered = asyncio.Event()
        """Set by the first registration, for good."""
        self._outgoing: asyncio.Queue[bytes] | None = None
        self._heard_at = 0.0

    @property
    def is_registered(self) -> bool:
        """Whether jobs may come."""
        return self._outgoing is not None

    def send(self, **message: Any) -> None:
        """Send a `WorkerMessage`, unless the socket is lost: to the next one it would mean nothing."""
        if self._outgoing is not None:
            self._outgoing.put_nowait(_protocol().WorkerMessage(**message).SerializeToString())

    async def run(self) -> None:
        """Be registered until cancelled. Raises `AntiphonError` if the server refuses the key, or is not to be had."""
        import aiohttp

        tries = 0
        async with aiohttp.ClientSession() as session:
            while True:
                reason = ""
                try:
                    async with self._connect(session) as socket:
                        tries = 0
                        await self._work(socket)
                except aiohttp.WSServerHandshakeError as error:
                    if error.status == 401 and not self.worker_id:
                        raise AntiphonError(
                            f"the LiveKit server at {self._server.url} refused the key. Check LIVEKIT_API_KEY and"
                            " LIVEKIT_API_SECRET."
                        ) from error
                    reason = f"HTTP {error.status}"
                except (aiohttp.ClientError, OSError, TimeoutError, _Lost) as error:
                    reason = str(error) or type(error).__name__
                if tries >= self._max_retry:
                    raise AntiphonError(f"the LiveKit server at {self._server.url} is not to be had: {reason}")
                delay = _delay(tries)
                tries += 1
                logger.warning("%s: %s; trying again in %.1f s", self._server.url, reason, delay)
                await asyncio.sleep(delay)

    @contextlib.asynccontextmanager
    async def _connect(self, session: aiohttp.ClientSession) -> Any:
        """A socket on which the worker is registered."""
        agent = _protocol()
        headers = {"Authorization": f"Bearer {self._server.worker_token()}"}
        async with asyncio.timeout(REGISTER_TIMEOUT):
            socket = await session.ws_connect(
                f"{self._server.url}/agent", headers=headers, autoping=True, proxy=self._proxy
            )
        try:
            await socket.send_bytes(agent.WorkerMessage(register=self._registration).SerializeToString())
            async with asyncio.timeout(REGISTER_TIMEOUT):
                first = await self._receive(socket)
            if not first.HasField("register"):
                raise _Lost(f"expected an answer to the registration, got {first.WhichOneof('message')}")
            again, self.worker_id = bool(self.worker_id), first.register.worker_id
            version = first.register.server_info.version
            logger.info("registered as %s with LiveKit %s at %s", self.worker_id, version, self._server.url)
            self._outgoing = asyncio.Queue()
            self.registered.set()
            if again and (running := self._worker.running()):
                self.send(migrate_job=agent.MigrateJobRequest(job_ids=running))
            self.send(update_worker=self._worker.status())
            yield socket
        finally:
            self._outgoing = None
            await socket.close()

    async def _work(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Send and receive until the socket is lost, which raises."""
        assert self._outgoing is not None
        parts = (self._send_on(socket, self._outgoing), self._receive_on(socket), self._report())
        tasks = [asyncio.create_task(part, name="LiveKit: control socket") for part in parts]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _send_on(self, socket: aiohttp.ClientWebSocketResponse, outgoing: asyncio.Queue[bytes]) -> None:
        while True:
            await socket.send_bytes(await outgoing.get())

    async def _receive_on(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            message = await self._receive(socket)
            match message.WhichOneof("message"):
                case "availability":
                    self._worker.offered(self, message.availability)
                case "assignment":
                    self._worker.assigned(self, message.assignment)
                case "termination":
                    self._worker.terminated(message.termination.job_id)

    async def _receive(self, socket: aiohttp.ClientWebSocketResponse) -> Any:
        import aiohttp
        from google.protobuf.message import DecodeError

        frame = await socket.receive()
        if frame.type is not aiohttp.WSMsgType.BINARY:
            raise _Lost("the server closed the socket")
        self._heard_at = time.monotonic()
        try:
            return _protocol().ServerMessage.FromString(frame.data)
        except DecodeError as error:
            raise _Lost(f"what came is no message of LiveKit's: {error}") from error

    async def _report(self) -> None:
        pinged = time.monotonic()
        while True:
            await asyncio.sleep(UPDATE_PERIOD)
            self.send(update_worker=self._worker.status())
            now = time.monotonic()
            if now - pinged >= PING_PERIOD:
                pinged = now
                self.send(ping=_protocol().WorkerPing(timestamp=int(time.time() * 1000)))
            if now - self._heard_at > SILENCE:
                raise _Lost(f"the server has not said a word for {SILENCE:g} s")


class _Lost(Exception):
    """The socket is of no use any more."""


def _delay(tries: int) -> float:
    """Seconds before the next try; those of several workers do not fall together."""
    if not tries:
        return 0.0
    return min(FIRST_DELAY * 2.0 ** (tries - 1), LONGEST_DELAY) * random.uniform(0.8, 1.2)


def _protocol() -> Any:
    try:
        from livekit.protocol import agent
    except ImportError as error:
        raise UsageError(
            f"a worker needs the package livekit-protocol ({error}). Install it with: pip install 'antiphon[livekit]'"
        ) from None
    return agent
