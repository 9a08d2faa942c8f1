"""Assertions on a run: each holds when it should, and fails when it should."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

from antiphon import (
    Agent,
    AgentSession,
    AgentTask,
    RunContext,
    ToolError,
    UsageError,
    function_tool,
    mock_tools,
)
from antiphon.chat import AgentHandoff, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.run_result import RunAssert, RunResult
from antiphon.testing import FakeLLM, Reply, now, run_virtual


class Other(Agent):
    pass


def run() -> RunAssert:
    async def main() -> RunAssert:
        result = RunResult()
        result.record(ChatMessage(role="user", content=["Hello?"]), {})
        result.record(ChatMessage(role="assistant", content=["Let me see."]), {})
        result.record(FunctionCall(call_id="c", name="look", arguments='{"a": 1, "b": 2}'), {})
        result.record(FunctionCallOutput(call_id="c", name="look", output="found"), {})
        result.record(AgentHandoff(old_agent_id="a", new_agent_id="b"), {"b": Other()})
        result.finish()
        return (await result).expect

    return run_virtual(main())


@pytest.mark.parametrize(
    "check",
    [
        lambda expect: expect[0].is_message(role="assistant"),
        lambda expect: expect[-1].is_agent_handoff(new_agent_type=Other),
        lambda expect: expect[1].is_function_call(name="look", arguments={"a": 1}),
        lambda expect: expect[2].is_function_call_output(output="found", is_error=False),
        lambda expect: expect[1:3].contains_function_call(name="look"),
        lambda expect: expect.contains_message(role="assistant"),
        lambda expect: expect.contains_function_call_output(output="found"),
        lambda expect: expect.contains_agent_handoff(new_agent_type=Other),
        lambda expect: expect.next_event(type="agent_handoff"),
        lambda expect: expect.skip_next(4).no_more_events(),
    ],
)
def test_what_happened_is_accepted(check: Callable[[RunAssert], Any]) -> None:
    check(run())


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda expect: expect[0].is_message(role="user"), "role 'user'"),
        (lambda expect: expect[0].is_function_call(), "expected FunctionCallEvent, got ChatMessageEvent"),
        (lambda expect: expect[1].is_function_call(name="book"), "'book', got 'look'"),
        (lambda expect: expect[1].is_function_call(arguments={"a": 2}), "a=2, got 1"),
        (lambda expect: expect[1].is_function_call(arguments={"c": 2}), "c=2, got nothing"),
        (lambda expect: expect[2].is_function_call_output(output="lost"), "'lost', got 'found'"),
        (lambda expect: expect[2].is_function_call_output(is_error=True), "is_error=True"),
        (lambda expect: expect[3].is_agent_handoff(new_agent_type=AgentSession), "AgentSession, got Other"),
        (lambda expect: expect[2:].contains_function_call(name="look"), "a call of 'look'"),
        (lambda expect: expect[7], "an event at 7, there are 4"),
        (lambda expect: expect.skip_next(5), "another event"),
        (lambda expect: expect.no_more_events(), "no more events"),
    ],
)
def test_what_did_not_happen_fails_and_shows_what_did(check: Callable[[RunAssert], Any], message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check(run())
    assert message in str(caught.value)
    assert "0: message from assistant: 'Let me see.'" in str(caught.value)


def test_an_event_is_passed_over_only_if_it_is_the_one_meant() -> None:
    expect = run()
    assert expect.skip_next_event_if(type="message", role="system") is None
    assert expect.skip_next_event_if(type="function_call") is None
    assert expect.skip_next_event_if(type="message", role="assistant") is not None
    assert expect.skip_next_event_if(type="function_call", name="look") is not None
    assert expect.skip_next_event_if(type="function_call_output", output="lost") is None
    expect.next_event().is_function_call_output()
    expect.next_event().is_agent_handoff()
    assert expect.skip_next_event_if(type="message") is None
    expect.no_more_events()


def test_a_slice_has_no_steps() -> None:
    with pytest.raises(UsageError, match="neighbours"):
        _ = run()[0:3:2]


def test_a_model_may_judge_a_message() -> None:
    async def main() -> None:
        message = run_expect[0].is_message()
        await message.judge(FakeLLM(["YES\nIt does."]), intent="It says that it looks something up.")
        with pytest.raises(AssertionError, match="It is rude"):
            await message.judge(FakeLLM(["NO\nIt is rude."]), intent="It is polite.")

    run_expect = run()
    run_virtual(main())


@pytest.mark.parametrize(
    ("answer", "agrees"),
    [("Yes.", True), ("**YES**\nIt does.", True), ("yes, it does", True), ("Yesterday, no.", False), ("", False)],
)
def test_only_a_yes_is_a_yes(answer: str, agrees: bool) -> None:
    async def main() -> None:
        message = run_expect[0].is_message()
        with nullcontext() if agrees else pytest.raises(AssertionError, match="does not fulfil"):
            await message.judge(FakeLLM([answer]), intent="It is polite.")

    run_expect = run()
    run_virtual(main())


# -- in a session


class Booking(Agent):
    @function_tool
    async def book(self, seats: int) -> str:
        """Book."""
        return f"really booked {seats}"


BOOK = Reply(calls=[("book", {"seats": 2})])


def booked(session: AgentSession[Any]) -> list[str]:
    return [item.output for item in session.history.items if isinstance(item, FunctionCallOutput)]


def test_the_next_event_of_a_type_can_be_looked_at_closely() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([BOOK, "Two seats are booked."])) as session:
            await session.start(Booking())
            result = await session.run(user_input="Two.")
        assert result.expect.next_event(type="function_call").event().item.name == "book"
        assert result.expect.next_event(type="function_call_output").event().item.output == "really booked 2"
        message = result.expect.next_event(type="message")
        await message.judge(FakeLLM(["YES\nBooked."]), intent="It says that it is booked.")

    run_virtual(main())


def test_arguments_that_no_tool_understood_are_a_call_without_any() -> None:
    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("book", "two seats")]), Reply(calls=[("book", "[2]")]), BOOK, "Two seats."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Booking())
            result = await session.run(user_input="Two.")
        for position in (0, 2):
            call = result.expect[position].is_function_call(name="book", arguments={})
            with pytest.raises(AssertionError, match="seats=2, got nothing"):
                call.is_function_call(arguments={"seats": 2})
        result.expect.contains_function_call(name="book", arguments={"seats": 2})

    run_virtual(main())


def test_a_run_is_complete_when_the_background_has_nothing_to_tell_now() -> None:
    class Slow(Agent):
        @function_tool
        async def book(self, ctx: RunContext) -> str:
            """Book."""
            await ctx.update("Booking.")
            await asyncio.sleep(5.0)
            return "booked"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("book", {})]), "I am at it.", "Booked."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Slow())
            result = session.run(user_input="Two.")
            assert not result.done()
            await result
            assert result.done() and now() < 5.0
            result.expect.skip_next(2).next_event(type="message")
            result.expect.no_more_events()

    run_virtual(main())


class Ask(AgentTask[str]):
    @function_tool
    async def answer(self, text: str) -> None:
        """Take the answer."""
        self.complete(text)


class Asking(Agent):
    @function_tool
    async def register(self) -> str:
        """Register."""
        return f"registered {await Ask()}"


@pytest.mark.parametrize("as_agent", [True, False])
def test_the_result_of_a_task_is_the_runs_final_output(as_agent: bool) -> None:
    async def main() -> None:
        answer = Reply(calls=[("answer", {"text": "Ada"})])
        llm = FakeLLM([answer] if as_agent else [Reply(calls=[("register", {})]), answer, "Welcome."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Ask() if as_agent else Asking())
            if not as_agent:
                before = await session.run(user_input="Register me.")
                with pytest.raises(UsageError, match="no task was completed"):
                    _ = before.final_output
            result = await session.run(user_input="Ada.")
            assert result.final_output == "Ada"

    run_virtual(main())


def test_the_exception_of_a_task_is_raised_where_its_output_is_asked_for() -> None:
    class Failing(AgentTask[str]):
        @function_tool
        async def give_up(self) -> None:
            """Give up."""
            self.complete(LookupError("no name"))

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("give_up", {})])])) as session:
            await session.start(Failing())
            result = await session.run(user_input="I will not tell.")
            with pytest.raises(LookupError, match="no name"):
                _ = result.final_output

    run_virtual(main())


# -- tools that are not run


def test_mocks_end_with_their_block_also_within_a_session() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([BOOK, "One.", BOOK, "Two."])) as session:
            await session.start(Booking())
            with mock_tools(Booking, {"book": lambda: "mocked"}):
                await session.run(user_input="a")
            await session.run(user_input="b")
            assert booked(session) == ["mocked", "really booked 2"]

    run_virtual(main())


@pytest.mark.parametrize(
    ("agent_type", "mock", "message"),
    [(Booking, None, "'book': expected a function, got None"), (Booking(), lambda: "mocked", "the class of an agent")],
)
def test_a_mock_that_would_not_be_called_is_refused(agent_type: Any, mock: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mock_tools(agent_type, {"book": mock})


def test_a_mock_of_a_tool_that_the_agent_does_not_have_is_an_error() -> None:
    async def main() -> None:
        async with AgentSession(llm=FakeLLM([Reply(calls=[("book", {})]), "Booked."])) as session:
            await session.start(Booking())
            with pytest.raises(UsageError, match=r"no tool 'bok'; they have book"), mock_tools(Booking, {"bok": str}):
                await session.run(user_input="go")

    run_virtual(main())


def test_mocks_nest() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([BOOK, "One.", BOOK, "Two."])) as session:
            await session.start(Booking())
            with mock_tools(Booking, {"book": lambda: "outer"}):
                with mock_tools(Booking, {"book": lambda: "inner"}):
                    await session.run(user_input="a")
                await session.run(user_input="b")
            assert booked(session) == ["inner", "outer"]

    run_virtual(main())


def test_mocks_of_a_session_last_as_long_as_it_and_touch_no_other() -> None:
    async def main() -> None:
        mocked, other = (AgentSession[Any](llm=FakeLLM([BOOK, "One."])) for _ in range(2))
        mock_tools(Booking, {"book": lambda: "mocked"}, session=mocked)
        for session in (mocked, other):
            async with session:
                await session.start(Booking())
                await session.run(user_input="a")
        assert (booked(mocked), booked(other)) == (["mocked"], ["really booked 2"])

    run_virtual(main())


@pytest.mark.parametrize(
    ("mock", "output", "is_error"),
    [
        (lambda: "sync", "sync", False),
        (lambda seats: f"{seats} seats", "2 seats", False),
        (lambda: ToolError("Full."), "Full.", True),
        (lambda: RuntimeError("secret"), "An internal error occurred", True),
    ],
)
def test_a_mock_does_what_a_tool_may_do(mock: Callable[..., Any], output: str, is_error: bool) -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([BOOK, "Well."])) as session:
            await session.start(Booking())
            with mock_tools(Booking, {"book": mock}):
                result = await session.run(user_input="a")
        result.expect.contains_function_call_output(output=output, is_error=is_error)

    run_virtual(main())
