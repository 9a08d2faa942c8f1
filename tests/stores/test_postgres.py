"""The store of many machines: a real server, workers that take calls over, tools that settle with their own rows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from antiphon.errors import LeaseHeld, LeaseLost, StoreConflict, StoreError, StoreUnavailable, UsageError
from antiphon.store import Durability, Lease, Row, RowState, acknowledged
from antiphon.stores.memory import MemoryStore
from antiphon.stores.postgres import PostgresStore
from tests.stores.places import InPostgres

ROW = Row("key", "desk/book", arguments='{"people": 4}')
STARTED = ROW.started(1.0)
SUCCEEDED = STARTED.settled(RowState.SUCCEEDED, "", at=2.0)


def kept(address: str, work: Callable[[PostgresStore, Lease], Awaitable[None]]) -> None:
    """`work` holds the call "call", in which a tool was started."""

    async def main() -> None:
        async with PostgresStore.of(address) as store:
            lease = await store.lease("call", "worker")
            await acknowledged(store.start(lease, STARTED), 10.0)
            await work(store, lease)

    asyncio.run(main())


def asked(address: str, statement: str) -> list[Any]:
    """By a connection of nobody's."""
    import psycopg

    uri = address.rpartition("schema=")[0].rstrip("?&")
    with psycopg.connect(uri, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def server_sets(address: str, setting: str, value: str) -> None:
    asked(address, f"alter system set {setting}={value}")
    asked(address, "select pg_reload_conf()")
    while asked(address, f"show {setting}") != [(value,)]:
        pass


async def state(store: PostgresStore) -> Row:
    stored = await store.load("call")
    assert stored is not None
    return stored.rows[0]


# -- what it is opened on


def test_it_is_the_disk_that_acknowledges(postgres: str) -> None:
    async def work(store: PostgresStore, lease: Lease) -> None:
        assert store.durability is Durability.DISK

    kept(postgres, work)


def test_a_server_that_does_not_sync_is_refused(postgres: str) -> None:
    server_sets(postgres, "fsync", "off")
    try:
        with pytest.raises(StoreError, match=r"means disk, got process: fsync is off\. Change its settings"):
            asyncio.run(PostgresStore.of(postgres).__aenter__())
        store = asyncio.run(PostgresStore.of(f"{postgres}&durability=process").__aenter__())
        assert store.durability is Durability.PROCESS
    finally:
        server_sets(postgres, "fsync", "on")


def test_a_server_without_a_standby_is_not_replicated(postgres: str) -> None:
    with pytest.raises(StoreError, match="means replicated, got disk: synchronous_standby_names is empty"):
        asyncio.run(PostgresStore.of(f"{postgres}&durability=replicated").__aenter__())


def test_a_server_that_is_not_there_is_told_without_its_password() -> None:
    store = PostgresStore.of("postgresql://ann:hunter2@127.0.0.1:9/calls")

    with pytest.raises(StoreUnavailable) as caught:
        asyncio.run(store.__aenter__())
    assert "hunter2" not in f"{store} {caught.value}"
    assert str(store) == "postgresql://127.0.0.1:9/calls"


def test_a_newer_schema_is_refused_in_words(postgres: str) -> None:
    async def nothing(store: PostgresStore, lease: Lease) -> None: ...

    kept(postgres, nothing)
    asked(postgres, f"update {postgres.rpartition('=')[2]}.settings set value=9 where name='schema'")
    with pytest.raises(StoreError, match="expected schema 1 or older, got 9: a newer Antiphon made it"):
        asyncio.run(PostgresStore.of(postgres).__aenter__())


def test_the_name_of_a_schema_is_no_statement() -> None:
    with pytest.raises(UsageError, match="schema: expected lower-case letters"):
        PostgresStore("postgresql://localhost/calls", schema="x; drop table calls")


def test_each_transaction_says_that_it_is_to_be_synced(postgres: str) -> None:
    server_sets(postgres, "synchronous_commit", "off")
    try:

        async def work(store: PostgresStore, lease: Lease) -> None:
            async with store.transaction(lease, SUCCEEDED) as connection:
                found = await (await connection.execute("show synchronous_commit")).fetchone()
                assert found == ("on",)

        kept(postgres, work)
    finally:
        server_sets(postgres, "synchronous_commit", "on")


# -- a server that goes away


def test_a_connection_that_breaks_loses_nothing(postgres: str) -> None:
    async def work(store: PostgresStore, lease: Lease) -> None:
        for position in range(5):
            asked(
                postgres,
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name='antiphon'",
            )
            pending = store.append(lease, position, [b"%d" % position])
            await acknowledged(pending, 20.0)
        assert await store.entries("call") == [b"0", b"1", b"2", b"3", b"4"]
        await acknowledged(store.start(lease, replace(ROW, key="other").started(3.0)), 10.0)

    kept(postgres, work)


def test_what_cannot_be_written_keeps_back_nothing_else(postgres: str) -> None:
    async def work(store: PostgresStore, lease: Lease) -> None:
        import secrets

        long = secrets.token_hex(20_000)  # no index takes it
        refused = store.settle(lease, replace(ROW, key=long))
        entries = store.append(lease, 0, [b"a"])
        with pytest.raises(StoreError, match="cannot be written"):
            await acknowledged(refused, 10.0)
        await acknowledged(entries, 10.0)

    kept(postgres, work)


def test_a_connection_that_broke_while_nobody_used_it_refuses_no_start(postgres: str) -> None:
    async def work(store: PostgresStore, lease: Lease) -> None:
        assert await store.calls()
        for number in range(3):
            asked(postgres, "select pg_terminate_backend(pid) from pg_stat_activity where application_name='antiphon'")
            await acknowledged(store.start(lease, replace(ROW, key=f"key-{number}").started(3.0)), 10.0)
            assert await store.calls()

    kept(postgres, work)


# -- workers


def test_a_worker_that_lives_keeps_its_call_and_one_that_is_gone_does_not(postgres: str) -> None:
    async def main() -> None:
        async with opened(postgres, 0.4) as first, opened(postgres, 2.0) as second:
            lease = await first.lease("call", "first")
            for _ in range(3):
                was = until(postgres)
                while until(postgres) == was:  # noqa: ASYNC110 - a thread renews it
                    await asyncio.sleep(0)
            assert lease.held
            taken = None
            while taken is None:  # the first one may renew in between
                await InPostgres(postgres).expire("call")
                with contextlib.suppress(LeaseHeld):
                    taken = await second.lease("call", "second")
            assert taken.epoch == 2
            while not lease.is_over:  # noqa: ASYNC110 - a thread finds out
                await asyncio.sleep(0)
            with pytest.raises(LeaseLost):
                await acknowledged(first.start(lease, STARTED))

    asyncio.run(main())


def opened(address: str, lease: float) -> PostgresStore:
    uri, _, schema = address.rpartition("schema=")
    return PostgresStore(uri.rstrip("?&"), schema=schema, lease=lease)


def until(address: str) -> Any:
    return asked(address, f"select until from {address.rpartition('=')[2]}.leases")


# -- tools that write to the same database


def test_a_tool_settles_with_its_own_rows(postgres: str) -> None:
    asked(postgres, "drop table if exists bookings; create table bookings(people int)")

    async def work(store: PostgresStore, lease: Lease) -> None:
        async with store.transaction(lease, SUCCEEDED) as connection:
            await connection.execute("insert into bookings values(4)")
            assert (await state(store)).state is RowState.STARTED
        assert (await state(store)).state is RowState.SUCCEEDED
        await acknowledged(store.settle(lease, replace(SUCCEEDED, output="Booked.")), 10.0)
        assert (await state(store)).output == "Booked."

    kept(postgres, work)
    assert asked(postgres, "select people from bookings") == [(4,)]


def test_a_tool_that_raises_leaves_neither(postgres: str) -> None:
    asked(postgres, "drop table if exists bookings; create table bookings(people int)")

    async def work(store: PostgresStore, lease: Lease) -> None:
        with pytest.raises(ZeroDivisionError):
            async with store.transaction(lease, SUCCEEDED) as connection:
                await connection.execute("insert into bookings values(4)")
                1 / 0  # noqa: B018
        assert (await state(store)).state is RowState.STARTED

    kept(postgres, work)
    assert asked(postgres, "select people from bookings") == []


def test_a_tool_that_lost_its_call_leaves_neither(postgres: str) -> None:
    asked(postgres, "drop table if exists bookings; create table bookings(people int)")

    async def work(store: PostgresStore, lease: Lease) -> None:
        async with PostgresStore.of(postgres) as other:
            with pytest.raises(LeaseLost):
                async with store.transaction(lease, SUCCEEDED) as connection:
                    await connection.execute("insert into bookings values(4)")
                    await InPostgres(postgres).expire("call")
                    await other.lease("call", "other")
            assert (await state(other)).state is RowState.STARTED

    kept(postgres, work)
    assert asked(postgres, "select people from bookings") == []


def test_a_row_that_is_settled_is_not_settled_by_a_transaction(postgres: str) -> None:
    asked(postgres, "drop table if exists bookings; create table bookings(people int)")

    async def work(store: PostgresStore, lease: Lease) -> None:
        await acknowledged(store.settle(lease, STARTED.settled(RowState.FAILED, "Full.", at=2.0)), 10.0)
        with pytest.raises(StoreConflict):
            async with store.transaction(lease, SUCCEEDED) as connection:
                await connection.execute("insert into bookings values(4)")

    kept(postgres, work)
    assert asked(postgres, "select people from bookings") == []


def test_a_transaction_whose_connection_breaks_is_looked_into(postgres: str) -> None:
    async def work(store: PostgresStore, lease: Lease) -> None:
        with pytest.raises(StoreUnavailable) as caught:
            async with store.transaction(lease, SUCCEEDED) as connection:
                asked(postgres, f"select pg_terminate_backend({connection.info.backend_pid})")
        assert not caught.value.may_have_happened
        assert (await state(store)).state is RowState.STARTED

    kept(postgres, work)


def test_a_store_without_a_database_for_tools_says_so() -> None:
    store = MemoryStore()
    lease = asyncio.run(store.lease("call", "worker"))

    with pytest.raises(UsageError, match=r"ctx\.transaction\(\): expected a store whose database tools can write to"):
        store.transaction(lease, ROW)
