"""`GetNameTask`: a person's name, spelled back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.errors import UsageError
from antiphon.run_context import RunContext
from antiphon.tasks import spoken_forms
from antiphon.tasks.capture import CaptureTask, Words
from antiphon.tools.function import ToolError, ToolResult, function_tool

__all__ = ["GetNameResult", "GetNameTask"]

_NO_NAMES = frozenset(("unknown", "none", "n/a", "na", "not provided", "user", "caller", "customer"))
"""What models put where they know no name."""
_PARTICLES = frozenset("de da di del della der den van von la le bin ibn al el dos du st".split())


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
        self._alone = ""
        """A first name that came alone, and waits for the rest."""
        super().__init__(**options)

    def essence(self, value: GetNameResult) -> str:
        if not self.verify_spelling:
            return f"I have {value.full_name}"
        return f"I have {value.full_name}, spelled {', then '.join(map(spoken_forms.spell, value.full_name.split()))}"

    @function_tool
    async def update_name(self, ctx: RunContext[Any], full_name: str, last_name: str = "") -> ToolResult:
        """Note the name that the user gives, or corrects or spells.

        Args:
            ctx: The call.
            full_name: The full name of the user, first name first, as they spell it.
            last_name: The last name alone, where it has several words, like "van der Berg", or was given separately.
        """
        return self.captured(ctx, self._divided(_valid(full_name), _valid(last_name) if last_name.strip() else ""))

    def _divided(self, full_name: str, last_name: str) -> GetNameResult:
        """The parts that are wanted. Raises `ToolError` if one is missing."""
        if len(self.parts) == 1:
            return GetNameResult(
                **{self.parts[0]: last_name if self.parts == ["last_name"] and last_name else full_name}
            )
        words = full_name.split()
        if len(words) == 1 and self._alone and words[0] != self._alone:
            # Asked for the rest, callers say the rest alone.
            full_name, words = f"{self._alone} {full_name}", [self._alone, *words]
        if not last_name and len(words) > 1:
            last_name = _last_name(words)
        if full_name.casefold().endswith(last_name.casefold()):
            words = words[: len(words) - len(last_name.split())]
        elif len(words) > 1:
            words = words[: -len(_last_name(words).split())]
        if not words or not last_name:
            self._alone = full_name
            missing = "first name" if "last_name" not in self.parts else "last name"
            raise ToolError(f"The {missing} is missing. Ask the user for their {missing}.")
        middle = " ".join(words[1:])
        if "middle_name" in self.parts:
            return GetNameResult(words[0], middle, last_name)
        return GetNameResult(f"{words[0]} {middle}".strip(), "", last_name)


def _last_name(words: Sequence[str]) -> str:
    """The last word with the particles before it: of "Anna van der Berg" it is "van der Berg"."""
    at = len(words) - 1
    while at > 1 and words[at - 1].lower() in _PARTICLES:
        at -= 1
    return " ".join(words[at:])


def _valid(spoken: str) -> str:
    name = " ".join(_respelled(spoken))
    if not name or name.lower() in _NO_NAMES:
        raise ToolError("The name is missing. Ask the user for their name.")
    if len(name) > 100 or any(c.isdigit() or c in "@#*/\\<>{}" for c in name):
        raise ToolError(f"{name[:100]!r} is not a name. Ask the user to spell their name.")
    return name.title() if name.islower() else name


def _respelled(spoken: str) -> list[str]:
    """The words of a name, with those that are spelled letter by letter put together: "Ann L-E-E" is "Ann Lee"."""
    words = spoken.split()
    if all(len(word.strip(".,-")) == 1 for word in words):
        return spoken_forms.spelled(spoken).split()
    return [spoken_forms.spelled(word) if "-" in word[1:2] else word.strip(",") for word in words]
