from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from tests.livekit.real import Address, needs_server, running_server
from tests.livekit.sides import Check, opened


@pytest.fixture(scope="session")
def livekit_server() -> Iterator[Address]:
    with running_server() as server:
        yield server


@pytest.fixture(params=["double", pytest.param("server", marks=needs_server)])
def on(request: pytest.FixtureRequest) -> Callable[[Check], None]:
    """Runs a check on a server: on each of the two in turn."""
    address: Address | None = request.getfixturevalue("livekit_server") if request.param == "server" else None

    def run(check: Check) -> None:
        async def opened_for_check() -> None:
            async with opened(address) as side:
                await check(side)

        asyncio.run(opened_for_check())

    return run
