"""Where a command keeps its calls: what its options name, else a file beside the agent file.

Above: `main.py`. Below: the contract of stores, and where sessions look for theirs (`protocols.call_store`).
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from antiphon.errors import StoreError, UsageError
from antiphon.protocols import call_store
from antiphon.store import open_store

PLACE = Path(".antiphon") / "calls.db"
"""Where calls are kept, from the folder of the agent file."""


COMMANDS = frozenset({"console", "dev", "call", "start", "connect", "demo"})
"""Those that hold calls."""


def is_worker() -> bool:
    """This process is one of a supervisor's, which has told where calls are kept."""
    from antiphon.server.supervisor.supervised import Supervised

    return Supervised.from_environment() is not None


def address_of(options: argparse.Namespace, file: Path) -> str | None:
    """Where a command with this agent file keeps its calls. None: nowhere."""
    if options.no_store:
        return None
    return options.store or f"sqlite:///{file.absolute().parent / PLACE}"


def told(address: str | None) -> str:
    """The line that says where calls are kept."""
    if address is None:
        return "Calls are kept in memory alone: what a tool did is not known any more when this process is gone."
    if address == f"sqlite:///{Path.cwd() / PLACE}":
        return f"Calls are kept in {PLACE}. See them with: antiphon calls"
    place = _short(address)
    return f"Calls are kept in {place}. See them with: antiphon calls --store {place}"


def _short(address: str) -> str:
    """As a person would type it, without a password."""
    if address.startswith("sqlite:///") and "?" not in address:
        path = Path(address.removeprefix("sqlite:///"))
        relative = os.path.relpath(path) if path.is_absolute() else str(path)
        return str(path) if relative.startswith("..") else relative
    scheme, mark, rest = address.partition("://")
    user, at, host = rest.rpartition("@")
    return f"{scheme}{mark}{user.partition(':')[0]}{at}{host}"


@contextlib.asynccontextmanager
async def kept(address: str | None, *, notice: Callable[[str], None], is_named: bool) -> AsyncIterator[None]:
    """Sessions that start inside are kept there. `is_named`: somebody asked for that place, so it must be usable.

    Raises `StoreError` and `UsageError` for one that is not. Another is done without, which is told.
    """
    async with contextlib.AsyncExitStack() as stack:
        store = None
        if address is not None:
            try:
                store = await stack.enter_async_context(open_store(address))
            except (StoreError, UsageError) as error:
                if is_named:
                    raise
                notice(f"Calls are kept in memory alone: {error}")
        token = call_store.set(store)
        try:
            yield
        finally:
            call_store.reset(token)
