"""Where a command keeps its calls: what its options name, else a file beside the agent file.

Above: `main.py`. Below: the contract of stores, and where sessions look for theirs (`protocols.call_store`).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from antiphon.errors import StoreError, UsageError
from antiphon.protocols import call_store
from antiphon.store import CallInfo, Row, RowState, Store, open_store

PLACE = Path(".antiphon") / "calls.db"
"""Where calls are kept, from the folder of the agent file."""


COMMANDS = frozenset({"console", "dev", "call", "say", "start", "connect", "demo"})
"""Those that hold calls."""


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


async def unknown_rows(store: Store, most: int = 1000) -> list[tuple[CallInfo, Row]]:
    """What tools may have done, and nobody knows. What was started is only unknown once nobody holds its call."""
    found = await store.rows(states=(RowState.UNKNOWN, RowState.STARTED), most=most)
    return [(info, row) for info, row in found if is_unknown(info, row)]


def is_unknown(info: CallInfo, row: Row) -> bool:
    """Whether nobody knows what it did."""
    return row.state is RowState.UNKNOWN or (row.state is RowState.STARTED and not info.is_held)


class Kept:
    """Where the sessions of a command are kept. Its store is opened, and told of, when the first one begins.

    `is_named`: somebody asked for that place, so it must be usable: it is opened at once.
    """

    def __init__(self, address: str | None, *, notice: Callable[[str], None], is_named: bool, is_told: bool) -> None:
        self._address = address
        self._notice = notice
        self._is_named = is_named
        self._is_told = is_told
        self._store: Store | None = None
        self._is_open = False
        self._opening = asyncio.Lock()
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> None:
        """Sessions that start inside find it. Raises `StoreError` and `UsageError` for a named one that is none."""
        if self._is_named:
            await self._open()
        self._token = call_store.set(self._of_session)

    async def __aexit__(self, *exc_info: object) -> None:
        call_store.reset(self._token)
        await self._stack.aclose()

    async def _of_session(self) -> Store | None:
        """Where a session that begins is kept."""
        async with self._opening:
            is_first, self._is_told = not self._is_told, True
            if is_first:
                self._notice(told(self._address))
            if not self._is_open:
                await self._open()
            if is_first:
                await self._tell_unknown()
        return self._store

    async def _tell_unknown(self) -> None:
        """What earlier calls may have done, and nobody knows: somebody should find out."""
        if self._store is None:
            return
        with contextlib.suppress(StoreError):
            count = len(await unknown_rows(self._store))
            if count:
                things = "one thing" if count == 1 else f"{count} things"
                self._notice(
                    f"Nobody knows what came of {things} that tools did in earlier calls: --unknown lists them"
                )

    async def _open(self) -> None:
        self._is_open = True
        if self._address is None:
            return
        try:
            self._store = await self._stack.enter_async_context(open_store(self._address))
        except (StoreError, UsageError) as error:
            if self._is_named:
                raise
            self._notice(f"They are not: {error} They are in memory alone.")
