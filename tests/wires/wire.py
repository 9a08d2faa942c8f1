"""What a wire is to the runner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True, slots=True)
class Wire:
    """A format that a stranger writes, and the code that reads it. Both functions belong to a module, by name."""

    name: str
    make: Callable[[Random], Any]
    """One input. Its `repr` is what a finding is reproduced from; the same random gives the same input."""
    feed: Callable[[Any], object]
    """Give it to the parser. Raises only for a finding, or one of `declared`."""
    declared: tuple[type[BaseException], ...] = ()
    """What the parser may raise: its documented refusals."""
    share: float = 1.0
    """Of the inputs of a run, against other wires: less for those whose inputs take long."""
    slow: float = 1.0
    """Seconds of processor time above which an input is a finding."""


class Finding(AssertionError):
    """A promise of the parser's that an input broke: raised by `feed`."""


def well_formed(text: str, what: str) -> None:
    """Raises `Finding` if a text cannot be sent on: it holds half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Finding(f"{what} cannot be written as UTF-8: {text[:80]!r}") from error
