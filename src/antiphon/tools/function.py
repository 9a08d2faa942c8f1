"""What the model can call: `@function_tool` and the tools it makes.

Above: toolsets, the runtime that runs calls, providers that offer tools to models. Below: `definition` (what is read
from the function), `tool` and `options` (what a tool is, what its author says). A tool knows nothing of sessions: it
describes itself (`spec`), turns a model's text into arguments (`prepare`), and runs (`call`).

Defining a tool is cheap: its definition is read on first use, and shared by all its bound forms.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast, overload

from typing_extensions import TypeIs, TypeVar, Unpack

from antiphon.errors import ToolDefinitionError, UsageError
from antiphon.options import NOT_GIVEN, DuplicateMode, DuplicateScope, NotGivenOr, is_given
from antiphon.record import frozen
from antiphon.tools.definition import CONFIRM_DUPLICATE, Code, Definition, PreparedCall, checked_name
from antiphon.tools.hooks import CallHook
from antiphon.tools.options import ToolFlag, ToolOptions, ToolSettings, options_of
from antiphon.tools.signature import CallContext, ContextParameter, context_parameters, innermost
from antiphon.tools.spec import ToolSpec
from antiphon.tools.threads import in_thread, in_thread_to_its_end
from antiphon.tools.tool import OutcomeUnknown, ProviderTool, StopResponse, Tool, ToolError, ToolResult

if TYPE_CHECKING:
    from types import FrameType
    from typing import Self

    from antiphon.tools.one_object import OneObject

__all__ = [
    "CONFIRM_DUPLICATE",
    "AnyFunctionTool",
    "CallContext",
    "FunctionTool",
    "FunctionToolInfo",
    "OutcomeUnknown",
    "PreparedCall",
    "ProviderTool",
    "RawFunctionTool",
    "RawFunctionToolInfo",
    "StopResponse",
    "Tool",
    "ToolError",
    "ToolFlag",
    "ToolOptions",
    "ToolResult",
    "ToolSpec",
    "find_function_tools",
    "function_tool",
    "is_function_tool",
    "is_raw_function_tool",
]

R = TypeVar("R", default=Any)


@frozen
class FunctionToolInfo:
    """What is said about a function tool."""

    name: str
    description: str
    flags: ToolFlag
    on_duplicate: DuplicateMode = "allow"
    duplicate_scope: DuplicateScope = "name"


@frozen
class RawFunctionToolInfo:
    """What is said about a tool with a schema of its own."""

    name: str
    raw_schema: Mapping[str, Any]
    flags: ToolFlag
    on_duplicate: DuplicateMode = "allow"
    duplicate_scope: DuplicateScope = "name"


class _CallableTool(Tool, Generic[R]):
    """A function that a model can call: a definition, and the object it is bound to if it is a method.

    The type keeps what the function returns, not its parameters: so a subclass may override a tool of its base.
    """

    __name__: str

    def __init__(
        self,
        definition: Definition,
        *,
        owner: object = None,
        stand_in: Callable[..., Any] | None = None,
        within: tuple[CallHook, ...] = (),
    ) -> None:
        self._definition = definition
        self._within = within
        self._owner = owner
        self._stand_in = stand_in
        self._is_checked = False
        function = self._definition.code.function
        self._function = function if owner is None else functools.partial(function, owner)
        functools.update_wrapper(self, innermost(function), updated=())
        # inspect.signature(tool) is that of the function, without `self` once bound.
        self.__wrapped__ = function.__get__(owner) if owner is not None and inspect.isfunction(function) else function

    @property
    def id(self) -> str:
        return self._definition.name

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self._definition.name

    @property
    def description(self) -> str:
        """What the model reads: the one given, else summary, long text and returns of the docstring."""
        return self._definition.description

    @property
    def options(self) -> ToolOptions:
        """What its author said about it."""
        return self._definition.options

    @property
    def on_duplicate(self) -> DuplicateMode:
        """What a second call does while one runs; "allow" if nobody said. `options` tells whether somebody did."""
        mode = self._definition.options.on_duplicate
        return mode if is_given(mode) else "allow"

    @property
    def function(self) -> Callable[..., Any]:
        """What was decorated."""
        return self._definition.code.function

    @property
    def origin(self) -> str:
        """Where what was decorated is defined, and what it was called there, if that is another name.

        Tells tools of one name apart; the same for all forms of one tool, renamed ones too.
        """
        name, qualified = self._definition.code.name, getattr(self, "__qualname__", "")
        where = f"{self.__module__}.{qualified or name}"
        return where if where.rpartition(".")[2] == name else f"{where}:{name}"

    @property
    def spec(self) -> ToolSpec:
        """Name, description and JSON schema. Built on first use; the same object ever after.

        Raises `ToolDefinitionError`, as `check` does.
        """
        return self._definition.spec

    @property
    def strict_spec(self) -> ToolSpec | None:
        """The same for providers that enforce schemas: all properties required, no others, null for a default.

        None if that form cannot express the parameters (a dict with free keys, a raw schema).
        """
        return self._definition.strict_spec

    @property
    def wire(self) -> dict[str, Any]:
        """Provider forms by provider format name, kept by the providers; shared by all bound forms of the tool."""
        return self._definition.wire

    @property
    def wants_context(self) -> type[CallContext] | None:
        """The class of context that the function takes, or None. Of several, the most derived."""
        contexts = self._contexts
        if not contexts:
            return None
        return max((context.type for context in contexts), key=lambda cls: len(cls.__mro__))

    @property
    def needs_owner(self) -> bool:
        """True if it is a method that is not bound to an object yet."""
        return self._owner is None and self._definition.code.takes_owner

    @property
    def is_stand_in(self) -> bool:
        """True if another function runs in place of the tool's own (`with_function`)."""
        return self._stand_in is not None

    def check(self) -> None:
        """Make sure that it can be offered to a model; called when it is first given to an agent.

        Raises `ToolDefinitionError` that names function and parameter: an annotation that cannot be resolved or
        described, no annotation, `*args`, a `self` that stands for no object, a context that nobody gives it. Names
        that were not defined at first are looked up again each time.
        """
        if self._is_checked:  # tables of tools are made anew for every request
            return
        if self.needs_owner and not self.is_stand_in:
            raise ToolDefinitionError(
                f"tool {self.name!r} is a method and has no object to run on. Define it in the class of the agent, "
                f"give the agent `obj.{self.name}` or `tool.bind(obj)`, or leave the first parameter out."
            )
        for context in self._contexts:
            if context.type.given_by and not self.is_stand_in:
                raise ToolDefinitionError(
                    f"tool {self.name!r}: parameter {context.name!r} is a {context.type.__name__}, which only the tools"
                    f" of an {context.type.given_by} get. Put the tool into one, or annotate it with RunContext."
                )
        self.options.check_names(self.name, self._definition.spec.parameters)
        self._is_checked = True

    def prepare(self, arguments: str | Mapping[str, Any] | None) -> PreparedCall:
        """Repair, check and convert what a model wrote. Raises only `ToolError`, with a text for the model.

        (A tool that `check` refuses raises `ToolDefinitionError`.)
        """
        return self._definition.prepare(arguments)

    async def call(self, kwargs: Mapping[str, Any], ctx: CallContext | None = None) -> Any:
        """Run it with `PreparedCall.kwargs`, the context filled in. Raises what the function raises.

        A sync function runs in a thread of its own, with the caller's context variables; cancelling abandons it. One
        that writes goes on there, and what it comes to is still of use: it is abandoned when it is cancelled twice.
        """
        if self._stand_in is not None:
            own_names = {context.name for context in self._contexts}
            return await _call_stand_in(self._stand_in, dict(kwargs), ctx, own_names)
        if self.needs_owner:
            raise UsageError(
                f"tool {self.name!r} is a method and has no object to run on. "
                f"Give the agent `obj.{self.name}`, or bind it: tool.bind(obj)."
            )
        code = self._definition.code
        signature = code.signature(self.name)
        arguments = dict(kwargs)
        for context in signature.contexts:
            arguments[context.name] = _context_for(self.name, context, ctx)
        if code.raw_schema is not None and not signature.arguments:
            arguments.pop("raw_arguments", None)
        positional = [arguments.pop(name) for name in signature.positional_only if name in arguments]
        if code.is_async:
            return await self._function(*positional, **arguments)
        return await _in_thread(functools.partial(self._function, *positional, **arguments), self.options)

    def bind(self, owner: object) -> Self:
        """The tool as a method of `owner`. Tools of one definition bound to one object are equal."""
        return self._again(owner=owner)

    def with_function(self, function: Callable[..., Any]) -> Self:
        """The same tool (name, schema, policy, checks) with another function to run, as `mock_tools` needs it.

        The function may be sync, and may declare a part of the parameters, the context included. An exception
        that it returns counts as raised.
        """
        return self._again(stand_in=function)

    def with_options(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        flags: ToolFlag | None = None,
        on_duplicate: NotGivenOr[DuplicateMode] = NOT_GIVEN,
        undo: str | None = None,
    ) -> Self:
        """The same tool under another name, with another description, flags, answer to duplicates, or inverse."""
        old = self._definition
        options = replace(old.options, on_duplicate=on_duplicate) if is_given(on_duplicate) else old.options
        if undo is not None:
            options = replace(options, undo=undo)
        if flags is not None:
            options = replace(options, flags=flags)
        definition = type(old)(
            old.code,
            name=old.name if name is None else checked_name(name),
            description=old.given_description if description is None else description,
            options=options,
        )
        return self._again(definition=definition)

    def _again(self, **other: Any) -> Self:
        parts: dict[str, Any] = {
            "definition": self._definition,
            "owner": self._owner,
            "stand_in": self._stand_in,
            "within": self._within,
        }
        return type(self)(**{**parts, **other})

    def __get__(self, instance: object | None, owner: type | None = None) -> Self:
        code = self._definition.code
        if self._owner is not None or not code.takes_owner:
            return self
        if code.is_classmethod:
            return self.bind(owner)
        return self if instance is None else self.bind(instance)

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        return cast("R", self._function(*args, **kwargs))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _CallableTool):
            return NotImplemented
        return (
            self._definition is other._definition and self._owner is other._owner and self._stand_in is other._stand_in
        )

    def __hash__(self) -> int:
        return hash((id(self._definition), id(self._owner)))

    def __repr__(self) -> str:
        bound = "" if self._owner is None else f" of {type(self._owner).__name__}"
        return f"<{type(self).__name__} {self.name!r}{bound}>"

    @property
    def _contexts(self) -> tuple[ContextParameter, ...]:
        return self._definition.code.signature(self.name).contexts


def tool_at(frame: FrameType) -> str:
    """The name of the tool whose call a frame is; "": it is none. On a stack it stands behind the tool's own."""
    if frame.f_code is not _CallableTool.call.__code__:
        return ""
    tool = frame.f_locals.get("self")
    return tool.name if isinstance(tool, _CallableTool) else ""


class FunctionTool(_CallableTool[R]):
    """A tool whose parameters are read from its function's signature and docstring. Made by `function_tool`."""

    @property
    def info(self) -> FunctionToolInfo:
        """Name, description, flags and what to do about duplicates."""
        options = self.options
        return FunctionToolInfo(self.name, self.description, options.flags, self.on_duplicate, options.duplicate_scope)


class RawFunctionTool(_CallableTool[R]):
    """A tool that brings its own JSON schema; its function gets the arguments as one dict, `raw_arguments`."""

    @property
    def info(self) -> RawFunctionToolInfo:
        """Name, schema, flags and what to do about duplicates."""
        options = self.options
        schema = self._definition.code.raw_schema
        assert schema is not None  # function_tool makes this class for raw schemas only
        return RawFunctionToolInfo(self.name, schema, options.flags, self.on_duplicate, options.duplicate_scope)


def foreign_tool(
    function: Callable[..., Any], *, name: str, description: str, parameters: OneObject, options: ToolOptions
) -> RawFunctionTool[Any]:
    """A tool of a server, ready to be offered. Raises `ToolDefinitionError` if no model can be told of it."""
    described = f"{description} {parameters.note}".strip()
    raw_schema = {"name": name, "description": described, "parameters": parameters.parameters}
    from antiphon.tools.raw import check_raw_schema

    check_raw_schema(raw_schema)
    name = checked_name(name)
    code = Code(function, name=name, raw_schema=raw_schema, checked=parameters.checked)
    tool: RawFunctionTool[Any] = RawFunctionTool(Definition(code, name=name, description=None, options=options))
    tool.check()
    return tool


AnyFunctionTool: TypeAlias = "FunctionTool[Any] | RawFunctionTool[Any]"


@overload
def function_tool(
    f: Callable[..., R],
    *,
    name: str | None = None,
    description: str | None = None,
    raw_schema: None = None,
    **options: Unpack[ToolSettings],
) -> FunctionTool[R]: ...
@overload
def function_tool(
    f: Callable[..., R],
    *,
    name: str | None = None,
    description: str | None = None,
    raw_schema: Mapping[str, Any],
    **options: Unpack[ToolSettings],
) -> RawFunctionTool[R]: ...
@overload
def function_tool(
    f: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    raw_schema: None = None,
    **options: Unpack[ToolSettings],
) -> Callable[[Callable[..., R]], FunctionTool[R]]: ...
@overload
def function_tool(
    f: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    raw_schema: Mapping[str, Any],
    **options: Unpack[ToolSettings],
) -> Callable[[Callable[..., R]], RawFunctionTool[R]]: ...
def function_tool(
    f: Any = None,
    *,
    name: str | None = None,
    description: str | None = None,
    raw_schema: Mapping[str, Any] | None = None,
    **options: Unpack[ToolSettings],
) -> Any:
    """Make a tool of a function: a decorator, with or without parentheses, or called with any callable.

    Name and description default to the function's name and docstring, the parameters come from its annotations.
    `raw_schema` ({"name", "description", "parameters"}) replaces all three: the function then takes
    `raw_arguments: dict`.

    `effect` says what a call does to the world: "reads", "writes", or "irreversible" for what must not be done by
    mistake. How a call is interrupted, tried again, timed out and run beside others follows from it, and each of these
    may be said by itself. `timeout` is in seconds: 30, or 60 for what writes, and `background_timeout`, 600,
    in the background. `filler` is said when a call takes long. `on_duplicate` and `duplicate_scope` decide about a call
    while an earlier one still runs, `identity` (names of parameters, or a function of all arguments) and `repeat` which
    call is another wish. `on_interrupt` is what becomes of a call that the caller speaks over ("cancel", "drop",
    "keep"), `parallel=False` runs it with no other of its response. `confirm`: a call is read back
    to the caller, and made only after a yes to that; in our words (True), those of a text with names of parameters in
    braces, or those that a function of the arguments returns. Results over `max_result_chars` are cut.
    `redact` names the arguments, and "return", that the history and everything made of it have a mask of; the function
    gets the values.

    `retries` is how often a call is tried again within its time limit: one that reads twice, after errors of
    connecting and waiting, or those that `retry_on` names (classes, or a function of the error); one that writes only
    with `idempotent=True`: its backend does the same call once, however often it comes. Of a tool that writes,
    `retry_on` also says that nothing was done when one of these is raised.

    `undo` names the tool that takes back what this one did: the model is told so with the result, and that tool is
    started once for each start of this one. `call_tool` is code around its calls.

    Raises `ToolDefinitionError` (a `TypeError`) for options that cannot be right. Annotations are looked at later, by
    `check`.
    """
    said = options_of(options)
    if raw_schema is not None:
        from antiphon.tools.raw import check_raw_schema

        check_raw_schema(raw_schema)

    def decorate(function: Any) -> AnyFunctionTool:
        return _made(function, name, description, raw_schema, said)

    return decorate if f is None else decorate(f)


def _made(
    function: Any,
    name: str | None,
    description: str | None,
    raw_schema: Mapping[str, Any] | None,
    options: ToolOptions,
) -> AnyFunctionTool:
    if isinstance(function, (FunctionTool, RawFunctionTool)):
        raise ToolDefinitionError(
            f"{function.name!r} is a tool already. Use it as it is, or `tool.with_options(...)` for a variant."
        )
    name = checked_name(_name_of(function, name, raw_schema))
    definition = Definition(
        Code(function, name=name, raw_schema=raw_schema),
        name=name,
        description=description,
        options=options,
    )
    return FunctionTool(definition) if raw_schema is None else RawFunctionTool(definition)


def hooks_of(tool: AnyFunctionTool) -> tuple[CallHook, ...]:
    """The application's code around a tool's calls: of the toolsets that hold it, the outermost first, then its own."""
    own = tool.options.call_tool
    return tool._within if own is None else (*tool._within, own)


def within(tool: AnyFunctionTool, hooks: Iterable[CallHook]) -> AnyFunctionTool:
    """The same tool with more hooks around those that it has, the innermost of them first; none of them twice."""
    for hook in hooks:
        if hook not in hooks_of(tool):
            tool = tool._again(within=(hook, *tool._within))
    return tool


def is_function_tool(value: object) -> TypeIs[FunctionTool[Any]]:
    """True for a tool made from a signature."""
    return isinstance(value, FunctionTool)


def is_raw_function_tool(value: object) -> TypeIs[RawFunctionTool[Any]]:
    """True for a tool made from a raw schema."""
    return isinstance(value, RawFunctionTool)


def find_function_tools(obj: object) -> list[FunctionTool[Any] | RawFunctionTool[Any]]:
    """The decorated methods of an object (bound to it) or class, base classes first, in order of definition.

    An overridden name is listed once, at its first place; overridden by something that is no tool, it is left out.
    """
    cls = obj if isinstance(obj, type) else type(obj)
    attributes: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        attributes.update(vars(base))
    # Looked at statically first, so that no property of the object runs.
    return [getattr(obj, name) for name, attribute in attributes.items() if _holds_tool(attribute)]


def _holds_tool(attribute: object) -> bool:
    if isinstance(attribute, (staticmethod, classmethod)):
        attribute = attribute.__func__
    return isinstance(attribute, (FunctionTool, RawFunctionTool))


def _name_of(function: Any, name: str | None, raw_schema: Mapping[str, Any] | None) -> str:
    if name is not None:
        return name
    if raw_schema is not None and "name" in raw_schema:
        return str(raw_schema["name"])
    plain = innermost(function)
    if plain.__name__ == "__call__":
        return type(function).__name__
    return plain.__name__


def _context_for(name: str, parameter: ContextParameter, ctx: CallContext | None) -> CallContext | None:
    if isinstance(ctx, parameter.type) or (ctx is None and parameter.optional):
        return ctx
    raise UsageError(
        f"tool {name!r}: parameter {parameter.name!r} expects a {parameter.type.__name__}, "
        f"got {type(ctx).__name__}. Call the tool through a session, or pass such a context."
    )


async def _call_stand_in(
    function: Callable[..., Any], kwargs: dict[str, Any], ctx: CallContext | None, context_names: Set[str]
) -> Any:
    """Call with as much of `kwargs` and the context as the function declares."""
    if isinstance(raw := kwargs.get("raw_arguments"), dict):
        kwargs = {**raw, **kwargs}
    parameters = inspect.signature(function).parameters.values()
    wanted = {parameter.name for parameter in parameters}
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        kwargs = {name: value for name, value in kwargs.items() if name in wanted}
    kwargs.update(dict.fromkeys((context_names | context_parameters(function)) & wanted, ctx))
    result = function(**kwargs)
    if inspect.isawaitable(result):
        result = await result
    if isinstance(result, Exception):
        raise result
    return result


async def _in_thread(call: Callable[[], Any], options: ToolOptions) -> Any:
    def run() -> Any:
        try:
            return call()
        except StopIteration as error:  # no future can carry it, and the await would never end
            raise RuntimeError("a tool's function raised StopIteration") from error

    result = await (in_thread_to_its_end if options.writes else in_thread)(run)
    return await result if inspect.isawaitable(result) else result
