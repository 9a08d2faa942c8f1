"""The rows of a call in its store: INTENDED, STARTED, what came of it, and that the caller has heard it.

Above: the tool runner, which waits for STARTED and for nothing else; `keeping`, which passes on what the core tells.
Below: the contract of stores. A row is written whole each time, so what a store did not take is simply written again.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Protocol

from antiphon.core.codec import to_data
from antiphon.core.facts import WriteOutcome
from antiphon.core.ledger import tool_of
from antiphon.core.texts import unknown_outcome
from antiphon.errors import LeaseLost, StoreConflict, StoreError, StoreUnavailable
from antiphon.options import ToolPolicy
from antiphon.runtime.keys import Keys
from antiphon.runtime.run import Run
from antiphon.store import Lease, Pending, Row, RowState, Store, acknowledged
from antiphon.tools.tool import ToolError

_STATES: Mapping[WriteOutcome, RowState] = {
    "succeeded": RowState.SUCCEEDED,
    "failed": RowState.FAILED,
    "unknown": RowState.UNKNOWN,
}


class NotStarted(Exception):
    """A tool must not be entered. `found`: another worker's row of it, if that is why."""

    def __init__(self, why: str, found: Row | None = None) -> None:
        super().__init__(why)
        self.found = found


class Keeper(Protocol):
    """What rows are kept with."""

    @property
    def store(self) -> Store: ...
    @property
    def call(self) -> str: ...
    @property
    def lease(self) -> Lease | None:
        """None: the call is not held."""

    @property
    def trouble(self) -> StoreError | None:
        """Why the store does not write at this moment."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""

    def in_trouble(self, error: BaseException) -> None:
        """The store has refused, or not answered."""

    def hand_over_history(self) -> None:
        """Have the store given what is in the history, before what is asked for after this."""

    def hand_over_soon(self) -> None:
        """Have what is not written yet written with the next entries."""

    def not_run(self, row: Row) -> None:
        """Have it said in the store, though another process holds the call, that this attempt did not happen."""

    def watch(self, pending: Pending | None, told: Callable[[BaseException | None], None]) -> None:
        """Have `told(error)` called on the event loop when it is done, at once if it is."""


class KeptRows:
    """The rows of one call."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self.keys = Keys(lambda: keeper.store.secret.get(), keeper.call)
        self._effects_before: dict[str, Row] = {}
        """By key: effects within tools, of processes before this one."""
        self._rows: dict[str, Row] = {}
        """By key: all that is not closed."""
        self._keys: dict[int, str] = {}
        """By run."""
        self._unwritten: set[str] = set()
        """Keys of rows that the store did not take as they are."""
        self._at_work: dict[int, Run] = {}
        """By run: those whose function was entered, or is about to be."""
        self._not_run: set[str] = set()
        """Keys of rows that may be written down as started, and are not."""
        self._turns_before = 0
        """Turns that the caller took in other processes."""

    def resumed(self, rows: Sequence[Row], numbers: Mapping[str, int], turns: int = 0) -> None:
        """These are from before this process. `numbers`: by key, what each is known by; `turns`: the caller's so far.

        What was started there may have happened; what was only to be started has not.
        """
        self._turns_before = turns
        for row in rows:
            if is_effect(row):
                self._effect_before(row)
            if row.key not in numbers:
                continue
            self._rows[row.key] = row
            self._keys[numbers[row.key]] = row.key
            if row.state is RowState.STARTED:
                self.settle(row.key, RowState.UNKNOWN, unknown_outcome(row.name))
            elif row.state is RowState.INTENDED:
                self.settle(row.key, RowState.FAILED, "It was not started: its process ended before.")
                self.told(numbers[row.key])

    @property
    def epoch(self) -> int | None:
        """That under which the call is held."""
        return None if self._keeper.lease is None else self._keeper.lease.epoch

    # -- before the function is entered

    def intend(self, run: Run, policy: ToolPolicy) -> None:
        """A tool that writes is to be started."""
        call = run.call
        row = Row(
            run.key,
            tool_of(call),
            call.call_id,
            arguments=call.arguments or "{}",
            identity=call.identity or call.canonical,
            number=run.number,
            turn=self._turns_before + run.turn,
            contract=to_data(policy),
            extra={"name": call.name},
            intended_at=self._keeper.now(),
        )
        self._keys[run.id] = row.key
        known = self._rows.get(row.key)
        if known is not None:  # it is tried again with the same key
            self._rows[row.key] = replace(known, call_id=call.call_id)
            return
        self._intended(row)

    def _intended(self, row: Row) -> None:
        """Not written at once: where its start follows, that waits for no commit but its own."""
        self._rows[row.key] = row
        self._unwritten.add(row.key)
        self._keeper.hand_over_soon()

    async def start(self, run: Run) -> None:
        """Have it written down that the tool is about to be entered. To be the last that happens before.

        Raises `NotStarted`, within two seconds: then it must not be.
        """
        self._at_work[run.id] = run
        await self._start(self._keys[run.id], run)

    async def _start(self, key: str, run: Run) -> None:
        keeper, before = self._keeper, self._rows[key]
        if keeper.lease is None or keeper.trouble is not None:
            raise NotStarted("the store does not answer")
        if not keeper.lease.held:
            raise NotStarted("another process holds the call")
        self._not_run.discard(key)
        row = self._rows[key] = before.started(keeper.now(), deadline=_deadline(run))
        self._unwritten.discard(key)
        keeper.hand_over_history()  # who reads the row finds the words that it was wished with
        pending = keeper.store.start(keeper.lease, row)
        try:
            await acknowledged(pending)
        except StoreConflict as conflict:
            found = conflict.found if isinstance(conflict.found, Row) else None
            self._rows[key] = found or before
            raise NotStarted("something else stands in the store", found) from conflict
        except StoreError as error:
            keeper.in_trouble(error)
            if not (isinstance(error, StoreUnavailable) and error.may_have_happened):
                self._rows[key] = before
            else:
                self._not_run.add(key)
            raise NotStarted("the store did not acknowledge it") from error
        if not keeper.lease.held:  # it was frozen meanwhile
            self._not_run.add(key)
            raise NotStarted("another process may hold the call by now")

    def has_time(self, run: int) -> None:
        """The tool works on, and may do so for longer than it was started for."""
        at_work = self._at_work.get(run)
        row = None if at_work is None else self._rows.get(at_work.key)
        if at_work is not None and row is not None and row.state is RowState.STARTED:
            self._rows[row.key] = replace(row, deadline=_deadline(at_work))
            self._write(self._rows[row.key])

    # -- effects within a tool

    def intend_effect(self, run: Run, name: str, key: str) -> None:
        """Something within a tool is to be done once."""
        row = Row(
            key,
            f"{tool_of(run.call)}/{name}",
            run.call.call_id,
            contract={"effect": "writes"},
            turn=self._turns_before + run.turn,
            extra={"name": f"{run.call.name}/{name}", "within": run.key},
            intended_at=self._keeper.now(),
        )
        self._intended(row)

    async def start_effect(self, run: Run, key: str) -> None:
        """As `start`."""
        await self._start(key, run)

    def _effect_before(self, row: Row) -> None:
        self._rows[row.key] = self._effects_before[row.key] = row
        if row.state is RowState.STARTED:
            self.settle_effect(row.key, RowState.UNKNOWN, unknown_outcome(row.name))
        elif row.state is RowState.INTENDED:
            self.settle_effect(row.key, RowState.FAILED, "It was not started: its process ended before.")

    def effect_before(self, key: str) -> Row | None:
        """The effect of that key, if a process before this one did it, or was to."""
        return self._effects_before.get(key)

    def settle_effect(self, key: str, state: RowState, output: str, value: object = None) -> None:
        """What came of it is known. Its tool tells the caller, so it is closed. `value`: what it gave, as JSON data."""
        if value is not None and key in self._rows:
            row = self._rows[key]
            self._rows[key] = replace(row, extra={**row.extra, "value": value})
        self.settle(key, state, output, closed=state is not RowState.UNKNOWN)

    # -- its own transaction

    @asynccontextmanager
    async def transaction(self, run: Run) -> AsyncIterator[Any]:
        """A connection to the database of the store: what is written by it is there together with the row, or not.

        Raises `ToolError` if it is known that it is not.
        """
        keeper, row = self._keeper, self._rows[run.key]
        if keeper.lease is None:
            raise ToolError(f"`{run.call.name}` could not write anything: nothing was done.")
        done = row.settled(RowState.SUCCEEDED, "", at=keeper.now())
        try:
            async with keeper.store.transaction(keeper.lease, done) as connection:
                yield connection
        except StoreError as error:
            if isinstance(error, StoreUnavailable) and error.may_have_happened:
                raise
            raise ToolError(f"`{run.call.name}` could not write anything: nothing was done.") from error
        self._rows[run.key] = done
        run.commits()

    # -- what came of it

    async def stored(self, key: str) -> Row | None:
        """The row as the store has it: somebody else may have said there what came of it. Raises `StoreError`."""
        lease = self._keeper.lease
        call = None if lease is None else await self._keeper.store.load(lease.call)
        return None if call is None else next((row for row in call.rows if row.key == key), None)

    def ended(self, run: int, outcome: WriteOutcome, output: str) -> None:
        """What came of a run is known, or that nobody knows it."""
        self._at_work.pop(run, None)
        key = self._keys.get(run)
        if key is not None:
            self.settle(key, _STATES[outcome], output)

    def settle(self, key: str, state: RowState, output: str, *, closed: bool = False) -> None:
        """What came of a row is known."""
        row = self._rows.get(key)
        if row is None or (row.state is RowState.SUCCEEDED and state is not row.state):
            return  # it was settled together with what it wrote
        now = self._keeper.now()
        row = row.settled(state, output, at=now)
        self._rows[key] = row.closed(now) if closed else row
        self._write(self._rows[key])

    def told(self, run: int) -> None:
        """The caller has heard what came of a run, or was not to."""
        row = self._rows.get(self._keys.get(run, ""))
        if row is not None:
            self._keeper.hand_over_history()  # who reads that it was told finds what was said
            row = self._rows[row.key] = row.closed(self._keeper.now())
            self._write(row)

    # -- what the store did not take

    @property
    def is_waiting(self) -> bool:
        """The store has still to take some."""
        return bool(self._unwritten)

    def write_again(self) -> None:
        """Write what the store did not take."""
        for key in list(self._unwritten):
            self._unwritten.discard(key)
            self._write(self._rows[key])

    def _write(self, row: Row) -> None:
        keeper = self._keeper
        if keeper.lease is None:
            self._unwritten.add(row.key)
            return
        write = keeper.store.intend if row.state is RowState.INTENDED else keeper.store.settle
        pending = write(keeper.lease, row)
        keeper.watch(pending, lambda error: self._was_written(row, error))

    def _was_written(self, row: Row, error: BaseException | None) -> None:
        if isinstance(error, LeaseLost) and row.state is RowState.FAILED and row.key in self._not_run:
            self._keeper.not_run(row)
        if error is not None and not isinstance(error, StoreConflict):  # there the store knows better
            if row.key in self._rows:  # else all of it was written meanwhile
                self._unwritten.add(row.key)
            self._keeper.in_trouble(error)
        elif self._rows.get(row.key) is row:
            self._unwritten.discard(row.key)  # what was refused before is in what was written now
            if row.state is RowState.SUCCEEDED and row.closed_at is not None:
                del self._rows[row.key]


def is_effect(row: Row) -> bool:
    """It is of an effect within a tool, which has a row of its own."""
    return "within" in row.extra


def _deadline(run: Run) -> float | None:
    """When a run has certainly ended: seconds since the Unix epoch. None: it has all the time that there is."""
    return None if math.isinf(run.until) else run.port.epoch + run.until
