"""A worker that is frozen, and wakes after another has taken its call over, starts nothing and writes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from antiphon.errors import LeaseHeld
from antiphon.store import RowState, Store, acknowledged, open_store
from tests.stores.postgres_server import a_schema

FROZEN = """
import asyncio, sys
from antiphon.errors import LeaseLost
from antiphon.store import Row, acknowledged, open_store

async def main():
    async with open_store(sys.argv[1]) as store:
        lease = await store.lease("call", "frozen")
        row = Row("key", "desk/pay").started(1.0)
        await acknowledged(store.start(lease, row), 10.0)
        print("started", flush=True)
        sys.stdin.readline()  # frozen here
        print("held" if lease.held else "not held", flush=True)
        for write in (store.append(lease, 0, [b"late"]), store.start(lease, Row("other", "desk/pay").started(9.0))):
            try:
                await acknowledged(write, 10.0)
                print("written", flush=True)
            except LeaseLost:
                print("refused", flush=True)
        print("lost" if lease.is_over else "not lost", flush=True)

asyncio.run(main())
"""


async def taken(store: Store) -> Any:
    """As soon as the lease has run out: some two seconds."""
    while True:
        with contextlib.suppress(LeaseHeld):
            return await store.lease("call", "other")


def wakes_too_late(address: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", FROZEN, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "started\n"
        os.kill(process.pid, signal.SIGSTOP)

        async def taking_over() -> None:
            async with open_store(address) as store:
                lease = await taken(store)
                stored = await store.load("call")
                assert stored is not None
                assert [row.state for row in stored.rows] == [RowState.STARTED]
                unknown = stored.rows[0].settled(RowState.UNKNOWN, "interrupted", at=2.0)
                await acknowledged(store.settle(lease, unknown), 10.0)
                os.kill(process.pid, signal.SIGCONT)
                said, _ = await asyncio.to_thread(process.communicate, "\n", 30.0)
                assert said.split("\n") == ["not held", "refused", "refused", "lost", ""]
                assert lease.held
                stored = await store.load("call")
                assert stored is not None
                assert [(row.key, row.state) for row in stored.rows] == [("key", RowState.UNKNOWN)]
                assert await store.entries("call") == []

        asyncio.run(taking_over())
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_on_sqlite(tmp_path: Path) -> None:
    wakes_too_late(str(tmp_path / "calls.db"))


def test_on_postgresql(postgres_server: Any) -> None:
    wakes_too_late(a_schema(postgres_server))
