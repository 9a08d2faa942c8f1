"""A session's events as messages to a page."""

from __future__ import annotations

import asyncio
from typing import Any

from antiphon import Agent, AgentSession, RunContext, ToolError, function_tool
from antiphon.calls.record import CallRecord
from antiphon.chat import FunctionCallOutput
from antiphon.console.narration import MAX_TEXT, Narration
from antiphon.console.protocol import Message
from antiphon.events import ToolCallEnded, ToolCallStarted, ToolCallUpdated
from antiphon.testing import FakeLLM, Reply, now, run_virtual, wait_until
from tests.calls.test_record import CALL, Watched


def told(agent: Agent, llm: FakeLLM, *turns: str) -> list[Message]:
    """What a page is told of a conversation in text."""
    messages: list[Message] = []

    async def call() -> None:
        async with AgentSession[Any](llm=llm) as session:
            narrate(messages, session)
            await session.start(agent)
            for turn in turns:
                await session.run(user_input=turn)

    run_virtual(call())
    return messages


def narrate(messages: list[Message], session: AgentSession[Any]) -> None:
    record = CallRecord(now)
    record.listen(session)
    Narration(messages.append, record).listen(session)


def of(messages: list[Message], kind: str) -> list[Message]:
    return [message for message in messages if message["type"] == kind]


@function_tool
async def look(context: RunContext[Any], what: str) -> str:
    """Look at something."""
    if what == "nothing":
        raise ToolError("there is nothing")
    return what * 3


def test_a_call_with_its_arguments_its_end_and_its_output() -> None:
    messages = told(
        Agent(instructions="", tools=[look]), FakeLLM([Reply(calls=[("look", {"what": "ab"})]), "Done."]), "Look"
    )
    tools = of(messages, "tool")
    assert [(m["status"], m["text"]) for m in tools] == [("started", None), ("done", None), ("done", "ababab")]
    assert {(m["call_id"], m["name"], m["arguments"]["what"]) for m in tools} == {(tools[0]["call_id"], "look", "ab")}


def test_a_call_that_failed_says_so() -> None:
    messages = told(
        Agent(instructions="", tools=[look]), FakeLLM([Reply(calls=[("look", {"what": "nothing"})]), "Sorry."]), "Look"
    )
    last = of(messages, "tool")[-1]
    assert (last["status"], last["text"]) == ("error", "there is nothing")


def test_a_call_that_never_ran_is_told_too() -> None:
    messages = told(Agent(instructions="", tools=[look]), FakeLLM([Reply(calls=[("leap", {})]), "Sorry."]), "Leap")
    [call] = of(messages, "tool")
    assert (call["name"], call["status"], call["seconds"]) == ("leap", "error", None)


def test_long_outputs_and_arguments_are_cut() -> None:
    long = "x" * MAX_TEXT
    messages = told(
        Agent(instructions="", tools=[look]), FakeLLM([Reply(calls=[("look", {"what": long})]), "Done."]), "Look"
    )
    last = of(messages, "tool")[-1]
    assert last["text"].startswith("x" * 1000)
    assert last["text"].endswith(" characters)")
    assert last["arguments"]["raw"].endswith(" characters)")
    assert max(len(last["text"]), len(last["arguments"]["raw"])) < MAX_TEXT + 30


def test_the_history_and_the_captions_of_a_turn() -> None:
    messages = told(Agent(instructions=""), FakeLLM(["One two."]), "Count")
    assert [(m["role"], m["text"]) for m in of(messages, "message")] == [("user", "Count"), ("assistant", "One two.")]
    assert of(messages, "said")[-1]["text"] == "One two."
    assert of(messages, "said")[-1]["final"] is True
    assert len({m["segment"] for m in of(messages, "said")}) == 1


def test_states_are_told_for_both() -> None:
    messages = told(Agent(instructions=""), FakeLLM(["One two."]), "Count")
    assert {m["user"] for m in of(messages, "state")} == {"listening"}
    states = [m["agent"] for m in of(messages, "state")]
    assert "thinking" in states
    assert states.index("thinking") < states.index("speaking")


@function_tool
async def fetch(context: RunContext[Any]) -> str:
    """Fetch something slowly."""
    await context.update("halfway there")
    await asyncio.sleep(2.0)
    return "fetched"


def test_progress_of_a_tool_in_the_background_and_its_result_are_told_under_one_call() -> None:
    messages: list[Message] = []

    async def call() -> None:
        llm = FakeLLM([Reply(calls=[("fetch", {})]), "It is on its way.", "Here it is."])
        async with AgentSession[Any](llm=llm) as session:
            narrate(messages, session)
            await session.start(Agent(instructions="", tools=[fetch]))
            session.submit_user_turn("Fetch it")
            await wait_until(lambda: [m for m in of(messages, "message") if m["text"] == "Here it is."])

    run_virtual(call())
    tools = of(messages, "tool")
    assert len({m["call_id"] for m in tools}) == 1
    assert [m["status"] for m in tools] == ["started", "updated", "done", "done"]
    assert tools[1]["text"] == "halfway there"
    assert (tools[3]["text"], tools[3]["seconds"]) == ("fetched", 2.0)


@function_tool
async def think(context: RunContext[Any]) -> str:
    """Think for long."""
    await asyncio.sleep(5.0)
    return "thought"


def test_a_call_that_the_caller_spoke_over_is_told_as_dropped_at_once() -> None:
    messages: list[Message] = []

    async def call() -> None:
        llm = FakeLLM([Reply(calls=[("think", {})]), "Never mind."])
        async with AgentSession[Any](llm=llm) as session:
            narrate(messages, session)
            await session.start(Agent(instructions="", tools=[think]))
            session.submit_user_turn("Think")
            await wait_until(lambda: of(messages, "tool"))
            session.submit_user_turn("No, leave it")
            await wait_until(lambda: [m for m in of(messages, "tool") if m["status"] == "dropped"], timeout=1.0)

    run_virtual(call())
    assert [m["status"] for m in of(messages, "tool")][:2] == ["started", "dropped"]


def test_a_call_that_takes_over_what_was_spoken_over_starts_and_ends_like_any_other() -> None:
    messages: list[Message] = []

    async def call() -> None:
        think_again = Reply(calls=[("think", {})])
        async with AgentSession[Any](llm=FakeLLM([think_again, think_again, "Thought."])) as session:
            narrate(messages, session)
            await session.start(Agent(instructions="", tools=[think]))
            session.submit_user_turn("Think")
            await wait_until(lambda: of(messages, "tool"))
            session.submit_user_turn("Well?")
            await wait_until(lambda: [m for m in of(messages, "message") if m["text"] == "Thought."])

    run_virtual(call())
    second = of(messages, "tool")[-1]["call_id"]
    assert next(m["status"] for m in of(messages, "tool") if m["call_id"] == second) == "started"
    assert of(messages, "tool")[-1]["text"] == "thought"


def test_what_a_tool_took_is_told_also_of_one_that_ended_as_the_call_began() -> None:
    messages: list[Message] = []
    session = Watched()
    Narration(messages.append, session.record)
    session.tool(0.0, ToolCallStarted(function_call=CALL))
    session.tool(0.0, ToolCallUpdated(call_id="c1", message="on it"))
    session.tool(0.0, ToolCallEnded(call_id="c1", message="", status="done"))
    session.result(2.0, FunctionCallOutput(call_id="c1/finished", name="book", output="booked"))
    assert (messages[-1]["text"], messages[-1]["seconds"]) == ("booked", 0.0)
