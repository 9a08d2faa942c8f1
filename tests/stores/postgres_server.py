"""A real PostgreSQL for the tests, in a folder of its own: one for all of them, a schema for each."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

_schemas = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """The server: `get_uri()`."""
    pgserver = pytest.importorskip("pgserver", reason="pip install pgserver (Python 3.11, 3.12)", exc_type=ImportError)
    pytest.importorskip("psycopg", reason="pip install 'antiphon[postgres]'", exc_type=ImportError)
    with tempfile.TemporaryDirectory() as folder:
        server = pgserver.get_server(folder)
        try:
            yield server
        finally:
            server.cleanup()


@pytest.fixture
def postgres(postgres_server: Any) -> str:
    """The address of a schema in which there is nothing yet."""
    return a_schema(postgres_server)


def a_schema(server: Any) -> str:
    uri = str(server.get_uri())
    return f"{uri}{'&' if '?' in uri else '?'}schema=s{next(_schemas)}"
