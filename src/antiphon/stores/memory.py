"""Calls in the memory of the process: for tests, and for what need not outlive it.

All is done when a method returns, so nothing is ever waited for. A lease does not run out here, but by `lose`.

Above: whoever opens "memory:". Below: the contract.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from antiphon.errors import StoreError
from antiphon.secret import FingerprintKey
from antiphon.store import (
    JOURNAL,
    CallInfo,
    CallMeta,
    Durability,
    Lease,
    Pending,
    Row,
    RowState,
    Store,
    StoredCall,
    merged,
    refused,
)
from antiphon.stores.refusals import check_which, fenced, held, is_unknown, misplaced, no_such_row, too_long


@dataclass(slots=True, eq=False)
class _Kept:
    """What is kept of a call."""

    id: str
    lease: Lease
    touched: float
    is_held: bool = True
    meta: CallMeta = field(default_factory=CallMeta)
    rows: dict[str, tuple[Row, float]] = field(default_factory=dict)
    """With the time at which it was written last."""
    parts: dict[str, bytes] = field(default_factory=dict)
    streams: dict[str, list[bytes]] = field(default_factory=dict)

    @property
    def info(self) -> CallInfo:
        return CallInfo(self.id, self.meta, self.lease.epoch, self.lease.worker, self.is_held, self.touched)

    def held_by(self, lease: Lease) -> None:
        self.lease, self.is_held = lease, True

    def given_back(self) -> None:
        self.lease.lost()
        self.is_held = False

    def is_of(self, lease: Lease) -> bool:
        return (self.lease.epoch, self.lease.worker) == (lease.epoch, lease.worker) and not lease.is_over

    def ran_out(self) -> None:
        self.lease.renewed(0.0)
        self.is_held = False

    def write_row(self, row: Row, at: float) -> None:
        stored = self.rows.get(row.key)
        new = merged(stored and stored[0], row)
        if new is not None:
            self.rows[row.key] = new, at
            self.touched = at

    def write_entries(self, stream: str, position: int, entries: Sequence[bytes], at: float) -> None:
        there = self.streams.setdefault(stream, [])
        again = there[position : position + len(entries)]
        if position > len(there) or again != list(entries[: len(again)]):
            raise misplaced(self.id, stream, position, len(there))
        there.extend(entries[len(again) :])
        self.touched = at

    def replace(self, meta: CallMeta | None, parts: Mapping[str, bytes | None], at: float) -> None:
        self.meta = meta or self.meta
        for name, part in parts.items():
            if part is None:
                self.parts.pop(name, None)
            else:
                self.parts[name] = part
        self.touched = at

    def keep_rows_alone(self) -> None:
        self.parts.clear()
        self.streams.clear()


class MemoryStore(Store):
    """Keeps calls until the process ends. `clock` gives seconds since the Unix epoch."""

    durability = Durability.MEMORY

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._calls: dict[str, _Kept] = {}
        self._lock = threading.RLock()
        self.secret = FingerprintKey({})

    def __str__(self) -> str:
        return "memory"

    async def aclose(self) -> None:
        with self._lock:
            for kept in self._calls.values():
                kept.given_back()

    async def lease(self, call: str, worker: str) -> Lease:
        with self._lock:
            kept = self._calls.get(call)
            if kept is None:
                lease = Lease(call, worker, 1)
                self._calls[call] = _Kept(call, lease, self._clock())
                return lease
            if kept.is_held:
                if kept.lease.worker == worker:
                    return kept.lease
                raise held(call, kept.lease.worker, float("inf"))
            kept.held_by(Lease(call, worker, kept.lease.epoch + 1))
            return kept.lease

    def lose(self, call: str) -> None:
        """As if the worker that holds the call had been frozen for longer than its lease: another may take it."""
        with self._lock:
            self._calls[call].ran_out()

    def release(self, lease: Lease) -> Pending | None:
        return self._write(lease, lambda kept: kept.given_back())

    def append(self, lease: Lease, position: int, entries: Sequence[bytes], stream: str = JOURNAL) -> Pending | None:
        if error := too_long(lease, stream, entries):
            return refused(error)
        return self._write(lease, lambda kept: kept.write_entries(stream, position, entries, self._clock()))

    def intend(self, lease: Lease, row: Row) -> Pending | None:
        return self._write(lease, lambda kept: kept.write_row(row, self._clock()))

    def start(self, lease: Lease, row: Row) -> Pending | None:
        return self.intend(lease, replace(row, epoch=lease.epoch))

    def settle(self, lease: Lease, row: Row) -> Pending | None:
        return self.intend(lease, row)

    def keep(
        self, lease: Lease, meta: CallMeta | None = None, parts: Mapping[str, bytes | None] | None = None
    ) -> Pending | None:
        for name, part in (parts or {}).items():
            if part is not None and (error := too_long(lease, name, (part,))):
                return refused(error)
        return self._write(lease, lambda kept: kept.replace(meta, parts or {}, self._clock()))

    def flush(self) -> Pending | None:
        return None

    def _write(self, lease: Lease, write: Callable[[_Kept], None]) -> Pending | None:
        with self._lock:
            kept = self._calls.get(lease.call)
            if kept is None or not kept.is_of(lease):
                lease.lost()
                return refused(fenced(lease))
            try:
                write(kept)
            except StoreError as error:
                return refused(error)
        return None

    async def load(self, call: str) -> StoredCall | None:
        with self._lock:
            kept = self._calls.get(call)
            if kept is None:
                return None
            rows = tuple(row for row, _ in kept.rows.values())
            lengths = {name: len(entries) for name, entries in kept.streams.items()}
            return StoredCall(kept.info, rows, dict(kept.parts), lengths)

    async def entries(self, call: str, stream: str = JOURNAL, first: int = 0, most: int = 1000) -> list[bytes]:
        with self._lock:
            kept = self._calls.get(call)
            return [] if kept is None else kept.streams.get(stream, [])[first : first + most]

    async def calls(self, *, caller: str | None = None, held: bool | None = None, most: int = 100) -> list[CallInfo]:
        with self._lock:
            found = [one.info for one in self._of(None, caller) if held is None or one.is_held is held]
        return sorted(found, key=lambda info: -info.touched)[:most]

    async def rows(
        self,
        *,
        call: str | None = None,
        caller: str | None = None,
        states: Sequence[RowState] = (),
        since: float = 0.0,
        most: int = 1000,
    ) -> list[tuple[CallInfo, Row]]:
        with self._lock:
            found = [
                (at, kept.info, row)
                for kept in self._of(call, caller)
                for row, at in kept.rows.values()
                if at >= since and (not states or row.state in states)
            ]
        found.sort(key=lambda one: -one[0])
        return [(info, row) for _, info, row in found[:most]]

    async def resolve(
        self, call: str, key: str, state: RowState, output: str, at: float, *, attempt: int | None = None
    ) -> Row:
        with self._lock:
            kept = self._calls.get(call)
            if kept is None or key not in kept.rows:
                raise no_such_row(call, key)
            row, _ = kept.rows[key]
            kept.write_row(row.resolved(state, output, at=at, attempt=attempt), self._clock())
            return kept.rows[key][0]

    async def erase(self, *, call: str | None = None, caller: str | None = None, keep_rows: bool = False) -> int:
        check_which(call, caller)
        with self._lock:
            chosen = list(self._of(call, caller))
            for kept in chosen:
                if kept.is_held:
                    raise held(kept.id, kept.lease.worker, float("inf"))
            if not keep_rows:
                return self._erase(chosen)
            for kept in chosen:
                kept.keep_rows_alone()
            return len(chosen)

    async def prune(self, before: float, *, unknown: bool = False) -> int:
        with self._lock:
            return self._erase(
                [
                    kept
                    for kept in self._calls.values()
                    if not kept.is_held
                    and kept.touched < before
                    and (unknown or not any(is_unknown(row) for row, _ in kept.rows.values()))
                ]
            )

    def _erase(self, chosen: Sequence[_Kept]) -> int:
        for kept in chosen:
            del self._calls[kept.id]
        return len(chosen)

    def _of(self, call: str | None, caller: str | None) -> Iterator[_Kept]:
        for kept in self._calls.values():
            if (call is None or kept.id == call) and (caller is None or kept.meta.caller == caller):
                yield kept


def of(address: str) -> MemoryStore:
    """The store of the address "memory:"."""
    return MemoryStore()
