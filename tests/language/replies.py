"""Labelled replies to read-backs, and how often they are decided rightly.

A file has a line for each read-back (`asked`, `values`), and behind it a line for each reply to it: what was `said`,
what it `is`, and whether it is a `plain` yes or no, which must be decided at once. `docs/consent.md` is the guide by
which they were labelled.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from antiphon.language import Asked, ConsentPhrases, Reply, decide

HERE = Path(__file__).parent
CONSENT = frozenset({Reply.YES, Reply.YES_AND, Reply.BACKCHANNEL})
"""What a reply is after which the gate lets the call run, once the read-back was heard."""


@dataclass(frozen=True, slots=True)
class Labelled:
    asked: Asked
    said: str
    reply: Reply
    plain: bool

    @property
    def consents(self) -> bool:
        return self.reply in CONSENT


@dataclass(slots=True)
class Figures:
    """How a set of replies was decided."""

    replies: int = 0
    no_consent: int = 0
    plain: int = 0
    as_labelled: int = 0
    false_consent: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    """Plain ones that would be asked again, or taken for something else."""

    @property
    def decided(self) -> float:
        """The part of the plain ones that is decided at once, and rightly."""
        return 1 - len(self.missed) / self.plain

    def __str__(self) -> str:
        return (
            f"{self.replies} replies, false consent {len(self.false_consent)} of {self.no_consent}, plain yes and no"
            f" decided at once {self.decided:.1%} of {self.plain}, as labelled {self.as_labelled / self.replies:.1%}"
        )


@cache
def labelled(name: str) -> tuple[Labelled, ...]:
    """The replies of a file."""
    found: list[Labelled] = []
    asked = Asked("")
    for line in (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        if "asked" in data:
            asked = Asked(data["asked"], tuple(data["values"]))
        else:
            found.append(Labelled(asked, data["said"], Reply[data["is"]], data.get("plain", False)))
    return tuple(found)


def measured(replies: Iterable[Labelled], phrases: ConsentPhrases) -> Figures:
    """What is decided about them."""
    figures = Figures()
    for one in replies:
        decided = decide(one.said, one.asked, phrases)
        figures.replies += 1
        figures.as_labelled += decided is one.reply or (one.consents and decided in CONSENT)
        line = f"{one.said!r} to {one.asked.text!r} is {one.reply.name}, decided {decided.name}"
        if not one.consents:
            figures.no_consent += 1
            if decided in CONSENT:
                figures.false_consent.append(line)
        if one.plain:
            figures.plain += 1
            if (decided not in CONSENT) if one.consents else (decided is not one.reply):
                figures.missed.append(line)
    return figures
