"""The supervisor: workers run, as many as there should be, and are replaced when they are unfit.

Each worker has a slot and a task that keeps the slot filled. A worker that crashed or is stuck is replaced at once; one
that holds too much memory, or whose code is old, is told to end when another one is ready in its place, and its calls
come to their end.

Above: `antiphon start`. Below: `child`, `http`. Nothing of the application runs here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus

from antiphon.errors import UsageError
from antiphon.server.figures import Snapshot, added_up, as_text, labelled, lasting
from antiphon.server.process import CommandFailed
from antiphon.server.supervisor.child import Child, Limits, Unfit
from antiphon.server.supervisor.http import Answer, Refusing, serve

logger = logging.getLogger("antiphon")

HEALTH_PORT = 8081
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
"""Seconds before a worker that ended soon is started again, and at most; the first time it is at once."""
SOON = 60.0
"""Seconds: a worker that lived longer has not crashed in a loop."""


class Supervisor:
    """Keeps `count` workers.

    Args:
        listening: Where callers come in; workers share it. None: they come in elsewhere.
        limits: What a worker may do.
        host: Where health and figures are served, unless the agent file says otherwise.
        port: The same; None: what the file says, else 8081 where that is free.
        tls: As the workers speak it, for whoever is told that all is full.
        command: What a worker is; None: the command line of this process.
        opened: Called with where calls come in, once all workers are ready.
    """

    def __init__(
        self,
        count: int,
        *,
        listening: socket.socket | None = None,
        limits: Limits | None = None,
        host: str = "127.0.0.1",
        port: int | None = None,
        tls: ssl.SSLContext | None = None,
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        opened: Callable[[Sequence[str], int], None] = lambda where, count: None,
    ) -> None:
        self._count = count
        self._listening = listening
        self._limits = limits or Limits()
        self._host = host
        self._port = port
        self._command = command
        self._environment = environment
        self._opened = opened
        self._children: dict[int, Child] = {}
        """By slot: those that hold it."""
        self._all: set[Child] = set()
        """Also those that come to their end, and those that are about to take a slot."""
        self._numbers = 0
        self._refusing = None if listening is None else Refusing(listening, tls)
        self._restarts: Counter[str] = Counter()
        self._past: Snapshot = {}
        """Figures of workers that have ended."""
        self._was_ready = False
        self._draining = False
        self._health: list[asyncio.Server] = []
        self._leaving: set[asyncio.Task[None]] = set()

    @property
    def children(self) -> Sequence[Child]:
        """Those that hold a slot."""
        return list(self._children.values())

    @property
    def health_port(self) -> int | None:
        """Where health is served; None: not yet, or not at all."""
        return self._health[0].sockets[0].getsockname()[1] if self._health else None

    async def run(self) -> None:
        """Work until cancelled, then wait for the calls that are on. Raises `CommandFailed` if none gets ready."""
        if self._port is not None:
            self._health.append(await serve(self._host, self._port, self._routes()))
        keeping = [asyncio.create_task(self._keep(slot), name=f"worker slot {slot}") for slot in range(self._count)]
        keeping.append(asyncio.create_task(self._open(), name="supervisor: until all are ready"))
        try:
            done, _ = await asyncio.wait(keeping, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            for task in keeping:
                task.cancel()
            await asyncio.wait(keeping)
            await self._drain()

    def upgrade(self) -> None:
        """Replace each worker by one that runs the code of now, one after the other; calls go on to their end."""
        logger.warning("workers are replaced by new ones; calls that are on come to their end")
        for child in self._children.values():
            child.superseded.set()

    # -- slots

    def _start(self, *, lost: Sequence[Mapping[str, str]] = ()) -> Child:
        self._numbers += 1
        child = Child(
            self._numbers,
            self._limits,
            listening=self._listening,
            changed=self._changed,
            command=self._command,
            environment=self._environment,
            lost=lost,
        )
        self._all.add(child)
        return child

    async def _keep(self, slot: int) -> None:
        tries = 0
        child = self._children[slot] = self._start()
        while True:
            unfit = await child.until_unfit()
            tries = 0 if child.age > SOON else tries
            if unfit in (Unfit.SWOLLEN, Unfit.SUPERSEDED):
                child = await self._succeed(slot, child, unfit)
                continue
            await child.kill(traceback=unfit is Unfit.STUCK)
            self._gone(child)
            if not self._was_ready:
                raise CommandFailed(child.code if child.code is not None and child.code > 0 else 1)
            self._restarts[unfit.value] += 1
            delay = _delay(tries)
            tries += 1
            logger.error(
                "worker %d (process %d) %s (%s) with %d calls on; another one is started %s",
                child.number,
                child.pid,
                unfit.value,
                _end(child.code),
                child.status.calls,
                f"in {delay:g} s: it is the {tries}th time in a row" if delay else "at once",
            )
            lost = () if self._told(child.status.jobs) else child.status.jobs
            await asyncio.sleep(delay)
            child = self._children[slot] = self._start(lost=lost)

    def _told(self, lost: Sequence[Mapping[str, str]]) -> bool:
        """Tell a worker that is ready which jobs another one has lost. False: there is none, or nothing to tell."""
        ready = next((one for one in self.children if one.state == "ready"), None)
        if ready is None or not lost:
            return False
        ready.tell_lost(lost)
        return True

    async def _succeed(self, slot: int, child: Child, unfit: Unfit) -> Child:
        """Replace a worker that still works. Returns who holds the slot from now on: itself if no other one can."""
        successor = self._start()
        if not await successor.until_ready():
            logger.error("the worker that was to replace worker %d did not become ready", child.number)
            await successor.kill()
            self._gone(successor)
            child.superseded.clear()
            if unfit is Unfit.SWOLLEN:
                await asyncio.sleep(LONGEST_DELAY)
            return child
        self._children[slot] = successor
        self._restarts[unfit.value] += 1
        held = child.status.memory / 1e6
        logger.warning("worker %d is replaced by %d: %s (%.0f MB)", child.number, successor.number, unfit.value, held)
        child.tell_to_end()
        leaving = asyncio.create_task(self._see_off(child), name=f"worker {child.number}: its end")
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        return successor

    async def _see_off(self, child: Child) -> None:
        await child.until_ended()
        if child.code:  # it was killed with calls on
            self._told(child.status.jobs)
        self._gone(child)

    def _gone(self, child: Child) -> None:
        if child in self._all:
            self._all.discard(child)
            self._past = added_up(self._past, lasting(child.status.figures))
        self._changed()

    async def _open(self) -> None:
        """Tell when all are there. Returns then."""
        while True:
            children = self.children
            if len(children) == self._count and all(one.state == "ready" for one in children):
                break
            await asyncio.sleep(0.1)
        await self._serve_health()
        self._opened(children[0].status.where, len(children))

    async def _serve_health(self) -> None:
        """Where the agent file wants it, unless the command line said."""
        wishes = self.children[0].status.wishes
        wanted = [] if self._port is not None else [wishes.port if wishes.port is not None else HEALTH_PORT]
        wanted += [] if wishes.prometheus_port is None else [wishes.prometheus_port]
        for port in wanted:
            try:
                self._health.append(await serve(wishes.host or self._host, port, self._routes()))
            except UsageError as error:
                logger.warning("health and figures are not told: %s", error)

    async def _drain(self) -> None:
        self._draining = True
        self._changed()
        if self._listening is not None:
            self._listening.close()
        for child in self._all:
            child.tell_to_end()
        await asyncio.gather(*(child.until_ended() for child in self._all), *self._leaving)
        for server in self._health:
            server.close()

    def _changed(self) -> None:
        """A worker is not as it was."""
        ready = [one for one in self.children if one.state == "ready"]
        self._was_ready = self._was_ready or bool(ready)
        if self._refusing is not None:
            # While none is ready callers wait: the next worker takes them. Each is asked once: one may end meanwhile.
            is_full = bool(ready) and not any(one.status.is_open for one in ready)
            self._refusing.set(is_full and not self._draining)

    # -- what it tells

    def _routes(self) -> Mapping[str, Callable[[], Answer]]:
        return {"/healthz": self._healthy, "/readyz": self._ready, "/metrics": self._metrics}

    def _healthy(self) -> Answer:
        workers = [
            {"worker": one.number, "pid": one.pid, "state": one.state, "calls": one.status.calls}
            for one in sorted(self._all, key=lambda one: one.number)
        ]
        return Answer(HTTPStatus.OK, json.dumps({"status": "ok", "workers": workers}) + "\n", "application/json")

    def _ready(self) -> Answer:
        if self._draining:
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "draining\n")
        if any(one.is_open for one in self.children):
            return Answer(HTTPStatus.OK, "ready\n")
        full = any(one.state == "ready" for one in self.children)
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "full\n" if full else "starting\n")

    def _metrics(self) -> Answer:
        return Answer(HTTPStatus.OK, as_text(self.snapshot()), "text/plain; version=0.0.4; charset=utf-8")

    def snapshot(self) -> Snapshot:
        """All figures, of all workers, also of those that have ended."""
        found = added_up(self._past, *(one.status.figures for one in self._all))
        for state, number in Counter(one.state for one in self._all).items():
            found[labelled("antiphon_workers", state=state)] = number
        for reason, number in self._restarts.items():
            found[labelled("antiphon_worker_restarts_total", reason=reason)] = number
        if self._refusing is not None and self._refusing.refused:
            refused = labelled("antiphon_calls_refused_total", reason="all_full")
            found[refused] = self._refusing.refused
        for one in sorted(self._all, key=lambda one: one.number):
            worker = str(one.number)
            found[labelled("antiphon_load", worker=worker)] = one.status.load
            found[labelled("antiphon_loop_stall_seconds", worker=worker)] = one.status.stall
            found[labelled("antiphon_memory_bytes", worker=worker)] = one.status.memory
        return found


def _delay(tries: int) -> float:
    return 0.0 if not tries else min(FIRST_DELAY * 2.0 ** (tries - 1), LONGEST_DELAY)


def _end(code: int | None) -> str:
    if code is None:
        return "it runs"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
