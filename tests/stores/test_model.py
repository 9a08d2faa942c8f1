"""Stores do the same as the store in memory, whatever workers do, in any order; and what is written goes up only.

At length: `make prove-stores`.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from antiphon.errors import StoreError
from antiphon.store import CallMeta, Durability, Lease, Pending, Row, RowState, Store, StoredCall, acknowledged
from antiphon.stores.memory import MemoryStore
from antiphon.stores.postgres import PostgresStore
from antiphon.stores.sqlite import SQLiteStore
from tests.stores.places import expire_in_postgres, expire_in_sqlite
from tests.stores.postgres_server import a_schema

STEPS = int(os.environ.get("ANTIPHON_STORE_STEPS", "1500"))
SEED = int(os.environ.get("ANTIPHON_SEED", "17"))
EACH = 50
"""Steps of one example."""

CALLS = st.sampled_from(["c1", "c1", "c2"])
WORKERS = st.sampled_from([0, 0, 0, 1])
KEYS = st.sampled_from(["k1", "k1", "k2"])
ATTEMPT = st.sampled_from([1, 1, 1, 2])
AT = st.sampled_from([2.0, 2.0, 2.0, 3.0])
RANK = {RowState.INTENDED: 0, RowState.STARTED: 1, RowState.UNKNOWN: 2, RowState.SUCCEEDED: 3, RowState.FAILED: 3}

FAR = 3_600.0
"""Seconds of a lease: it runs out where the machine says so, and is not renewed meanwhile."""


class Places(Protocol):
    """Where calls are kept."""

    def new(self) -> str: ...

    def open(self, place: str) -> Store: ...

    def expire(self, place: str, call: str) -> None: ...


class Files:
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def new(self) -> str:
        return str(Path(tempfile.mkdtemp(dir=self._folder)) / "calls.db")

    def open(self, place: str) -> Store:
        return SQLiteStore(place, durability=Durability.PROCESS, lease=FAR)

    def expire(self, place: str, call: str) -> None:
        expire_in_sqlite(place, call)


class Schemas:
    def __init__(self, server: Any) -> None:
        self._server = server

    def new(self) -> str:
        return a_schema(self._server)

    def open(self, place: str) -> Store:
        uri, _, schema = place.rpartition("schema=")
        return PostgresStore(uri.rstrip("?&"), schema=schema, lease=FAR)

    def expire(self, place: str, call: str) -> None:
        expire_in_postgres(place, call)


class Machine(RuleBasedStateMachine):
    """Two workers on a store, and the same two on one in memory."""

    places: ClassVar[Places]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.where = self.places.new()
        self.memory = MemoryStore()
        self.opened: list[Store] = []
        self.stores = [self.another(), self.another()]
        self.names = ["w0", "w1"]
        self.leases: dict[tuple[int, str], tuple[Lease, Lease]] = {}
        """By worker and call: in the store, and in memory."""
        self.lengths: dict[str, int] = {}
        self.best: dict[tuple[str, str], Row] = {}

    def another(self) -> Store:
        store: Store = self.run(self.places.open(self.where).__aenter__())
        self.opened.append(store)
        return store

    def run(self, what: Awaitable[Any]) -> Any:
        async def main() -> Any:
            return await what

        return self.runner.run(main())

    def teardown(self) -> None:
        for store in self.opened:
            self.run(store.aclose())
        self.runner.close()

    def same(self, there: Callable[[], Awaitable[Any]], here: Callable[[], Awaitable[Any]]) -> Any:
        """Both do it, or both refuse it for the same reason. What the store came to, or the kind of its error."""
        found: list[Any] = []
        for one in (there, here):
            try:
                found.append(self.run(one()))
            except StoreError as error:
                found.append(type(error))
        kinds = [one if isinstance(one, type) else None for one in found]
        assert kinds[0] is kinds[1], found
        return found

    def written(self, worker: int, call: str, write: Callable[[Store, Lease], Pending | None]) -> None:
        if (worker, call) not in self.leases:
            self.take(worker, call)
        pair = self.leases.get((worker, call))
        if pair is None:
            return  # another one holds it
        store = self.stores[worker]

        async def there() -> None:
            pending = write(store, pair[0])
            await acknowledged(store.flush(), 30.0)
            await acknowledged(pending, 30.0)

        async def here() -> None:
            await acknowledged(write(self.memory, pair[1]))

        self.same(there, here)
        assert pair[0].is_over is pair[1].is_over

    # -- what workers do

    @rule(worker=WORKERS, call=CALLS)
    def takes(self, worker: int, call: str) -> None:
        self.take(worker, call)

    def take(self, worker: int, call: str) -> None:
        name = self.names[worker]
        there, here = self.same(lambda: self.stores[worker].lease(call, name), lambda: self.memory.lease(call, name))
        if isinstance(there, Lease):
            assert there.epoch == here.epoch
            self.leases[worker, call] = there, here

    @rule(worker=WORKERS, call=CALLS)
    def give_back(self, worker: int, call: str) -> None:
        self.written(worker, call, lambda store, lease: store.release(lease))

    @rule(call=CALLS)
    def run_out(self, call: str) -> None:
        """Who holds it is frozen."""
        if self.run(self.memory.load(call)) is not None:
            self.memory.lose(call)
            self.places.expire(self.where, call)

    @rule(worker=WORKERS)
    def restart(self, worker: int) -> None:
        """It ends, and begins anew under another name."""
        self.run(self.stores[worker].aclose())
        for one, call in [key for key in self.leases if key[0] == worker]:
            self.memory.release(self.leases.pop((one, call))[1])
        self.stores[worker] = self.another()
        self.names[worker] += "'"

    @rule(worker=WORKERS)
    def die(self, worker: int) -> None:
        """It is gone, and gives nothing back."""
        for key in [key for key in self.leases if key[0] == worker]:
            del self.leases[key]
        self.stores[worker] = self.another()
        self.names[worker] += "'"

    @rule(
        worker=WORKERS,
        call=CALLS,
        stream=st.sampled_from(["journal", "history"]),
        off=st.sampled_from([0, 0, 0, -1, -2, 1]),
        entries=st.lists(st.sampled_from([b"a", b"b", b""]), max_size=3),
    )
    def append(self, worker: int, call: str, stream: str, off: int, entries: list[bytes]) -> None:
        stored: StoredCall | None = self.run(self.memory.load(call))
        length = stored.lengths.get(stream, 0) if stored else 0
        position = max(0, length + off)
        self.written(worker, call, lambda store, lease: store.append(lease, position, entries, stream))

    @rule(worker=WORKERS, call=CALLS, key=KEYS, tool=st.sampled_from(["t", "t", "t", "u"]))
    def intend(self, worker: int, call: str, key: str, tool: str) -> None:
        self.written(worker, call, lambda store, lease: store.intend(lease, Row(key, tool, intended_at=1.0)))

    @rule(worker=WORKERS, call=CALLS, key=KEYS, at=AT, attempt=ATTEMPT)
    def start(self, worker: int, call: str, key: str, at: float, attempt: int) -> None:
        row = replace(Row(key, "t", intended_at=1.0).started(at), attempt=attempt)
        self.written(worker, call, lambda store, lease: store.start(lease, row))

    @rule(
        worker=WORKERS,
        call=CALLS,
        key=KEYS,
        at=AT,
        attempt=ATTEMPT,
        state=st.sampled_from([RowState.SUCCEEDED, RowState.FAILED, RowState.UNKNOWN]),
        output=st.sampled_from(["", "Done."]),
        closes=st.booleans(),
    )
    def settle(
        self, worker: int, call: str, key: str, at: float, attempt: int, state: RowState, output: str, closes: bool
    ) -> None:
        row = replace(Row(key, "t", intended_at=1.0).started(at), attempt=attempt).settled(state, output, at=4.0)
        row = row.closed(5.0) if closes else row
        self.written(worker, call, lambda store, lease: store.settle(lease, row))

    @rule(
        worker=WORKERS,
        call=CALLS,
        caller=st.sampled_from([None, "ann", "bob"]),
        parts=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from([None, b"", b"1"])),
    )
    def keep(self, worker: int, call: str, caller: str | None, parts: dict[str, bytes | None]) -> None:
        meta = None if caller is None else CallMeta(caller, ("desk",))
        self.written(worker, call, lambda store, lease: store.keep(lease, meta, parts))

    # -- what anybody does

    @rule(
        worker=WORKERS,
        call=CALLS,
        key=KEYS,
        state=st.sampled_from([RowState.SUCCEEDED, RowState.FAILED]),
        attempt=st.sampled_from([None, 1, 2]),
    )
    def resolve(self, worker: int, call: str, key: str, state: RowState, attempt: int | None) -> None:
        there, here = self.same(
            lambda: self.stores[worker].resolve(call, key, state, "It did.", 6.0, attempt=attempt),
            lambda: self.memory.resolve(call, key, state, "It did.", 6.0, attempt=attempt),
        )
        assert isinstance(there, type) or there == here

    @rule(worker=WORKERS, caller=st.sampled_from(["ann", "bob"]))
    def erase(self, worker: int, caller: str) -> None:
        calls = [info.id for info in self.run(self.memory.calls(caller=caller))]
        there, here = self.same(
            lambda: self.stores[worker].erase(caller=caller), lambda: self.memory.erase(caller=caller)
        )
        assert there == here
        if isinstance(there, int):
            self.best = {key: row for key, row in self.best.items() if key[0] not in calls}

    # -- what is always so

    @precondition(lambda self: self.opened)
    @invariant()
    def all_is_the_same(self) -> None:
        reader = self.stores[0]
        for call in ("c1", "c2"):
            there, here = self.run(reader.load(call)), self.run(self.memory.load(call))
            assert _of(there) == _of(here)
            if here is None:
                continue
            for stream in ("journal", "history"):
                assert self.run(reader.entries(call, stream)) == self.run(self.memory.entries(call, stream))
            for row in there.rows:
                self.goes_up(call, row)
        there = [(info.id, row) for info, row in self.run(reader.rows(states=[RowState.UNKNOWN]))]
        here = [(info.id, row) for info, row in self.run(self.memory.rows(states=[RowState.UNKNOWN]))]
        assert sorted(there, key=str) == sorted(here, key=str)

    def goes_up(self, call: str, row: Row) -> None:
        """Judged without the rules that stores share."""
        before = self.best.setdefault((call, row.key), row)
        assert (row.attempt, RANK[row.state]) >= (before.attempt, RANK[before.state]), (before, row)
        if before.state is RowState.SUCCEEDED or (RANK[before.state] == 3 and row.attempt == before.attempt):
            assert (row.state, row.attempt, row.started_at) == (before.state, before.attempt, before.started_at)
            assert row.output == before.output or not before.output
            assert before.closed_at in (None, row.closed_at)
        if row.attempt == before.attempt and before.started_at is not None:
            assert row.started_at == before.started_at, "a start by somebody else took its place"
        self.best[call, row.key] = row


def _of(stored: StoredCall | None) -> Any:
    if stored is None:
        return None
    info = stored.info
    rows = sorted(stored.rows, key=lambda row: row.key)
    lengths = {stream: length for stream, length in stored.lengths.items() if length}
    return info.meta, info.epoch, info.worker, info.is_held, rows, dict(stored.parts), lengths


def prove(kind: type[Machine], steps: int) -> None:
    run_state_machine_as_test(
        seed(SEED)(kind),
        settings=settings(
            max_examples=max(1, steps // EACH),
            stateful_step_count=EACH,
            deadline=None,
            database=None,
            phases=[one for one in Phase if one is not Phase.shrink or steps > 10_000],  # it takes minutes
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.timeout(7_200)
def test_sqlite_does_what_memory_does() -> None:
    with tempfile.TemporaryDirectory() as folder:

        class InSQLite(Machine):
            places = Files(folder)

        prove(InSQLite, STEPS)
    print(f"stores: SQLite did as memory does for {STEPS:,} steps, seed {SEED}")


@pytest.mark.timeout(7_200)
def test_postgresql_does_what_memory_does(postgres_server: Any) -> None:
    class InPostgres(Machine):
        places = Schemas(postgres_server)

    prove(InPostgres, STEPS // 5)
    print(f"stores: PostgreSQL did as memory does for {STEPS // 5:,} steps, seed {SEED}")
