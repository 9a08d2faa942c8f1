"""What undoes what: the start of a write that a call of its inverse takes back.

Above: the ledger, which starts an inverse once for each start that it undoes. Below: rows. Which of several starts is
meant, the arguments say: what is named in them stands in the arguments of the first call, or in what came of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from antiphon.core.facts import Call
from antiphon.core.row import Outcome, Row


class Undoing:
    """The starts that can be undone, by the name of the tool that does it."""

    __slots__ = ("_by_inverse",)

    def __init__(self) -> None:
        self._by_inverse: dict[str, list[Row]] = {}

    def may_be_undone(self, row: Row, inverse: str) -> None:
        """A write is started that names its inverse."""
        self._by_inverse.setdefault(inverse, []).append(row)

    def is_inverse(self, call: Call) -> bool:
        """Whether the tool undoes anything that was started."""
        return call.name in self._by_inverse

    def meant_by(self, call: Call) -> Row | None:
        """The latest start that the call of an inverse undoes, if there is one left."""
        left = [row for row in self._by_inverse[call.name] if _is_left(row)] if self.is_inverse(call) else []
        if not left:
            return None
        values = list(_values(call.arguments))
        return next((row for row in reversed(left) if _fits(row, values)), None)


def _is_left(row: Row) -> bool:
    is_free = row.undone_by is None or row.undone_by.outcome is Outcome.FAILED
    return row.outcome is Outcome.SUCCEEDED and is_free


def _fits(row: Row, values: list[str]) -> bool:
    return all(value in row.call.arguments or value in row.output for value in values)


def _values(arguments: str) -> Iterator[str]:
    try:
        made: Any = json.loads(arguments or "{}")
    except ValueError:
        return
    waiting = [made]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif value is not None and not isinstance(value, bool) and value != "":
            yield value if isinstance(value, str) else json.dumps(value)
