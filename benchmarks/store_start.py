"""What a start of a tool costs where calls are kept, beside the disk's own commit of as many bytes, in the same run.

    python -m benchmarks.store_start [--starts 300] [--folder FOLDER] [--postgres]

A start is what the caller waits for: `acknowledged(store.start(...))` on an event loop. The disk's own commit is an
append to a file of what SQLite appends to its log for it, and `fsync`; PostgreSQL's is an `insert` of as much by a bare
connection. Both are done in turn, so that whatever else the machine does concerns them alike.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from antiphon.store import Lease, Row, RowState, Store, acknowledged
from antiphon.stores.memory import MemoryStore
from antiphon.stores.sqlite import SQLiteStore

ARGUMENTS = json.dumps({"date": "next Friday at seven", "people": 4, "name": "Ann Ombra", "note": "by the window"})
BUDGET = 0.5
"""Milliseconds that a start may take over the disk's own commit."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of each, in turn."""

    starts: Sequence[float]
    own: Sequence[float]

    @property
    def added(self) -> float:
        """What a start takes more, in the median."""
        return statistics.median(self.starts) - statistics.median(self.own)

    @property
    def quickest(self) -> float:
        """What the quickest start takes more than the quickest commit: other programs can only make one slower."""
        return min(self.starts) - min(self.own)

    def __add__(self, other: Cost) -> Cost:
        return Cost([*self.starts, *other.starts], [*self.own, *other.own])

    def __str__(self) -> str:
        start, own = statistics.median(self.starts), statistics.median(self.own)
        return (
            f"start {start:6.3f} ms, own commit {own:6.3f} ms, added {self.added:6.3f} ms"
            f" ({self.quickest:.3f} ms of the quickest)"
        )


class Appended:
    """The disk's own commit."""

    def __init__(self, folder: Path, size: int) -> None:
        self._file = os.open(folder / "own", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._data = os.urandom(size)

    async def commit(self) -> None:
        os.write(self._file, self._data)
        os.fsync(self._file)

    def close(self) -> None:
        os.close(self._file)


class Starts:
    """A call in which one tool after the other is started, and settled where nobody waits."""

    def __init__(self, store: Store, lease: Lease) -> None:
        self._store = store
        self._lease = lease
        self._number = 0
        self._row = Row(
            "", "desk/book", "call_1", arguments=ARGUMENTS, identity=ARGUMENTS, contract={"effect": "writes"}
        )

    async def start(self) -> None:
        self._number += 1
        row = replace(self._row, key=f"{self._number:064x}").started(time.time())
        await acknowledged(self._store.start(self._lease, row), 10.0)

    async def settle(self) -> None:
        """Beside what is measured."""
        row = replace(self._row, key=f"{self._number:064x}")
        await acknowledged(self._store.settle(self._lease, row.settled(RowState.SUCCEEDED, "Booked.", at=0.0)), 10.0)


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return 1000 * (time.perf_counter() - began)


async def measure(store: Store, own: Callable[[], Awaitable[None]], starts: int) -> Cost:
    """Both in turn, after some that do not count."""
    lease = await store.lease("measured", f"worker-{os.getpid()}")
    tools = Starts(store, lease)
    begun, owned = [], []
    for number in range(starts + 20):
        one, other = await _timed(tools.start), await _timed(own)
        await tools.settle()
        if number >= 20:
            begun.append(one)
            owned.append(other)
    return Cost(begun, owned)


async def sqlite(folder: Path, starts: int) -> Cost:
    """A start in SQLite, beside an append to a file in the same folder."""
    own = Appended(folder, await appended(folder))
    try:
        async with SQLiteStore(folder / "calls.db") as store:
            return await measure(store, own.commit, starts)
    finally:
        own.close()


async def appended(folder: Path) -> int:
    """Bytes that the log grows by for one start."""
    log = folder / "sized.db-wal"
    async with SQLiteStore(folder / "sized.db") as store:
        tools = Starts(store, await store.lease("sized", "worker"))
        await tools.start()
        before = log.stat().st_size
        for _ in range(50):
            await tools.start()
        return (log.stat().st_size - before) // 50


async def memory(starts: int) -> Cost:
    """A start in memory."""

    async def nothing() -> None: ...

    return await measure(MemoryStore(), nothing, starts)


async def postgres(address: str, starts: int) -> Cost:
    """A start in PostgreSQL, beside an insert of the same bytes by a bare connection."""
    import psycopg

    from antiphon.stores.postgres import PostgresStore

    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
        await connection.execute("create table if not exists own(number bigserial primary key, data text)")
        data = Row("k" * 64, "desk/book", "call_1", arguments=ARGUMENTS, identity=ARGUMENTS).to_json()

        async def insert() -> None:
            await connection.execute("insert into own(data) values(%s)", (data,))

        async with PostgresStore(address) as store:
            return await measure(store, insert, starts)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=300)
    parser.add_argument("--folder", type=Path, help="on the disk to be measured; default: a temporary one")
    parser.add_argument("--postgres", action="store_true", help="a server of its own, by pgserver")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        costs = {"memory": asyncio.run(memory(options.starts)), "sqlite": asyncio.run(sqlite(folder, options.starts))}
        if options.postgres:
            pgserver: Any = importlib.import_module("pgserver")  # typed for some versions of Python only
            server = pgserver.get_server(folder / "postgres")
            try:
                costs["postgresql"] = asyncio.run(postgres(server.get_uri(), options.starts))
            finally:
                server.cleanup()
    for store, cost in costs.items():
        print(f"{store:<11} {cost}")


if __name__ == "__main__":
    main()
