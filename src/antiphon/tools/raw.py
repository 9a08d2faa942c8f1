"""Tools that bring a JSON schema of their own: what a model is told of it, and the check of arguments against it.

Above: `function`. Below: `wellformed`, `compiling`, `meaning`. The schema may be a stranger's: it is put into good
order and bounded when the tool is offered, compiled at the first call, and no check of arguments takes long.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from antiphon.errors import ToolDefinitionError
from antiphon.tools.compiling import Compiled
from antiphon.tools.complaints import from_failures
from antiphon.tools.meaning import Meaning
from antiphon.tools.schema import Checked, Schema
from antiphon.tools.wellformed import well_formed

logger = logging.getLogger("antiphon.tools")

REFUSED_AT_TOP: Final = ("anyOf", "oneOf", "allOf", "enum", "not")
"""With one of these at the top of a tool's parameters, the endpoints of models refuse the whole request."""


class RawValidator:
    """A schema that the author wrote, and the check of arguments against it.

    `parameters` is what a model is told, `checked` what its arguments must fit if that is more. Raises
    `ToolDefinitionError` for a schema that is too large, and for what no model can be told.
    """

    def __init__(self, parameters: Mapping[str, Any], *, name: str, checked: Mapping[str, Any] | None = None) -> None:
        self._name = name
        told = well_formed(parameters, name=name)
        if told.left_out:
            _say_unchecked(name, told.left_out)
        check_top(told.schema, name=name)
        self.parameters: Schema = {"type": "object", "properties": {}, **told.schema}
        self._checked = self.parameters if checked is None else well_formed(checked, name=name).schema
        self._meaning = Meaning(self._checked, keep_nullable=True)

    def validate_text(self, text: str) -> Checked | None:
        """Always None: raw arguments are checked as a dict."""
        return None

    def validate(self, given: Mapping[str, Any]) -> Checked:
        """The arguments as one dict. Raises `BadArguments`."""
        arguments = self._meaning.of(given)
        if self.parameters.get("additionalProperties") is False and "patternProperties" not in self.parameters:
            arguments = {k: v for k, v in arguments.items() if k in self.parameters["properties"]}
        if failures := self._compiled.failures(arguments):
            raise from_failures(failures)
        return Checked({"raw_arguments": arguments}, arguments)

    @cached_property
    def _compiled(self) -> Compiled:
        compiled = Compiled(self._checked)
        if compiled.unchecked:
            _say_unchecked(self._name, compiled.unchecked)
        return compiled


def check_raw_schema(schema: Mapping[str, Any]) -> None:
    """Raises `ToolDefinitionError` for a `raw_schema=` that is none."""
    if not isinstance(schema, Mapping):
        raise ToolDefinitionError(
            f'raw_schema: expected {{"name": ..., "description": ..., "parameters": {{...}}}}, got {schema!r}.'
        )
    if "parameters" not in schema and isinstance(inner := schema.get("function"), Mapping) and "parameters" in inner:
        raise ToolDefinitionError(
            f'raw_schema of {inner.get("name")!r} stands inside "function", as chat completions write it. '
            'Pass what is inside: raw_schema=schema["function"].'
        )
    name = schema.get("name", "a raw schema")
    if not name:
        raise ToolDefinitionError(f"raw_schema has an empty name, got {name!r}. Give it the name that the model calls.")
    parameters = schema.get("parameters")
    if not isinstance(parameters, Mapping):
        raise ToolDefinitionError(
            f'raw_schema of {name!r} needs "parameters", a JSON schema of type object, got {parameters!r}. '
            'Without arguments, that is {"type": "object", "properties": {}}.'
        )
    if parameters.get("type", "object") != "object":
        raise ToolDefinitionError(
            f'raw_schema of {name!r} must describe an object: expected parameters of type "object", '
            f"got {parameters['type']!r}. Wrap the value in an object with one property."
        )
    check_top(parameters, name=name)


def check_top(parameters: Mapping[str, Any], *, name: object) -> None:
    """Raises `ToolDefinitionError` for what endpoints refuse."""
    for word in REFUSED_AT_TOP:
        if isinstance(value := parameters.get(word), (list, tuple, Mapping)) and (value or word == "not"):
            raise ToolDefinitionError(
                f"tool {name!r}: its parameters have {word!r} at the top, and the endpoints of models refuse the whole"
                " request for that. Describe one object: every property, only what is always needed as required, and"
                " the rest in words."
            )


def _say_unchecked(name: str, what: tuple[str, ...]) -> None:
    shown = "; ".join(what[:10]) + (f"; and {len(what) - 10} more" if len(what) > 10 else "")
    logger.warning("tool %r: a part of its schema is ignored, and arguments are not checked for it: %s", name, shown)
