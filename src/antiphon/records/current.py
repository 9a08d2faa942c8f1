"""Where the calls that begin here are recorded: what a command says, for servers that were not told.

Above: commands, which set it; `AgentServer`, which asks. Below: nothing.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from antiphon.records.keeping import Records


@dataclass(slots=True, frozen=True)
class Said:
    """What a command says of the calls in it."""

    records: Records | None
    """None: no records are made, for calls that are no one's (trials, measurements)."""
    is_default: bool = False
    """Nobody asked for it: a server that knows a place of its own goes by that."""


NOWHERE = Said(None)

call_records: ContextVar[Said | None] = ContextVar("antiphon_records", default=None)
"""What the command says; None: nothing."""
