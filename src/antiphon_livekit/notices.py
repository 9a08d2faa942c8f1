"""What is accepted and has no effect here is told, once for each thing."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

logger = logging.getLogger("antiphon.livekit")

_told: set[str] = set()


def notice(line: str) -> None:
    """Log `line` as a warning, unless it was logged before in this process."""
    if line not in _told:
        _told.add(line)
        logger.warning(line)


def forget() -> None:
    """Tell everything anew."""
    _told.clear()


def without_effect(where: str, options: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Take the options that are `known` to have no effect here out of `options`, telling so. Returns the rest."""
    idle = [name for name in options if name in known]
    if idle:
        notice(f"{where}: no effect here: {', '.join(idle)}")
    return {name: value for name, value in options.items() if name not in known}
