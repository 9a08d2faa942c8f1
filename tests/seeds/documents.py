"""The blocks of code in the seed documents: where they are, what their pages leave out, and how they are run.

A block's lines are never changed, but for two things: natively, import lines name this package (through the
compatibility layer they stay as printed), and leading white space is given back where a page has lost it. `BLOCKS` is
the table of what is added around them: a prelude, and a header for blocks that are the inside of a class or of a
function. Stub objects come from the test that runs the block.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Awaitable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any, Literal, TypeAlias, cast

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"

missing = "" if SEEDS.is_dir() else f"the seed documents are missing: there is no folder {SEEDS}"
"""Why the blocks cannot be run here; empty if they can."""

ImportLines: TypeAlias = Literal["native", "printed"]

import_lines: ContextVar[ImportLines] = ContextVar("import_lines", default="native")
"""Whether blocks import this package, or what their pages print."""

blocks_run: set[tuple[str, ImportLines]] = set()
"""Names of the blocks that were run so far, and with which import lines."""

_IMPORTS: dict[ImportLines, list[tuple[re.Pattern[str], str]]] = {
    "native": [
        (re.compile(r"^from livekit\.agents(\.llm(\.tool_context)?)? import"), "from antiphon import"),
        (re.compile(r"^from livekit\.plugins import"), "from antiphon.plugins import"),
    ],
    # What a page leaves out, as it would have printed it.
    "printed": [
        (re.compile(r"^from antiphon import"), "from livekit.agents import"),
        (re.compile(r"^from antiphon\.plugins import"), "from livekit.plugins import"),
        (re.compile(r"^from antiphon\.toolkit import"), "from livekit.agents.llm.async_toolset import"),
    ],
}


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code on a page, and what the page leaves out."""

    document: str
    """The number that the file's name begins with."""
    first: str = ""
    """How its first line begins. Without it the block is the next fenced one of its page."""
    last: str = ""
    """How its last line begins; not needed where `depths` says how many lines there are."""
    above: int = 0
    """Lines of the block above the one that `first` finds."""
    breaks: tuple[str, ...] = ()
    """How its lines begin, on a page that has lost its line breaks."""
    depths: str = ""
    """A digit for each line of a page that has lost its indentation: how deep the line stands. Spaces are ignored."""
    prelude: str = ""
    """Code before it."""
    header: str = ""
    """What it is the inside of."""
    footer: str = ""
    """Code behind it, where a comment stands for the rest."""


_TOOLS = "from antiphon import Agent, RunContext, ToolError, function_tool"

BLOCKS: dict[str, Block] = {
    "book_appointment": Block(
        "000", "from livekit.agents import function_tool, RunContext, ToolError", '  return f"Appointment confirmed'
    ),
    "receptionist": Block("000", "from livekit.agents import (", "  server.run()"),
    "MyAgent": Block("001"),
    "AddressAgent": Block("001"),
    "tool ids": Block("001", prelude=_TOOLS),
    "my_tool": Block("001", prelude=f"{_TOOLS}\nclass SomeAgent(Agent): pass"),
    "ResponseEmotion": Block(
        "001",
        prelude=(
            "from collections.abc import AsyncIterable, Callable\nfrom typing import Annotated, Optional, TypedDict\n"
            "from pydantic import Field\nfrom pydantic_core import from_json"
        ),
    ),
    "llm_node and tts_node": Block(
        "001",
        prelude=(
            "import logging\nfrom collections.abc import AsyncIterable\nfrom typing import cast\n"
            "from antiphon import NOT_GIVEN, Agent, ChatContext, FunctionTool, ModelSettings\n"
            "from antiphon.plugins import openai\nlogger = logging.getLogger('emotional')"
        ),
        header="class Emotional(Agent):",
    ),
    "process_order": Block("001", prelude=_TOOLS, header="class Shop(Agent):"),
    "interruption": Block(
        "001",
        prelude=f"import asyncio\n{_TOOLS}",
        header='async def search(self: Agent, run_ctx: RunContext, query: str):\n    """Search."""',
        footer="  return wait_for_result.result()",
    ),
    "StockAgent": Block("001"),
    "place_order": Block("001", prelude=f"import os\nimport aiohttp\n{_TOOLS}", header="class Orders(Agent):"),
    "lookup_user": Block("001"),
    "update_tools": Block("001"),
    "Assistant": Block("001", prelude="from antiphon import Agent"),
    "get_weather": Block("001"),
    "create_database_tool": Block("001", prelude="from antiphon import Agent, RunContext"),
    "tracked changes": Block("001"),
    "tracked history": Block("001", prelude="from antiphon import AgentConfigUpdate, ChatMessage"),
    "copy": Block("001"),
    "lookup_weather": Block("001", prelude=_TOOLS, header="class Weather(Agent):"),
    "book_flight": Block(
        "002",
        breaks=(
            "@function_tool async def book_flight",
            "async def book_flight(",
            'await ctx.update(f"Looking',
            '# → agent says: "Sure',
            "flights = ",
            'await ctx.update(f"Found',
            '# → agent says: "I found',
            "booking = ",
            "return {",
            '# → agent says: "All set!',
            "async_tools = ",
        ),
        last="tools=[book_flight])",
        depths="00 11 111 111 0",
        prelude="from antiphon import function_tool\nfrom antiphon.toolkit import AsyncRunContext, AsyncToolset",
    ),
    "check_availability": Block("003", "# Avoid: vague description", depths="00011 000 1111 22 1 2 11", prelude=_TOOLS),
    "max_tool_steps": Block(
        "003", "session = AgentSession(", depths="011110", prelude="from antiphon import AgentSession"
    ),
    "parallel_tool_calls": Block("003", "from livekit.agents import inference", depths="00110"),
    "lookup_reservation": Block(
        "003",
        "from livekit.agents.llm import ToolError",
        depths="000 111 2332 1",
        prelude="from antiphon import function_tool",
    ),
    "confirm_reservation": Block(
        "003", "async def confirm_reservation(", above=1, depths="00 11111 0 11 2222 3 11 2 11", prelude=_TOOLS
    ),
    "find_alternative_times": Block(
        "003", "async def find_alternative_times(", above=1, depths="00 1111 0 1111", prelude=_TOOLS
    ),
    "lookup_reservation_status": Block(
        "003", "import asyncio", depths="0000 11 23 1 232", prelude="from antiphon import function_tool"
    ),
    "verify_user": Block("003", "async def verify_user(", above=1, depths="00 111 2 1 2 11 2 11", prelude=_TOOLS),
    "ReservationAgent": Block(
        "003",
        "from typing import Literal",
        above=1,
        depths=(
            "0000 0123 444 32"
            "11 2222 1 22222 333 2 3 22 3 4 2 3 4 3 2 3 2"
            "11 2222 1 222 34 2343 2"
            "11 222222 1 22 3333 4 22 3443 222 33 2"
            "0 1111 0"
        ),
    ),
}


@cache
def page(number: str) -> str:
    """A seed document."""
    (path,) = SEEDS.glob(f"{number}_*.txt")
    return path.read_text(encoding="utf-8")


@cache
def _fenced() -> dict[str, list[str]]:
    """By name, the blocks of the one document that fences them."""
    names = [name for name, block in BLOCKS.items() if block.document == "001"]
    found = [text.splitlines() for text in re.findall(r"^```python\n(.*?)^```", page("001"), re.MULTILINE | re.DOTALL)]
    return dict(zip(names, found, strict=True))


def lines_of(name: str) -> list[str]:
    """A block as its page has it."""
    block = BLOCKS[name]
    if block.document == "001":
        return _fenced()[name]
    if block.breaks:
        return _broken(page(block.document), block)
    lines = page(block.document).splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith(block.first)) - block.above
    if block.depths:
        return lines[begin : begin + len(_depths(block))]
    length = next(n for n, line in enumerate(lines[begin:], 1) if line.startswith(block.last))
    return lines[begin : begin + length]


def _broken(text: str, block: Block) -> list[str]:
    """The lines of a block that its page prints as one."""
    starts = [text.index(block.breaks[0])]
    for beginning in block.breaks[1:]:
        starts.append(text.index(beginning, starts[-1] + 1))
    ends = [*starts[1:], text.index(block.last, starts[-1]) + len(block.last)]
    return [text[start:end].rstrip() for start, end in zip(starts, ends, strict=True)]


def _depths(block: Block) -> list[int]:
    return [int(digit) for digit in block.depths if digit != " "]


def source_of(name: str) -> str:
    """A block as it is run: its own lines, behind what its page leaves out."""
    block = BLOCKS[name]
    lines = lines_of(name)
    if block.depths:
        lines = [f"{'    ' * depth}{line}" for depth, line in zip(_depths(block), lines, strict=True)]
    prelude = block.prelude.splitlines()
    for pattern, replacement in _IMPORTS[import_lines.get()]:
        lines = [pattern.sub(replacement, line) for line in lines]
        prelude = [pattern.sub(replacement, line) for line in prelude]
    body = "\n".join([*lines, block.footer])
    if block.header:
        body = f"{block.header}\n{textwrap.indent(body, '    ')}"
    return "\n".join([*prelude, body, ""])


class Names(SimpleNamespace):
    """What a block has defined, as attributes, and the values of its bare expressions."""

    values: list[Any]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the block defines no {name!r}; it has {', '.join(vars(self))}")


async def run(block: str, **stubs: Any) -> Names:
    """Run a block, with `stubs` among its globals. Returns what it defined."""
    names: dict[str, Any] = {"__name__": block.replace(" ", "_"), **stubs}
    values: list[Any] = []
    for statement in ast.parse(source_of(block)).body:
        if isinstance(statement, ast.Expr):
            values.append(await _result(_compile(ast.Expression(statement.value), block, "eval"), names))
        else:
            await _result(_compile(ast.Module([statement], []), block, "exec"), names)
    blocks_run.add((block, import_lines.get()))
    defined = {name: value for name, value in names.items() if not name.startswith("__") and name not in stubs}
    return Names(**defined, values=values)


def _compile(tree: ast.Module | ast.Expression, block: str, mode: str) -> CodeType:
    return cast("CodeType", compile(tree, f"<{block}>", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True))


async def _result(code: CodeType, names: dict[str, Any]) -> Any:
    value = eval(code, names)
    return await cast("Awaitable[Any]", value) if code.co_flags & inspect.CO_COROUTINE else value
