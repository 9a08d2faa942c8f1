"""Calls sent to a real receiver by OTLP over HTTP, and to those that are slow, broken or not there."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from antiphon import Agent, AgentSession, function_tool
from antiphon.errors import UsageError
from antiphon.telemetry import Telemetry, trace_id_of
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from tests.telemetry.collector import Collector, collector, said

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    yield
    for handler in list(logging.getLogger("opentelemetry").handlers):
        logging.getLogger("opentelemetry").removeHandler(handler)


@function_tool(effect="writes")
async def book(day: str) -> str:
    """Book."""
    logging.getLogger("antiphon.tools").info("a line of the tool's")
    return f"booked for {day}"


async def one_call(telemetry: Telemetry, **options: Any) -> AgentSession[Any]:
    llm = FakeLLM([Reply(calls=[("book", {"day": "Friday"})]), "It is booked."])
    async with AgentSession[Any](llm=llm, **options) as session:
        telemetry.watch(session)
        await session.start(Agent(tools=[book], id="host"))
        await session.run(user_input="A table on Friday")
    return session


def test_a_collector_gets_the_trace_the_metrics_and_the_log_of_a_call() -> None:
    logger = logging.getLogger("antiphon")
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        with collector() as there:
            telemetry = Telemetry.otlp(there.url)
            session = run_virtual(one_call(telemetry))
            telemetry.close()
    finally:
        logger.setLevel(before)
    spans = {span.name: span for span in there.spans}
    assert sorted(spans) == ["call", "chat fake", "execute_tool book", "invoke_agent host"]
    trace = trace_id_of(session.call_id)
    assert {int.from_bytes(span.trace_id, "big") for span in there.spans} == {trace}
    assert spans["invoke_agent host"].parent_span_id == spans["call"].span_id
    assert spans["execute_tool book"].parent_span_id == spans["invoke_agent host"].span_id
    assert said(spans["execute_tool book"])["gen_ai.tool.name"] == "book"
    assert {"gen_ai.client.token.usage", "gen_ai.client.operation.duration", "antiphon.turn.count"} <= set(
        there.metrics
    )
    lines = [line for line in there.logs if line.body.string_value == "a line of the tool's"]
    assert [int.from_bytes(line.trace_id, "big") for line in lines] == [trace]
    assert lines[0].span_id == spans["execute_tool book"].span_id
    assert said(lines[0])["gen_ai.conversation.id"] == session.call_id
    assert all("Friday" not in str(one) for one in (*there.spans, *there.logs))
    assert {one["service.name"] for one in there.resources} == {"antiphon"}
    assert len({one["service.instance.id"] for one in there.resources}) == 1


def test_the_environment_names_the_collector_the_service_and_the_choice_of_content(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with collector() as there:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", there.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "restaurant")
        monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
        telemetry = Telemetry.otlp()
        run_virtual(one_call(telemetry))
        telemetry.close()
    assert {one["service.name"] for one in there.resources} == {"restaurant"}
    assert {one["x-key"] for one in there.headers} == {"abc"}
    assert "/v1/metrics" not in there.asked
    assert any("Friday" in str(span) for span in there.spans)


def test_another_protocol_and_what_is_no_address_are_errors_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"expected the address of a collector, got 'agent.py'.*behind the agent file"):
        Telemetry.otlp("agent.py")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(UsageError, match="expected http/protobuf, got 'grpc'"):
        Telemetry.otlp()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("nonsense", r"expected the address of a collector, got 'nonsense'"),
        ("http://", r"got 'http://'.*for example http://127\.0\.0\.1:4318"),
        ("http://127.0.0.1:99999", r"got 'http://127\.0\.0\.1:99999'"),
        ("http://[::1", r"got 'http://\[::1'"),
        ("http://127.0.0.1:4318/v1/traces", r"Leave /v1/traces out"),
        ("http://127.0.0.1:4318/v1/logs/", r"Leave /v1/logs out"),
        ("key:abc@collector", r"got 'collector'"),
    ],
)
def test_an_address_that_is_none_is_an_error_before_any_call_wherever_it_was_given(
    monkeypatch: pytest.MonkeyPatch, address: str, told: str
) -> None:
    with pytest.raises(UsageError, match=f"OTLP: .*{told}") as given:
        Telemetry.otlp(address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    with pytest.raises(UsageError, match=f"OTEL_EXPORTER_OTLP_ENDPOINT: .*{told}") as set_outside:
        Telemetry.otlp()
    assert not any("abc" in str(error.value) for error in (given, set_outside))


def test_what_the_environment_says_of_one_signal_is_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "nonsense")
    with pytest.raises(UsageError, match=r"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: .*got 'nonsense'"):
        Telemetry.otlp()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://127.0.0.1:4318/v1/metrics")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "grpc")
    with pytest.raises(UsageError, match="OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: expected http/protobuf, got 'grpc'"):
        Telemetry.otlp()
    monkeypatch.setenv("OTEL_LOGS_EXPORTER", "none")  # then nobody is asked by that protocol
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "")  # as good as not set
    Telemetry.otlp().close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "abc"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "-5"),
        ("OTEL_PYTHON_EXPORTER_OTLP_HTTP_LOGS_CREDENTIAL_PROVIDER", "nobody"),
    ],
)
def test_what_the_sdk_refuses_of_the_environment_is_an_error_that_says_so_and_leaves_no_thread(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    before = set(threading.enumerate())
    with pytest.raises(UsageError, match=r"OpenTelemetry's SDK refuses .* OTEL_\* variable"):
        Telemetry.otlp("http://127.0.0.1:1")
    assert set(threading.enumerate()) == before
    assert [one for one in logging.getLogger("antiphon").handlers if type(one).__name__ == "CallLog"] == []


# -- collectors that do not work


def _closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def _ten_calls(telemetry: Telemetry) -> float:
    began = time.perf_counter()
    for session in [await one_call(telemetry) for _ in range(10)]:
        assert transcript(session.history)[-1] == "assistant: It is booked."
    return time.perf_counter() - began


@pytest.mark.parametrize("kind", ["away", "slow", "broken"])
def test_a_collector_that_does_not_work_keeps_no_call_waiting_and_no_process_from_ending(kind: str) -> None:
    with collector(status=503 if kind == "broken" else 200, delay=60.0 if kind == "slow" else 0.0) as there:
        address = f"http://127.0.0.1:{_closed_port()}" if kind == "away" else there.url
        telemetry = Telemetry.otlp(address)
        # By the clock on the wall: a call whose spans were sent where it runs would wait for the collector.
        assert asyncio.run(_ten_calls(telemetry)) < 5.0
        began = time.perf_counter()
        telemetry.close(timeout=1.0)
        assert time.perf_counter() - began < 3.0


def test_a_collector_that_is_away_is_told_in_few_lines_where_there_is_no_other_log(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "abc")
    telemetry = Telemetry.otlp(f"http://127.0.0.1:{_closed_port()}")
    asyncio.run(_ten_calls(telemetry))
    telemetry.close(timeout=4.0)
    told = [line for line in capfd.readouterr().err.splitlines() if "opentelemetry" in line]
    assert 1 < len(told) <= 6
    assert all(line.partition(" ")[0] in ("WARNING", "ERROR") for line in told)


def test_what_could_not_be_sent_when_a_process_ends_is_told_with_where_it_was_to_go(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with collector(delay=60.0) as there:
        telemetry = Telemetry.otlp(there.url)
        asyncio.run(_ten_calls(telemetry))
        telemetry.close(timeout=0.2)
    (line,) = [one.getMessage() for one in caplog.records if one.name == "antiphon" and "was not sent" in one.msg]
    assert there.url in line and "4318" in line


def test_what_the_sdk_says_goes_where_an_application_has_its_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "abc")  # the test's own log is that of an application
    Telemetry.otlp(f"http://127.0.0.1:{_closed_port()}").close(timeout=1.0)
    assert "Invalid timeout value" in caplog.text
    assert "Invalid timeout value" not in capfd.readouterr().err


class Raising(SpanExporter):
    """Breaks at each batch."""

    def __init__(self) -> None:
        self.batches = 0

    def export(self, spans: Any) -> SpanExportResult:
        self.batches += 1
        raise RuntimeError("broken")


def test_an_exporter_that_raises_loses_no_call() -> None:
    exporter = Raising()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=10))
    asyncio.run(_ten_calls(Telemetry(tracer_provider=provider)))
    provider.force_flush()
    provider.shutdown()
    assert exporter.batches


class Refusing(BatchSpanProcessor):
    """Breaks in the thread of the call, at each span."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise RuntimeError("no place")

    def on_end(self, span: ReadableSpan) -> None:
        raise RuntimeError("no place")


def test_a_processor_that_raises_loses_no_call(caplog: pytest.LogCaptureFixture) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    processor = Refusing(Raising())
    provider.add_span_processor(processor)
    asyncio.run(_ten_calls(Telemetry(tracer_provider=provider)))
    processor.shutdown()  # type: ignore[no-untyped-call]  # OpenTelemetry's
    assert "a callback for 'trace' raised" in caplog.text


# -- a call that is cut


KILLED = """
import asyncio, os, signal, sys
from antiphon import Agent, AgentSession, function_tool
from antiphon.telemetry import Telemetry
from antiphon.testing import FakeLLM, Reply

@function_tool(effect="writes")
async def book(day: str) -> str:
    '''Book.'''
    if os.environ.get("HANGS"):
        print("at work", flush=True)
        await asyncio.sleep(600)
    return "booked"

def agent():
    return Agent(tools=[book], id="host")

async def main():
    telemetry = Telemetry.otlp(sys.argv[1])
    llm = FakeLLM(["Hello."] + [Reply(calls=[("book", {"day": "Friday"})]), "It may be booked.", "Bye."])
    session = AgentSession(llm=llm, store=sys.argv[2])
    telemetry.watch(session)
    if len(sys.argv) > 3:
        await session.resume(sys.argv[3], agents=[agent()])
        await session.wait_for_idle()
    else:
        await session.start(agent())
        print(session.call_id, flush=True)
        await session.run(user_input="Hello")
        await session.run(user_input="Book Friday")
    await session.aclose()
    telemetry.close()

asyncio.run(main())
"""


def _process(there: Collector, store: Path, *call: str, **environment: str) -> subprocess.Popen[str]:
    # Sent soon, so that what ended before the kill is there.
    known = {**os.environ, "OTEL_BSP_SCHEDULE_DELAY": "100", **environment}
    command = [sys.executable, "-c", KILLED, there.url, f"sqlite:///{store}", *call]
    return subprocess.Popen(command, env=known, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_a_call_that_a_kill_cuts_goes_on_in_the_same_trace(tmp_path: Path) -> None:
    store = tmp_path / "calls.db"
    with collector() as there:
        first = _process(there, store, HANGS="1")
        assert first.stdout is not None
        call_id = first.stdout.readline().strip()
        assert first.stdout.readline().strip() == "at work"
        there.wait_for(lambda: [span for span in there.spans if span.name == "invoke_agent host"])
        first.send_signal(signal.SIGKILL)
        first.wait()
        first.stdout.close()
        before = len(there.spans)
        assert "call" not in {span.name for span in there.spans}  # it had not ended
        second = _process(there, store, call_id)
        assert second.wait(60) == 0
        assert second.stdout is not None
        second.stdout.close()
        there.wait_for(lambda: "call" in {span.name for span in there.spans})
    assert {int.from_bytes(span.trace_id, "big") for span in there.spans} == {trace_id_of(call_id)}
    ended = next(span for span in there.spans[before:] if span.name == "call")
    (resumed,) = [said(event) for event in ended.events if event.name == "antiphon.resumed"]
    assert resumed["antiphon.writes"] == 1  # nobody knows whether the tool did it
