"""The log of a call: each line says which call it is about, and none says what anybody said."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, function_tool
from antiphon.cli.logs import set_up_logging
from antiphon.cli.start import set_up_log
from antiphon.errors import ProviderError
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import Job, JobContext
from antiphon.server.room import Room
from antiphon.testing import Fail, FakeLLM, FakeMicrophone, FakeSpeaker, FakeSTT, FakeTTS, FakeVAD, Reply, run_virtual
from tests.telemetry import Kept

CALL = "0123456789abcdef"
SAID = ("Zebulon", "Quagmire", "Xanadu")
"""Words of the caller: as they said them, as a tool was called with them, and as it gave them back."""


@contextmanager
def logged(level: int = logging.INFO, log_format: str = "json") -> Iterator[io.StringIO]:
    """What `antiphon start --log-format json` writes."""
    out, logger = io.StringIO(), logging.getLogger("antiphon")
    before = logger.level, logger.handlers[:], logger.propagate
    with contextlib.redirect_stderr(out):
        set_up_logging(debug=False)
        name = logging.getLevelName(level).lower()
        set_up_log(argparse.Namespace(debug=False, log_level=name, log_format=log_format), None)
    try:
        yield out
    finally:
        logger.setLevel(before[0])
        logger.handlers[:], logger.propagate = before[1:]


@function_tool(effect="writes", confirm="Shall I book for {name}?")
async def book(ctx: RunContext, name: str) -> str:
    """Book."""
    await asyncio.sleep(2.0)
    await ctx.update(f"still at it for {name}")
    await asyncio.sleep(2.0)
    return f"booked for {name}, of Xanadu"


@function_tool(effect="reads")
async def look(name: str) -> str:
    """Look."""
    raise ValueError(f"nobody is called {name}")


@function_tool(effect="reads")
def slow(name: str) -> str:
    """Look, in a thread."""
    logging.getLogger("antiphon.tools").info("in the thread of a tool")
    return name


class Talks(AgentServer):
    """A call by voice in which much goes wrong."""

    def __init__(self, microphone: FakeMicrophone, telemetry: Any = None) -> None:
        super().__init__()

        @self.rtc_session
        async def entrypoint(context: JobContext) -> None:
            llm = FakeLLM(
                [
                    Reply(calls=[("look", {"name": "Quagmire"}), ("slow", {"name": "Quagmire"})]),
                    "There is no Quagmire.",
                    Reply(calls=[("book", {"name": "Quagmire"})]),
                    "It is booked, Quagmire.",
                    Reply(calls=[("nothing_of_that_name", {"name": "Quagmire"})]),
                    Fail(ProviderError("the model is away", provider="fake")),
                    "Good bye, Zebulon.",
                    *["Yes, Quagmire."] * 10,
                ]
            )
            heard = ["I am Zebulon", "Book for Quagmire in Xanadu", "yes", "and Zebulon", "Quagmire", "Zebulon"]
            session = AgentSession[Any](
                llm=llm, stt=FakeSTT(heard), vad=FakeVAD(), tts=FakeTTS(fail_on="Good bye"), store="memory://"
            )
            if telemetry is not None:
                telemetry.watch(session)
            await session.start(
                Agent(tools=[book, look, slow]), room=context.room, input=microphone, output=FakeSpeaker()
            )


def one_call(level: int = logging.INFO, telemetry: Any = None, *, log_format: str = "json") -> str:
    """The log of a call."""
    microphone = FakeMicrophone()
    server = Talks(microphone, telemetry)

    async def main() -> None:
        async with server.job(Room(), job=Job(call_id=CALL)) as job:
            session = await job.wait_for_session()
            assert session is not None
            for _ in range(6):
                await microphone.speak(1.0)
                await asyncio.sleep(8.0)

    with logged(level, log_format) as out:
        run_virtual(main(), timeout=600)
    return out.getvalue()


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_each_line_says_which_call_it_is_about() -> None:
    lines = lines_of(one_call(logging.DEBUG))
    assert len(lines) > 10
    assert {"debug", "info"} <= {line["level"] for line in lines}
    assert [line for line in lines if line.get("call") != CALL] == []
    assert any(line["message"] == "in the thread of a tool" for line in lines)


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_from_info_on_no_line_says_what_the_caller_said_or_tools_were_called_with(log_format: str) -> None:
    text = one_call(log_format=log_format)
    assert "tool book (call_3) done" in text
    assert re.search(r"tool 'look' raised: ValueError .*test_logs.py:\d+", text)  # what and where, and not whom about
    for word in SAID:
        told = [line for line in text.splitlines() if word in line]
        assert told == [], word


def test_at_debug_they_are_there() -> None:
    text = one_call(logging.DEBUG)
    assert [word for word in ("Quagmire", "Xanadu") if word not in text] == []


def test_an_entrypoint_that_sets_fields_of_its_own_loses_not_the_call() -> None:
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(context: JobContext) -> None:
        context.log_context_fields = {"tenant": "acme"}
        logging.getLogger("antiphon.agent").info("here")
        await AgentSession[Any](llm=FakeLLM([])).start(Agent(), room=context.room)

    async def main() -> None:
        async with server.job(Room(), job=Job(call_id=CALL)) as job:
            await job.wait_for_session()

    with logged() as out:
        run_virtual(main())
    here = next(line for line in lines_of(out.getvalue()) if line["message"] == "here")
    assert (here["call"], here["tenant"]) == (CALL, "acme")


def test_a_call_that_is_told_elsewhere_has_the_id_of_its_trace_in_its_lines() -> None:
    kept = Kept()
    lines = lines_of(one_call(telemetry=kept.telemetry))
    context = kept.one("call").context
    assert context is not None
    assert {line["trace_id"] for line in lines} == {f"{context.trace_id:032x}"}


def test_the_log_of_a_session_without_a_server_says_which_call_it_is_about() -> None:
    async def main() -> str:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("look", {"name": "Quagmire"})]), "No."])) as session:
            await session.start(Agent(tools=[look]))
            await session.run(user_input="Quagmire?")
            return session.call_id

    with logged() as out:
        call_id = run_virtual(main())
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines
    assert {line["call"] for line in lines} == {call_id}
