"""What the author of a tool says about it, and what of that cannot be right.

Above: `function`, whose decorator takes it, and `policy`, which says what follows from it. An option that changes
nothing, or says the opposite of another, would be believed by whoever wrote it: so it is an error where the tool is
defined, which says why, and what to write instead.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias, TypedDict

from antiphon.errors import ToolDefinitionError
from antiphon.options import (
    NOT_GIVEN,
    WRITING,
    DuplicateMode,
    DuplicateScope,
    Effect,
    NotGiven,
    NotGivenOr,
    OnInterrupt,
    Repeat,
    is_given,
)
from antiphon.tools.arguments import canonical_text
from antiphon.tools.confirm import Confirm, check_confirm, check_kind
from antiphon.tools.hooks import Approve, CallHook
from antiphon.tools.reconciling import Reconcile
from antiphon.tools.tool import OutcomeUnknown, StopResponse, Tool

Identity: TypeAlias = Sequence[str] | Callable[[Mapping[str, Any]], Any]
"""What of a call's arguments makes the wish: their names, or a function of all that the call has."""

RetryOn: TypeAlias = type[Exception] | Sequence[type[Exception]] | Callable[[Exception], bool]
"""Which errors a call is tried again after: their classes, or a function that says it of each."""

Redact: TypeAlias = Sequence[str] | Callable[[str, Any], Any]
"""Names of the arguments, and "return", that are shown as a mask; or what is shown of each: of its name and value."""

RETURN = "return"
"""Stands for the result in `redact=`."""

MOST_RETRIES = 10

_EFFECTS = ("reads", "unsaid", "writes", "irreversible")
_DUPLICATE_MODES = ("allow", "replace", "reject", "confirm")
_DUPLICATE_SCOPES = ("name", "name_and_args")
_REPEATS = ("per_turn", "once", "ask")
_ON_INTERRUPT = ("cancel", "drop", "keep")


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
    retries: NotGivenOr[int]
    retry_on: RetryOn
    idempotent: bool
    on_interrupt: NotGivenOr[OnInterrupt]
    parallel: NotGivenOr[bool]
    confirm: NotGivenOr[Confirm]
    approve: Approve | None
    approve_timeout: float
    undo: str | Tool | None
    reconcile: Reconcile | None
    call_tool: CallHook | None
    max_result_chars: int
    redact: Redact


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
    retries: NotGivenOr[int] = NOT_GIVEN
    """How often a call is tried again; not given: `antiphon.tools.retries` says, by effect."""
    retry_on: RetryOn = ()
    """After which errors; (): those of connecting and waiting. Of a tool that writes: nothing was done then."""
    idempotent: bool = False
    """Its backend does the same call once, however often it comes."""
    on_interrupt: NotGivenOr[OnInterrupt] = NOT_GIVEN
    """Not given: by effect."""
    parallel: NotGivenOr[bool] = NOT_GIVEN
    """Beside other calls of its response; not given: unless it writes."""
    confirm: NotGivenOr[Confirm] = NOT_GIVEN
    """Whether the caller is asked first; not given: for what is irreversible."""
    approve: Approve | None = None
    """Says whether a call may be made, in the place of the caller or behind their yes."""
    approve_timeout: float = 120.0
    """Seconds that it has."""
    undo: str | None = None
    """The name of the tool that takes back what it did."""
    reconcile: Reconcile | None = None
    """Asks the backend whether a call happened of which nobody knows."""
    call_tool: CallHook | None = None
    """Code around its calls."""
    max_result_chars: int = 20_000
    """Longer results are cut, with a note."""
    redact: Redact = ()

    def __post_init__(self) -> None:
        """Raises `ToolDefinitionError` for what cannot be right."""
        _check(self)

    def __hash__(self) -> int:
        """Of what most tools differ in: every call looks up what follows from the options."""
        return hash((self.effect, self.timeout, self.filler))

    @property
    def writes(self) -> bool:
        """It changes the world, as its author says."""
        return self.effect in WRITING

    @property
    def asks_first(self) -> bool:
        """A call is made only after the caller said yes to it."""
        return self.asked is not False

    @property
    def asked(self) -> Confirm:
        """What the caller is asked before; False: nothing."""
        confirm: Confirm | NotGiven = self.confirm
        if not isinstance(confirm, NotGiven):
            return confirm
        return self.effect == "irreversible" and self.approve is None

    @property
    def may_ask(self) -> bool:
        """The caller may have to say yes to a call of it, or to one more."""
        return self.asks_first or self.repeat == "ask"

    def wish_of(self, arguments: Mapping[str, Any]) -> str:
        """A text that is equal for calls of one wish, as `identity` says; "" where it is not given."""
        chosen = self.identity
        if chosen is None:
            return ""
        picked = {"": chosen(arguments)} if callable(chosen) else {name: arguments.get(name) for name in chosen}
        return canonical_text(picked)

    def check_names(self, tool: str, parameters: Mapping[str, Any]) -> None:
        """Raises `ToolDefinitionError` if `identity` or `redact` names what is no parameter of the tool."""
        check_confirm(tool, self.asked, parameters)
        known = parameters.get("properties", {})
        named: dict[str, Sequence[str]] = {
            "identity": () if self.identity is None or callable(self.identity) else self.identity,
            "redact": () if callable(self.redact) else [name for name in self.redact if name != RETURN],
        }
        for option, names in named.items():
            if unknown := [name for name in names if name not in known]:
                raise ToolDefinitionError(
                    f"tool {tool!r}: {option}= names {unknown[0]!r}, expected one of its parameters: "
                    f"{', '.join(known) or 'it has none'}."
                )


_KNOWN = frozenset(option.name for option in fields(ToolOptions))


def options_of(said: ToolSettings) -> ToolOptions:
    """What was given to `function_tool`. Raises `ToolDefinitionError` for what is not there, or cannot be right."""
    given: dict[str, Any] = dict(said)
    for option in given.keys() - _KNOWN:
        raise ToolDefinitionError(f"function_tool() got an unexpected keyword argument {option!r}. Leave it out.")
    for option in ("identity", "retry_on", "redact"):  # what a tool goes by does not change
        if isinstance(given.get(option), list):
            given[option] = tuple(given[option])
    if isinstance(given.get("undo"), Tool):
        given["undo"] = given["undo"].id
    return ToolOptions(**given)


def _check(options: ToolOptions) -> None:
    """Raises `ToolDefinitionError`."""
    _check_values(options)
    for complaint in (_wish, _asking, _retries, _retry_on, _undo, _reconcile, _course):
        if why := complaint(options):
            raise ToolDefinitionError(f"function_tool({why}")


def _check_values(options: ToolOptions) -> None:
    _one_of("effect", options.effect, _EFFECTS)
    _one_of("duplicate_scope", options.duplicate_scope, _DUPLICATE_SCOPES)
    _one_of("repeat", options.repeat, _REPEATS)
    if is_given(options.confirm):
        check_kind(options.confirm)
    if is_given(options.on_duplicate):
        _one_of("on_duplicate", options.on_duplicate, _DUPLICATE_MODES)
    if is_given(options.on_interrupt):
        _one_of("on_interrupt", options.on_interrupt, _ON_INTERRUPT)
    for name, seconds in (("timeout", options.timeout), ("background_timeout", options.background_timeout)):
        if seconds is not None and not seconds > 0:
            raise ToolDefinitionError(f"function_tool({name}=) must be a positive number of seconds, got {seconds!r}.")
    for name, flag in (("parallel", options.parallel), ("idempotent", options.idempotent)):
        if is_given(flag) and not isinstance(flag, bool):
            raise ToolDefinitionError(f"function_tool({name}=) must be True or False, got {flag!r}.")
    if isinstance(options.redact, str):
        raise ToolDefinitionError(
            f'function_tool(redact=): expected names of arguments, as ("pin",), or a function, got {options.redact!r}.'
        )
    if options.max_result_chars < 1:
        raise ToolDefinitionError(
            f"function_tool(max_result_chars=) must be positive, got {options.max_result_chars!r}."
        )


def _one_of(option: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ToolDefinitionError(f"function_tool({option}=) must be one of {', '.join(allowed)}, got {value!r}.")


# -- each gives what is wrong, behind "function_tool(", or ""


def _wish(options: ToolOptions) -> str:
    """Which calls are one wish."""
    if options.repeat != "per_turn" and not options.writes:
        return 'repeat=) is for tools that write. Say effect="writes" too.'
    if options.identity is not None and options.effect == "reads":
        return "identity=) is for tools that write: one that reads may be run again."
    if isinstance(options.identity, str) or options.identity == ():
        return f'identity=): expected names of parameters, as ("date",), or a function, got {options.identity!r}.'
    return ""


def _asking(options: ToolOptions) -> str:
    """Whom a call is put to first."""
    if options.approve is not None and options.effect in ("reads", "unsaid"):
        return 'approve=) is for tools that say that they write. Say effect="writes" or effect="irreversible" too.'
    if options.approve is not None and not inspect.iscoroutinefunction(options.approve):
        return f"approve=): expected a coroutine function of the call and its context, got {options.approve!r}."
    if not options.approve_timeout > 0:
        return f"approve_timeout=) must be a positive number of seconds, got {options.approve_timeout!r}."
    if not is_given(options.confirm) or options.confirm is False:
        return ""
    if options.effect == "reads":
        return "confirm=): a call that only reads is not worth a question. Leave confirm= out, or say what it changes."
    if options.effect == "unsaid":
        return 'confirm=) is for tools that say that they write. Say effect="writes" or effect="irreversible" too.'
    return ""


def _retries(options: ToolOptions) -> str:
    """How often it is tried."""
    retries = options.retries if is_given(options.retries) else 0
    if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= MOST_RETRIES:
        return f"retries=) must be a number from 0 to {MOST_RETRIES}, got {retries!r}."
    if options.idempotent and options.effect == "reads":
        return "idempotent=) is for tools that write: one that reads may be run again as it is. Leave it out."
    if options.idempotent and options.effect == "unsaid":
        return 'idempotent=) is for tools that write. Say effect="writes" too.'
    if options.idempotent:
        return _never_again(options, "idempotent")
    if not retries or options.effect == "reads":
        return ""
    if options.effect == "unsaid":
        return (
            "retries=): nobody knows what another attempt would do twice."
            ' Say effect="reads", or effect="writes" with idempotent=True.'
        )
    return _never_again(options, "retries") or (
        "retries=): a write that raised may have happened, and another attempt would double it. Say idempotent=True too"
        " if its backend does the same call once, however often it comes; else leave retries= out."
    )


def _never_again(options: ToolOptions, option: str) -> str:
    if options.effect != "irreversible":
        return ""
    return f'{option}=): what is irreversible is never tried again. Leave it out, or say effect="writes".'


def _retry_on(options: ToolOptions) -> str:
    """After which errors."""
    named = options.retry_on
    if named == ():
        return ""
    if options.effect == "unsaid":
        return 'retry_on=) is for tools that say what they do. Say effect="reads" or effect="writes" too.'
    if options.effect == "reads" and options.retries == 0:
        return "retry_on=) names errors that retries=0 never tries again after. Leave one of the two out."
    if not isinstance(named, type) and callable(named):
        return ""
    for one in (named,) if isinstance(named, type) else named:
        if not isinstance(one, type) or not issubclass(one, Exception):
            return f"retry_on=): expected classes of exceptions, or a function of one, got {one!r}."
        if issubclass(one, (StopResponse, OutcomeUnknown)):
            return f"retry_on=): {one.__name__} is an answer, and nothing to try again after. Leave it out."
        if one is Exception and options.writes:
            return (
                "retry_on=Exception) would say that nothing was done, whatever is raised and wherever."
                " Name the errors that are raised before anything is done."
            )
    return ""


def _reconcile(options: ToolOptions) -> str:
    """Who knows what came of it."""
    if options.reconcile is None:
        return ""
    if not callable(options.reconcile):
        return f"reconcile=): expected an async function of the key and the arguments, got {options.reconcile!r}."
    if not options.writes:
        return 'reconcile=) is for tools that write: of others it need not be known. Say effect="writes" too.'
    return ""


def _undo(options: ToolOptions) -> str:
    """What takes it back."""
    if options.undo is None:
        return ""
    if not isinstance(options.undo, str) or not options.undo:
        return f"undo=): expected a tool, or the name of one, got {options.undo!r}."
    if options.effect == "irreversible":
        return 'undo=): what can be undone is not irreversible. Say effect="writes", and confirm= too.'
    if not options.writes:
        return 'undo=) is for tools that write. Say effect="writes" too.'
    return ""


def _course(options: ToolOptions) -> str:
    """How it runs."""
    if options.writes and is_given(options.on_interrupt) and options.on_interrupt != "keep":
        return (
            f"on_interrupt={options.on_interrupt!r}): nobody would hear of what a write had done by then. Leave it out;"
            ' a tool that changes nothing says effect="reads".'
        )
    if options.effect == "irreversible" and options.parallel is True:
        return 'parallel=True): what is irreversible runs alone. Leave it out, or say effect="writes".'
    return ""
