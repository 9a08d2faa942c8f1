"""What a page looks for, as a `Search`: the words of `antiphon calls`, in the query of an address.

Above: the routes. Below: the search.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime

from antiphon.errors import UsageError
from antiphon.records.searching import Search

MOST = 100
"""Calls that a list has, unless more are asked for."""
MOST_EVER = 5_000

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86_400.0}


def search_of(query: Mapping[str, str], *, now: float | None = None) -> Search:
    """What is looked for. What is empty is any. Raises `UsageError` for what is none."""
    given = {name: value.strip()[:500] for name, value in query.items()}
    at = time.time() if now is None else now
    return Search(
        id=given.get("id", ""),
        agent=given.get("agent", ""),
        caller=given.get("caller") or None,
        tool=given.get("tool", ""),
        outcome=given.get("outcome", ""),
        error=_any(given.get("error", "")),
        said=given.get("said", ""),
        since=_moment("since", value, at) if (value := given.get("since")) else None,
        until=_moment("until", value, at) if (value := given.get("until")) else None,
        slower=_number("slower", value) if (value := given.get("slower")) else None,
        cut=bool(given.get("cut")),
        finding=_any(given.get("finding", "")),
        most=_most(given.get("most", "")),
    )


def _any(text: str) -> str | None:
    """Empty: it does not matter. "any": there is something, whatever it is."""
    return None if not text else "" if text == "any" else text


def _most(text: str) -> int:
    return max(1, min(MOST_EVER, int(text))) if text.isdecimal() and len(text) < 8 else MOST


def _number(name: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < 86_400:
        raise UsageError(f"{name}: expected seconds, such as 2 or 1.5, got {text!r}")
    return found


def _moment(name: str, text: str, now: float) -> float:
    """A day or a moment of this machine's time, or so long ago."""
    if text[-1] in _UNITS and text[:-1].replace(".", "", 1).isdecimal():
        return now - float(text[:-1]) * _UNITS[text[-1]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{name}: expected a time such as 2026-03-31, 2026-03-31T18:30 or 2h, got {text!r}") from None
