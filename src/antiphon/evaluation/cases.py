"""What a file of cases may say, and what is said to somebody who writes another thing: file, line, and what helps.

Above: `running`, which makes calls of cases. Below: YAML (`pip install 'antiphon[eval]'`), and pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from antiphon.errors import UsageError, missing_package


class _Strict(BaseModel):
    """What is misspelt is an error, and not left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectedCall(_Strict):
    """A call of a tool that has to be made."""

    tool: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Those that matter: others may be there. A value, or `{matches: ...}`, `{one_of: [...]}`, `{any: true}`."""


class Expected(_Strict):
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


class Turn(_Strict):
    """One thing that the caller says."""

    say: str = Field(min_length=1)
    expect: Expected | None = None


class Case(_Strict):
    """One call."""

    name: str = Field(min_length=1)
    say: str | None = None
    """The only thing that the caller says; else `turns`."""
    expect: Expected | None = None
    turns: tuple[Turn, ...] = ()
    state: dict[str, Any] = Field(default_factory=dict)
    """What has to be in the userdata at the end; other things may be there."""
    mocks: dict[str, Any] = Field(default_factory=dict)
    """What tools return in the place of running: by name; `{error: ...}` is what the tool raises."""
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


class Cases(_Strict):
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
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise missing_package("antiphon eval", "PyYAML", "eval") from error
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}. Give a file of cases.") from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        problem = getattr(error, "problem", None) or str(error)
        raise UsageError(f"{where}: no YAML: {problem}. Look at the indentation and the quotes there.") from None
    if isinstance(data, list):
        raise UsageError(f"{path}:1: expected `cases:` with a list under it, got a list. Put `cases:` above it.")
    try:
        return Cases.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        loc = first["loc"]
        named = ".".join(str(part + 1) if isinstance(part, int) else part for part in loc)
        what = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{path}:{_line(root, loc)}: {named or 'the file'}: {_told(first['type'], what)}") from None


def _told(kind: str, message: str) -> str:
    match kind:
        case "extra_forbidden":
            return "there is no such key. docs/evaluation.md has the list; take it out, or spell it so."
        case "missing":
            return "it is missing. Add it."
        case "value_error":
            return f"{message}."
        case _:
            return f"{message}. Mend the value."


def _line(node: Any, loc: tuple[int | str, ...]) -> int:
    """The line of what an error is about, or of the nearest thing around it."""
    line = 1 if node is None else node.start_mark.line + 1
    for part in loc:
        found = _child(node, part)
        if found is None:
            break
        key, node = found
        line = key.start_mark.line + 1
    return int(line)


def _child(node: Any, part: int | str) -> tuple[Any, Any] | None:
    value = getattr(node, "value", None)
    if not isinstance(value, list):
        return None
    if isinstance(part, int):
        return (value[part], value[part]) if part < len(value) and not isinstance(value[part], tuple) else None
    pairs = [one for one in value if isinstance(one, tuple)]
    return next(((key, inner) for key, inner in pairs if getattr(key, "value", None) == part), None)
