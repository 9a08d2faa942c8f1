"""One thread that writes for all calls of a process: in order, many in one commit, and again if the disk says no.

Theory of operation. What is asked for joins a queue. The thread takes all that waits and has it committed as one
transaction; while the disk works, the next group gathers. What nobody waits for (entries of a journal) lingers for
`LINGER` seconds, so that not each of them has the disk synced; what is urgent takes along all before it.

If a commit fails, what is waited for is refused at once, and all else stays in the queue, is tried again every
`AGAIN` seconds, and can be written later as it is: what was written before is recognised. The queue is bounded, and
what finds it full is refused. Leases are renewed by the same thread, between commits.

Above: `QueuedStore`. Below: a `Database`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from antiphon.errors import LeaseLost, StoreError, StoreUnavailable
from antiphon.store import Lease, lease_clock
from antiphon.stores.changes import Asked, Database, GiveBack, Nothing, Take

logger = logging.getLogger("antiphon")

LINGER = 0.2
"""Seconds that what nobody waits for waits for company."""

AGAIN = 0.25
"""Seconds between two tries to write what could not be written."""

MOST_WAITING = 50_000_000
"""Bytes that may wait for a disk that does not keep up. Of rows, twice as many."""

MOST_AT_ONCE = 1_000
"""Changes in one transaction."""

CLOSING_LIMIT = 5.0
"""Seconds that closing waits for the disk."""

Told = Callable[[StoreError | None], None]


class Writer:
    """Owns the thread, the queue and the leases. `connect` opens the thread's own connection, in the thread."""

    def __init__(self, name: str, connect: Callable[[], Database], lease: float) -> None:
        self.trouble: StoreError | None = None
        self._name = name
        self._connect = connect
        self._lease_seconds = lease
        self._wake = threading.Condition()
        self._waiting: list[Asked] = []
        self._size = 0
        self._urgent = False
        self._since = 0.0
        """When the first of what lingers was asked for."""
        self._leases: frozenset[Lease] = frozenset()
        """Replaced as a whole, for other threads look at them."""
        self._renew_at = 0.0
        self._told: list[Told] = []
        self._closing = False
        self._give_up_at = 0.0
        self._thread: threading.Thread | None = None

    # -- any thread

    def ask(self, asked: Asked) -> None:
        """Have it written. What comes of it is told by `asked.done`."""
        with self._wake:
            if error := self._refusal(asked):
                asked.done.set_exception(error)
                return
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting.append(asked)
            self._size += asked.size
            if asked.urgent and not self._urgent:
                self._urgent = True
                self._wake.notify()
            elif len(self._waiting) == 1:
                self._wake.notify()  # it lingers, and is to be looked at when that is over
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"store {self._name}", daemon=True)
                self._thread.start()

    def _refusal(self, asked: Asked) -> StoreError | None:
        if self._closing:
            return StoreUnavailable(f"store {self._name}: it was closed. Close it after the calls that it keeps.")
        if asked.waited_for and self.trouble is not None:
            return StoreUnavailable(str(self.trouble))
        if self._size > MOST_WAITING * (1 + asked.urgent):
            return StoreUnavailable(
                f"store {self._name}: it does not keep up: {self._size:,} bytes wait to be written."
                f" {self.trouble or 'Its disk or its server is too slow.'}"
            )
        return None

    def on_trouble(self, told: Told) -> Callable[[], None]:
        """As `Store.on_trouble`."""
        self._told.append(told)

        def end() -> None:
            if told in self._told:
                self._told.remove(told)

        return end

    def close(self) -> None:
        """Write what waits, `CLOSING_LIMIT` seconds at most, and give back the leases. Waits for it."""
        with self._wake:
            if self._closing:
                return
            held = [lease for lease in self._leases if not lease.is_over]
        for lease in held:
            self.ask(Asked(lease, GiveBack()))
        with self._wake:
            self._closing = True
            self._give_up_at = time.monotonic() + CLOSING_LIMIT
            self._wake.notify()
        if self._thread is not None:
            self._thread.join(CLOSING_LIMIT + 1.0)
        for lease in held:
            lease.lost()
        with self._wake:
            self._abandon(StoreUnavailable(f"store {self._name}: it was closed before this could be written."))

    def _abandon(self, error: StoreError) -> None:
        for asked in self._waiting:
            if not asked.done.done():
                _fail(asked, error)
        self._waiting.clear()
        self._size = 0

    # -- its own thread

    def _work(self) -> None:
        database: Database | None = None
        while True:
            batch = self._next()
            if batch is None:
                break
            try:
                database = self._turned(database, batch)
            except StoreUnavailable as error:
                database = self._failed(database, batch, error)
            except StoreError as error:  # it cannot be opened: not by waiting, either
                database = self._failed(database, batch, StoreUnavailable(str(error)))
            except Exception as error:
                if self.trouble is None:
                    logger.exception("store %s", self._name)
                database = self._failed(database, batch, StoreUnavailable(f"store {self._name}: {error!r}"))
        if database is not None:
            database.close()

    def _turned(self, database: Database | None, batch: list[Asked]) -> Database:
        """A connection that broke while it was not used keeps nobody from being served: all can be asked again."""
        if database is not None:
            try:
                self._turn(database, batch)
                return database
            except StoreUnavailable:
                if not database.is_gone:
                    raise
                database.close()
        database = self._connect()
        try:
            self._turn(database, batch)
        except BaseException:
            database.close()
            raise
        return database

    def _next(self) -> list[Asked] | None:
        """What is to be written now, which may be nothing. None: it is over."""
        with self._wake:
            while not (self._closing or self._is_due()):
                self._wake.wait(self._pause())
            if self._closing and (not self._waiting or time.monotonic() > self._give_up_at):
                return None
            if self.trouble is not None and self._closing:
                self._wake.wait(AGAIN)
            batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
            self._size -= sum(asked.size for asked in batch)
            self._urgent = bool(self._waiting)
            self._since = time.monotonic()
            return batch

    def _is_due(self) -> bool:
        return (self._urgent and self.trouble is None) or self._pause() <= 0

    def _pause(self) -> float:
        """Seconds until there is something to do, if nothing urgent comes."""
        now = time.monotonic()
        at = [self._renew_at] if self._leases else []
        if self.trouble is not None:
            at.append(self._since + AGAIN)
        elif self._waiting:
            at.append(self._since + LINGER)
        return max(0.0, min(at, default=now + 60.0) - now)

    def _turn(self, database: Database, batch: list[Asked]) -> None:
        batch[:] = [asked for asked in batch if not asked.done.done() and _begins(asked)]
        if any(not isinstance(asked.change, Nothing) for asked in batch):
            began = lease_clock()
            self._written(batch, self._commit(database, batch), began)
        elif self.trouble is not None:
            database.probe()
            self._tell(None)
        for asked in batch:
            if not asked.done.done():
                asked.done.set_result(None)
        if self._leases and time.monotonic() >= self._renew_at:
            self._renew(database)
        database.tidy(busy=bool(self._waiting))

    def _commit(self, database: Database, batch: Sequence[Asked]) -> list[Any]:
        try:
            return database.commit(batch)
        except StoreError:
            raise
        except Exception as error:
            if len(batch) == 1:
                logger.exception("store %s: %r cannot be written", self._name, batch[0].change)
                return [StoreError(f"store {self._name}: this cannot be written: {error!r}. Report it, with the log.")]
        results: list[Any] = []
        for asked in batch:  # one of them cannot be written, and keeps back none of the others
            results += self._commit(database, [asked])
        return results

    def _written(self, batch: Sequence[Asked], results: Sequence[Any], began: float) -> None:
        if self.trouble is not None:
            self._tell(None)
        for asked, result in zip(batch, results, strict=True):
            match asked.change:
                case Take() if isinstance(result, int):
                    lease = Lease(asked.lease.call, asked.lease.worker, result, began + self._lease_seconds)
                    self._hold(lease)
                    asked.done.set_result(lease)
                    continue
                case GiveBack():
                    self._let_go(asked.lease)
            if isinstance(result, LeaseLost):
                self._let_go(asked.lease)
            if isinstance(result, StoreError):
                asked.done.set_exception(result)
            else:
                asked.done.set_result(None)

    def _hold(self, lease: Lease) -> None:
        if not self._leases:
            self._renew_at = time.monotonic() + self._lease_seconds / 4
        self._leases |= {lease}

    def _let_go(self, lease: Lease) -> None:
        lease.lost()
        self._leases -= {lease}

    def _renew(self, database: Database) -> None:
        began = lease_clock()
        self._renew_at = time.monotonic() + self._lease_seconds / 4
        self._leases = frozenset(lease for lease in self._leases if not lease.is_over)
        lost = set(database.renew(self._leases, self._lease_seconds))
        for lease in self._leases - lost:
            lease.renewed(began + self._lease_seconds)
        for lease in lost:
            self._let_go(lease)

    def _failed(self, database: Database | None, batch: list[Asked], error: StoreUnavailable) -> Database | None:
        """Nothing of it could be written. What is waited for is told; all else stays, before what came since."""
        stays = []
        for asked in batch:
            if asked.waited_for and not asked.done.done():
                _fail(asked, error)
            elif not asked.done.done():
                stays.append(asked)
        with self._wake:
            self._size += sum(asked.size for asked in stays)
            self._waiting[:0] = stays
            self._since = time.monotonic()
            self._renew_at = max(self._renew_at, self._since + AGAIN)
        self._tell(error)
        if database is not None:
            database.close()
        return None

    def _tell(self, trouble: StoreError | None) -> None:
        is_news = (trouble is None) is not (self.trouble is None)
        self.trouble = trouble
        if not is_news:
            return
        if trouble is not None:
            with self._wake:
                late = [asked for asked in self._waiting if asked.waited_for]
                self._waiting = [asked for asked in self._waiting if not asked.waited_for]
                self._size -= sum(asked.size for asked in late)
            for asked in late:
                _fail(asked, StoreUnavailable(str(trouble)))
        for told in list(self._told):
            try:
                told(trouble)
            except Exception:
                logger.exception("store %s: a listener", self._name)


def _begins(asked: Asked) -> bool:
    """Whether it is still wanted. From now on it cannot be withdrawn."""
    return asked.done.running() or asked.done.set_running_or_notify_cancel()


def _fail(asked: Asked, error: StoreError) -> None:
    if asked.done.running() or asked.done.set_running_or_notify_cancel():
        asked.done.set_exception(error)
