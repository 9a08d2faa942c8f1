"""Two workers with one store: calls of one that is killed, stands still or is upgraded go on in the other."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from antiphon.store import Store, open_store
from antiphon.testing import wait_until
from tests.server.workers import PATIENCE, Caller, started, worker_of
from tests.stores.postgres_server import postgres, postgres_server

__all__ = ["postgres", "postgres_server"]

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_calls_of_a_worker_that_is_gone_in_mid_booking_go_on_in_another(
    blow: signal.Signals, tmp_path: Path, postgres: str
) -> None:
    async def check() -> None:
        async with (
            started(tmp_path, postgres) as workers,
            open_store(postgres) as store,
            contextlib.AsyncExitStack() as stack,
        ):
            callers = [await stack.enter_async_context(Caller(workers.url)) for _ in range(4)]
            for number, caller in enumerate(callers):
                caller.says(f"a table {number}")
            await wait_until(lambda: len(workers.booked()) == len(callers), timeout=PATIENCE)
            holders = [await worker_of(store, caller.call) for caller in callers]
            struck = [caller for caller, holder in zip(callers, holders, strict=True) if holder == holders[0]]
            began = time.monotonic()
            os.kill(holders[0], blow)
            await wait_until(lambda: all(caller.came_back for caller in struck), timeout=PATIENCE)
            print(f"taken over after {sorted(round(one.came_back[0] - began, 2) for one in struck)} s")
            for number, caller in enumerate(callers):
                await wait_until(partial(caller.heard, f"Booked number {number}."), timeout=PATIENCE)
                caller.says(f"a table {100 + number}")
            for number, caller in enumerate(callers):
                await wait_until(partial(caller.heard, f"Booked number {100 + number}."), timeout=PATIENCE)
            if blow is signal.SIGSTOP:  # who wakes does nothing that was done meanwhile
                os.kill(holders[0], signal.SIGCONT)
                await asyncio.sleep(1.0)
            assert {await worker_of(store, caller.call) for caller in struck} != {holders[0]}
            assert workers.booked() == Counter([*range(4), *range(100, 104)])
            assert all(caller.heard("cut off") is (caller in struck) for caller in callers)

    asyncio.run(check())


def test_ten_calls_live_through_an_upgrade_of_both_workers(tmp_path: Path) -> None:
    async def check() -> None:
        address = f"sqlite:///{tmp_path / 'calls.db'}"
        async with (
            started(tmp_path, address) as workers,
            open_store(address) as store,
            contextlib.AsyncExitStack() as stack,
        ):
            callers = [await stack.enter_async_context(Caller(workers.url)) for _ in range(10)]
            for number, caller in enumerate(callers):
                caller.says(f"a table {number}")
            await wait_until(lambda: len(workers.booked()) == 10, timeout=PATIENCE)
            before = {await worker_of(store, caller.call) for caller in callers}
            workers.upgrade()
            async with asyncio.timeout(PATIENCE):
                while before & await _takers(workers.url, store):
                    pass
            for number, caller in enumerate(callers):
                caller.says(f"a table {100 + number}")
            for number, caller in enumerate(callers):
                await wait_until(partial(caller.heard, f"Booked number {100 + number}."), timeout=PATIENCE)
            assert workers.booked() == Counter([*range(10), *range(100, 110)])
            assert not any(caller.came_back for caller in callers)

    asyncio.run(check())


async def _takers(url: str, store: Store) -> set[int]:
    """The workers that took four new calls."""
    found = set()
    for _ in range(4):
        async with Caller(url) as caller:
            found.add(await worker_of(store, caller.call))
    return found
