"""MCP servers that mean no good, as real programs: no call stands still, nothing grows, and what went wrong is told.

Time is real here, since another process takes part. How long the event loop stood still is measured without the time
for which the system let other programs run: what is left was computed, or waited for, by the loop itself.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentSession, ToolError
from antiphon.errors import ProviderConnectionError
from antiphon.language import ENGLISH
from antiphon.protocols import Elicited
from antiphon.testing import FakeLLM, Reply, transcript
from antiphon.tools.function import AnyFunctionTool, CallContext
from antiphon.tools.toolset import ToolContext

pytest.importorskip("mcp")

from antiphon.tools.mcp import MAX_TOOLS, MCPServerStdio, MCPToolOptions, MCPToolset
from antiphon.visible import one_line

HOSTILE = Path(__file__).with_name("hostile.py")
LIMIT = 40.0
BEAT = 0.005
STILL = 0.4
"""Seconds that the event loop may stand still."""
CLOSED = 5.0
"""Seconds in which a toolset closes on a busy machine. A server that is waited for takes longer."""


def run(test: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await test
            while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110  # the SDK's own end sets no event
                await asyncio.sleep(0.01)

    asyncio.run(limited())


class Asked(CallContext):
    """A call under way whose caller answers at once."""

    language = ENGLISH

    idempotency_key = "0" * 32

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.updates: list[str] = []

    async def update(self, message: Any, *, silent: bool = False) -> None:
        self.updates.append(message)

    async def elicit(self, message: str, schema: Any) -> Elicited:
        self.questions.append(message)
        return Elicited("accept", {"a": "b"})


def kept_waiting() -> float:
    """Seconds for which this thread could have run and the system let others run; 0 where the system does not say."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


@asynccontextmanager
async def hostile(mode: str, *, still: float = STILL, **options: Any) -> AsyncIterator[MCPToolset]:
    """The toolset of such a server, set up. The loop is watched from the beginning to the end."""
    server_options = {name: options.pop(name) for name in ("timeout", "trusted") if name in options}
    server = MCPServerStdio(sys.executable, [str(HOSTILE), mode], **server_options)
    toolset = MCPToolset(id="stranger", mcp_server=server, **options)
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            before, kept = time.monotonic(), kept_waiting()
            await asyncio.sleep(BEAT)
            longest = max(longest, time.monotonic() - before - (kept_waiting() - kept) - BEAT)

    await asyncio.to_thread(__import__, "mcp")  # the first import is long, and no attack
    beating = asyncio.create_task(beat())
    try:
        await toolset.setup()
        yield toolset
        before = time.monotonic()
        await toolset.aclose()
        assert time.monotonic() - before < CLOSED
    finally:
        beating.cancel()
        await toolset.aclose()
    assert longest < still, f"the loop stood still for {longest:.2f} s"


def tools(toolset: MCPToolset) -> dict[str, AnyFunctionTool]:
    return ToolContext([toolset]).function_tools


async def go(toolset: MCPToolset, ctx: CallContext | None = None) -> Any:
    tool = tools(toolset)["go"]
    return await tool.call(tool.prepare("{}").kwargs, ctx)


def resident() -> float:
    """Megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.parametrize("mode", ["hang_initialize", "hang_list", "pour_start", "pour_lines"])
def test_a_server_that_never_gets_ready_fails_in_time_and_is_gone(mode: str) -> None:
    async def test() -> None:
        before = resident()
        with pytest.raises(ProviderConnectionError, match=r"stranger.*(no answer within 1\.5 s|Connection closed)"):
            async with hostile(mode, timeout=1.5):
                pass
        assert resident() - before < 60

    run(test())


def test_closing_does_not_wait_for_a_setup_that_hangs() -> None:
    async def test() -> None:
        toolset = MCPToolset(id="s", mcp_server=MCPServerStdio(sys.executable, [str(HOSTILE), "hang_initialize"]))
        setup = asyncio.ensure_future(toolset.setup())
        await asyncio.sleep(1.0)
        before = time.monotonic()
        await toolset.aclose()
        assert time.monotonic() - before < CLOSED
        with pytest.raises(ProviderConnectionError):
            await setup

    run(test())


@pytest.mark.parametrize("mode", ["many_tools", "same_names", "endless_pages"])
def test_a_list_of_tools_without_end_is_cut(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with hostile(mode, still=1.0) as toolset:  # the SDK takes 10,000 tools apart at once
            names = list(tools(toolset))
            assert 0 < len(names) <= MAX_TOOLS
            assert len(set(names)) == len(names) and max(map(len, names)) <= 64
            if len(names) == MAX_TOOLS:
                assert "offers 10000 tools: 2000 are taken" in str(toolset.left_out[0])
            else:
                assert mode == "endless_pages"

    run(test())


def test_names_become_such_that_models_can_call_them_and_stay_the_tools_own() -> None:
    async def test() -> None:
        async with hostile("names") as toolset:
            names = list(tools(toolset))
            assert len(names) == 10  # one name comes twice, and is one tool
            assert all(
                (name and len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum())
                or set(name) <= {"_", *"0123456789"}
                for name in names
            )
            await toolset.setup(reload=True)
            await asyncio.sleep(1.5)
            assert list(tools(toolset)) == names

    run(test())


def test_a_list_that_changes_all_the_time_is_read_at_its_own_pace() -> None:
    async def test() -> None:
        async with hostile("list_changed") as toolset:
            for _ in range(3):
                assert await go(toolset) == "went"
        async with hostile("changing") as toolset:
            for _ in range(20):
                assert await go(toolset) == "went"
            assert len(tools(toolset)) == 51

    run(test())


def test_a_tool_that_wrote_once_writes_ever_after() -> None:
    async def test() -> None:
        async with hostile("hints", trusted=True) as toolset:
            assert tools(toolset)["go"].options.effect == "writes"
            await toolset.setup(reload=True)
            await asyncio.sleep(1.5)
            assert tools(toolset)["go"].options.effect == "writes"

    run(test())


@pytest.mark.parametrize("mode", ["big_result", "endless_result"])
def test_a_result_that_is_too_long_is_an_error_and_not_kept(mode: str) -> None:
    async def test() -> None:
        async with hostile(mode) as toolset:
            before = resident()
            with pytest.raises(ToolError, match=r"`go` failed: the answer is longer than 4,000,000 bytes"):
                await go(toolset)
            gc.collect()
            assert resident() - before < 60

    run(test())


def test_a_result_of_many_parts_does_not_hold_up_other_calls() -> None:
    async def test() -> None:
        async with hostile("big_nested") as toolset:
            with pytest.raises(ToolError, match="the answer has more than 150,000 parts"):
                await go(toolset)

    run(test())


def test_a_flood_of_progress_is_one_update_in_five_seconds() -> None:
    async def test() -> None:
        ctx = Asked()
        async with hostile("progress", tool_options={"go": MCPToolOptions(report_progress=True)}) as toolset:
            began = time.monotonic()
            assert await go(toolset, ctx) == "went"
            assert 1 <= len(ctx.updates) <= 1 + (time.monotonic() - began) / 5

    run(test())


@pytest.mark.parametrize("mode", ["log_flood", "garbage", "early", "stderr"])
def test_what_a_server_pours_out_beside_its_answers_is_dropped(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def test() -> None:
        before = resident()
        async with hostile(mode) as toolset:
            assert await go(toolset) == "went"
            assert await go(toolset) == "went"
        assert resident() - before < 60

    run(test())
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) < 200
    assert all(len(line) < 3_000 and line == one_line(line, None) for line in lines if "MCP" in line)
    if mode == "stderr":
        assert any(r"\x1b[31mline 0\x07" in line for line in lines)
        assert any("more lines on its stderr" in line for line in lines)


def test_a_flood_of_questions_is_five_questions() -> None:
    async def test() -> None:
        ctx = Asked()
        async with hostile("questions", elicitation=True) as toolset:
            assert await go(toolset, ctx) == "went"
        assert len(ctx.questions) <= 5
        assert all(question.startswith("stranger asks: Why ") for question in ctx.questions)
        ctx = Asked()
        async with hostile("questions") as toolset:
            assert await go(toolset, ctx) == "went"
        assert ctx.questions == []

    run(test())


def test_a_server_that_exits_in_a_call_leaves_it_in_doubt() -> None:
    async def test() -> None:
        async with hostile("exit") as toolset:
            with pytest.raises(ToolError, match="unknown whether it happened"):
                await go(toolset)

    run(test())


@pytest.mark.parametrize("mode", ["result_schema", "surrogate", "nested", "long_words"])
def test_what_a_server_says_of_its_results_and_tools_freezes_nothing(mode: str) -> None:
    async def test() -> None:
        async with hostile(mode) as toolset:
            tool = tools(toolset)["go"]
            assert len(tool.spec.description) < 4_100
            options = asyncio.timeout(10.0)
            try:
                async with options:
                    await go(toolset)
            except (ToolError, TimeoutError):
                assert mode == "nested"

    run(test())


def test_a_server_that_does_not_read_is_given_up() -> None:
    async def test() -> None:
        async with hostile("deaf") as toolset:
            assert await go(toolset) == "went"
            tool = tools(toolset)["go"]
            with pytest.raises(ToolError, match="unknown whether it happened"):
                await tool.call({"raw_arguments": {"x": "y" * 1_000_000}})

    run(test())


def test_a_server_that_will_not_end_is_killed() -> None:
    async def test() -> None:
        async with hostile("stays") as toolset:
            assert await go(toolset) == "went"

    run(test())


def test_the_caller_hears_the_agent_while_its_server_hangs() -> None:
    errors: list[Any] = []
    llm = FakeLLM(["Hello."])

    async def test() -> None:
        server = MCPServerStdio(sys.executable, [str(HOSTILE), "hang_initialize"], timeout=20)
        session: AgentSession[Any] = AgentSession(llm=llm)
        session.on("error", errors.append)
        began = time.monotonic()
        async with session:
            await session.start(Agent(tools=[MCPToolset(id="stranger", mcp_server=server)]))
            await session.run(user_input="Hi")
            assert time.monotonic() - began < 12.0
            closing = time.monotonic()
        assert time.monotonic() - closing < CLOSED
        assert transcript(session.history)[-1] == "assistant: Hello."

    run(test())
    assert "toolset 'stranger' is not ready after 5 s" in str(errors[0].error)


def test_a_call_in_a_session_goes_on_after_a_result_of_fifty_megabytes() -> None:
    llm = FakeLLM([Reply(calls=[("go", {})]), "It gave too much."])

    async def test() -> None:
        server = MCPServerStdio(sys.executable, [str(HOSTILE), "big_result"])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[MCPToolset(id="stranger", mcp_server=server)]))
            await session.run(user_input="Hi")
            assert transcript(session.history)[-1] == "assistant: It gave too much."

    run(test())
