"""Every store that comes along keeps the promises of the contract."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon.testing import StoreUnderTest, check_store
from tests.stores.places import InMemory, InPostgres, InSQLite
from tests.stores.postgres_server import a_schema


@pytest.mark.parametrize("kind", [InMemory, InSQLite])
def test_it_keeps_the_contract(kind: type[StoreUnderTest]) -> None:
    async def make() -> StoreUnderTest:
        return kind()

    asyncio.run(check_store(make))


def test_postgresql_keeps_the_contract(postgres_server: Any) -> None:
    async def make() -> StoreUnderTest:
        return InPostgres(a_schema(postgres_server))

    asyncio.run(check_store(make))
