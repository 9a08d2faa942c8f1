"""The door of the page server: who comes in, how many at a time, and how long they may stand in it.

Connections are taken one at a time, so that a crowd does not keep calls from their turn. Whoever waits for nothing that
comes (half a request, an answer that is never read) is shown out, and where places run short, whoever has waited
longest to say what it wants, or to be gone, goes first: that is never somebody who speaks.

Above: `serve`. Below: the listening socket, and `wires`, which say what each connection waits for.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from antiphon.console.access import ClientAllowances, client_key
from antiphon.console.wires import HttpConnection, SocketConnection, Wait, Waiting, cut
from antiphon.visible import SPARING

logger = logging.getLogger("antiphon")

CONNECTIONS_PER_SECOND = 50.0
"""New connections of a client. A page opens eight when it is loaded."""
CONNECTIONS_BURST = 300.0
"""New connections of a client at once. Beyond, they are closed before a byte is read."""
MAX_WAITING = 64
"""Connections of a client that have not said what they want (the handshake of TLS before it included), or are closed
and not gone. With one more, the one that has waited longest is cut."""
MAX_CONNECTIONS = 512
"""Connections in all, and no more than half of the descriptors that the process may have. With one more, the one that
has waited longest to say what it wants, or to be gone, is cut; if there is none, the one that has waited longest for
its answer, or not taken it; else the new one."""
LOOK = 1.0
"""Seconds between two looks at who waits."""
OUT_OF_DESCRIPTORS = 0.5
"""Seconds in which nobody is let in after the system had no descriptor for it."""

_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

Connection = HttpConnection | SocketConnection
_Guest: TypeAlias = "tuple[float, Connection | asyncio.Task[None]]"
"""Who waits, and since when."""


@dataclass(slots=True, frozen=True)
class _Since:
    waiting: Waiting
    at: float


@dataclass(slots=True, frozen=True)
class _Greeted:
    client: str
    at: float
    """Since when."""


class Door:
    """Lets connections in to `make`'s protocol. `connections` are those that are in; protocols keep it true."""

    def __init__(
        self,
        listening: socket.socket,
        make: Callable[[], asyncio.Protocol],
        connections: Collection[object],
        *,
        tls: ssl.SSLContext | None = None,
        most: int | None = None,
    ) -> None:
        self._listening = listening
        self._make = make
        self._connections = connections
        self._tls = tls
        self._most = most if most is not None else most_connections()
        self._rates = ClientAllowances(CONNECTIONS_PER_SECOND, CONNECTIONS_BURST)
        self._since: dict[Connection, _Since] = {}
        self._greeted: dict[asyncio.Task[None], _Greeted] = {}
        """Connections on their way in: TLS takes a while."""
        self._told = float("-inf")
        self._loop = asyncio.get_running_loop()
        self._is_shut = False
        self._somebody_waits = asyncio.Event()

    def shut(self, shut: bool) -> None:
        """Whether those who come are left waiting outside, where somebody else may let them in."""
        if shut and not self._is_shut:
            self._loop.remove_reader(self._listening)
            self._somebody_waits.clear()
        elif self._is_shut and not shut:
            self._loop.add_reader(self._listening, self._come)
        self._is_shut = shut

    def _come(self) -> None:
        # Once for each who comes: until they are in, nothing is to be done about the next.
        self._loop.remove_reader(self._listening)
        self._somebody_waits.set()

    async def run(self) -> None:
        """Let people in until this is cancelled. Those who are in stay; those on their way are turned away."""
        self._listening.setblocking(False)
        looking = asyncio.create_task(self._keep_looking(), name="page server: who waits")
        if not self._is_shut:
            self._loop.add_reader(self._listening, self._come)
        try:
            while True:
                await self._somebody_waits.wait()
                self._somebody_waits.clear()
                await self._next()
                if not self._is_shut:
                    self._loop.add_reader(self._listening, self._come)
                await asyncio.sleep(0)  # after each one, everybody who is in has a turn
        finally:
            self._loop.remove_reader(self._listening)
            going = [looking, *self._greeted]
            for task in going:
                task.cancel()
            await asyncio.gather(*going, return_exceptions=True)

    async def _next(self) -> None:
        try:
            connected, address = self._listening.accept()
            connected.setblocking(False)
            if connected.family in (socket.AF_INET, socket.AF_INET6):
                # What is sent goes at once. asyncio sees to that only where a socket names its protocol, and one that
                # was accepted does not: the second piece of an answer waited 40 ms for the first's acknowledgement.
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            if error.errno in _SHORT:
                self._tell(f"the system has no room for another connection: {error.strerror}. Raise `ulimit -n`.")
                self._look()
                self._show_out(self._longest())
                await asyncio.sleep(OUT_OF_DESCRIPTORS)
            return  # they have gone, or another process has let them in
        client = client_key(str(address[0])) if address else ""
        if not self._rates.of(client).take(1, self._loop.time()) or not self._make_room(client):
            connected.close()
            return
        greeting = asyncio.create_task(self._greet(connected), name="page server: a connection")
        self._greeted[greeting] = _Greeted(client, self._loop.time())
        greeting.add_done_callback(lambda done: self._greeted.pop(done, None))

    async def _greet(self, connected: socket.socket) -> None:
        try:
            async with asyncio.timeout(Wait.REQUEST.value):
                await self._loop.connect_accepted_socket(self._make, connected, ssl=self._tls)
        except (OSError, TimeoutError):  # ssl's errors are such; the other side is gone, or speaks no TLS
            connected.close()
        except asyncio.CancelledError:
            connected.close()
            raise

    def _make_room(self, client: str) -> bool:
        """Have a place for one more of this client. False: there is none."""
        number = len(self._connections) + len(self._greeted)
        if number >= min(MAX_WAITING, self._most):  # else none of the bounds can be reached
            self._look()
            if len(idle := self._idle(client)) >= MAX_WAITING:
                self._show_out(_first(idle))
            elif number >= self._most:
                longest = self._longest()
                if longest is None:
                    self._tell(f"{self._most} connections are open; others are turned away. Raise `ulimit -n`.")
                    return False
                self._show_out(longest)
        return True

    # -- who waits

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            self._look()
            now = self._loop.time()
            for connection, since in list(self._since.items()):
                if now - since.at > since.waiting.what.value:
                    cut(connection)

    def _look(self) -> None:
        """See who waits, and for what."""
        now, before, self._since = self._loop.time(), self._since, {}
        for connection in self._connections:
            if isinstance(connection, Connection) and (waiting := connection.waiting) is not None:
                known = before.get(connection)
                same = known is not None and known.waiting == waiting
                self._since[connection] = known if same and known is not None else _Since(waiting, now)

    def _idle(self, client: str | None = None) -> list[_Guest]:
        """Those, of this client or of all, that nobody would miss, and since when."""
        idle: list[_Guest] = [
            (since.at, connection)
            for connection, since in self._since.items()
            if since.waiting.what in (Wait.REQUEST, Wait.CLOSE) and (client is None or _client_of(connection) == client)
        ]
        idle += [
            (one.at, task)
            for task, one in self._greeted.items()
            if (client is None or one.client == client) and not task.done()
        ]
        return idle

    def _longest(self) -> Connection | asyncio.Task[None] | None:
        """Who has waited longest, of those that nobody would miss; else of those that have no answer."""
        idle = self._idle()
        if idle:
            return _first(idle)
        # Not a call: its page may be on a slow network.
        asking = [(since.at, one) for one, since in self._since.items() if isinstance(one, HttpConnection)]
        return _first(asking) if asking else None

    def _show_out(self, guest: Connection | asyncio.Task[None] | None) -> None:
        if isinstance(guest, asyncio.Task):
            guest.cancel()
            self._greeted.pop(guest, None)
        elif guest is not None:
            self._since.pop(guest, None)
            cut(guest)

    def _tell(self, trouble: str) -> None:
        """Log it, if nothing was logged for a while."""
        now = self._loop.time()
        if now - self._told > SPARING:
            self._told = now
            logger.warning("%s", trouble)


def _first(guests: Sequence[_Guest]) -> Connection | asyncio.Task[None]:
    return min(guests, key=lambda one: one[0])[1]


def _client_of(connection: Connection) -> str:
    return client_key(connection.client[0]) if connection.client is not None else ""


def most_connections(wanted: int = 0) -> int:
    """As many connections as this process has descriptors for: the other half is for files, models and sound.

    `wanted`: more than `MAX_CONNECTIONS`, if so many calls are to be held.
    """
    most = max(MAX_CONNECTIONS, wanted)
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return most
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most if allowed == resource.RLIM_INFINITY else min(most, max(allowed // 2, 8))
