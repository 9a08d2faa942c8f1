"""What is asked of a store that writes behind its callers' backs, and who writes it: `Database`, one connection.

Above: the writer and the stores on it. Below: the contract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from antiphon.store import CallInfo, CallMeta, Lease, Row, RowState, StoredCall


@dataclass(slots=True, frozen=True)
class Entries:
    """To be added to a stream."""

    stream: str
    position: int
    entries: Sequence[bytes]


@dataclass(slots=True, frozen=True)
class WriteRow:
    """To be merged into what is there of the row."""

    row: Row


@dataclass(slots=True, frozen=True)
class Keep:
    """To replace what is there."""

    meta: CallMeta | None
    parts: Mapping[str, bytes | None]


@dataclass(slots=True, frozen=True)
class Take:
    """The call is to be held, for so many seconds. Comes to the epoch."""

    seconds: float


@dataclass(slots=True, frozen=True)
class GiveBack:
    """The call is to be held by nobody."""


@dataclass(slots=True, frozen=True)
class Nothing:
    """All before it is to be done."""


Change: TypeAlias = Entries | WriteRow | Keep | Take | GiveBack | Nothing


@dataclass(slots=True, eq=False)
class Asked:
    """A change, and who is told what became of it."""

    lease: Lease
    change: Change
    size: int = 100
    """Bytes, about."""
    urgent: bool = True
    """Written at once, and not with what comes within a moment."""
    waited_for: bool = False
    """If it cannot be written now, it is refused, and not kept for later."""
    done: Future[Any] = field(default_factory=Future)


class Database(ABC):
    """One connection, used by one thread at a time. What cannot be done raises `StoreUnavailable`."""

    @abstractmethod
    def commit(self, asked: Sequence[Asked]) -> list[Any]:
        """Write all in one transaction, in order. For each: what came of it, or the `StoreError` that it is refused by.

        What is refused changes nothing, and keeps nothing else from being written. When this returns, all is as
        certain as `durability` says. Raises `StoreUnavailable` if nothing was written, or may have been.
        """

    @abstractmethod
    def renew(self, leases: Collection[Lease], seconds: float) -> list[Lease]:
        """Hold these for so many seconds from now on. Returns those that another holds."""

    @abstractmethod
    def probe(self) -> None:
        """Write something that means nothing, with the same certainty."""

    def tidy(self, *, busy: bool) -> None:
        """Time to tidy up. `busy`: more is to be written, so only what cannot wait. Raises nothing."""

    @property
    def is_gone(self) -> bool:
        """The connection broke, which need not mean that another one would."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Let go. Raises nothing."""

    # -- what needs no lease

    @abstractmethod
    def load(self, call: str) -> StoredCall | None:
        """As `Store.load`."""

    @abstractmethod
    def entries(self, call: str, stream: str, first: int, most: int) -> list[bytes]:
        """As `Store.entries`."""

    @abstractmethod
    def calls(self, caller: str | None, held: bool | None, most: int) -> list[CallInfo]:
        """As `Store.calls`."""

    @abstractmethod
    def rows(
        self, call: str | None, caller: str | None, states: Sequence[RowState], since: float, most: int
    ) -> list[tuple[CallInfo, Row]]:
        """As `Store.rows`."""

    @abstractmethod
    def resolve(self, call: str, key: str, state: RowState, output: str, at: float, attempt: int | None) -> Row:
        """As `Store.resolve`."""

    @abstractmethod
    def erase(self, call: str | None, caller: str | None, keep_rows: bool) -> int:
        """As `Store.erase`."""

    @abstractmethod
    def prune(self, before: float, unknown: bool) -> int:
        """As `Store.prune`."""
