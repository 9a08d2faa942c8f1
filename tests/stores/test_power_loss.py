"""Nothing that was acknowledged is lost when the power goes, at any moment."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from antiphon.errors import StoreError
from antiphon.store import CallMeta, Durability, Lease, Pending, Row, RowState, Store, acknowledged
from antiphon.stores import sqlite_database
from antiphon.stores.sqlite import SQLiteStore
from tests.stores.lossy import LossySQLite

T = TypeVar("T")

POINTS = int(os.environ.get("ANTIPHON_POWER_CUTS", "150"))
"""Moments at which the power goes."""

SEED = int(os.environ.get("ANTIPHON_SEED", "17"))


@dataclass
class Kept:
    """What one call asked for, and how much of it was acknowledged when so many operations of the disk were done."""

    entries: list[bytes] = field(default_factory=list)
    lengths: list[tuple[int, int]] = field(default_factory=list)
    rows: list[tuple[int, Row]] = field(default_factory=list)
    asked: dict[str, list[Row]] = field(default_factory=dict)
    parts: list[tuple[int, bytes]] = field(default_factory=list)
    metas: list[tuple[int, str]] = field(default_factory=list)


def told(acknowledged: list[tuple[int, T]], what: T, at: int) -> None:
    acknowledged.append((at, what))


class Work:
    """Calls that write, some of them waiting for nothing."""

    def __init__(self, lossy: LossySQLite, rng: random.Random) -> None:
        self.calls: dict[str, Kept] = {}
        self._disk = lossy.disk
        self._rng = rng

    def _when(self, pending: Pending | None, told: Callable[[int], None]) -> Pending | None:
        def done(pending: Pending) -> None:
            if not pending.exception():
                told(len(self._disk.done))

        if pending is not None:
            pending.add_done_callback(done)
        return pending

    async def all(self, store: Store, calls: int) -> None:
        await asyncio.gather(*(self._call(store, f"call-{number}") for number in range(calls)))

    async def _call(self, store: Store, name: str) -> None:
        rng, kept = self._rng, self.calls.setdefault(name, Kept())
        lease = await store.lease(name, "worker")
        for turn in range(12):
            for _ in range(rng.randrange(1, 6)):
                self._append(store, lease, kept)
            if rng.random() < 0.5:
                part = rng.randbytes(rng.choice((10, 3_000)))
                self._when(store.keep(lease, None, {"state": part}), partial(told, kept.parts, part))
            if rng.random() < 0.3:
                meta = CallMeta(f"caller {turn}")
                self._when(store.keep(lease, meta), partial(told, kept.metas, meta.caller))
            await self._tool(store, lease, kept, f"key-{turn}")
        await acknowledged(store.flush(), 30.0)

    def _append(self, store: Store, lease: Lease, kept: Kept) -> None:
        given = [self._rng.randbytes(self._rng.choice((0, 80, 80, 9_000))) for _ in range(self._rng.randrange(1, 4))]
        position = len(kept.entries)
        kept.entries += given
        length = len(kept.entries)
        self._when(store.append(lease, position, given), partial(told, kept.lengths, length))

    async def _tool(self, store: Store, lease: Lease, kept: Kept, key: str) -> None:
        asked = kept.asked.setdefault(key, [])

        def written(pending: Pending | None, row: Row) -> Pending | None:
            asked.append(row)
            return self._when(pending, partial(told, kept.rows, row))

        row = Row(key, "desk/book", arguments="{}" * self._rng.randrange(1, 400), intended_at=1.0)
        written(store.intend(lease, row), row)
        row = row.started(2.0)
        await acknowledged(written(store.start(lease, row), row), 30.0)
        row = row.settled(self._rng.choice((RowState.SUCCEEDED, RowState.UNKNOWN, RowState.FAILED)), "Done.", at=3.0)
        written(store.settle(lease, row), row)
        if self._rng.random() < 0.5:
            row = row.closed(4.0)
            written(store.settle(lease, row), row)


ORDER = (RowState.INTENDED, RowState.STARTED, RowState.UNKNOWN, RowState.SUCCEEDED, RowState.FAILED)


async def missing(place: Path, work: Work, index: int) -> list[str]:
    """What was acknowledged before that operation of the disk and is not there, or is there and was never asked for."""
    found: list[str] = []
    async with SQLiteStore(place) as store:
        for name, kept in work.calls.items():
            length = max((length for at, length in kept.lengths if at <= index), default=0)
            entries = await store.entries(name, most=10_000)
            if len(entries) < length or entries != kept.entries[: len(entries)]:
                found.append(f"{name}: {len(entries)} entries of {length}")
            stored = await store.load(name)
            there = {row.key: row for row in stored.rows} if stored else {}
            for at, row in kept.rows:
                is_there = there.get(row.key)
                if at <= index and (
                    is_there is None
                    or ORDER.index(is_there.state) < ORDER.index(row.state)
                    or (row.closed_at is not None and is_there.closed_at is None)
                ):
                    found.append(f"{name}: {row.key} is {is_there and is_there.state}, was {row.state}")
            found += [
                f"{name}: {row} was never asked for"
                for row in there.values()
                if not any(row.state is one.state and row.arguments == one.arguments for one in kept.asked[row.key])
            ]
            metas = [caller for at, caller in kept.metas if at <= index]
            parts = [part for at, part in kept.parts if at <= index]
            if (metas or parts) and (stored is None or (parts and "state" not in stored.parts)):
                found.append(f"{name}: what is known of it is not there")
            if stored and metas and turn_of(stored.info.meta.caller) < turn_of(metas[-1]):
                found.append(f"{name}: {stored.info.meta.caller} is known, was {metas[-1]}")
    with sqlite3.connect(place) as connection:
        if (health := connection.execute("pragma integrity_check").fetchone()[0]) != "ok":
            found.append(health)
    connection.close()
    return found


def turn_of(caller: str) -> int:
    return int(caller.removeprefix("caller ") or -1)


def work_done(folder: Path, durability: Durability, rng: random.Random) -> tuple[LossySQLite, Work]:
    lossy = LossySQLite()
    work = Work(lossy, rng)

    async def main() -> None:
        async with SQLiteStore(folder / "calls.db", durability=durability, connect=lossy.connect) as store:
            await work.all(store, 4)

    asyncio.run(main())
    return lossy, work


def lost(folder: Path, lossy: LossySQLite, work: Work, rng: random.Random, points: int) -> dict[int, list[str]]:
    """By the moment at which the power went."""
    found: dict[int, list[str]] = {}
    for number in range(points):
        index = rng.randrange(len(lossy.disk.done) + 1)
        place = folder / f"after-{number}"
        place.mkdir()
        for name, content in lossy.disk.after(index, rng).items():
            (place / name).write_bytes(content)
        try:
            if problems := asyncio.run(missing(place / "calls.db", work, index)):
                found[index] = problems
        except StoreError as error:
            found[index] = [repr(error)]
    return found


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log goes into the file many times, so that the power goes while it does."""
    monkeypatch.setattr(sqlite_database, "CHECKPOINT", 60_000)


def test_what_was_acknowledged_is_there_after_a_cut_of_power(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    lossy, work = work_done(tmp_path, Durability.DISK, rng)
    written = {one.file for one in lossy.disk.done}
    assert {"calls.db", "calls.db-wal"} <= written

    assert lost(tmp_path, lossy, work, rng, POINTS) == {}
    print(f"power loss: {POINTS} cuts in {len(lossy.disk.done)} operations of the disk, seed {SEED}: nothing lost")


def test_the_disk_that_forgets_finds_a_store_that_does_not_sync(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    lossy, work = work_done(tmp_path, Durability.PROCESS, rng)

    assert lost(tmp_path, lossy, work, rng, 40) != {}
