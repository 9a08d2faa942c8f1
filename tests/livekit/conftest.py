from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.livekit.real import Address, running_server


@pytest.fixture(scope="session")
def livekit_server() -> Iterator[Address]:
    with running_server() as server:
        yield server
