"""What the author of a tool says about it, and what of that cannot be right.

Above: `function`, whose decorator takes it, and `policy`, which says what follows from it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

from antiphon.errors import ToolDefinitionError
from antiphon.options import NOT_GIVEN, DuplicateMode, DuplicateScope, Effect, NotGivenOr, Repeat, is_given
from antiphon.tools.arguments import canonical_text

Identity: TypeAlias = Sequence[str] | Callable[[Mapping[str, Any]], Any]
"""What of a call's arguments makes the wish: their names, or a function of all that the call has."""

_NOT_BUILT_YET = frozenset({"confirm", "retries", "undo", "reconcile"})
_EFFECTS = ("reads", "unsaid", "writes")
_DUPLICATE_MODES = ("allow", "replace", "reject", "confirm")
_DUPLICATE_SCOPES = ("name", "name_and_args")
_REPEATS = ("per_turn", "once")


class ToolFlag(enum.Flag):
    """Behaviour that a tool opts in to."""

    NONE = 0
    IGNORE_ON_ENTER = enum.auto()
    """Hidden from every reply made inside `on_enter`."""
    CANCELLABLE = enum.auto()
    """The model may cancel a running call of it."""


class ToolSettings(TypedDict, total=False):
    """What `function_tool` is told of `ToolOptions`."""

    flags: ToolFlag
    effect: Effect
    timeout: float | None
    background_timeout: float | None
    filler: str | None
    on_duplicate: NotGivenOr[DuplicateMode]
    duplicate_scope: DuplicateScope
    identity: Identity | None
    repeat: Repeat
    max_result_chars: int


@dataclass(slots=True, frozen=True, kw_only=True)
class ToolOptions:
    """What the author of a tool said about it. `antiphon.tools.policy.policy_of` gives what follows from it."""

    flags: ToolFlag = ToolFlag.NONE
    effect: Effect = "unsaid"
    timeout: float | None = None
    """Seconds; None: by effect."""
    background_timeout: float | None = None
    """The same for calls that work in the background."""
    filler: str | None = None
    on_duplicate: NotGivenOr[DuplicateMode] = NOT_GIVEN
    """Not given: as the toolset says, and "allow" where there is none."""
    duplicate_scope: DuplicateScope = "name"
    identity: Identity | None = None
    """None: all arguments."""
    repeat: Repeat = "per_turn"
    max_result_chars: int = 20_000
    """Longer results are cut, with a note."""

    def __post_init__(self) -> None:
        """Raises `ToolDefinitionError` for what cannot be right."""
        _check(self)

    def __hash__(self) -> int:
        """Of what most tools differ in: every call looks up what follows from the options."""
        return hash((self.effect, self.timeout, self.filler))

    def wish_of(self, arguments: Mapping[str, Any]) -> str:
        """A text that is equal for calls of one wish, as `identity` says; "" where it is not given."""
        chosen = self.identity
        if chosen is None:
            return ""
        picked = {"": chosen(arguments)} if callable(chosen) else {name: arguments.get(name) for name in chosen}
        return canonical_text(picked)

    def check_names(self, tool: str, parameters: Mapping[str, Any]) -> None:
        """Raises `ToolDefinitionError` if `identity` names what is no parameter of the tool."""
        known = parameters.get("properties", {})
        names = () if self.identity is None or callable(self.identity) else self.identity
        if unknown := [name for name in names if name not in known]:
            raise ToolDefinitionError(
                f"tool {tool!r}: identity= names {unknown[0]!r}, expected one of its parameters: "
                f"{', '.join(known) or 'it has none'}."
            )


def refuse_unavailable(options: Mapping[str, object], effect: str) -> None:
    """Raises `ToolDefinitionError` for options that there are not, or not yet."""
    for option in options:
        if option in _NOT_BUILT_YET:
            raise ToolDefinitionError(f"function_tool({option}=) is not available yet. Leave it out.")
        raise ToolDefinitionError(f"function_tool() got an unexpected keyword argument {option!r}. Leave it out.")
    if effect == "irreversible":
        raise ToolDefinitionError('function_tool(effect="irreversible") is not available yet. Use effect="writes".')


def _check(options: ToolOptions) -> None:
    _one_of("effect", options.effect, _EFFECTS)
    _one_of("duplicate_scope", options.duplicate_scope, _DUPLICATE_SCOPES)
    if is_given(options.on_duplicate):
        _one_of("on_duplicate", options.on_duplicate, _DUPLICATE_MODES)
    for name, seconds in (("timeout", options.timeout), ("background_timeout", options.background_timeout)):
        if seconds is not None and not seconds > 0:
            raise ToolDefinitionError(f"function_tool({name}=) must be a positive number of seconds, got {seconds!r}.")
    _one_of("repeat", options.repeat, _REPEATS)
    if options.repeat != "per_turn" and options.effect != "writes":
        raise ToolDefinitionError('function_tool(repeat=) is for tools that write. Say effect="writes" too.')
    if options.identity is not None and options.effect == "reads":
        raise ToolDefinitionError("function_tool(identity=) is for tools that write: one that reads may be run again.")
    if isinstance(options.identity, str) or options.identity == ():
        raise ToolDefinitionError(
            'function_tool(identity=): expected names of parameters, as ("date",), or a function, '
            f"got {options.identity!r}."
        )
    if options.max_result_chars < 1:
        raise ToolDefinitionError(
            f"function_tool(max_result_chars=) must be positive, got {options.max_result_chars!r}."
        )


def _one_of(option: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ToolDefinitionError(f"function_tool({option}=) must be one of {', '.join(allowed)}, got {value!r}.")
