"""What is known of agents and tools without a call: what rules are functions of.

Above: rules, and the report. Below: what tools say of themselves. Nothing here reads files or runs code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from antiphon.text.tokens import tokens_of
from antiphon.tools.function import ToolOptions
from antiphon.tools.guarantees import Guarantee

Provider: TypeAlias = Literal["openai", "anthropic", "gemini"]
PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic", "gemini")

NO_AGENT = "(no agent)"
"""Stands for the agent of tools that none was found to have."""

Dialect: TypeAlias = Literal["antiphon", "livekit"]
"""Whose names a file is written with. LiveKit's decorator has no effect, identity or limit to say."""


@dataclass(slots=True, frozen=True)
class Place:
    """A line of the user's code."""

    file: str = ""
    """As one would type it in this folder; "": it is not known."""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "(no source)"


@dataclass(slots=True, frozen=True)
class Seen:
    """Something that stands in the source of a function."""

    what: str
    """In words, as it is written."""
    place: Place
    remedy: str = ""


@dataclass(slots=True, frozen=True)
class Code:
    """What the source of a function shows."""

    is_async: bool = True
    blocking: tuple[Seen, ...] = ()
    """Calls that keep the event loop waiting."""
    payloads: tuple[Seen, ...] = ()
    """Returned values that are data as a program has it."""
    ids: tuple[Seen, ...] = ()
    """Returned values that are an id nobody can say."""
    raises: tuple[Seen, ...] = ()
    """Exceptions that the model is told nothing of."""
    bare_errors: tuple[Seen, ...] = ()
    """`ToolError`s without a word on what to do."""
    reaches_out: bool = False
    """It calls something that is not the session: a backend, a database, an endpoint."""
    has_gate: bool = False
    """A parameter has to be true before it goes on: the model says that it has asked."""
    shields: bool = False
    """It forbids interruptions."""
    has_timeout: bool = False
    """It bounds what it waits for."""
    sends: tuple[Seen, ...] = ()
    """Requests that change something where they arrive: POST, PUT, PATCH, DELETE."""


@dataclass(slots=True, frozen=True)
class Parameter:
    """What a model fills in."""

    name: str
    schema: Mapping[str, Any]
    is_required: bool = True

    @property
    def description(self) -> str:
        """What is said of it."""
        return str(self.schema.get("description") or "")

    @property
    def values(self) -> tuple[str, ...]:
        """Those that its type allows, if it names them."""
        return tuple(str(one) for one in _values(self.schema))

    @property
    def bounds(self) -> tuple[str, ...]:
        """The limits that its type has for numbers."""
        names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        return tuple(f"{self.schema[name]:g}" for name in names if isinstance(self.schema.get(name), (int, float)))

    @property
    def kind(self) -> str:
        """The JSON type; of an optional one that which it has if it is there."""
        if isinstance(kind := self.schema.get("type"), str):
            return kind
        kinds = [one.get("type") for one in self.schema.get("anyOf", ()) if isinstance(one, Mapping)]
        return next((str(one) for one in kinds if one and one != "null"), "")


def _values(schema: Mapping[str, Any]) -> list[Any]:
    if isinstance(listed := schema.get("enum"), list):
        return [one for one in listed if one is not None and not isinstance(one, bool)]
    if isinstance(one := schema.get("const"), (str, int, float)) and not isinstance(one, bool):
        return [one]
    found = [value for part in schema.get("anyOf", ()) if isinstance(part, Mapping) for value in _values(part)]
    items = schema.get("items")
    return found or (_values(items) if isinstance(items, Mapping) else [])


@dataclass(slots=True, frozen=True)
class ToolView:
    """A tool, as far as it is known."""

    name: str
    description: str
    """What the model reads."""
    schema: Mapping[str, Any]
    """Of its parameters."""
    options: ToolOptions
    guarantee: Guarantee | None
    """How often it takes effect for one wish; None: it does not say that it writes."""
    best_guarantee: Guarantee | None
    """The same where its calls are kept in a store with transactions."""
    place: Place = field(default_factory=Place)
    code: Code | None = None
    """None: its source cannot be read."""
    is_own: bool = True
    """Its author is the user, and not a package."""
    problem: str = ""
    """Why no model can be offered it; "": one can."""
    ignores: frozenset[str] = frozenset()
    """Rules that a comment at the tool leaves out; "*" is all."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """In order."""
        properties = self.schema.get("properties")
        required = self.schema.get("required", ())
        if not isinstance(properties, Mapping):
            return ()
        return tuple(
            Parameter(name, schema, name in required)
            for name, schema in properties.items()
            if isinstance(schema, Mapping)
        )

    @property
    def tokens(self) -> int:
        """About what it costs in each request."""
        return tokens_of(f"{self.name} {self.description}") + tokens_of(str(dict(self.schema)), is_data=True)


@dataclass(slots=True, frozen=True)
class ServerView:
    """A server of tools, which are known only once it is connected."""

    id: str
    is_filtered: bool


@dataclass(slots=True, frozen=True)
class HookView:
    """A coroutine function of an agent that is no tool."""

    name: str
    place: Place
    blocking: tuple[Seen, ...]


@dataclass(slots=True, frozen=True)
class AgentView:
    """An agent, as far as it is known."""

    name: str
    instructions: str
    """"": it has none, or they are made in a call."""
    tools: tuple[ToolView, ...]
    place: Place = field(default_factory=Place)
    hooks: tuple[HookView, ...] = ()
    servers: tuple[ServerView, ...] = ()
    unseen: tuple[str, ...] = ()
    """What could not be known of it, in words."""
    dialect: Dialect = "antiphon"
    ignores: frozenset[str] = frozenset()

    @property
    def instruction_tokens(self) -> int:
        """About what the instructions cost in each request."""
        return tokens_of(self.instructions) if self.instructions else 0

    @property
    def tool_tokens(self) -> int:
        """The same of all tools together."""
        return sum(tool.tokens for tool in self.tools)
