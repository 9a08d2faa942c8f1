"""What a store keeps of a call while it goes on: its journal, its history, and the rows of tools that write.

Above: the session, which opens and closes it; the driver, which has it among its observers; the tool runner, which
waits for one thing of it (`kept_rows`). Below: the contract of stores. Nothing else of the call ever waits for it: what
is to be kept is handed over a few times a second, and kept here while the store does not take it. The call goes on
without a store that fails, with one warning; only tools that write are not started.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

from antiphon.chat import Clock
from antiphon.core.codec import to_data
from antiphon.core.commands import Close, Command, Record, RunTool
from antiphon.core.facts import Fact, RunResumed, ToolUpdated
from antiphon.core.lines import FORMAT, Head, end_line, fact_line, ids_line, version
from antiphon.core.notices import Notice, WriteEnded, WriteTold
from antiphon.errors import LeaseHeld, LeaseLost, StoreConflict, StoreError, StoreUnavailable
from antiphon.events import CloseReason
from antiphon.runtime.kept_rows import KeptRows
from antiphon.runtime.kept_state import PART, KeptState
from antiphon.runtime.kept_stream import KeptStream
from antiphon.runtime.observers import Observer
from antiphon.runtime.port import Port
from antiphon.store import HISTORY, JOURNAL, WORKER, CallMeta, Lease, Pending, Row, Store, StoredCall
from antiphon.visible import to_json

logger = logging.getLogger("antiphon")

EVERY = 0.2
"""Seconds between two times at which what happened is handed over."""

AGAIN = 1.0
"""Seconds after which a store that did not write is asked again."""

TRIES = 10
"""How often a store is asked that does not answer, for what nobody waits for."""

PATIENCE = 0.5
"""Seconds that a call which begins waits for its store. It goes on without an answer, which may come later."""

CLOSING_LIMIT = 1.0
"""Seconds that a call which ends waits for its store."""


class Keeping(Observer):
    """Keeps one call. `failed(error)` is told once of each time at which the store does not write.

    `stored`: what another process kept of it before. `caller`: who calls, if the application knows it. `by_turns`: the
    end of this job is not that of the call.
    """

    def __init__(
        self,
        store: Store,
        call: str,
        failed: Callable[[StoreError], None],
        stored: StoredCall | None = None,
        caller: str = "",
        *,
        by_turns: bool = False,
    ) -> None:
        self.store = store
        self.call = call
        self.lease: Lease | None = None
        self.rows = KeptRows(self)
        self._failed = failed
        self._by_turns = by_turns
        self._loop = asyncio.get_running_loop()
        self._epoch = Clock.wall() - self._loop.time()
        self._trouble: StoreError | None = None
        lengths = {} if stored is None else stored.lengths
        journal, began = _journal(lengths), self.now() if stored is None else stored.info.meta.began
        self._streams = [
            KeptStream(journal, self._ended_early),
            KeptStream(HISTORY, self._ended_early, lengths.get(HISTORY, 0)),
        ]
        known = "" if stored is None else stored.info.meta.caller
        self._meta = CallMeta(caller or known, version=FORMAT, antiphon=version(), began=began)
        self._meta_is_written = False
        self._state: KeptState | None = None
        self._state_is_written = True
        self._parts: dict[str, bytes] = {} if stored is None else dict(stored.parts)
        """As they were handed over last."""
        self._unwritten: set[str] = set()
        """Names of parts that are to be handed over."""
        self._timer: asyncio.TimerHandle | None = None
        self._leasing: asyncio.Task[None] | None = None
        self._is_open = self._is_closed = False
        self._is_asked = False
        """Whether it writes again."""
        self._reason = ""
        self._saying: set[asyncio.Task[None]] = set()
        """Work for rows of a call that another process holds."""

    # -- beginning and end

    async def open(self) -> None:
        """Hold the call. Raises `LeaseHeld` if another process does; waits half a second for anything else."""
        self._leasing = asyncio.create_task(self._hold(), name=f"store: lease of {self.call}")
        await asyncio.wait([self._leasing], timeout=PATIENCE)
        if self._leasing.done():
            return self._leasing.result()
        self._is_open = True
        self.in_trouble(StoreUnavailable(f"{self.store}: expected an answer in {PATIENCE:g} s. Is it overloaded?"))

    async def _hold(self) -> None:
        while not self._is_closed:
            try:
                self.lease = await self.store.lease(self.call, WORKER)
            except StoreError as error:
                if isinstance(error, LeaseHeld) and not self._is_open:
                    raise
                self.in_trouble(error)
                await asyncio.sleep(AGAIN)
            else:
                self._answers(None)
                return

    def begins(self, agent: str, port: Port) -> None:
        """The conversation is about to begin, with this agent."""
        heard = (line for line in port.options.must_hear if line.heard_at is not None)
        self._state, self._state_is_written = KeptState(agent, heard), False
        self._meta, self._meta_is_written = replace(self._meta, agents=(agent,)), False
        journal, _ = self._streams
        head = Head(port.options, agent, port.epoch, port.mark)
        journal.add(lambda: head.line())
        self._hand_over()

    async def aclose(self) -> None:
        """Hand over what is left, and give the call back. Takes a second at most; raises nothing."""
        if self._is_closed:
            return
        self._streams[0].add(end_line, None)
        if not (self._by_turns and self._reason == CloseReason.JOB_SHUTDOWN.value):
            self._meta = replace(self._meta, ended=self.now(), reason=self._reason)
            self._meta_is_written = False
        self._hand_over()
        await self.give_back()

    async def give_back(self) -> None:
        """Give the call back as it is: nothing more is written of it here. Takes a second at most; raises nothing."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._leasing is not None:
            self._leasing.cancel()
            await asyncio.wait([self._leasing])
        if self._saying:
            await asyncio.wait(self._saying, timeout=CLOSING_LIMIT)
            for task in self._saying:
                task.cancel()
        if self.lease is not None and self.lease.held:
            released = asyncio.Event()
            self.watch(self.store.release(self.lease), lambda _: released.set())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSING_LIMIT):
                    await released.wait()

    # -- what happens

    def put(self, part: str, data: bytes) -> None:
        """Keep a part of what the call needs to go on, before what is asked for after this."""
        if self._parts.get(part) != data:
            self._parts[part] = data
            self._unwritten.add(part)
            if self._trouble is None:
                self._hand_over_parts()

    def hand_over_history(self) -> None:
        """Have the store given what is in the history, before what is asked for after this."""
        if self.lease is not None and self._trouble is None:
            self._append(self.lease, self._streams[1])

    def fact(self, at: float, fact: Fact) -> None:
        match fact:
            case RunResumed(run) | ToolUpdated(run):
                self.rows.has_time(run)
        if self._state is not None and self._state.fact(fact):
            self._state_changed()
        self._add(self._streams[0], fact_line, at, fact)

    def span(self, name: str, at: float, **data: object) -> None:
        if name == "time":
            self._add(self._streams[0], fact_line, at, None)
        elif name == "number":
            self._add(self._streams[0], ids_line, at, 1)

    def command(self, at: float, command: Command) -> None:
        if self._state is not None and self._state.command(command):
            self._state_changed()
        match command:
            case RunTool(policy=policy) if policy.effect == "unsaid" and self._trouble is None:
                self._hand_over_parts()  # nobody knows what it does: whoever goes on has to know of it
            case Record(carried=False):
                self._add(self._streams[1], item_line, at, command)
            case Close():
                self._reason = command.reason

    def notice(self, at: float, notice: Notice) -> None:
        match notice:
            case WriteEnded():
                self.rows.ended(notice.run, notice.outcome, notice.output)
            case WriteTold():
                self.rows.told(notice.run)
        if self._state is not None and self._state.notice(notice):
            self._state_changed()
            if self._state.agents != self._meta.agents:
                self._meta, self._meta_is_written = replace(self._meta, agents=self._state.agents), False

    def _state_changed(self) -> None:
        self._state_is_written = False
        self._arm(EVERY)

    def _add(self, stream: KeptStream, make: Callable[..., str], *of: object) -> None:
        stream.add(make, *of)
        if self._timer is None:
            self._arm(EVERY)

    # -- the store

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._epoch + self._loop.time()

    @property
    def trouble(self) -> StoreError | None:
        """Why the store does not write at this moment, as far as it is known here."""
        return self._trouble or self.store.trouble

    def watch(self, pending: Pending | None, told: Callable[[BaseException | None], None]) -> None:
        """Have `told(error)` called on the event loop when it is done, at once if it is."""
        if pending is None:
            told(None)
            return

        def done(of: Future[None]) -> None:
            error = StoreUnavailable(f"{self.store}: it was withdrawn.") if of.cancelled() else of.exception()
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(told, error)

        pending.add_done_callback(done)

    def not_run(self, row: Row) -> None:
        """Say in the store, though another process holds the call, that an attempt of this one did not happen."""
        task = asyncio.create_task(self._say_not_run(row), name=f"store: {row.tool} was not run")
        self._saying.add(task)
        task.add_done_callback(self._saying.discard)

    async def _say_not_run(self, row: Row) -> None:
        for _ in range(TRIES):
            try:
                await self.store.resolve(self.call, row.key, row.state, row.output, self.now(), attempt=row.attempt)
            except StoreUnavailable:
                await asyncio.sleep(AGAIN)
            except StoreError as error:  # whoever holds the call knows better by now
                return logger.info("%s", error)
            else:
                return None

    def hand_over_soon(self) -> None:
        """Have what is not written yet written with the next entries."""
        self._arm(EVERY)

    def in_trouble(self, error: BaseException) -> None:
        """The store has refused, or not answered. From now on it is asked until it does."""
        if not isinstance(error, StoreError) or self._is_closed:
            return
        if self._trouble is None:
            self._trouble = error
            self._tell(error)
        if isinstance(error, LeaseLost):
            for stream in self._streams:
                stream.stop()
        else:
            self._arm(AGAIN)

    def _tell(self, error: StoreError) -> None:
        logger.warning("%s. The call goes on; tools that write are not started meanwhile.", str(error).rstrip("."))
        self._failed(error)

    def _ended_early(self, why: str) -> None:
        self._tell(StoreError(f"{self.store}: {why}"))

    def _answers(self, error: BaseException | None) -> None:
        """The store was asked whether it writes."""
        self._is_asked = False
        if error is not None:
            self.in_trouble(error)
            return
        if self._trouble is not None and not isinstance(self._trouble, LeaseLost):
            logger.warning("%s writes again", self.store)
            self._trouble = None
        self._hand_over()

    # -- handing over

    def _arm(self, seconds: float) -> None:
        if self._timer is None and not self._is_closed:
            self._timer = self._loop.call_later(seconds, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._trouble is None:
            self._hand_over()
        elif self.lease is not None and not self._is_asked and not isinstance(self._trouble, LeaseLost):
            self._is_asked = True
            for stream in self._streams:
                stream.refused()
            self.watch(self.store.flush(), self._answers)

    def _hand_over(self) -> None:
        """Give the store what it does not have yet."""
        lease = self.lease
        if lease is None:
            return
        if not self._meta_is_written:
            self._meta_is_written = True
            self.watch(self.store.keep(lease, self._meta), self._meta_was_written)
        self._hand_over_parts()
        if self.rows.is_waiting:
            self.rows.write_again()
        for stream in self._streams:
            self._append(lease, stream)

    def _hand_over_parts(self) -> None:
        if self._state is not None and not self._state_is_written:
            self._state_is_written = True
            part = self._state.at_work.to_part()
            if self._parts.get(PART) != part:
                self._parts[PART] = part
                self._unwritten.add(PART)
        if self._unwritten and self.lease is not None:
            names, self._unwritten = self._unwritten, set()
            pending = self.store.keep(self.lease, parts={name: self._parts[name] for name in names})
            self.watch(pending, partial(self._parts_were_written, names))

    def _parts_were_written(self, names: set[str], error: BaseException | None) -> None:
        if error is not None:
            self._unwritten |= names
            self.in_trouble(error)

    def _append(self, lease: Lease, stream: KeptStream) -> None:
        fresh = stream.hand_over()
        if fresh is not None:
            position, entries = fresh
            pending = self.store.append(lease, position, entries, stream.name)
            self.watch(pending, partial(self._was_appended, stream, position + len(entries)))

    def _meta_was_written(self, error: BaseException | None) -> None:
        if error is not None:
            self._meta_is_written = False
            self.in_trouble(error)

    def _was_appended(self, stream: KeptStream, end: int, error: BaseException | None) -> None:
        if error is None:
            stream.acknowledged(end)
        elif self._trouble is None:  # else it stands behind what was refused before
            if isinstance(error, StoreConflict):
                stream.give_up(str(error))
            else:
                self.in_trouble(error)


def _journal(lengths: Mapping[str, int]) -> str:
    """The name of the journal of this process: one that resumes a call begins another."""
    before = sum(name.partition(".")[0] == JOURNAL for name in lengths)
    return f"{JOURNAL}.{before + 1}" if before else JOURNAL


def item_line(at: float, command: Record) -> str:
    """An item of the history as an entry of its stream."""
    return to_json({"at": at, "agent": command.agent, "item": to_data(command.item)})
