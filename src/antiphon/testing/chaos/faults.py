"""What goes wrong in a call, and where.

A fault is a kind and the occasion at which it comes: "slow@3" is the third start of a tool, "barge-in@17" the moment of
the call's seventeenth fact. Without faults a call is the same every time; so the occasions of one without any are the
points at which there can be one.

Above: the parts of a call, which ask whether a fault comes. Below: nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from antiphon.errors import UsageError

Outlived: TypeAlias = Literal[
    "barge-in",
    "cancelled",
    "twice",
    "retried",
    "cut",
    "repeated",
    "reworded",
    "slow",
    "refused",
    "crashed",
    "crashed-after",
    "timed-out",
    "late",
    "store-slow",
    "store-full",
    "store-failing",
    "ack-lost",
]
"""What goes wrong while the process lives on: see `Kind`."""

Ending: TypeAlias = Literal[
    "killed",
    "upgraded",
    "killed-before",
    "killed-after",
    "killed-unwritten",
    "killed-written",
    "frozen",
]
"""What ends the process: see `Kind`."""

Kind: TypeAlias = Literal[Outlived, Ending]
"""What goes wrong.

At a fact of the call:
- "barge-in": the caller speaks, whatever the agent says or does;
- "cancelled": what is being said and generated is stopped.

At a call that the model makes:
- "twice": it is in its response a second time, with an id of its own;
- "retried": the provider breaks behind it, and the next one makes all calls of the response so far once more;
- "cut": the response ends behind it with an error, and is begun anew;
- "repeated": the model, which cannot see what came of it, makes it once more in its next response;
- "reworded": the same, in other words.

At a start of a tool:
- "slow": it takes eight seconds;
- "refused": it says that nothing was done (`ToolError`);
- "crashed", "crashed-after": it breaks, before or after its effect: nobody can know which;
- "timed-out": after its effect it does not return;
- "late": after its effect it returns when nobody waits any more.

At a row that is written to the store:
- "store-slow": it takes five seconds;
- "store-full": from here on nothing can be written for fifteen seconds;
- "store-failing": it is refused;
- "ack-lost": it is written, and nobody hears of that.

The end of the process, of a call that is kept in a store; another one takes it up:
- "killed": at a fact;
- "upgraded": the same, and the store has what the version before wrote;
- "killed-before", "killed-after": in a tool, before or after its effect;
- "killed-unwritten", "killed-written": at a row, before or after it is written;
- "frozen": behind a row that was written, and it wakes when another process has taken the call over.
"""

Occasion: TypeAlias = Literal["fact", "call", "start", "row"]

KILLS: Final[tuple[Kind, ...]] = get_args(Ending)
"""Those that end a process."""
KINDS: Final[tuple[Kind, ...]] = get_args(Outlived)
"""Those that a process outlives."""
OCCASIONS: Final[Mapping[Kind, Occasion]] = {
    "barge-in": "fact",
    "cancelled": "fact",
    "twice": "call",
    "retried": "call",
    "cut": "call",
    "repeated": "call",
    "reworded": "call",
    "slow": "start",
    "refused": "start",
    "crashed": "start",
    "crashed-after": "start",
    "timed-out": "start",
    "late": "start",
    "store-slow": "row",
    "store-full": "row",
    "store-failing": "row",
    "ack-lost": "row",
    "killed": "fact",
    "upgraded": "fact",
    "killed-before": "start",
    "killed-after": "start",
    "killed-unwritten": "row",
    "killed-written": "row",
    "frozen": "row",
}


@dataclass(slots=True, frozen=True)
class Fault:
    """One thing that goes wrong. As text: `kind@at`."""

    kind: Kind
    at: int
    """The occasion of its kind, from 1 on."""

    def __str__(self) -> str:
        return f"{self.kind}@{self.at}"

    @classmethod
    def parse(cls, text: str) -> Fault:
        """The fault of this text. Raises `UsageError`."""
        kind, _, at = text.partition("@")
        if kind not in (*KINDS, *KILLS) or not at.isdecimal() or int(at) < 1:
            raise UsageError(f"a fault: expected KIND@NUMBER with one of {', '.join(OCCASIONS)}, got {text!r}")
        return cls(kind, int(at))


class Faults:
    """The faults of one call: which are due, and which have come."""

    def __init__(self, plan: Iterable[Fault] = ()) -> None:
        self.plan = tuple(plan)
        self.met: Counter[Occasion] = Counter()
        """Occasions so far, by their sort."""
        self.came: list[Fault] = []
        """In order. What is missing had no occasion: the call ended before."""

    def meet(self, occasion: Occasion) -> tuple[Kind, ...]:
        """The next occasion of its sort is here: what goes wrong at it."""
        self.met[occasion] += 1
        return self.at(occasion, self.met[occasion])

    def at(self, occasion: Occasion, number: int) -> tuple[Kind, ...]:
        """What goes wrong at this occasion, each fault once."""
        due = [fault for fault in self.plan if fault.at == number and OCCASIONS[fault.kind] == occasion]
        due = [fault for fault in due if fault not in self.came]
        return tuple(fault.kind for fault in due)

    def has_come(self, kind: Kind, number: int) -> None:
        """It went wrong."""
        self.came.append(Fault(kind, number))


def points(met: Mapping[Occasion, int], kinds: Iterable[Kind] = KINDS) -> Iterator[Fault]:
    """Every single fault that a call with so many occasions can have, in order."""
    for kind in kinds:
        for number in range(1, met.get(OCCASIONS[kind], 0) + 1):
            yield Fault(kind, number)
