"""Calls that are recorded, for the tests of records: in text, with a scripted model, in virtual time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from antiphon import Agent, AgentServer, AgentSession, ToolError, function_tool
from antiphon.calls.start import start_session
from antiphon.records import Record, Records
from antiphon.records.format import name_of
from antiphon.server.room import Room
from antiphon.testing import FakeLLM, Reply, run_virtual


@function_tool(effect="writes")
async def book(day: str, people: int) -> str:
    """Book a table."""
    if people > 12:
        raise ToolError("We seat 12 at most.")
    return f"Booked for {people} on {day}."


@function_tool(effect="reads")
async def look(day: str) -> str:
    """Look for free tables."""
    return f"Free on {day}: 7 PM."


def agent() -> Agent:
    return Agent(instructions="You take reservations.", tools=[book, look], id="desk")


def call(*replies: Any, says: Sequence[str] = ("A table on Friday",), server: AgentServer, **options: Any) -> str:
    """Hold one call of a server. Returns its id."""
    ids: list[str] = []

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        await session.start(agent=agent(), room=session.room, llm=FakeLLM(list(replies)), **options)

    async def held() -> None:
        async with server.job(Room()) as job:
            session = await start_session(job)
            ids.append(session.call_id)
            for text in says:
                await session.run(user_input=text)

    run_virtual(held())
    return ids[0]


BOOKS = (Reply(calls=[("book", {"day": "Friday", "people": 4})]), "You are booked.")


def recorded(place: Path, *replies: Any, says: Sequence[str] = ("A table on Friday",), **options: Any) -> Record:
    """The record of one call."""
    records = Records(place, **options)
    made = call(*(replies or BOOKS), says=says, server=AgentServer(records=records))
    name = next(name for name in records.place.names() if made in name)
    return records.place.record(name)


def head_of(number: int, **changes: Any) -> dict[str, Any]:
    """A `record.json`, as it might be."""
    began = 1_790_000_000.0 + 60 * number
    turn = {"started": 0.0, "ended": 1.0, "interrupted": False, "overtaken": False, "unheard": "", "aside": False}
    turns = [
        turn | {"role": "user", "text": f"A table for number {number}, please", "agent": "", "latency_ms": None},
        turn | {"role": "assistant", "text": "Booked, see you on Friday.", "agent": "desk", "latency_ms": 600.0},
    ]
    head: dict[str, Any] = {
        "record": 1, "antiphon": "0.1.0", "id": f"call-{number:05d}", "began": began, "ended": began + 30.0,
        "reason": "job_shutdown", "title": "", "agents": ["desk"], "caller": "", "models": "", "voice": False,
        "duration": 30.0, "turns": turns, "tool_calls": [], "tools": {}, "errors": [], "failed_tools": [],
        "claims": [], "unheard": [], "userdata": None, "missing": [], "files": {},
    }  # fmt: skip
    return head | changes


def tool_call(name: str, started: float, **changes: Any) -> dict[str, Any]:
    """A call in a `record.json`."""
    call: dict[str, Any] = {
        "call_id": f"c{started}", "name": name, "arguments": {}, "output": "", "is_error": False, "status": "done",
        "started": started, "ended": started + 0.1, "consent": None, "guarantee": None,
    }  # fmt: skip
    return call | changes


def laid(place: Path, head: dict[str, Any], metrics: dict[str, Any] | None = None) -> str:
    """Lay a record into a place by hand. Returns its name."""
    import json

    name = name_of(head["id"], head["began"])
    folder = place / name
    folder.mkdir(parents=True)
    (folder / "record.json").write_text(json.dumps(head))
    (folder / "metrics.json").write_text(json.dumps(metrics or {"metrics": {}, "replies": []}))
    return name


def seconds(work: Any) -> float:
    """The shortest of three tries."""
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)
