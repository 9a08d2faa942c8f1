"""Preemptive generation: the model is asked when the caller's turn is likely to be over, before it is.

    NOTHING --words, silence, a likely end--> HELD --turn committed, nothing else changed--> the reply
    HELD --the caller goes on, or anything that the request showed changed--> discarded

The basis of a response is the history, the agent and the words it was made with. It is compared when the turn is
answered, after the hook: a held response is used only if asking now would ask the same. Held, it has no place in the
history, plays nothing, and its calls wait; discarding it leaves no trace.

Above: the floor, and `rules.ahead`, which asks and compares. Below: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.core.stages import Stage
from antiphon.core.state import Frame, Speech
from antiphon.options import PreemptiveGeneration

SPOILED_ENOUGH = 2
"""Turns in a row whose held response was spoiled by the application's hook, after which no more is made ahead."""


@dataclass(slots=True, frozen=True)
class Basis:
    """What a response was made with."""

    version: int
    """Of the history."""
    text: str
    frame: Frame
    agent: str


class Ahead:
    """At most one response that is made ahead."""

    __slots__ = ("_options", "_spoiled", "_tried", "_tries", "basis", "held")

    def __init__(self, options: PreemptiveGeneration) -> None:
        self._options = options
        self.held: Speech | None = None
        self.basis: Basis | None = None
        self._tries = 0
        """Responses made for the turn at hand."""
        self._tried = ""
        """The words that the latest one was made for."""
        self._spoiled = 0

    @property
    def is_lost(self) -> bool:
        """What was held is over: its model failed."""
        return self.held is not None and self.held.stage is Stage.DONE

    def may_try(self, text: str, voiced_for: float) -> bool:
        """Whether one may be made for these words."""
        options = self._options
        return (
            self._tries < options.max_retries
            and self._spoiled < SPOILED_ENOUGH
            and text != self._tried
            and voiced_for <= options.max_speech_duration
        )

    def asked(self, speech: Speech, basis: Basis) -> None:
        """A response is being made."""
        self.held, self.basis = speech, basis
        self._tries += 1
        self._tried = basis.text

    def turn_over(self) -> None:
        """What the caller says next is another turn."""
        self._tries, self._tried = 0, ""

    def used(self) -> None:
        """It is the reply."""
        self.held = None
        self._spoiled = 0

    def spoiled(self) -> None:
        """The application changed what it was made with."""
        self._spoiled += 1

    def dropped(self) -> None:
        """It is not wanted."""
        self.held = None
