"""What a callable takes: its arguments for the model, its contexts for us.

Above: `function` (tools) and `schema` (arguments to JSON schema). Below: nothing but the standard library. This module
knows neither JSON nor pydantic; it tells the parameters that a model fills in from those that the framework
fills in (`self`, a `CallContext`), and resolves annotations that are still text.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import re
import sys
import types
import typing
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final

from antiphon.errors import ToolDefinitionError, pass_on
from antiphon.record import frozen

REQUIRED: Final = inspect.Parameter.empty
"""The default of a parameter that has none."""

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_DOTTED_NAME = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?:\[.*\])?\s*", re.DOTALL)


class CallContext:
    """What a tool may ask for about the call it serves. Base of `RunContext`.

    A parameter annotated with this class, or with any subclass of it, is filled in by the framework and never shown to
    the model, wherever it stands and whatever it is called.
    """

    __slots__ = ()

    given_by: ClassVar[str] = ""
    """The toolset that alone hands it to its tools; empty: every session does."""


@frozen
class Parameter:
    """A parameter that the model fills in."""

    name: str
    annotation: Any
    """Resolved, with the extras of `Annotated`."""
    default: Any
    """`REQUIRED`, or the default in the signature."""
    positional_only: bool = False
    """True if it cannot be passed by keyword."""


@frozen
class ContextParameter:
    """A parameter that receives the call's context."""

    name: str
    type: type[CallContext]
    optional: bool
    """True if the call may go without a context."""


@frozen
class Signature:
    """The parameters of a callable, by who fills them in."""

    arguments: tuple[Parameter, ...]
    contexts: tuple[ContextParameter, ...]
    positional_only: tuple[str, ...]
    """Names, in order, that cannot be passed by keyword."""


def innermost(function: Callable[..., Any]) -> Callable[..., Any]:
    """The plain function behind partials, methods, `functools.wraps` and callable objects."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not inspect.isroutine(function) and not isinstance(function, type):
            call = type(function).__call__
            if not inspect.isfunction(call):
                return function
            function = call
        else:
            return function


def takes_owner(function: Callable[..., Any]) -> bool:
    """True if the function is a method that is not bound yet: its first parameter is `self`, `cls`, or unannotated.

    An unannotated first parameter counts only inside a class body, where it is the instance whatever its name.
    """
    if not inspect.isfunction(function):
        return False
    plain = innermost(function)
    if not inspect.isfunction(plain) or not plain.__code__.co_argcount:
        return False
    first = plain.__code__.co_varnames[0]
    if first in ("self", "cls"):
        return True
    in_class = "." in plain.__qualname__.rpartition("<locals>.")[2]
    return in_class and first not in plain.__annotations__


def read_signature(function: Callable[..., Any], *, name: str, known: Mapping[str, Any]) -> Signature:
    """Sort the parameters of `function`; `self` is left out.

    `known` holds annotations that were resolved earlier, by parameter. Raises `ToolDefinitionError`, naming function
    and parameter, for an annotation that names something unknown, a missing annotation, `*args` and `**kwargs`.
    """
    parameters = list(_raw_signature(function).parameters.values())
    if takes_owner(function):
        parameters = parameters[1:]
    fixed = _fixed_keywords(function)
    namespace = _namespace(function)
    arguments: list[Parameter] = []
    contexts: list[ContextParameter] = []
    positional_only: list[str] = []
    for parameter in parameters:
        if parameter.name in fixed:
            continue
        where = f"tool {name!r}: parameter {parameter.name!r}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise ToolDefinitionError(
                f"tool {name!r}: `{stars}{parameter.name}` cannot be described to a model. "
                "Name each argument, or take a list or dict, or pass raw_schema=."
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional_only.append(parameter.name)
        if parameter.name in known:
            annotation = known[parameter.name]
        elif parameter.annotation is REQUIRED:
            raise ToolDefinitionError(
                f"{where} has no type annotation, expected one such as `{parameter.name}: str`. Annotate it."
            )
        else:
            try:
                annotation = resolve(parameter.annotation, namespace)
            except BaseException as error:  # an annotation is code of the application
                pass_on(error)
                raise ToolDefinitionError(
                    f"{where} is annotated {parameter.annotation!r}, which cannot be resolved ({error}). "
                    "Define or import that name in the module of the function (not under TYPE_CHECKING)."
                ) from error
        context = context_type(annotation)
        if context is not None:
            optional = parameter.default is None or type(None) in typing.get_args(annotation)
            contexts.append(ContextParameter(parameter.name, context, optional))
        else:
            by_position = parameter.kind is parameter.POSITIONAL_ONLY
            arguments.append(Parameter(parameter.name, annotation, parameter.default, by_position))
    return Signature(tuple(arguments), tuple(contexts), tuple(positional_only))


def context_type(annotation: Any) -> type[CallContext] | None:
    """The context class that an annotation such as `RunContext[Data]` or `RunContext | None` asks for, or None."""
    candidate = typing.get_origin(annotation) or annotation
    if candidate is typing.Annotated:
        return context_type(typing.get_args(annotation)[0])
    if candidate in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        return context_type(members[0]) if len(members) == 1 else None
    if isinstance(candidate, type) and issubclass(candidate, CallContext):
        return candidate
    return None


def context_parameters(function: Callable[..., Any]) -> set[str]:
    """The names of the parameters annotated with a context. Other annotations need not be resolvable."""
    names = set()
    namespace = _namespace(function)
    for name, annotation in getattr(innermost(function), "__annotations__", {}).items():
        if isinstance(annotation, str):
            found = _context_by_name(annotation, namespace)
        else:
            found = context_type(annotation)
        if found is not None and name != "return":
            names.add(name)
    return names


def resolve(annotation: Any, namespace: Mapping[str, Any]) -> Any:
    """An annotation with its text evaluated. Raises whatever evaluating raises, `NameError` mostly."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation
    if isinstance(annotation, str) and (context := _context_by_name(annotation, namespace)) is not None:
        return context
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    return typing.get_type_hints(holder, dict(namespace), None, include_extras=True)["it"]


def resolve_local(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function defined inside another that only make sense there, by parameter.

    Called while the function is being decorated: text such as "Item" may name a class that only the calling frames
    know, and frames must not be kept. What cannot be resolved yet is left out.
    """
    plain = innermost(function)
    if "<locals>" not in getattr(plain, "__qualname__", ""):
        return {}
    texts = {name: text for name, text in _annotation_texts(plain) if not _is_global(text, plain)}
    if not texts:
        return {}
    namespace = ChainMap(*[dict(scope) for scope in _calling_scopes(plain)], _namespace(function))
    resolved: dict[str, Any] = {}
    for parameter, text in texts.items():
        try:
            resolved[parameter] = resolve(text, namespace)
        except BaseException as error:
            pass_on(error)
            continue  # any failure means "not yet": it is tried again when the tool is used
    return resolved


def _annotation_texts(plain: Callable[..., Any]) -> list[tuple[str, str]]:
    annotations = getattr(plain, "__annotations__", {})
    return [(name, text) for name, text in annotations.items() if isinstance(text, str) and name != "return"]


def _is_global(text: str, plain: Callable[..., Any]) -> bool:
    """True if every name in the text can be found in the module: it needs no local scope."""
    names = getattr(plain, "__globals__", {})
    return all(name in names or hasattr(builtins, name) for name in _NAME.findall(text))


def _raw_signature(function: Callable[..., Any]) -> inspect.Signature:
    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def _fixed_keywords(function: Callable[..., Any]) -> frozenset[str]:
    """Keywords that a partial has already decided: the model has no say in them."""
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names.update(function.keywords)
        function = function.func
    return frozenset(names)


def _namespace(function: Callable[..., Any]) -> dict[str, Any]:
    plain = innermost(function)
    names = dict(getattr(plain, "__globals__", {}))
    for variable, cell in zip(
        getattr(getattr(plain, "__code__", None), "co_freevars", ()),
        getattr(plain, "__closure__", None) or (),
        strict=True,
    ):
        try:
            names[variable] = cell.cell_contents
        except ValueError:  # the enclosing function has not assigned it yet
            continue
    return names


def _calling_scopes(plain: Callable[..., Any]) -> Iterator[Mapping[str, Any]]:
    """The locals of the frames, innermost first, in which `plain` is being defined."""
    own_globals = getattr(plain, "__globals__", None)
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals is not own_globals:
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
    while frame is not None and frame.f_globals is own_globals:
        yield frame.f_locals
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop


def _context_by_name(text: str, namespace: Mapping[str, Any]) -> type[CallContext] | None:
    """The context class that a text such as "RunContext[Data]" names.

    Its argument does not matter here, and may name something that exists for type checkers only. So may the class
    itself: then a known subclass of that name is taken.
    """
    match = _DOTTED_NAME.fullmatch(text)
    if match is None:
        return None
    head, *rest = match[1].split(".")
    if head in namespace:
        value = namespace[head]
        for part in rest:
            value = getattr(value, part, None)
        return value if isinstance(value, type) and issubclass(value, CallContext) else None
    return next((cls for cls in _context_classes(CallContext) if cls.__name__ == (rest or [head])[-1]), None)


def _context_classes(root: type[CallContext]) -> Iterator[type[CallContext]]:
    yield root
    for subclass in root.__subclasses__():
        yield from _context_classes(subclass)
