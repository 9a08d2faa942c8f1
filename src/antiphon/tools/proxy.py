"""A tool whose calls are calls of other tools, named in an argument.

Above: `search`, which makes such a tool; the runtime, which asks `find_tool` and `prepare_call` for the tool that a
call runs. Below: `function`. A call by proxy turns into the other tool's call before anything is decided about it:
effect, time limit, duplicates, checks of arguments, history and events are those of the other tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from antiphon.errors import UsageError
from antiphon.tools.function import (
    AnyFunctionTool,
    FunctionTool,
    PreparedCall,
    RawFunctionTool,
    ToolError,
    ToolFlag,
    function_tool,
    hooks_of,
    within,
)
from antiphon.visible import shortened

__all__ = ["CallByName", "find_tool", "is_proxy", "prepare_call", "proxy_tool", "with_stand_ins"]

LONGEST_NAME = 100
"""Characters of what a model took for the name of a tool. No tool has as many."""


class CallByName:
    """The function of a proxy tool: `library` gives the tools that may be called through it, by name."""

    def __init__(self, library: Callable[[], Mapping[str, AnyFunctionTool]]) -> None:
        self.library = library

    async def __call__(self, name: str, parameters: dict[str, Any] | None = None) -> None:
        """Call a tool that tool_search found.

        Args:
            name: The name of the tool, as tool_search gave it.
            parameters: The arguments of the tool, as its schema describes them.
        """
        raise UsageError(f"call_tool({name!r}): a session runs the tool itself; use prepare_call to find it")

    def redirect(self, name: str, parameters: Mapping[str, Any] | None = None) -> tuple[AnyFunctionTool, PreparedCall]:
        """The tool of that name and its arguments, checked. Raises `ToolError`."""
        library = self.library()
        tool = library.get(name)
        if tool is None:
            import difflib  # only for mistakes

            name = shortened(name, LONGEST_NAME)
            similar = difflib.get_close_matches(name, library, n=3)
            hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
            raise ToolError(f"Unknown function: {name}.{hint} Find tools with tool_search, and use the names it gives.")
        return tool, tool.prepare(parameters or {})


def find_tool(tools: Iterable[Any], name: str) -> AnyFunctionTool | None:
    """The function tool that a model means by `name`: one of `tools`, or one that can be called through one of them.

    Models that have used a tool by proxy read its own name in the history, and may call it by that.
    """
    behind: AnyFunctionTool | None = None
    for tool in tools:
        if isinstance(tool, (FunctionTool, RawFunctionTool)):
            if tool.name == name:
                return tool
            proxy = _proxy(tool)
            if proxy is not None and behind is None and (found := proxy.library().get(name)) is not None:
                behind = _behind(tool, found)
    return behind


def prepare_call(tool: AnyFunctionTool, arguments: str) -> tuple[AnyFunctionTool, PreparedCall]:
    """The tool that a call of `tool` runs, and its arguments, ready to run. Raises `ToolError`."""
    prepared = tool.prepare(arguments)
    proxy = _proxy(tool)
    if proxy is None:
        return tool, prepared
    meant, prepared = proxy.redirect(**prepared.kwargs)
    return _behind(tool, meant), prepared


def with_stand_ins(tool: AnyFunctionTool, stand_ins: Mapping[str, Callable[..., Any]]) -> AnyFunctionTool:
    """`tool` with the function that `stand_ins` has for its name; behind a proxy, the same for each tool."""
    if tool.name in stand_ins:
        return tool.with_function(stand_ins[tool.name])
    proxy = _proxy(tool)
    if proxy is None:
        return tool

    def library() -> dict[str, AnyFunctionTool]:
        return {name: with_stand_ins(other, stand_ins) for name, other in proxy.library().items()}

    stand_in = proxy_tool(library, name=tool.name, description=tool.description, flags=tool.options.flags)
    return _behind(tool, stand_in)


def proxy_tool(
    library: Callable[[], Mapping[str, AnyFunctionTool]],
    *,
    name: str = "call_tool",
    description: str | None = None,
    flags: ToolFlag = ToolFlag.NONE,
) -> FunctionTool[Any]:
    """A tool through which a model calls those of `library`.

    Its flags say what may be true of calls through it; what is true of one, the flags of the tool called say.
    """
    made: FunctionTool[Any] = function_tool(CallByName(library), name=name, description=description, flags=flags)
    return made


def _behind(proxy: AnyFunctionTool, tool: AnyFunctionTool) -> AnyFunctionTool:
    """The tool with what is around the proxy that it is called through."""
    return within(tool, reversed(hooks_of(proxy)))


def is_proxy(tool: AnyFunctionTool) -> bool:
    """Whether its calls are calls of other tools."""
    return _proxy(tool) is not None


def _proxy(tool: AnyFunctionTool) -> CallByName | None:
    function = tool.function
    return function if isinstance(function, CallByName) and not tool.is_stand_in else None
