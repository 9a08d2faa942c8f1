"""Small things that agent files take from `livekit.agents.utils` and `.types`."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from typing import Any

from antiphon.protocols import get_job_context


@dataclass(frozen=True)
class APIConnectOptions:
    """How often and how long to try. Each model has options of its own here; these are accepted and not used."""

    max_retry: int = 3
    retry_interval: float = 2.0
    timeout: float = 10.0


DEFAULT_API_CONNECT_OPTIONS = APIConnectOptions()


class LanguageCode(str):
    """A language, as a tag like "en-US"."""


def shortuuid(prefix: str = "") -> str:
    """A short unique name that begins with `prefix`."""
    return f"{prefix}{uuid.uuid4().hex[:12]}"


async def cancel_and_wait(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def gracefully_cancel(*tasks: asyncio.Future[Any]) -> None:
    """The same as `cancel_and_wait`."""
    await cancel_and_wait(*tasks)


def http_session() -> Any:
    """An `aiohttp.ClientSession` for the job that this code runs in; it is closed with it. Needs `aiohttp`."""
    import aiohttp

    job = get_job_context()
    session = getattr(job, "livekit_http_session", None)
    if session is None:
        session = job.livekit_http_session = aiohttp.ClientSession()
        job.add_shutdown_callback(session.close)
    return session


async def wait_for_participant(room: Any, *_: Any, **__: Any) -> Any:
    """The caller."""
    return next(iter(room.remote_participants.values()))
