"""What a file of cases may say.

Above: `running`, which makes calls of cases. Below: `reading`, which tells mistakes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from antiphon.evaluation.mocks import Mock
from antiphon.evaluation.reading import Strict, read_file


class ExpectedCall(Strict):
    """A call of a tool that has to be made."""

    tool: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Those that matter: others may be there. A value, or `{matches: ...}`, `{one_of: [...]}`, `{any: true}`."""


class Expected(Strict):
    """What has to follow a turn, or what the caller has to find at its end."""

    tool: str | None = None
    """The tool that has to be called."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Of that call."""
    calls: tuple[ExpectedCall, ...] = ()
    """Several calls, in this order; others may be between them."""
    no_tools: bool = False
    """No tool may be called."""
    not_tools: tuple[str, ...] = ()
    """These tools may not be called."""
    intent: str | None = None
    """What the answer has to do, as a judge reads it."""
    says: tuple[str, ...] = ()
    """Each has to be in the answer, as a regular expression; upper and lower case are one."""
    not_says: tuple[str, ...] = ()
    handoff: str | None = None
    """The agent that has to be in charge afterwards: its class, or its id."""

    @model_validator(mode="before")
    @classmethod
    def _one_or_many(cls, said: Any) -> Any:
        if not isinstance(said, Mapping):
            return said
        names = ("says", "not_says", "not_tools")
        return {key: [value] if key in names and isinstance(value, str) else value for key, value in said.items()}

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.arguments and self.tool is None:
            raise ValueError("arguments are those of a tool. Add `tool: NAME`")
        if self.no_tools and (self.tool or self.calls):
            raise ValueError("no_tools says that none is called, and tool or calls that one is. Keep one")
        if self == type(self).model_construct():
            raise ValueError("nothing is expected. Say tool, calls, no_tools, intent, says, not_says or handoff")
        return self

    @property
    def all_calls(self) -> tuple[ExpectedCall, ...]:
        """The calls that have to be made."""
        first = () if self.tool is None else (ExpectedCall(tool=self.tool, arguments=self.arguments),)
        return (*first, *self.calls)


class Turn(Strict):
    """One thing that the caller says."""

    say: str = Field(min_length=1)
    expect: Expected | None = None


class Case(Strict):
    """One call."""

    name: str = Field(min_length=1)
    say: str | None = None
    """The only thing that the caller says; else `turns`."""
    expect: Expected | None = None
    turns: tuple[Turn, ...] = ()
    state: dict[str, Any] = Field(default_factory=dict)
    """What has to be in the userdata at the end; other things may be there."""
    mocks: dict[str, Mock] = Field(default_factory=dict)
    """What tools do in the place of running, by name: a value is what they return, see `mocks.Mock` for more."""
    repeats: Annotated[int, Field(ge=1, le=1000)] | None = None

    @model_validator(mode="after")
    def _has_turns(self) -> Self:
        if (self.say is None) == (not self.turns):
            raise ValueError("a case has either `say: ...`, or `turns: [...]`")
        if self.turns and self.expect is not None:
            raise ValueError("where there are turns, each has its own `expect`")
        if not self.state and not any(turn.expect for turn in self.all_turns):
            raise ValueError("nothing is expected of it. Add `expect: {tool: ...}`, or `state: {...}`")
        return self

    @property
    def all_turns(self) -> tuple[Turn, ...]:
        """What the caller says, in order."""
        return self.turns if self.say is None else (Turn(say=self.say, expect=self.expect),)

    @property
    def needs_judge(self) -> bool:
        """The intent of an answer is expected."""
        return any(turn.expect is not None and turn.expect.intent is not None for turn in self.all_turns)


class Cases(Strict):
    """A file of cases."""

    cases: tuple[Case, ...] = Field(min_length=1)
    repeats: Annotated[int, Field(ge=1, le=1000)] = 1
    """Of each case that does not say its own."""
    agent: str | None = None
    """The agent file, from the folder of this one. A command line names another."""

    @model_validator(mode="after")
    def _has_names(self) -> Self:
        names = [case.name for case in self.cases]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two cases are called {name!r}. Name one differently")
        return self

    def repeats_of(self, case: Case) -> int:
        """How often it is made."""
        return case.repeats or self.repeats


def read_cases(path: Path) -> Cases:
    """The cases of a YAML file (or JSON, which is YAML). Raises `UsageError`: file, line, what is wrong, what helps."""
    return read_file(path, Cases, of="cases", guide="docs/evaluation.md", command="antiphon eval")
