"""`GetNameTask`: a person's name, spelled back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.errors import UsageError
from antiphon.tasks import spoken_forms
from antiphon.tasks.capture import CaptureTask, Words
from antiphon.tools.function import RawFunctionTool, ToolError, ToolResult, function_tool
from antiphon.tools.toolset import ToolLike

__all__ = ["GetNameResult", "GetNameTask"]

_NO_NAMES = frozenset(("unknown", "none", "n/a", "na", "not provided", "user", "caller", "customer"))
"""What models put where they know no name."""


@dataclass(slots=True, frozen=True)
class GetNameResult:
    """What `GetNameTask` found out; "" for parts that were not asked for."""

    first_name: str = ""
    middle_name: str = ""
    last_name: str = ""

    @property
    def full_name(self) -> str:
        """The parts with spaces between."""
        return " ".join(part for part in (self.first_name, self.middle_name, self.last_name) if part)


class GetNameTask(CaptureTask[GetNameResult]):
    """Asks for a name. See `CaptureTask` for the other options.

    `first_name`, `middle_name`, `last_name` say which parts are wanted. `verify_spelling`: the read-back spells it.
    Raises `UsageError` if no part is wanted.
    """

    words = Words("name", "name", "What is your name, please?")
    rules = (
        'Callers spell what is often misheard: "P as in Papa", "double T". Put spelled letters together, and keep the'
        " other parts of the name as they were."
    )

    def __init__(
        self,
        *,
        first_name: bool = True,
        middle_name: bool = False,
        last_name: bool = True,
        verify_spelling: bool = True,
        tools: Sequence[ToolLike] | None = None,
        **options: Any,
    ) -> None:
        wanted = {"first_name": first_name, "middle_name": middle_name, "last_name": last_name}
        self.parts = [part for part, is_wanted in wanted.items() if is_wanted]
        """The parts that are wanted, in the order in which they are said."""
        if not self.parts:
            raise UsageError(
                "GetNameTask: expected first_name, middle_name or last_name to be wanted; all three are False"
            )
        self.verify_spelling = verify_spelling
        super().__init__(tools=[self._update_tool(), *(tools or ())], **options)

    def essence(self, value: GetNameResult) -> str:
        if not self.verify_spelling:
            return f"I have {value.full_name}"
        return f"I have {value.full_name}, spelled {', then '.join(map(spoken_forms.spell, value.full_name.split()))}"

    def _update_tool(self) -> RawFunctionTool[Any]:
        async def update_name(raw_arguments: dict[str, Any]) -> ToolResult:
            return self.captured(GetNameResult(**{part: _valid(part, raw_arguments[part]) for part in self.parts}))

        properties = {
            part: {"type": "string", "description": f"The user's {part.replace('_', ' ')}, as they spell it."}
            for part in self.parts
        }
        return function_tool(
            update_name,
            raw_schema={
                "name": "update_name",
                "description": "Note the name that the user gives, or corrects or spells.",
                "parameters": {"type": "object", "properties": properties, "required": self.parts},
            },
        )


def _valid(part: str, spoken: Any) -> str:
    name = spoken_forms.spelled(str(spoken))
    noun = part.replace("_", " ")
    if not name or name.lower() in _NO_NAMES:
        raise ToolError(f"The {noun} is missing. Ask the user for their {noun}.")
    if len(name) > 80 or any(c.isdigit() or c in "@#*/\\<>{}" for c in name):
        raise ToolError(f"{name[:80]!r} is no {noun}. Ask the user to spell their {noun}.")
    return name.title() if name.islower() else name
