"""Whether to take a job: what an entrypoint's `on_request` is asked.

Above: applications. Below: nothing; the worker sends the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon.errors import UsageError


@dataclass(slots=True, frozen=True)
class Answer:
    """What became of a request."""

    available: bool
    identity: str = ""
    name: str = ""
    metadata: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    """Why not; for the log."""
    terminate: bool = False
    """Nobody else shall be asked."""


class JobRequest:
    """A job that is offered. Answer with `accept` or `reject`; what is not answered is rejected.

    `job` is LiveKit's own `Job`: its room, its metadata, its dispatch.
    """

    def __init__(self, job: Any) -> None:
        self.job = job
        self.answer: Answer | None = None
        """What was decided; None so far."""

    @property
    def id(self) -> str:
        """The job's id."""
        return str(self.job.id)

    @property
    def room(self) -> Any:
        """LiveKit's `Room`: name, sid, metadata."""
        return self.job.room

    @property
    def participant(self) -> Any:
        """Of a job for one participant, LiveKit's `ParticipantInfo`; else None."""
        return self.job.participant if self.job.HasField("participant") else None

    @property
    def publisher(self) -> Any:
        """The same as `participant`."""
        return self.participant

    @property
    def agent_name(self) -> str:
        """Which entrypoint is asked for; "" where every room gets an agent."""
        return str(self.job.agent_name)

    @property
    def metadata(self) -> str:
        """What whoever asked for it said of it."""
        return str(self.job.metadata)

    async def accept(
        self,
        *,
        name: str = "",
        identity: str = "",
        metadata: str = "",
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Take it, and be in the room by this name. `identity`: "" is the job's id behind "agent-"."""
        self._decide(Answer(True, identity or f"agent-{self.id}", name, metadata, dict(attributes or {})))

    async def reject(self, reason: str = "", *, terminate: bool = False) -> None:
        """Leave it to others; with `terminate` to nobody."""
        self._decide(Answer(False, reason=reason, terminate=terminate))

    def _decide(self, answer: Answer) -> None:
        if self.answer is not None:
            raise UsageError(f"JobRequest: {self.id} was answered already; accept or reject it once.")
        self.answer = answer
