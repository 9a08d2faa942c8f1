"""Containers of tools: `Toolset`, which comes and goes as one, and `ToolContext`, the flat view that a request needs.

Above: agents and the runtime. Below: `function`. A toolset may open connections in `setup` and must close them in
`aclose`; who calls these, and when, is the session's business. `filtered`, `prefixed` and `renamed` wrap a toolset;
tools keep what their authors said about them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias

from antiphon.errors import ToolDefinitionError, as_exception, pass_on
from antiphon.tools.function import (
    AnyFunctionTool,
    CallContext,
    FunctionTool,
    ProviderTool,
    RawFunctionTool,
    Tool,
    ToolSpec,
    find_function_tools,
    hooks_of,
    within,
)
from antiphon.tools.hooks import CallHook, Proceed, ToolCall

ToolLike: TypeAlias = "Tool | Toolset"


class ServerFunction:
    """The function of a tool that a server outside the program offers. The program's own tool of a name goes first."""

    server: str
    """What messages call the server: the name that the application gave it."""
    name: str
    """What the model calls the tool. A server lists its tools again and again: those of one name are one tool."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServerFunction) and (self.server, self.name) == (other.server, other.name)

    def __hash__(self) -> int:
        return hash((self.server, self.name))


class Toolset(ABC):  # noqa: B024 - it works as it is; what its subclasses leave open is theirs to say
    """Tools that belong together. Subclass it and decorate methods, or give it tools, or both."""

    @dataclass(slots=True)
    class ToolCalledEvent:
        """A tool of the set is about to run."""

        ctx: CallContext
        arguments: dict[str, Any]

    @dataclass(slots=True)
    class ToolCompletedEvent:
        """A tool of the set has run. `output` may be replaced: the model is told what it holds afterwards."""

        ctx: CallContext
        output: Any

    def __init__(self, *, id: str, tools: Sequence[ToolLike] | None = None) -> None:
        self._id = id
        self._tools: list[ToolLike] = [*(tools or ()), *find_function_tools(self)]

    @property
    def id(self) -> str:
        """A stable name. Of two toolsets with one id, `update_tools` keeps the later."""
        return self._id

    @property
    def given_id(self) -> str | None:
        """The id that it was given. The methods of two toolsets with one id are the same tools."""
        return self._id

    @property
    def tools(self) -> Sequence[ToolLike]:
        """The tools in order: those given, then decorated methods. A subclass may compute it anew on each request."""
        return self._tools

    @property
    def left_out(self) -> Sequence[ToolDefinitionError]:
        """Why some of its tools cannot be offered, each said once: for toolsets that get theirs from elsewhere."""
        return ()

    async def setup(self) -> Self:
        """Make ready; called once before the first use. Nested toolsets are set up, in order.

        If one fails, those before it are closed again and its error is raised.
        """
        ready: list[Toolset] = []
        for toolset in _nested(self):
            try:
                await toolset.setup()
            except BaseException:
                for earlier in reversed(ready):
                    await earlier.aclose()
                raise
            ready.append(toolset)
        return self

    async def aclose(self) -> None:
        """Release what `setup` took. May be called twice. All nested ones are closed; the first error is raised."""
        failure: Exception | None = None
        for toolset in reversed(_nested(self)):
            try:
                await toolset.aclose()
            except BaseException as error:
                pass_on(error)
                failure = failure or as_exception(error)
        if failure is not None:
            raise failure

    async def call_tool(self, call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        """Around each call of its tools, those of nested toolsets included. A subclass may override it.

        `ctx` is the `RunContext` of the call.

        What it returns is what the model is told, as if the tool had returned it: `await proceed()` for what the tool
        gives. `ToolError` refuses the call in words; without `proceed` the tool is not called.
        """
        return await proceed()

    @property
    def call_hook(self) -> CallHook | None:
        """Its `call_tool`, if it has one of its own."""
        own = type(self).call_tool
        return None if own is Toolset.call_tool or isinstance(own, Tool) else self.call_tool

    def filtered(self, predicate: Callable[[Tool], bool]) -> Toolset:
        """This toolset with only the tools for which `predicate` is true; asked again for each request."""
        return _FilteredToolset(self, predicate)

    def prefixed(self, prefix: str) -> Toolset:
        """This toolset with `prefix` before the name of every function tool, and before its own id."""
        return _RenamedToolset(self, lambda name: f"{prefix}{name}", id=f"{prefix}{self.id}")

    def renamed(self, names: Mapping[str, str]) -> Toolset:
        """This toolset with other names for some tools, as {old: new}."""
        return _RenamedToolset(self, lambda name: names.get(name, name), id=self.id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}>"


class _WrapperToolset(Toolset):
    """A toolset that shows another one differently, and lives and ends with it."""

    def __init__(self, wrapped: Toolset, *, id: str) -> None:
        super().__init__(id=id)
        self._wrapped = wrapped

    @property
    def left_out(self) -> Sequence[ToolDefinitionError]:
        return self._wrapped.left_out

    @property
    def call_hook(self) -> CallHook | None:
        return self._wrapped.call_hook

    async def setup(self) -> Self:
        await self._wrapped.setup()
        return self

    async def aclose(self) -> None:
        await self._wrapped.aclose()


class _FilteredToolset(_WrapperToolset):
    def __init__(self, wrapped: Toolset, predicate: Callable[[Tool], bool]) -> None:
        super().__init__(wrapped, id=wrapped.id)
        self._predicate = predicate

    @property
    def tools(self) -> Sequence[ToolLike]:
        return [
            tool.filtered(self._predicate) if isinstance(tool, Toolset) else tool
            for tool in self._wrapped.tools
            if isinstance(tool, Toolset) or self._predicate(tool)
        ]


class _RenamedToolset(_WrapperToolset):
    def __init__(self, wrapped: Toolset, rename: Callable[[str], str], *, id: str) -> None:
        super().__init__(wrapped, id=id)
        self._rename = rename
        # A tool keeps one renamed form, so that it is the same tool on every request.
        self._renamed: dict[ToolLike, ToolLike] = {}

    @property
    def tools(self) -> Sequence[ToolLike]:
        current = list(self._wrapped.tools)
        self._renamed = {tool: self._renamed.get(tool) or self._with_new_name(tool) for tool in current}
        return [self._renamed[tool] for tool in current]

    def _with_new_name(self, tool: ToolLike) -> ToolLike:
        if isinstance(tool, Toolset):
            return _RenamedToolset(tool, self._rename, id=tool.id)
        if not isinstance(tool, (FunctionTool, RawFunctionTool)):
            return tool
        inverse = None if tool.options.undo is None else self._rename(tool.options.undo)
        if (name := self._rename(tool.name)) != tool.name or inverse != tool.options.undo:
            return tool.with_options(name=name, undo=inverse)
        return tool


class ToolContext:
    """The tools of a request: a flat view of tools and toolsets, taken when it is made.

    Raises `ToolDefinitionError` for two different tools of one name, and for things that are no tools; the same tool
    twice is one tool. A server's tool whose name is taken is no error: it is left out (`displaced`).
    """

    def __init__(self, tools: Iterable[ToolLike] = ()) -> None:
        self._tools = list(tools)
        self._toolsets: list[Toolset] = []
        self._by_name: dict[str, tuple[AnyFunctionTool, str]] = {}
        self._provider_tools: list[Tool] = []
        self.displaced: list[tuple[ToolLike, ToolDefinitionError]] = []
        """Tools of servers that are left out because their name is taken, with the reason."""
        self._add(self._tools, "the agent's tools")

    @classmethod
    def empty(cls) -> Self:
        """No tools."""
        return cls()

    @classmethod
    def leaving_out_unusable(cls, tools: Iterable[ToolLike]) -> tuple[Self, list[tuple[ToolLike, ToolDefinitionError]]]:
        """The context of as many of `tools` as can be offered together, and what was left out, with the reason.

        For tools that are known only after `Toolset.setup`: the later of two names that clash, and what no model can be
        told of, is left out, a toolset whole.
        """
        tools = list(tools)
        with suppress(ToolDefinitionError):
            context = cls._checked(tools)
            return context, context.displaced
        kept: list[ToolLike] = []
        left_out: list[tuple[ToolLike, ToolDefinitionError]] = []
        context = cls()
        for tool in tools:
            try:
                context = cls._checked([*kept, tool])
                kept.append(tool)
            except ToolDefinitionError as error:
                left_out.append((tool, error))
        return context, [*context.displaced, *left_out]

    @classmethod
    def _checked(cls, tools: Iterable[ToolLike]) -> Self:
        context = cls(tools)
        context.check()
        return context

    @property
    def function_tools(self) -> dict[str, AnyFunctionTool]:
        """The function tools by name, in order. A copy."""
        return {name: tool for name, (tool, _) in self._by_name.items()}

    @property
    def provider_tools(self) -> list[Tool]:
        """The tools that are no functions of ours."""
        return list(self._provider_tools)

    @property
    def toolsets(self) -> list[Toolset]:
        """All toolsets, nested ones after those that hold them."""
        return list(self._toolsets)

    @property
    def tools(self) -> list[ToolLike]:
        """What it was made from."""
        return list(self._tools)

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What a model is told about the function tools. The same tuple each time."""
        return tuple(tool.spec for tool, _ in self._by_name.values())

    @property
    def left_out(self) -> list[tuple[Toolset, ToolDefinitionError]]:
        """What the toolsets could not offer."""
        return [(toolset, error) for toolset in self._toolsets for error in toolset.left_out]

    def flatten(self) -> list[Tool]:
        """All tools, without toolsets."""
        return [tool for tool, _ in self._by_name.values()] + self._provider_tools

    def get_function_tool(self, name: str) -> AnyFunctionTool | None:
        """The tool that a model means by `name`, or None."""
        found = self._by_name.get(name)
        return None if found is None else found[0]

    def check(self) -> None:
        """Make sure that every tool can be offered to a model. Raises `ToolDefinitionError`."""
        for tool, _ in self._by_name.values():
            tool.check()
            if tool.options.undo is not None:
                _check_inverse(tool, self.get_function_tool(tool.options.undo))

    def copy(self) -> ToolContext:
        """Made again from the same tools; toolsets that compute their tools are asked anew."""
        return ToolContext(self._tools)

    def __len__(self) -> int:
        return len(self._by_name) + len(self._provider_tools)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolContext):
            return NotImplemented
        return (
            self.function_tools == other.function_tools
            and set(self._provider_tools) == set(other._provider_tools)
            and {toolset.id for toolset in self._toolsets} == {toolset.id for toolset in other._toolsets}
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, which `specs` may still extend

    def _add(self, tools: Iterable[ToolLike], where: str, hooks: tuple[CallHook, ...] = ()) -> None:
        for tool in tools:
            if isinstance(tool, Toolset):
                self._toolsets.append(tool)
                hook = tool.call_hook
                self._add(tool.tools, f"toolset {tool.id!r}", hooks if hook is None else (hook, *hooks))
            elif isinstance(tool, (FunctionTool, RawFunctionTool)):
                self._add_function_tool(within(tool, hooks), where)
            elif isinstance(tool, Tool):
                if tool not in self._provider_tools:
                    self._provider_tools.append(tool)
            else:
                raise _no_tool(where, tool)

    def _add_function_tool(self, tool: AnyFunctionTool, where: str) -> None:
        earlier, there = self._by_name.setdefault(tool.name, (tool, where))
        if earlier is tool or earlier == tool:
            if (hooks := hooks_of(tool)) != hooks_of(earlier):  # held twice: all that is around either counts
                self._by_name[tool.name] = (within(earlier, reversed(hooks)), there)
            return
        if isinstance(tool.function, ServerFunction):
            self.displaced.append((tool, _displaced(tool, where, tool.function.server, earlier, there)))
        elif isinstance(earlier.function, ServerFunction):
            del self._by_name[tool.name]
            self._by_name[tool.name] = (tool, where)
            self.displaced.append((earlier, _displaced(earlier, there, earlier.function.server, tool, where)))
        else:
            raise ToolDefinitionError(
                f"two different tools are named {tool.name!r}: {earlier.origin} in {there}, and {tool.origin} in "
                f"{where}. Rename one with name=, or give its toolset a prefix: toolset.prefixed('...')."
            )


def _check_inverse(tool: AnyFunctionTool, inverse: AnyFunctionTool | None) -> None:
    """Raises `ToolDefinitionError` if it cannot undo anything. It may be offered later, and is looked for then."""
    if inverse is not None and (inverse == tool or not inverse.options.writes):
        why = "is that tool itself" if inverse == tool else "does not say that it writes"
        raise ToolDefinitionError(
            f'tool {tool.name!r}: undo= names {inverse.name!r}, which {why}. Name a tool with effect="writes" that'
            " takes back what this one does."
        )


def _displaced(
    tool: AnyFunctionTool, where: str, server: str, kept: AnyFunctionTool, there: str
) -> ToolDefinitionError:
    owner = f"that of {kept.function.server}" if isinstance(kept.function, ServerFunction) else kept.origin
    return ToolDefinitionError(
        f"the tool {tool.name!r} of {server} (in {where}) is left out: {owner}, in {there}, has that name. "
        "To have both, give the server's toolset a prefix: toolset.prefixed('...')."
    )


def dedupe_by_id(tools: Iterable[ToolLike]) -> list[ToolLike]:
    """Of tools with equal ids the last one, at the place of the first; toolsets and tools are told apart.

    Raises `ToolDefinitionError` for things that are no tools.
    """
    kept: dict[tuple[bool, str], ToolLike] = {}
    for tool in tools:
        if not isinstance(tool, (Tool, Toolset)):
            raise _no_tool("update_tools", tool)
        kept[isinstance(tool, Toolset), tool.id] = tool
    return list(kept.values())


def _no_tool(where: str, found: object) -> ToolDefinitionError:
    return ToolDefinitionError(
        f"{where}: expected a tool or a toolset, got {found!r}. Decorate a function with @function_tool."
    )


def unknown_tool_text(name: str, available: Iterable[str]) -> str:
    """What a model is told that called a tool which does not exist."""
    return f"Unknown function: {name} - available tools: {', '.join(available) or 'none'}"


def _nested(toolset: Toolset) -> list[Toolset]:
    return [tool for tool in toolset.tools if isinstance(tool, Toolset)]


__all__ = ["ProviderTool", "ServerFunction", "ToolContext", "ToolLike", "Toolset", "dedupe_by_id", "unknown_tool_text"]
