"""What a promise is: a small listener with a state of its own, and the word for a broken one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from tests.core.fuzz.listener import Listener
from tests.core.fuzz.trace import Trace


def only_listens(text: str) -> bool:
    """The text is one of the world's backchannels, or a few of them."""
    words = text.split()
    return 0 < len(words) <= 3 and all(word in ("uh", "huh", "mm", "hmm", "okay") for word in words)


def asks_presence(text: str) -> bool:
    """The text is one of those by which the world's caller only asks whether somebody is there."""
    return bool(text) and set(re.split(r"(?<=\?) ?", text)) <= {"hello?", "are you there?", "are you still there?", ""}


class Violation(AssertionError):
    """The conversation broke a promise."""


class Promise(Listener):
    """One thing that the core promises, whatever happens. Its docstring says it, and where it stands.

    The sources: *design* and *tool loop* are the two pages that decide what Antiphon does, each with the number of its
    section; *facts*, *commands* and *notices* are the docstrings of the core's vocabulary.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.options = trace.options
        self.start()

    def start(self) -> None:
        """Set up what it keeps in mind."""

    def passed(self, now: float) -> None:
        """Time has passed until now, and nothing happened meanwhile."""

    def settled(self) -> None:
        """After each entry, when all that came of it is known."""

    def unfinished(self) -> Iterable[str]:
        """What is still to come: it may not be forgotten, nor left over in the end."""
        return ()

    def at_rest(self) -> None:
        """Everything was answered, nothing is due, and nobody has asked for the end."""

    def at_end(self) -> None:
        """The session is over."""

    def broken(self, why: str) -> NoReturn:
        raise Violation(f"{re.sub('(?<!^)(?=[A-Z])', ' ', type(self).__name__).lower()}: {why}")
