"""Questions that a tool puts to the caller: spoken as given, answered in the form asked for."""

from __future__ import annotations

import asyncio
from typing import Any

from antiphon import Agent, AgentSession, RunContext, function_tool
from antiphon.protocols import Elicited, RunningCall
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript

FORM = {
    "properties": {"size": {"type": "string", "enum": ["small", "large"]}, "count": {"type": "integer"}},
    "required": ["size", "count"],
}
BUY = Reply(calls=[("buy", {})])


class Shop(Agent):
    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Elicited] = []

    @function_tool(effect="writes", timeout=5)
    async def buy(self, ctx: RunContext) -> str:
        """Buy."""
        self.answers.append(await ctx.elicit("Which size, and how many?", FORM))
        return f"{self.answers[-1].action}ed"


async def converse(llm: FakeLLM, *turns: str, pause: float = 0.0) -> tuple[Shop, AgentSession[Any]]:
    shop = Shop()
    async with AgentSession(llm=llm) as session:
        await session.start(shop)
        for turn in turns:
            await session.run(user_input=turn)
            await asyncio.sleep(pause)
    return shop, session


def answer(**fields: object) -> Reply:
    return Reply(calls=[("give_answer", fields)])


def test_the_answer_has_the_form_and_the_question_is_spoken_as_given() -> None:
    async def test() -> None:
        llm = FakeLLM([BUY, answer(size="large", count=2), "Bought."])
        shop, session = await converse(llm, "I want one.", "Two large.")
        assert shop.answers == [Elicited("accept", {"size": "large", "count": 2})]
        lines = transcript(session.history)
        assert lines[1] == "assistant: Which size, and how many?"
        assert lines[-2:] == ["output buy: accepted", "assistant: Bought."]

    run_virtual(test())


def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    async def test() -> None:
        llm = FakeLLM([BUY, answer(size="huge", count=2), "Small or large?", answer(size="small", count=2), "Bought."])
        shop, session = await converse(llm, "I want some.", "Two huge ones.", "Then small.")
        assert shop.answers == [Elicited("accept", {"size": "small", "count": 2})]
        assert "assistant: Small or large?" in transcript(session.history)

    run_virtual(test())


def test_the_caller_may_decline() -> None:
    async def test() -> None:
        llm = FakeLLM([BUY, Reply(calls=[("decline_to_answer", {})]), "As you like."])
        shop, session = await converse(llm, "I want one.", "Forget it.")
        assert shop.answers == [Elicited("decline")]
        assert transcript(session.history)[-1] == "assistant: As you like."

    run_virtual(test())


def test_the_tools_time_limit_stands_while_the_caller_thinks() -> None:
    async def test() -> None:
        llm = FakeLLM([BUY, answer(size="large", count=1), "Bought."])
        shop, _ = await converse(llm, "I want one.", "One large.", pause=60)
        assert shop.answers[0].action == "accept"

    run_virtual(test())


def test_only_the_question_is_on_offer_while_it_is_open() -> None:
    async def test() -> None:
        llm = FakeLLM([BUY, answer(size="large", count=1), "Bought."])
        await converse(llm, "I want one.", "One large.")
        assert sorted(tool.id for tool in llm.requests[1].tools) == ["decline_to_answer", "give_answer"]

    run_virtual(test())


def test_the_context_of_a_call_is_what_toolsets_know_of_it() -> None:
    known: list[str] = []

    @function_tool
    async def buy(ctx: RunContext[Any]) -> str:
        """Buy something."""
        assert isinstance(ctx, RunningCall)
        known.append(ctx.language.code)
        return "bought"

    async def test() -> None:
        async with AgentSession[Any](llm=FakeLLM([BUY, "Bought."]), language="de") as session:
            await session.start(Agent(tools=[buy]))
            await session.run(user_input="I want one.")

    run_virtual(test())
    assert known == ["de"]
