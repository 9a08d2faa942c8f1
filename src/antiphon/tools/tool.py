"""What a tool is, and how it answers the model.

Above: `definition` and `function`, which make tools of functions; toolsets; the runtime. What a tool raises here
answers the model and is no failure of the system.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any


class ToolError(Exception):
    """Raised by a tool to tell the model what went wrong. The message goes to the model as the call's error output."""

    def __init__(self, message: object) -> None:
        super().__init__(message)
        self.message = str(message)


class OutcomeUnknown(ToolError):
    """Raised by a tool that cannot tell whether it did what it was called for. A write is not started again then."""


class StopResponse(Exception):
    """Raised by a tool (or a turn hook) when no reply shall follow."""


@dataclass(slots=True)
class ToolResult:
    """A result with a say in what follows it."""

    output: Any
    """What the model is told, rendered as any returned value."""
    reply_required: bool = field(default=True, kw_only=True)
    """False: the output is recorded and no reply is made for it."""


class Tool(ABC):
    """Something that a model can be offered."""

    @property
    @abstractmethod
    def id(self) -> str:
        """A stable name. Of two tools with one id, `update_tools` keeps the later."""


class ProviderTool(Tool):
    """A tool that runs at the model provider, for example its web search. Only that provider understands it."""

    def __init__(self, *, id: str) -> None:
        self._id = id

    @property
    def id(self) -> str:
        return self._id
