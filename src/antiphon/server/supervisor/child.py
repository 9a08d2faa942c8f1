"""One worker as its supervisor sees it: a process, what it tells, and when it is unfit.

Above: the supervisor. Below: the process, which was started by the command line of the supervisor itself.
"""

from __future__ import annotations

import asyncio
import enum
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from antiphon.server.supervisor.status import Status
from antiphon.server.supervisor.supervised import LOST, VARIABLE

logger = logging.getLogger("antiphon")

LOOK = 0.25
"""Seconds between two looks."""
STANDSTILL = 2.0
"""Seconds between two looks after which the machine must have stood still."""
MAX_LINE = 1_000_000
TRACEBACK = 0.5
"""Seconds that a stuck worker has to write where it is."""
END_LIMIT = 40.0
"""Seconds beyond its own limit after which a worker that was told to end is killed: it ends itself before."""
EXCESS = 1.5
"""So many times the limit of memory, and a worker is ended at once, its calls with it."""


class Unfit(enum.Enum):
    """Why a worker is to be replaced."""

    CRASHED = "crashed"
    STUCK = "stuck"
    SWOLLEN = "swollen"
    """It holds more memory than it may."""
    SUPERSEDED = "superseded"
    """There is newer code."""


@dataclass(slots=True, frozen=True)
class Limits:
    """What a worker may do."""

    stall: float = 30.0
    """Seconds that it may say nothing."""
    start: float = 300.0
    """The same until it is ready: it imports the agent file, and what that does takes time."""
    ready: float = 600.0
    """Seconds until it is ready: models are loaded, or fetched."""
    memory: float | None = None
    """Megabytes; None: what the agent file says, or no limit."""


class Child:
    """A worker process. It is alive from the beginning."""

    def __init__(
        self,
        number: int,
        limits: Limits,
        *,
        listening: socket.socket | None,
        changed: Callable[[], None],
        command: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        lost: Sequence[Mapping[str, str]] = (),
    ) -> None:
        self.number = number
        self.status = Status()
        self.superseded = asyncio.Event()
        """Set to have it replaced, politely."""
        self._limits = limits
        self._changed = changed
        self._began = self._heard = self._looked = time.monotonic()
        self._warned = False
        self._told_to_end: float | None = None
        ours, theirs = socket.socketpair()
        passed = [theirs.fileno(), *([] if listening is None else [listening.fileno()])]
        told = f"{theirs.fileno()},{'-' if listening is None else listening.fileno()}"
        self._process = subprocess.Popen(
            command or [sys.executable, *sys.orig_argv[1:]],
            env={**os.environ, **(environment or {}), VARIABLE: told, LOST: json.dumps(lost)},
            pass_fds=passed,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # what is typed at the supervisor's terminal is for the supervisor
        )
        theirs.close()
        self._writer: asyncio.StreamWriter | None = None
        self._reading = asyncio.create_task(self._read(ours), name=f"worker {number}: what it tells")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def age(self) -> float:
        """Seconds that it has run."""
        return time.monotonic() - self._began

    @property
    def code(self) -> int | None:
        """How it ended: its exit code, or the signal that ended it, negative; None while it runs."""
        return self._process.poll()

    @property
    def state(self) -> str:
        if self.code is not None:
            return "ended"
        return "draining" if self._told_to_end is not None else self.status.state

    @property
    def is_open(self) -> bool:
        """It takes another call."""
        return self.state == "ready" and self.status.is_open

    @property
    def drain_limit(self) -> float:
        return self.status.wishes.drain

    def tell_lost(self, jobs: Sequence[Mapping[str, str]]) -> None:
        """Another worker has died with these on: have them asked for again."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(json.dumps(jobs).encode() + b"\n")

    async def until_ready(self) -> bool:
        """Wait until it takes calls. False: it is unfit, or has ended, before."""
        while self.status.state != "ready":
            if self._unfit() is not None or self.age > self._limits.ready:
                return False
            await asyncio.sleep(LOOK)
        return True

    async def until_unfit(self) -> Unfit:
        """Wait until it is to be replaced, and say why. It may still run."""
        while True:
            found = self._unfit()
            if found is not None:
                return found
            await asyncio.sleep(LOOK)

    def _unfit(self) -> Unfit | None:
        if self.code is not None:
            return Unfit.CRASHED
        now = time.monotonic()
        if now - self._looked > STANDSTILL:
            self._heard = now  # this process stood still itself: nobody is to blame for having said nothing
        self._looked = now
        silent = now - self._heard
        # While it loads, imports keep its loop.
        if silent > (self._limits.start if self.status.state == "starting" else self._limits.stall):
            return Unfit.STUCK
        memory, limit = self.status.memory / 1e6, self._limits.memory or self.status.wishes.memory_limit
        warning = self.status.wishes.memory_warning
        if warning and memory > warning and not self._warned:
            self._warned = True
            logger.warning("worker %d holds %.0f MB", self.number, memory)
        if limit and memory > limit:
            return Unfit.SWOLLEN
        return Unfit.SUPERSEDED if self.superseded.is_set() else None

    def tell_to_end(self) -> None:
        """Have it take no more calls, and end when those that are on have ended. Later calls do nothing."""
        if self._told_to_end is None and self.code is None:
            self._told_to_end = time.monotonic()
            self._process.terminate()

    async def until_ended(self) -> None:
        """Wait until it is gone. One that was told to end is killed when it takes too long, or is stuck."""
        while self.code is None:
            told = self._told_to_end
            late = told is not None and time.monotonic() - told > self.drain_limit + END_LIMIT
            limit = (self._limits.memory or self.status.wishes.memory_limit or float("inf")) * EXCESS
            if late or self._unfit() is Unfit.STUCK or self.status.memory / 1e6 > limit:
                logger.error("worker %d did not end, and is killed", self.number)
                await self.kill()
                return
            await asyncio.sleep(LOOK)
        await self._reading

    async def kill(self, *, traceback: bool = False) -> None:
        """End it now. `traceback`: it writes first where it is."""
        if traceback and self.code is None:
            self._process.send_signal(signal.SIGUSR1)
            await asyncio.sleep(TRACEBACK)
        if self.code is None:
            self._process.kill()
        await asyncio.to_thread(self._process.wait)
        await self._reading

    async def _read(self, tie: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=tie, limit=MAX_LINE)
        self._writer = writer
        try:
            while line := await reader.readline():
                try:
                    self.status = Status.from_line(line)
                except (ValueError, TypeError, KeyError, AttributeError):
                    continue  # half a line, of one that was killed
                self._heard = time.monotonic()
                self._changed()
        except (OSError, ValueError):
            pass
        finally:
            writer.close()
            self._changed()
