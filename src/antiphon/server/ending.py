"""The end of a call: what writes may finish, and whoever is impatient hastens it.

Above: `AgentServer.job`, and the process, which signals tell to end. Below: the job and its session.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from antiphon.events import CloseReason
from antiphon.server.job import JobContext
from antiphon.server.room import Room
from antiphon.session import AgentSession

logger = logging.getLogger("antiphon")


class Ending:
    """That of one job."""

    def __init__(self, job: JobContext, room: Room) -> None:
        self._job = job
        self._room = room

    @property
    def write_grace(self) -> float:
        """Seconds that tools that write have when the call is over."""
        return 0.0 if self._job.session is None else self._job.session.options.write_grace

    def hasten(self) -> None:
        """Have it end now: tools that write have `close_grace` seconds, and not longer."""
        self._job.shutdown("told twice to end")
        if self._job.session is not None:
            self._job.session.shutdown(drain=False)

    async def close_session(self) -> None:
        """Close the session, and wait for what writes. Whoever is cancelled meanwhile hastens it."""
        session = self._job.session
        if session is None:
            return
        self._tell_what_is_waited_for(session)
        reason = CloseReason.PARTICIPANT_DISCONNECTED if self._room.caller_left else CloseReason.JOB_SHUTDOWN
        closing = asyncio.create_task(session.aclose(reason=reason), name=f"{self._job.job.id} closing")
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            self.hasten()
            await closing
            raise

    def _tell_what_is_waited_for(self, session: AgentSession[Any]) -> None:
        running = session.running_tools if session.is_running else ()
        names = ", ".join(f"{one.function_call.name}()" for one in running if not one.may_be_cancelled)
        if names:
            logger.warning(
                "%s: the call is over, and waits up to %g s for %s. Told once more, it waits for %g s.",
                self._job.job.id, self.write_grace, names, session.options.close_grace,
            )  # fmt: skip
