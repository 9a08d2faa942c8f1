"""Servers for tests: an agent file on a port of its own, with the models that the file names."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from antiphon.console.access import Limits
from antiphon.console.calls import Models
from antiphon.console.reload import AgentFile
from antiphon.console.serve import PageServer, Place, page_server
from antiphon.options import is_given
from antiphon.protocols import ModelKind
from antiphon.testing import wait_until
from antiphon_standin import StandInLLM

ECHO = """
from antiphon import Agent, AgentServer, AgentSession
from antiphon.testing import FakeLLM

server = AgentServer()

@server.rtc_session
async def entrypoint(session: AgentSession):
    llm = FakeLLM({"": "You are heard."}, ttft=0.0)
    await session.start(agent=Agent(instructions=""), room=session.room, llm=llm)
"""
"""An agent that answers every turn with the same words, in text."""

VOICE = """
from antiphon import Agent, AgentServer, AgentSession
from antiphon.testing import FakeLLM, FakeSTT, FakeTTS, FakeVAD

server = AgentServer()

@server.rtc_session
async def entrypoint(session: AgentSession):
    await session.start(
        agent=Agent(instructions=""),
        room=session.room,
        llm=FakeLLM({"": "These are some words of an answer that takes a while to be said."}, ttft=0.0),
        stt=FakeSTT(["hello there"] * 10),
        vad=FakeVAD(),
        tts=FakeTTS(),
    )
"""
"""An agent that hears every sound as the same words and answers aloud."""

RECEPTIONIST = Path(__file__).parents[2] / "examples" / "receptionist.py"


def _as_given(wanted: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
    return {kind: model if is_given(model) and model is not ... else None for kind, model in wanted.items()}


def _with_stand_in(wanted: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
    return {kind: StandInLLM() if kind == "llm" else None for kind in wanted}


AS_GIVEN = Models(_as_given, _as_given)
STAND_IN = Models(_with_stand_in, _with_stand_in)
"""Text calls with the local dialogue engine."""


@asynccontextmanager
async def serving(
    path: Path,
    *,
    models: Models = AS_GIVEN,
    limits: Limits | None = None,
    place: Place | None = None,
    folder: Path | None = None,
    reload: bool = True,
    for_developer: bool = False,
) -> AsyncIterator[PageServer]:
    """A server of the agent file at `path`, on a free port."""
    file = AgentFile(path)
    await file.load()
    place = place or Place(port=0)
    async with page_server(
        file, place, models=models, limits=limits, folder=folder, reload=reload, for_developer=for_developer
    ) as server:
        await wait_until(lambda: server.server.started)
        yield server


def write(folder: Path, code: str, name: str = "agent.py") -> Path:
    """An agent file with this code."""
    path = folder / name
    path.write_text(textwrap.dedent(code))
    return path


def run(check: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run an asynchronous test, in real time: there are sockets in it."""

    async def limited() -> None:
        async with asyncio.timeout(60):
            await check()

    asyncio.run(limited())
