"""A worker's tie to its supervisor: it tells how it is, and ends when the supervisor is gone.

The tie is a socket that both hold. What the worker tells goes over it, and which jobs others have lost comes over it.
That it breaks says that the supervisor has died, whatever it died of. A thread looks for that, since the loop may be
kept.

Above: whoever runs calls in this process. Below: what the supervisor left in the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import json
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from antiphon.server.process import end_at_once
from antiphon.server.supervisor.status import Status

VARIABLE = "ANTIPHON_SUPERVISOR"
"""The numbers of the tie and of the listening socket (or "-"), for a process that was started as a worker."""
LOST = "ANTIPHON_LOST_JOBS"
"""What the worker before this one held when it died, as JSON, if there was nobody else to be told."""
BEAT = 1.0
"""Seconds between two reports."""
LOOK = 0.25
"""Seconds between two looks at the loop."""
ORPHAN_LIMIT = 10.0
"""Seconds that an orphan has to end its calls."""


class Supervised:
    """This process as a worker."""

    def __init__(self, tie: socket.socket, listening: socket.socket | None) -> None:
        self.listening = listening
        """Where callers come in, shared with others; None: nobody comes that way."""
        self.is_orphan = False
        """The supervisor is gone."""
        self._tie = tie
        self._tie.setblocking(False)
        self._stall = 0.0
        self._unsent = b""
        self.lost: asyncio.Queue[Sequence[Mapping[str, str]]] = asyncio.Queue()
        """The jobs of workers that died: of the one in whose place this one was started, and of others meanwhile."""
        if lost := json.loads(os.environ.pop(LOST, "[]")):
            self.lost.put_nowait(lost)
        self._loop = asyncio.get_running_loop()

    @classmethod
    def from_environment(cls) -> Supervised | None:
        """None: nobody supervises this process. Has an effect once."""
        told = os.environ.pop(VARIABLE, None)
        if told is None:
            return None
        tie, _, listening = told.partition(",")
        made = cls(socket.socket(fileno=int(tie)), None if listening == "-" else socket.socket(fileno=int(listening)))
        threading.Thread(target=made._watch, name="supervisor's tie", daemon=True).start()
        # Asked for by a supervisor that has not heard for long: where the loop is kept belongs into the log.
        faulthandler.register(signal.SIGUSR1, all_threads=True)
        return made

    def tell(self, status: Status) -> None:
        """Say how it is. What the supervisor does not take in time is left out."""
        if not self._unsent:
            self._unsent = status.to_line()
        self._send()

    def _send(self) -> None:
        with contextlib.suppress(OSError):
            self._unsent = self._unsent[self._tie.send(self._unsent) :]

    async def run(self, status: Callable[[float], Status]) -> None:
        """Tell `status(stall)` again and again, until cancelled."""
        told = 0.0
        while True:
            began = time.monotonic()
            if began - told >= BEAT:
                told = began
                self.tell(status(self._stall))
                self._stall = 0.0
            await asyncio.sleep(LOOK)
            if self._unsent:
                self._send()
            self._stall = max(self._stall, time.monotonic() - began - LOOK)

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._tie, select.POLLIN | select.POLLHUP)
        told = b""
        while True:
            poll.poll()
            try:
                received = self._tie.recv(65_536)
            except OSError:
                received = b""
            if not received:
                break
            *lines, told = (told + received).split(b"\n")
            for line in lines:
                with contextlib.suppress(RuntimeError):  # the loop has ended, and this process with it
                    self._loop.call_soon_threadsafe(self.lost.put_nowait, json.loads(line))
        self.is_orphan = True
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(ORPHAN_LIMIT)
        end_at_once(1)


def memory() -> int:
    """Bytes that this process holds; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
