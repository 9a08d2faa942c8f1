"""Stretches of a call that have not ended, and what is known of them so far.

Above: the trail, which sees what happens to them. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(slots=True)
class Stretch:
    """One of them: names, numbers and outcomes (`data`), and what was said in it (`said`)."""

    id: str
    data: dict[str, Any] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def knows(self, **data: Any) -> None:
        """More is known of it."""
        self.data |= data

    def first(self, name: str, value: Any) -> None:
        """It is known, unless it was before."""
        self.data.setdefault(name, value)

    def heard(self, **said: str) -> None:
        """This was said in it."""
        self.said |= said


@dataclass(slots=True, kw_only=True)
class Response(Stretch):
    """What a model writes, or a text that is to be said."""

    gen: int
    segment: int
    agent: str
    asked: float
    by_model: bool
    is_held: bool
    """Made before it is known to be wanted: nobody is told of it yet."""
    reply: str = ""
    text_at: float | None = None
    ended: float | None = None

    def came(self, at: float, *, text: bool) -> None:
        """Something of it is here."""
        self.first("first", at)
        if text and self.text_at is None:
            self.text_at = at

    def called(self, name: str) -> None:
        """It calls a tool."""
        self.data["calls"] = (*self.data.get("calls", ()), name)

    def wanted(self, reply: str) -> None:
        """It is for this reply."""
        self.is_held, self.reply = False, reply

    def over(self, at: float, outcome: str, data: Mapping[str, Any], said: Mapping[str, str]) -> None:
        """Nothing more comes of it."""
        self.ended = at
        self.knows(outcome=outcome, **data)
        self.heard(**said)


@dataclass(slots=True)
class Turn:
    """What the caller said last."""

    number: int = 0
    at: float = 0.0
    """The end of their voice, or when it was typed."""
    origin: Literal["caller", "typed"] = "caller"
    is_answered: bool = True

    def answered(self, at: float) -> float:
        """A reply to it begins. Returns since when it was waited for.

        A second one (the first was cut, and the words went on) is waited for from its own beginning.
        """
        since = at if self.is_answered else self.at
        self.is_answered = True
        return since
