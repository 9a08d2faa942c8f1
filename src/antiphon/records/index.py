"""The index of a place: one SQLite file, made of its records, and made anew from them when it is gone or older.

It is never the owner of anything: whoever asks it has it look first which records came and went. So it does not matter
who wrote a record, who removed one, or which process was killed in between.

Above: `Records`, searches. Below: the place, and SQLite. Its methods wait for a disk: call them in a thread.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from antiphon import private
from antiphon.records.findings import Finding, findings_in, has_wrong_arguments, usual_rounds
from antiphon.records.format import Record, RecordError
from antiphon.records.places import Place

T = TypeVar("T")

VERSION = 2
"""Of the tables, and of what is looked for in records. An index of another one is made anew."""

BUSY = 5.0
"""Seconds to wait for another process that writes."""

FILE = "index.db"

_TABLES = """
CREATE TABLE records (
  name TEXT PRIMARY KEY, id TEXT, began REAL, ended REAL, duration REAL, reason TEXT, agents TEXT, caller TEXT,
  voice INTEGER, turns INTEGER, tools INTEGER, errors INTEGER, cut INTEGER, unknown INTEGER, delay REAL, worst REAL,
  tokens INTEGER, cost REAL, said TEXT, failed TEXT
) WITHOUT ROWID;
CREATE INDEX records_by_id ON records (id);
CREATE TABLE calls (name TEXT, tool TEXT, status TEXT, at REAL, seconds REAL, failed INTEGER, wrong INTEGER);
CREATE INDEX calls_by_name ON calls (name);
CREATE TABLE replies (name TEXT, agent TEXT, at REAL, rounds INTEGER, delay REAL);
CREATE INDEX replies_by_name ON replies (name);
CREATE TABLE findings (name TEXT, finding TEXT, kind TEXT, at REAL, text TEXT, remedy TEXT);
CREATE INDEX findings_by_name ON findings (name);
CREATE TABLE broken (name TEXT PRIMARY KEY, why TEXT);
"""
_OF_A_RECORD = ("records", "calls", "replies", "findings", "broken")


class Index:
    """That of one place."""

    def __init__(self, place: Place, path: Path | None = None) -> None:
        self.place = place
        self.path = path or place.home / FILE

    def add(self, record: Record) -> None:
        """Have it know a record. Raises `RecordError` and `OSError`."""
        entered = _entered(record)
        self._do(lambda connection: _enter(connection, record.name, entered))

    def forget(self, name: str) -> None:
        """Have nothing of a record stay in it, not even as freed bytes."""
        if self.path.exists():
            self._do(lambda connection: _forget(connection, name))

    def sync(self) -> None:
        """Find out which records came and went. Raises `OSError` where the place cannot be reached."""
        there = set(self.place.names())
        known = self._do(
            lambda c: {row[0] for row in c.execute("SELECT name FROM records UNION SELECT name FROM broken")}
        )
        for name in sorted(there - known):
            self._take(name)
        for name in known - there:
            self.forget(name)

    def _take(self, name: str) -> None:
        """A record that it does not know yet; of one that cannot be read, why."""
        try:
            self.add(self.place.record(name))
        except (RecordError, OSError) as error:
            why = str(error)
            self._do(lambda connection: _enter_broken(connection, name, why))

    def ask(self, statement: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Rows as dictionaries, as it knows them."""

        def asked(connection: sqlite3.Connection) -> list[dict[str, Any]]:
            found = connection.execute(statement, values)
            names = [one[0] for one in found.description]
            return [dict(zip(names, row, strict=True)) for row in found]

        return self._do(asked)

    def usual(self) -> Mapping[str, int]:
        """By agent: how many rounds of calls its replies usually take at most, where there are enough to say so."""
        counted: dict[str, dict[int, int]] = {}
        statement = "SELECT agent, rounds, count(*) AS many FROM replies WHERE rounds > 0 GROUP BY agent, rounds"
        for row in self.ask(statement):
            counted.setdefault(row["agent"], {})[row["rounds"]] = row["many"]
        usual = {agent: usual_rounds(counts) for agent, counts in counted.items()}
        return {agent: rounds for agent, rounds in usual.items() if rounds is not None}

    # -- the file

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do it in a transaction. A file that is broken is made anew, once."""
        try:
            try:
                with self._opened() as connection:
                    return work(connection)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
                    raise
                self._clear()
                with self._opened() as connection:
                    return work(connection)
        except sqlite3.Error as error:
            raise OSError(f"{self.path}: {error}") from error

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        private.claim(self.path)
        connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None)
        try:
            connection.execute("PRAGMA secure_delete = ON")
            if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                _make_tables(connection)
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
        finally:
            connection.close()

    def _clear(self) -> None:
        for end in ("", "-journal", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:  # nobody else did meanwhile
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            connection.execute(f"DROP TABLE {name}")
        for statement in filter(str.strip, _TABLES.split(";")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


Entered = tuple[dict[str, Any], list[tuple[Any, ...]], list[tuple[Any, ...]], list[Finding]]
"""What the index has of a record: its row, its calls, its replies with calls, what was found in it."""


def _entered(record: Record) -> Entered:
    head, figures = record.head, record.metrics
    try:
        return _row(record), _calls(head), _replies(head, figures), findings_in(head, figures)
    except (TypeError, KeyError, ValueError, AttributeError, IndexError) as error:
        raise RecordError(f"record {record.name}: {type(error).__name__}: {error}. Was it changed?") from None


def _row(record: Record) -> dict[str, Any]:
    head, figures = record.head, record.metrics
    sums, replies = figures.get("metrics", {}), figures.get("replies", ())
    delays = [reply["response_delay"] for reply in replies if reply.get("response_delay") is not None]
    turns, calls = head["turns"], head["tool_calls"]
    usage = figures.get("usage", {})
    tokens = usage.get("tokens", sums.get("prompt_tokens", 0) + sums.get("completion_tokens", 0))
    return {
        "name": record.name, "id": record.id, "began": record.began, "ended": head.get("ended"),
        "duration": head.get("duration"), "reason": head.get("reason"), "agents": " > ".join(head.get("agents", ())),
        "caller": head.get("caller", ""), "voice": bool(head.get("voice")),
        "turns": sum(turn["role"] == "user" for turn in turns), "tools": len(calls),
        "errors": len(head["errors"]) + sum(bool(call.get("is_error")) for call in calls),
        "cut": sum(bool(turn.get("interrupted")) and not turn.get("overtaken") for turn in turns),
        "unknown": sum(call.get("status") == "unknown" for call in calls),
        "delay": sums.get("median_response_delay"), "worst": max(delays, default=None), "tokens": tokens,
        "cost": figures.get("cost", {}).get("total"), "said": "\n".join(turn["text"] for turn in turns).casefold(),
        "failed": "\n".join([*head["errors"], *(c["output"] for c in calls if c.get("is_error"))]).casefold(),
    }  # fmt: skip


def _calls(head: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            call["name"],
            call["status"],
            call["started"],
            None if call.get("ended") is None else max(0.0, call["ended"] - call["started"]),
            bool(call.get("is_error")),
            has_wrong_arguments(call),
        )
        for call in head["tool_calls"]
    ]


def _replies(head: Mapping[str, Any], figures: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    agent = " > ".join(head.get("agents", ()))
    return [
        (agent, reply["asked"], reply.get("rounds") or 0, reply.get("response_delay"))
        for reply in figures.get("replies", ())
    ]


def _enter(connection: sqlite3.Connection, name: str, entered: Entered) -> None:
    row, calls, replies, findings = entered
    _delete(connection, name)
    columns = ", ".join(row)
    connection.execute(f"INSERT INTO records ({columns}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    connection.executemany("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?)", [(name, *one) for one in calls])
    connection.executemany("INSERT INTO replies VALUES (?, ?, ?, ?, ?)", [(name, *one) for one in replies])
    connection.executemany(
        "INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?)",
        [(name, one.finding, one.kind, one.at, one.text, one.remedy) for one in findings],
    )


def _enter_broken(connection: sqlite3.Connection, name: str, why: str) -> None:
    _delete(connection, name)
    connection.execute("INSERT INTO broken VALUES (?, ?)", (name, why))


def _delete(connection: sqlite3.Connection, name: str) -> None:
    for table in _OF_A_RECORD:
        connection.execute(f"DELETE FROM {table} WHERE name = ?", (name,))


def _forget(connection: sqlite3.Connection, name: str) -> None:
    _delete(connection, name)
