"""A store that is slow, full, or fails, and that acknowledges what it did not say it had done.

Above: a call with faults. Below: the store in memory, which keeps what gets through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from antiphon.chat import Clock
from antiphon.errors import StoreError, StoreUnavailable
from antiphon.store import JOURNAL, CallMeta, Lease, Pending, PendingOnLoop, Row, RowState
from antiphon.stores.memory import MemoryStore
from antiphon.testing.chaos.before import StoreBefore

if TYPE_CHECKING:
    from antiphon.testing.chaos.faults import Faults, Kind

SLOW: Final = 5.0
"""Seconds that a slow write takes, and after which an acknowledgement that is lost is given up."""
FULL: Final = 15.0
"""Seconds for which the disk is full."""


class FaultyStore(StoreBefore):
    """Keeps a call in `kept`, on the event loop that it was made on. Writes are done in the order of asking.

    `killed()` ends the process that writes; `froze(pending)` freezes it until `pending` is done.
    """

    def __init__(
        self,
        faults: Faults,
        kept: MemoryStore | None = None,
        *,
        killed: Callable[[], None] | None = None,
        froze: Callable[[PendingOnLoop], None] | None = None,
    ) -> None:
        self._killed = killed
        self._froze = froze
        super().__init__(kept or MemoryStore(Clock.wall))
        self._faults = faults
        self._loop = asyncio.get_running_loop()
        self._busy_until = 0.0
        self._trouble: StoreError | None = None
        self._told: list[Callable[[StoreError | None], None]] = []

    @property
    def trouble(self) -> StoreError | None:
        return self._trouble

    def on_trouble(self, told: Callable[[StoreError | None], None]) -> Callable[[], None]:
        self._told.append(told)
        return lambda: self._told.remove(told)

    async def starts(self) -> int:
        """How often a row says that its tool is about to be entered, or was."""
        return sum(row.attempt for _, row in await self._behind.rows() if row.state is not RowState.INTENDED)

    # -- what its holder writes

    def append(self, lease: Lease, position: int, entries: Sequence[bytes], stream: str = JOURNAL) -> Pending | None:
        return self._done(lambda: self._behind.append(lease, position, entries, stream))

    def intend(self, lease: Lease, row: Row) -> Pending | None:
        return self._row(lambda: self._behind.intend(lease, row))

    def start(self, lease: Lease, row: Row) -> Pending | None:
        return self._row(lambda: self._behind.start(lease, row))

    def settle(self, lease: Lease, row: Row) -> Pending | None:
        return self._row(lambda: self._behind.settle(lease, row))

    def keep(
        self, lease: Lease, meta: CallMeta | None = None, parts: Mapping[str, bytes | None] | None = None
    ) -> Pending | None:
        return self._done(lambda: self._behind.keep(lease, meta, parts))

    def flush(self) -> Pending | None:
        return self._done(lambda: None)

    def release(self, lease: Lease) -> Pending | None:
        return self._behind.release(lease)

    def _row(self, work: Callable[[], Pending | None]) -> Pending | None:
        """A row is written: something may go wrong with it."""
        kinds = self._faults.meet("row")
        for kind in kinds:
            self._faults.has_come(kind, self._faults.met["row"])
        if (done := self._ends(kinds, work)) is not None:
            return done
        if "store-full" in kinds:
            self._is_full()
        if "store-failing" in kinds:
            return _failed(StoreUnavailable("store: the connection broke. Look after it."))
        if "ack-lost" in kinds:
            return self._unacknowledged(work)
        return self._done(work, SLOW if "store-slow" in kinds else 0.0)

    def _ends(self, kinds: tuple[Kind, ...], work: Callable[[], Pending | None]) -> Pending | None:
        """The process ends at a row, or freezes behind it."""
        if self._killed is None or self._froze is None:
            return None
        if "killed-unwritten" in kinds:
            self._killed()
            return PendingOnLoop()
        if "killed-written" in kinds:
            work()
            self._killed()
            return PendingOnLoop()
        if "frozen" in kinds:
            work()
            pending = PendingOnLoop()
            pending.set_running_or_notify_cancel()
            self._froze(pending)
            return pending
        return None

    def _is_full(self) -> None:
        self._trouble = StoreUnavailable("store: the disk is full. Make room.")
        self._loop.call_later(FULL, self._has_room)
        for told in list(self._told):
            told(self._trouble)

    def _has_room(self) -> None:
        self._trouble = None
        for told in list(self._told):
            told(None)

    def _done(self, work: Callable[[], Pending | None], seconds: float = 0.0) -> Pending | None:
        if self._trouble is not None:
            return _failed(self._trouble)
        now = self._loop.time()
        if not seconds and self._busy_until <= now:
            return work()
        self._busy_until = max(now, self._busy_until) + seconds
        pending = PendingOnLoop()
        self._loop.call_at(self._busy_until, _do, pending, work)
        return pending

    def _unacknowledged(self, work: Callable[[], Pending | None]) -> Pending | None:
        """It is written, and nobody hears of that."""
        pending = PendingOnLoop()
        pending.set_running_or_notify_cancel()
        self._done(work)
        lost = StoreUnavailable("store: the connection broke before it answered.", may_have_happened=True)
        self._loop.call_later(SLOW, pending.set_exception, lost)
        return pending


def _failed(error: StoreError) -> Pending:
    pending = PendingOnLoop()
    pending.set_exception(error)
    return pending


def _do(pending: Pending, work: Callable[[], Pending | None]) -> None:
    """Unless it was withdrawn meanwhile."""
    if not pending.set_running_or_notify_cancel():
        return
    done = work()
    error = None if done is None else done.exception()
    if error is None:
        pending.set_result(None)
    else:
        pending.set_exception(error)
