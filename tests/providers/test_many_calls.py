"""A response with two thousand calls: what is made of it, and that other calls on this machine have their turns."""

from __future__ import annotations

import asyncio
import json

import pytest

from antiphon import Agent, AgentSession, function_tool
from antiphon.chat import ChatContext, FunctionCall, FunctionCallOutput
from antiphon.llm import FunctionToolCall
from antiphon.providers.openai_format import MAX_ARGUMENTS, ToolCallAssembler
from antiphon.runtime.tool_calls import MAX_CALLS, TOO_MANY_CALLS
from antiphon.testing import FakeLLM, Reply, run_virtual

MANY = 2_000


@function_tool
async def look(number: int) -> str:
    """Look."""
    return f"saw {number}"


def test_calls_beyond_the_bound_are_not_made_and_the_model_is_told() -> None:
    llm = FakeLLM([Reply(calls=[("look", {"number": n}) for n in range(MANY)]), "Done."], tokens_per_second=1e6)

    async def main() -> AgentSession[None]:
        async with AgentSession[None](llm=llm) as session:
            await session.start(Agent(tools=[look]))
            await session.run(user_input="go")
        return session

    items = run_virtual(main()).history.items
    calls = [item for item in items if isinstance(item, FunctionCall)]
    outputs = [item for item in items if isinstance(item, FunctionCallOutput)]
    assert [call.call_id for call in calls] == [output.call_id for output in outputs]
    assert [output.output for output in outputs] == [*(f"saw {n}" for n in range(MAX_CALLS)), TOO_MANY_CALLS]
    assert outputs[-1].is_error
    assert llm.histories[1][-1] == f"error look: {TOO_MANY_CALLS}"


def test_an_answer_that_is_there_at_once_is_read_a_little_at_a_time() -> None:
    pytest.importorskip("openai")
    from antiphon.providers.openai import LLM
    from tests.providers.http_double import HTTPDouble, pieces
    from tests.providers.openai_double import call, ending

    made = [call(n, id=f"c{n}", name="look", arguments=f'{{"number": {n}}}') for n in range(MANY)]
    answer = pieces(b"".join([*made, *ending("tool_calls")]), content_type="text/event-stream")
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main() -> list[int]:
        async with HTTPDouble(answer) as double:
            llm = LLM(model="m", base_url=double.url)
            other = asyncio.create_task(others())
            async with llm.chat(chat_ctx=ChatContext.empty()) as stream:
                seen = [turns async for _ in stream]
            other.cancel()
            await llm.aclose()
        return seen

    # How often others had their turn while the calls were read, which takes half a second in all.
    assert len(set(asyncio.run(main()))) > 5


def test_reading_many_calls_takes_one_look_at_each() -> None:
    calls = ToolCallAssembler(lambda: {"call_0"})
    given: list[FunctionToolCall] = []
    for number in range(MANY):
        for piece in ('{"number":', f" {number}", "}"):
            given += calls.push(index=number, call_id=f"call_{number}", name="look", arguments=piece)
    given += calls.finish()

    assert [json.loads(call.arguments)["number"] for call in given] == list(range(MANY))
    assert len({call.call_id for call in given} - {"call_0"}) == MANY


def test_a_call_that_is_completed_behind_the_next_one_is_given_then() -> None:
    calls = ToolCallAssembler()
    assert not list(calls.push(index=0, call_id="a", name="look", arguments='{"number":'))
    assert not list(calls.push(index=1, call_id="b", name="look", arguments="{"))
    assert [call.call_id for call in calls.push(index=0, call_id=None, name=None, arguments=" 1}")] == ["a"]


def test_arguments_without_end_are_refused() -> None:
    calls = ToolCallAssembler()
    with pytest.raises(ValueError, match="1,000,000 characters"):
        for _ in range(MAX_ARGUMENTS // 1000 + 1):
            list(calls.push(index=0, call_id="a", name="look", arguments="x" * 1000))
