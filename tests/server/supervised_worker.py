"""A worker that is quickly there: it takes connections from the shared socket and does what they say, line by line.

`python -m tests.server.supervised_worker PLACES [BEHAVIOUR]`. The supervisor is tested with it, and no agent is loaded.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

from antiphon.server.supervisor.status import Status, Wishes
from antiphon.server.supervisor.supervised import Supervised


class Work:
    """Connections are calls, each of which takes a place."""

    def __init__(self, supervised: Supervised, places: int) -> None:
        self.supervised = supervised
        self.places = places
        self.calls = 0
        self.began = 0
        self.memory = 50_000_000
        self.jobs: tuple[dict[str, str], ...] = ()
        self.draining = False
        self.empty = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.listening = supervised.listening
        self.tasks: set[asyncio.Task[None]] = set()
        assert self.listening is not None
        self.listening.setblocking(False)

    def status(self, stall: float = 0.0) -> Status:
        return Status(
            state="draining" if self.draining else "ready",
            is_open=self.is_open,
            calls=self.calls,
            stall=stall,
            memory=self.memory,
            where=("here",),
            figures={"antiphon_calls_total": self.began, "antiphon_calls_active": self.calls},
            jobs=self.jobs,
            wishes=Wishes(drain=20.0),
        )

    @property
    def is_open(self) -> bool:
        return not self.draining and self.calls < self.places

    def changed(self) -> None:
        assert self.listening is not None
        if self.is_open:
            self.loop.add_reader(self.listening, self.come)
        elif self.listening.fileno() >= 0:
            self.loop.remove_reader(self.listening)
        if self.draining:
            self.listening.close()
        if not self.calls:
            self.empty.set()
        self.supervised.tell(self.status())

    def come(self) -> None:
        assert self.listening is not None
        try:
            connected, _ = self.listening.accept()
        except BlockingIOError:
            return
        task = asyncio.create_task(self.hold(connected))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def hold(self, connected: socket.socket) -> None:
        self.calls += 1
        self.began += 1
        self.empty.clear()
        self.changed()
        reader, writer = await asyncio.open_connection(sock=connected)
        try:
            while line := await reader.readline():
                match line.strip():
                    case b"who":
                        writer.write(f"{os.getpid()}\n".encode())
                    case b"block":
                        time.sleep(600)  # noqa: ASYNC251 (that is what it is for)
                    case b"job":
                        self.jobs = ({"id": "AJ_1", "room": "the room"},)
                        self.changed()
                    case b"lost":
                        writer.write(json.dumps(await self.supervised.lost.get()).encode() + b"\n")
                    case b"swell":
                        self.memory = 900_000_000
                        self.changed()
        except OSError:
            pass
        finally:
            writer.close()
            self.calls -= 1
            self.changed()


async def main(places: int, behaviour: str) -> None:
    supervised = Supervised.from_environment()
    assert supervised is not None
    work = Work(supervised, places)
    ending = asyncio.Event()
    work.loop.add_signal_handler(signal.SIGTERM, ending.set)
    beating = asyncio.create_task(supervised.run(work.status))
    work.changed()
    if behaviour == "dies":
        await asyncio.sleep(0.1)
        os._exit(3)
    await ending.wait()
    work.draining = True
    work.changed()
    if not supervised.is_orphan:
        await work.empty.wait()
    beating.cancel()


if __name__ == "__main__":
    _, named, path = (sys.argv[2] if len(sys.argv) > 2 else "").partition("fails-if-there:")
    if named and Path(path).exists():
        raise SystemExit(7)
    asyncio.run(main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
