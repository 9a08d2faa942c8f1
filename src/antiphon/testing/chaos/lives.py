"""The processes that hold a call, one after another: each has objects of its own, and may be killed or frozen.

What a killed one still does reaches nobody: neither its store, nor the world. A frozen one wakes when another has taken
the call over, and believes that it still holds it.

Above: a call with faults. Below: sessions, and the store that outlives them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from antiphon.agent import Agent
from antiphon.errors import StoreUnavailable
from antiphon.events import CloseEvent, JournalEvent
from antiphon.llm import LLM
from antiphon.session import AgentSession
from antiphon.store import JOURNAL, CallMeta, Lease, Pending, PendingOnLoop, Row, Store, StoredCall
from antiphon.testing.chaos.before import StoreBefore
from antiphon.testing.simulation import SimulatedCall

if TYPE_CHECKING:
    from antiphon.testing.chaos.bench import CountingBench

GAP: Final = 3.0
"""Seconds between the end of a process and the next one that takes its call up."""
ASLEEP: Final = 1.5
"""Seconds that a process is frozen: shorter than it waits for its store."""
_TAKEN_OVER: Final = 0.5
_AWAKE: Final = 2.0
"""Seconds that it lives on."""


class OfOneProcess(StoreBefore):
    """The store as one process has it. `older`: what is read is as the version before wrote it."""

    def __init__(self, store: Store, number: int, *, older: bool) -> None:
        super().__init__(store)
        self._number = number
        self._older = older
        self._is_gone = False

    def is_gone(self) -> None:
        """Its process was killed: nothing that it asks for happens, and nothing is answered."""
        self._is_gone = True

    @property
    def trouble(self) -> Any:
        return self._behind.trouble

    def on_trouble(self, told: Callable[[Any], None]) -> Callable[[], None]:
        return self._behind.on_trouble(told)

    def _written(self, write: Callable[[], Pending | None]) -> Pending | None:
        return PendingOnLoop() if self._is_gone else write()

    def append(self, lease: Lease, position: int, entries: Sequence[bytes], stream: str = JOURNAL) -> Pending | None:
        return self._written(lambda: self._behind.append(lease, position, entries, stream))

    def intend(self, lease: Lease, row: Row) -> Pending | None:
        return self._written(lambda: self._behind.intend(lease, row))

    def start(self, lease: Lease, row: Row) -> Pending | None:
        return self._written(lambda: self._behind.start(lease, row))

    def settle(self, lease: Lease, row: Row) -> Pending | None:
        return self._written(lambda: self._behind.settle(lease, row))

    def keep(
        self, lease: Lease, meta: CallMeta | None = None, parts: Mapping[str, bytes | None] | None = None
    ) -> Pending | None:
        return self._written(lambda: self._behind.keep(lease, meta, parts))

    def flush(self) -> Pending | None:
        return self._written(self._behind.flush)

    def release(self, lease: Lease) -> Pending | None:
        return self._written(lambda: self._behind.release(lease))

    async def lease(self, call: str, worker: str) -> Lease:
        if self._is_gone:
            raise StoreUnavailable("store: its process was killed. Do not ask.")
        return await super().lease(call, f"{worker}-{self._number}")

    async def load(self, call: str) -> StoredCall | None:
        stored = await super().load(call)
        if stored is None or not self._older:
            return stored
        rows = [replace(row, contract={"effect": row.contract.get("effect", "writes")}) for row in stored.rows]
        return replace(stored, rows=tuple(rows), parts={})


class Life:
    """A process that holds the call. `call`: by voice; else its caller writes."""

    def __init__(
        self, llm: LLM, bench: CountingBench, store: OfOneProcess | None, *, by_voice: bool, options: dict[str, Any]
    ) -> None:
        self.bench = bench
        self.is_over = asyncio.Event()
        """The caller hears nothing of it any more."""
        self._store = store
        self._call = SimulatedCall(llm, store=store, **options) if by_voice else None
        self.session: AgentSession[Any] = (
            AgentSession(llm=llm, store=store, **options) if self._call is None else self._call.session
        )

    def listen(self, journal: Callable[[JournalEvent], None], closed: Callable[[CloseEvent], None]) -> None:
        """Hear what happens in it, as long as it lives."""
        self.session.on("journal", lambda event: None if self.is_over.is_set() else journal(event))
        self.session.on("close", lambda event: None if self.is_over.is_set() else closed(event))

    async def begin(self, agent: Agent) -> None:
        """The call begins in it."""
        await (self.session if self._call is None else self._call).start(agent)

    async def resume(self, call_id: str, agent: Agent) -> None:
        """It takes up a call whose process has ended."""
        await (self.session if self._call is None else self._call).resume(call_id, agents=[agent])

    # -- the caller

    async def says(self, words: str) -> None:
        """The caller says it, and hears what comes of it."""
        if self._call is None:
            self.session.submit_user_turn(words)
        else:
            await self._call.caller.says(words)
        await self.settled(quiet=0.0)

    def hears(self, words: str) -> None:
        """The caller says it, whatever goes on."""
        if self._call is None:
            self.session.submit_user_turn(words)
        else:
            self._call.caller.says(words)

    async def settled(self, quiet: float = 1.0) -> None:
        """Until nothing goes on."""
        if self._call is None:
            await self.session.wait_for_idle()
        else:
            await self._call.settled(quiet=quiet)

    # -- its end

    def freezes(self) -> None:
        """It does nothing for a while, and does not know that."""
        self.is_over.set()

    def dies(self) -> None:
        """It is killed."""
        self.is_over.set()
        self.bench.stops()
        if self._store is not None:
            self._store.is_gone()

    async def aclose(self) -> None:
        """Nothing of it is left."""
        await (self.session if self._call is None else self._call).aclose()


async def taken_over(life: Life, successor: Callable[[], Any], froze: PendingOnLoop | None) -> None:
    """The call goes on in `successor()`, a while after this process was killed or froze."""
    if froze is None:
        await asyncio.sleep(GAP)
        await successor()
        return
    await asyncio.sleep(_TAKEN_OVER)
    await successor()
    await asyncio.sleep(ASLEEP - _TAKEN_OVER)
    froze.set_result(None)
    await asyncio.sleep(_AWAKE)
    life.dies()
