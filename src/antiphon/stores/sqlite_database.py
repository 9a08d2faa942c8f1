"""One connection to the file of a `SQLiteStore`, and all that is asked of its tables.

Above: `sqlite.py`, which opens and proves it. Below: SQL.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from antiphon.errors import StoreError, StoreUnavailable
from antiphon.store import Lease, Row, RowState, merged
from antiphon.stores.changes import Asked, Entries, GiveBack, Keep, Nothing, Take, WriteRow
from antiphon.stores.refusals import fenced, held, misplaced, no_such_row
from antiphon.stores.storable import meta_to_json, plain, storable
from antiphon.stores.tables import NOBODY_KNOWS, TOUCH, Ask, Tables, all_of, chosen

CHECKPOINT = 4_000_000
"""Bytes of the write-ahead log at which it goes into the file, when nothing else is to be done."""

LATEST_CHECKPOINT = 64_000_000
"""Bytes at which it does even though there is."""

_T = TypeVar("_T")


class SQLiteDatabase(Tables):
    """`connection` syncs; `quick` does not, and writes leases. `inode` is that of the file which was proved."""

    def __init__(self, path: Path, connection: Any, quick: Any, *, inode: int) -> None:
        self._path = path
        self._connection = connection
        self._quick = quick
        self._inode = inode
        self._log = Path(f"{path}-wal")

    # -- what the writer asks

    def commit(self, asked: Sequence[Asked]) -> list[Any]:
        return self._write(self._connection, lambda: self._all(asked))

    def _all(self, asked: Sequence[Asked]) -> list[Any]:
        batch = _Batch(self._connection, time.time())
        results = [batch.write(one) for one in asked]
        batch.touch()
        return results

    def renew(self, leases: Collection[Lease], seconds: float) -> list[Lease]:
        def renewed() -> list[Lease]:
            until = time.time() + seconds
            return [
                lease
                for lease in leases
                if not self._quick.execute(
                    "update calls set until=? where id=? and epoch=? and worker=? returning 1",
                    (until, storable(lease.call), lease.epoch, storable(lease.worker)),
                ).fetchall()
            ]

        return self._write(self._quick, renewed)

    def probe(self) -> None:
        self._write(
            self._connection,
            lambda: self._connection.execute("insert or replace into probes values(1, ?)", (time.time(),)),
        )

    def tidy(self, *, busy: bool) -> None:
        with contextlib.suppress(sqlite3.Error, OSError):
            if self._log.stat().st_size > (LATEST_CHECKPOINT if busy else CHECKPOINT):
                self._connection.execute("pragma wal_checkpoint(passive)").fetchall()

    def close(self) -> None:
        for connection in (self._connection, self._quick):
            with contextlib.suppress(Exception):
                connection.close()

    def _write(self, connection: Any, work: Callable[[], _T]) -> _T:
        """Do it in one transaction. What is refused by the disk is told apart from what may be written all the same."""
        self._check_place()
        committing = False
        try:
            connection.execute("begin immediate")
            result = work()
            committing = True
            connection.execute("commit")
            return result
        except BaseException as error:
            with contextlib.suppress(Exception):
                connection.execute("rollback")
            if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, _OURS):
                raise self._failing(error, committing) from error
            raise

    def _check_place(self) -> None:
        """SQLite goes on writing to a file that was removed, where nobody finds it."""
        try:
            is_there = os.stat(self._path).st_ino == self._inode
        except OSError:
            is_there = False
        if not is_there:
            raise StoreUnavailable(
                f"store {self._path}: the file was removed or replaced while it was open. Put it back, or start anew."
            )

    def _failing(self, error: Exception, committing: bool) -> StoreUnavailable:
        return StoreUnavailable(
            f"store {self._path}: it cannot write: {error}. Look whether its disk is full, read-only or broken, and"
            " whether another program holds the file.",
            may_have_happened=committing,
        )

    calls_table = "calls c"
    touched = "c.touched"
    since = "r.touched>=?"

    @property
    def held(self) -> str:
        return f"(c.until>{time.time()!r})"

    @contextlib.contextmanager
    def reading(self) -> Iterator[Ask]:
        def ask(statement: str, *values: Any) -> list[Any]:
            found: list[Any] = self._connection.execute(statement.replace("{s}", ""), values).fetchall()
            return found

        try:
            self._connection.execute("begin")
            try:
                yield ask
            finally:
                self._connection.execute("rollback")
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"store {self._path}: it cannot be read: {error}. Look at its disk.") from error

    # -- what anybody asks

    def resolve(self, call: str, key: str, state: RowState, output: str, at: float, attempt: int | None) -> Row:
        def resolved() -> Row:
            batch = _Batch(self._connection, time.time())
            found = batch.find(call)
            row = found and batch.row(found[0], key)
            if not found or row is None:
                raise no_such_row(call, key)
            batch.write_row(found[0], row.resolved(state, output, at=at, attempt=attempt))
            batch.touch()
            new = batch.row(found[0], key)
            return new or row

        return self._write(self._connection, resolved)

    def erase(self, call: str | None, caller: str | None, keep_rows: bool) -> int:
        def erased() -> int:
            where, values = chosen(call=call, caller=caller)
            found = self._connection.execute(
                f"select number, id, worker, until from calls c{all_of(where)}", values
            ).fetchall()
            for _, name, worker, until in found:
                if until > time.time():
                    raise held(plain(name), plain(worker), until - time.time())
            return self._drop([number for number, *_ in found], keep_rows=keep_rows)

        return self._gone(self._write(self._connection, erased))

    def prune(self, before: float, unknown: bool) -> int:
        kept = (
            ""
            if unknown
            else f" and not exists(select 1 from rows where call=calls.number and state in {NOBODY_KNOWS})"
        )

        def pruned() -> int:
            found = self._connection.execute(
                f"select number from calls where touched<? and until<=?{kept}", (before, time.time())
            ).fetchall()
            return self._drop([number for (number,) in found])

        return self._gone(self._write(self._connection, pruned))

    def _drop(self, numbers: Sequence[int], *, keep_rows: bool = False) -> int:
        for number in numbers:
            for table in ("entries", "parts") if keep_rows else ("rows", "entries", "parts"):
                self._connection.execute(f"delete from {table} where call=?", (number,))
            if not keep_rows:
                self._connection.execute("delete from calls where number=?", (number,))
        return len(numbers)

    def _gone(self, count: int) -> int:
        """Their bytes are overwritten in the file (`secure_delete`); now the log goes, in which they stand still."""
        if not count:
            return 0
        for _ in range(20):
            busy = self._connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0]
            if not busy:
                return count
            time.sleep(0.1)  # somebody reads: for a moment
        raise StoreUnavailable(
            f"store {self._path}: {count} calls are erased, but the log {self._log.name} may still show them: another"
            " process reads all the time. Erase again when it is done.",
            may_have_happened=True,
        )


_OURS = (sqlite3.ProgrammingError, sqlite3.IntegrityError, sqlite3.DataError, sqlite3.NotSupportedError)
"""Not the disk's fault."""


class _Batch:
    """Changes that are written in one transaction."""

    def __init__(self, connection: Any, now: float) -> None:
        self._connection = connection
        self._now = now
        self._touched: dict[int, None] = {}
        self._numbers: dict[tuple[str, int, str], int] = {}
        """Calls that are known to be held, by lease."""

    def touch(self) -> None:
        """Something was written of these calls."""
        for number in self._touched:
            self._connection.execute(
                "update calls set touched=? where number=? and touched<?", (self._now, number, self._now - TOUCH)
            )

    def write(self, asked: Asked) -> Any:
        """What came of it, or the error that it is refused by: then nothing was written for it."""
        lease, change = asked.lease, asked.change
        try:
            match change:
                case Nothing():
                    return None
                case Take(seconds):
                    return self._take(lease, seconds)
            number = self._held(lease)
            match change:
                case Entries(stream, position, entries):
                    self._append(number, lease.call, stream, position, entries)
                case WriteRow(row):
                    self.write_row(number, row)
                case Keep():
                    self._keep(number, change)
                case GiveBack():
                    self._connection.execute("update calls set until=0 where number=?", (number,))
                    del self._numbers[lease.call, lease.epoch, lease.worker]
        except StoreError as error:
            return error
        return None

    def find(self, call: str) -> tuple[int, int, str, float] | None:
        """Number, epoch, worker and end of the lease."""
        found: tuple[int, int, str, float] | None = self._connection.execute(
            "select number, epoch, worker, until from calls where id=?", (storable(call),)
        ).fetchone()
        return found

    def _held(self, lease: Lease) -> int:
        which = lease.call, lease.epoch, lease.worker
        if which not in self._numbers:
            found = self.find(lease.call)
            if found is None or found[1:3] != (lease.epoch, storable(lease.worker)):
                raise fenced(lease)
            self._numbers[which] = found[0]
        return self._numbers[which]

    def _take(self, lease: Lease, seconds: float) -> int:
        worker, until = storable(lease.worker), self._now + seconds
        found = self.find(lease.call)
        if found is None:
            self._connection.execute(
                "insert into calls(id, epoch, worker, until, touched) values(?, 1, ?, ?, ?)",
                (storable(lease.call), worker, until, self._now),
            )
            return 1
        number, epoch, holder, held_until = found
        # A clock that was set back must not keep a call from everybody: no lease is longer than it was asked for.
        is_held = self._now < held_until <= self._now + 10 * seconds
        if is_held and holder != worker:
            raise held(lease.call, plain(holder), held_until - self._now)
        epoch += not is_held
        self._connection.execute(
            "update calls set epoch=?, worker=?, until=?, touched=? where number=?",
            (epoch, worker, until, self._now, number),
        )
        return epoch

    def _append(self, number: int, call: str, stream: str, position: int, entries: Sequence[bytes]) -> None:
        name = storable(stream)
        length = self._connection.execute(
            "select coalesce(max(position) + 1, 0) from entries where call=? and stream=?", (number, name)
        ).fetchone()[0]
        again = entries[: max(0, length - position)]
        if again:
            there = self._connection.execute(
                "select data from entries where call=? and stream=? and position>=? order by position limit ?",
                (number, name, position, len(again)),
            ).fetchall()
        if position > length or (again and [bytes(data) for (data,) in there] != list(again)):
            raise misplaced(call, stream, position, length)
        for at, entry in enumerate(entries[len(again) :], position + len(again)):
            self._connection.execute("insert into entries values(?, ?, ?, ?)", (number, name, at, entry))
        self._touched[number] = None

    def row(self, number: int, key: str) -> Row | None:
        """As it is."""
        found = self._connection.execute(
            "select data from rows where call=? and key=?", (number, storable(key))
        ).fetchone()
        return found and Row.from_json(found[0])

    def write_row(self, number: int, row: Row) -> None:
        """Merge it into what is there."""
        new = merged(self.row(number, row.key), row)
        if new is None:
            return
        self._connection.execute(
            "insert into rows(call, key, state, touched, data) values(?, ?, ?, ?, ?) on conflict(call, key)"
            " do update set state=excluded.state, touched=excluded.touched, data=excluded.data",
            (number, storable(new.key), new.state.value, self._now, new.to_json()),
        )
        self._touched[number] = None

    def _keep(self, number: int, change: Keep) -> None:
        if change.meta is not None:
            self._connection.execute(
                "update calls set caller=?, meta=? where number=?",
                (storable(change.meta.caller), meta_to_json(change.meta), number),
            )
        for name, part in change.parts.items():
            if part is None:
                self._connection.execute("delete from parts where call=? and name=?", (number, storable(name)))
            else:
                self._connection.execute(
                    "insert or replace into parts values(?, ?, ?)", (number, storable(name), bytes(part))
                )
        self._touched[number] = None
