"""What of the application is kept with a call: its userdata, and what agents say of themselves (`Agent.dump_state`).

It is written at the end of each turn and behind each tool, before the tool's outcome, where it has changed.

Above: the call store, which begins it, and who resumes a call, and reads it. Below: what keeps the call.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon.agent import Agent
from antiphon.application.userdata import FieldsCodec
from antiphon.chat import ChatMessage
from antiphon.core.commands import Command, Record
from antiphon.core.facts import Fact, ToolReturned
from antiphon.core.notices import HandedOff, Notice
from antiphon.errors import pass_on
from antiphon.protocols import UserdataCodec
from antiphon.runtime.keeping import Keeping
from antiphon.runtime.masks import Masks, masked_data
from antiphon.runtime.observers import Observer
from antiphon.runtime.parts import read_part, written_part

logger = logging.getLogger("antiphon")

PART = "application"
"""Its name among the parts of the call."""

FORMAT = 1
"""Grows when a reader of the format before would misunderstand."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was kept."""

    userdata: Any = None
    """JSON data; None: nothing."""
    agents: Mapping[str, Any] = field(default_factory=dict)
    """By id: JSON data."""

    def to_part(self) -> bytes:
        """As it is kept."""
        return written_part(FORMAT, {"userdata": self.userdata, "agents": dict(self.agents)})

    @classmethod
    def of_part(cls, part: bytes | None) -> Snapshot:
        """What stands in a part; None: nothing was kept. Raises `StoreError`."""
        if part is None:
            return cls()
        return read_part(part, "what the application kept", FORMAT, lambda data: cls(data["userdata"], data["agents"]))


class Snapshots(Observer):
    """Keeps those of one call. `userdata` gives what it is now; `agents` are those of the session, by id."""

    def __init__(
        self,
        keeping: Keeping,
        codec: UserdataCodec[Any] | FieldsCodec,
        userdata: Callable[[], Any],
        agents: Mapping[str, Agent],
        masks: Masks,
    ) -> None:
        self._keeping = keeping
        self._codec = codec
        self._userdata = userdata
        self._agents = agents
        self._masks = masks
        self._broken: set[str] = set()
        """What could not be kept, which was said once."""
        self.take()

    def take(self) -> None:
        """Keep what is there now."""
        userdata = self._userdata()
        kept = None if userdata is None else self._dumped("userdata", lambda: self._codec.dump(userdata))
        states = {
            name: state
            for name, agent in self._agents.items()
            if (state := self._dumped(f"dump_state() of agent {name!r}", agent.dump_state)) is not None
        }
        self._keeping.put(PART, Snapshot(*masked_data(self._masks.mask, [kept, states])).to_part())

    def _dumped(self, what: str, dump: Callable[[], Any]) -> Any:
        """JSON data. None: there is none, or it cannot be kept."""
        try:
            data = dump()
            json.dumps(data)
            return data
        except BaseException as error:
            pass_on(error)
            if what not in self._broken:
                self._broken.add(what)
                logger.exception("%s: what it gave could not be kept", what)
            return None

    def fact(self, at: float, fact: Fact) -> None:
        if isinstance(fact, ToolReturned):
            self.take()

    def command(self, at: float, command: Command) -> None:
        if isinstance(command, Record) and isinstance(command.item, ChatMessage):
            self.take()

    def notice(self, at: float, notice: Notice) -> None:
        if isinstance(notice, HandedOff):
            self.take()
