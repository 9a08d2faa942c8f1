"""A store before another one: what is asked of it is asked of that, but for what a store of its kind does otherwise.

Above: the stores of chaos, which fail, or end with their process. Below: the contract of stores.
"""

from __future__ import annotations

from collections.abc import Sequence

from antiphon.store import JOURNAL, CallInfo, Lease, Row, RowState, Store, StoredCall


class StoreBefore(Store):
    """Asks `behind` for who holds a call, and for all that anybody may ask. What its holder writes is left open."""

    def __init__(self, behind: Store) -> None:
        self.durability = behind.durability
        self.secret = behind.secret
        self._behind = behind

    async def lease(self, call: str, worker: str) -> Lease:
        return await self._behind.lease(call, worker)

    async def load(self, call: str) -> StoredCall | None:
        return await self._behind.load(call)

    async def entries(self, call: str, stream: str = JOURNAL, first: int = 0, most: int = 1000) -> list[bytes]:
        return await self._behind.entries(call, stream, first, most)

    async def calls(self, *, caller: str | None = None, held: bool | None = None, most: int = 100) -> list[CallInfo]:
        return await self._behind.calls(caller=caller, held=held, most=most)

    async def rows(
        self,
        *,
        call: str | None = None,
        caller: str | None = None,
        states: Sequence[RowState] = (),
        since: float = 0.0,
        most: int = 1000,
    ) -> list[tuple[CallInfo, Row]]:
        return await self._behind.rows(call=call, caller=caller, states=states, since=since, most=most)

    async def resolve(
        self, call: str, key: str, state: RowState, output: str, at: float, *, attempt: int | None = None
    ) -> Row:
        return await self._behind.resolve(call, key, state, output, at, attempt=attempt)

    async def erase(self, *, call: str | None = None, caller: str | None = None, keep_rows: bool = False) -> int:
        return await self._behind.erase(call=call, caller=caller, keep_rows=keep_rows)

    async def prune(self, before: float, *, unknown: bool = False) -> int:
        return await self._behind.prune(before, unknown=unknown)
