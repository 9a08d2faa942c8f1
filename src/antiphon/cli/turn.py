"""One turn of a call that outlives the command: what a shell, or a program that drives one, says to an agent.

The call is taken up from its store, says one thing, and is left there for the next command. Above: `main`. Below: the
job, which is told that its end is not that of the call.
"""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass
from typing import Any

from antiphon.calls.ends import BackgroundWork, first_end
from antiphon.calls.models import ModelChoice
from antiphon.calls.record import CallRecord, ToolCallRecord, rounded
from antiphon.calls.start import raise_error, start_session
from antiphon.calls.verdict import shortcomings
from antiphon.cli.call import say
from antiphon.cli.introduce import introduce
from antiphon.cli.screen import Screen
from antiphon.errors import AntiphonError
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import job_of
from antiphon.server.room import Room

GOODBYE_LIMIT = 10.0
"""Seconds that an agent which has said goodbye has to end the call."""


@dataclass(slots=True, frozen=True)
class Turn:
    """What is to be said."""

    call: str | None
    """The id of the call, or its beginning; None: a new one."""
    text: str
    hangs_up: bool = False
    """The caller has nothing more to say."""
    wait: float = 60.0
    """Seconds for tools in the background."""


@dataclass(slots=True, frozen=True)
class Answer:
    """What came of a turn."""

    call: str
    said: list[str]
    """What the agent said, in order; in a new call its greeting comes first."""
    tool_calls: list[ToolCallRecord]
    errors: list[str]
    failed: list[str]
    """What went wrong, each in a few words."""
    ended: bool
    """The call is over: nothing more can be said in it."""
    models: str

    def to_json(self) -> dict[str, Any]:
        """The object that the command prints."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return plain | {"tool_calls": [rounded(dataclasses.asdict(call)) for call in self.tool_calls]}


async def take_turn(server: AgentServer, turn: Turn, *, models: ModelChoice, screen: Screen) -> Answer:
    """Say it, and wait for the answer, and for tools in the background. Raises `AntiphonError`."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    record = CallRecord(lambda: loop.time() - began)
    work = BackgroundWork(record, turn.wait)
    async with server.job(Room(), models=models, job=job_of(turn.call, by_turns=not turn.hangs_up)) as job:
        job.on_session(record.listen)
        session = await start_session(job)
        if session.store is None:
            raise AntiphonError("say: the call is kept nowhere. Let the agent file leave the store to the command.")
        ran_with = await introduce(session, screen, "llm")
        await session.wait_for_idle()
        if session.is_running:
            await say(session, turn.text)
            await first_end(job.wait_for_shutdown(), work.told(session))
        if session.said_goodbye:  # the agent is about to end it
            await first_end(job.wait_for_shutdown(), timeout=GOODBYE_LIMIT)
        call = session.call_id
        is_over = bool(job.reason)
        raise_error(job)
    calls = record.tool_calls  # before the report, which also tells those of earlier turns
    failed = shortcomings(record.report(loop.time() - began), has_spoken=True)
    said = [one.text for one in record.turns if one.role == "assistant"]
    return Answer(call, said, calls, record.errors, failed, is_over or turn.hangs_up, ran_with)
