"""All that the conversation is told, and what it asks for: replayed, the journal gives the same conversation.

The driver has one among its observers where somebody listens to `journal`; nobody else pays for it. What a journal
looks like, and who writes it, is no matter of the runtime (`antiphon.replay`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from antiphon.core.commands import Command
from antiphon.core.facts import Fact
from antiphon.core.notices import Notice
from antiphon.events import JournalEvent, NewId
from antiphon.runtime.observers import Observer
from antiphon.runtime.port import Port

Tell: TypeAlias = Callable[[JournalEvent], None]
"""Is given each entry of the journal."""


class Journal(Observer):
    """Tells what the core is told, before it is told, and what it gave, before anything of it is done."""

    def __init__(self, tell: Tell, agent: str, port: Port) -> None:
        self._tell = tell
        self._event = partial(JournalEvent, agent=agent, options=port.options, epoch=port.epoch, mark=port.mark)

    def fact(self, at: float, fact: Fact) -> None:
        self._tell(self._event(at=at, fact=fact))

    def command(self, at: float, command: Command) -> None:
        self._tell(self._event(at=at, command=command))

    def notice(self, at: float, notice: Notice) -> None:
        self._tell(self._event(at=at, command=notice))

    def span(self, name: str, at: float, **data: object) -> None:
        if name == "time":
            self._tell(self._event(at=at))
        elif name == "number":
            self._tell(self._event(at=at, fact=NewId()))
