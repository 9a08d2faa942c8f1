"""Tools from MCP servers: `MCPToolset`, over `MCPServerHTTP` or `MCPServerStdio`.

Above: agents, which are given the toolset. Below: `mcp_connection`, which keeps the server connected, and the official
SDK (`pip install antiphon[mcp]`), imported on setup. A server's tool becomes a tool with a schema of its own: its
arguments are checked before they are sent, its policy is what `MCPToolOptions` say. What a server claims about its
tools is believed only if the server is trusted: any other tool counts as one that writes.

A server talks back while a call runs. Progress becomes `ctx.update` where wanted, questions (elicitation) are put to
the caller by `ctx.elicit` where the application allows it, a changed list of tools is offered from the next response
on. A server is a stranger: whatever it sends is bounded, and none of its words is taken for one of the application.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from antiphon.errors import ProviderConnectionError, ToolDefinitionError, UsageError, pass_on
from antiphon.language import Language
from antiphon.options import Effect, is_given
from antiphon.tools.docs import documented
from antiphon.tools.function import RawFunctionTool, ToolOptions, foreign_tool
from antiphon.tools.mcp_call import Asker, MCPToolOptions, RemoteCall, cleaned
from antiphon.tools.mcp_connection import Connection
from antiphon.tools.mcp_servers import (
    AllowedTools,
    Elicitation,
    MCPServer,
    MCPServerHTTP,
    MCPServerStdio,
    name_filter,
)
from antiphon.tools.one_object import as_object
from antiphon.tools.toolset import ToolLike, Toolset

if TYPE_CHECKING:
    from mcp_types import Tool as RemoteTool

logger = logging.getLogger("antiphon")

__all__ = ["MCPServer", "MCPServerHTTP", "MCPServerStdio", "MCPToolOptions", "MCPToolset"]

MAX_TOOLS: Final = 2_000
"""Tools of one server that are offered, after the filters; a stranger's list has no end of its own."""
AT_ONCE: Final = 50
"""Tools that are made of what a server lists before others have their turn: some ten milliseconds."""
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME: Final = 64
"""Characters that models may call a tool by; what MCP allows beyond is replaced or cut."""
_NO_OPTIONS = MCPToolOptions()


class MCPToolset(Toolset):
    """The tools of an MCP server, as long as the toolset is set up.

    `allowed_tools` (names, or a function of a name) chooses among those that the server's own filter lets through.
    `tool_options` are by the server's name of a tool. A connection that breaks is made again; a call that was under
    way then is in doubt, and is sent again only if its tool reads. `elicitation`: the server may ask the caller, who
    hears the toolset's id first, or the name given here; not given: as the server's own `elicitation` says.

    `setup` raises `ProviderConnectionError` if the server cannot be reached, and `UsageError` if the SDK is not
    installed; it may be called again. Give each agent a toolset of its own.
    """

    def __init__(
        self,
        *,
        id: str,
        mcp_server: MCPServer,
        allowed_tools: AllowedTools = None,
        tool_options: Mapping[str, MCPToolOptions] | None = None,
        elicitation: Elicitation | None = None,
    ) -> None:
        super().__init__(id=id)
        self._server = mcp_server
        self._allows = name_filter(allowed_tools)
        self._is_filtered = allowed_tools is not None or mcp_server.is_filtered
        self._asker = _asker(id, mcp_server.elicitation if elicitation is None else elicitation)
        self._options = dict(tool_options or {})
        self._offered: list[RemoteTool] = []
        """What the server lists, unfiltered."""
        self._made: dict[str, tuple[RemoteTool, MCPToolOptions, RawFunctionTool[Any]]] = {}
        """By the server's name: a tool stays the same as long as its description does."""
        self._remote_tools: list[ToolLike] = []
        self._version = 0
        """Of the list that tools were last made of."""
        self._names: dict[str, str] = {}
        """What the model calls each of the server's tools. A name once given stays that tool's."""
        self._writing: set[str] = set()
        self._irreversible: set[str] = set()
        """Tools that counted as writing once: a server cannot make them harmless later."""
        self._warned: set[str] = set()
        self._left_out: dict[str, ToolDefinitionError] = {}
        """By the server's name: tools that no model can be told of."""
        self._connection: Connection | None = None
        self._opening: Connection | None = None
        """The connection that `setup` waits for."""
        self._changing = asyncio.Lock()

    @property
    def tools(self) -> Sequence[ToolLike]:
        return [*self._tools, *self._remote_tools]

    @property
    def left_out(self) -> Sequence[ToolDefinitionError]:
        return list(self._left_out.values())

    @property
    def is_filtered(self) -> bool:
        """Whether anybody has chosen among the server's tools."""
        return self._is_filtered

    @property
    def is_connected(self) -> bool:
        """Whether the server can be called now."""
        return self._connection is not None and self._connection.is_online

    async def setup(self, *, reload: bool = False) -> Self:
        """Connect, and list the tools. When connected already: nothing, or with `reload` list them again, soon."""
        async with self._changing:
            if self._connection is None:
                self._connection = await self._connect()
            elif reload:
                await self._connection.refresh()
        return self

    async def aclose(self) -> None:
        if self._opening is not None:
            self._opening.give_up()  # who sets it up holds the lock, and waits for the server
        async with self._changing:
            connection, self._connection = self._connection, None
            self._names, self._writing, self._irreversible = {}, set(), set()
            self._take([])
            if connection is not None:
                await connection.close()

    def filter_tools(self, allowed: AllowedTools) -> Self:
        """Choose other tools among those that the server's own filter lets through, from the next response on."""
        self._allows = name_filter(allowed)
        self._is_filtered = allowed is not None or self._server.is_filtered
        self._take(self._offered)
        return self

    async def _connect(self) -> Connection:
        server = self._server
        # In a thread: the first import takes a second, during which the caller shall not stutter.
        await asyncio.to_thread(_require_sdk)
        connection = self._opening = Connection(
            server.open_transport,
            name=server.label,
            connect_timeout=server.timeout,
            request_timeout=server.client_session_timeout_seconds,
            on_tools=self._take_gently,
        )
        try:
            await connection.open()
        except BaseException as error:
            pass_on(error)
            raise ProviderConnectionError(
                f"MCP server {server.label} (toolset {self.id!r}) could not be reached: {error}. {server.remedy}",
                provider=server.label,
            ) from error
        finally:
            self._opening = None
        return connection

    # -- its tools

    async def _take_gently(self, offered: list[RemoteTool]) -> None:
        """The server's list of tools: at first, and whenever it changed. While it is read, other calls go on."""
        for _ in self._taking(offered):
            await asyncio.sleep(0)

    def _take(self, offered: list[RemoteTool]) -> None:
        """A list of tools, at once."""
        for _ in self._taking(offered):
            pass

    def _taking(self, offered: list[RemoteTool]) -> Iterator[None]:
        """Make tools of those that are listed, some at a time. Another list, or another filter, ends it."""
        self._version += 1
        version = self._version
        self._offered = offered
        allowed: dict[str, RemoteTool] = {}
        for remote in offered:
            if self._server.allows(remote.name) and self._allows(remote.name):
                allowed.setdefault(remote.name, remote)
        if len(allowed) > MAX_TOOLS:
            self._leave_out(
                "the rest",
                ToolDefinitionError(
                    f"MCP server {self._server.label} (toolset {self.id!r}) offers {len(allowed)} tools: {MAX_TOOLS}"
                    " are taken, the rest is left out. Choose with allowed_tools=."
                ),
            )
        chosen = dict(list(allowed.items())[:MAX_TOOLS])
        self._names = _usable_names(chosen, self._names)
        made: dict[str, tuple[RemoteTool, MCPToolOptions, RawFunctionTool[Any]]] = {}
        for number, remote in enumerate(chosen.values(), 1):
            if number % AT_ONCE == 0:
                yield
                if version != self._version:
                    return
            try:
                made[remote.name] = self._tool(remote, self._names[remote.name])
            except ToolDefinitionError as error:
                self._leave_out(remote.name, error)
        self._made = made
        self._remote_tools = [tool for _, _, tool in made.values()]
        if offered:
            self._warn_of_idle_options({tool.name for tool in offered})

    def _leave_out(self, name: str, error: ToolDefinitionError) -> None:
        if name not in self._left_out and len(self._left_out) < MAX_TOOLS:
            self._left_out[name] = error
            shown = cleaned(name, _MAX_NAME)
            logger.warning("MCP server %s: tool %r is left out: %s", self._server.label, shown, error)

    def _warn_of_idle_options(self, offered: set[str]) -> None:
        """Most likely a name is misspelt."""
        for name in sorted(self._options.keys() - offered):
            some = ", ".join(cleaned(other, _MAX_NAME) for other in sorted(offered)[:20])
            self._warn_once(name, f"tool_options for tools that it does not have: {name}; it has {some}")

    def _warn_once(self, what: str, text: str) -> None:
        """The list may come often."""
        if what not in self._warned:
            self._warned.add(what)
            logger.warning("toolset %r, MCP server %s: %s", self.id, self._server.label, text)

    def _tool(self, remote: RemoteTool, name: str) -> tuple[RemoteTool, MCPToolOptions, RawFunctionTool[Any]]:
        """Raises `ToolDefinitionError`."""
        known = self._made.get(remote.name)
        if known is not None and known[0] == remote and known[2].name == name:
            return known
        options = self._options.get(remote.name, _NO_OPTIONS)
        effect = options.effect if is_given(options.effect) else self._hinted_effect(remote)
        if effect != "reads":
            self._writing.add(remote.name)
        call = RemoteCall(
            name,
            remote.name,
            server=f"MCP server {self._server.label}",
            effect=effect,
            may_repeat=effect == "reads" or options.idempotent,
            report_progress=options.report_progress,
            asker=self._asker,
            connection=lambda: self._connection,
        )
        told = as_object(remote.input_schema, name=name)
        description, parameters = documented(remote.description or remote.title or "", told.parameters)
        tool = foreign_tool(
            call,
            name=name,
            description=description,
            parameters=replace(told, parameters=parameters),
            options=ToolOptions(
                flags=options.flags,
                effect=effect,
                timeout=options.timeout,
                filler=options.filler,
                on_duplicate=options.on_duplicate,
                duplicate_scope=options.duplicate_scope,
                identity=options.identity,
                repeat=options.repeat,
                on_interrupt=options.on_interrupt,
                parallel=options.parallel,
                confirm=options.confirm,
                undo=options.undo,
                idempotent=options.idempotent,
                redact=options.redact,
                max_result_chars=options.max_result_chars,
            ),
        )
        return remote, options, tool

    def _hinted_effect(self, remote: RemoteTool) -> Effect:
        hints = remote.annotations
        if not self._server.trusted or hints is None:
            return "writes"
        if hints.read_only_hint:
            return self._believed(remote.name)
        if hints.destructive_hint:
            self._irreversible.add(remote.name)
        return "irreversible" if remote.name in self._irreversible else "writes"

    def _believed(self, name: str) -> Effect:
        """A tool that says now that it reads, and once said something else, is not believed."""
        if name in self._irreversible:
            return "irreversible"
        return "writes" if name in self._writing else "reads"


def _asker(id: str, elicitation: Elicitation) -> Asker | None:
    """What makes of a server's question the sentence that the caller hears."""
    if elicitation is False or elicitation == "":
        return None
    given = id if elicitation is True else elicitation

    def ask(question: str, language: Language) -> str:
        form = given if "{question}" in given else language.asks.replace("{who}", given)
        return form.replace("{question}", question)

    return ask


def _usable_names(wanted: Collection[str], known: Mapping[str, str]) -> dict[str, str]:
    """What a model may call each tool, by the server's name: those of `known` stay, new ones are made."""
    names = {name: known[name] for name in wanted if name in known}
    taken = set(names.values())
    numbers: dict[str, int] = {}
    for name in wanted:
        if name not in names:
            names[name] = _usable_name(name, taken, numbers)
            taken.add(names[name])
    return {name: names[name] for name in wanted}


def _usable_name(name: str, taken: Collection[str], numbers: dict[str, int]) -> str:
    """What a model may call the tool: models accept fewer characters than MCP does. `numbers`: tried already."""
    usable = base = _UNUSABLE.sub("_", name[:_MAX_NAME]) or "tool"
    while usable in taken:
        numbers[base] = numbers.get(base, 1) + 1
        usable = f"{base[: _MAX_NAME - 6]}_{numbers[base]}"
    return usable


def _require_sdk() -> None:
    try:
        import mcp  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise UsageError("MCPToolset: the MCP SDK is not installed. Install it: pip install 'antiphon[mcp]'") from error
