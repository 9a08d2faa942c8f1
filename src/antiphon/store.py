"""Where calls are kept: the ledger of what tools did, the journal, and what a call needs to go on elsewhere.

A *call* is a conversation, known by its id. It is written by the one worker that holds its *lease*, whose *epoch*
stands in everything that is written: what a worker asks for that has lost its lease is refused, and changes nothing.

```python
async with open_store("sqlite:///calls.db") as store:
    lease = await store.lease("call-1", worker="w-7f3a")
    await acknowledged(store.start(lease, row))       # on disk, before the tool's function is entered
    store.settle(lease, row.settled(RowState.SUCCEEDED, "Booked.", at=time.time()))
    store.append(lease, 0, [b'{"at": 0.1, "fact": null}'])
```

What writes returns `None` if it is done by then (memory), or else a `Pending`: it will be done, in the order of asking.
Only what must be certain is waited for (`acknowledged`). Nothing that the world does raises: it is the error of the
`Pending`. Asking again for what was written before (its acknowledgement was lost) is recognised: a success.

Above: the runtime, and the shells that look into calls. Below: errors. Stores themselves (`antiphon.stores`, and those
of other packages) are found by name.
"""

from __future__ import annotations

import asyncio
import enum
import json
import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import AbstractAsyncContextManager
from dataclasses import field, replace
from typing import Any, Self, TypeAlias, TypeVar, cast

from antiphon.discovery import load_for
from antiphon.errors import StoreConflict, StoreError, StoreUnavailable, UsageError
from antiphon.record import frozen
from antiphon.secret import FingerprintKey, key_of_fingerprints

T = TypeVar("T")

Pending: TypeAlias = Future[None]
"""What was asked for and is not acknowledged. Its error is a `StoreError`. `cancel()` withdraws it while it waits."""


class PendingOnLoop(Future[None]):
    """The same of a store that works on the event loop of its calls, and in no thread: for stores in tests."""


START_LIMIT = 2.0
"""Seconds that `acknowledged` waits."""

WORKER = f"{os.getpid()}-{os.urandom(4).hex()}"
"""This process, among those that write to a store."""
LEASE = 2.0
"""Seconds for which a lease is held, by the store's clock, unless it is renewed."""

RENEW_EVERY = 0.5
"""Seconds between two renewals of a lease."""

_BOOT: int | None = getattr(time, "CLOCK_BOOTTIME", None)

JOURNAL, HISTORY = "journal", "history"
"""The streams of entries that the framework keeps of a call. Others may be named."""

LONGEST_ENTRY = 64_000_000
"""Bytes of an entry or a part: more is an error."""


class Durability(enum.Enum):
    """What an acknowledgement means: what must break for that to be lost which was acknowledged."""

    MEMORY = "memory"
    """The process."""
    PROCESS = "process"
    """The machine: its operating system has it. A killed process loses nothing."""
    DISK = "disk"
    """The disk: it was synced. A cut of power loses nothing."""
    REPLICATED = "replicated"
    """Two machines: a second one has it, too."""

    def reaches(self, least: Durability) -> bool:
        """Whether it is at least that."""
        order = list(Durability)
        return order.index(self) >= order.index(least)


class RowState(enum.Enum):
    """What is known of a start of a tool. One whose outcome was heard is closed besides (`Row.closed_at`)."""

    INTENDED = "intended"
    """It is to be started, and was not."""
    STARTED = "started"
    """Its function may have been entered."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """It did not happen."""
    UNKNOWN = "unknown"
    """It may have happened."""


_RANK = {
    RowState.INTENDED: 0,
    RowState.STARTED: 1,
    RowState.UNKNOWN: 2,
    RowState.SUCCEEDED: 3,
    RowState.FAILED: 3,
}
_SETTLED = 3
"""A row goes up only; a further attempt begins at STARTED again, from anything below this."""


@frozen
class Row:
    """One start of a tool that does not only read, and what came of it. Times are seconds since the Unix epoch.

    The key is the identity: one row a key and a call. What is written of it goes up only:

        INTENDED -> STARTED -> UNKNOWN -> SUCCEEDED | FAILED     (steps may be left out)
        attempt + 1: any but SUCCEEDED -> STARTED                (a retry by the same key)
    """

    key: str
    """Unreadable, and the same through retries: what a backend is given as the idempotency key."""
    tool: str
    """Which tool: its owner and name."""
    call_id: str = ""
    """The id of the model's call."""
    state: RowState = RowState.INTENDED
    arguments: str = "{}"
    """JSON, as the model gave them, without what is secret."""
    identity: str = ""
    """What of the arguments makes the wish."""
    number: int = 1
    """Among the rows of its wish."""
    attempt: int = 1
    turn: int = 0
    """The turn of the caller that it was started in."""
    output: str = ""
    """What the model reads of the outcome."""
    contract: Mapping[str, Any] = field(default_factory=dict)
    """What its tool promised when it was started, as JSON data: a row is recovered by it, not by today's tool."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """JSON data that the store does not look into. May change in any state."""
    intended_at: float | None = None
    started_at: float | None = None
    settled_at: float | None = None
    closed_at: float | None = None
    """When the caller had heard the outcome, or it was given up."""
    deadline: float | None = None
    """When its run has certainly ended, whatever became of its worker."""
    epoch: int = 0
    """Of the lease under which it was started last. The store puts it here."""

    def started(self, at: float, *, deadline: float | None = None) -> Row:
        """As it is written before its function is entered. A row that was started before: a further attempt."""
        again = self.state is not RowState.INTENDED
        return replace(
            self,
            state=RowState.STARTED,
            started_at=at,
            deadline=deadline,
            attempt=self.attempt + again,
            settled_at=None,
            closed_at=None,
        )

    def settled(self, state: RowState, output: str, *, at: float) -> Row:
        """What came of it. The caller has not heard that."""
        return replace(self, state=state, output=output, settled_at=at, closed_at=None)

    def resolved(self, state: RowState, output: str, *, at: float, attempt: int | None) -> Row:
        """As `Store.resolve` is to write it. Raises `StoreConflict` if another attempt was begun since."""
        new = self.settled(state, output, at=at)
        if attempt is not None and attempt != self.attempt:
            raise _conflict(self, replace(new, attempt=attempt), "was begun again since")
        return new

    def closed(self, at: float) -> Row:
        """The caller has heard what came of it, or it was given up."""
        return replace(self, closed_at=at)

    @property
    def name(self) -> str:
        """What the model calls its tool."""
        return str(self.extra.get("name") or self.tool)

    @property
    def is_open(self) -> bool:
        """What came of it is not known, or the caller has not heard it."""
        return self.closed_at is None or self.state is RowState.UNKNOWN

    def to_json(self) -> str:
        """As one line of ASCII."""
        data = {name: getattr(self, name) for name in self.__match_args__}
        data |= {"state": self.state.value, "contract": dict(self.contract), "extra": dict(self.extra)}
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str | bytes) -> Row:
        """The row of a line. Fields that this version does not know are left out. Raises `StoreError`."""
        try:
            data = json.loads(line)
            data["state"] = RowState(data["state"])
            return cls(**{name: data[name] for name in cls.__match_args__ if name in data})
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(f"store: expected a row, got {line[:80]!r}: {error}. Was the store changed?") from None


_FIXED = ("key", "tool", "arguments", "identity", "number")
"""What is the same in all that is written of a row."""


def merged(stored: Row | None, new: Row) -> Row | None:
    """What is to stand in the place of `stored` when `new` is written; None: all of it stands there already.

    All stores judge by this. Raises `StoreConflict` if neither follows from the other: it was started by somebody else,
    or its outcome is settled otherwise.
    """
    if stored is None:
        return new
    if any(getattr(stored, name) != getattr(new, name) for name in _FIXED):
        raise _conflict(stored, new, "is of another call")
    before, after = (stored.attempt, _RANK[stored.state]), (new.attempt, _RANK[new.state])
    if new.attempt > stored.attempt:
        if stored.state is RowState.SUCCEEDED:
            raise _conflict(stored, new, "is done, and is not attempted again")
        return replace(new, contract=stored.contract or new.contract)
    is_same_start = stored.started_at is None or new.started_at is None or stored.started_at == new.started_at
    if new.attempt == stored.attempt and not is_same_start:
        raise _conflict(stored, new, "was started by somebody else")
    if after < before:
        return None  # written before, and overtaken since
    if after == before and stored.state is not new.state:
        raise _conflict(stored, new, "is settled, for good")
    both = replace(new, contract=stored.contract or new.contract, epoch=stored.epoch or new.epoch)
    if after == before:
        both = replace(
            both,
            output=stored.output or new.output,
            settled_at=new.settled_at if stored.settled_at is None else stored.settled_at,
            closed_at=new.closed_at if stored.closed_at is None else stored.closed_at,
        )
    return None if both == stored else both


def _conflict(stored: Row, new: Row, why: str) -> StoreConflict:
    return StoreConflict(
        f"store: the row {new.key!r} of {new.tool} {why}: expected to write {new.state.value} (attempt {new.attempt}),"
        f" found {stored.state.value} (attempt {stored.attempt}). Do not start it: go by what is found.",
        found=stored,
    )


@frozen
class CallMeta:
    """What is known of a call, for whoever takes it over or looks for it. The worker keeps it up to date."""

    caller: str = ""
    """Who calls, as the application has identified them."""
    agents: tuple[str, ...] = ()
    """The ids of the agents, the lowest first, the one in charge last."""
    version: int = 0
    """Of the format of parts and streams."""
    antiphon: str = ""
    """The version that wrote last, for example "0.1.0"."""
    began: float = 0.0
    ended: float | None = None
    reason: str = ""
    """Why it ended."""


@frozen
class CallInfo:
    """A call, as lists show it."""

    id: str
    meta: CallMeta
    epoch: int
    worker: str
    """Who holds it, or held it last."""
    is_held: bool
    """Its lease has not run out, by the store's clock."""
    touched: float
    """When something was written of it last, to the second."""


@frozen
class StoredCall:
    """All that is kept of a call but its streams, whose lengths are here."""

    info: CallInfo
    rows: tuple[Row, ...]
    """In the order in which they were first written."""
    parts: Mapping[str, bytes]
    lengths: Mapping[str, int]
    """How many entries each stream has: the position of the next."""


def lease_clock() -> float:
    """Seconds of the monotonic clock by which leases go: on Linux also those for which the machine slept."""
    return time.monotonic() if _BOOT is None else time.clock_gettime(_BOOT)


class Lease:
    """That this worker holds a call: the right to write of it, and to start its tools."""

    __slots__ = ("_until", "call", "epoch", "worker")

    def __init__(self, call: str, worker: str, epoch: int, until: float = math.inf) -> None:
        self.call = call
        self.worker = worker
        self.epoch = epoch
        """Grows with each taking over."""
        self._until = until

    @property
    def held(self) -> bool:
        """Whether nobody else can hold the call now. Asks no one: by the monotonic clock, on the safe side."""
        return self._until == math.inf or lease_clock() < self._until

    @property
    def is_over(self) -> bool:
        """It was given back, or another worker has the call: for good. One that ran out may be renewed yet."""
        return self._until == -math.inf

    def renewed(self, until: float) -> None:
        """The store has granted it up to then: `lease_clock()`, counted from before it was asked."""
        if not self.is_over:
            self._until = until

    def lost(self) -> None:
        """Another worker holds the call, or it was given back. For good."""
        self._until = -math.inf

    def __repr__(self) -> str:
        return f"Lease({self.call!r}, {self.worker!r}, epoch={self.epoch}, held={self.held})"


class Store(ABC):
    """Keeps calls. Its methods may be called from any thread; what is asked for is done in the order of asking.

    What a process that has no lease may do: `load`, `entries`, `calls`, `rows`, `resolve`, `erase`, `prune`.
    """

    durability: Durability
    """What its acknowledgements mean. Proved when it is opened, where that is possible."""

    secret: FingerprintKey = key_of_fingerprints
    """What the keys of its calls are made with: the same in all processes that keep calls in it, and not kept in it."""

    def __str__(self) -> str:
        """As people are told where calls are kept, without passwords."""
        return type(self).__name__

    async def __aenter__(self) -> Self:
        """Open it. Raises `StoreError` if it cannot be, or does not keep what its `durability` promises."""
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Write what is waiting, five seconds at most, give back all leases, and close. May be called twice.

        What could not be written by then has its error. Raises nothing.
        """

    @property
    def trouble(self) -> StoreError | None:
        """Why it cannot write at this moment; None: it can. What was handed over waits for it."""
        return None

    def on_trouble(self, told: Callable[[StoreError | None], None]) -> Callable[[], None]:
        """Have `told(error)` called when it stops being able to write, and `told(None)` when it is again.

        From a thread of the store. Returns what ends that. Stores that have no trouble never call.
        """
        return lambda: None

    # -- who holds a call

    @abstractmethod
    async def lease(self, call: str, worker: str) -> Lease:
        """Hold a call: a new one, or one whose lease has run out or was given back. The epoch grows by one.

        The store renews it until `release`. A worker that holds it already gets it as it is. `worker` must be another
        one in each process and at each start. Raises `LeaseHeld` and `StoreUnavailable`.
        """

    @abstractmethod
    def release(self, lease: Lease) -> Pending | None:
        """Give a call back, after all that was asked for it: another worker may hold it at once."""

    # -- what its holder writes

    @abstractmethod
    def append(self, lease: Lease, position: int, entries: Sequence[bytes], stream: str = JOURNAL) -> Pending | None:
        """Add entries to a stream of the call, the first of them at `position`, counted from 0. On disk in a second.

        Entries that stand there already are recognised. Error: `StoreConflict` if others do, or if some before are
        missing.
        """

    @abstractmethod
    def intend(self, lease: Lease, row: Row) -> Pending | None:
        """A tool is to be started. Error: `StoreConflict`, as `merged` says."""

    @abstractmethod
    def start(self, lease: Lease, row: Row) -> Pending | None:
        """A tool is about to be started: what its caller waits for. Error: `StoreConflict`, and then do not start it.

        If the store cannot write, it is refused at once (`StoreUnavailable`) and not kept for later.
        """

    @abstractmethod
    def settle(self, lease: Lease, row: Row) -> Pending | None:
        """There is more to know of a row: what came of it, or that the caller has heard it.

        The row is written whole, so it does not matter whether what was written of it before was lost.
        """

    @abstractmethod
    def keep(
        self, lease: Lease, meta: CallMeta | None = None, parts: Mapping[str, bytes | None] | None = None
    ) -> Pending | None:
        """Replace what is known of the call, and these parts of what it needs to go on (None: takes one away)."""

    @abstractmethod
    def flush(self) -> Pending | None:
        """Done when all is that was asked for before."""

    def transaction(self, lease: Lease, row: Row) -> AbstractAsyncContextManager[Any]:
        """A connection to the database of the store, in a transaction that settles `row` when it is left.

        The rows that a tool writes by it and the row of the ledger are there together, or not at all. Left by an
        exception: neither is. Raises `LeaseLost` or `StoreConflict`, and then neither is. For stores that can.
        """
        raise UsageError(
            f"ctx.transaction(): expected a store whose database tools can write to, got {self}. Keep calls in"
            " PostgreSQL (--store postgresql://...), or write without it, with ctx.idempotency_key."
        )

    # -- what anybody may ask

    @abstractmethod
    async def load(self, call: str) -> StoredCall | None:
        """A call, as far as it was acknowledged; None: there is none of that id."""

    @abstractmethod
    async def entries(self, call: str, stream: str = JOURNAL, first: int = 0, most: int = 1000) -> list[bytes]:
        """Entries of a stream from position `first` on, at most so many."""

    @abstractmethod
    async def calls(self, *, caller: str | None = None, held: bool | None = None, most: int = 100) -> list[CallInfo]:
        """Calls, the one written last first. `held=False`: those that no worker holds."""

    @abstractmethod
    async def rows(
        self,
        *,
        call: str | None = None,
        caller: str | None = None,
        states: Sequence[RowState] = (),
        since: float = 0.0,
        most: int = 1000,
    ) -> list[tuple[CallInfo, Row]]:
        """Rows with their calls, the one written last first. `since`: written then or later."""

    @abstractmethod
    async def resolve(
        self, call: str, key: str, state: RowState, output: str, at: float, *, attempt: int | None = None
    ) -> Row:
        """A person, a backend or who did not enter it says what came of a row: SUCCEEDED or FAILED. Needs no lease.

        `attempt`: that alone is meant. Returns the row. Raises `StoreConflict` if it is settled otherwise, or was begun
        again since, `StoreError` if there is none.
        """

    @abstractmethod
    async def erase(self, *, call: str | None = None, caller: str | None = None, keep_rows: bool = False) -> int:
        """Erase a call, or all of a caller, for good. What that means for the bytes in files: `docs/store.md`.

        `keep_rows`: the ledger stays, and what is known of the call. What goes is what it needed to go on: streams and
        parts. Returns how many there were. Raises `LeaseHeld`, and erases nothing, if one of them goes on.
        """

    @abstractmethod
    async def prune(self, before: float, *, unknown: bool = False) -> int:
        """Erase all calls that nobody holds and of which nothing was written since. Returns how many.

        Those with rows of which nobody knows what came of them stay, unless `unknown`.
        """


def refused(error: StoreError) -> Pending:
    """What was asked for is not done, and why: for stores."""
    pending: Pending = Future()
    pending.set_exception(error)
    return pending


class _Handed(Executor):
    """An executor that has been given its work already."""

    def __init__(self, pending: Future[Any]) -> None:
        self._pending = pending

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._pending


def outcome(pending: Future[T]) -> asyncio.Future[T]:
    """To be awaited. Other than `asyncio.wrap_future`, a loop whose clock is virtual knows that a thread is at work."""
    if isinstance(pending, PendingOnLoop):
        return cast("asyncio.Future[T]", asyncio.wrap_future(pending))
    result: asyncio.Future[T] = asyncio.get_running_loop().run_in_executor(_Handed(pending), _nothing)
    return result


def _nothing() -> Any:
    """What is submitted to an executor that has its work."""


async def acknowledged(pending: Pending | None, within: float = START_LIMIT) -> None:
    """Wait until it is done. Raises its error, and `StoreUnavailable` after so many seconds: then it is withdrawn.

    Where it could not be withdrawn any more, `may_have_happened` is True: settle it behind that, as not run.
    """
    if pending is None:
        return
    try:
        async with asyncio.timeout(within):
            await outcome(pending)
    except TimeoutError:
        withdrawn = pending.cancel()
        if pending.done() and not withdrawn:
            return pending.result()
        raise StoreUnavailable(
            f"store: expected an acknowledgement within {within:g} s, got none. Look whether its disk or its server is"
            " overloaded or out of reach.",
            may_have_happened=not withdrawn,
        ) from None


def open_store(address: str) -> Store:
    """The store at an address; it is opened by `async with`.

    "memory:", a path or "sqlite:///path" (three slashes: relative, four: absolute), "postgresql://user@host/database",
    or one of an installed package (entry points `antiphon.stores`, by scheme). Raises `UsageError`.
    """
    scheme, colon, _ = address.partition(":")
    if not colon or len(scheme) < 2 or "/" in scheme:  # one letter: a drive
        address = f"sqlite:///{address}" if address else address
    store = load_for("antiphon.stores", address)
    if not isinstance(store, Store):
        raise UsageError(
            f"antiphon.stores: expected {scheme!r} to make an antiphon.store.Store, got {type(store).__name__}. Name a"
            " subclass of it, or a function that returns one."
        )
    return store
