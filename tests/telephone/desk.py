"""An agent's server with a telephone, and the carrier that rings at it, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from antiphon import Agent, AgentServer, AgentSession
from antiphon.console.access import Access, Limits
from antiphon.console.app import page_app
from antiphon.console.archive import Archive
from antiphon.console.calls import Calls, Models
from antiphon.console.reload import AgentFile
from antiphon.console.telephone import Telephone
from antiphon.options import is_given
from antiphon.protocols import ModelKind, call_store
from antiphon.server.telephone import CarrierApi, Settings
from antiphon.store import Store
from antiphon.testing import FakeLLM, FakeSTT, FakeTTS, FakeVAD, Reply
from antiphon.testing.telephone import AsgiDoor
from antiphon.transports.telephone import DIALECTS
from tests.telephone.carrier import FakeCarrier, Person, form_of

HOST = "https://agent.example"
VOICE = f"{HOST}/telephone/twilio/voice"
TOKEN = "0123456789abcdef"


def _as_given(wanted: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
    return {kind: model if is_given(model) and model is not ... else None for kind, model in wanted.items()}


def _faked(fakes: Mapping[str, Callable[[], Any]], wanted: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
    return {kind: fakes[kind]() if kind in fakes else None for kind in wanted}


@dataclass
class Desk:
    """What a test has."""

    carrier: FakeCarrier
    telephone: Telephone
    calls: Calls
    door: AsgiDoor
    server: AgentServer
    app: Any
    sessions: list[AgentSession[Any]] = field(default_factory=list)
    jobs: list[Any] = field(default_factory=list)


Script = Iterable[str | Reply] | Mapping[str, str | Reply]


@asynccontextmanager
async def desk(
    *,
    llm: Callable[[], FakeLLM] = lambda: FakeLLM({"": "You are heard."}, ttft=0.0),
    hears: Iterable[str] = (),
    agent: Callable[[], Agent] = lambda: Agent(instructions=""),
    people: Mapping[str, Person] | None = None,
    store: Store | None = None,
    limits: Limits | None = None,
    folder: Path | None = None,
    options: Mapping[str, Any] | None = None,
    prepare: Callable[[AgentSession[Any]], object] = lambda session: None,
    server: AgentServer | None = None,
    **carrier: Any,
) -> AsyncIterator[Desk]:
    """A server whose agent hears `hears`, one for each time that the caller speaks.

    `prepare` has each session before it starts. `server`: one of an agent file, in the place of all that.
    """
    stt = FakeSTT(hears)
    fakes: dict[str, Callable[[], Any]] = {"llm": llm, "stt": lambda: stt, "vad": FakeVAD, "tts": FakeTTS}
    resolve = _as_given if server is None else partial(_faked, fakes)
    own = AgentServer()
    server = server or own
    found: Desk

    @own.rtc_session
    async def entrypoint(session: AgentSession[Any]) -> None:
        from antiphon.protocols import get_job_context

        found.sessions.append(session)
        found.jobs.append(get_job_context())
        prepare(session)
        await session.start(
            agent=agent(), room=session.room, llm=llm(), stt=stt, vad=FakeVAD(), tts=FakeTTS(), **(options or {})
        )

    calls = Calls(
        AgentFile(Path("agent.py"), server=server),
        models=Models(resolve, resolve),
        access=Access("secret"),
        archive=Archive(folder),
        limits=limits,
    )
    settings = Settings(
        DIALECTS["twilio"], secret=TOKEN, account="AC1", api_key=TOKEN, public_url=HOST, number="+15550100"
    )
    fake: FakeCarrier

    async def answer(request: httpx2.Request) -> httpx2.Response:
        place = request.url.path.partition("/Accounts/AC1/")[2]
        given = form_of(request.content) if request.method == "POST" else dict(request.url.params)
        status, said = await fake.answer(request.method, place, given)
        if status < 0:
            raise httpx2.ReadTimeout("the answer was lost", request=request)
        return httpx2.Response(status, json=said)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
        telephone = Telephone(calls, settings, CarrierApi(settings, client))
        app = page_app(calls, telephone)
        door = AsgiDoor(app)
        fake = FakeCarrier(door, token=TOKEN, people=people, **carrier)
        found = Desk(fake, telephone, calls, door, server, app)

        async def find() -> Store | None:
            return store

        token = call_store.set(find)
        try:
            yield found
        finally:
            await telephone.dialing.aclose()
            await fake.aclose()
            await door.drain()
            call_store.reset(token)
            assert [problem for call in fake.calls.values() for problem in call.problems] == []
            assert not telephone.api.is_usable or all(call.is_over for call in fake.calls.values())


async def quiet(seconds: float) -> None:
    """Let time pass."""
    await asyncio.sleep(seconds)
