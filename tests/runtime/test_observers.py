"""One seam for those who watch a call, and what a performer is given."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from antiphon import Agent, AgentSession, RunContext, SpeechHandle, function_tool
from antiphon.chat import FunctionCallOutput
from antiphon.core.commands import Command
from antiphon.core.facts import Call, Fact
from antiphon.core.notices import Notice
from antiphon.errors import UsageError
from antiphon.language import ENGLISH
from antiphon.llm import FunctionToolCall
from antiphon.runtime.driver import Driver
from antiphon.runtime.masks import Masks
from antiphon.runtime.observers import Observer
from antiphon.runtime.tool_calls import ToolCalls
from antiphon.testing import FakeLLM, Reply, run_virtual


class Watcher(Observer):
    """Keeps what it is shown."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, float]] = []

    def fact(self, at: float, fact: Fact) -> None:
        self.seen.append(("fact", type(fact).__name__, at))

    def command(self, at: float, command: Command) -> None:
        self.seen.append(("command", type(command).__name__, at))

    def notice(self, at: float, notice: Notice) -> None:
        self.seen.append(("notice", type(notice).__name__, at))

    def span(self, name: str, at: float, **data: object) -> None:
        self.seen.append(("span", name, at))

    def names(self, kind: str) -> list[str]:
        return [name for one, name, _ in self.seen if one == kind]


class Breaking(Watcher):
    """Breaks at the first command."""

    def command(self, at: float, command: Command) -> None:
        super().command(at, command)
        raise ValueError("full")


def driver_of(session: AgentSession[Any]) -> Driver:
    driver = session._driver
    assert driver is not None
    return driver


async def slowly(*pieces: str) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(0.5)


@function_tool
async def look() -> str:
    """Look."""
    return "nine"


def test_an_observer_is_shown_facts_commands_notices_and_spans_in_order() -> None:
    watcher = Watcher()

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("look", {})]), "Nine."])) as session:
            await session.start(Agent(tools=[look]))
            driver_of(session).observe(watcher)
            await session.run(user_input="look")
            await session.say("Bye.")

    run_virtual(main())
    assert [name for name in watcher.names("fact") if name.startswith(("User", "Tool"))][:3] == [
        "UserTurnSubmitted",
        "ToolCalled",
        "ToolReturned",
    ]
    assert {"Generate", "RunTool", "Record"} <= set(watcher.names("command"))
    assert {"TurnCommitted", "ToolStarted", "ToolEnded", "BecameIdle"} <= set(watcher.names("notice"))
    assert {"usage", "number"} <= set(watcher.names("span"))
    names = [name for _, name, _ in watcher.seen]
    assert names.index("ToolCalled") < names.index("RunTool") < names.index("ToolReturned")
    times = [at for _, _, at in watcher.seen]
    assert times == sorted(times)


def test_an_observer_that_raises_is_dropped_and_told_once_and_the_others_go_on() -> None:
    breaking, other = Breaking(), Watcher()

    async def main() -> None:
        errors: list[Any] = []
        async with AgentSession[Any](llm=FakeLLM(["One.", "Two."])) as session:
            session.on("error", errors.append)
            await session.start(Agent())
            driver_of(session).observe(breaking)
            driver_of(session).observe(other)
            await session.run(user_input="a")
            await session.run(user_input="b")
            assert [(str(one.error), one.source) for one in errors] == [("full", "Breaking")]

    run_virtual(main())
    assert len(breaking.names("command")) == 1
    assert other.names("fact").count("UserTurnSubmitted") == 2


def test_a_handle_and_a_run_that_somebody_keeps_do_not_keep_the_call() -> None:
    kept: list[object] = []

    class Keeper(Agent):
        @function_tool
        async def look(self, ctx: RunContext) -> str:
            """Look."""
            kept.append(ctx.run.execution)
            return "nine"

    async def main() -> weakref.ref[Driver]:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("look", {})]), "Nine."])) as session:
            await session.start(Keeper())
            await session.run(user_input="look")
            handle: SpeechHandle = session.say("Bye.")
            await handle
            kept.append(handle)
            return weakref.ref(driver_of(session))

    gc.collect()
    gc.disable()
    try:
        assert run_virtual(main())() is None
    finally:
        gc.enable()
    assert len(kept) == 2


def test_a_tool_may_wait_for_the_speech_of_another_session_that_has_its_own_number() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM()) as other:
            await other.start(Agent())

            @function_tool
            async def announce(ctx: RunContext) -> str:
                """Announce."""
                own = ctx.speech_handle.number
                while driver_of(other).new_id() < own - 1:
                    pass
                handle = other.say(slowly("There ", "is a call."))
                assert handle.number == own
                await handle
                return "done"

            llm = FakeLLM([Reply(calls=[("announce", {})]), "Done."])
            async with AgentSession[Any](llm=llm) as session:
                await session.start(Agent(tools=[announce]))
                await session.run(user_input="announce it")
                outputs = [item.output for item in session.history.items if isinstance(item, FunctionCallOutput)]
                assert outputs == ["done"]

    run_virtual(main())


# -- calls


class _Nobody:
    """Agents without a context, and nobody who listens."""

    def agent(self, agent_id: str) -> Any:
        return self

    def context_items(self) -> list[Any]:
        return []

    def failed(self, error: BaseException, source: Any) -> None:
        raise AssertionError(error)


def made(calls: ToolCalls, speech: int) -> Call:
    wanted = FunctionToolCall("look", "{}", calls.new_id("call", "a"))
    return calls.check(1, speech, wanted, [look]).call


def calls_of_a_session() -> ToolCalls:
    nobody: Any = _Nobody()
    return ToolCalls(nobody, nobody, Masks(ENGLISH), silence_is_bridged=False)


def test_a_checked_call_is_handed_over_once() -> None:
    calls = calls_of_a_session()
    call = made(calls, 1)
    assert calls.take(call.call_id).tool is look
    with pytest.raises(UsageError, match="expected one that a model made and that was checked"):
        calls.take(call.call_id)


def test_calls_of_a_speech_that_is_over_are_run_no_more() -> None:
    calls = calls_of_a_session()
    over, other = made(calls, 1), made(calls, 2)
    calls.forget(1)
    assert calls.take(other.call_id).speech == 2
    with pytest.raises(UsageError):
        calls.take(over.call_id)


def test_arguments_are_checked_once_a_call() -> None:
    checked: list[str] = []

    def noted(value: str) -> str:
        checked.append(value)
        return value

    @function_tool
    async def find(day: Annotated[str, AfterValidator(noted)]) -> str:
        """Find.

        Args:
            day: The day
        """
        return day

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("find", {"day": "Monday"})]), "Nine."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[find]))
            await session.run(user_input="look")

    run_virtual(main())
    assert checked == ["Monday"]
