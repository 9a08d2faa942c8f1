"""`GetNameTask`: a person's name, spelled back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from antiphon.errors import UsageError
from antiphon.language import SpokenForms
from antiphon.run_context import RunContext
from antiphon.tasks.capture import CaptureTask, Words
from antiphon.text import spoken
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
        self._words: list[str] = []
        """The name as it was given last."""
        super().__init__(**options)

    def essence(self, value: GetNameResult) -> str:
        name, lines = value.full_name, self.language.captures
        if not self.verify_spelling:
            return self.have(name)
        letters = lines.then.join(spoken.spell(word, self.language.spoken) for word in name.split())
        return self.have(lines.spelled.format(value=name, letters=letters))

    @function_tool
    async def update_name(self, ctx: RunContext[Any], full_name: str, last_name_words: int = 1) -> ToolResult:
        """Note the name that the user gives, or corrects or spells.

        Args:
            ctx: The call.
            full_name: The full name of the user, first name first, as they spell it.
            last_name_words: How many words of it, counted from its end, are the last name.
        """
        words = self._whole(_valid(full_name, self.language.spoken).split())
        return self.captured(ctx, self._divided(words, last_name_words))

    def _whole(self, words: list[str]) -> list[str]:
        """The whole name, where one word was given that belongs to what was given before.

        Callers who are asked for the rest of a name, or correct a part of it, say that part alone, and small models
        pass on just that. It is read back, so a wrong guess is heard.
        """
        before, self._words = self._words, words
        if len(words) == 1 and before and self._takes_several:
            if len(before) > 1:
                likeness = [SequenceMatcher(None, part.lower(), words[0].lower()).ratio() for part in before]
                at = likeness.index(max(likeness))
                words = [*before[:at], *words, *before[at + 1 :]]
            elif words != before:
                words = [*before, *words]
            self._words = words
        return words

    @property
    def _takes_several(self) -> bool:
        return len(self.parts) > 1

    def _divided(self, words: list[str], last_name_words: int) -> GetNameResult:
        """The parts that are wanted. Raises `ToolError` if one is missing."""
        if not self._takes_several:
            return GetNameResult(**{self.parts[0]: " ".join(words)})
        if len(words) < 2:
            missing = self.parts[-1].replace("_", " ")
            raise ToolError(f"The {missing} is missing. Ask the user for their {missing}.")
        at = len(words)
        if "last_name" in self.parts:
            at = _where_last_name_begins(words) if last_name_words < 2 else max(1, len(words) - last_name_words)
        given, last_name = words[:at], " ".join(words[at:])
        if "middle_name" not in self.parts:
            return GetNameResult(" ".join(given), last_name=last_name)
        if "first_name" not in self.parts:
            return GetNameResult(middle_name=" ".join(given), last_name=last_name)
        return GetNameResult(given[0], " ".join(given[1:]), last_name)


def _where_last_name_begins(words: Sequence[str]) -> int:
    """At the last word, or at the particles before it: "Anna | van der Berg"."""
    at = len(words) - 1
    while at > 1 and words[at - 1].lower() in _PARTICLES:
        at -= 1
    return at


def _valid(said: str, forms: SpokenForms) -> str:
    name = " ".join(_respelled(said, forms))
    if not name or name.lower() in _NO_NAMES:
        raise ToolError("The name is missing. Ask the user for their name.")
    if len(name) > 100 or any(c.isdigit() or c in "@#*/\\<>{}" for c in name):
        raise ToolError(f"{name[:100]!r} is not a name. Ask the user to spell their name.")
    return name.title() if name.islower() else name


def _respelled(said: str, forms: SpokenForms) -> list[str]:
    """The words of a name, with those that are spelled letter by letter put together: "Ann L-E-E" is "Ann Lee"."""
    words = said.split()
    if all(len(word.strip(".,-")) == 1 for word in words):
        return spoken.spelled(said, forms).split()
    return [spoken.spelled(word, forms) if "-" in word[1:2] else word.strip(",") for word in words]
