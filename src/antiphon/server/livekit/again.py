"""Calls in LiveKit's rooms whose process died: LiveKit is asked for another agent.

A server does not ask by itself, and shows the dead agent for some 20 s more. So the dead one is removed and its job
dispatched again, to whichever worker takes it, with the metadata that it had.

Above: whoever starts in the place of the dead process, or else has survived it. Below: `LiveKitServer`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from antiphon.errors import pass_on
from antiphon.server.livekit.server import LiveKitServer

logger = logging.getLogger("antiphon")


@dataclass(slots=True, frozen=True)
class LostJob:
    """A job that was held by a process that died."""

    id: str
    room: str
    agent_name: str = ""
    metadata: str = ""
    identity: str = ""
    """Of the agent in the room."""
    participant: str = ""
    """Whom it was for, where it was for one participant."""
    call: str = ""
    """What a store knows its call by."""

    def to_part(self) -> bytes:
        """As it is kept with its call."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_part(cls, part: bytes) -> LostJob | None:
        """The job of what was kept; None: a later version of this package wrote it, and nobody here can read it."""
        try:
            data = json.loads(part)
            return cls(**{one.name: data[one.name] for one in fields(cls) if one.name in data})
        except (ValueError, TypeError):
            return None


async def ask_again(server: LiveKitServer, lost: Sequence[LostJob]) -> None:
    """Ask for an agent for each of these, where somebody still waits. What cannot be asked is logged."""
    results = await asyncio.gather(*(_ask(server, job) for job in lost), return_exceptions=True)
    for job, result in zip(lost, results, strict=True):
        if isinstance(result, BaseException):
            pass_on(result)
            logger.error("%s was lost, and no other agent could be asked for: %s", job.id, result)


async def _ask(server: LiveKitServer, job: LostJob) -> None:
    if not await server.somebody_waits(job.room):
        logger.info("%s was lost, and nobody waits in %s any more", job.id, job.room)
        return
    await server.remove(job.room, job.identity)
    await server.dispatch(job.agent_name, job.room, job.metadata)
    logger.warning("%s was lost: another agent is asked for in %s", job.id, job.room)
