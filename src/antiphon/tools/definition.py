"""A tool apart from the object it is bound to: its function, and what is read from that and said about it.

Above: `function`, the tools themselves. Below: `signature` (what a callable takes), `schema` and `raw` (its JSON
schema), `arguments` (a model's text to values). Signature, docstring and schema are read on first use, once for each
tool.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from antiphon.errors import ToolDefinitionError
from antiphon.record import record
from antiphon.secret import holds_secret
from antiphon.tools.arguments import BadArguments, canonical_text, parse_arguments
from antiphon.tools.docs import Documentation, read_documentation
from antiphon.tools.options import RETURN, ToolOptions
from antiphon.tools.signature import Signature, read_signature, resolve_local, takes_owner
from antiphon.tools.spec import ToolSpec
from antiphon.tools.tool import ToolError

if TYPE_CHECKING:
    from antiphon.tools.raw import RawValidator
    from antiphon.tools.schema import SignatureValidator

CONFIRM_DUPLICATE = "_lk_agents_confirm_duplicate"
"""The boolean argument that `on_duplicate="confirm"` adds: the model sets it once the caller wants a second run."""

_CONFIRM_SCHEMA: dict[str, Any] = {
    "type": "boolean",
    "description": (
        "Set this to True to confirm you want to run a duplicate. "
        "Only do this when user confirms the duplication is needed."
    ),
    "default": False,
}

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@record
class PreparedCall:
    """A model's call of a tool, checked and ready to run."""

    kwargs: dict[str, Any]
    """For `tool.call`. Parameters that keep their default in the signature are left out."""
    arguments: str
    """The arguments as JSON text, repaired where need be. For the history."""
    canonical: str
    """The checked arguments in one normal form: of two calls of a tool, equal text means the same call."""
    confirm_duplicate: bool = False
    """True if the model set `CONFIRM_DUPLICATE`."""
    identity: str = ""
    """What of them makes the wish, as `identity=` says, in such a form; "" without it."""
    all: Mapping[str, Any] | None = None
    """Every argument, checked, defaults filled in."""


class Code:
    """The function of a tool and what can be read from it. Shared by renamed and bound forms of the tool."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        raw_schema: Mapping[str, Any] | None,
        checked: Mapping[str, Any] | None = None,
    ) -> None:
        self.is_classmethod = isinstance(function, classmethod)
        static = isinstance(function, staticmethod)
        if isinstance(function, (classmethod, staticmethod)):
            function = function.__func__
        self.function = function
        self.name = name
        """What the tool was called where it was made, whatever it is renamed to."""
        self.raw_schema = raw_schema
        self._checked = checked
        self.takes_owner = not static and takes_owner(function)
        self._known = resolve_local(function)
        if raw_schema is not None:
            self._known.setdefault("raw_arguments", dict)
        self._signature: Signature | None = None
        self._validator: SignatureValidator | RawValidator | None = None

    def signature(self, name: str) -> Signature:
        """Raises `ToolDefinitionError`; a failure is not remembered, so that forward references get another chance."""
        if self._signature is None:
            signature = read_signature(self.function, name=name, known=self._known)
            if self.raw_schema is not None:
                _check_raw_signature(name, signature)
            self._signature = signature
        return self._signature

    @cached_property
    def documentation(self) -> Documentation:
        """What its docstring says."""
        return read_documentation(self.function)

    @cached_property
    def is_async(self) -> bool:
        """Calling it gives an awaitable."""
        return _is_async(self.function)

    def validator(self, name: str) -> SignatureValidator | RawValidator:
        """Raises `ToolDefinitionError`, and tries again next time."""
        if self._validator is None:
            self._validator = self._build_validator(name)
        return self._validator

    def _build_validator(self, name: str) -> SignatureValidator | RawValidator:
        # Both are loaded with the first tool that a model is told of, not with the names.
        if self.raw_schema is not None:
            from antiphon.tools.raw import RawValidator

            return RawValidator(self.raw_schema["parameters"], name=name, checked=self._checked)
        from antiphon.tools.schema import validator_for

        return validator_for(self.signature(name).arguments, self.documentation.parameters, name=name)


class Definition:
    """A tool apart from the object it is bound to: code, name, description, options, and the specs built from them."""

    def __init__(self, code: Code, *, name: str, description: str | None, options: ToolOptions) -> None:
        self.code = code
        self.name = name
        self.given_description = description
        self.options = options
        self.wire: dict[str, Any] = {}

    @cached_property
    def description(self) -> str:
        """What the model reads."""
        if self.given_description is not None:
            return self.given_description
        if self.code.raw_schema is not None and (description := self.code.raw_schema.get("description")):
            return str(description)
        return self.code.documentation.description

    @property
    def confirms(self) -> bool:
        """The model may ask for a second run beside another."""
        return self.options.on_duplicate == "confirm"

    @cached_property
    def spec(self) -> ToolSpec:
        """What a model is told of it. Raises `ToolDefinitionError`."""
        parameters = self.code.validator(self.name).parameters
        if self.confirms:
            properties = {**parameters.get("properties", {}), CONFIRM_DUPLICATE: _CONFIRM_SCHEMA}
            parameters = {**parameters, "properties": properties}
        return ToolSpec(self.name, self.description, parameters, self._hidden())

    def _hidden(self) -> frozenset[str]:
        redact = self.options.redact
        named = () if callable(redact) else [name for name in redact if name != RETURN]
        typed = self.code.signature(self.name).arguments
        return frozenset(named) | {one.name for one in typed if holds_secret(one.annotation)}

    @cached_property
    def strict_spec(self) -> ToolSpec | None:
        """The same for providers that enforce schemas; None if such a schema cannot say it."""
        if self.code.raw_schema is not None:
            return None
        from antiphon.tools.schema import strict_parameters

        parameters = strict_parameters(self.spec.parameters)
        return None if parameters is None else ToolSpec(self.name, self.description, parameters)

    def prepare(self, arguments: str | Mapping[str, Any] | None) -> PreparedCall:
        """Repair, check and convert what a model wrote. Raises `ToolError`, with a text for the model."""
        validator = self.code.validator(self.name)
        try:
            return self._prepared(validator, arguments)
        except BadArguments as error:
            raise ToolError(f"Error parsing arguments for `{self.name}`: {error}") from error
        except RecursionError:
            raise ToolError(
                f"Error parsing arguments for `{self.name}`: they are nested too deep. Call again with less nesting."
            ) from None

    def _prepared(
        self, validator: SignatureValidator | RawValidator, arguments: str | Mapping[str, Any] | None
    ) -> PreparedCall:
        # Most calls are well-formed: one pass over the text, without building it in Python first.
        if isinstance(arguments, str) and not self.confirms and (quick := validator.validate_text(arguments)):
            return PreparedCall(
                quick.kwargs,
                arguments,
                canonical_text(quick.all),
                identity=self.options.wish_of(quick.all),
                all=quick.all,
            )
        given = parse_arguments(arguments)
        confirmed = _take_confirmation(given.arguments) if self.confirms else False
        checked = validator.validate(given.arguments)
        canonical, wish = canonical_text(checked.all), self.options.wish_of(checked.all)
        return PreparedCall(checked.kwargs, given.text, canonical, confirmed, identity=wish, all=checked.all)


def checked_name(name: str) -> str:
    """The name, if a model can be told it. Raises `ToolDefinitionError`."""
    if not name or name == "<lambda>":
        raise ToolDefinitionError(f"a tool needs a name, got {name!r}. Pass name=.")
    if not _NAME.fullmatch(name):
        raise ToolDefinitionError(
            f"tool {name!r}: expected a name of up to 64 letters a to z, digits, _ and -; the endpoints of models"
            " refuse others. Pass name=."
        )
    return name


def _check_raw_signature(name: str, signature: Signature) -> None:
    for parameter in signature.arguments:
        if parameter.name != "raw_arguments":
            raise ToolDefinitionError(
                f"tool {name!r}: parameter {parameter.name!r} cannot be filled: a function with a raw schema takes "
                "`raw_arguments: dict[str, object]`, and a context. Read it from raw_arguments."
            )


def _take_confirmation(arguments: dict[str, Any]) -> bool:
    given = [arguments.pop(key, None) for key in (CONFIRM_DUPLICATE, CONFIRM_DUPLICATE.lstrip("_"))]
    return any(value is True or str(value).lower() == "true" for value in given)


def _is_async(function: Any) -> bool:
    # Not through functools.wraps: a sync wrapper may run the async function that it wraps to its end.
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
