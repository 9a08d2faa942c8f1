from __future__ import annotations

from tests.stores.postgres_server import postgres, postgres_server

__all__ = ["postgres", "postgres_server"]
