"""Many tools behind one: the model looks for a tool, then calls it.

Above: agents. Below: `ranking`, which finds, `toolset`, `proxy`. A model that is offered hundreds of tools reads them
all on every request and picks badly; here it is offered `tool_search` and what it found. Two ways to offer that:
`ToolSearchToolset` adds the tools found to the next request, `ToolProxyToolset` never changes what is offered (so that
a provider's prompt cache stays warm) and has them called by name, through `call_tool`.

The library is the tools given, toolsets included; toolsets that compute their tools are asked on each search. What was
found belongs to the instance: give each agent its own. Indexes are shared: instances made of the same tools, one for
each session, build one index.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final, Self

from antiphon.errors import ToolDefinitionError, UsageError, as_exception, missing_package, pass_on
from antiphon.tools.function import AnyFunctionTool, ToolFlag, ToolSpec, function_tool
from antiphon.tools.proxy import proxy_tool
from antiphon.tools.ranking import ToolIndex
from antiphon.tools.toolset import ToolContext, ToolLike, Toolset

__all__ = ["ToolProxyToolset", "ToolSearchToolset"]

_NOTHING_FOUND = "No tool matches {query!r}. Search again with other words: what the tool should do, and with what."
_MAX_INDEXES: Final = 8
"""Indexes kept for toolsets to come. One of a thousand tools takes a few megabytes."""


class _Library(Toolset):
    """The tools that can be found, and their index."""

    def __init__(self, tools: Sequence[ToolLike], *, id: str, max_results: int) -> None:
        super().__init__(id=f"{id}_library", tools=tools)
        if max_results < 1:
            raise UsageError(f"toolset {id!r}: max_results must be 1 or more, got {max_results!r}.")
        self._max_results = max_results
        self._context = ToolContext(tools)
        self._context.check()
        self._ready: set[Toolset] = set()

    @property
    def context(self) -> ToolContext:
        """What it holds now. Of tools that a toolset computes and whose names clash, the later are left out."""
        if not self._context.toolsets:
            return self._context
        try:
            return self._context.copy()
        except ToolDefinitionError:
            return ToolContext.leaving_out_unusable(self.tools)[0]

    def by_name(self) -> dict[str, AnyFunctionTool]:
        """The tools that can be found and called."""
        return self.context.function_tools

    async def setup(self) -> Self:
        """Set up each toolset in it. What those that fail raise is raised at the end; the others can be used.

        May be called again: then only those that failed are set up.
        """
        failures: list[Exception] = []
        for toolset in self.tools:
            if isinstance(toolset, Toolset) and toolset not in self._ready:
                try:
                    await toolset.setup()
                    self._ready.add(toolset)
                except BaseException as error:
                    pass_on(error)
                    failures.append(as_exception(error))
        await _index_of(self.context.specs)
        if len(failures) > 1:
            raise ExceptionGroup(f"{len(failures)} toolsets of {self.id!r} could not be set up", failures)
        if failures:
            raise failures[0]
        return self

    async def aclose(self) -> None:
        self._ready.clear()
        await super().aclose()

    async def search(self, query: str) -> list[AnyFunctionTool]:
        """The tools that `query` is about, best first."""
        context = self.context
        index = await _index_of(context.specs)
        tools = list(context.function_tools.values())
        return [tools[place] for place in index.search(query, self._max_results)]


class _SearchingToolset(Toolset):
    """What both ways share: the library, which is set up and closed with them."""

    def __init__(self, tools: Sequence[ToolLike], *, id: str, max_results: int) -> None:
        super().__init__(id=id)
        if find_spec("snowballstemmer") is None:
            raise missing_package(type(self).__name__, "snowballstemmer", "search")
        self._library = _Library(tools, id=id, max_results=max_results)

    @property
    def left_out(self) -> Sequence[ToolDefinitionError]:
        return [error for _, error in self._library.context.left_out]

    async def setup(self) -> Self:
        await self._library.setup()
        return self

    async def aclose(self) -> None:
        await self._library.aclose()


class ToolSearchToolset(_SearchingToolset):
    """One tool, `tool_search`, and the tools that were found with it so far.

    What a search finds can be called from the same turn's next response on, and stays. `tools` are the library, tools
    and toolsets; tools that run at the provider cannot be searched and are always offered. `max_results` is the most
    that one search finds. Raises `ToolDefinitionError` if two different tools of the library share a name.
    """

    def __init__(self, tools: Sequence[ToolLike], *, id: str = "tool_search", max_results: int = 5) -> None:
        super().__init__(tools, id=id, max_results=max_results)
        self._found: dict[str, None] = {}
        """Names, in the order in which they were found."""

    @property
    def tools(self) -> Sequence[ToolLike]:
        context = self._library.context
        found = (context.get_function_tool(name) for name in self._found)
        return [*super().tools, *context.provider_tools, *(tool for tool in found if tool is not None)]

    @function_tool(effect="reads")
    async def tool_search(self, query: str) -> str:
        """Find tools by what they do. Most tools are not listed until they are searched for.

        Search whenever no listed tool fits, one search for each thing to do. The tools found are listed from then on
        and can be called at once.

        Args:
            query: What the tool should do, in a few words: action and object, such as "cancel a hotel booking".
        """
        found = await self._library.search(query)
        if not found:
            return _NOTHING_FOUND.format(query=query)
        self._found.update(dict.fromkeys(tool.name for tool in found))
        lines = (f"- {tool.name}: {_first_line(tool.description)}" for tool in found)
        return "\n".join(["Found; these tools can be called now:", *lines])


class ToolProxyToolset(_SearchingToolset):
    """Two tools that never change: `tool_search`, which describes tools, and `call_tool`, which calls them by name.

    A call through `call_tool` is treated as a call of the tool itself: its policy, the checks of its arguments, its
    name in history and events. Options and errors are those of `ToolSearchToolset`.
    """

    def __init__(self, tools: Sequence[ToolLike], *, id: str = "tool_proxy", max_results: int = 5) -> None:
        super().__init__(tools, id=id, max_results=max_results)
        # So that the model is offered to cancel what it may cancel.
        cancellable = any(ToolFlag.CANCELLABLE in tool.options.flags for tool in self._library.by_name().values())
        flags = ToolFlag.CANCELLABLE if cancellable else ToolFlag.NONE
        self._call_tool = proxy_tool(self._library.by_name, flags=flags)

    @property
    def tools(self) -> Sequence[ToolLike]:
        return [*super().tools, self._call_tool, *self._library.context.provider_tools]

    @function_tool(effect="reads")
    async def tool_search(self, query: str) -> str:
        """Find tools by what they do, before calling them with call_tool. One search for each thing to do.

        Args:
            query: What the tool should do, in a few words: action and object, such as "cancel a hotel booking".

        Returns:
            Name, description and parameters (JSON schema) of the tools found.
        """
        found = await self._library.search(query)
        if not found:
            return _NOTHING_FOUND.format(query=query)
        return "\n".join(json.dumps(_described(tool.spec), ensure_ascii=False) for tool in found)


def _described(spec: ToolSpec) -> Mapping[str, Any]:
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


_indexes: OrderedDict[tuple[int, ...], tuple[tuple[ToolSpec, ...], ToolIndex]] = OrderedDict()
"""By the identity of specs, which tools of one definition share. The specs are kept, so that ids stay theirs."""


async def _index_of(specs: tuple[ToolSpec, ...]) -> ToolIndex:
    """The index over `specs`. A new one is built in a thread: among a thousand tools it takes half a second."""
    key = tuple(map(id, specs))
    known = _indexes.get(key)
    if known is None:
        known = _indexes[key] = (specs, await asyncio.to_thread(ToolIndex, specs))
        while len(_indexes) > _MAX_INDEXES:
            _indexes.popitem(last=False)
    else:
        _indexes.move_to_end(key)
    return known[1]
