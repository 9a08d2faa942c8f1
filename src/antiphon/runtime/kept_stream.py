"""One stream of a call in its store: entries that are handed over, and kept until the store has acknowledged them.

Above: `keeping`. Below: nothing. What the store refused is handed over again from there on: entries that stand there
already are recognised.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from antiphon.errors import pass_on

logger = logging.getLogger("antiphon")

MOST_KEPT = 50_000_000
"""Bytes that wait for a store that does not take them. More: the stream ends there."""

Line: TypeAlias = tuple[Callable[..., str], tuple[object, ...]]
"""What makes an entry, and of what: made when it is handed over, so that nothing waits for it before."""


class KeptStream:
    """`told(why)` hears that it ends before its call does."""

    __slots__ = ("_bytes", "_entries", "_first", "_lines", "_sent", "_told", "is_over", "name")

    def __init__(self, name: str, told: Callable[[str], None], first: int = 0) -> None:
        self.name = name
        self.is_over = False
        """Nothing more is kept: what follows would mean nothing without what is missing."""
        self._told = told
        self._lines: list[Line] = []
        self._entries: deque[bytes] = deque()
        """What is not acknowledged."""
        self._first = first
        """The position of the first of them."""
        self._sent = 0
        """How many of them were handed over."""
        self._bytes = 0

    def add(self, make: Callable[..., str], *of: object) -> None:
        """One more entry."""
        if not self.is_over:
            self._lines.append((make, of))

    def hand_over(self) -> tuple[int, Sequence[bytes]] | None:
        """What is to be appended now: a position, and the entries from there on."""
        self._write_lines()
        fresh = [self._entries[number] for number in range(self._sent, len(self._entries))]
        if not fresh:
            return None
        position, self._sent = self._first + self._sent, len(self._entries)
        return position, fresh

    def acknowledged(self, end: int) -> None:
        """The store has what stands before the position `end`."""
        for _ in range(min(end - self._first, len(self._entries))):
            self._bytes -= len(self._entries.popleft())
            self._sent = max(0, self._sent - 1)
        self._first = max(self._first, end)

    def refused(self) -> None:
        """The store does not have what was handed over: all that is not acknowledged is handed over again."""
        self._sent = 0

    def give_up(self, why: str) -> None:
        """Nothing more is kept."""
        if not self.is_over:
            self.stop()
            self._told(f"the {self.name} of this call ends here: {why}")

    def stop(self) -> None:
        """The same, and nobody is told."""
        self.is_over = True
        self._lines.clear()
        self._entries.clear()
        self._sent = self._bytes = 0

    def _write_lines(self) -> None:
        lines, self._lines = self._lines, []
        for make, of in lines:
            try:
                entry = make(*of).encode("utf-8", "surrogatepass")
            except BaseException as error:
                pass_on(error)
                logger.exception("%r could not be written down", of)
                self.give_up(f"what was to be written had no form: {type(error).__name__}")
                return
            self._entries.append(entry)
            self._bytes += len(entry)
        if self._bytes > MOST_KEPT:
            self.give_up(f"the store did not keep up: more than {MOST_KEPT:,} bytes waited for it")
