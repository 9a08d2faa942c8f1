"""A value for a slot, and what surrounds an utterance when its values are put into slots.

The vocabulary of `fill` and of its parts: `typed`, `closed`, `freetext`.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from antiphon_standin.understand import Value


@dataclass(slots=True, frozen=True)
class Fill:
    """A value for a slot."""

    value: Any
    """As it goes into the call."""
    turn: int
    """The number of the caller's turn that gave it."""
    raw: Value | bool | None = None
    """As it was understood."""


@dataclass(slots=True, frozen=True)
class Situation:
    """What surrounds an utterance when its values are put into slots."""

    today: dt.date
    turn: int
    asked: frozenset[str] = frozenset()
    """The names of the slots that the last question asked for."""
    offered_times: tuple[tuple[int, int], ...] = ()
    """The times of day that the agent last named."""
    offered_items: tuple[str, ...] = ()
    """The things that the agent last listed."""
    free_asked: bool = False
    """True if the question was about free text, which may well hold numbers."""
    addressed: bool = False
    """True if the utterance is about this tool, so that its free words may belong to it."""
