"""`--otlp`: commands as their users type them, and a collector that hears of their calls."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from antiphon.errors import UsageError
from antiphon.telemetry import read_prices, trace_id_of
from tests.cli.test_start import started
from tests.telemetry.collector import Collector, collector, said

AGENT = '''
from antiphon import Agent, AgentServer, AgentSession, JobContext, function_tool
from antiphon.testing import FakeLLM, Reply

server = AgentServer(drain_timeout=10.0)

@function_tool(effect="reads")
async def look(name: str) -> str:
    """Look."""
    return f"nobody is called {name}"

@server.rtc_session
async def entrypoint(ctx: JobContext):
    llm = FakeLLM({"Zebulon": Reply(calls=[("look", {"name": "Zebulon"})]), "": "There is nobody."}, ttft=0.0)
    await AgentSession().start(agent=Agent(id="desk", instructions="", tools=[look]), room=ctx.room, llm=llm)
'''


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    file = tmp_path / "agent.py"
    file.write_text(AGENT)
    return file


def run(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`antiphon` with these arguments."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    code = "from antiphon.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        cwd=folder,
        env={**plain, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def names(there: Collector) -> list[str]:
    return sorted({span.name for span in there.spans})


def test_a_call_of_a_command_is_told_and_what_was_said_in_it_only_if_asked_for(agent: Path) -> None:
    for content in (False, True):
        more = ["--otlp-content"] if content else []
        with collector() as there:
            ran = run("call", "agent.py", "--say", "Zebulon", "--otlp", there.url, *more, folder=agent.parent)
        assert ran.returncode == 0, ran.stderr
        with_what = "with" if content else "without"
        assert f"Calls are told to the collector at {there.url}, {with_what} what is said in them." in ran.stdout
        assert names(there) == ["call", "chat fake", "execute_tool look", "invoke_agent desk"]
        assert ("Zebulon" in str([there.spans, there.logs])) is content


def test_what_tokens_cost_is_read_from_a_file(agent: Path) -> None:
    prices = agent.parent / "prices.json"
    prices.write_text('{"fakes/fake": {"input": 1000, "output": 2000}}')
    with collector() as there:
        ran = run(
            *("call", "agent.py", "--say", "Hello", "--otlp", there.url, "--otlp-prices", "prices.json"),
            folder=agent.parent,
        )
    assert ran.returncode == 0, ran.stderr
    call = said(next(span for span in there.spans if span.name == "call"))
    tokens = call["gen_ai.usage.input_tokens"], call["gen_ai.usage.output_tokens"]
    assert call["antiphon.usage.cost"] == pytest.approx((tokens[0] * 1000 + tokens[1] * 2000) / 1e6)
    assert "antiphon.cost" in there.metrics


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no JSON", r"it cannot be read"),
        ("[]", r"expected \{.*got list"),
        ('{"m": {"input": 1}}', r"'m': expected numbers for input and output"),
        ('{"m": {"input": 1, "output": -1}}', r"got \{'input': 1, 'output': -1\}"),
        ('{"m": {"input": NaN, "output": 1}}', r"'m': expected numbers"),
        ('{"m": {"input": 1, "output": 1, "reasoning": 2}}', r"'m': expected numbers"),
    ],
)
def test_prices_that_are_none_are_errors_that_name_them(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "prices.json").write_text(text)
    with pytest.raises(UsageError, match=told):
        read_prices(tmp_path / "prices.json")


def test_nothing_is_sent_unless_the_command_line_says_so(agent: Path) -> None:
    with collector() as there:
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": there.url, "OTEL_TRACES_EXPORTER": "otlp"}
        ran = run("call", "agent.py", "--say", "Hello", folder=agent.parent, **environment)
        assert ran.returncode == 0, ran.stderr
        assert there.asked == []
        ran = run("call", "agent.py", "--say", "Hello", "--otlp", folder=agent.parent, **environment)
        assert ran.returncode == 0, ran.stderr
    assert "invoke_agent desk" in names(there)


def test_a_collector_that_is_away_makes_no_call_fail(agent: Path) -> None:
    began = time.monotonic()
    ran = run("call", "agent.py", "--say", "Hello", "--otlp", "http://127.0.0.1:1", folder=agent.parent)
    assert ran.returncode == 0
    assert "There is nobody." in ran.stdout
    assert time.monotonic() - began < 20.0
    assert len([line for line in ran.stderr.splitlines() if "opentelemetry" in line]) <= 6


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--otlp", "agent.py", "--say", "Hello"], "expected the address of a collector, got 'agent.py'"),
        (["agent.py", "--say", "Hello", "--otlp-content"], "Add --otlp"),
    ],
)
def test_what_is_typed_wrong_is_told_in_one_line(agent: Path, arguments: list[str], told: str) -> None:
    ran = run("call", *arguments, folder=agent.parent)
    assert ran.returncode == 2
    assert told in ran.stderr.splitlines()[-1]


@pytest.mark.timeout(160)
def test_a_worker_tells_of_its_calls_and_its_log_leads_to_the_trace(agent: Path) -> None:
    async def check(there: Collector) -> None:
        options = ("--workers", "2", "--otlp", there.url, "--log-format", "json", "--health-port", "0")
        async with started(agent.parent, *options, OTEL_BSP_SCHEDULE_DELAY="100") as one:
            async with one.page() as page:
                await page.wait_for("ready", timeout=60.0)
                await page.asks("Zebulon")
                await page.asks("Hello")
                await page.send("hang_up")
            await asyncio.to_thread(there.wait_for, lambda: "call" in names(there))
            one.process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(one.process.wait(), 30.0) == 0
            lines = [json.loads(line) for line in "".join(one.output).splitlines() if line.startswith("{")]
        line = next(line for line in lines if line["message"].startswith("tool look"))
        assert {span.trace_id.hex() for span in there.spans} == {line["trace_id"]}
        assert int(line["trace_id"], 16) == trace_id_of(line["call"])
        assert "Zebulon" not in "".join(one.output)

    with collector() as there:
        asyncio.run(check(there))
    assert said(next(span for span in there.spans if span.name == "call"))["gen_ai.agent.name"] == "desk"
