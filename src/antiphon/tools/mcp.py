"""Tools from MCP servers: `MCPToolset`, over `MCPServerHTTP` or `MCPServerStdio`.

Above: agents, which are given the toolset. Below: `mcp_connection`, which keeps the server connected, and the official
SDK (`pip install antiphon[mcp]`), imported on setup. A server's tool becomes a tool with a schema of its own: its
arguments are checked before they are sent, its policy is what `MCPToolOptions` say. What a server claims about its
tools is believed only if the server is trusted: any other tool counts as one that writes.

A server talks back while a call runs. Progress becomes `ctx.update` where wanted, questions (elicitation) are put to
the caller by `ctx.elicit`, a changed list of tools is offered from the next response on.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from antiphon.chat import ImageContent
from antiphon.errors import ProviderConnectionError, ToolDefinitionError, UsageError
from antiphon.options import NOT_GIVEN, DuplicateMode, DuplicateScope, Effect, NotGivenOr, is_given
from antiphon.protocols import RunningCall
from antiphon.tools.function import CallContext, RawFunctionTool, ToolError, ToolFlag, function_tool
from antiphon.tools.mcp_connection import Connection, InDoubt, NotConnected, Transport
from antiphon.tools.toolset import ToolLike, Toolset

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult
    from mcp_types import Tool as RemoteTool

logger = logging.getLogger("antiphon")

__all__ = ["MCPServer", "MCPServerHTTP", "MCPServerStdio", "MCPToolOptions", "MCPToolset"]

PROGRESS_INTERVAL: Final = 5.0
"""Seconds between two reports of one call's progress; what a server sends in between is not passed on."""

AllowedTools: TypeAlias = "Collection[str] | Callable[[str], bool] | None"
"""Names that are let through, or a function that says so of a name; None: all."""

_NO_DATA: Final[tuple[Any, ...]] = (None, {}, {"result": None})
"""Structured results that say nothing; the last is how the SDK's servers wrap a None."""
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")
_MAX_NAME: Final = 64
"""Characters that models may call a tool by; what MCP allows beyond is replaced or cut."""


@dataclass(slots=True, frozen=True, kw_only=True)
class MCPToolOptions:
    """What is said about one tool of a server, in the place of its author. As the options of `function_tool`."""

    flags: ToolFlag = ToolFlag.NONE
    effect: NotGivenOr[Effect] = NOT_GIVEN
    """Not given: what a trusted server says, else "writes"."""
    timeout: float | None = None
    """Seconds; None: by effect."""
    filler: str | None = None
    on_duplicate: NotGivenOr[DuplicateMode] = NOT_GIVEN
    duplicate_scope: DuplicateScope = "name"
    report_progress: bool = False
    """The server's progress notifications become `ctx.update`, so that the call goes on in the background."""
    max_result_chars: int = 20_000


_NO_OPTIONS = MCPToolOptions()


class MCPServer(ABC):
    """Where an MCP server is and how far it is trusted. Holds no connection: each toolset opens its own.

    `timeout` (seconds) is for connecting, the list of tools included; `client_session_timeout_seconds` for every later
    request but calls, which have the time limit of their tool. `trusted`: the server's hints about its tools are
    believed (`readOnlyHint` means that a tool reads). Raises `UsageError` for times that are not positive.
    """

    def __init__(
        self, *, timeout: float, client_session_timeout_seconds: float, allowed_tools: AllowedTools, trusted: bool
    ) -> None:
        for name, value in (("timeout", timeout), ("client_session_timeout_seconds", client_session_timeout_seconds)):
            if not value > 0:
                raise UsageError(f"{type(self).__name__}({name}=) must be a positive number of seconds, got {value!r}.")
        self.timeout = timeout
        self.client_session_timeout_seconds = client_session_timeout_seconds
        self.trusted = trusted
        self.allows = _filter(allowed_tools)

    @property
    @abstractmethod
    def label(self) -> str:
        """What messages call it. Holds no secrets."""

    @property
    @abstractmethod
    def remedy(self) -> str:
        """What to look at if it cannot be reached."""

    @abstractmethod
    def open_transport(self) -> Transport:
        """A new way to the server, not entered yet."""


class MCPServerHTTP(MCPServer):
    """A server at a URL. Streamable HTTP, or the older SSE transport if `transport_type` or a path ending in /sse says.

    `headers` are sent with every request, for example an authorization. `sse_read_timeout` is how long (seconds) a
    stream may be silent.
    """

    def __init__(
        self,
        url: str,
        *,
        transport_type: Literal["streamable_http", "sse"] | None = None,
        allowed_tools: AllowedTools = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 5.0,
        sse_read_timeout: float = 300.0,
        client_session_timeout_seconds: float = 5.0,
        trusted: bool = False,
    ) -> None:
        super().__init__(
            timeout=timeout,
            client_session_timeout_seconds=client_session_timeout_seconds,
            allowed_tools=allowed_tools,
            trusted=trusted,
        )
        if transport_type not in (None, "streamable_http", "sse"):
            raise UsageError(
                f"MCPServerHTTP(transport_type=) must be 'streamable_http', 'sse' or None, got {transport_type!r}."
            )
        self.url = url
        self.headers = dict(headers or {})
        self._is_sse = transport_type == "sse" or (transport_type is None and _path(url).endswith("/sse"))
        self._sse_read_timeout = sse_read_timeout

    @property
    def label(self) -> str:
        return re.sub(r"//[^/@]*@", "//", self.url).partition("?")[0]

    @property
    def remedy(self) -> str:
        return "Check that it runs, and its URL and headers."

    def open_transport(self) -> Transport:
        if not self._is_sse:
            return self._streamable_http()
        from mcp.client.sse import sse_client

        return sse_client(self.url, headers=self.headers, timeout=self.timeout, sse_read_timeout=self._sse_read_timeout)

    @asynccontextmanager
    async def _streamable_http(self) -> AsyncIterator[tuple[Any, Any]]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(self.timeout, read=self._sse_read_timeout)
        async with (
            httpx2.AsyncClient(headers=self.headers, timeout=timeout) as http,
            streamable_http_client(self.url, http_client=http) as streams,
        ):
            yield streams

    def __repr__(self) -> str:
        return f"MCPServerHTTP({self.label!r})"


class MCPServerStdio(MCPServer):
    """A server that is a program of this machine, started with the toolset and ended with it.

    `env` is added to the few variables that such programs inherit (PATH, HOME, ...). `timeout` includes the program's
    start.
    """

    def __init__(
        self,
        command: str,
        args: Sequence[str] = (),
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        allowed_tools: AllowedTools = None,
        timeout: float = 30.0,
        client_session_timeout_seconds: float = 5.0,
        trusted: bool = False,
    ) -> None:
        super().__init__(
            timeout=timeout,
            client_session_timeout_seconds=client_session_timeout_seconds,
            allowed_tools=allowed_tools,
            trusted=trusted,
        )
        self.command = command
        self.args = list(args)
        self.env = dict(env or {})
        self.cwd = cwd

    @property
    def label(self) -> str:
        return " ".join([Path(self.command).name, *self.args[:2]])

    @property
    def remedy(self) -> str:
        return "Check that the command runs in a terminal; what it prints to stderr says why it does not."

    def open_transport(self) -> Transport:
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client

        return stdio_client(
            StdioServerParameters(command=self.command, args=self.args, env=self.env or None, cwd=self.cwd)
        )

    def __repr__(self) -> str:
        return f"MCPServerStdio({self.label!r})"


class MCPToolset(Toolset):
    """The tools of an MCP server, as long as the toolset is set up.

    `allowed_tools` (names, or a function of a name) chooses among those that the server's own filter lets through.
    `tool_options` are by the server's name of a tool. A connection that breaks is made again; a call that was under
    way then is in doubt, and is sent again only if its tool reads.

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
    ) -> None:
        super().__init__(id=id)
        self._server = mcp_server
        self._allows = _filter(allowed_tools)
        self._options = dict(tool_options or {})
        self._offered: list[RemoteTool] = []
        """What the server lists, unfiltered."""
        self._made: dict[str, tuple[RemoteTool, MCPToolOptions, RawFunctionTool[Any]]] = {}
        """By the server's name: a tool stays the same as long as its description does."""
        self._remote_tools: list[ToolLike] = []
        self._warned: set[str] = set()
        self._connection: Connection | None = None
        self._changing = asyncio.Lock()

    @property
    def tools(self) -> Sequence[ToolLike]:
        return [*self._tools, *self._remote_tools]

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
        async with self._changing:
            connection, self._connection = self._connection, None
            self._take([])
            if connection is not None:
                await connection.close()

    def filter_tools(self, allowed: AllowedTools) -> Self:
        """Choose other tools among those that the server's own filter lets through, from the next response on."""
        self._allows = _filter(allowed)
        self._take(self._offered)
        return self

    async def _connect(self) -> Connection:
        server = self._server
        # In a thread: the first import takes a second, during which the caller shall not stutter.
        await asyncio.to_thread(_require_sdk)
        connection = Connection(
            server.open_transport,
            name=server.label,
            connect_timeout=server.timeout,
            request_timeout=server.client_session_timeout_seconds,
            on_tools=self._take,
        )
        try:
            await connection.open()
        except Exception as error:
            raise ProviderConnectionError(
                f"MCP server {server.label} (toolset {self.id!r}) could not be reached: {error}. {server.remedy}",
                provider=server.label,
            ) from error
        return connection

    # -- its tools

    def _take(self, offered: list[RemoteTool]) -> None:
        """The server's list of tools: at first, and whenever it changed."""
        self._offered = offered
        allowed = [tool for tool in offered if self._server.allows(tool.name) and self._allows(tool.name)]
        made: dict[str, tuple[RemoteTool, MCPToolOptions, RawFunctionTool[Any]]] = {}
        names: set[str] = set()
        for remote in allowed:
            name = _usable_name(remote.name, names)
            tool = self._tool(remote, name)
            if tool is not None:
                names.add(name)
                made[remote.name] = tool
        self._made = made
        self._remote_tools = [tool for _, _, tool in made.values()]
        if offered:
            self._warn_of_idle_options({tool.name for tool in offered})

    def _warn_of_idle_options(self, offered: set[str]) -> None:
        """Most likely a name is misspelt. Said once for each: the list may come often."""
        idle = self._options.keys() - offered - self._warned
        if idle:
            self._warned |= idle
            logger.warning(
                "toolset %r: tool_options for tools that %s does not have: %s; it has %s",
                self.id,
                self._server.label,
                ", ".join(sorted(idle)),
                ", ".join(sorted(offered)),
            )

    def _tool(self, remote: RemoteTool, name: str) -> tuple[RemoteTool, MCPToolOptions, RawFunctionTool[Any]] | None:
        known = self._made.get(remote.name)
        if known is not None and known[0] == remote and known[2].name == name:
            return known
        options = self._options.get(remote.name, _NO_OPTIONS)
        effect = options.effect if is_given(options.effect) else self._hinted_effect(remote)

        async def call(raw_arguments: dict[str, Any], ctx: CallContext | None = None) -> Any:
            return await self._call(remote, options, effect, raw_arguments, ctx)

        try:
            tool = function_tool(
                call,
                raw_schema={
                    "name": name,
                    "description": remote.description or remote.title or "",
                    "parameters": remote.input_schema,
                },
                flags=options.flags,
                effect=effect,
                timeout=options.timeout,
                filler=options.filler,
                on_duplicate=options.on_duplicate,
                duplicate_scope=options.duplicate_scope,
                max_result_chars=options.max_result_chars,
            )
            tool.check()
        except ToolDefinitionError as error:
            logger.warning("MCP server %s: tool %r is left out: %s", self._server.label, remote.name, error)
            return None
        return remote, options, tool

    def _hinted_effect(self, remote: RemoteTool) -> Effect:
        hints = remote.annotations
        if not self._server.trusted or hints is None:
            return "writes"
        if hints.read_only_hint:
            return "reads"
        if hints.destructive_hint:
            logger.warning(
                "MCP server %s: tool %r may destroy, and the caller is not asked before it does; it is treated as one"
                " that writes. Leave it out with allowed_tools= if that is not enough.",
                self._server.label,
                remote.name,
            )
        return "writes"

    # -- its calls

    async def _call(
        self,
        remote: RemoteTool,
        options: MCPToolOptions,
        effect: Effect,
        arguments: dict[str, Any],
        ctx: CallContext | None,
    ) -> Any:
        from mcp import MCPError

        connection, label = self._connection, self._server.label
        call = ctx if isinstance(ctx, RunningCall) else None
        try:
            if connection is None:
                raise NotConnected("its toolset is closed")
            result = await connection.call(
                remote.name,
                arguments,
                may_repeat=effect == "reads",
                on_progress=None if call is None or not options.report_progress else _Progress(call).report,
                ask=None if call is None else _Questions(call).ask,
            )
        except NotConnected as error:
            logger.warning("MCP server %s: %r was not called: %s", label, remote.name, error)
            raise ToolError(
                f"`{remote.name}` was not called: the service behind it cannot be reached now. Tell the user, go on"
                " without it, or try again in a minute."
            ) from error
        except InDoubt as error:
            logger.warning("MCP server %s: lost during a call of %r: %s", label, remote.name, error)
            raise ToolError(_lost_text(remote.name, effect)) from error
        except MCPError as error:
            raise ToolError(f"`{remote.name}` failed: {error}") from error
        return _told(remote.name, result)


class _Progress:
    """Passes a call's progress on, no more often than anybody wants to hear of it."""

    def __init__(self, call: RunningCall) -> None:
        self._call = call
        self._told: str | None = None
        self._next = 0.0

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """A notification of the server."""
        now = asyncio.get_running_loop().time()
        text = message or (f"{progress:g} of {total:g} done" if total else f"{progress:g} done")
        if now >= self._next and text != self._told:
            self._next, self._told = now + PROGRESS_INTERVAL, text
            await self._call.update(text)


class _Questions:
    """Puts a server's questions to the caller."""

    def __init__(self, call: RunningCall) -> None:
        self._call = call

    async def ask(self, params: ElicitRequestParams) -> ElicitResult:
        """One question. Pages to visit cannot be shown in a call: such a question is declined."""
        from mcp_types import ElicitRequestFormParams, ElicitResult

        if not isinstance(params, ElicitRequestFormParams):
            logger.warning("an MCP server wants the caller to visit a page, which a call cannot show: declined")
            return ElicitResult(action="decline")
        schema = params.requested_schema
        answer = await self._call.elicit(params.message, schema if isinstance(schema, dict) else dict(schema))
        return ElicitResult(action=answer.action, content=answer.content)


def _lost_text(name: str, effect: Effect) -> str:
    if effect == "reads":
        return f"`{name}` gave no result: the connection to the service behind it broke, twice. Try again in a minute."
    return (
        f"The connection broke while `{name}` ran: it is unknown whether it happened; do not repeat it. Find out first,"
        " with another tool or by asking the user."
    )


def _told(name: str, result: CallToolResult) -> Any:
    """What the model is told of a result: text, pictures beside it, or structured data. Raises `ToolError`."""
    blocks = [_block(block) for block in result.content]
    texts = [block for block in blocks if isinstance(block, str)]
    if result.is_error:
        raise ToolError("\n".join(texts) or f"`{name}` failed, and the service did not say why.")
    text = "\n".join(texts)
    structured = result.structured_content
    if structured not in _NO_DATA and not _says_the_same(text, structured):
        data = json.dumps(structured, ensure_ascii=False)
        text = f"{text}\n{data}" if text else data
    images = [block for block in blocks if isinstance(block, ImageContent)]
    if images:
        return [text, *images] if text else (images[0] if len(images) == 1 else images)
    return text or f"`{name}` is done. It gave no result."


def _block(block: Any) -> str | ImageContent:
    match block.type:
        case "text":
            return str(block.text)
        case "image":
            try:
                return ImageContent(image=base64.b64decode(block.data), mime_type=block.mime_type)
            except binascii.Error:
                return "[a picture that could not be read]"
        case "resource" if (text := getattr(block.resource, "text", None)) is not None:
            return str(text)
        case "resource":
            return f"[a file: {block.resource.uri}]"
        case "resource_link":
            return f"[{block.name}: {block.uri}]"
        case _:
            return f"[{block.type}: cannot be shown]"


def _says_the_same(text: str, structured: Any) -> bool:
    """Whether `text` holds the structured data already: as JSON, or as the one value that it wraps."""
    values = [structured]
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        values.append(structured["result"])
    if text in [value for value in values if isinstance(value, str)]:
        return True
    try:
        return json.loads(text) in values
    except ValueError:
        return False


def _filter(allowed: AllowedTools) -> Callable[[str], bool]:
    if allowed is None:
        return lambda name: True
    if callable(allowed):
        return allowed
    if isinstance(allowed, str):
        raise UsageError(f"allowed_tools={allowed!r}: expected a list of names or a function, got a text. Use [...].")
    names = frozenset(allowed)
    return lambda name: name in names


def _usable_name(name: str, taken: Iterable[str]) -> str:
    """What a model may call the tool: models accept fewer characters than MCP does."""
    usable = base = _UNUSABLE.sub("_", name)[:_MAX_NAME]
    number = 1
    while usable in taken:
        number += 1
        usable = f"{base[: _MAX_NAME - 4]}_{number}"
    return usable


def _path(url: str) -> str:
    return url.partition("?")[0].rstrip("/")


def _require_sdk() -> None:
    try:
        import mcp  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise UsageError("MCPToolset: the MCP SDK is not installed. Install it: pip install 'antiphon[mcp]'") from error
