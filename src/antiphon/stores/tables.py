"""What is read of the tables of a store, in the SQL that both databases speak: `calls`, `rows`, `entries`, `parts`.

Above: SQLite and PostgreSQL, each of which says how a statement is asked, and what it calls times and leases. Below:
the contract. In statements `?` is a value, and a table is `{s}name`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from antiphon.store import CallInfo, Row, RowState, StoredCall
from antiphon.stores.changes import Database
from antiphon.stores.storable import meta_from_json, plain, storable

Ask: TypeAlias = Callable[..., list[Any]]
"""A statement and its values; its rows."""

TOUCH = 1.0
"""Seconds by which it may be out of date when something was written of a call: each time would cost a write more."""

NOBODY_KNOWS = "('started', 'unknown')"
"""States of rows of which nobody knows what came of them, unless their call goes on."""


class Tables(Database):
    """Reads. `calls`: where calls stand, as `c`, with their leases."""

    calls_table: str
    touched: str
    """When something was written of the call, in seconds."""
    since: str
    """That a row was written at a time or later."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Ask]:
        """One state of the store, whatever is written meanwhile."""

    @property
    @abstractmethod
    def held(self) -> str:
        """Whether a call is held at this moment."""

    @property
    def _info(self) -> str:
        return f"c.id, c.meta, c.epoch, c.worker, {self.held}, {self.touched}"

    def load(self, call: str) -> StoredCall | None:
        with self.reading() as ask:
            found = ask(f"select c.number, {self._info} from {self.calls_table} where c.id=?", storable(call))
            if not found:
                return None
            number, *info = found[0]
            rows = ask("select data from {s}rows where call=? order by number", number)
            parts = ask("select name, data from {s}parts where call=?", number)
            lengths = ask("select stream, max(position) + 1 from {s}entries where call=? group by stream", number)
        return StoredCall(
            _shown(info),
            tuple(Row.from_json(data) for (data,) in rows),
            {plain(name): bytes(data) for name, data in parts},
            {plain(stream): length for stream, length in lengths},
        )

    def entries(self, call: str, stream: str, first: int, most: int) -> list[bytes]:
        with self.reading() as ask:
            found = ask(
                "select data from {s}entries where call=(select number from {s}calls where id=?) and stream=?"
                " and position>=? order by position limit ?",
                storable(call),
                storable(stream),
                first,
                most,
            )
        return [bytes(data) for (data,) in found]

    def calls(self, caller: str | None, held: bool | None, most: int) -> list[CallInfo]:
        where, values = chosen(caller=caller)
        if held is not None:
            where.append(self.held if held else f"not {self.held}")
        with self.reading() as ask:
            found = ask(
                f"select {self._info} from {self.calls_table}{all_of(where)}"
                " order by c.touched desc, c.number desc limit ?",
                *values,
                most,
            )
        return [_shown(one) for one in found]

    def rows(
        self, call: str | None, caller: str | None, states: Sequence[RowState], since: float, most: int
    ) -> list[tuple[CallInfo, Row]]:
        where, values = chosen(call=call, caller=caller)
        if states:
            where.append(f"r.state in ({', '.join('?' * len(states))})")
            values += [state.value for state in states]
        if since:
            where.append(self.since)
            values.append(since)
        with self.reading() as ask:
            found = ask(
                f"select {self._info}, r.data from {self.calls_table} join {{s}}rows r on r.call=c.number"
                f"{all_of(where)} order by r.touched desc, r.number desc limit ?",
                *values,
                most,
            )
        return [(_shown(one[:-1]), Row.from_json(one[-1])) for one in found]


def chosen(*, call: str | None = None, caller: str | None = None) -> tuple[list[str], list[Any]]:
    """Conditions that choose calls (`c`), and their values."""
    given = {"c.id": call, "c.caller": caller}
    wanted = {column: storable(value) for column, value in given.items() if value is not None}
    return [f"{column}=?" for column in wanted], list(wanted.values())


def all_of(conditions: Sequence[str]) -> str:
    """A where clause; "" for none."""
    return f" where {' and '.join(conditions)}" if conditions else ""


def _shown(found: Sequence[Any]) -> CallInfo:
    call, meta, epoch, worker, is_held, touched = found
    return CallInfo(plain(call), meta_from_json(meta), epoch, plain(worker), bool(is_held), touched)
