"""Why a store refuses, in words that are the same whatever store it is, and what all of them check.

Above: the stores. Below: the contract.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from antiphon.errors import LeaseHeld, LeaseLost, StoreConflict, StoreError, UsageError
from antiphon.store import LONGEST_ENTRY, Lease, Row, RowState


def misplaced(call: str, stream: str, position: int, length: int) -> StoreConflict:
    """Entries were to be added where others stand, or with a gap before them."""
    return StoreConflict(
        f"store: {stream} of the call {call!r}: expected entries at position {length}, got other ones at {position}."
        " Load the call, and go on behind what it has.",
        found=length,
    )


def fenced(lease: Lease) -> LeaseLost:
    """A worker wrote that does not hold the call any more."""
    return LeaseLost(
        f"store: the call {lease.call!r} is not held by {lease.worker} (epoch {lease.epoch}) any more. Start nothing"
        " for it; who holds it goes on with it."
    )


def held(call: str, worker: str, seconds: float) -> LeaseHeld:
    """A call was to be taken that another worker holds."""
    until = "until it gives it back" if seconds == math.inf else f"for {seconds:.1f} s at least"
    return LeaseHeld(
        f"store: the call {call!r} is held by {worker} {until}. Ask again then, or end it there.",
        worker=worker,
        seconds=seconds,
    )


def too_long(lease: Lease, what: str, entries: Sequence[bytes]) -> StoreError | None:
    """An entry or a part is larger than any may be. None: they are not."""
    longest = max(map(len, entries), default=0)
    if longest <= LONGEST_ENTRY:
        return None
    return StoreError(
        f"store: {what} of the call {lease.call!r}: expected at most {LONGEST_ENTRY:,} bytes, got {longest:,}. Keep"
        " large data elsewhere, and its address here."
    )


def no_such_row(call: str, key: str) -> StoreError:
    """A row was named that is not there."""
    return StoreError(f"store: the call {call!r} has no row {key!r}. `antiphon calls {call}` shows those that it has.")


def check_which(call: str | None, caller: str | None) -> None:
    """Raise `UsageError` unless one of the two is named: to erase all that there is must be said otherwise."""
    if (call is None) is (caller is None):
        raise UsageError("store.erase(): expected call= or caller=, one of them. To erase by age, there is prune().")


def is_unknown(row: Row) -> bool:
    """Nobody knows what came of it, or will, unless it is looked into."""
    return row.state in (RowState.UNKNOWN, RowState.STARTED)
