"""From a job to a session that runs, or to what kept it from running, in words fit to be shown.

Above: every shell that holds a call. Below: the job, of which no more is asked than whether its session runs.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from antiphon.calls.offered import offered_by
from antiphon.calls.offers import describe_model
from antiphon.calls.where import users_line
from antiphon.errors import AgentFileError, AntiphonError
from antiphon.protocols import ModelKind
from antiphon.session import AgentSession

START_LIMIT = 60.0
"""Seconds in which an entrypoint must have started its session, while no model is loaded."""
LOAD_LIMIT = 900.0
"""Seconds in which it must have, models included: some are prepared once on a machine, which may be slow."""


class StartedJob(Protocol):
    """A job whose entrypoint was called: `JobContext` is one."""

    @property
    def error(self) -> BaseException | None:
        """What the entrypoint raised, if it did."""

    async def wait_for_session(self, *, patience: float | None = None) -> AgentSession[Any] | None:
        """Wait until the session runs. None: the job ended before.

        Raises `TimeoutError` after `patience` seconds in which no models were loaded.
        """


def describe_models(session: AgentSession[Any], *kinds: ModelKind) -> str:
    """What the agent in charge runs with, for example "openai.LLM gpt-4o-mini, deepgram.STT nova-3, tts.HibariTTS"."""
    models = [getattr(session.current_agent, kind) for kind in kinds]
    return ", ".join(describe_model(model) for model in models if model is not None)


def describe_guarantees(session: AgentSession[Any]) -> str:
    """How often each tool that writes takes effect: "Tools that write: pay at most once."; "" where there is none."""
    promised = [f"{tool.name} {tool.guarantee}" for tool in offered_by(session) if tool.guarantee is not None]
    return f"Tools that write: {', '.join(promised)}." if promised else ""


async def start_session(job: StartedJob) -> AgentSession[Any]:
    """Wait until the entrypoint has started its session. Raises `AntiphonError` if it does not."""
    session = await _session_of(job)
    raise_error(job)
    if session is None:
        raise AgentFileError("the job ended before its session had started. Call shutdown() later.")
    return session


async def _session_of(job: StartedJob) -> AgentSession[Any] | None:
    try:
        async with asyncio.timeout(LOAD_LIMIT) as limit:
            return await job.wait_for_session(patience=START_LIMIT)
    except TimeoutError:
        late = f"the entrypoint started no session within {START_LIMIT:g} s."
        raise AgentFileError(
            f"the models of the session were not loaded within {LOAD_LIMIT:g} s." if limit.expired() else late
        ) from None


def raise_error(job: StartedJob) -> None:
    """Raise what the entrypoint raised, if it did, as an `AntiphonError` fit to be shown."""
    error = job.error
    if isinstance(error, AntiphonError):
        raise error
    if error is not None:
        line = users_line(error)
        raise AgentFileError(f"{line and f'{line}: '}the entrypoint raised {describe(error)}") from error


def describe(error: BaseException) -> str:
    """What an exception says, in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
