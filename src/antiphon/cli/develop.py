"""`antiphon dev` beside a LiveKit server: rooms get the agent of the moment, too.

When the file is saved, calls in rooms end, and another agent is asked for, which is of the new code. A file that breaks
ends nothing: who is in a call stays, and no calls are taken until it is mended.

Above: `main.py`. Below: the agent file, and the worker.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from antiphon.console.reload import AgentFile
from antiphon.errors import AntiphonError, pass_on
from antiphon.protocols import ModelResolver
from antiphon.server.livekit.again import ask_again
from antiphon.server.livekit.server import LiveKitServer
from antiphon.server.livekit.worker import MakeCall, Worker
from antiphon.transports.livekit import LiveKitCall

LEAVE_LIMIT = 5.0
"""Seconds that calls have to end when the file has changed."""


@asynccontextmanager
async def rooms_served(file: AgentFile, *, models: ModelResolver, notice: Callable[[str], None]) -> AsyncIterator[None]:
    """Serve LiveKit's rooms, too, for as long as this lasts; not without LIVEKIT_URL. What fails is told."""
    given = file.server.ws_url if file.server is not None else None
    if not (given or os.environ.get("LIVEKIT_URL")):
        yield
        return
    working = asyncio.create_task(_serve(file, models, notice), name="LiveKit: rooms of the agent file")
    try:
        yield
    finally:
        working.cancel()
        await asyncio.wait([working])


async def _serve(file: AgentFile, models: ModelResolver, notice: Callable[[str], None]) -> None:
    server = file.server
    try:
        livekit = LiveKitServer.from_environment(
            *((server.ws_url, server.api_key, server.api_secret) if server is not None else ())
        )
        await asyncio.to_thread(LiveKitCall.load)
        notice(f"Rooms of {livekit.url} get this agent, too.")
        try:
            await Rooms(file, livekit, models=models, notice=notice).run()
        finally:
            await livekit.aclose()
    except Exception as error:
        pass_on(error)
        notice(f"LiveKit: {error}")


class Rooms:
    """A worker for the agent file, and another one whenever it has changed."""

    def __init__(
        self,
        file: AgentFile,
        livekit: LiveKitServer,
        *,
        models: ModelResolver,
        notice: Callable[[str], None],
        make_call: MakeCall = LiveKitCall,
    ) -> None:
        self._file = file
        self._livekit = livekit
        self._models = models
        self._notice = notice
        self._make_call = make_call
        self._changed = asyncio.Event()
        self._worker: Worker | None = None
        self._running: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Work until cancelled."""
        stop = self._file.on_change(self._changed.set)
        try:
            while True:
                self._changed.clear()
                if self._file.server is not None:
                    await self._renew()
                await self._changed.wait()
        finally:
            stop()
            await self._leave()

    async def _renew(self) -> None:
        jobs = () if self._worker is None else self._worker.jobs
        await self._leave()
        assert self._file.server is not None
        self._worker = Worker(self._file.server, self._livekit, models=self._models, make_call=self._make_call)
        self._running = asyncio.create_task(self._work(self._worker), name="LiveKit: worker")
        if jobs:
            await self._worker.until_ready()
            await ask_again(self._livekit, jobs)

    async def _work(self, worker: Worker) -> None:
        try:
            await worker.run()
        except AntiphonError as error:
            self._notice(f"LiveKit: {error}")

    async def _leave(self) -> None:
        if self._worker is None or self._running is None:
            return
        worker, running, self._worker, self._running = self._worker, self._running, None, None
        for call in worker.calls:
            call.end("the agent file changed")
        await worker.drain(LEAVE_LIMIT)
        running.cancel()
        await worker.aclose()
        await asyncio.wait([running])
