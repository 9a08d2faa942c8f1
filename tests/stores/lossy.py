"""A disk that forgets what was not synced, and one that fails: SQLite on a file system of ours, by `apsw`.

Everything is written through to real files, so that the store works as ever, and put down in order. `Disk.after(index)`
then makes what a disk may hold on which the power went just before that operation: all that was synced, and of the rest
any part, to the sector, in any order.
"""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512

_TRANSLATED = {
    apsw.ConstraintError: sqlite3.IntegrityError,
    apsw.MisuseError: sqlite3.ProgrammingError,
    apsw.CorruptError: sqlite3.DatabaseError,
    apsw.NotADBError: sqlite3.DatabaseError,
}


@dataclass(frozen=True, slots=True)
class Operation:
    """What was asked of the disk."""

    kind: str
    """write, truncate, sync, delete; folder: what the folder holds is synced"""
    file: str
    offset: int = 0
    data: bytes = b""


@dataclass
class Disk:
    """All that was asked of it, in order."""

    done: list[Operation] = field(default_factory=list)
    failing: str = ""
    """A kind of operation that fails, from now on."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def took(self, operation: Operation) -> None:
        if operation.kind == self.failing:
            raise apsw.IOError(f"{operation.kind} fails")
        with self._lock:
            self.done.append(operation)

    def syncs(self) -> int:
        return sum(one.kind == "sync" and one.file.endswith("-wal") for one in self.done)

    def after(self, index: int, rng: random.Random) -> dict[str, bytes]:
        """The files as they may be found again. What was never synced may be missing as a whole."""
        synced: dict[str, bytearray] = {}
        loose: dict[str, list[Operation]] = {}
        for one in self.done[:index]:
            if one.kind == "folder":
                for file in [file for file, operations in loose.items() if operations[-1].kind == "delete"]:
                    synced.pop(file, None)
                    del loose[file]
            elif one.kind == "sync":
                content = synced.setdefault(one.file, bytearray())
                for earlier in loose.pop(one.file, []):
                    _apply(content, earlier)
            else:
                loose.setdefault(one.file, []).append(one)
        for file, operations in loose.items():
            kept = list(_kept(operations, rng))
            if kept or file in synced:
                content = synced.setdefault(file, bytearray())
                for one in kept:
                    _apply(content, one)
        return {file: bytes(content) for file, content in synced.items() if not file.endswith("-shm")}


def _kept(operations: Sequence[Operation], rng: random.Random) -> Iterator[Operation]:
    """Of what was not synced: nothing, the first of it, or any sectors in any order."""
    how = rng.choice(("nothing", "first", "any", "all"))
    if how == "nothing":
        return
    if how in ("first", "all"):
        yield from operations[: rng.randrange(len(operations) + 1) if how == "first" else None]
        return
    sectors = [sector for one in operations for sector in _sectors(one)]
    rng.shuffle(sectors)
    share = rng.random()
    yield from (sector for sector in sectors if rng.random() < share)


def _sectors(one: Operation) -> Iterator[Operation]:
    if one.kind != "write":
        yield one
        return
    at = one.offset
    while at < one.offset + len(one.data):
        end = min((at // SECTOR + 1) * SECTOR, one.offset + len(one.data))
        yield Operation("write", one.file, at, one.data[at - one.offset : end - one.offset])
        at = end


def _apply(content: bytearray, one: Operation) -> None:
    if one.kind == "write":
        if len(content) < one.offset:
            content.extend(bytes(one.offset - len(content)))
        content[one.offset : one.offset + len(one.data)] = one.data
    elif one.kind == "truncate":
        del content[one.offset :]
        content.extend(bytes(one.offset - len(content)))
    elif one.kind == "delete":
        content.clear()


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary")
        self._name = path.name
        self._is_new = not path.exists()
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.took(Operation("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._disk.took(Operation("truncate", self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        """The process is never killed here, so that the real disk need not be waited for."""
        self._disk.took(Operation("sync", self._name))
        if self._is_new:  # as SQLite does it on a real disk, for its journals
            self._disk.took(Operation("folder", self._name))
            self._is_new = False


class _System(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.name = f"lossy-{id(disk)}"
        super().__init__(self.name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        return _File(self._disk, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._disk.took(Operation("delete", Path(filename).name))
        if syncdir:
            self._disk.took(Operation("folder", Path(filename).name))
        super().xDelete(filename, syncdir)


class _Found:
    """What a statement gave, as the standard library has it."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def fetchall(self) -> list[Any]:
        return self._rows

    def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


class _Connection:
    """`apsw`'s connection, as the standard library has it, as far as the store uses it."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> _Found:
        try:
            return _Found(list(self._connection.execute(statement, tuple(values))))
        except apsw.Error as error:
            kind = next((ours for theirs, ours in _TRANSLATED.items() if isinstance(error, theirs)), None)
            raise (kind or sqlite3.OperationalError)(str(error)) from error

    def close(self) -> None:
        self._connection.close()


class LossySQLite:
    """What a `SQLiteStore` is given to connect by."""

    def __init__(self) -> None:
        self.disk = Disk()
        self._system = _System(self.disk)

    def connect(self, path: str) -> _Connection:
        return _Connection(apsw.Connection(path, vfs=self._system.name))
