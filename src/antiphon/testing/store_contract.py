"""Does a store keep the promises of `antiphon.store`?

Above: `antiphon.testing.contract`, which exports `check_store`. Below: `StoreUnderTest`, which opens the same place
several times, as several processes do, and lets leases run out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from antiphon.errors import LeaseHeld, LeaseLost, StoreConflict, StoreError
from antiphon.store import (
    HISTORY,
    JOURNAL,
    CallMeta,
    Durability,
    Lease,
    Pending,
    Row,
    RowState,
    Store,
    StoredCall,
    acknowledged,
)
from antiphon.testing.checks import require, within

_AT = 1_800_000_000.0
_ODD = "\x00\ud800 \u2028 \\ \\x00 '\" %s {} \U0001f600 " + "x" * 300
"""Text that files, databases and query languages stumble over."""


class StoreUnderTest(ABC):
    """A place where calls are kept, and nothing is there yet. Made anew for each part of the suite."""

    @abstractmethod
    async def open(self) -> Store:
        """Open it once more, as another process does. The suite closes what it opened."""

    @abstractmethod
    async def expire(self, call: str) -> None:
        """Let the lease of a call run out, as if its worker had been frozen since."""

    async def aclose(self) -> None:
        """Release the place. All that was opened has been closed."""


async def check_store(make: Callable[[], Awaitable[StoreUnderTest]], *, timeout: float = 30.0) -> None:
    """A store keeps what it acknowledges, in order, for the one who holds the call, and for nobody else.

    Rows go up only: what was written before is recognised, a second start by somebody else and a second outcome are
    refused. Streams have neither gaps nor other entries than were given. Who lost the lease writes nothing any more.
    Any text and any bytes come back as they were. What another handle reads is what was acknowledged. Erased is erased.
    Raises `AssertionError` that names the promise. `timeout`: seconds for each part.
    """
    for check in (
        _check_rows,
        _check_conflicts,
        _check_attempts,
        _check_streams,
        _check_parts,
        _check_leases,
        _check_fencing,
        _check_take_over,
        _check_lists,
        _check_resolve,
        _check_not_run,
        _check_erase,
        _check_rows_alone,
        _check_prune,
        _check_odd_text,
        _check_order,
        _check_close,
    ):
        place = await within(timeout, "making the place", make())
        try:
            async with AsyncExitStack() as opened:
                await within(timeout, check.__name__[len("_check_") :].replace("_", " "), check(_Bench(place, opened)))
        finally:
            await within(timeout, "StoreUnderTest.aclose()", place.aclose())


class _Bench:
    """What the parts of the suite use."""

    def __init__(self, place: StoreUnderTest, opened: AsyncExitStack) -> None:
        self.place = place
        self._opened = opened

    async def open(self) -> Store:
        store = await self.place.open()
        self._opened.push_async_callback(store.aclose)
        return store

    async def hold(self, call: str = "call", worker: str = "worker") -> tuple[Store, Lease]:
        store = await self.open()
        return store, await store.lease(call, worker)

    async def call(self, call: str = "call") -> StoredCall:
        """As another process sees it."""
        stored = await (await self.open()).load(call)
        if stored is None:
            raise AssertionError(f"load({call!r}) must give the call that was written, got None")
        return stored

    async def row(self, call: str = "call", key: str = "key") -> Row:
        """As another process sees it."""
        stored = await self.call(call)
        found = [row for row in stored.rows if row.key == key]
        require(len(found) == 1, f"expected one row {key!r}, got {len(found)}")
        return found[0]


def _row(key: str = "key", **fields: object) -> Row:
    row = Row(
        key, "desk/book", "call_1", arguments='{"people": 4}', identity='{"people":4}', contract={"effect": "writes"}
    )
    return replace(row, intended_at=_AT, **fields)  # type: ignore[arg-type]  # names of its fields


async def _fails(pending: Pending | None, kind: type[StoreError], what: str) -> StoreError:
    try:
        await acknowledged(pending, 10.0)
    except kind as error:
        return error
    except StoreError as error:
        raise AssertionError(f"{what}: expected {kind.__name__}, got {error!r}") from error
    raise AssertionError(f"{what}: expected {kind.__name__}, and it was acknowledged")


async def _check_rows(bench: _Bench) -> None:
    store, lease = await bench.hold()
    intended = _row(turn=3, number=2, extra={"a": [1, None]})
    await acknowledged(store.intend(lease, intended))
    require(await bench.row() == intended, "an intended row must come back as it was")
    started = intended.started(_AT + 1, deadline=_AT + 61)
    await acknowledged(store.start(lease, started))
    stored = await bench.row()
    require(stored == replace(started, epoch=lease.epoch), f"a started row must come back with its epoch, got {stored}")
    for again in (started, intended):
        await acknowledged(store.start(lease, again) if again is started else store.intend(lease, again))
        require(await bench.row() == stored, "what was written before must be recognised, and change nothing")
    done = started.settled(RowState.SUCCEEDED, "Booked.", at=_AT + 2)
    await acknowledged(store.settle(lease, done))
    await acknowledged(store.start(lease, started))
    require(await bench.row() == replace(done, epoch=lease.epoch), "an outcome must come back as it was, and stay")
    await acknowledged(store.settle(lease, done.closed(_AT + 3)))
    await acknowledged(store.settle(lease, done))
    require((await bench.row()).closed_at == _AT + 3, "what the caller has heard must stay closed")


async def _check_conflicts(bench: _Bench) -> None:
    store, lease = await bench.hold()
    started = _row().started(_AT + 1)
    await acknowledged(store.start(lease, started))
    other = _row().started(_AT + 2)
    error = await _fails(store.start(lease, other), StoreConflict, "a second start of the same attempt")
    found = getattr(error, "found", None)
    require(isinstance(found, Row) and found.started_at == _AT + 1, f"the error must have the row found, got {found!r}")
    await acknowledged(store.settle(lease, started.settled(RowState.UNKNOWN, "?", at=_AT + 3).closed(_AT + 3)))
    late = started.settled(RowState.FAILED, "Full.", at=_AT + 4)
    await acknowledged(store.settle(lease, late))
    stored = await bench.row()
    require(stored.closed_at is None and stored.state is RowState.FAILED, f"a late outcome must reopen, got {stored}")
    succeeded = started.settled(RowState.SUCCEEDED, "Booked.", at=_AT + 5)
    await _fails(store.settle(lease, succeeded), StoreConflict, "another outcome of a settled row")
    await _fails(store.intend(lease, replace(_row(), tool="other")), StoreConflict, "a row of another tool")
    require(await bench.row() == stored, "what was refused must change nothing")


async def _check_attempts(bench: _Bench) -> None:
    store, lease = await bench.hold()
    first = _row().started(_AT + 1)
    await acknowledged(store.start(lease, first))
    unknown = first.settled(RowState.UNKNOWN, "?", at=_AT + 2)
    await acknowledged(store.settle(lease, unknown))
    second = unknown.started(_AT + 3)
    require(second.attempt == 2, f"started() of an unknown row is a further attempt, got {second.attempt}")
    await acknowledged(store.start(lease, second))
    await acknowledged(store.settle(lease, unknown))
    stored = await bench.row()
    require((stored.attempt, stored.state) == (2, RowState.STARTED), f"the second attempt must stand, got {stored}")
    failed = second.settled(RowState.FAILED, "Found out: it did not happen.", at=_AT + 4)
    await acknowledged(store.settle(lease, failed))
    third = failed.started(_AT + 5)
    await acknowledged(store.start(lease, third))
    done = third.settled(RowState.SUCCEEDED, "Booked.", at=_AT + 6)
    await acknowledged(store.settle(lease, done))
    require((await bench.row()).state is RowState.SUCCEEDED, "what did not happen may be attempted again")
    await _fails(store.start(lease, done.started(_AT + 7)), StoreConflict, "a further attempt of what is done")


async def _check_streams(bench: _Bench) -> None:
    store, lease = await bench.hold()
    store.append(lease, 0, [b"a", b"", b"\x00\xff"])
    store.append(lease, 3, [b"d"])
    store.append(lease, 0, [b"first"], stream=HISTORY)
    await acknowledged(store.flush())
    reader = await bench.open()
    require(await reader.entries("call") == [b"a", b"", b"\x00\xff", b"d"], "entries must come back in order")
    require(await reader.entries("call", JOURNAL, 1, 2) == [b"", b"\x00\xff"], "first= and most= choose entries")
    require(await reader.entries("call", HISTORY) == [b"first"], "streams must be apart")
    require(await reader.entries("call", "other") == await reader.entries("none") == [], "what is not there is empty")
    stored = await bench.call()
    require(dict(stored.lengths) == {JOURNAL: 4, HISTORY: 1}, "load() must give the lengths")
    await acknowledged(store.append(lease, 2, [b"\x00\xff", b"d", b"e"]))
    await acknowledged(store.append(lease, 5, []))
    require(await reader.entries("call", first=3) == [b"d", b"e"], "what stands there must be recognised, once")
    for position, entry, what in ((1, b"x", "other entries where some stand"), (7, b"x", "a gap before entries")):
        error = await _fails(store.append(lease, position, [entry]), StoreConflict, what)
        require(getattr(error, "found", None) == 5, f"the error must have the length found, got {error!r}")
    await _fails(store.append(lease, 4, [b"x", b"f"]), StoreConflict, "entries of which one stands there otherwise")
    await acknowledged(store.append(lease, 5, [b"f"]))
    require(await reader.entries("call", first=4) == [b"e", b"f"], "what was refused must change nothing")


async def _check_parts(bench: _Bench) -> None:
    store, lease = await bench.hold()
    meta = CallMeta("+49 30 1", ("desk", "billing"), 2, "0.1.0", _AT, None, "")
    store.keep(lease, meta, {"userdata": b"\x00{}", "agent/desk": b"1"})
    store.keep(lease, None, {"agent/desk": None, "owed": b""})
    await acknowledged(store.flush())
    stored = await bench.call()
    require(stored.info.meta == meta, f"what is known of a call must come back, got {stored}")
    require(dict(stored.parts) == {"userdata": b"\x00{}", "owed": b""}, f"parts must come back, got {stored.parts}")
    ended = replace(meta, ended=_AT + 9, reason="user_initiated")
    await acknowledged(store.keep(lease, ended))
    stored = await bench.call()
    require(stored.info.meta == ended and len(stored.parts) == 2, "keep() replaces what it is given")


async def _check_leases(bench: _Bench) -> None:
    store, lease = await bench.hold()
    require(lease.held and lease.epoch == 1, f"a new call is held at epoch 1, got {lease}")
    again = await store.lease("call", "worker")
    require(again.epoch == 1 and again.held, f"who holds a call gets it as it is, got {again}")
    other = await bench.open()
    try:
        await other.lease("call", "other")
    except LeaseHeld as error:
        require(error.worker == "worker", f"the error must name who holds it, got {error.worker!r}")
    else:
        raise AssertionError("a call that is held was given to another worker")
    store.append(lease, 0, [b"last"])
    await acknowledged(store.release(lease))
    require(not lease.held, "a lease that was given back must not be held")
    taken = await other.lease("call", "other")
    require(taken.epoch == 2 and taken.held, f"a call that was given back is held at the next epoch, got {taken}")
    require(await other.entries("call") == [b"last"], "what was asked for before giving back must be there")


async def _check_fencing(bench: _Bench) -> None:
    store, lease = await bench.hold()
    started = _row().started(_AT + 1)
    await acknowledged(store.start(lease, started))
    other = await bench.open()
    taken = await _taken(bench, other)
    before = await bench.call()
    writes: Sequence[tuple[str, Callable[[], Pending | None]]] = (
        ("append", lambda: store.append(lease, 0, [b"x"])),
        ("intend", lambda: store.intend(lease, _row("k2"))),
        ("start", lambda: store.start(lease, _row("k2").started(_AT + 2))),
        ("settle", lambda: store.settle(lease, started.settled(RowState.SUCCEEDED, "", at=_AT + 3))),
        ("keep", lambda: store.keep(lease, CallMeta("x"), {"a": b"b"})),
        ("release", lambda: store.release(lease)),
    )
    for name, write in writes:
        await _fails(write(), LeaseLost, f"{name}() by a worker that lost the call")
    require(not lease.held, "a worker that was refused must know that it does not hold the call")
    after = await bench.call()
    require(
        (after.rows, after.parts, after.lengths, after.info.meta)
        == (before.rows, before.parts, before.lengths, before.info.meta),
        "what a worker asks for that lost the call must change nothing",
    )
    await acknowledged(other.append(taken, 0, [b"mine"]))


async def _taken(bench: _Bench, store: Store, call: str = "call") -> Lease:
    """Who held it is frozen; a worker takes over. It may take some tries, as who is not frozen renews."""
    for _ in range(50):
        await bench.place.expire(call)
        try:
            return await store.lease(call, "other")
        except LeaseHeld:
            continue
    raise AssertionError("a call whose lease ran out could not be taken over")


async def _check_take_over(bench: _Bench) -> None:
    store, lease = await bench.hold()
    await acknowledged(store.start(lease, _row().started(_AT + 1)))
    other = await bench.open()
    taken = await _taken(bench, other)
    require(taken.epoch == lease.epoch + 1, f"taking over must raise the epoch by one, got {taken}")
    stored = await bench.call()
    require(stored.info.is_held and stored.info.worker == "other", f"got {stored}")
    row = stored.rows[0]
    require(row.state is RowState.STARTED and row.epoch == lease.epoch, f"its rows must tell their epoch, got {row}")
    await acknowledged(other.settle(taken, row.settled(RowState.UNKNOWN, "interrupted", at=_AT + 2)))
    require((await bench.row()).state is RowState.UNKNOWN, "who took over must be able to settle")


async def _check_lists(bench: _Bench) -> None:
    store = await bench.open()
    for number, caller in enumerate(("ann", "bob", "ann")):
        lease = await store.lease(f"call-{number}", "worker")
        store.keep(lease, CallMeta(caller))
        await acknowledged(store.start(lease, _row(f"key-{number}").started(_AT)))
        if number == 2:
            await acknowledged(store.settle(lease, _row("key-2").started(_AT).settled(RowState.UNKNOWN, "?", at=_AT)))
            await acknowledged(store.release(lease))
    reader = await bench.open()
    listed = [info.id for info in await reader.calls()]
    require(listed == ["call-2", "call-1", "call-0"], f"calls() must list the one written last first, got {listed}")
    found = [info.id for info in await reader.calls(caller="ann", most=1)]
    require(found == ["call-2"], f"calls(caller=, most=) must choose, got {found}")
    free = [info.id for info in await reader.calls(held=False)]
    require(free == ["call-2"], f"calls(held=False) must give those that nobody holds, got {free}")
    require(len(await reader.calls(held=True)) == 2, "calls(held=True) must give those that are held")
    rows = [(info.id, row.key) for info, row in await reader.rows(caller="ann")]
    require(rows == [("call-2", "key-2"), ("call-0", "key-0")], f"rows(caller=) must give theirs, got {rows}")
    unknown = [row.key for _, row in await reader.rows(states=[RowState.UNKNOWN])]
    require(unknown == ["key-2"], f"rows(states=) must choose, got {unknown}")
    require(await reader.rows(call="call-1", since=4e9) == [], "rows(since=) must leave out what was written before")
    require(len(await reader.rows(most=2)) == 2, "rows(most=) must bound")


async def _check_resolve(bench: _Bench) -> None:
    store, lease = await bench.hold()
    started = _row().started(_AT)
    await acknowledged(store.start(lease, started))
    await acknowledged(store.settle(lease, started.settled(RowState.UNKNOWN, "?", at=_AT + 1).closed(_AT + 1)))
    person = await bench.open()
    row = await person.resolve("call", "key", RowState.SUCCEEDED, "It happened.", _AT + 2)
    require(row == await bench.row() and row.state is RowState.SUCCEEDED, f"resolve() must settle, got {row}")
    require(row.closed_at is None and row.output == "It happened.", f"it is news to the caller, got {row}")
    for call, key, kind in (("call", "key", StoreConflict), ("call", "none", StoreError), ("none", "key", StoreError)):
        try:
            await person.resolve(call, key, RowState.FAILED, "", _AT + 3)
        except kind:
            continue
        raise AssertionError(f"resolve({call!r}, {key!r}) must be refused")


async def _check_not_run(bench: _Bench) -> None:
    store, lease = await bench.hold()
    started = _row().started(_AT)
    for key in ("key", "other"):
        await acknowledged(store.start(lease, _row(key).started(_AT)))
    other = await bench.open()
    taken = await _taken(bench, other)
    await acknowledged(other.settle(taken, started.settled(RowState.UNKNOWN, "?", at=_AT + 1)))
    row = await store.resolve("call", "key", RowState.FAILED, "not run", _AT + 2, attempt=1)
    require(row.state is RowState.FAILED, f"who did not enter a tool must be able to say so without a lease, got {row}")
    await acknowledged(other.start(taken, _row("other").started(_AT).started(_AT + 2)))
    try:
        await store.resolve("call", "other", RowState.FAILED, "not run", _AT + 3, attempt=1)
    except StoreConflict:
        row = await bench.row(key="other")
        require(row.state is RowState.STARTED, f"resolve(attempt=1) must leave the second attempt alone, got {row}")
    else:
        raise AssertionError("resolve(attempt=1) must be refused once the row was begun again")


async def _check_erase(bench: _Bench) -> None:
    store = await bench.open()
    leases = []
    for number, caller in enumerate(("ann", "bob", "ann")):
        lease = await store.lease(f"call-{number}", "worker")
        leases.append(lease)
        store.keep(lease, CallMeta(caller), {"userdata": b"x"})
        store.append(lease, 0, [b"entry"])
        await acknowledged(store.start(lease, _row(f"key-{number}").started(_AT)))
    await acknowledged(store.release(leases[0]))
    person = await bench.open()
    try:
        await person.erase(caller="ann")
    except LeaseHeld:
        pass
    else:
        raise AssertionError("erase() of a caller whose call goes on must be refused")
    require(len(await person.calls(caller="ann")) == 2, "erase() that is refused must erase nothing")
    await acknowledged(store.release(leases[2]))
    require(await person.erase(caller="ann") == 2, "erase() must say how many calls there were")
    require(await person.load("call-0") is None and await person.load("call-2") is None, "erased calls must be gone")
    require(await person.entries("call-0") == [] and await person.rows(caller="ann") == [], "with all that was of them")
    require(await person.rows(call="call-1") != [] and await person.entries("call-1") != [], "and nothing else")
    new = await store.lease("call-0", "worker")
    await acknowledged(store.append(new, 0, [b"anew"]))
    stored = await bench.call("call-0")
    require(not stored.rows and not stored.parts, "a new call of an erased id must be empty")


async def _check_rows_alone(bench: _Bench) -> None:
    store = await bench.open()
    leases = []
    for number in range(2):
        lease = await store.lease(f"ended-{number}", "worker")
        leases.append(lease)
        store.keep(lease, CallMeta("ann", began=_AT), {"userdata": b"x"})
        store.append(lease, 0, [b"entry"])
        await acknowledged(store.start(lease, _row(f"ended-key-{number}").started(_AT)))
    await acknowledged(store.release(leases[0]))
    person = await bench.open()
    require(await person.erase(call="ended-0", keep_rows=True) == 1, "erase(keep_rows=True) must find the call")
    ended, other = await bench.call("ended-0"), await bench.call("ended-1")
    require(not ended.parts and await person.entries("ended-0") == [], "erase(keep_rows=True) must erase all but rows")
    require(len(ended.rows) == 1 and ended.info.meta.caller == "ann", "erase(keep_rows=True) must leave rows")
    require(bool(other.parts) and await person.entries("ended-1") != [], "erase(keep_rows=True) must leave other calls")


async def _check_prune(bench: _Bench) -> None:
    store = await bench.open()
    for number in range(3):
        lease = await store.lease(f"call-{number}", "worker")
        await acknowledged(store.start(lease, _row().started(_AT)))
        if number:
            state = RowState.UNKNOWN if number == 1 else RowState.FAILED
            await acknowledged(store.settle(lease, _row().started(_AT).settled(state, "", at=_AT)))
            await acknowledged(store.release(lease))
    far = 4e9
    require(await store.prune(0.0) == 0, "prune() must keep what was written since")
    require(await store.prune(far) == 1, "prune() must keep calls that are held or have unknown rows, and no others")
    require(await store.load("call-2") is None, "what was pruned must be gone")
    require(await store.prune(far, unknown=True) == 1, "prune(unknown=True) must take those with unknown rows, too")
    require([info.id for info in await store.calls()] == ["call-0"], "a call that is held must stay")


async def _check_odd_text(bench: _Bench) -> None:
    store = await bench.open()
    lease = await store.lease(_ODD, _ODD)
    meta = CallMeta(_ODD, (_ODD, ""), reason=_ODD)
    row = replace(_row(_ODD), tool=_ODD, output=_ODD, arguments=_ODD, extra={_ODD: _ODD}).started(_AT)
    store.keep(lease, meta, {_ODD: bytes(range(256))})
    store.append(lease, 0, [bytes(range(256)) * 4096], stream=_ODD)
    await acknowledged(store.start(lease, row))
    reader = await bench.open()
    stored = await bench.call(_ODD)
    require(stored.info.meta == meta and stored.info.worker == _ODD, f"any text must come back, got {stored.info}")
    require(stored.rows == (replace(row, epoch=1),), f"any row must come back, got {stored.rows}")
    require(dict(stored.parts) == {_ODD: bytes(range(256))}, "any part must come back")
    require(await reader.entries(_ODD, _ODD) == [bytes(range(256)) * 4096], "any entry must come back")
    require(len(await reader.calls(caller=_ODD)) == 1, "any caller must be found")
    await acknowledged(store.release(lease))
    require(await reader.erase(caller=_ODD) == 1, "any caller must be erased")


async def _check_order(bench: _Bench) -> None:
    store, lease = await bench.hold()
    for number in range(500):
        store.append(lease, number, [b"%d" % number])
    await acknowledged(store.start(lease, _row().started(_AT)))
    entries = await (await bench.open()).entries("call")
    require(
        len(entries) == 500, f"when a start is acknowledged, all before it must be there: got {len(entries)} of 500"
    )
    if store.durability is Durability.MEMORY:
        require(store.flush() is None, "in memory nothing is waited for")


async def _check_close(bench: _Bench) -> None:
    store, lease = await bench.hold()
    store.append(lease, 0, [b"a"])
    store.settle(lease, _row().started(_AT).settled(RowState.UNKNOWN, "", at=_AT))
    await store.aclose()
    await store.aclose()
    require(not lease.held, "closing must give back what was held")
    other = await bench.open()
    require(await other.entries("call") == [b"a"], "closing must write what was waiting")
    taken = await other.lease("call", "other")
    require(taken.epoch == 2, f"a call whose store was closed can be held at once, got {taken}")
