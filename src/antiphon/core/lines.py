"""The lines of a journal: what a conversation began with, what it was told, and what came of that, as JSON.

Above: whoever writes journals, to files (`replay`) or to stores (the runtime), and who reads them. Below: `codec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from antiphon.core.codec import to_data
from antiphon.core.commands import Command
from antiphon.core.facts import Fact
from antiphon.options import SessionOptions
from antiphon.visible import to_json

FORMAT = 1
"""Grows when a reader of the format before would misunderstand."""


@cache
def version() -> str:
    """The version of Antiphon that runs, for example "0.1.0"."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("antiphon")
    except PackageNotFoundError:
        return "not installed"


@dataclass(slots=True, frozen=True)
class Head:
    """What a conversation began with."""

    options: SessionOptions
    agent: str
    """The id of the agent that it began with."""
    epoch: float = 0.0
    """To be added to the times of entries: seconds since the Unix epoch."""
    mark: str = ""
    """Is in the ids of its history items."""
    about: str = ""
    """What it shows, in words."""
    commands: bool = False
    """The commands and notices are in it, too."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What else its writer says of it: JSON-ready."""
    antiphon: str = field(default_factory=version)
    """The version that it was made by."""

    def line(self) -> str:
        """The first line of the journal."""
        data = {"journal": FORMAT} | {name: getattr(self, name) for name in HEAD}
        return to_json({**data, "notes": dict(self.notes), "options": to_data(self.options)}) + "\n"


HEAD = {"antiphon": str, "about": str, "agent": str, "epoch": float, "mark": str, "commands": bool, "notes": dict}
"""The fields of a head whose data is the value itself."""


def fact_line(at: float, fact: Fact | None) -> str:
    """A fact as its line of a journal; None: time passed."""
    return to_json({"at": at, "fact": to_data(fact)}) + "\n"


def command_line(at: float, command: Command) -> str:
    """A command or notice as its line of a journal."""
    return to_json({"at": at, "command": to_data(command)}) + "\n"


def ids_line(at: float, count: int) -> str:
    """That the application took so many numbers."""
    return to_json({"at": at, "ids": count}) + "\n"


def end_line(lost: str | None) -> str:
    """The last line. `lost`: why the journal was given up."""
    return to_json({"end": lost}) + "\n"
