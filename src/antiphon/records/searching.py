"""Which records are wanted, and what is known of those that are found.

Above: `antiphon calls`, and programs. Below: the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.records.findings import Finding, more_rounds
from antiphon.records.index import Index


@dataclass(slots=True, frozen=True)
class Search:
    """What is looked for; what is not said is any."""

    id: str = ""
    """The beginning of the call's id."""
    agent: str = ""
    """An agent that took part, by its id."""
    caller: str | None = None
    tool: str = ""
    """A tool that was called."""
    outcome: str = ""
    """What came of a call of a tool, of that one where `tool` is given: "done", "error", "unknown", "refused", ..."""
    error: str | None = None
    """Something failed, and its text has these words; "": anything."""
    said: str = ""
    """Words that were said, in any order, by anybody."""
    since: float | None = None
    """The call began then or later: seconds since the Unix epoch."""
    until: float | None = None
    slower: float | None = None
    """Some reply was heard so many seconds or more after the caller had finished."""
    cut: bool = False
    """A reply was cut by the caller."""
    finding: str | None = None
    """Something of this name, or kind, was found; "": anything."""
    most: int = 50


@dataclass(slots=True, frozen=True)
class Found:
    """A record, as lists show it."""

    name: str
    id: str
    began: float
    duration: float
    reason: str
    agents: str
    caller: str
    turns: int
    tools: int
    errors: int
    cut: int
    unknown: int
    delay: float | None
    """The median, in seconds, from the end of the caller's turn to the first sound of the answer."""
    worst: float | None
    """The longest."""
    tokens: int
    cost: float | None
    findings: list[Finding] = field(default_factory=list)


_FIELDS = (
    "name", "id", "began", "duration", "reason", "agents", "caller", "turns", "tools", "errors", "cut", "unknown",
    "delay", "worst", "tokens", "cost",
)  # fmt: skip


def search(index: Index, wanted: Search) -> list[Found]:
    """Those records, the latest first. The index must be in step (`Index.sync`). Raises `OSError`."""
    unusual = _unusual(index) if wanted.finding is not None or wanted.id else {}
    where, values = _where(wanted, unusual)
    statement = f"SELECT {', '.join(_FIELDS)} FROM records WHERE {where} ORDER BY name DESC LIMIT ?"
    found = [Found(**row) for row in index.ask(statement, [*values, wanted.most])]
    if not found:
        return found
    if not unusual:
        unusual = _unusual(index)
    noted = _noted(index, [one.name for one in found])
    for one in found:
        one.findings.extend(sorted([*noted.get(one.name, ()), *unusual.get(one.name, ())], key=lambda f: f.at))
    return found


def count(index: Index, wanted: Search) -> int:
    """How many records are wanted, however many a search would list."""
    where, values = selected(index, wanted)
    return int(index.ask(f"SELECT count(*) AS many FROM records WHERE {where}", values)[0]["many"])


def selected(index: Index, wanted: Search) -> tuple[str, list[Any]]:
    """Those records (`most` does not count) as a condition of SQL on the table `records`, and its values."""
    return _where(wanted, _unusual(index) if wanted.finding is not None else {})


def _where(wanted: Search, unusual: Mapping[str, list[Finding]]) -> tuple[str, list[Any]]:
    conditions, values = _conditions(wanted)
    if wanted.finding is not None:
        clause, more = _with_finding(wanted.finding, unusual)
        conditions.append(clause)
        values += more
    return " AND ".join(conditions) or "1", values


def _conditions(wanted: Search) -> tuple[list[str], list[Any]]:
    given: list[tuple[bool, str, Sequence[Any]]] = [
        (bool(wanted.id), "substr(id, 1, ?) = ?", (len(wanted.id), wanted.id)),
        (bool(wanted.agent), "' > ' || agents || ' > ' LIKE ?", (f"%> {wanted.agent} >%",)),
        (wanted.caller is not None, "caller = ?", (wanted.caller,)),
        (wanted.error is not None, "errors > 0", ()),
        (wanted.since is not None, "began >= ?", (wanted.since,)),
        (wanted.until is not None, "began < ?", (wanted.until,)),
        (wanted.slower is not None, "worst >= ?", (wanted.slower,)),
        (wanted.cut, "cut > 0", ()),
    ]
    if wanted.tool or wanted.outcome:
        parts = [("tool = ?", wanted.tool), ("status = ?", wanted.outcome)]
        both = [(part, value) for part, value in parts if value]
        clause = " AND ".join(part for part, _ in both)
        given.append((True, f"name IN (SELECT name FROM calls WHERE {clause})", [value for _, value in both]))
    for column, words in (("said", wanted.said), ("failed", wanted.error or "")):
        given += [(True, f"instr({column}, ?) > 0", (word,)) for word in words.casefold().split()]
    conditions = [clause for is_given, clause, _ in given if is_given]
    return conditions, [value for is_given, _, values in given if is_given for value in values]


def _with_finding(finding: str, unusual: Mapping[str, list[Finding]]) -> tuple[str, list[Any]]:
    names = [name for name, found in unusual.items() if any(finding in ("", f.finding, f.kind) for f in found)]
    marks = ", ".join("?" * len(names))
    inside = "SELECT name FROM findings" + (" WHERE finding = ? OR kind = ?" if finding else "")
    return f"(name IN ({inside}) OR name IN ({marks}))", [*([finding, finding] if finding else []), *names]


def _unusual(index: Index) -> dict[str, list[Finding]]:
    """By record: replies with more rounds of calls than their agent's usual."""
    found: dict[str, list[Finding]] = {}
    for agent, usual in index.usual().items():
        rows = index.ask("SELECT name, at, rounds FROM replies WHERE agent = ? AND rounds > ?", (agent, usual))
        for row in rows:
            found.setdefault(row["name"], []).append(more_rounds(row["at"], row["rounds"], usual))
    return found


def _noted(index: Index, names: Sequence[str]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for start in range(0, len(names), 500):
        some = names[start : start + 500]
        marks = ", ".join("?" * len(some))
        for row in index.ask(f"SELECT * FROM findings WHERE name IN ({marks})", some):
            name = row.pop("name")
            found.setdefault(name, []).append(Finding(**row))
    return found
