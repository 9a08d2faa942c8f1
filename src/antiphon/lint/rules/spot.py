"""What a rule is given beside the agent, and what it gives.

Above: the rules. Below: the description of agents and tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from antiphon.lint.description import Place, Provider, ToolView

Level: TypeAlias = Literal["error", "warning", "advice"]
"""error: it fails, or does what nobody wants. warning: it will go wrong in some calls. advice: it does not count."""


@dataclass(slots=True, frozen=True)
class Asked:
    """What is to be looked for."""

    providers: Sequence[Provider] = ()
    """By whom the schemas have to be taken."""
    ignored: frozenset[str] = frozenset()
    """Rules that are left out."""


@dataclass(slots=True, frozen=True)
class Spot:
    """One place where a rule is broken."""

    what: str
    """What is wrong here, in words."""
    tool: ToolView | None = None
    """None: it is the agent's."""
    place: Place | None = None
    """None: where the tool, or the agent, is defined."""
    level: Level | None = None
    """None: the rule's."""
    mend: str = ""
    """What helps here; "": what the rule says."""
