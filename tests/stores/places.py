"""Places where the stores of the tests keep calls."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

from antiphon.store import Store
from antiphon.stores.memory import MemoryStore
from antiphon.stores.postgres import PostgresStore
from antiphon.stores.sqlite import SQLiteStore
from antiphon.testing import StoreUnderTest


class InMemory(StoreUnderTest):
    """Processes cannot share it: every handle is the same."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    async def open(self) -> Store:
        return await self.store.__aenter__()

    async def expire(self, call: str) -> None:
        self.store.lose(call)


class InSQLite(StoreUnderTest):
    """A file."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "calls" / "calls.db"

    async def open(self) -> Store:
        return await SQLiteStore(self.path).__aenter__()

    async def expire(self, call: str) -> None:
        expire_in_sqlite(str(self.path), call)

    async def aclose(self) -> None:
        self._folder.cleanup()


class InPostgres(StoreUnderTest):
    """A schema of a database."""

    def __init__(self, address: str) -> None:
        self.address = address

    async def open(self) -> Store:
        return await PostgresStore.of(self.address).__aenter__()

    async def expire(self, call: str) -> None:
        expire_in_postgres(self.address, call)


def expire_in_sqlite(path: str, call: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("update calls set until=0 where id=?", (call,))
    connection.close()


def expire_in_postgres(address: str, call: str) -> None:
    import psycopg

    uri, _, schema = address.rpartition("schema=")
    with psycopg.connect(uri.rstrip("?&"), autocommit=True) as connection:
        connection.execute(
            f"update {schema}.leases set until=now() - interval '1s'"
            f" where call=(select number from {schema}.calls where id=%s)".encode(),
            (call,),
        )
