"""Calls in a database of PostgreSQL: the store of many machines, and of tools that write to the same database.

Nothing is taken on trust: that the server syncs its disk is read back when it is opened, and `synchronous_commit` is
set in each transaction, so that a pooler may stand between. Leases go by the server's clock.

Above: whoever opens "postgresql://user@host/database". Below: `QueuedStore`; `psycopg`, which an extra brings.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from antiphon.errors import StoreError, StoreUnavailable, UsageError, missing_package
from antiphon.secrets import without_secrets
from antiphon.store import LEASE, Durability, Lease, Row, merged
from antiphon.stores.postgres_database import UPSERT_ROW, PostgresDatabase, failing, query
from antiphon.stores.queued import QueuedStore
from antiphon.stores.refusals import fenced
from antiphon.stores.storable import storable

if TYPE_CHECKING:
    import psycopg

SCHEMA = 1
"""Of the tables. Grows when a program of the schema before would misunderstand; this one reads the last two."""

CONNECT_LIMIT = 5
"""Seconds until a server that does not answer is given up."""

_STATEMENT_LIMIT = 5_000
"""Milliseconds of one statement, and for which a network that takes nothing is put up with."""

_IDLE_LIMIT = 30_000
"""Milliseconds for which a tool may hold a transaction without asking anything."""

_KEY = 0x616E7470
"""Of the lock that whoever makes the tables holds."""

_TABLES = """
create schema if not exists {schema};
create table if not exists {schema}.settings(name text primary key, value bigint not null);
create table if not exists {schema}.calls(
    number bigint generated always as identity primary key, id text not null unique, epoch bigint not null,
    worker text not null, touched timestamptz not null, caller text not null default '',
    meta text not null default '{{}}');
create index if not exists calls_by_caller on {schema}.calls(caller);
create index if not exists calls_by_time on {schema}.calls(touched);
create table if not exists {schema}.leases(
    call bigint primary key references {schema}.calls on delete cascade, epoch bigint not null, worker text not null,
    until timestamptz not null);
create table if not exists {schema}.rows(
    number bigint generated always as identity primary key,
    call bigint not null references {schema}.calls on delete cascade,
    key text not null, state text not null, touched timestamptz not null, data text not null, unique(call, key));
create index if not exists open_rows on {schema}.rows(touched) where state in ('intended', 'started', 'unknown');
create table if not exists {schema}.entries(
    call bigint not null references {schema}.calls on delete cascade, stream text not null, position bigint not null,
    data bytea not null, primary key(call, stream, position));
create table if not exists {schema}.parts(
    call bigint not null references {schema}.calls on delete cascade, name text not null, data bytea not null,
    primary key(call, name))
"""


class PostgresStore(QueuedStore):
    """Keeps calls in the schema `schema` of the database at `url`, which is made if need be.

    `durability`: the least that its acknowledgements must mean; what they do mean is the attribute, once it is open.
    """

    def __init__(
        self, url: str, *, durability: Durability = Durability.DISK, schema: str = "antiphon", lease: float = LEASE
    ) -> None:
        if not re.fullmatch("[a-z_][a-z0-9_]{0,62}", schema):
            raise UsageError(f"PostgresStore: schema: expected lower-case letters, digits and _, got {schema!r}.")
        super().__init__(_shown(url), lease=lease)
        self.durability = self._least = durability
        self._url = url
        self._schema = schema

    @classmethod
    def of(cls, address: str) -> PostgresStore:
        """The store of an address, as libpq has it, and besides: "?durability=replicated", "?schema=calls"."""
        parts = urlsplit(address)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        durability, schema = options.pop("durability", "disk"), options.pop("schema", "antiphon")
        known = {one.value: one for one in (Durability.PROCESS, Durability.DISK, Durability.REPLICATED)}
        if durability not in known:
            raise UsageError(f"store: durability: expected one of {', '.join(known)}, got {durability!r}.")
        url = urlunsplit(parts._replace(query=urlencode(options, quote_via=quote)))
        return cls(url, durability=known[durability], schema=schema)

    def _prove(self) -> None:
        connection = self._opened()
        try:
            with self._told_apart():
                self._check_server(connection)
                self._make_tables(connection)
        finally:
            connection.close()

    def _check_server(self, connection: psycopg.Connection[Any]) -> None:
        """It is one that can keep what it acknowledges."""

        def show(name: str) -> str:
            found: Any = connection.execute(query(f"show {name}")).fetchone()
            return str(found[0])

        if show("transaction_read_only") == "on":
            raise StoreError(f"store {self}: the server takes nothing: it is a standby or read-only. Name the primary.")
        if show("server_encoding") != "UTF8":
            raise StoreError(
                f"store {self}: expected a database in UTF8, got {show('server_encoding')}. Create one with it."
            )
        found = Durability.DISK
        for name in ("fsync", "full_page_writes"):
            if show(name) != "on":
                found = Durability.PROCESS
                why = f"{name} is {show(name)}"
        if found is Durability.DISK:
            why = "synchronous_standby_names is empty"
            if show("synchronous_standby_names"):
                found = Durability.REPLICATED
        if not found.reaches(self._least):
            raise StoreError(
                f"store {self}: expected a server whose acknowledgement means {self._least.value}, got {found.value}:"
                f" {why}. Change its settings, or say that this is enough: ?durability={found.value}"
            )
        self.durability = found

    def _make_tables(self, connection: psycopg.Connection[Any]) -> None:
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (_KEY,))
            for statement in _TABLES.format(schema=self._schema).split(";"):
                connection.execute(query(statement))
            settings = f"{self._schema}.settings"
            connection.execute(query(f"insert into {settings} values('schema', {SCHEMA}) on conflict do nothing"))
            found: Any = connection.execute(query(f"select value from {settings} where name='schema'")).fetchone()
        if found[0] > SCHEMA:
            raise StoreError(
                f"store {self}: expected schema {SCHEMA} or older, got {found[0]}: a newer Antiphon made it. Install"
                " that one, or name another schema: ?schema=NAME"
            )

    def _connect(self) -> PostgresDatabase:
        return PostgresDatabase(str(self), self._schema, self._opened())

    def _opened(self) -> psycopg.Connection[Any]:
        _library()
        import psycopg

        with self._told_apart():
            return psycopg.connect(self._url, autocommit=True, **_settings(self._url))

    @contextlib.contextmanager
    def _told_apart(self) -> Iterator[None]:
        """What cannot be, and what may be later."""
        psycopg = _library()
        try:
            yield
        except psycopg.Error as error:
            raise failing(str(self), error) from error

    def transaction(self, lease: Lease, row: Row) -> AbstractAsyncContextManager[psycopg.AsyncConnection[Any]]:
        return self._transaction(lease, row)

    @contextlib.asynccontextmanager
    async def _transaction(self, lease: Lease, row: Row) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        if lease.is_over:
            raise fenced(lease)
        psycopg = _library()
        with self._told_apart():
            connection = await psycopg.AsyncConnection.connect(self._url, **_settings(self._url))
        try:
            with self._told_apart():
                await connection.execute("set local synchronous_commit=on")
            yield connection
            with self._told_apart():
                await self._settle_by(connection, lease, row)
            try:
                await connection.commit()
            except psycopg.OperationalError as error:
                await self._find_out(lease, row, error)
        except BaseException:
            with contextlib.suppress(psycopg.Error):
                await connection.rollback()
            raise
        finally:
            await connection.close()

    async def _settle_by(self, connection: psycopg.AsyncConnection[Any], lease: Lease, row: Row) -> None:
        """Whoever takes the call over waits for this transaction, and then finds the row settled."""
        schema = self._schema
        found = await (
            await connection.execute(
                query(f"select number, epoch, worker from {schema}.calls where id=%s for no key update"),
                (storable(lease.call),),
            )
        ).fetchone()
        if found is None or tuple(found[1:]) != (lease.epoch, storable(lease.worker)):
            lease.lost()
            raise fenced(lease)
        stored = await (
            await connection.execute(
                query(f"select data from {schema}.rows where call=%s and key=%s"), (found[0], storable(row.key))
            )
        ).fetchone()
        new = merged(stored and Row.from_json(stored[0]), row)
        if new is not None:
            await connection.execute(
                query(UPSERT_ROW.format(s=schema)),
                (found[0], storable(new.key), new.state.value, new.to_json()),
            )

    async def _find_out(self, lease: Lease, row: Row, error: Exception) -> None:
        """The connection broke while it committed: the row tells whether it did. What is still at it is waited for."""

        def settled(database: Any) -> bool:
            found = database.row_at_rest(lease.call, row.key)
            return found is not None and found.state is row.state and found.settled_at == row.settled_at

        try:
            is_settled = await self._read(settled)
        except StoreUnavailable:
            is_settled = None
        if not is_settled:
            raise StoreUnavailable(
                f"store {self}: the connection broke while a transaction was committed: {without_secrets(str(error))}"
                f" {'It was not.' if is_settled is False else 'Nobody knows whether it was.'} Look into the row, then"
                " ask again.",
                may_have_happened=is_settled is None,
            ) from error


def _library() -> Any:
    try:
        import psycopg
    except ImportError:
        raise missing_package("A store in PostgreSQL", "psycopg", "postgres") from None
    return psycopg


def _settings(url: str) -> dict[str, Any]:
    """What no connection may do without: an end to waiting. An address that says it otherwise has its way."""
    said = dict(parse_qsl(urlsplit(url).query))
    limits = {
        "statement_timeout": _STATEMENT_LIMIT,
        "lock_timeout": 2_000,
        "idle_in_transaction_session_timeout": 30_000,
    }
    settings = {
        "connect_timeout": CONNECT_LIMIT,
        "application_name": "antiphon",
        "client_encoding": "utf8",
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": _STATEMENT_LIMIT,
        "options": " ".join(f"-c {name}={value}" for name, value in limits.items()),
    }
    return {name: value for name, value in settings.items() if name not in said}


def _shown(url: str) -> str:
    """The address without what is secret."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"postgresql://{host}{parts.path}"
