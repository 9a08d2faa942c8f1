"""What a caller wants done, and the world in which it is done.

Above: the caller, the model and the judge, who all read it. Below: the vocabulary.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from antiphon.agent import Agent
    from antiphon.tools.function import RawFunctionTool

NOTE: Final = "note"
"""The argument that the tools of an errand may have beside their own, and that makes no wish."""

Key: TypeAlias = tuple[str, str]
"""A tool and its arguments as text: equal for calls that do the same."""


def key_of(tool: str, arguments: Mapping[str, Any]) -> Key:
    """What a call does, whatever else is in it."""
    own = {name: value for name, value in arguments.items() if name != NOTE}
    return tool, json.dumps(_plain(own), sort_keys=True, default=str)


def _plain(value: Any) -> Any:
    """5 and 5.0 are the same."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(slots=True, frozen=True)
class Wish:
    """One thing that a caller wants done once."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """Equal for wishes of the same."""
        return key_of(self.tool, self.arguments)

    def __str__(self) -> str:
        return f"{self.tool}({json.dumps(dict(self.arguments), default=str)})"


class Bench(ABC):
    """Where the tools of a world do what they do: each start is counted, and has its faults."""

    @abstractmethod
    async def perform(self, tool: str, arguments: Mapping[str, Any], *, call_id: str = "") -> str:
        """A tool was started, by the call of this id: have the world do it. Returns its receipt, and what came."""

    @abstractmethod
    def tool(self, name: str, *, description: str, parameters: Mapping[str, Any], effect: str) -> RawFunctionTool[Any]:
        """A tool of this world, by its JSON schema. `effect`: reads, writes or irreversible.

        It has an argument of which no wish depends: other words for the same.
        """


class World(ABC):
    """What the tools of an errand act upon. Each call has one of its own."""

    @abstractmethod
    def agent(self, bench: Bench) -> Agent:
        """Who is called. Its tools do what they do by `bench.perform`."""

    @abstractmethod
    def writes(self, tool: str) -> bool:
        """Calls of it change something: they are counted."""

    @abstractmethod
    async def act(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Do it, now. Returns what came of it."""

    def state(self) -> str:
        """How everything stands, as text. "": nobody can tell, and only executions are counted."""
        return ""


@dataclass(slots=True, frozen=True)
class Errand:
    """A dialogue by its outcome: in each turn the caller wants some things done, in order."""

    name: str
    turns: tuple[tuple[Wish, ...], ...]
    world: Callable[[], World]
    """Makes one."""

    @property
    def wishes(self) -> Iterable[Wish]:
        """All of them, in order."""
        return (wish for turn in self.turns for wish in turn)

    def counts(self, world: World) -> Counter[Key]:
        """How often each write is wanted."""
        return Counter(wish.key for wish in self.wishes if world.writes(wish.tool))

    async def plain(self, wishes: Iterable[Wish] | None = None) -> str:
        """How everything stands once this was done, without any agent. `wishes`: all of the errand's, in order."""
        world = self.world()
        for wish in self.wishes if wishes is None else wishes:
            await world.act(wish.tool, wish.arguments)
        return world.state()


def said(turn: int) -> str:
    """The caller's words for a turn, from 1 on."""
    return f"please do number {_spoken(turn)}"


def heard(words: str) -> list[int]:
    """The turns that these words ask for."""
    numbers: list[int] = []
    parts = words.casefold().replace(",", " ").replace(".", " ").split()
    for at, word in enumerate(parts):
        if word == "number" and at + 1 < len(parts) and parts[at + 1] in _NUMBERS:
            numbers.append(_NUMBERS[parts[at + 1]])
    return numbers


_ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _spoken(number: int) -> str:
    tens, ones = divmod(number, 10)
    return _ONES[ones] if not tens else f"{_ONES[tens]}-{_ONES[ones]}"


_NUMBERS: Final[Mapping[str, int]] = {_spoken(number): number for number in range(100)}


def turns_of(groups: Sequence[Sequence[Wish]]) -> tuple[tuple[Wish, ...], ...]:
    """Turns, of which those without wishes are left out: the caller says nothing in them."""
    return tuple(tuple(group) for group in groups if group)
