"""What was said and done in one call may be stored, and known in a later one."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from antiphon import Agent, AgentSession, ChatContext, ChatMessage, FunctionCallOutput, function_tool
from antiphon.providers.openai_format import wire_messages
from antiphon.testing import FakeLLM, Reply, check_pairs, run_virtual, transcript


@function_tool
async def look(n: int) -> str:
    """Look."""
    return f"found {n}"


async def call_about(n: int, earlier: ChatContext | None = None) -> tuple[AgentSession[Any], FakeLLM, Agent]:
    # The ids of a scripted model's calls begin with call_1 each time, as those of many endpoints do.
    llm = FakeLLM([Reply(calls=[("look", {"n": n})]), f"Here is {n}."])
    agent = Agent(tools=[look], chat_ctx=earlier)
    async with AgentSession[Any](llm=llm) as session:
        await session.start(agent)
        await session.run(user_input=f"Look at {n}.")
    return session, llm, agent


def said(n: int) -> list[str]:
    return [f"user: Look at {n}.", f'call look({{"n": {n}}})', f"output look: found {n}", f"assistant: Here is {n}."]


def stored(session: AgentSession[Any]) -> ChatContext:
    return ChatContext.from_dict(json.loads(json.dumps(session.history.to_dict())))


def test_calls_of_an_earlier_call_keep_their_outputs() -> None:
    async def main() -> None:
        first, _, _ = await call_about(1)
        _, llm, agent = await call_about(2, stored(first))
        assert transcript(agent.chat_ctx) == said(1) + said(2)
        check_pairs(agent.chat_ctx)
        outputs = [
            message["content"] for message in wire_messages(llm.requests[-1].chat_ctx) if message["role"] == "tool"
        ]
        assert outputs == ["found 1", "found 2"]

    run_virtual(main())


def test_calls_of_a_context_given_during_the_call_keep_their_outputs() -> None:
    async def main() -> None:
        first, _, _ = await call_about(1)
        agent = Agent(tools=[look])
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("look", {"n": 2})]), "Here is 2."])) as session:
            await session.start(agent)
            await agent.update_chat_ctx(stored(first))
            await session.run(user_input="Look at 2.")
        check_pairs(agent.chat_ctx)
        outputs = [item.output for item in agent.chat_ctx.items if isinstance(item, FunctionCallOutput)]
        assert outputs == ["found 1", "found 2"]

    run_virtual(main())


def test_the_histories_of_two_calls_merge_without_loss() -> None:
    async def main() -> None:
        first, _, _ = await call_about(1)
        second, _, _ = await call_about(2)
        both = first.history.copy().merge(second.history)
        assert sorted(transcript(both)) == sorted(said(1) + said(2))

    run_virtual(main())


def test_an_item_made_in_another_process_has_another_id() -> None:
    script = "from antiphon import ChatMessage; print([ChatMessage('user', 'Hi.').id for _ in range(100)])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(json.loads(run.stdout.replace("'", '"'))) & {ChatMessage("user", "Hi.").id for _ in range(100)}
