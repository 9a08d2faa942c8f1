"""Calls in LiveKit's rooms whose process is gone, or stands still: another one takes them over.

They are known by their lease in the store, which runs out two seconds after the process last renewed it, wherever that
was. A room shows its dead agent for some 20 seconds more. Whoever gets the lease takes the call: it removes the dead
agent, and joins the room in its place.

Above: `antiphon start`. Below: the store, the worker that holds the calls of this process.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from antiphon.errors import LeaseHeld, StoreError, pass_on
from antiphon.server.livekit.again import LostJob
from antiphon.server.livekit.server import LiveKitServer
from antiphon.store import WORKER, CallInfo, Lease, Store

logger = logging.getLogger("antiphon")

PART = "livekit"
"""The name of what is kept with a call: the job that it is."""
LOOK = 0.5
"""Seconds between two looks at the store."""
MOST = 200
"""How many calls that nobody holds are looked at, those written last first."""
MOST_TRIES = 3
"""How often a process takes over the same call: it may be what is wrong with it."""
FAILED_LOOK = 5.0
"""Seconds between two looks at a store that did not answer."""


class Holder(Protocol):
    """Who holds calls in this process."""

    @property
    def is_available(self) -> bool:
        """Whether it would take another one."""

    async def take_over(self, job: LostJob) -> None:
        """Go on with a call that this process has the lease of, to its end."""


class TakeOvers:
    """Looks for calls whose process is gone, and has them go on here."""

    def __init__(self, store: Store, livekit: LiveKitServer, holder: Holder) -> None:
        self._store = store
        self._livekit = livekit
        self._holder = holder
        self._passed: dict[str, int] = {}
        """Calls that nobody is to go on with, by the epoch in which that was found."""
        self._tries: Counter[str] = Counter()
        """How often each call was taken over here."""
        self._held: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Look until cancelled. Calls that were taken over go on."""
        while True:
            await asyncio.sleep(LOOK)
            if not self._holder.is_available:
                continue
            try:
                await self.look()
            except StoreError as error:
                logger.warning("nobody looks for calls whose process is gone: %s", error)
                await asyncio.sleep(FAILED_LOOK)
            except Exception as error:
                pass_on(error)
                logger.exception("calls whose process is gone could not be taken over")
                await asyncio.sleep(FAILED_LOOK)

    async def look(self) -> None:
        """Take over what nobody holds."""
        found = await self._store.calls(held=False, most=MOST)
        fresh = [one for one in found if one.meta.ended is None and self._passed.get(one.id) != one.epoch]
        known = {one.id for one in found}
        self._passed = {call: epoch for call, epoch in self._passed.items() if call in known}
        await asyncio.gather(*map(self._consider, fresh))

    async def knows(self, jobs: Sequence[LostJob]) -> list[bool]:
        """Of each job, whether its call is in the store: then it is found here as soon as its lease has run out."""
        stored = [await self._store.load(job.call) if job.call else None for job in jobs]
        return [one is not None and PART in one.parts for one in stored]

    async def _consider(self, info: CallInfo) -> None:
        stored = await self._store.load(info.id)
        job = None if stored is None or PART not in stored.parts else LostJob.from_part(stored.parts[PART])
        if job is None or self._tries[info.id] >= MOST_TRIES or not await self._livekit.somebody_waits(job.room):
            self._passed[info.id] = info.epoch
            return
        try:
            lease = await self._store.lease(info.id, WORKER)
        except LeaseHeld:
            return  # another one was quicker
        if lease.epoch != info.epoch + 1:  # it went on elsewhere meanwhile, and that is over, too
            self._store.release(lease)
            return
        logger.warning("%s: the process that held it is gone; it goes on here", job.room)
        task = asyncio.create_task(self._take_over(job, lease), name=f"{job.id} goes on")
        self._held.add(task)
        task.add_done_callback(self._held.discard)

    async def _take_over(self, job: LostJob, lease: Lease) -> None:
        self._tries[job.call] += 1
        try:
            await self._livekit.remove(job.room, job.identity)
            await self._holder.take_over(job)
        except Exception as error:
            pass_on(error)
            logger.exception("%s could not be taken over", job.id)
        finally:
            if lease.held:  # it did not get as far as a session
                self._store.release(lease)
