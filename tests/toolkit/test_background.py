"""Background tools in sessions: updates, results, duplicates, cancelling, and who closes what."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, ToolDefinitionError, ToolError, ToolFlag, function_tool
from antiphon.options import DuplicateMode, Effect
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


@pytest.mark.parametrize("effect", ["writes", "unsaid"])
def test_an_agents_toolset_leaves_what_writes_to_the_session_when_it_closes(effect: Effect) -> None:
    @function_tool(effect=effect)
    async def book(ctx: AsyncRunContext[Any]) -> str:
        """Book."""
        await ctx.update("Booking.", silent=True)
        await asyncio.sleep(5)
        return "booked"

    second = Agent(id="second")

    @function_tool
    async def transfer() -> Agent:
        """Transfer."""
        return second

    async def call() -> None:
        goes_on = effect == "writes"
        llm = FakeLLM([Reply(calls=[("book", {})]), Reply(calls=[("transfer", {})]), *["It is booked."] * goes_on])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[AsyncToolset(id="b", tools=[book]), transfer]))
            await session.run(user_input="Book.")
            await session.run(user_input="Put me through.")
            await asyncio.sleep(10)
            assert llm.remaining == 0
            assert ("assistant: It is booked." in transcript(second.chat_ctx)) is goes_on
            assert outputs(session)[-1] == ("booked" if goes_on else "`book` was cancelled.")

    run_virtual(call())


def test_what_writes_cannot_be_cancelled_by_the_application_either() -> None:
    @function_tool(effect="writes")
    async def pay(ctx: AsyncRunContext[Any]) -> str:
        """Pay."""
        await ctx.update("Paying.", silent=True)
        await asyncio.sleep(5)
        return "paid"

    async def call() -> None:
        toolset = AsyncToolset(id="b", tools=[pay])
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("pay", {})]), "Paid."])) as session:
            await session.start(Agent(tools=[toolset]))
            await session.run(user_input="Pay.")
            with pytest.raises(ToolError, match="cannot be cancelled"):
                await toolset.cancel("call_1")
            await asyncio.sleep(10)
            assert outputs(session)[-1] == "paid"

    run_virtual(call())


def test_a_toolset_may_serve_several_sessions_and_closes_in_each_by_itself() -> None:
    @function_tool
    async def slow(ctx: AsyncRunContext[Any], number: int) -> str:
        """Slow."""
        await ctx.update("Working.", silent=True)
        await asyncio.sleep(5)
        return f"done {number}"

    async def call() -> None:
        toolset = AsyncToolset(id="b", tools=[slow])
        sessions = []
        for number in range(3):
            llm = FakeLLM([Reply(calls=[("slow", {"number": number})]), "Done."])
            session = AgentSession[Any](llm=llm)
            await session.start(Agent(tools=[toolset]))
            await session.run(user_input="Go.")
            sessions.append(session)
        first, second, third = sessions
        await second.aclose()
        await asyncio.sleep(3)
        await toolset.aclose()  # by the application: everywhere
        assert not await toolset.cancel("call_1")
        await asyncio.sleep(10)
        for session in (first, third):
            assert outputs(session)[-1] == "`slow` was cancelled."
            await session.aclose()

    run_virtual(call())


def test_a_session_that_ends_leaves_the_calls_of_others_alone() -> None:
    async def call() -> None:
        toolset = AsyncToolset(id="b", tools=[book_flight])
        ending = AgentSession[Any](llm=FakeLLM(["Hello."]))
        await ending.start(Agent(tools=[toolset]))
        await ending.run(user_input="Hi.")
        going = AgentSession[Any](llm=FakeLLM([CALL, "Looking it up.", "Found three.", "All set."]))
        await going.start(Agent(tools=[toolset]))
        await going.run(user_input="Fly me to Tokyo")
        await ending.aclose()
        await asyncio.sleep(12)
        assert transcript(going.history)[-1] == "assistant: All set."
        await going.aclose()

    run_virtual(call())


def test_tools_of_the_set_that_do_not_ask_for_its_context_are_its_own_all_the_same() -> None:
    @function_tool
    async def plain(ctx: RunContext[Any]) -> str:
        """Plain."""
        await ctx.update("Working.", silent=True)
        await asyncio.sleep(60)
        return "done"

    async def call() -> None:
        toolset = AsyncToolset(id="b", tools=[plain])
        llm = FakeLLM([Reply(calls=[("plain", {})]), Reply(calls=[("plain", {})])])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[toolset]))
            await session.run(user_input="Go.")
            assert await toolset.cancel("call_1")
            await session.run(user_input="Go.")
            await toolset.aclose()
            await session.wait_for_idle()
            assert outputs(session).count("`plain` was cancelled.") == 2

    run_virtual(call())


def test_a_tool_that_needs_the_set_is_refused_outside_of_one() -> None:
    with pytest.raises(
        ToolDefinitionError, match="'ctx' is a AsyncRunContext, which only the tools of an AsyncToolset"
    ):
        Agent(tools=[book_flight])


def test_a_mode_that_there_is_not_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="must be one of allow, replace, reject, confirm, got 'maybe'"):
        AsyncToolset(id="b", on_duplicate_call="maybe")  # type: ignore[arg-type]


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


async def tidy(seconds: float, ended: list[float]) -> None:
    """Work that needs a while to end when it is cancelled."""
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(seconds)
        ended.append(asyncio.get_running_loop().time())


@pytest.mark.parametrize(("needs", "after"), [(0.25, 0.25), (5.0, 1.0)])
def test_cancel_returns_when_the_task_has_ended_or_is_abandoned(needs: float, after: float) -> None:
    ended: list[float] = []

    @function_tool
    async def slow(ctx: AsyncRunContext[Any]) -> None:
        """Slow."""
        await ctx.update("Working.", silent=True)
        await tidy(needs, ended)

    async def call() -> None:
        toolset = AsyncToolset(id="b", tools=[slow])
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("slow", {})])])) as session:
            await session.start(Agent(tools=[toolset]))
            await session.run(user_input="Go.")
            asked = asyncio.get_running_loop().time()
            assert await toolset.cancel("call_1")
            assert asyncio.get_running_loop().time() - asked == pytest.approx(after)
            assert bool(ended) is (needs < 1.0)

    run_virtual(call())


def test_the_model_is_told_of_a_cancellation_when_the_task_has_ended() -> None:
    ended: list[float] = []

    @function_tool
    async def slow(ctx: AsyncRunContext[Any]) -> None:
        """Slow."""
        await ctx.update("Working.", silent=True)
        await tidy(0.25, ended)

    async def call() -> None:
        told: list[bool] = []
        llm = FakeLLM([Reply(calls=[("slow", {})]), Reply(calls=[("cancel_task", {"call_id": "call_1"})]), "Stopped."])
        async with AgentSession[Any](llm=llm) as session:
            session.on("function_tools_executed", lambda event: told.append(bool(ended)))
            await session.start(Agent(tools=[AsyncToolset(id="b", tools=[slow])]))
            await session.run(user_input="Go.")
            await session.run(user_input="Stop.")
            assert told == [False, True]
            assert "Task call_1 cancelled successfully." in outputs(session)

    run_virtual(call())


def test_the_application_lists_and_cancels_what_runs_of_a_set_as_the_model_does_of_all() -> None:
    async def call() -> None:
        toolset, other = AsyncToolset(id="booking", tools=[book_flight]), AsyncToolset(id="other")
        llm = FakeLLM([CALL, "Looking.", Reply(calls=[("get_running_tasks", {})]), "One booking."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[toolset, other]))
            await session.run(user_input="Fly me to Tokyo")
            [task] = await toolset.get_running_tasks()
            assert (task["type"], task["call_id"], task["name"]) == ("function_call", "call_1", "book_flight")
            assert json.loads(task["arguments"]) == TRIP
            assert await other.get_running_tasks() == []
            await session.run(user_input="What are you doing?")
            assert json.loads(outputs(session)[-1]) == [task]
            assert await other.cancel_task("call_1") == "Task call_1 not found or already completed."
            assert await toolset.cancel_task("call_1") == "Task call_1 cancelled successfully."
            assert await toolset.get_running_tasks() == []
            llm.extend(["It is over."])
            await session.run(user_input="Well?")

    run_virtual(call())


@pytest.mark.parametrize("kinds", ["result result", "update result", "result update", "update update"])
def test_results_and_updates_of_the_same_instant_on_an_idle_line_are_told_in_one_reply(kinds: str) -> None:
    @function_tool
    async def work(ctx: AsyncRunContext[Any], kind: str) -> str:
        """Work."""
        await ctx.update("Working.", silent=True)
        await asyncio.sleep(5)
        if kind == "update":
            await ctx.update("half of it is done")
            await asyncio.sleep(60)
        return "all of it is done"

    async def call() -> None:
        llm = FakeLLM([Reply(calls=[("work", {"kind": kind}) for kind in kinds.split()]), "So far.", "More."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[AsyncToolset(id="b", tools=[work], on_duplicate_call="allow")]))
            await session.run(user_input="Go.")
            await asyncio.sleep(10)
            assert [line for line in transcript(session.history) if line.startswith("assistant")] == [
                "assistant: So far."
            ]
            asked = llm.requests[-1]
            assert sum("of it is done" in line for line in transcript(asked.chat_ctx)) == 2
            assert (asked.tool_choice != "none" and bool(asked.tools)) is ("result" in kinds)

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
