"""`antiphon dev`: the page of an agent file on a port, until it is told to stop.

Above: the command line. Below: uvicorn, which owns the sockets, and everything in this package.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import uvicorn

from antiphon.console.access import Access, Limits, is_loopback
from antiphon.console.app import page_app
from antiphon.console.archive import Archive
from antiphon.console.calls import Calls, Models
from antiphon.console.door import Door, most_connections
from antiphon.console.reload import AgentFile
from antiphon.console.tls import Certificate, lan_address, own_certificate
from antiphon.console.wires import MAX_HEAD, MAX_MESSAGE, HttpConnection, SocketConnection
from antiphon.errors import UsageError
from antiphon.protocols import call_store
from antiphon.records.current import call_records
from antiphon.server.admission import Admission
from antiphon.server.process import longest_write_grace, on_sudden_end
from antiphon.visible import SparingLog, VisibleRecords

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from antiphon.console.studio.app import Studio
    from antiphon.console.telephone import Telephone
    from antiphon.server.telephone import Settings

logger = logging.getLogger("antiphon")

STOP_TIMEOUT = 5
"""Seconds that calls have to end when the server stops; tools that write have theirs beside."""


@dataclass(slots=True, frozen=True)
class Place:
    """Where the page is served."""

    host: str = "127.0.0.1"
    port: int = 8080
    """0: any that is free."""
    token: str | None = None
    """Asked for from everybody; None: a new one, or none at all on this machine's own addresses."""
    tls: bool = False
    """With a certificate of our own making."""
    certificate: Certificate | None = None
    """With this certificate."""

    @property
    def is_everywhere(self) -> bool:
        """It is bound to all addresses of the machine."""
        return self.host in ("0.0.0.0", "::", "")

    @property
    def name(self) -> str:
        """The name or address to open it by."""
        return (lan_address() or "127.0.0.1") if self.is_everywhere else self.host


class DoorServer(uvicorn.Server):
    """Lets people in by a `Door`. It leaves signals to its owner, who has things to put away after it.

    `most`: connections that there should be place for.
    """

    def __init__(self, config: uvicorn.Config, listening: socket.socket, most: int = 0) -> None:
        super().__init__(config)
        self._most = most
        self._listening = listening
        self._shut = False
        self._door: Door | None = None
        self._letting_in: asyncio.Task[None] | None = None

    def shut(self, shut: bool) -> None:
        """Whether those who come are left waiting outside, for others who share the listening socket."""
        self._shut = shut
        if self._door is not None:
            self._door.shut(shut)

    async def let_nobody_in(self) -> None:
        """From now on; those who are in stay."""
        if self._letting_in is not None:
            self._letting_in.cancel()
            await asyncio.wait([self._letting_in])
        self._door = None
        self._listening.close()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        state = self.server_state

        def connection() -> HttpConnection:
            return HttpConnection(self.config, state, {})

        self.servers: list[asyncio.base_events.Server] = []
        most = most_connections(self._most)
        self._door = Door(self._listening, connection, state.connections, tls=self.config.ssl, most=most)
        self._door.shut(self._shut)
        self._letting_in = asyncio.create_task(self._door.run(), name="page server: door")
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self.let_nobody_in()
        await super().shutdown(sockets)


class _Server(DoorServer):
    """The server of calls: these end before it stops. Their pages learn of it, and reports are written."""

    def __init__(self, config: uvicorn.Config, calls: Calls, listening: socket.socket) -> None:
        super().__init__(config, listening, 2 * calls.limits.max_calls)
        self._calls = calls

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self.let_nobody_in()
        await self._calls.end_all("the server stops", timeout=STOP_TIMEOUT + longest_write_grace())
        await super().shutdown(sockets)


@contextlib.asynccontextmanager
async def page_server(
    file: AgentFile,
    place: Place,
    *,
    models: Models,
    limits: Limits | None = None,
    folder: Path | None = None,
    ice_hosts: tuple[str, ...] | None = None,
    reload: bool = True,
    keep: bool = True,
    listening: socket.socket | None = None,
    admission: Admission | None = None,
    for_developer: bool = False,
    telephone: Settings | None = None,
) -> AsyncIterator[PageServer]:
    """A page server that runs inside. `folder` keeps recordings and reports; without one they go when it stops.

    `reload`: the agent file is loaded anew when it is saved. `keep`: without a folder there are recordings and reports,
    too. `listening`: a socket that is shared with others, in place of one of its own. `admission`: places that calls
    from elsewhere take, too. `for_developer`: who calls may look into the agent. `telephone`: the carrier
    whose calls are answered, too.

    Raises `UsageError` if the address cannot be used.
    """
    access = Access.to("0.0.0.0" if place.is_everywhere else place.host, place.token)
    listening = listening or listen(place)
    with contextlib.ExitStack() as stack:
        stack.enter_context(listening)
        stack.enter_context(sparing_log())
        kept = folder or (_temporary_folder(stack) if keep else None)
        calls = Calls(
            file,
            models=models,
            access=access,
            archive=Archive(kept),
            limits=limits,
            ice_hosts=ice_hosts,
            admission=admission,
            for_developer=for_developer,
        )
        certificate = place.certificate or (own_certificate((place.name, "localhost")) if place.tls else None)
        phone = None if telephone is None else _telephone(calls, telephone)
        studio = _studio(calls) if for_developer else None
        server = _Server(connection_config(page_app(calls, phone, studio), certificate), calls, listening)
        watching = asyncio.create_task(_watch(file) if reload else asyncio.sleep(0), name="agent file")
        serving = asyncio.create_task(server.serve([]), name="page server")
        try:
            yield PageServer(calls, server, serving, page_address(place, listening, access.token))
        finally:
            server.should_exit = True
            watching.cancel()
            await asyncio.gather(watching, serving, return_exceptions=True)
            if phone is not None:
                await phone.aclose()
            if studio is not None:
                await studio.aclose()


def _studio(calls: Calls) -> Studio:
    """The studio over what is recorded here, and the calls that go on."""
    from antiphon.console.studio.app import Studio
    from antiphon.console.studio.live import Live
    from antiphon.console.studio.shelf import Shelf

    said = call_records.get()
    server = calls.file.server
    records = server.records if server is not None else None if said is None else said.records
    shelf = None if records is None else Shelf(records.place)
    return Studio(shelf, Live(lambda: calls.held, call_store.get()), calls.access)


def _telephone(calls: Calls, settings: Settings) -> Telephone:
    from antiphon.console.telephone import Telephone
    from antiphon.server.telephone import CarrierApi

    return Telephone(calls, settings, CarrierApi(settings))


@dataclass(slots=True, frozen=True)
class PageServer:
    """A running server."""

    calls: Calls
    server: _Server
    serving: asyncio.Task[None]
    url: str
    """What to open, the token included."""

    def stop(self) -> None:
        """Have it stop: calls end first."""
        self.server.should_exit = True

    async def run(self) -> None:
        """Wait until it is told to stop: by `stop`, or by cancelling this. Raises what broke it, if anything did."""
        await asyncio.shield(self.serving)


def connection_config(app: ASGIApp, certificate: Certificate | None = None) -> uvicorn.Config:
    """How uvicorn serves `app`: by our own connections, within their limits."""
    return uvicorn.Config(
        app,
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        http=HttpConnection,
        ws=SocketConnection,
        h11_max_incomplete_event_size=MAX_HEAD,
        ws_max_size=MAX_MESSAGE,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=STOP_TIMEOUT,
        ssl_certfile=None if certificate is None else str(certificate.chain),
        ssl_keyfile=None if certificate is None else str(certificate.key),
    )


@contextlib.contextmanager
def sparing_log() -> Generator[None, None, None]:
    """Keep uvicorn from a line of log for each piece of nonsense that somebody sends, and from lines that act."""
    filters, log = (SparingLog(), VisibleRecords()), logging.getLogger("uvicorn.error")
    for one in filters:
        log.addFilter(one)
    try:
        yield
    finally:
        for one in filters:
            log.removeFilter(one)


async def _watch(file: AgentFile) -> None:
    """Load the file anew when it is saved, as long as the system lets us see that."""
    try:
        await file.watch()
    except Exception as error:
        logger.warning("%s is not watched any more: %s. Restart to load changes.", file.path, error)


def _temporary_folder(stack: contextlib.ExitStack) -> Path:
    """A folder that goes with the stack, or with the process if that ends at once: there are recordings in it."""
    folder = tempfile.TemporaryDirectory(prefix="antiphon-", ignore_cleanup_errors=True)
    stack.enter_context(folder)
    stack.enter_context(on_sudden_end(folder.cleanup))
    return Path(folder.name)


def listen(place: Place) -> socket.socket:
    """A socket at this place. Raises `UsageError` if the address cannot be used."""
    host = place.host or "0.0.0.0"
    try:
        family = socket.getaddrinfo(host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, place.port), family=family, backlog=128)
    except OSError as error:
        raise UsageError(
            f"cannot serve at {host}:{place.port}: {error.strerror}. Choose another --host or --port."
        ) from error


def page_address(place: Place, listening: socket.socket, token: str | None) -> str:
    """What to open, the token included."""
    scheme = "https" if place.tls or place.certificate is not None else "http"
    name = f"[{place.name}]" if ":" in place.name else place.name
    query = "" if token is None else f"/?token={quote(token)}"
    return f"{scheme}://{name}:{listening.getsockname()[1]}{query}"


def needs_tls(place: Place) -> bool:
    """Whether browsers will keep the microphone from the page."""
    return not (place.tls or place.certificate is not None or is_loopback(place.name))


async def serve(
    file: AgentFile,
    place: Place,
    *,
    models: Models,
    prewarm: Callable[[], Coroutine[None, None, None]],
    opened: Callable[[str], None],
    notice: Callable[[str], None],
    limits: Limits | None = None,
    folder: Path | None = None,
    reload: bool = True,
) -> None:
    """Serve the page until the program is told to stop (Ctrl-C). `opened` is told where, `notice` of every change.

    `prewarm` is run beside, so that the first caller does not wait for models.
    """
    # Models load in threads of their own, and numpy cannot bear to be imported by two of them at a time.
    await asyncio.to_thread(importlib.import_module, "numpy")

    def tell_change() -> None:
        notice(f"{file.path} loaded anew." if file.server is not None else file.problem)

    async with page_server(
        file, place, models=models, limits=limits, folder=folder, reload=reload, for_developer=True
    ) as running:
        opened(running.url)
        if needs_tls(place):
            notice("Browsers give the microphone to https pages only, other than on this machine. Add --tls.")
        if file.server is None:
            notice(file.problem)
        file.on_change(tell_change)
        loading = asyncio.create_task(prewarm(), name="loading models")
        try:
            await running.run()
        finally:
            loading.cancel()
            await asyncio.gather(loading, return_exceptions=True)
