"""A public name of LiveKit's, and what stands behind it here.

"supported": the same meaning. "different": the name works, and the note says what differs. "absent": importing it is an
`ImportError` that carries the note. Above: `vendors` and `surface`, which say it of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeAlias

Status: TypeAlias = Literal["supported", "different", "absent"]


@dataclass(frozen=True, slots=True)
class Name:
    """A public name of one of LiveKit's modules."""

    name: str
    status: Status
    home: str
    """Where the object is, "module:attribute"; "" if there is none."""
    note: str = ""
    """What differs, or what to use instead."""

    def load(self) -> Any:
        """The object."""
        module, _, attribute = self.home.partition(":")
        return getattr(import_module(module), attribute)


def same(home: str, *names: str) -> list[Name]:
    """Names of `antiphon.<home>` that mean the same."""
    return [Name(name, "supported", f"antiphon.{home}:{name}") for name in " ".join(names).split()]


def renamed(name: str, home: str, note: str = "") -> Name:
    """A name that is another one here. It differs if there is a note."""
    home = home if home.startswith("antiphon_livekit.") else f"antiphon.{home}"
    return Name(name, "different" if note else "supported", home, note)


def ours(home: str, names: str, note: str = "") -> list[Name]:
    """Names that are made for this layer, in `antiphon_livekit.<home>`."""
    return [renamed(name, f"antiphon_livekit.{home}:{name}", note) for name in names.split()]


def absent(note: str, names: str) -> list[Name]:
    """Names that nothing stands behind."""
    return [Name(name, "absent", "", note) for name in names.split()]
