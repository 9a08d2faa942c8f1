"""One call in a LiveKit room, from joining to leaving.

Above: `connect`, which joins one room, and the worker, which is given jobs. Below: the job of an `AgentServer`, and the
room that it takes place in.
"""

from __future__ import annotations

from collections.abc import Callable

from antiphon.calls.start import raise_error
from antiphon.protocols import ModelResolver
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import Job, JobContext
from antiphon.server.livekit.front_end import FrontEnd
from antiphon.server.room import Room
from antiphon.transports.livekit import LiveKitCall


class HeldCall:
    """Runs the entrypoint for one room. `on_leaving(error)` is called when the call is over, before the agent goes."""

    def __init__(
        self,
        server: AgentServer,
        call: LiveKitCall,
        name: str,
        *,
        job: Job | None = None,
        models: ModelResolver | None = None,
        on_leaving: Callable[[BaseException | None], None] = lambda error: None,
    ) -> None:
        self.room = Room(name, line=call)
        self._server = server
        self._job = job
        self._models = models
        self._on_leaving = on_leaving
        self._front_end = FrontEnd(call)
        self._context: JobContext | None = None
        self._told: str | None = None

    def end(self, reason: str) -> None:
        """Have it end. Returns at once; later calls do nothing."""
        self._told = self._told or reason
        if self._context is not None:
            self._context.shutdown(self._told)

    async def run(self) -> str:
        """Hold the call to its end, and return why it ended.

        The agent leaves as soon as the job is told to end; the session closes and the callbacks run after that. Raises
        what the entrypoint raised, as an `AntiphonError` fit to be shown.
        """
        try:
            async with self._server.job(self.room, models=self._models, job=self._job) as context:
                self._context = context
                context.on_session(self._front_end.listen)
                if self._told is not None:
                    context.shutdown(self._told)
                try:
                    reason = await context.wait_for_shutdown()
                finally:
                    await self._leave(context.error)
                raise_error(context)
                return reason
        finally:
            await self.room.disconnect("the agent left")

    async def _leave(self, error: BaseException | None) -> None:
        self._on_leaving(error)
        await self._front_end.aclose()
        await self.room.disconnect("the agent left")
