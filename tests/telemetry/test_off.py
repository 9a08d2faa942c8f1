"""Unless somebody asks for it, there is none of it: nothing is imported, observed, executed or sent."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from antiphon import Agent, AgentSession, function_tool
from antiphon.telemetry import Telemetry
from antiphon.testing import FakeLLM, Reply, run_virtual

ROOT = Path(__file__).parents[2]

CALL = """
import sys
from antiphon import Agent, AgentSession, function_tool
from antiphon.testing import FakeLLM, Reply, run_virtual

@function_tool(effect="writes")
async def book() -> str:
    '''Book.'''
    return "booked"

async def main():
    async with AgentSession(llm=FakeLLM([Reply(calls=[("book", {})]), "It is booked."])) as session:
        await session.start(Agent(tools=[book]))
        await session.run(user_input="Book")
        print([type(one).__name__ for one in session._driver._observers])

run_virtual(main())
print(sorted(name for name in sys.modules if name.startswith(("opentelemetry", "antiphon.telemetry"))))
"""


def test_nothing_of_opentelemetry_is_imported_and_no_observer_is_added() -> None:
    # The environment of an application that uses OpenTelemetry for itself is no wish of anybody's for this.
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "otlp"}
    ran = subprocess.run(
        [sys.executable, "-c", CALL], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.stdout.splitlines() == ["[]", "[]"], ran.stderr


def test_no_part_of_the_framework_but_telemetry_names_opentelemetry() -> None:
    naming = [
        str(path.relative_to(ROOT / "src"))
        for path in sorted((ROOT / "src").rglob("*.py"))
        if re.search(r"^\s*(from|import) opentelemetry", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert {name.rpartition("/")[0] for name in naming} == {"antiphon/telemetry"}


@contextmanager
def counted() -> Iterator[list[int]]:
    """How many bytecodes of the framework are executed in the block."""
    count = [0]

    def opcode(frame: FrameType, event: str, _: Any) -> Any:
        count[0] += event == "opcode"
        return opcode

    def entered(frame: FrameType, event: str, _: Any) -> Any:
        if "/antiphon/" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return opcode

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield count
    finally:
        sys.settrace(before)


@function_tool(effect="reads")
async def look(day: str) -> str:
    """Look."""
    await asyncio.sleep(1.0)
    return f"nothing on {day}"


async def turns(session: AgentSession[Any], count: int) -> None:
    for _ in range(count):
        await session.run(user_input="Friday?")


def bytecodes(telemetry: Telemetry | None = None) -> int:
    """Those of three turns with a tool, in a session that is beside one that is watched, if there is a `telemetry`."""

    async def main() -> int:
        def model() -> FakeLLM:
            return FakeLLM([Reply(calls=[("look", {"day": "Friday"})]), "Nothing."] * 6)

        async with AgentSession[Any](llm=model()) as session, AgentSession[Any](llm=model()) as other:
            await session.start(Agent(tools=[look]))
            if telemetry is not None:
                telemetry.watch(other)
            await other.start(Agent(tools=[look]))
            await turns(other, 1)
            await turns(session, 3)
            await asyncio.sleep(60.0)  # what the other one does is its own
            with counted() as count:
                await turns(session, 3)
            return count[0]

    return run_virtual(main())


@pytest.mark.skipif(sys.gettrace() is not None, reason="whoever traces the tests cannot be traced beside")
def test_a_session_that_nobody_watches_executes_not_one_bytecode_more() -> None:
    bytecodes()
    plain = bytecodes()
    assert plain > 10_000
    assert bytecodes(Telemetry()) == plain == bytecodes()
