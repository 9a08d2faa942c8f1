"""Stores are found by their address."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from antiphon.errors import UsageError
from antiphon.store import Durability, Lease, Row, acknowledged, lease_clock, open_store
from antiphon.stores.memory import MemoryStore
from antiphon.stores.sqlite import SQLiteStore


def test_memory_is_named(tmp_path: Path) -> None:
    assert isinstance(open_store("memory:"), MemoryStore)


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_path_is_a_file_of_sqlite(form: str, tmp_path: Path) -> None:
    store = open_store(form.format(tmp_path / "calls.db"))

    assert isinstance(store, SQLiteStore)
    assert (store.path, store.durability) == (tmp_path / "calls.db", Durability.DISK)


@pytest.mark.parametrize("address", ["", "nosuchthing://host/place"])
def test_what_no_package_brings_is_an_error_that_names_those_there_are(address: str) -> None:
    with pytest.raises(UsageError, match=r"antiphon\.stores: expected"):
        open_store(address)


def test_memory_needs_no_await(tmp_path: Path) -> None:
    store = MemoryStore()
    lease = asyncio.run(store.lease("call", "worker"))
    row = Row("key", "desk/book").started(1.0)

    assert store.start(lease, row) is None
    assert store.append(lease, 0, [b"entry"]) is None
    assert store.settle(lease, row.closed(2.0)) is None


def test_a_lost_acknowledgement_is_asked_for_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_store(str(tmp_path / "calls.db")) as store:
            lease = await store.lease("call", "worker")
            row = Row("key", "desk/book").started(1.0)
            await acknowledged(store.start(lease, row))
            await acknowledged(store.append(lease, 0, [b"a", b"b"]))
            await acknowledged(store.start(lease, row))
            await acknowledged(store.append(lease, 0, [b"a", b"b"]))
            assert await store.entries("call") == [b"a", b"b"]

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="the clock that counts sleep is of Linux")
def test_a_lease_runs_out_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease("call", "worker", 1, lease_clock() + 2.0)
    assert lease.held
    woken = time.clock_gettime(time.CLOCK_BOOTTIME) + 3.0
    monkeypatch.setattr(time, "clock_gettime", lambda clock: woken)
    assert not lease.held
