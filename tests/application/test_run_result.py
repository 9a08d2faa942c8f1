"""Assertions on a run: each holds when it should, and fails when it should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from antiphon import Agent, AgentSession, UsageError
from antiphon.chat import AgentHandoff, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.run_result import RunAssert, RunResult
from antiphon.testing import FakeLLM, run_virtual


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
