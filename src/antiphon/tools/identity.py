"""What a tool is called in rows that outlive its process, and the tool of such a row.

Above: the runtime, which names tools, and whoever finds those of a store again. Below: tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

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


def tool_named(name: str, tools: Iterable[Any]) -> AnyFunctionTool | None:
    """The tool that a row names; else the only one that is defined where that was. None: nobody can tell."""
    usable = [tool for tool in tools if is_function_tool(tool) or is_raw_function_tool(tool)]
    exact = [tool for tool in usable if lasting_name(tool) == name]
    if len(exact) == 1:
        return exact[0]
    alike = exact or [tool for tool in usable if tool.origin == _BEHIND.sub("", name)]
    return alike[0] if len({id(owner_of(tool)) for tool in alike}) == 1 else None


def arguments_of(tool: AnyFunctionTool | None, kept: str) -> Mapping[str, Any]:
    """The arguments of a row, as the tool got them, but for what is secret; plain where it takes them no more."""
    if tool is not None:
        try:
            return tool.prepare(kept).kwargs
        except ToolError:
            pass
    found = json.loads(kept)
    return found if isinstance(found, dict) else {}
