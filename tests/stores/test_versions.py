"""A call goes on with another version of Antiphon than it began with: later ones read it, earlier ones say why not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antiphon import AgentSession
from antiphon.core.lines import FORMAT, version
from antiphon.errors import StoreError
from antiphon.replay import read, steps
from antiphon.store import RowState, Store, acknowledged, open_store
from antiphon.stores.memory import MemoryStore
from antiphon.testing import FakeLLM, check_pairs, run_virtual, transcript
from tests.stores.kept_calls import CALLS, Desk, Guest, NameTask, kept, put

CUT = "assistant: Sorry, we were cut off for a moment."
GOES_ON = {
    "told": ["assistant: Booked.", CUT],
    "not_told": ["output book: number 3", CUT, "assistant: Here I am."],
    "at_work": [
        "error book: It is unknown whether `book` happened; do not repeat it unless the user asks for that.",
        CUT,
        "assistant: Here I am.",
    ],
    "asking": [
        "error ask_name: `ask_name` was interrupted by a restart. Call it again if it is still wanted.",
        CUT,
        "assistant: Here I am.",
    ],
    "not_answered": ["user: hello", CUT, "assistant: Here I am."],
}
"""By name: how the history ends, a moment after the call was taken up."""


async def goes_on(store: Store, call: str) -> tuple[AgentSession[Guest], Desk]:
    session = AgentSession[Guest](llm=FakeLLM(["Here I am."]), store=store, userdata=Guest(), max_silence=None)
    desk = Desk()
    await session.resume(call, agents=[desk, NameTask()])
    await asyncio.sleep(5.0)
    return session, desk


@pytest.mark.parametrize("path", kept(), ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.parametrize("place", ["memory", "disk"])
def test_a_call_of_each_version_goes_on(path: Path, place: str, tmp_path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))

    async def check() -> None:
        async with open_store("memory:" if place == "memory" else f"sqlite:///{tmp_path / 'calls.db'}") as store:
            session, desk = await goes_on(store, await put(data, store))
            lines = transcript(session.history)
            check_pairs(session.history)
            assert lines[-len(GOES_ON[path.stem]) :] == GOES_ON[path.stem]
            booked = bool(data["rows"])
            assert desk.mood == ("busy" if booked and path.stem != "at_work" else "calm")
            assert session.userdata == (Guest("Ann", 1) if booked and path.stem != "at_work" else Guest())
            await session.aclose()
            await acknowledged(store.flush())  # virtual time does not wait for a disk
            rows = [row for _, row in await store.rows(call=data["call"])]
            assert all(row.state in (RowState.SUCCEEDED, RowState.UNKNOWN) and row.closed_at for row in rows)

    run_virtual(check())


def test_those_of_the_version_that_runs_are_kept() -> None:
    assert {path.stem for path in kept() if path.parent.name == version()} == set(CALLS)


@pytest.mark.parametrize("path", kept("told"), ids=lambda path: path.parent.name)
def test_a_journal_of_each_version_is_replayed(path: Path, tmp_path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    journal = tmp_path / "call.jsonl"
    journal.write_text("".join(line.rstrip("\n") + "\n" for line in data["streams"]["journal"]), encoding="utf-8")
    assert not [step.error for step in steps(read(journal)) if step.error is not None]


def newer_call(data: dict[str, Any]) -> None:
    data["meta"]["version"] = FORMAT + 1
    data["meta"]["antiphon"] = "9.9.9"


def newer_part(data: dict[str, Any]) -> None:
    data["parts"]["call"] = json.dumps({**json.loads(data["parts"]["call"]), "format": 2})


def newer_snapshot(data: dict[str, Any]) -> None:
    data["parts"]["application"] = json.dumps({**json.loads(data["parts"]["application"]), "format": 2})


def newer_item(data: dict[str, Any]) -> None:
    entry = json.loads(data["streams"]["history"][-1])
    entry["item"]["mood"] = "calm"
    data["streams"]["history"][-1] = json.dumps(entry)
    data["meta"]["antiphon"] = "9.9.9"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (newer_call, "format 1 or before, got 2, which Antiphon 9.9.9 wrote"),
        (newer_part, "format 1 of what was at work, got 2, which a newer version"),
        (newer_snapshot, "format 1 of what the application kept, got 2, which a newer version"),
        (newer_item, "the history of the call cannot be read: .*mood.*Antiphon 9.9.9 wrote it"),
    ],
)
def test_what_a_later_version_wrote_is_refused_in_words_and_left_to_it(
    change: Callable[[dict[str, Any]], None], says: str
) -> None:
    data = json.loads(kept("told")[-1].read_text(encoding="utf-8"))
    change(data)

    async def check() -> None:
        store = MemoryStore()
        call = await put(data, store)
        with pytest.raises(StoreError, match=says):
            await goes_on(store, call)
        assert (await store.lease(call, "a later version")).held

    run_virtual(check())


def test_what_a_later_version_added_to_rows_parts_and_contracts_is_passed_by() -> None:
    data = json.loads(kept("not_told")[-1].read_text(encoding="utf-8"))
    data["rows"][0]["mood"] = data["rows"][0]["contract"]["mood"] = "calm"
    data["parts"] |= {"mood": "calm", "call": json.dumps({**json.loads(data["parts"]["call"]), "mood": "calm"})}

    async def check() -> None:
        store = MemoryStore()
        session, _ = await goes_on(store, await put(data, store))
        assert transcript(session.history)[-1] == "assistant: Here I am."
        await session.aclose()

    run_virtual(check())
