"""Calls as each version of Antiphon left them in a store, cut off in the middle: they go on with all versions after it.

`python -m tests.stores.kept_calls` makes those of the version that runs, in `tests/stores/snapshots/VERSION/`. They are
made once, when a version is released or the format grows, and are never changed after that.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from antiphon import Agent, AgentSession, AgentTask, RunContext, function_tool
from antiphon.core.lines import version
from antiphon.store import CallMeta, Row, RowState, Store, acknowledged
from antiphon.stores.memory import MemoryStore
from antiphon.testing import FakeLLM, Reply, run_virtual

FOLDER = Path(__file__).with_name("snapshots")


@dataclass
class Guest:
    """The userdata of these calls."""

    name: str = ""
    bookings: int = 0


class Desk(Agent):
    """The agent of these calls."""

    def __init__(self) -> None:
        super().__init__(instructions="You take reservations.", id="desk")
        self.mood = "calm"

    def dump_state(self) -> Any:
        return {"mood": self.mood}

    def load_state(self, state: Any) -> None:
        self.mood = state["mood"]

    @function_tool(effect="writes")
    async def book(self, ctx: RunContext[Guest], people: int) -> str:
        """Book a table."""
        self.mood = "busy"
        ctx.userdata.name, ctx.userdata.bookings = "Ann", ctx.userdata.bookings + 1
        await asyncio.sleep(60.0 if people == 9 else 0.1)
        return f"number {people}"

    @function_tool(effect="reads")
    async def ask_name(self) -> str:
        """Ask for the name."""
        return await NameTask()


class NameTask(AgentTask[str]):
    """Asks, and is never answered."""

    def __init__(self) -> None:
        super().__init__(instructions="You ask for a name.", id="asks")

    async def on_enter(self) -> None:
        self.session.say("What is your name?")


def books(people: int) -> Reply:
    """The model books."""
    return Reply(calls=[("book", {"people": people})])


CALLS: dict[str, tuple[str, tuple[Reply | str, ...]]] = {
    "told": ("book for two", (books(2), "Booked.")),
    "not_told": ("book for three", (books(3), Reply("Booked.", ttft=60.0))),
    "at_work": ("book for nine", (books(9),)),
    "asking": ("book a table", (Reply(calls=[("ask_name", {})]),)),
    "not_answered": ("hello", (Reply("Hello.", ttft=60.0),)),
}
"""By name: what the caller said, and what the model did until the process was cut off."""


async def cut_off(words: str, replies: tuple[Reply | str, ...]) -> tuple[MemoryStore, str]:
    """What a process leaves that ends five seconds behind the caller's words."""
    store = MemoryStore(lambda: 0.0)
    session = AgentSession[Guest](llm=FakeLLM(list(replies)), store=store, userdata=Guest(), max_silence=None)
    await session.start(Desk())
    session.submit_user_turn(words)
    await asyncio.sleep(5.0)
    store.lose(session.call_id)
    taken = await store.lease(session.call_id, "another worker")
    await session.aclose()
    store.release(taken)
    return store, session.call_id


async def as_json(store: MemoryStore, call: str) -> dict[str, Any]:
    """All that a store has of a call."""
    stored = await store.load(call)
    assert stored is not None
    return {
        "call": call,
        "meta": asdict(stored.info.meta),
        "rows": [json.loads(row.to_json()) for row in stored.rows],
        "parts": {name: part.decode() for name, part in stored.parts.items()},
        "streams": {name: [one.decode() for one in await store.entries(call, name)] for name in stored.lengths},
    }


async def put(data: dict[str, Any], store: Store) -> str:
    """Write it into a store, as its worker did. Returns its id."""
    lease = await store.lease(data["call"], "the worker of then")
    meta = CallMeta(**{**data["meta"], "agents": tuple(data["meta"]["agents"])})
    store.keep(lease, meta, {name: part.encode() for name, part in data["parts"].items()})
    for one in data["rows"]:
        row = Row.from_json(json.dumps(one))
        if row.state is not RowState.INTENDED:
            store.start(lease, row)
        store.settle(lease, row)
    for name, entries in data["streams"].items():
        store.append(lease, 0, [one.encode() for one in entries], name)
    await acknowledged(store.release(lease))
    return lease.call


def kept(name: str = "") -> list[Path]:
    """Those that are in the repository, the oldest version first."""
    return sorted(FOLDER.glob(f"*/{name or '*'}.json"))


def make(folder: Path, told: Callable[[Path], None] = print) -> None:
    """Those of the version that runs."""

    async def one(words: str, replies: tuple[Reply | str, ...]) -> dict[str, Any]:
        return await as_json(*await cut_off(words, replies))

    folder.mkdir(parents=True, exist_ok=True)
    for name, call in CALLS.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(run_virtual(one(*call)), indent=1) + "\n", encoding="utf-8")
        told(path)


if __name__ == "__main__":
    make(FOLDER / version())
