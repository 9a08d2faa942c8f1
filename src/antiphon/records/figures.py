"""What many calls took and cost: how long callers waited, which tools are slow, and how often arguments were wrong.

Made of the index, for the records of a search. How long a caller waited is `TurnMetrics.response_delay`, as in the call
itself, in lists and on its page. Above: the studio. Below: the index.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.calls.record import percentile
from antiphon.records.index import Index
from antiphon.records.searching import Search, selected

BOUNDS = (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
"""Seconds between which waits are counted."""

MOST_SLOW = 10
"""Of the slowest, so many are named."""


def figures(index: Index, wanted: Search) -> dict[str, Any]:
    """Figures of the records that are wanted (`most` does not count), fit for JSON. Raises `OSError`."""
    where, values = selected(index, wanted)
    named = f"SELECT name FROM records WHERE {where}"
    sums = index.ask(
        "SELECT count(*) AS calls, sum(duration) AS seconds, sum(turns) AS turns, sum(tools) AS tools,"
        " sum(errors) AS errors, sum(cut) AS cut, sum(unknown) AS unknown, sum(tokens) AS tokens,"
        f" sum(cost) AS cost, count(cost) AS priced FROM records WHERE {where}",
        values,
    )[0]
    costs = [row["cost"] for row in index.ask(f"SELECT cost FROM records WHERE cost IS NOT NULL AND {where}", values)]
    return {
        **{name: value or 0 for name, value in sums.items()},
        "cost": sums["cost"],
        "cost_of_a_call": spread(costs),
        "waits": _waits(index, named, values),
        "found": index.ask(
            "SELECT finding, kind, count(*) AS times, count(DISTINCT name) AS calls FROM findings"
            f" WHERE name IN ({named}) GROUP BY finding, kind ORDER BY times DESC",
            values,
        ),
        "by_tool": _by_tool(index, named, values),
    }


def spread(values: Sequence[float]) -> dict[str, Any]:
    """How values lie: how many, the median, the 90th, 95th and 99th percentile, the largest. None without values."""
    ordered = sorted(values)
    shares = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {"count": len(ordered), **{name: percentile(ordered, share) for name, share in shares.items()}}


def _waits(index: Index, named: str, values: Sequence[Any]) -> dict[str, Any]:
    """How long callers waited for the first sound, over all replies."""
    rows = index.ask(f"SELECT delay FROM replies WHERE delay IS NOT NULL AND name IN ({named})", values)
    delays = [row["delay"] for row in rows]
    counts = [0] * (len(BOUNDS) + 1)
    for delay in delays:
        counts[bisect_right(BOUNDS, delay)] += 1
    slow = index.ask(
        "SELECT replies.name, records.id, replies.at, replies.delay FROM replies JOIN records USING (name)"
        f" WHERE replies.delay IS NOT NULL AND replies.name IN ({named}) ORDER BY replies.delay DESC LIMIT {MOST_SLOW}",
        values,
    )
    return {**spread(delays), "bounds": list(BOUNDS), "counts": counts, "slowest": slow}


def _by_tool(index: Index, named: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Each tool, the slowest first, by the 95th percentile of what its calls took."""
    rows = index.ask(f"SELECT tool, status, seconds, failed, wrong FROM calls WHERE name IN ({named})", values)
    calls: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        calls.setdefault(row["tool"], []).append(row)
    found = [_tool(name, of) for name, of in calls.items()]
    return sorted(found, key=lambda one: (-(one["seconds"]["p95"] or 0.0), one["tool"]))


def _tool(name: str, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    wrong = sum(bool(call["wrong"]) for call in calls)
    ran = [call["seconds"] for call in calls if call["seconds"] is not None and call["status"] in ("done", "error")]
    return {
        "tool": name,
        "calls": len(calls),
        "failed": sum(bool(call["failed"]) for call in calls),
        "unknown": sum(call["status"] == "unknown" for call in calls),
        "wrong": wrong,
        "wrong_rate": wrong / len(calls),
        "seconds": spread(ran),
    }
