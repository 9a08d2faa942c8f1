"""What a worker tells its supervisor of itself, as it travels: one line of JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

State: TypeAlias = Literal["starting", "ready", "draining"]


@dataclass(slots=True, frozen=True)
class Wishes:
    """What the agent file wants of the supervisor; None: what it does anyway."""

    host: str | None = None
    port: int | None = None
    """Of health, readiness and figures."""
    prometheus_port: int | None = None
    memory_limit: float | None = None
    """Megabytes."""
    memory_warning: float | None = None
    drain: float = 0.0
    """Seconds that calls have when the worker is told to end."""


@dataclass(slots=True, frozen=True)
class Status:
    """How a worker is."""

    state: State = "starting"
    is_open: bool = False
    """It takes another call."""
    calls: int = 0
    load: float = 0.0
    stall: float = 0.0
    """The longest time that its loop was kept, of late."""
    memory: int = 0
    """Bytes."""
    where: tuple[str, ...] = ()
    """Where calls come in."""
    figures: dict[str, float] = field(default_factory=dict)
    jobs: tuple[dict[str, str], ...] = ()
    """What would be asked for again if the worker died. It means something to workers only."""
    wishes: Wishes = Wishes()

    def to_line(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Status:
        told: dict[str, Any] = json.loads(line)
        return cls(
            **{**told, "where": tuple(told["where"]), "jobs": tuple(told["jobs"]), "wishes": Wishes(**told["wishes"])}
        )
