"""One thread for one model.

Inference takes tens to hundreds of milliseconds and releases the interpreter lock, so it runs beside the event
loop: one thread per model and process, shared by all calls. More threads would only make the calls wait for the
same cores.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """Raised inside the worker by `Ticket.check` when nobody waits for the result any more."""


class Ticket:
    """What a job may ask about itself while it runs."""

    def __init__(self) -> None:
        self._abandoned = threading.Event()

    def abandon(self) -> None:
        """Nobody wants the result."""
        self._abandoned.set()

    def check(self) -> None:
        """Raise `Abandoned` if nobody wants the result. Long jobs call it between their steps."""
        if self._abandoned.is_set():
            raise Abandoned


class Worker:
    """Runs jobs one after another in a thread of its own, which starts with the first job."""

    def __init__(self, name: str) -> None:
        self._threads = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"antiphon-{name}")

    async def run(self, job: Callable[[Ticket], T]) -> T:
        """The job's result. Cancelling gives up at once; the job itself ends at its next `check`."""
        ticket = Ticket()

        def start() -> T:
            ticket.check()
            return job(ticket)

        future = asyncio.get_running_loop().run_in_executor(self._threads, start)
        try:
            return await future
        except asyncio.CancelledError:
            ticket.abandon()
            future.add_done_callback(_retrieve)
            raise


def _retrieve(future: asyncio.Future[T]) -> None:
    """Take the abandoned job's exception, which asyncio would otherwise report as never retrieved."""
    if not future.cancelled():
        future.exception()
