"""Background tools in sessions: updates, results, duplicates, cancelling, and who closes what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, ToolError, ToolFlag, function_tool
from antiphon.options import DuplicateMode
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from antiphon.toolkit import AsyncRunContext, AsyncToolset


@function_tool
async def book_flight(ctx: AsyncRunContext[Any], origin: str, destination: str) -> dict[str, str]:
    """Book a flight.

    Args:
        origin: Where from.
        destination: Where to.
    """
    await ctx.update(f"Looking up flights from {origin} to {destination}...")
    await asyncio.sleep(5)
    await ctx.update("Found 3 flights, picking the best one...")
    await asyncio.sleep(5)
    return {"confirmation": "FL-847293"}


TRIP = {"origin": "NYC", "destination": "Tokyo"}
CALL = Reply(calls=[("book_flight", TRIP)])


async def flying(llm: FakeLLM, mode: DuplicateMode = "confirm") -> AgentSession[Any]:
    session: AgentSession[Any] = AgentSession(llm=llm)
    tools = AsyncToolset(id="booking", tools=[book_flight], on_duplicate_call=mode)
    await session.start(Agent(instructions="You book flights.", tools=[tools]))
    return session


def test_updates_and_result_are_each_told_when_the_line_is_free() -> None:
    async def call() -> None:
        llm = FakeLLM([CALL, "Looking it up.", "Found three.", "All set: FL-847293."])
        session = await flying(llm)
        await session.run(user_input="Fly me to Tokyo")
        assert transcript(session.history)[-1] == "assistant: Looking it up."
        await asyncio.sleep(11)
        told = [line for line in transcript(session.history) if line.startswith("assistant")]
        assert told == ["assistant: Looking it up.", "assistant: Found three.", "assistant: All set: FL-847293."]
        calls = [item.call_id for item in session.history.items if item.type == "function_call_output"]
        first = calls[0]
        assert calls == [first, f"{first}/update_1", f"{first}/finished"]
        await session.aclose()

    run_virtual(call())


def test_the_model_may_call_tools_for_a_result_and_not_for_an_update() -> None:
    async def call() -> None:
        llm = FakeLLM([CALL, "Looking it up.", "Found three.", "All set."])
        session = await flying(llm)
        await session.run(user_input="Fly me to Tokyo")
        await asyncio.sleep(11)
        assert [bool(request.tools) and request.tool_choice != "none" for request in llm.requests] == [
            True,
            False,
            False,
            True,
        ]
        await session.aclose()

    run_virtual(call())


def outputs(session: AgentSession[Any]) -> list[str]:
    return [item.output for item in session.history.items if item.type == "function_call_output"]


@pytest.mark.parametrize(("mode", "text"), [("confirm", "Ask the user"), ("reject", "Wait for its result")])
def test_a_duplicate_is_not_started_without_leave(mode: DuplicateMode, text: str) -> None:
    async def call() -> None:
        llm = FakeLLM([CALL, "Looking.", CALL, "It is under way."])
        session = await flying(llm, mode)
        await session.run(user_input="Fly me to Tokyo")
        await session.run(user_input="Fly me to Tokyo!")
        assert text in outputs(session)[-1]
        await session.aclose()

    run_virtual(call())


def test_a_confirmed_duplicate_runs_beside_the_first() -> None:
    async def call() -> None:
        again = Reply(calls=[("book_flight", {**TRIP, "_lk_agents_confirm_duplicate": True})])
        llm = FakeLLM([CALL, "Looking.", again, "A second one, too."])
        session = await flying(llm)
        await session.run(user_input="Fly me to Tokyo")
        await session.run(user_input="Yes, twice")
        assert outputs(session)[-1].startswith("The tool `book_flight` has updated")
        await session.aclose()

    run_virtual(call())


def test_the_confirmation_is_offered_to_the_model_only_where_it_is_asked_for() -> None:
    async def call() -> None:
        for mode, is_offered in (("confirm", True), ("allow", False)):
            llm = FakeLLM(["Hello."])
            session = await flying(llm, mode)  # type: ignore[arg-type]
            await session.run(user_input="hi")
            tool = next(t for t in llm.requests[0].tools if t.id == "book_flight")
            assert ("_lk_agents_confirm_duplicate" in tool.spec.parameters["properties"]) is is_offered  # type: ignore[attr-defined]
            await session.aclose()

    run_virtual(call())


def test_a_replaced_call_is_cancelled() -> None:
    async def call() -> None:
        llm = FakeLLM([CALL, "Looking.", CALL, "Looking again.", "Found.", "Done."])
        session = await flying(llm, "replace")
        await session.run(user_input="Fly me to Tokyo")
        await session.run(user_input="Once more")
        assert any("was cancelled" in output for output in outputs(session))
        await asyncio.sleep(12)
        assert sum("FL-847293" in output for output in outputs(session)) == 1
        await session.aclose()

    run_virtual(call())


def test_the_model_can_list_and_cancel_what_runs() -> None:
    async def call() -> None:
        llm = FakeLLM([CALL, "Looking.", Reply(calls=[("get_running_tasks", {})]), "One booking."])
        session = await flying(llm)
        await session.run(user_input="Fly me to Tokyo")
        await session.run(user_input="What are you doing?")
        call_id = next(item.call_id for item in session.history.items if item.type == "function_call")
        assert call_id in outputs(session)[-1]
        llm.extend([Reply(calls=[("cancel_task", {"call_id": call_id})]), "Cancelled."])
        await session.run(user_input="Stop that")
        assert f"Task {call_id} cancelled successfully." in outputs(session)
        await asyncio.sleep(20)
        assert not any("FL-847293" in output for output in outputs(session))
        llm.extend([Reply(calls=[("cancel_task", {"call_id": call_id})]), "It is over."])
        await session.run(user_input="Stop it again")
        assert outputs(session)[-1] == f"Task {call_id} not found or already completed."
        await session.aclose()

    run_virtual(call())


def test_a_write_cannot_be_cancelled_by_the_model() -> None:
    @function_tool(effect="writes", flags=ToolFlag.CANCELLABLE)
    async def pay(ctx: RunContext[Any]) -> str:
        """Pay."""
        await ctx.update("paying")
        await asyncio.sleep(5)
        return "paid"

    async def call() -> None:
        llm = FakeLLM([Reply(calls=[("pay", {})]), "Paying."])
        session: AgentSession[Any] = AgentSession(llm=llm)
        await session.start(Agent(tools=[pay]))
        await session.run(user_input="pay")
        call_id = next(item.call_id for item in session.history.items if item.type == "function_call")
        llm.extend([Reply(calls=[("cancel_task", {"call_id": call_id})]), "It cannot be stopped.", "Paid."])
        await session.run(user_input="stop")
        assert outputs(session)[-1] == f"Task {call_id} cannot be cancelled."
        await asyncio.sleep(6)
        assert "paid" in outputs(session)
        await session.aclose()

    run_virtual(call())


def test_there_are_no_task_tools_where_nothing_can_be_cancelled() -> None:
    @function_tool
    async def plain() -> str:
        """Plain."""
        return "x"

    async def call() -> None:
        llm = FakeLLM(["hi"])
        session: AgentSession[Any] = AgentSession(llm=llm)
        await session.start(Agent(tools=[plain]))
        await session.run(user_input="hello")
        assert [tool.id for tool in llm.requests[0].tools] == ["plain"]
        await session.aclose()

    run_virtual(call())


def test_a_sessions_toolset_outlives_a_handoff_and_tells_the_agent_then_in_charge() -> None:
    class Second(Agent):
        pass

    @function_tool
    async def transfer() -> Agent:
        """Transfer."""
        return Second(instructions="second")

    async def call() -> None:
        llm = FakeLLM([CALL, "Looking.", Reply(calls=[("transfer", {})]), "Found.", "All set."])
        session: AgentSession[Any] = AgentSession(llm=llm, tools=[AsyncToolset(id="b", tools=[book_flight])])
        await session.start(Agent(tools=[transfer]))
        await session.run(user_input="Fly me to Tokyo")
        await session.run(user_input="transfer me")
        assert isinstance(session.current_agent, Second)
        await asyncio.sleep(12)
        assert transcript(session.history)[-1] == "assistant: All set."
        assert any("FL-847293" in line for line in transcript(session.current_agent.chat_ctx))
        await session.aclose()

    run_virtual(call())


def test_an_agents_toolset_closes_with_it() -> None:
    cancelled = asyncio.Event()

    @function_tool
    async def slow(ctx: AsyncRunContext[Any]) -> str:
        """Slow."""
        await ctx.update("working")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "done"

    @function_tool
    async def transfer() -> Agent:
        """Transfer."""
        return Agent(instructions="second")

    async def call() -> None:
        llm = FakeLLM([Reply(calls=[("slow", {})]), "Working.", Reply(calls=[("transfer", {})])])
        session: AgentSession[Any] = AgentSession(llm=llm)
        await session.start(Agent(tools=[AsyncToolset(id="b", tools=[slow]), transfer]))
        await session.run(user_input="go")
        await session.run(user_input="transfer me")
        await asyncio.sleep(1)
        assert cancelled.is_set()
        await session.aclose()

    run_virtual(call())


def test_cancel_by_the_application() -> None:
    async def call() -> None:
        llm = FakeLLM([CALL, "Looking."])
        session: AgentSession[Any] = AgentSession(llm=llm)
        toolset = AsyncToolset(id="b", tools=[book_flight])
        await session.start(Agent(tools=[toolset]))
        await session.run(user_input="Fly me to Tokyo")
        call_id = next(item.call_id for item in session.history.items if item.type == "function_call")
        assert await toolset.cancel(call_id)
        assert not await toolset.cancel(call_id)
        await session.aclose()

    run_virtual(call())


def test_an_error_in_the_background_is_told() -> None:
    @function_tool
    async def fails(ctx: AsyncRunContext[Any]) -> str:
        """Fails."""
        await ctx.update("trying")
        await asyncio.sleep(1)
        raise ToolError("no seats left")

    async def call() -> None:
        llm = FakeLLM([Reply(calls=[("fails", {})]), "Trying.", "There are no seats."])
        session: AgentSession[Any] = AgentSession(llm=llm)
        await session.start(Agent(tools=[AsyncToolset(id="b", tools=[fails])]))
        await session.run(user_input="go")
        await asyncio.sleep(2)
        assert transcript(session.history)[-1] == "assistant: There are no seats."
        await session.aclose()

    run_virtual(call())
