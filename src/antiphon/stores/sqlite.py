"""Calls in one file, by SQLite: the store of one machine, and of commands.

The file is in WAL mode, and each commit is synced to the disk (`synchronous=FULL`), which is read back when it is
opened. Several processes may have it open. Leases alone are written without a sync: a cut of power ends their workers.

    calls    one row a call: its lease, who calls, what is known of it (JSON)
    rows     the ledger: one row a start of a tool (JSON); key, state and time beside it
    entries  the streams: journal and history
    parts    what else a call needs to go on

Above: whoever opens "sqlite:///path" or a path. Below: `QueuedStore`, the file system.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from antiphon import private
from antiphon.errors import StoreError, StoreUnavailable, UsageError
from antiphon.secret import FingerprintKey
from antiphon.store import LEASE, Durability
from antiphon.stores.queued import QueuedStore
from antiphon.stores.sqlite_database import SQLiteDatabase

SCHEMA = 1
"""Of the tables. Grows when a program of the schema before would misunderstand; this one reads the last two."""

APPLICATION = 0x616E7470
"""Marks the file as ours, in its head: "antp"."""

BUSY = 1.0
"""Seconds that a process waits for another one that writes."""

_TRIES = 20

_TABLES = """
create table if not exists calls(
    number integer primary key, id text not null unique, epoch integer not null, worker text not null,
    until real not null, touched real not null, caller text not null default '', meta text not null default '{}');
create index if not exists calls_by_caller on calls(caller);
create index if not exists calls_by_time on calls(touched);
create table if not exists rows(
    number integer primary key, call integer not null, key text not null, state text not null,
    touched real not null, data text not null, unique(call, key));
create index if not exists open_rows on rows(touched) where state in ('intended', 'started', 'unknown');
create table if not exists entries(
    call integer not null, stream text not null, position integer not null, data blob not null,
    primary key(call, stream, position)) without rowid;
create table if not exists parts(
    call integer not null, name text not null, data blob not null, primary key(call, name)) without rowid;
create table if not exists probes(number integer primary key, at real not null);
"""


class SQLiteStore(QueuedStore):
    """Keeps calls in the file `path`, for nobody but its owner. Its folder is made if need be.

    `durability`: DISK, or PROCESS, which is quicker and loses the last moment when the power goes. `create=False`: a
    file that is not there is an error. `connect` opens a connection, as `sqlite3.connect` does: for tests.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = Durability.DISK,
        create: bool = True,
        lease: float = LEASE,
        connect: Callable[[str], Any] | None = None,
    ) -> None:
        if durability not in (Durability.DISK, Durability.PROCESS):
            raise UsageError(
                f"SQLiteStore: durability is DISK or PROCESS, got {durability.value}. More has PostgreSQL."
            )
        self.path = Path(path).absolute()
        super().__init__(str(self.path), lease=lease)
        self.durability = durability
        self._create = create
        self._open = connect or _connect
        self._inode = 0
        self.secret = FingerprintKey(path=Path(f"{self.path}.key"), outlives_process=True)

    @classmethod
    def of(cls, address: str) -> SQLiteStore:
        """The store of an address: "sqlite:///relative", "sqlite:////absolute"; "?durability=process", "?create=no"."""
        place, _, query = address.removeprefix("sqlite:").partition("?")
        path = place.removeprefix("//").removeprefix("/")
        options = dict(parse_qsl(query, keep_blank_values=True))
        durability, create = options.pop("durability", "disk"), options.pop("create", "yes")
        if not path or options or durability not in ("disk", "process") or create not in ("yes", "no"):
            raise UsageError(
                f"store: expected sqlite:///path, with durability=disk or process and create=yes or no behind a"
                f" question mark if need be, got {address!r}."
            )
        return cls(path, durability=Durability(durability), create=create == "yes")

    def _prove(self) -> None:
        try:
            if not self._create and not self.path.is_file():
                raise StoreError(f"store {self.path}: there is no such file. Name the one that the calls were kept in.")
            private.claim(self.path)
            self._inode = os.stat(self.path).st_ino
        except OSError as error:
            raise StoreError(
                f"store {self.path}: it cannot be made: {error.strerror}. Choose another place with --store."
            ) from error
        with self._told_apart():
            for tries in range(_TRIES):
                try:
                    return self._open_once()
                except sqlite3.OperationalError:  # another process makes it at this moment
                    if tries == _TRIES - 1:
                        raise
                    time.sleep(0.05)

    def _open_once(self) -> None:
        connection = self._open(str(self.path))
        try:
            self._check(connection)
        finally:
            connection.close()

    def _check(self, connection: Any) -> None:
        """It is ours, of a schema that we know, and syncs."""
        set_up(connection, self.durability, self.path)
        connection.execute("begin immediate")
        try:
            mark = _one(connection, "pragma application_id")
            schema = _one(connection, "pragma user_version")
            tables = _one(connection, "select count(*) from sqlite_schema")
            if mark != APPLICATION and (mark or tables):
                raise StoreError(
                    f"store {self.path}: it is a database of another program. Choose another file with --store."
                )
            if schema > SCHEMA:
                raise StoreError(
                    f"store {self.path}: expected schema {SCHEMA} or older, got {schema}: a newer Antiphon made it."
                    " Install that one, or choose another file with --store."
                )
            if not schema:
                for statement in _TABLES.split(";"):
                    connection.execute(statement)
                connection.execute(f"pragma application_id={APPLICATION}")
                connection.execute(f"pragma user_version={SCHEMA}")
            connection.execute("commit")
        except BaseException:
            with contextlib.suppress(Exception):
                connection.execute("rollback")
            raise

    def _connect(self) -> SQLiteDatabase:
        with self._told_apart():
            connection = self._open(str(self.path))
            set_up(connection, self.durability, self.path)
            quick = self._open(str(self.path))
            set_up(quick, Durability.PROCESS, self.path)
        return SQLiteDatabase(self.path, connection, quick, inode=self._inode)

    @contextlib.contextmanager
    def _told_apart(self) -> Iterator[None]:
        """What cannot be, and what may be later."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StoreUnavailable(f"store {self.path}: it cannot be opened: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"store {self.path}: it cannot be read: {error}. Move the file away to begin anew; `sqlite3 FILE"
                " .recover` may save what is in it."
            ) from error


def set_up(connection: Any, durability: Durability, path: Path) -> None:
    """Set what a connection must have, and read it back. Raises `StoreError` where it did not take."""
    connection.execute(f"pragma busy_timeout={round(1000 * BUSY)}")
    wanted: dict[str, object] = {
        "journal_mode": "wal",
        "synchronous": 2 if durability is Durability.DISK else 1,
        "fullfsync": 1,  # where the system's own sync does not reach the disk
        "checkpoint_fullfsync": 1,
        "secure_delete": 1,
        "wal_autocheckpoint": 0,  # when nobody waits: `SQLiteDatabase.tidy`
    }
    for name, value in wanted.items():
        connection.execute(f"pragma {name}={value}")
        found = _one(connection, f"pragma {name}")
        if found != value:
            raise StoreError(
                f"store {path}: expected {name} {value}, got {found}: what is written here could be lost. Choose a"
                " place on a disk of this machine with --store."
            )


def _connect(path: str) -> sqlite3.Connection:
    """Statements begin and end no transaction by themselves. Another thread than the one that opened it may use it."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=64)


def _one(connection: Any, statement: str) -> Any:
    return next(iter(connection.execute(statement)))[0]
