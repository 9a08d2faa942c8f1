"""What tools do stands in the log, with the same lines for calls in text, by voice and with a realtime model."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AsyncToolset, EndCallTool, RunContext, ToolError, function_tool
from antiphon.runtime.tool_log import ToolLog
from antiphon.server.room import Room
from antiphon.testing import FakeLLM, FakeMicrophone, FakeSpeaker, Reply, run_virtual
from antiphon.testing.fakes import Turn
from antiphon.testing.realtime import FakeRealtimeModel
from tests.calls import VoiceCall, converse


class Log(logging.Handler):
    """The lines of the logger "antiphon" and those below it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        # Ids are the model's, some made up.
        told = re.sub(r"\((?:fake_|call_)[^)]*\)", "(id)", record.getMessage())
        self.lines.append(f"{record.levelname} {told}")


@pytest.fixture
def log() -> Iterator[Log]:
    logger, handler = logging.getLogger("antiphon"), Log()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


def debug() -> None:
    logging.getLogger("antiphon").setLevel(logging.DEBUG)


class Desk(Agent):
    """Has a tool for each way to end."""

    @function_tool
    async def check(self, date: str) -> str:
        """Look for free slots."""
        await asyncio.sleep(0.5)
        return f"free on {date}"

    @function_tool
    async def refuse(self) -> str:
        """Refuse."""
        raise ToolError("closed")

    @function_tool(effect="reads")
    async def look(self) -> str:
        """Look for long."""
        await asyncio.sleep(5.0)
        return "found"

    @function_tool
    async def drop(self) -> str:
        """Do who knows what for long."""
        await asyncio.sleep(5.0)
        return "done"

    @function_tool(effect="writes", timeout=1.0)
    async def slow(self) -> str:
        """Write for too long."""
        await asyncio.sleep(5.0)
        return "written"


CHECK = Reply(calls=[("check", {"date": "next Tuesday"})])


async def in_text(reply: Turn) -> None:
    await converse(Desk(), "hello", llm=FakeLLM([reply, "Fine."]))


async def by_voice(reply: Turn) -> None:
    async with VoiceCall(FakeLLM([reply, "Fine."]), ["hello"]) as call:
        await call.begin(Desk())
        await call.microphone.speak(1.0)
        await asyncio.sleep(8.0)


async def realtime(reply: Any) -> None:
    microphone = FakeMicrophone()
    async with AgentSession[Any](llm=FakeRealtimeModel([reply, "Fine."], hears=["hello"])) as session:
        await session.start(Desk(), input=microphone, output=FakeSpeaker())
        await microphone.speak(1.0)
        await asyncio.sleep(8.0)


@pytest.mark.parametrize("call", [in_text, by_voice, realtime])
@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("check", {"date": "next Tuesday"}, r"tool check \(id\) done after 0.50 s"),
        ("refuse", {}, r"tool refuse \(id\) error after 0.00 s"),
        ("slow", {}, r"tool slow \(id\) unknown after 1.00 s"),
        ("check", {"day": 5}, r"tool check \(id\) refused, it cannot be run as it was made"),
        ("nothing", {}, r"tool nothing \(id\) refused, it cannot be run as it was made"),
    ],
)
def test_a_call_is_one_line_with_name_id_outcome_and_time(
    log: Log,
    call: Callable[[Turn], Coroutine[Any, Any, None]],
    name: str,
    arguments: dict[str, Any],
    line: str,
) -> None:
    run_virtual(call(Reply(calls=[(name, arguments)])))
    (told,) = [one for one in log.lines if one.startswith("INFO")]
    assert re.fullmatch(f"INFO {line}", told)


def test_debug_shows_arguments_and_result(log: Log) -> None:
    debug()
    run_virtual(in_text(CHECK))
    assert [one for one in log.lines if "tool " in one] == [
        'DEBUG tool check (id) called with {"date": "next Tuesday"}',
        "INFO tool check (id) done after 0.50 s: free on next Tuesday",
    ]


def test_what_a_caller_speaks_over_is_dropped_and_cancelled(log: Log) -> None:
    async def main() -> None:
        again = Reply(calls=[("drop", {})])
        llm = FakeLLM([Reply(calls=[("look", {}), ("drop", {})]), again, "Fine."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Desk())
            session.submit_user_turn("look")
            await asyncio.sleep(1.0)
            session.submit_user_turn("no, wait")
            await asyncio.sleep(8.0)

    run_virtual(main())
    assert [re.sub(r"[\d.]+ s", "s", one.removeprefix("INFO ")) for one in log.lines] == [
        "tool look (id) dropped after s: nobody waits for it any more",
        "tool look (id) cancelled after s",
        "tool drop (id) dropped after s: nobody waits for it any more",
        "tool drop (id) takes over an equal run that the caller had spoken over",
        "tool drop (id) done after s",
    ]


def test_a_refused_duplicate_is_a_line(log: Log) -> None:
    @function_tool(on_duplicate="reject")
    async def book(ctx: RunContext[Any]) -> str:
        """Book."""
        await ctx.update("Booking.")
        await asyncio.sleep(5.0)
        return "booked"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("book", {})]), "One moment.", Reply(calls=[("book", {})]), "Patience.", "Booked."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[AsyncToolset(id="b", tools=[book])]))
            await session.run(user_input="book")
            await session.run(user_input="book")
            await asyncio.sleep(8.0)

    run_virtual(main())
    assert log.lines == [
        "INFO tool book (id) refused, the same was done or is being done",
        "INFO tool book (id) done after 5.00 s",
    ]


@pytest.mark.parametrize(("name", "last"), [("look", "cancelled"), ("drop", "cancelled"), ("pay", "unknown")])
def test_what_the_end_of_the_call_stops_is_a_line(log: Log, name: str, last: str) -> None:
    @function_tool(effect="writes")
    async def pay() -> None:
        """Pay."""
        await asyncio.sleep(60.0)

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[(name, {})])]), tools=[pay]) as session:
            await session.start(Desk())
            session.submit_user_turn("go")
            await asyncio.sleep(1.0)

    run_virtual(main())
    assert re.fullmatch(rf"INFO tool {name} \(id\) {last} after [\d.]+ s", log.lines[-1])


def test_the_end_of_a_call_and_of_its_room_are_lines(log: Log) -> None:
    async def main() -> None:
        await converse(Agent(tools=[EndCallTool()]), "bye", llm=FakeLLM([Reply(calls=[("end_call", {})]), "Bye."]))
        room = Room("front")
        await room.delete()
        await room.delete()

    run_virtual(main())
    assert [line for line in log.lines if line.startswith("INFO")] == [
        "INFO end_call: the call ends after this goodbye, unless the caller has more to say",
        "INFO tool end_call (id) done after 0.00 s",
        "INFO room front deleted",
    ]


def test_a_stranger_cannot_write_a_line_or_flood_the_log(log: Log) -> None:
    debug()

    @function_tool
    async def fetch() -> str:
        """Fetch."""
        return "\x1b]0;owned\x07\nINFO tool pay (id) done\n" + "x" * 15_000

    run_virtual(
        converse(Agent(tools=[fetch]), "go", llm=FakeLLM([Reply(calls=[("fetch", {}), ("no\nsuch\x1b", {})]), "Ok."]))
    )
    assert all(line.isprintable() and len(line) < 2_500 for line in log.lines)


def test_where_the_log_is_off_nothing_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(_: object) -> None:
        raise AssertionError("a log was made that nobody reads")

    monkeypatch.setattr(ToolLog, "__init__", made)
    run_virtual(in_text(CHECK))


def test_a_call_that_the_caller_did_not_agree_to_is_told_as_that(log: Log) -> None:
    @function_tool(effect="writes", confirm="Shall I book {day}?")
    async def book(day: str) -> str:
        """Book."""
        return "booked"

    llm = FakeLLM([Reply(calls=[("book", {"day": "Friday"})]), "Then not."])
    run_virtual(converse(Agent(tools=[book]), "Friday", "no", llm=llm))
    assert log.lines == ["INFO tool book (id) refused, the caller did not agree to it"]
