"""What a model is told about a tool."""

from __future__ import annotations

from typing import Any

from antiphon.record import frozen


@frozen
class ToolSpec:
    """What a model is told about a tool. Shared and cached: do not change `parameters`."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON schema of type object."""
    hidden: frozenset[str] = frozenset()
    """Names of the arguments of which all but the tool see a mask: `Secret`s, and those of `redact=`."""
