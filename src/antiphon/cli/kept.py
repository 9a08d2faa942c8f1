"""Where a command keeps its calls and their records: what its options name, else beside the agent file.

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
from antiphon.records.current import NOWHERE, Said, call_records
from antiphon.store import CallInfo, Row, RowState, Store, open_store

PLACE = Path(".antiphon") / "calls.db"
"""Where calls are kept, from the folder of the agent file."""
RECORDS = Path(".antiphon") / "records"
"""Where their records are, when they have ended."""

COMMANDS = frozenset({"console", "dev", "call", "say", "start", "dial", "connect", "demo"})
"""Those that hold calls."""


UNASKED = COMMANDS - {"start", "dial", "connect"}
"""Those of them that record calls without being asked: what developers run on their own machine."""


def records_of(options: argparse.Namespace, file: Path) -> Said | None:
    """Where a command with this agent file records calls. None: as the agent file says.

    Raises `UsageError` for an address that is none.
    """
    if options.no_records:
        return NOWHERE
    if not options.records and (options.no_store or options.command not in UNASKED):
        return None
    from antiphon.records.keeping import Records

    place = options.records or file.absolute().parent / RECORDS
    made = Records(place, audio=options.record_audio, webhook=options.record_webhook, title=f"Call with {file.name}")
    is_default = not (options.records or options.record_webhook or options.record_audio)
    return Said(made, is_default=is_default)


def address_of(options: argparse.Namespace, file: Path) -> str | None:
    """Where a command with this agent file keeps its calls. None: nowhere."""
    if options.no_store:
        return None
    return options.store or f"sqlite:///{file.absolute().parent / PLACE}"


def told(address: str | None, said: Said | None = None) -> str:
    """The line that says where calls are kept, and recorded."""
    records = None if said is None or said.records is None else _short(str(said.records))
    also = "" if records is None else f" Records of them are in {records}."
    if address is None:
        return f"Calls are kept in memory alone: what a tool did is not known any more when this process is gone.{also}"
    place, see = _short(address), "antiphon calls"
    if address != f"sqlite:///{Path.cwd() / PLACE}":
        see += f" --store {place}"
    if records is not None and records != str(RECORDS) and Path(records) != Path(place).parent / RECORDS.name:
        see += f" --records {records}"
    return f"Calls are kept in {place}.{also} See them with: {see}"


def _short(address: str) -> str:
    """As a person would type it, without a password."""
    if "://" not in address or (address.startswith("sqlite:///") and "?" not in address):
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

    def __init__(
        self,
        address: str | None,
        *,
        notice: Callable[[str], None],
        is_named: bool,
        is_told: bool,
        records: Said | None = None,
    ) -> None:
        self._address = address
        self._records = records
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
        if self._records is not None and self._records.records is not None:
            await self._stack.enter_async_context(self._records.records)
        self._token = call_store.set(self._of_session)
        self._recorded = call_records.set(self._records)

    async def __aexit__(self, *exc_info: object) -> None:
        call_records.reset(self._recorded)
        call_store.reset(self._token)
        await self._stack.aclose()

    async def _of_session(self) -> Store | None:
        """Where a session that begins is kept."""
        async with self._opening:
            is_first, self._is_told = not self._is_told, True
            if is_first:
                self._notice(told(self._address, self._records))
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
