"""What a tool is called in rows that outlive its process, and the tool of such a row.

Above: the runtime, which names tools, and whoever finds those of a store again. Below: tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from antiphon.errors import UsageError
from antiphon.tools.function import AnyFunctionTool, is_function_tool, is_raw_function_tool
from antiphon.tools.tool import ToolError

_BEHIND = re.compile(r"[@#][^.]*$")


def owner_of(tool: AnyFunctionTool) -> object:
    """The object whose method it is; None: it is a function."""
    return getattr(tool.__wrapped__, "__self__", None)


def given_id(owner: object) -> str | None:
    """The id that an agent or a toolset was given; None: it has none, or one that was made up."""
    found = getattr(owner, "given_id", None)
    return found if isinstance(found, str) else None


def lasting_name(tool: AnyFunctionTool) -> str:
    """The same in every process: where it is defined, and whose it is, if that has an id."""
    owner = given_id(owner_of(tool))
    return tool.origin if owner is None else f"{tool.origin}@{owner}"


def check_owners(tools: Iterable[Any]) -> None:
    """Raise `UsageError` if two objects that own tools that write were given one id: a store could not tell them apart.

    In memory they would be one tool, too: what one did would stand for a call of the other.
    """
    owners: dict[tuple[str, str], AnyFunctionTool] = {}
    for tool in _usable(tools):
        owner = owner_of(tool)
        name = given_id(owner)
        if name is None or not tool.options.writes:
            continue
        first = owners.setdefault((tool.origin, name), tool)
        if owner_of(first) is not owner:
            raise UsageError(
                f"two owners of tools have the id {name!r}: {_shown(first)} and {_shown(tool)}. What one does would"
                " count as done by the other. Give each an id of its own, or give the tools of one alone."
            )


def _shown(tool: AnyFunctionTool) -> str:
    return f"the {type(owner_of(tool)).__name__} of {tool.name!r}"


def tool_named(name: str, tools: Iterable[Any]) -> AnyFunctionTool | None:
    """The tool that a row names; else the only one that is defined where that was. None: nobody can tell."""
    usable = _usable(tools)
    exact = [tool for tool in usable if lasting_name(tool) == name]
    if len(exact) == 1:
        return exact[0]
    alike = exact or [tool for tool in usable if tool.origin == _BEHIND.sub("", name)]
    return alike[0] if len({id(owner_of(tool)) for tool in alike}) == 1 else None


def _usable(tools: Iterable[Any]) -> list[AnyFunctionTool]:
    return [tool for tool in tools if is_function_tool(tool) or is_raw_function_tool(tool)]


def arguments_of(tool: AnyFunctionTool | None, kept: str) -> Mapping[str, Any]:
    """The arguments of a row, as the tool got them, but for what is secret; plain where it takes them no more."""
    if tool is not None:
        try:
            return tool.prepare(kept).kwargs
        except ToolError:
            pass
    found = json.loads(kept)
    return found if isinstance(found, dict) else {}
