"""`antiphon start` and `antiphon connect`: agents that are live, for pages and in LiveKit's rooms.

`start` is two things: the supervisor, and each of the workers that it starts by the same command line. Where the
LiveKit server is, and the keys to it, say LIVEKIT_URL, LIVEKIT_API_KEY and LIVEKIT_API_SECRET of the environment.

Above: `main.py`. Below: `antiphon.server.supervisor`, `antiphon.server.livekit`, the page.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.calls.models import ModelChoice
from antiphon.cli.screen import Screen
from antiphon.console.access import Access, Limits
from antiphon.protocols import call_store
from antiphon.server.admission import Admission
from antiphon.server.entrypoint import AgentServer
from antiphon.server.figures import Figures
from antiphon.server.job import Job
from antiphon.server.livekit.again import LostJob, ask_again
from antiphon.server.livekit.hold import HeldCall
from antiphon.server.livekit.server import STATE, LiveKitServer
from antiphon.server.livekit.takeover import TakeOvers
from antiphon.server.livekit.worker import Worker
from antiphon.server.load import LoadMeter
from antiphon.server.process import ending_takes
from antiphon.server.supervisor.child import Limits as WorkerLimits
from antiphon.server.supervisor.status import Status, Wishes
from antiphon.server.supervisor.supervised import Supervised, memory
from antiphon.server.supervisor.supervisor import Supervisor
from antiphon.session import AgentSession
from antiphon.transports.livekit import LiveKitCall

if TYPE_CHECKING:
    from antiphon.console.serve import PageServer, Place
    from antiphon.server.telephone import Settings

LONGEST_DRAIN = 24 * 3600.0
"""Seconds that a supervisor waits for its workers at most; these know their own limits."""


@dataclass(slots=True, frozen=True)
class Serving:
    """How calls are taken."""

    place: Place | None
    """Where the page is; None: nowhere."""
    file: Path
    max_calls: int = 1000
    max_per_client: int | None = None
    max_duration: float = 3600.0
    folder: Path | None = None
    """Keeps recordings and reports of the page's calls; None: there are none."""
    drain: float | None = None
    """Seconds for the calls that are on when it is told to end; None is what the agent file says."""
    telephone: Settings | None = None
    """The carrier whose calls are answered at the page's place; None: there is none."""

    def limits(self) -> Limits:
        """Those of the page."""
        return Limits(
            max_calls=self.max_calls,
            max_pages=max(200, 2 * self.max_calls),
            max_calls_per_client=self.max_per_client,
            max_duration=self.max_duration,
        )


# -- the supervisor


async def supervise(
    serving: Serving,
    count: int,
    *,
    limits: WorkerLimits,
    host: str,
    health_port: int | None,
    screen: Screen,
) -> None:
    """Keep so many workers until cancelled, then wait until they have ended."""
    raise_descriptor_limit()
    with contextlib.ExitStack() as stack:
        listening, tls, environment = None, None, {}
        if serving.place is not None:
            listening, tls, token = _open_place(serving.place, stack)
            environment = {} if token is None else {"ANTIPHON_TOKEN": token}

        def opened(where: Sequence[str], workers: int) -> None:
            processes = "one process" if workers == 1 else f"{workers} processes"
            screen.notice(f"Taking calls {_shown(where, serving.place)}, in {processes}. Ctrl-C ends them politely.")

        supervisor = Supervisor(
            count,
            listening=listening,
            limits=limits,
            host=host,
            port=health_port,
            tls=tls,
            environment=environment,
            opened=opened,
        )
        stack.enter_context(_upgraded_by_hangup(supervisor.upgrade))
        with ending_takes(LONGEST_DRAIN):
            await supervisor.run()


def _open_place(place: Place, stack: contextlib.ExitStack) -> tuple[socket.socket, ssl.SSLContext | None, str | None]:
    from antiphon.console.serve import listen
    from antiphon.console.tls import own_certificate

    # All workers ask for the same token, and show the same certificate.
    token = Access.to("0.0.0.0" if place.is_everywhere else place.host, place.token).token
    listening = stack.enter_context(listen(place))
    listening.setblocking(False)
    certificate = place.certificate or (own_certificate((place.name, "localhost")) if place.tls else None)
    if certificate is None:
        return listening, None, token
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate.chain, certificate.key)
    return listening, tls, token


@contextlib.contextmanager
def _upgraded_by_hangup(upgrade: Callable[[], None]) -> Iterator[None]:
    """SIGHUP upgrades, but where it says that a terminal was closed."""
    loop = asyncio.get_running_loop()
    if sys.stderr.isatty() or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        yield
        return
    loop.add_signal_handler(signal.SIGHUP, upgrade)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


def _shown(where: Sequence[str], place: Place | None) -> str:
    """Where calls come in, for the log: a token that was given is known to those who may know it."""
    is_given = place is not None and place.token
    return " and ".join(one.partition("/?token=")[0] if is_given else one for one in where)


def raise_descriptor_limit() -> None:
    """As many descriptors as the system allows: each call takes some."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


# -- a worker


@dataclass(slots=True, frozen=True)
class CallModels:
    """How calls choose their models: by voice, and typed."""

    voice: ModelChoice
    text: ModelChoice


async def work(
    server: AgentServer, serving: Serving, *, models: CallModels, screen: Screen, supervised: Supervised | None
) -> None:
    """Take calls until cancelled, then wait for those that are on, and end the rest.

    Raises `AntiphonError` for what makes it impossible.
    """
    with ending_takes(server.drain_timeout if serving.drain is None else serving.drain):
        await _Working(server, serving, models=models, screen=screen, supervised=supervised).run()


class _Working:
    """A process that holds calls, of pages and of LiveKit together."""

    def __init__(
        self,
        server: AgentServer,
        serving: Serving,
        *,
        models: CallModels,
        screen: Screen,
        supervised: Supervised | None,
    ) -> None:
        self._server = server
        self._serving = serving
        self._models = models
        self._screen = screen
        self._supervised = supervised
        self._figures = Figures()
        server.watch_jobs(self._figures.call)
        self._admission: Admission = serving.limits().admission(self._figures.refused)
        self._livekit = _livekit_of(server, needed=serving.place is None)
        self._worker: Worker | None = None
        self._page: PageServer | None = None
        self._meter = LoadMeter(server.load_fnc, server)
        self._limit = server.drain_timeout if serving.drain is None else serving.drain
        self._is_told = self._was_ready = False

    async def run(self) -> None:
        beating = None
        if self._supervised is not None:
            beating = asyncio.create_task(self._supervised.run(self._status), name="supervisor: how it is")
            self._admission.on_change(self._changed)
        try:
            await self._prepare()
            async with self._open_page():
                await self._take_calls()
        finally:
            if beating is not None:
                beating.cancel()
                await asyncio.wait([beating])
            if self._livekit is not None:
                await self._livekit.aclose()

    async def _prepare(self) -> None:
        """Load what is loaded once."""
        if self._livekit is not None:
            await asyncio.to_thread(LiveKitCall.load)
        await asyncio.to_thread(importlib.import_module, "antiphon.transports.mixer")
        await self._models.voice.prewarm()
        await self._server.set_up()
        AgentSession()  # what a session loads late is loaded here, and not while the first caller waits
        self._server.proc.settle()

    @contextlib.asynccontextmanager
    async def _open_page(self) -> AsyncIterator[None]:
        if self._serving.place is None:
            yield
            return
        from antiphon.console.calls import Models
        from antiphon.console.reload import AgentFile
        from antiphon.console.serve import page_server

        models = Models(self._models.voice, self._models.text)
        listening = None if self._supervised is None else self._supervised.listening
        async with page_server(
            AgentFile(self._serving.file, server=self._server),
            self._serving.place,
            models=models,
            limits=self._serving.limits(),
            folder=self._serving.folder,
            reload=False,
            keep=False,
            listening=listening,
            admission=self._admission,
            telephone=self._serving.telephone,
        ) as self._page:
            yield

    async def _take_calls(self) -> None:
        """Until cancelled; then until the calls that are on have ended."""
        taking = [asyncio.create_task(self._meter.run(), name="load")]
        if self._livekit is not None:
            self._worker = Worker(
                self._server,
                self._livekit,
                models=self._models.voice,
                admission=self._admission,
                meter=self._meter,
                changed=self._changed,
            )
            taking.append(asyncio.create_task(self._worker.run(), name="LiveKit: worker"))
            takeovers = await self._takeovers(self._worker, self._livekit)
            if takeovers is not None:
                taking.append(asyncio.create_task(takeovers.run(), name="LiveKit: calls of others"))
            if self._supervised is not None:
                asking = self._ask_again(self._worker, self._livekit, takeovers)
                taking.append(asyncio.create_task(asking, name="LiveKit: again"))
        if self._page is not None:
            taking.append(asyncio.create_task(self._page.run(), name="page server"))
        self._tell_where()
        try:
            done, _ = await asyncio.wait(taking, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            await self._drain()
            for task in taking:
                task.cancel()
            await asyncio.wait(taking)
            if self._worker is not None:
                await self._worker.aclose()

    async def _takeovers(self, worker: Worker, livekit: LiveKitServer) -> TakeOvers | None:
        """What looks for calls whose process is gone, if calls are kept where others find them."""
        find = call_store.get()
        store = None if find is None else await find()
        return None if store is None else TakeOvers(store, livekit, worker)

    async def _ask_again(self, worker: Worker, livekit: LiveKitServer, takeovers: TakeOvers | None) -> None:
        """Have other agents asked for where a call is not to be taken over: nothing of it was kept."""
        assert self._supervised is not None
        await worker.until_ready()
        while True:
            lost = [LostJob(**job) for job in await self._supervised.lost.get()]
            kept = [False] * len(lost) if takeovers is None else await takeovers.knows(lost)
            await ask_again(livekit, [job for job, is_kept in zip(lost, kept, strict=True) if not is_kept])

    async def _drain(self) -> None:
        limit = 0.0 if self._supervised is not None and self._supervised.is_orphan else self._limit
        if self._page is not None:
            await self._page.server.let_nobody_in()
        if self._figures.active:
            self._screen.notice(f"No new calls; {self._figures.active} may come to their end within {limit:g} s.")
        draining = asyncio.create_task(self._admission.drain(limit))
        if self._worker is not None:
            await self._worker.drain(limit)
        await draining

    # -- how it is

    @property
    def _is_ready(self) -> bool:
        if self._is_told and not self._was_ready:
            self._was_ready = self._worker is None or self._worker.is_ready
        # Where LiveKit is away for a while, pages are still answered.
        return self._was_ready and (self._worker is None or self._page is not None or self._worker.is_ready)

    def _where(self) -> tuple[str, ...]:
        page = () if self._page is None else (f"at {self._page.url}",)
        return (*page, *(() if self._livekit is None else (f"from {self._livekit.url}",)))

    def _tell_where(self) -> None:
        self._is_told = True
        if self._supervised is None:
            where = _shown(self._where(), self._serving.place)
            self._screen.notice(f"Taking calls {where}. Ctrl-C ends them politely, a second one hastens them.")

    def _changed(self) -> None:
        """A place was taken, or is free, or there is another job."""
        if self._supervised is not None:
            if self._page is not None:
                self._page.server.shut(not self._admission.is_open)
            self._supervised.tell(self._status(0.0))

    def _status(self, stall: float) -> Status:
        draining, server = self._admission.is_draining, self._server
        return Status(
            state="draining" if draining else "ready" if self._is_ready else "starting",
            # A page takes a call while there is a place; LiveKit's server goes by the load, too.
            is_open=self._admission.is_open if self._worker is None or self._page else self._worker.is_available,
            calls=self._figures.active,
            load=round(self._meter.load, 3),
            stall=round(stall, 4),
            memory=memory(),
            where=self._where(),
            figures=self._figures.snapshot(),
            jobs=() if self._worker is None else tuple(map(asdict, self._worker.jobs)),
            wishes=Wishes(
                host=server.health_host,
                port=server.health_port,
                prometheus_port=server.prometheus_port,
                memory_limit=server.memory_limit,
                memory_warning=server.memory_warning,
                drain=self._limit,
            ),
        )


def _livekit_of(server: AgentServer, *, needed: bool) -> LiveKitServer | None:
    """The server that jobs come from, where one is named."""
    if not needed and not (server.ws_url or os.environ.get("LIVEKIT_URL")):
        return None
    return LiveKitServer.from_environment(server.ws_url, server.api_key, server.api_secret)


# -- one room


async def connect(server: AgentServer, room: str, *, models: ModelChoice, screen: Screen) -> None:
    """Join one room and stay until the call is over. Raises `AntiphonError` for what makes it impossible."""
    livekit = LiveKitServer.from_environment(server.ws_url, server.api_key, server.api_secret)
    token = livekit.agent_token(room, attributes={STATE: "initializing"})
    await asyncio.to_thread(LiveKitCall.load)
    try:
        await models.prewarm()
        call = LiveKitCall(livekit.url, token, delete=partial(livekit.delete_room, room))
        screen.notice(f"In the room {room} at {livekit.url}. Ctrl-C ends the call.")
        reason = await HeldCall(server, call, room, job=Job(api=livekit.api), models=models).run()
        screen.notice(f"The call is over: {reason}.")
    finally:
        await livekit.aclose()
