"""The MCP server that the tests start: `server.py LOG [PORT]`, over stdio, or over HTTP if there is a port.

Each call that reaches a tool's body is written to LOG, so that a test can count them.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, Image, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel

LOG = Path(sys.argv[1])
READS = ToolAnnotations(read_only_hint=True)

server = MCPServer("shop", version="1.0")


def note(line: str) -> None:
    with LOG.open("a") as log:
        log.write(f"{line}\n")


def calls() -> list[str]:
    return LOG.read_text().splitlines()


class Delivery(BaseModel):
    street: str
    floor: int


def ask_delivery(item: str) -> Elicit[Delivery]:
    return Elicit(f"Where shall the {item} go, street and floor?", Delivery)


@server.tool(annotations=READS)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    note(f"add {a} {b}")
    return a + b


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
async def wipe() -> str:
    """Delete everything."""
    return "wiped"


@server.tool()
async def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


@server.tool()
async def nothing() -> None:
    """Do something and say nothing."""


@server.tool()
async def refuse() -> str:
    """Refuse."""
    raise ToolError("We are closed.")


@server.tool()
async def menu() -> CallToolResult:
    """Text for people, data beside it."""
    return CallToolResult(content=[TextContent(text="Two dishes.")], structured_content={"dishes": ["soup", "pie"]})


@server.tool()
async def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG", format="png")


@server.tool()
async def wait(seconds: float) -> str:
    """Take some time.

    Args:
        seconds: How long, at most a minute.
    """
    note("wait")
    await asyncio.sleep(seconds)
    return f"waited {seconds:g}"


@server.tool()
async def never() -> str:
    """Never answer."""
    note("never")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        note("never was cancelled")
        raise
    return ""


@server.tool()
async def flood(ctx: Context, count: int) -> str:
    """Report progress all the time."""
    for step in range(count):
        await ctx.report_progress(step, count, f"step {step}")
    return "flooded"


@server.tool()
async def order(item: str, to: Annotated[Delivery, Resolve(ask_delivery)]) -> str:
    """Order something."""
    note(f"order {item}")
    return f"{item} to {to.street}, floor {to.floor}"


@server.tool()
async def keyed(ctx: Context) -> str:
    """Say what the key of the call is."""
    meta = ctx.request_context.meta or {}
    return f"key {meta.get('antiphon/idempotency-key')}"


@server.tool()
async def grow(ctx: Context) -> str:
    """Learn a new trick."""

    async def trick() -> str:
        """A new trick."""
        return "ta-da"

    server.add_tool(trick)
    await ctx.notify_tools_changed()
    return "grown"


@server.tool()
async def die() -> str:
    """Die while working."""
    note("die")
    os._exit(1)


@server.tool(annotations=READS)
async def die_once() -> str:
    """Die while reading, the first time."""
    note("die_once")
    if calls().count("die_once") == 1:
        os._exit(1)
    return "alive"


if __name__ == "__main__":
    if sys.argv[2:]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
