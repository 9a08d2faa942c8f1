"""The tools for which a model refused a whole request: no model of the session is offered them again.

Above: `requests`, which asks again without them. Below: the host, which tells the application.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.errors import ToolRefused
from antiphon.options import ToolChoice
from antiphon.runtime.host import Events
from antiphon.tools.function import Tool

logger = logging.getLogger("antiphon")


class RefusedTools:
    """Those who listen hear of each tool that is left out, once."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._refused: list[Tool] = []

    def leave_out(self, error: ToolRefused, tools: Sequence[Any]) -> bool:
        """From here on. False if no such tool was among `tools`: asking again would change nothing."""
        tool = next((tool for tool in tools if isinstance(tool, Tool) and tool.id == error.tool), None)
        if tool is None:
            return False
        self._refused.append(tool)
        logger.error("the tool %r is left out for the rest of the session: %s", error.tool, error)
        self._events.failed(error, tool)
        return True

    def without(self, tools: list[Any]) -> list[Any]:
        """Those of `tools` that may be offered."""
        return [tool for tool in tools if tool not in self._refused] if self._refused else tools

    def allow(self, choice: ToolChoice | None) -> bool:
        """False for the choice of one that is left out."""
        function = choice.get("function") if isinstance(choice, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        return not any(tool.id == name for tool in self._refused)
