"""Every store that comes along keeps the promises of the contract."""

from __future__ import annotations

import asyncio

import pytest

from antiphon.testing import StoreUnderTest, check_store
from tests.stores.places import InMemory, InSQLite


@pytest.mark.parametrize("kind", [InMemory, InSQLite])
def test_it_keeps_the_contract(kind: type[StoreUnderTest]) -> None:
    async def make() -> StoreUnderTest:
        return kind()

    asyncio.run(check_store(make))
