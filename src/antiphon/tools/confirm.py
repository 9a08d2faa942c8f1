"""What an author says is to be read back of a call before it is made (`confirm=`), and whether that can be.

Above: a tool's options. Below: nothing. How values are spoken is `read_back`'s, which is loaded with the first session.
"""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from antiphon.errors import ToolDefinitionError

Confirm: TypeAlias = bool | str | Callable[[Mapping[str, Any]], str]
"""What the caller is asked before a call: words of ours (True), a text with `{argument}` in it, or what a function of
the checked arguments gives."""


def check_confirm(tool: str, confirm: Confirm, parameters: Mapping[str, Any]) -> None:
    """Raises `ToolDefinitionError` for a text that names what is no parameter, or a function that cannot be called."""
    if isinstance(confirm, str):
        known = parameters.get("properties", {})
        for name in fields_of(tool, confirm):
            if name not in known:
                raise ToolDefinitionError(
                    f"tool {tool!r}: confirm= names {{{name}}}, expected one of its parameters: "
                    f"{', '.join(known) or 'it has none'}."
                )


def fields_of(tool: str, template: str) -> list[str]:
    """The names in braces. Raises `ToolDefinitionError` for a text that is no template."""
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise ToolDefinitionError(
            f"{tool}: confirm={template!r} is no template ({error}). Double its braces."
        ) from None
    for name in names:
        if not name.isidentifier():
            raise ToolDefinitionError(f"{tool}: confirm={template!r}: expected a name in braces, got {{{name}}}.")
    return names


def check_kind(confirm: object) -> None:
    """Raises `ToolDefinitionError` for what is no `Confirm`."""
    if isinstance(confirm, bool):
        return
    if isinstance(confirm, str):
        if not confirm.strip():
            raise ToolDefinitionError('function_tool(confirm=""): there is nothing to read back. Say confirm=True.')
        fields_of("function_tool", confirm)
    elif not callable(confirm) or inspect.iscoroutinefunction(confirm):
        raise ToolDefinitionError(
            "function_tool(confirm=): expected True, a text with {names} of parameters, or a plain function of the"
            f" arguments that returns a text, got {confirm!r}."
        )
