"""A conversation that tells all it is told: replayed, the journal gives the same conversation.

The driver has one in the place of the plain core where somebody listens to `journal`; nobody else pays for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from antiphon.core.conversation import Conversation
from antiphon.core.facts import Fact
from antiphon.events import NewId
from antiphon.options import SessionOptions

Tell: TypeAlias = Callable[[float, Fact | NewId | None], None]
"""Is given the time, in seconds on the driver's clock, and what the core is told; None: the time alone."""


class JournaledConversation(Conversation):
    """The core, with its journal kept by `tell`."""

    def __init__(self, tell: Tell, options: SessionOptions, agent: str, epoch: float, mark: str) -> None:
        super().__init__(options, agent, epoch, mark)
        self._tell = tell
        self._now = 0.0

    def start(self, now: float) -> None:
        self._note(now, None)
        super().start(now)

    def receive(self, fact: Fact, now: float) -> None:
        self._note(now, fact)
        super().receive(fact, now)

    def advance(self, now: float) -> None:
        self._note(now, None)
        super().advance(now)

    def new_id(self) -> int:
        self._note(self._now, NewId())
        return super().new_id()

    def _note(self, now: float, what: Fact | NewId | None) -> None:
        self._now = now
        self._tell(now, what)
