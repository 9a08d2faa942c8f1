"""One connection to the database of a `PostgresStore`, and all that is asked of its tables.

Theory of operation. A batch takes two round trips: what there is of all that it touches is read, and its calls are
locked, so that nobody takes one over meanwhile; then it is judged here, by the rules that all stores share; then it is
written and committed. Only who begins or takes over a call, and who asks again for entries, has more to ask.

Above: `postgres.py`, which opens and proves it. Below: SQL.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from antiphon.errors import StoreError, StoreUnavailable
from antiphon.secrets import without_secrets
from antiphon.store import CallMeta, Lease, Row, RowState, merged
from antiphon.stores.changes import Asked, Entries, GiveBack, Keep, Nothing, Take, WriteRow
from antiphon.stores.refusals import fenced, held, misplaced, no_such_row
from antiphon.stores.storable import meta_to_json, plain, storable
from antiphon.stores.tables import NOBODY_KNOWS, TOUCH, Ask, Tables, all_of, chosen

if TYPE_CHECKING:
    import psycopg

_T = TypeVar("_T")

_LATER = ("08", "25006", "40", "53", "55", "57", "58", "XX")
"""Beginnings of the SQLSTATEs that say: not now. Others say: not this."""

_TRIES = 3
"""How often a transaction is begun that stood in another one's way."""


def query(text: str) -> bytes:
    """A statement of ours, into which nothing but names of ours was put."""
    return text.encode()


def failing(store: str, error: psycopg.Error, *, committing: bool = False) -> StoreError:
    """What the server said, told apart: what may be later, and what cannot be."""
    said = without_secrets(str(error)).strip()
    if not error.sqlstate or error.sqlstate.startswith(_LATER):
        return StoreUnavailable(
            f"store {store}: it cannot be used now: {said}. Look whether the server runs, is reached, and has room.",
            may_have_happened=committing,
        )
    return StoreError(f"store {store}: the server refuses: {said}. Look at its rights and settings.")


class PostgresDatabase(Tables):
    """Owns the connection, which is in autocommit mode."""

    def __init__(self, name: str, schema: str, connection: psycopg.Connection[Any]) -> None:
        self._name = name
        self._schema = schema
        self._connection = connection
        self._committing = False
        """What was asked of the server may be done, even if it does not answer."""

    # -- what the writer asks

    def commit(self, asked: Sequence[Asked]) -> list[Any]:
        return self._write(lambda: self._judged(asked))

    def _judged(self, asked: Sequence[Asked]) -> list[Any]:
        batch = _Batch(self._connection, self._schema)
        batch.read(asked)
        results = [batch.take_in(one) for one in asked]
        self._committing = True
        batch.write(commit=True)
        return results

    def renew(self, leases: Collection[Lease], seconds: float) -> list[Lease]:
        if not leases:
            return []
        found = self._do(
            "update {s}.leases l set until=clock_timestamp() + make_interval(secs => %s)"
            " from unnest(%s::text[], %s::bigint[], %s::text[]) as m(id, epoch, worker), {s}.calls c"
            " where c.id=m.id and l.call=c.number and l.epoch=m.epoch and l.worker=m.worker returning c.id, l.epoch",
            (
                seconds,
                [storable(lease.call) for lease in leases],
                [lease.epoch for lease in leases],
                [storable(lease.worker) for lease in leases],
            ),
        )
        still = {(plain(call), epoch) for call, epoch in found}
        return [lease for lease in leases if (lease.call, lease.epoch) not in still]

    def probe(self) -> None:
        self._do(
            "insert into {s}.settings values('probe', 1) on conflict(name) do update set value=settings.value + 1"
            " returning value"
        )

    @property
    def is_gone(self) -> bool:
        return self._connection.closed

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._connection.close()

    def _do(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """One statement, committed."""
        import psycopg

        try:
            return self._connection.execute(query(statement.format(s=self._schema)), values).fetchall()
        except psycopg.Error as error:
            raise failing(self._name, error) from error

    def _write(self, work: Callable[[], _T]) -> _T:
        """Do it in one transaction, which `work` begins, and may commit itself."""
        import psycopg
        from psycopg.pq import TransactionStatus

        for tries in range(_TRIES):
            self._committing = False
            try:
                result = work()
                if self._connection.info.transaction_status is not TransactionStatus.IDLE:
                    self._committing = True
                    self._connection.execute("commit")
                return result
            except BaseException as error:
                with contextlib.suppress(psycopg.Error):
                    self._connection.execute("rollback")
                if not isinstance(error, psycopg.Error):
                    raise
                if (error.sqlstate or "").startswith("40") and tries < _TRIES - 1:
                    continue
                told = failing(self._name, error, committing=self._committing and not error.sqlstate)
                if isinstance(told, StoreUnavailable):
                    raise told from error
                raise  # one of many cannot be written
        raise AssertionError("unreachable")

    calls_table = "{s}calls c left join {s}leases l on l.call=c.number"
    touched = "extract(epoch from c.touched)::float8"
    since = "r.touched >= to_timestamp(?)"
    held = "coalesce(l.until > clock_timestamp(), false)"

    @contextlib.contextmanager
    def reading(self) -> Iterator[Ask]:
        import psycopg

        def ask(statement: str, *values: Any) -> list[Any]:
            return self._connection.execute(query(self._own(statement)), values).fetchall()

        try:
            self._connection.execute("begin isolation level repeatable read, read only")
            try:
                yield ask
            finally:
                with contextlib.suppress(psycopg.Error):
                    self._connection.execute("rollback")
        except psycopg.Error as error:
            raise failing(self._name, error) from error

    def _own(self, statement: str) -> str:
        """As this database has it."""
        return statement.replace("{s}", f"{self._schema}.").replace("?", "%s")

    # -- what anybody asks

    def row_at_rest(self, call: str, key: str) -> Row | None:
        """A row, once nobody is at work on its call."""

        def found() -> Row | None:
            batch = _Batch(self._connection, self._schema)
            batch.read([Asked(Lease(call, "", 0), WriteRow(Row(key, "")))])
            return batch.row(call, key)

        return self._write(found)

    def resolve(self, call: str, key: str, state: RowState, output: str, at: float, attempt: int | None) -> Row:
        def resolved() -> Row:
            batch = _Batch(self._connection, self._schema)
            batch.read([Asked(Lease(call, "", 0), WriteRow(Row(key, "")))])
            row = batch.row(call, key)
            if row is None:
                raise no_such_row(call, key)
            batch.write_row(call, row.resolved(state, output, at=at, attempt=attempt))
            batch.write()
            return batch.row(call, key) or row

        return self._write(resolved)

    def erase(self, call: str | None, caller: str | None, keep_rows: bool) -> int:
        where, values = chosen(call=call, caller=caller)

        def erased() -> int:
            self._connection.execute("begin")
            found = self._connection.execute(
                query(
                    self._own(
                        "select c.number, c.id, l.worker, extract(epoch from l.until - clock_timestamp())::float8"
                        f" from {{s}}calls c join {{s}}leases l on l.call=c.number{all_of(where)}"
                        " order by c.id for update"
                    )
                ),
                values,
            ).fetchall()
            for _, name, worker, seconds in found:
                if seconds > 0:
                    raise held(plain(name), plain(worker), seconds)
            return self._drop([number for number, *_ in found], keep_rows=keep_rows)

        return self._write(erased)

    def prune(self, before: float, unknown: bool) -> int:
        kept = (
            ""
            if unknown
            else f" and not exists(select 1 from {self._schema}.rows r where r.call=c.number"
            f" and r.state in {NOBODY_KNOWS})"
        )

        def pruned() -> int:
            self._connection.execute("begin")
            found = self._connection.execute(
                query(
                    f"select c.number from {self._schema}.calls c join {self._schema}.leases l on l.call=c.number where"
                    f" c.touched < to_timestamp(%s) and l.until <= clock_timestamp(){kept} order by c.id for update"
                ),
                (before,),
            ).fetchall()
            return self._drop([number for (number,) in found])

        return self._write(pruned)

    def _drop(self, numbers: Sequence[int], *, keep_rows: bool = False) -> int:
        """All else goes with the calls."""
        if keep_rows:
            for table in ("entries", "parts"):
                statement = query(f"delete from {self._schema}.{table} where call = any(%s)")
                self._connection.execute(statement, (list(numbers),))
            return len(numbers)
        self._connection.execute(query(f"delete from {self._schema}.calls where number = any(%s)"), (list(numbers),))
        return len(numbers)


class _Batch:
    """Changes that are written in one transaction: what there was, what comes of it, and what is to be written."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str) -> None:
        self._connection = connection
        self._schema = schema
        self._calls: dict[str, tuple[int, int, str]] = {}
        """By id: number, epoch, worker."""
        self._rows: dict[tuple[str, str], Row] = {}
        self._lengths: dict[tuple[str, str], int] = {}
        self._touched: dict[int, None] = {}
        self._new_rows: dict[tuple[int, str], Row] = {}
        self._new_entries: list[tuple[int, str, int, bytes]] = []
        self._new_parts: dict[tuple[int, str], bytes | None] = {}
        self._new_metas: dict[int, CallMeta] = {}
        self._given_back: list[tuple[int, int]] = []

    def _sql(self, text: str) -> bytes:
        return query(text.format(s=self._schema))

    def read(self, asked: Sequence[Asked]) -> None:
        """Begin, lock the calls, and see what there is of all that may change: one round trip."""
        ids = sorted({storable(one.lease.call) for one in asked if not isinstance(one.change, Nothing)})
        keys = [(one.lease.call, one.change.row.key) for one in asked if isinstance(one.change, WriteRow)]
        streams = [(one.lease.call, one.change.stream) for one in asked if isinstance(one.change, Entries)]
        with self._connection.pipeline() as pipeline:
            ask = self._connection.execute
            ask("begin")
            ask("set local synchronous_commit=on")
            calls = ask(
                self._sql(
                    "select id, number, epoch, worker from {s}.calls where id = any(%s) order by id for no key update"
                ),
                (ids,),
            )
            rows = ask(
                self._sql(
                    "select r.data, w.call, w.key from unnest(%s::text[], %s::text[]) as w(call, key)"
                    " join {s}.calls c on c.id=w.call join {s}.rows r on r.call=c.number and r.key=w.key"
                ),
                _columns(keys),
            )
            lengths = ask(
                self._sql(
                    "select w.call, w.stream, (select max(position) + 1 from {s}.entries e where e.call=c.number"
                    " and e.stream=w.stream) from unnest(%s::text[], %s::text[]) as w(call, stream)"
                    " join {s}.calls c on c.id=w.call"
                ),
                _columns(streams),
            )
            pipeline.sync()
            self._calls = {plain(call): (number, epoch, plain(worker)) for call, number, epoch, worker in calls}
            self._rows = {(plain(call), plain(key)): Row.from_json(data) for data, call, key in rows}
            self._lengths = {(plain(call), plain(stream)): length or 0 for call, stream, length in lengths}

    def take_in(self, asked: Asked) -> Any:
        """What comes of it, or the error that it is refused by: then nothing is written for it."""
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
                    self.write_row(lease.call, row)
                case Keep(meta, parts):
                    if meta is not None:
                        self._new_metas[number] = meta
                    self._new_parts.update(((number, name), part) for name, part in parts.items())
                    self._touched[number] = None
                case GiveBack():
                    self._given_back.append((number, lease.epoch))
                    del self._calls[lease.call]
        except StoreError as error:
            return error
        return None

    def _held(self, lease: Lease) -> int:
        number, epoch, worker = self._calls.get(lease.call, (0, 0, ""))
        if (epoch, worker) != (lease.epoch, lease.worker):
            raise fenced(lease)
        return number

    def _take(self, lease: Lease, seconds: float) -> int:
        """Whoever renews it at this moment keeps it: the lease itself says whether it has run out."""
        ask, worker = self._connection.execute, storable(lease.worker)
        if lease.call not in self._calls:
            self._calls.update(self._begun(lease, seconds))
        number, epoch, holder = self._calls[lease.call]
        taken = ask(
            self._sql(
                "update {s}.leases l set epoch = l.epoch + (case when until > clock_timestamp() then 0 else 1 end),"
                " worker=%s, until=clock_timestamp() + make_interval(secs => %s)"
                " where call=%s and (until <= clock_timestamp() or worker=%s) returning l.epoch"
            ),
            (worker, seconds, number, worker),
        ).fetchone()
        if taken is None:
            left = ask(
                self._sql("select extract(epoch from until - clock_timestamp())::float8 from {s}.leases where call=%s"),
                (number,),
            ).fetchone()
            raise held(lease.call, holder, left[0] if left else 0.0)
        epoch = int(taken[0])
        ask(self._sql("update {s}.calls set epoch=%s, worker=%s where number=%s"), (epoch, worker, number))
        self._calls[lease.call] = number, epoch, lease.worker
        self._touched[number] = None
        return epoch

    def _begun(self, lease: Lease, seconds: float) -> dict[str, tuple[int, int, str]]:
        """The call is there by now, begun by this worker or by another one that was quicker."""
        ask, call, worker = self._connection.execute, storable(lease.call), storable(lease.worker)
        ask(
            self._sql(
                "with new as (insert into {s}.calls(id, epoch, worker, touched) values(%s, 1, %s, clock_timestamp())"
                " on conflict do nothing returning number)"
                " insert into {s}.leases select number, 1, %s, clock_timestamp() + make_interval(secs => %s) from new"
            ),
            (call, worker, worker, seconds),
        )
        found = ask(
            self._sql("select number, epoch, worker from {s}.calls where id=%s for no key update"), (call,)
        ).fetchone()
        assert found is not None
        return {lease.call: (found[0], found[1], plain(found[2]))}

    def _append(self, number: int, call: str, stream: str, position: int, entries: Sequence[bytes]) -> None:
        length = self._lengths.get((call, stream), 0)
        again = list(entries[: max(0, length - position)])
        if position > length or (again and self._there(number, stream, position, len(again)) != again):
            raise misplaced(call, stream, position, length)
        new = entries[len(again) :]
        self._new_entries += [(number, stream, at, entry) for at, entry in enumerate(new, position + len(again))]
        self._lengths[call, stream] = length + len(new)
        self._touched[number] = None

    def _there(self, number: int, stream: str, first: int, count: int) -> list[bytes]:
        """Entries of which some may be in this batch."""
        found = self._connection.execute(
            self._sql(
                "select data from {s}.entries where call=%s and stream=%s and position>=%s order by position limit %s"
            ),
            (number, storable(stream), first, count),
        ).fetchall()
        there = [bytes(data) for (data,) in found]
        there += [
            entry
            for call, name, at, entry in self._new_entries
            if (call, name) == (number, stream) and first + len(found) <= at < first + count
        ]
        return there

    def row(self, call: str, key: str) -> Row | None:
        """As it is, or will be."""
        return self._rows.get((call, key))

    def write_row(self, call: str, row: Row) -> None:
        """Merge it into what is there."""
        number = self._calls[call][0]
        new = merged(self.row(call, row.key), row)
        if new is not None:
            self._rows[call, row.key] = self._new_rows[number, row.key] = new
            self._touched[number] = None

    def write(self, *, commit: bool = False) -> None:
        """What came of it all, and nothing else: with the commit, one round trip."""
        with self._connection.pipeline():
            cursor = self._connection.cursor()
            if self._new_rows:
                rows = [
                    (call, storable(key), row.state.value, row.to_json()) for (call, key), row in self._new_rows.items()
                ]
                cursor.executemany(self._sql(UPSERT_ROW), rows)
            if self._new_entries:
                entries = [(call, storable(stream), at, entry) for call, stream, at, entry in self._new_entries]
                cursor.executemany(self._sql("insert into {s}.entries values(%s, %s, %s, %s)"), entries)
            for (call, name), part in self._new_parts.items():
                if part is None:
                    cursor.execute(self._sql("delete from {s}.parts where call=%s and name=%s"), (call, storable(name)))
                else:
                    cursor.execute(
                        self._sql(
                            "insert into {s}.parts values(%s, %s, %s)"
                            " on conflict(call, name) do update set data=excluded.data"
                        ),
                        (call, storable(name), bytes(part)),
                    )
            for call, meta in self._new_metas.items():
                cursor.execute(
                    self._sql("update {s}.calls set caller=%s, meta=%s where number=%s"),
                    (storable(meta.caller), meta_to_json(meta), call),
                )
            for call, epoch in self._given_back:
                cursor.execute(
                    self._sql("update {s}.leases set until=to_timestamp(0) where call=%s and epoch=%s"), (call, epoch)
                )
            if self._touched:
                cursor.execute(
                    self._sql(
                        "update {s}.calls set touched=clock_timestamp()"
                        " where number = any(%s) and touched < clock_timestamp() - make_interval(secs => %s)"
                    ),
                    (list(self._touched), TOUCH),
                )
            if commit:
                cursor.execute("commit")


UPSERT_ROW = (
    "insert into {s}.rows(call, key, state, touched, data) values(%s, %s, %s, clock_timestamp(), %s)"
    " on conflict(call, key) do update set state=excluded.state, touched=excluded.touched, data=excluded.data"
)


def _columns(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [storable(one) for one, _ in pairs], [storable(other) for _, other in pairs]
