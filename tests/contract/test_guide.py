"""What the design of good tool loops asks of an author, held by the session: few tools, bounded turns."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from antiphon import Agent, AgentSession, FunctionTool, ToolDefinitionError, Toolset, function_tool
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from tests.calls import converse, outputs


def tools(count: int) -> list[FunctionTool]:
    async def work() -> str:
        """Work."""
        return "done"

    return [function_tool(work, name=f"work_{number}", description="Work.") for number in range(count)]


@pytest.mark.parametrize(("count", "warnings"), [(10, 0), (11, 1)])
def test_more_than_ten_tools_are_worth_one_warning(count: int, warnings: int, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("work_0", {})]), "One.", "Two."])
        await converse(Agent(id="busy", tools=tools(count)), "a", "b", llm=llm)

    with caplog.at_level(logging.WARNING, logger="antiphon"):
        run_virtual(main())
    assert [f"'busy' has {count} tools" in record.getMessage() for record in caplog.records] == [True] * warnings


def test_more_tools_than_the_session_allows_are_an_error_where_the_agent_gets_them() -> None:
    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM(), max_tools=3, tools=tools(1))
        with pytest.raises(ToolDefinitionError, match="'greedy' has 5 tools, the session allows 3"):
            await session.start(Agent(id="greedy", tools=tools(5)))
        agent = Agent(id="modest", tools=tools(3))
        async with AgentSession[Any](llm=FakeLLM(["Hello."]), max_tools=3) as session:
            await session.start(agent)
            with pytest.raises(ToolDefinitionError, match="'modest' has 4 tools"):
                await agent.update_tools(tools(4))
            assert len(agent.tools) == 3
            await session.run(user_input="Hi.")

    run_virtual(main())


def test_a_handoff_to_an_agent_with_too_many_tools_is_not_made() -> None:
    @function_tool
    async def transfer() -> Agent:
        """Transfer."""
        return Agent(id="greedy", tools=tools(5))

    async def main() -> None:
        errors: list[Any] = []
        llm = FakeLLM([Reply(calls=[("transfer", {})]), "That did not work."])
        first = Agent(tools=[transfer])
        async with AgentSession[Any](llm=llm, max_tools=3) as session:
            session.on("error", errors.append)
            await session.start(first)
            await session.run(user_input="Transfer me.")
            assert session.current_agent is first
            assert transcript(session.history)[-2:] == [
                "error transfer: An internal error occurred",
                "assistant: That did not work.",
            ]
        assert "'greedy' has 5 tools" in str(errors[0].error)

    run_virtual(main())


class Computed(Toolset):
    """A toolset that knows its tools only when it has been set up."""

    async def setup(self) -> Computed:
        self._tools = [*tools(5)]
        return self


def test_a_toolset_that_turns_out_to_be_too_large_is_told_once() -> None:
    async def main() -> None:
        errors: list[Any] = []
        session = AgentSession[Any](llm=FakeLLM(["One.", "Two."]), max_tools=3)
        session.on("error", errors.append)
        async with session:
            await session.start(Agent(id="surprised", tools=[Computed(id="computed")]))
            await session.run(user_input="a")
            await session.run(user_input="b")
        assert ["'surprised' has 5 tools" in str(event.error) for event in errors] == [True]

    run_virtual(main())


def test_an_evaluation_is_a_pair_of_input_and_expected_call() -> None:
    @function_tool
    async def check_availability(day: str, party_size: int) -> str:
        """Check."""
        return "Yes, at seven."

    async def main() -> None:
        arguments = {"day": "Friday", "party_size": 3}
        llm = FakeLLM({"table for 3": Reply(calls=[("check_availability", arguments)]), "seven": "At seven."})
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[check_availability]))
            result = await session.run(user_input="Do you have a table for 3 on Friday?")
        result.expect.next_event().is_function_call(name="check_availability", arguments={"party_size": 3})
        result.expect.next_event().is_function_call_output(output="Yes, at seven.")
        message = result.expect.next_event().is_message(role="assistant")
        await message.judge(FakeLLM(["YES\nIt offers seven."]), intent="Offers a time.")
        result.expect.no_more_events()
        assert outputs(session) == ["Yes, at seven."]

    run_virtual(main())
