"""What an `llm_node` may give, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from antiphon import Agent, AgentSession, ChatChunk, ChatContext, ChoiceDelta, FunctionToolCall, function_tool
from antiphon.testing import FakeLLM, Hang, Reply, run_virtual, transcript

Node = Callable[[Agent, ChatContext, list[Any], Any], Any]


def answers(node: Node) -> list[str]:
    """What the history says after one turn of an agent with this `llm_node`."""

    class Custom(Agent):
        def llm_node(self, chat_ctx: ChatContext, tools: list[Any], model_settings: Any) -> Any:
            return node(self, chat_ctx, tools, model_settings)

    async def main() -> list[str]:
        session = AgentSession[Any](llm=FakeLLM(["Default."]), failure_line="Failed.", fallback_line="Fallback.")
        async with session:
            await session.start(Custom(instructions="Role."))
            await session.run(user_input="a")
            return transcript(session.history)[1:]

    return run_virtual(main())


async def pieces() -> AsyncIterator[str]:
    yield "One "
    yield "two."


async def chunks() -> AsyncIterator[ChatChunk | None]:
    yield ChatChunk(id="1", delta=ChoiceDelta(content="One "))
    yield None
    yield ChatChunk(id="1", delta=ChoiceDelta(content="two."))
    yield ChatChunk(id="1")


async def later(value: Any) -> Any:
    await asyncio.sleep(0.1)
    return value


@pytest.mark.parametrize(
    "node",
    [
        lambda *_: "One two.",
        lambda *_: pieces(),
        lambda *_: chunks(),
        lambda *_: later("One two."),
        lambda *_: later(pieces()),
        lambda *_: ChatChunk(id="1", delta=ChoiceDelta(content="One two.")),
    ],
)
def test_text_may_come_in_any_form(node: Node) -> None:
    assert answers(node) == ["assistant: One two."]


def test_the_default_node_may_be_wrapped() -> None:
    def node(agent: Agent, chat_ctx: ChatContext, tools: list[Any], settings: Any) -> Any:
        async def wrapped() -> AsyncIterator[Any]:
            yield "Well. "
            async for chunk in Agent.default.llm_node(agent, chat_ctx, tools, settings):
                yield chunk

        return wrapped()

    assert answers(node) == ["assistant: Well. Default."]


def test_nothing_is_asked_for_again_and_then_replaced() -> None:
    assert answers(lambda *_: None) == ["assistant: Fallback."]


def test_a_wrong_type_is_an_error_that_says_what_was_expected() -> None:
    async def numbers() -> AsyncIterator[int]:
        yield 7

    assert answers(lambda *_: numbers()) == ["assistant: Failed."]


def test_the_request_is_the_nodes_own_copy() -> None:
    def node(agent: Agent, chat_ctx: ChatContext, tools: list[Any], settings: Any) -> str:
        assert transcript(chat_ctx)[0] == "system: Role."
        chat_ctx.items.clear()
        return "One."

    assert answers(node) == ["assistant: One."]


def test_a_tool_that_the_node_adds_may_be_called() -> None:
    @function_tool
    async def extra() -> None:
        """Extra."""

    def node(agent: Agent, chat_ctx: ChatContext, tools: list[Any], settings: Any) -> Any:
        tools.append(extra)
        return ChatChunk(
            id="1", delta=ChoiceDelta(tool_calls=(FunctionToolCall(name="extra", arguments="{}", call_id="c"),))
        )

    assert answers(node) == ["call extra({})", "output extra: "]


def test_an_interrupted_model_is_stopped() -> None:
    async def main() -> None:
        llm = FakeLLM([Hang("I was")])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent())
            session.submit_user_turn("a")
            await asyncio.sleep(1)
            session.interrupt()
            await asyncio.sleep(0.1)
            assert llm.stopped == 1

    run_virtual(main())


def test_what_a_model_says_before_its_calls_is_there_while_they_run() -> None:
    async def main() -> None:
        @function_tool
        async def slow() -> str:
            """Slow."""
            await asyncio.sleep(5)
            return "ok"

        async with AgentSession[Any](llm=FakeLLM([Reply("One moment.", [("slow", {})]), "Done."])) as session:
            await session.start(Agent(tools=[slow]))
            session.submit_user_turn("a")
            await asyncio.sleep(1)
            assert transcript(session.history) == ["user: a", "assistant: One moment."]

    run_virtual(main())
