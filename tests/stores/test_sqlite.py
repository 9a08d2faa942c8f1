"""The store of one machine: its file, its disk, and other processes."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from antiphon.errors import StoreConflict, StoreError, StoreUnavailable, UsageError
from antiphon.secret import KEY_VARIABLE
from antiphon.store import CallMeta, Durability, Row, RowState, Store, acknowledged
from antiphon.stores.sqlite import SCHEMA, SQLiteStore
from antiphon.stores.writer import MOST_WAITING
from tests.stores.lossy import LossySQLite

ROW = Row("key", "desk/book", arguments='{"people": 4}')


def kept(path: Path, work: Callable[[Store], Awaitable[None]], **options: object) -> None:
    async def main() -> None:
        async with SQLiteStore(path, **options) as store:  # type: ignore[arg-type]  # its own
            await work(store)

    asyncio.run(main())


async def started(store: Store) -> None:
    lease = await store.lease("call", "worker")
    await acknowledged(store.start(lease, ROW.started(1.0)))


async def states(store: Store) -> list[RowState]:
    stored = await store.load("call")
    return [row.state for row in stored.rows] if stored else []


# -- the file


def test_nobody_else_can_read_the_file_nor_its_folder(tmp_path: Path) -> None:
    place = tmp_path / ".antiphon" / "calls.db"
    modes: dict[str, int] = {}

    async def work(store: Store) -> None:
        await started(store)
        modes.update({path.name: stat.S_IMODE(path.stat().st_mode) for path in (place.parent, *place.parent.iterdir())})

    umask = os.umask(0)
    try:
        kept(place, work)
    finally:
        os.umask(umask)

    assert modes == {".antiphon": 0o700, "calls.db": 0o600, "calls.db-wal": 0o600, "calls.db-shm": 0o600}


def test_a_file_that_was_open_to_others_is_made_private(tmp_path: Path) -> None:
    place = tmp_path / "calls.db"
    kept(place, started)
    place.chmod(0o644)
    kept(place, lambda store: store.prune(0.0))  # type: ignore[arg-type, return-value]

    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_what_keys_are_made_with_stands_beside_the_file_for_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)

    async def secret(path: Path) -> bytes:
        async with SQLiteStore(path) as store:
            return store.secret.get()

    async def test() -> None:
        one, other = tmp_path / "a" / "calls.db", tmp_path / "b" / "calls.db"
        found = await secret(one)
        assert found == await secret(one) != await secret(other)
        key = Path(f"{one}.key")
        assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
        names = set(os.listdir(one.parent))
        assert names - {f"calls.db{end}" for end in ("", "-wal", "-shm", ".key")} == set()
        monkeypatch.setenv(KEY_VARIABLE, "k" * 40)
        assert await secret(one) == await secret(other) == b"k" * 40

    asyncio.run(test())


def test_a_newer_schema_is_refused_in_words(tmp_path: Path) -> None:
    place = tmp_path / "calls.db"
    kept(place, started)
    with sqlite3.connect(place) as connection:
        connection.execute(f"pragma user_version={SCHEMA + 1}")
    connection.close()

    with pytest.raises(StoreError, match=f"expected schema {SCHEMA} or older, got {SCHEMA + 1}: a newer Antiphon"):
        kept(place, started)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "mine.db"
    with sqlite3.connect(place) as connection:
        connection.execute("create table recipes(name)")
    connection.close()

    with pytest.raises(StoreError, match="a database of another program"):
        kept(place, started)
    with sqlite3.connect(place) as connection:
        assert connection.execute("select name from sqlite_schema").fetchall() == [("recipes",)]
    connection.close()


def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "notes.txt"
    place.write_bytes(b"Buy milk. " * 1000)

    with pytest.raises(StoreError, match="it cannot be read: file is not a database"):
        kept(place, started)
    assert place.read_bytes() == b"Buy milk. " * 1000


def test_who_only_looks_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such file"):
        kept(tmp_path / "calls.db", started, create=False)
    assert list(tmp_path.iterdir()) == []


def test_an_address_says_place_and_durability(tmp_path: Path) -> None:
    assert SQLiteStore.of(f"sqlite:///{tmp_path}/a.db").path == tmp_path / "a.db"
    assert SQLiteStore.of("sqlite:///a.db").path == Path.cwd() / "a.db"
    assert SQLiteStore.of("sqlite:///a.db?durability=process").durability is Durability.PROCESS
    for wrong in ("sqlite://", "sqlite:///a.db?durability=memory", "sqlite:///a.db?sync=off"):
        with pytest.raises(UsageError, match="expected sqlite:///path"):
            SQLiteStore.of(wrong)


def test_a_file_that_is_removed_while_it_is_open_is_noticed(tmp_path: Path) -> None:
    place = tmp_path / "calls.db"

    async def work(store: Store) -> None:
        lease = await store.lease("call", "worker")
        place.unlink()
        with pytest.raises(StoreUnavailable, match="was removed or replaced"):
            await acknowledged(store.start(lease, ROW.started(1.0)))

    kept(place, work)


# -- the disk


async def until(happened: Callable[[], object]) -> None:
    """A thread does it: nothing here is told."""
    while not happened():  # noqa: ASYNC110
        await asyncio.sleep(0)


def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    place = tmp_path / "calls.db"
    limits = [40]
    told: list[StoreError | None] = []

    def connect(path: str) -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        connection.execute(f"pragma max_page_count={limits[0]}")
        return connection

    async def work(store: Store) -> None:
        store.on_trouble(told.append)
        lease = await store.lease("call", "worker")
        await acknowledged(store.start(lease, ROW.started(1.0)))
        large = store.append(lease, 0, [b"x" * 400_000])
        settled = store.settle(lease, ROW.started(1.0).settled(RowState.SUCCEEDED, "Booked.", at=2.0))
        await until(lambda: store.trouble is not None)
        began = asyncio.get_running_loop().time()
        with pytest.raises(StoreUnavailable, match="full") as caught:
            await acknowledged(store.start(lease, replace(ROW, key="other").started(3.0)))
        assert asyncio.get_running_loop().time() - began < 0.5
        assert not caught.value.may_have_happened
        assert await states(store) == [RowState.STARTED]
        limits[0] = 1_000_000
        await acknowledged(large, 10.0)
        await acknowledged(settled)
        assert store.trouble is None
        await acknowledged(store.start(lease, replace(ROW, key="other").started(4.0)))
        assert await states(store) == [RowState.SUCCEEDED, RowState.STARTED]

    kept(place, work, connect=connect)
    assert [trouble is None for trouble in told] == [False, True]


@pytest.mark.parametrize("kind", ["write", "sync"])
def test_a_failing_disk_is_an_error_and_loses_nothing(kind: str, tmp_path: Path) -> None:
    lossy = LossySQLite()

    async def work(store: Store) -> None:
        lease = await store.lease("call", "worker")
        await acknowledged(store.start(lease, ROW.started(1.0)))
        lossy.disk.failing = kind
        with pytest.raises(StoreUnavailable, match="cannot write"):
            await acknowledged(store.start(lease, replace(ROW, key="other").started(3.0)))
        waiting = store.append(lease, 0, [b"a"])
        lossy.disk.failing = ""
        await acknowledged(waiting, 10.0)
        await acknowledged(store.start(lease, replace(ROW, key="third").started(4.0)))

    kept(tmp_path / "calls.db", work, connect=lossy.connect)

    async def found(store: Store) -> None:
        assert await store.entries("call") == [b"a"]
        stored = await store.load("call")
        assert stored is not None
        assert {row.key for row in stored.rows} >= {"key", "third"}

    kept(tmp_path / "calls.db", found)


def test_a_disk_that_does_not_keep_up_is_not_waited_for_without_bounds(tmp_path: Path) -> None:
    place = tmp_path / "calls.db"

    async def work(store: Store) -> None:
        lease = await store.lease("call", "worker")
        other = sqlite3.connect(place, isolation_level=None)
        other.execute("begin immediate")
        entry, taken = b"x" * 1_000_000, []
        for position in range(2 * MOST_WAITING // len(entry)):
            pending = store.append(lease, position, [entry])
            if pending is not None and pending.done():
                break
            taken.append(pending)
        assert isinstance(pending.exception(), StoreUnavailable)  # type: ignore[union-attr]
        assert len(taken) * len(entry) <= MOST_WAITING + 2 * len(entry)
        with pytest.raises(StoreUnavailable):
            await acknowledged(store.start(lease, ROW.started(1.0)))
        other.execute("rollback")
        other.close()
        for one in taken:
            await acknowledged(one, 20.0)
        await acknowledged(store.append(lease, len(taken), [b"y"]))

    kept(place, work)


def test_calls_share_a_sync_of_the_disk(tmp_path: Path) -> None:
    lossy = LossySQLite()

    async def work(store: Store) -> None:
        leases = [await store.lease(f"call-{number}", "worker") for number in range(50)]
        before = lossy.disk.syncs()
        pending = [store.start(lease, ROW.started(1.0)) for lease in leases]
        await asyncio.gather(*(acknowledged(one) for one in pending))
        assert lossy.disk.syncs() - before <= 10

    kept(tmp_path / "calls.db", work, connect=lossy.connect)


def test_a_start_that_is_given_up_while_it_waits_is_not_written(tmp_path: Path) -> None:
    place = tmp_path / "calls.db"

    async def work(store: Store) -> None:
        lease = await store.lease("call", "worker")
        other = sqlite3.connect(place, isolation_level=None)
        other.execute("begin immediate")
        first = store.settle(lease, replace(ROW, key="first").started(1.0))
        await until(lambda: first is None or first.running())
        with pytest.raises(StoreUnavailable) as caught:
            await acknowledged(store.start(lease, ROW.started(1.0)), 0.05)
        assert not caught.value.may_have_happened
        other.execute("rollback")
        other.close()
        await acknowledged(store.flush(), 10.0)
        stored = await store.load("call")
        assert stored is not None
        assert [row.key for row in stored.rows] == ["first"]

    kept(place, work)


# -- other processes


def test_another_process_reads_what_is_written_at_this_moment(tmp_path: Path) -> None:
    place = tmp_path / "calls.db"
    script = (
        "import asyncio, sys\nfrom antiphon.stores.sqlite import SQLiteStore\n"
        "async def main():\n async with SQLiteStore(sys.argv[1], create=False) as store:\n"
        "  for info, row in await store.rows(): print(info.id, info.is_held, row.key, row.state.value)\n"
        "asyncio.run(main())"
    )

    async def work(store: Store) -> None:
        await started(store)
        looked = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", script, str(place)], capture_output=True, text=True, check=True
        )
        assert looked.stdout.split() == ["call", "True", "key", "started"]

    kept(place, work)


def test_what_was_handed_over_is_there_when_the_process_is_killed_a_second_later(tmp_path: Path) -> None:
    place = tmp_path / "calls.db"
    script = (
        "import asyncio, os, signal, sys\nfrom antiphon.stores.sqlite import SQLiteStore\n"
        "async def main():\n async with SQLiteStore(sys.argv[1]) as store:\n"
        "  lease = await store.lease('call', 'w')\n  store.append(lease, 0, [b'last'])\n"
        "  await asyncio.sleep(1.0)\n  os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())"
    )
    assert subprocess.run([sys.executable, "-c", script, str(place)]).returncode == -9

    async def found(store: Store) -> None:
        assert await store.entries("call") == [b"last"]

    kept(place, found)


def test_many_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    async def one(number: int) -> None:
        async with SQLiteStore(tmp_path / "calls.db") as store:
            lease = await store.lease(f"call-{number}", f"worker-{number}")
            await acknowledged(store.start(lease, ROW.started(1.0)), 10.0)

    async def all_of_them() -> None:
        await asyncio.gather(*(one(number) for number in range(8)))

    asyncio.run(all_of_them())


# -- erasing

DIGITS = "4929881234567890"


@pytest.mark.parametrize("how", ["erase", "prune"])
def test_nothing_of_an_erased_call_is_left_in_the_bytes_of_the_files(how: str, tmp_path: Path) -> None:
    place = tmp_path / "calls" / "calls.db"

    async def work(store: Store) -> None:
        for number in range(20):
            name = f"{DIGITS} {number}" if number % 2 else f"call-{number}"
            lease = await store.lease(name, "worker")
            said = DIGITS if number % 2 else "nothing"
            store.keep(lease, CallMeta(said, (said,), reason=said), {"state": said.encode() * 500, said: b"x"})
            for position in range(30):
                store.append(lease, position, [(said * (position * position)).encode()])
            row = replace(ROW, key=f"key-{said}", arguments=said * 50).started(1.0)
            await acknowledged(store.start(lease, row))
            row = row.settled(RowState.SUCCEEDED, said * 300, at=2.0)
            await acknowledged(store.settle(lease, row))
            if number % 2:
                await acknowledged(store.release(lease))
        assert any(DIGITS.encode() in path.read_bytes() for path in place.parent.iterdir())
        erased = await (store.erase(caller=DIGITS) if how == "erase" else store.prune(4e9))
        assert erased == 10
        assert [path.name for path in place.parent.iterdir() if DIGITS.encode() in path.read_bytes()] == []
        assert len(await store.calls()) == 10

    kept(place, work)


# -- rows by their rules


def test_a_second_start_by_the_same_key_is_refused_with_what_is_there(tmp_path: Path) -> None:
    async def work(store: Store) -> None:
        lease = await store.lease("call", "worker")
        await acknowledged(store.start(lease, ROW.started(1.0)))
        with pytest.raises(StoreConflict, match="started by somebody else") as caught:
            await acknowledged(store.start(lease, ROW.started(2.0)))
        assert isinstance(caught.value.found, Row)
        assert caught.value.found.started_at == 1.0

    kept(tmp_path / "calls.db", work)
