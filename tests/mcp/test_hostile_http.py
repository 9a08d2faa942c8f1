"""MCP servers over HTTP that forget sessions, answer without end, or do not let go: in bytes, over real sockets."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from antiphon import ToolError
from antiphon.tools.function import AnyFunctionTool
from antiphon.tools.toolset import ToolContext

pytest.importorskip("mcp")

from antiphon.tools.mcp import MCPServerHTTP, MCPToolset
from antiphon.tools.mcp_connection import SDK_LOGGERS

LIMIT = 20.0
TOOL = {"name": "go", "description": "Go.", "inputSchema": {"type": "object", "properties": {}}}
DONE = {"content": [{"type": "text", "text": "went"}]}


def run(test: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await test

    asyncio.run(limited())


class Double:
    """A server with sessions. `on_call` answers a call: a status, a content type, and the pieces of a body."""

    def __init__(self, on_call: Callable[[Double, Any], tuple[int, str, AsyncIterator[bytes]]] | None = None) -> None:
        self.sessions: list[str] = []
        self.calls = 0
        self.done = 0
        self.hangs_on_delete = False
        self._on_call = on_call

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                verb = head.partition(" ")[0]
                lines = [line.partition(":") for line in head.split("\r\n")[1:] if line]
                headers = {name.strip().lower(): value.strip() for name, _, value in lines}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if verb == "DELETE" and self.hangs_on_delete:
                    await asyncio.sleep(3600)
                status, kind, pieces = self._answer(verb, headers, json.loads(body) if body else {})
                session = f"mcp-session-id: {self.sessions[-1]}\r\n" if self.sessions else ""
                head = f"HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\n{session}transfer-encoding: chunked\r\n\r\n"
                writer.write(head.encode())
                async for piece in pieces:
                    writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                    await writer.drain()
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass  # the client, or the test, is done
        finally:
            writer.close()

    def _answer(self, verb: str, headers: dict[str, str], request: Any) -> tuple[int, str, AsyncIterator[bytes]]:
        kind = "application/json"
        if verb != "POST":
            return 405, "text/plain", pieces(b"")
        if "id" not in request:
            return 202, kind, pieces(b"")
        match request["method"]:
            case "initialize":
                self.sessions.append(f"s{len(self.sessions)}")
                version = request["params"]["protocolVersion"]
                info = {"name": "x", "version": "1"}
                return 200, kind, result(request, protocolVersion=version, capabilities={"tools": {}}, serverInfo=info)
            case "server/discover":
                return 404, "text/plain", pieces(b"no")
            case _ if not self.sessions or headers.get("mcp-session-id") != self.sessions[-1]:
                return 404, "text/plain", pieces(b"I do not know you")
            case "tools/list":
                return 200, kind, result(request, tools=[TOOL])
        self.calls += 1
        if self._on_call is not None:
            return self._on_call(self, request)
        self.done += 1
        return 200, kind, result(request, **DONE)


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        if part:
            yield part


def result(request: Any, **fields: Any) -> AsyncIterator[bytes]:
    return pieces(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": fields}).encode())


def tools(toolset: MCPToolset) -> dict[str, AnyFunctionTool]:
    return ToolContext([toolset]).function_tools


async def go(toolset: MCPToolset) -> Any:
    tool = tools(toolset)["go"]
    return await tool.call(tool.prepare("{}").kwargs)


def test_a_session_that_the_server_has_forgotten_is_opened_anew_and_the_call_is_made_once() -> None:
    async def test() -> None:
        double = Double()
        async with double.listening() as url:
            toolset = await MCPToolset(id="s", mcp_server=MCPServerHTTP(url)).setup()
            assert await go(toolset) == "went"
            double.sessions.append("restarted")  # as after a restart: nobody's session is known
            assert await asyncio.gather(*(go(toolset) for _ in range(5))) == ["went"] * 5
            assert double.done == 6
            assert len(double.sessions) == 3
            await toolset.aclose()

    run(test())


def test_a_server_that_forgets_each_session_is_not_asked_for_ever() -> None:
    def forgets(double: Double, request: Any) -> tuple[int, str, AsyncIterator[bytes]]:
        return 404, "application/json", pieces(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"gone"}}')

    async def test() -> None:
        double = Double(forgets)
        async with double.listening() as url:
            toolset = await MCPToolset(id="s", mcp_server=MCPServerHTTP(url)).setup()
            with pytest.raises(ToolError, match="`go` was not called"):
                await go(toolset)
            assert double.calls == 2
            await toolset.aclose()

    run(test())


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_an_answer_without_end_is_an_error_soon(kind: str) -> None:
    async def without_end() -> AsyncIterator[bytes]:
        yield b'data: {"jsonrpc":"2.0","id":' if kind == "text/event-stream" else b'{"jsonrpc":"2.0","id":'
        while True:
            yield b"1" * 65_536

    async def test() -> None:
        double = Double(lambda _, request: (200, kind, without_end()))
        async with double.listening() as url:
            toolset = await MCPToolset(id="s", mcp_server=MCPServerHTTP(url)).setup()
            began = time.monotonic()
            with pytest.raises(ToolError, match=r"longer than 4,000,000 bytes|unknown whether it happened"):
                await go(toolset)
            assert time.monotonic() - began < 10.0
            await toolset.aclose()

    run(test())


def test_closing_does_not_wait_for_a_server_that_does_not_let_go() -> None:
    async def test() -> None:
        double = Double()
        double.hangs_on_delete = True
        async with double.listening() as url:
            toolset = await MCPToolset(id="s", mcp_server=MCPServerHTTP(url)).setup()
            began = time.monotonic()
            await toolset.aclose()
            assert time.monotonic() - began < 5.0  # the server waits an hour

    run(test())


def test_what_the_sdk_logs_of_a_server_is_sparing_and_visible(caplog: pytest.LogCaptureFixture) -> None:
    async def nonsense(request: Any) -> AsyncIterator[bytes]:
        for number in range(500):
            yield b"event: \x1b[2J\x07" + str(number).encode() + b"\ndata: {\n\n"
        yield b"data: " + json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": DONE}).encode() + b"\n\n"

    async def test() -> None:
        double = Double(lambda _, request: (200, "text/event-stream", nonsense(request)))
        async with double.listening() as url:
            toolset = await MCPToolset(id="s", mcp_server=MCPServerHTTP(url)).setup()
            assert await go(toolset) == "went"
            await toolset.aclose()

    run(test())
    told = [record for record in caplog.records if record.name.startswith("mcp")]
    assert 0 < len(told) <= 20
    assert all(record.getMessage().isprintable() for record in told)


def test_every_logger_of_the_sdk_that_hears_servers_is_guarded() -> None:
    import mcp

    root = Path(mcp.__file__).parent
    paths = [*(root / "client").glob("*.py"), *(root / "shared").glob("*.py")]
    names = {
        "client" if name else ".".join(("mcp", path.parent.name, path.stem))
        for path in paths
        for name in re.findall(r'getLogger\((?:__name__|("client"))\)', path.read_text())
    }
    assert names == set(SDK_LOGGERS)
