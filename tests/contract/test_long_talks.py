"""A talk that is longer than requests have room for: nothing that is still to be answered or told falls out of them."""

from __future__ import annotations

import asyncio
from typing import Any

from antiphon import Agent, AgentSession, AgentTask, ContextBudget, RunContext, ToolError, function_tool
from antiphon.chat import FunctionCallOutput
from antiphon.llm import ChatRequest
from antiphon.testing import FakeLLM, Reply, check_pairs, run_virtual, transcript
from antiphon.testing.fakes import Turn

TIGHT = ContextBudget(max_tokens=500, keep_turns=1, summarise=False)
QUESTIONS = 40
RAMBLING = "and then there is one more thing that came to my mind while we were talking about all of this"
ASKED = "Book me a table, and is there parking?"


class Interview(AgentTask[str]):
    """Asks far more than there is room for."""

    def __init__(self) -> None:
        super().__init__(instructions="Interview the caller.")

    async def on_enter(self) -> None:
        self.session.say("First question?")

    @function_tool
    async def finish(self) -> None:
        """All is asked."""
        self.complete("a man of taste")


class Desk(Agent):
    """Its tools come to something in front of one that takes long."""

    def __init__(self) -> None:
        super().__init__(instructions="You run the desk.")

    @function_tool(effect="writes")
    async def book(self) -> str:
        """Book a table."""
        return "booked, number 4711"

    @function_tool(effect="writes")
    async def pay(self) -> str:
        """Pay in advance."""
        raise ToolError("the card was refused, code 815")

    @function_tool(effect="reads")
    async def parking(self) -> str:
        """Look for parking."""
        return "garage at number 9"

    @function_tool
    async def interview(self) -> str:
        """Get to know the caller."""
        return await Interview()


WORK = ("book", "pay", "parking", "interview")
CAME_OF_IT = ("number 4711", "code 815", "number 9", "a man of taste")


def model(request: ChatRequest) -> Turn:
    """Makes one call after the other, interviews at length, and then tells what it sees."""
    lines = transcript(request.chat_ctx)
    tools = [tool.id for tool in request.tools]
    if "finish" in tools:
        return Reply("", [("finish", {})]) if lines[-1] == "user: That is all." else f"Go on. {RAMBLING}"
    called = [item.name for item in request.chat_ctx.items if isinstance(item, FunctionCallOutput)]
    if left := [name for name in WORK if name in tools and name not in called]:
        return Reply("", [(left[0], {})])
    return "So it is."


async def talked(asked_for: str = "") -> tuple[FakeLLM, AgentSession[Any]]:
    llm = FakeLLM(model)
    session: AgentSession[Any] = AgentSession(llm=llm, max_tool_steps=9, context_budget=TIGHT)
    async with session:
        await session.start(Desk())
        await session.say("Hello.")
        if asked_for:
            session.generate_reply(instructions=asked_for)
        else:
            session.generate_reply(user_input=ASKED)
        await session.wait_for_inactive()
        for number in range(QUESTIONS):
            await session.run(user_input=f"Answer {number}. {RAMBLING}")
        await session.run(user_input="That is all.")
        await session.wait_for_inactive()
    return llm, session


def test_what_the_tools_of_a_reply_came_to_stands_in_its_last_request_however_long_the_talk_in_between() -> None:
    llm, session = run_virtual(talked())
    last = llm.requests[-1].chat_ctx
    assert transcript(session.history)[-1] == "assistant: So it is."
    lines = transcript(last)
    still_to_be_told = lines[next(at for at, line in enumerate(lines) if "here the conversation goes on" in line) :]
    assert [one for one in CAME_OF_IT if not any(one in line for line in still_to_be_told)] == []
    check_pairs(last)


def test_no_tool_is_called_again_because_its_call_has_left_the_request() -> None:
    _, session = run_virtual(talked())
    called = [item.name for item in session.history.items if isinstance(item, FunctionCallOutput)]
    assert sorted(called) == sorted([*WORK, "finish"])


def test_the_turn_that_a_reply_is_to_answer_stands_in_its_last_request_however_long_the_talk_in_between() -> None:
    llm, _ = run_virtual(talked())
    assert f"user: {ASKED}" in transcript(llm.requests[-1].chat_ctx)


class Searching(Agent):
    """Its tool works in the background for longer than there is room for."""

    @function_tool(effect="reads", background_timeout=36_000.0)
    async def search(self, ctx: RunContext[Any]) -> str:
        """Search everywhere."""
        await ctx.update("Searching.")
        await asyncio.sleep(3_000.0)
        return "found at last"


def test_a_call_that_still_works_stands_in_each_request_however_long_the_talk() -> None:
    def searching(request: ChatRequest) -> Turn:
        asked = transcript(request.chat_ctx)[-1] == f"user: {ASKED}"
        return Reply("", [("search", {})]) if asked else f"Go on. {RAMBLING}"

    async def call() -> FakeLLM:
        llm = FakeLLM(searching)
        session: AgentSession[Any] = AgentSession(llm=llm, context_budget=TIGHT)
        async with session:
            await session.start(Searching(instructions="You search."))
            await session.run(user_input=ASKED)
            for number in range(QUESTIONS):
                await session.run(user_input=f"Answer {number}. {RAMBLING}")
        return llm

    llm = run_virtual(call())
    assert f"user: {ASKED}" not in transcript(llm.requests[-1].chat_ctx)
    assert [request for request in llm.requests[1:] if "call search({})" not in transcript(request.chat_ctx)] == []


def test_what_a_reply_was_asked_for_with_stands_before_what_its_tools_came_to() -> None:
    llm, _ = run_virtual(talked("Welcome the caller, and book."))
    lines = transcript(llm.requests[-1].chat_ctx)
    asked = next(at for at, line in enumerate(lines) if "Welcome the caller" in line)
    assert asked < next(at for at, line in enumerate(lines) if "number 4711" in line)
