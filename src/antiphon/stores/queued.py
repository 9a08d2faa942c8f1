"""A store that hands over to a thread what is to be written, and reads in another.

Above: SQLite and PostgreSQL, which say how a connection is opened and proved. Below: `Writer`, and a `Database`.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Self, TypeVar

from antiphon.errors import StoreError, StoreUnavailable
from antiphon.store import (
    JOURNAL,
    LEASE,
    CallInfo,
    CallMeta,
    Lease,
    Pending,
    Row,
    RowState,
    Store,
    StoredCall,
    outcome,
    refused,
)
from antiphon.stores.changes import Asked, Database, Entries, GiveBack, Keep, Nothing, Take, WriteRow
from antiphon.stores.refusals import check_which, fenced, too_long
from antiphon.stores.writer import Writer
from antiphon.timer import within

READING_LIMIT = 10.0
"""Seconds that reading may take, and holding a call."""

ERASING_LIMIT = 300.0
"""Seconds that erasing may take: it goes over the whole store."""

T = TypeVar("T")


class QueuedStore(Store):
    """Writes in the order of asking, by one thread. `lease` is how many seconds a call is held for unless renewed."""

    def __init__(self, name: str, *, lease: float = LEASE) -> None:
        self._name = name
        self._lease_seconds = lease
        self._writer = Writer(name, self._connect, lease)
        self._readers = ThreadPoolExecutor(1, f"store {name} reads")
        self._reading: Database | None = None
        """Of the reading thread alone."""
        self._is_closed = False

    def __str__(self) -> str:
        return self._name

    @abstractmethod
    def _prove(self) -> None:
        """Make what must be there, and raise `StoreError` if it does not keep what its `durability` promises."""

    @abstractmethod
    def _connect(self) -> Database:
        """A connection for the thread that calls. Raises `StoreError`."""

    @property
    def trouble(self) -> StoreError | None:
        return self._writer.trouble

    async def __aenter__(self) -> Self:
        await self._in_thread(self._prove, READING_LIMIT)
        return self

    async def aclose(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        await asyncio.to_thread(self._writer.close)
        try:
            await self._in_thread(self._close_reading, READING_LIMIT)
        except StoreError:
            pass  # it is stuck; the thread lets go of the connection when it comes back
        self._readers.shutdown(wait=False)

    def _close_reading(self) -> None:
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def on_trouble(self, told: Callable[[StoreError | None], None]) -> Callable[[], None]:
        return self._writer.on_trouble(told)

    # -- who holds a call

    async def lease(self, call: str, worker: str) -> Lease:
        asked = Asked(Lease(call, worker, 0), Take(self._lease_seconds), waited_for=True)
        self._writer.ask(asked)
        try:
            async with within(READING_LIMIT):
                lease: Lease = await outcome(asked.done)
                return lease
        except TimeoutError:
            asked.done.cancel()
            raise self._too_slow("the lease of a call", READING_LIMIT) from None

    def release(self, lease: Lease) -> Pending | None:
        return self._ask(Asked(lease, GiveBack()))

    # -- what its holder writes

    def append(self, lease: Lease, position: int, entries: Sequence[bytes], stream: str = JOURNAL) -> Pending | None:
        if error := too_long(lease, stream, entries):
            return refused(error)
        change = Entries(stream, position, tuple(entries))
        return self._ask(Asked(lease, change, 100 + sum(map(len, entries)), urgent=False))

    def intend(self, lease: Lease, row: Row) -> Pending | None:
        return self._ask(Asked(lease, WriteRow(row), _size(row), urgent=False))

    def start(self, lease: Lease, row: Row) -> Pending | None:
        row = replace(row, epoch=lease.epoch)
        return self._ask(Asked(lease, WriteRow(row), _size(row), waited_for=True))

    def settle(self, lease: Lease, row: Row) -> Pending | None:
        return self._ask(Asked(lease, WriteRow(row), _size(row)))

    def keep(
        self, lease: Lease, meta: CallMeta | None = None, parts: Mapping[str, bytes | None] | None = None
    ) -> Pending | None:
        parts = dict(parts or {})
        given = [part for part in parts.values() if part is not None]
        if error := too_long(lease, "a part", given):
            return refused(error)
        return self._ask(Asked(lease, Keep(meta, parts), 300 + sum(map(len, given)), urgent=False))

    def flush(self) -> Pending | None:
        asked = Asked(Lease("", "", 0), Nothing())
        self._writer.ask(asked)
        return asked.done

    def _ask(self, asked: Asked) -> Pending:
        if asked.lease.is_over:
            return refused(fenced(asked.lease))
        self._writer.ask(asked)
        return asked.done

    # -- what anybody may ask

    async def load(self, call: str) -> StoredCall | None:
        return await self._read(lambda database: database.load(call))

    async def entries(self, call: str, stream: str = JOURNAL, first: int = 0, most: int = 1000) -> list[bytes]:
        return await self._read(lambda database: database.entries(call, stream, first, most))

    async def calls(self, *, caller: str | None = None, held: bool | None = None, most: int = 100) -> list[CallInfo]:
        return await self._read(lambda database: database.calls(caller, held, most))

    async def rows(
        self,
        *,
        call: str | None = None,
        caller: str | None = None,
        states: Sequence[RowState] = (),
        since: float = 0.0,
        most: int = 1000,
    ) -> list[tuple[CallInfo, Row]]:
        return await self._read(lambda database: database.rows(call, caller, states, since, most))

    async def resolve(
        self, call: str, key: str, state: RowState, output: str, at: float, *, attempt: int | None = None
    ) -> Row:
        return await self._read(lambda database: database.resolve(call, key, state, output, at, attempt))

    async def erase(self, *, call: str | None = None, caller: str | None = None, keep_rows: bool = False) -> int:
        check_which(call, caller)
        return await self._read(lambda database: database.erase(call, caller, keep_rows), ERASING_LIMIT)

    async def prune(self, before: float, *, unknown: bool = False) -> int:
        return await self._read(lambda database: database.prune(before, unknown), ERASING_LIMIT)

    async def _read(self, read: Callable[[Database], T], limit: float = READING_LIMIT) -> T:
        return await self._in_thread(lambda: self._reads(read), limit)

    def _reads(self, read: Callable[[Database], T]) -> T:
        is_new = self._reading is None
        database = self._reading = self._reading or self._connect()
        try:
            return read(database)
        except StoreUnavailable:
            self._close_reading()  # the next one opens it anew
            if is_new or not database.is_gone:
                raise
        return self._reads(read)

    async def _in_thread(self, work: Callable[[], T], limit: float) -> T:
        try:
            async with within(limit):
                return await asyncio.get_running_loop().run_in_executor(self._readers, work)
        except TimeoutError:
            raise self._too_slow("an answer", limit) from None

    def _too_slow(self, what: str, limit: float) -> StoreUnavailable:
        return StoreUnavailable(
            f"store {self._name}: expected {what} within {limit:g} s, got none. Look whether its disk or its server is"
            " overloaded or out of reach.",
            may_have_happened=True,
        )


def _size(row: Row) -> int:
    return 1_000 + len(row.arguments) + len(row.output) + len(row.identity)
