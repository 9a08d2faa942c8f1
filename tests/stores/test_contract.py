"""Every store that comes along keeps the promises of the contract."""

from __future__ import annotations

import asyncio

from antiphon.store import Store
from antiphon.stores.memory import MemoryStore
from antiphon.testing import StoreUnderTest, check_store


class InMemory(StoreUnderTest):
    """Processes cannot share it: every handle is the same."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    async def open(self) -> Store:
        return await self.store.__aenter__()

    async def expire(self, call: str) -> None:
        self.store.lose(call)


async def in_memory() -> StoreUnderTest:
    return InMemory()


def test_memory_keeps_the_contract() -> None:
    asyncio.run(check_store(in_memory))
