"""What a run waits for when a task has its result: whatever the tool that awaited it does with it."""

from __future__ import annotations

import asyncio

import pytest

from antiphon import Agent, AgentSession, AgentTask, function_tool
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript


class AskName(AgentTask[str]):
    async def on_enter(self) -> None:
        self.session.say("Your name?")

    @function_tool
    async def name(self, name: str) -> None:
        """Note the name."""
        self.complete(name)


class Host(Agent):
    def __init__(self, delay: float) -> None:
        super().__init__()
        self._delay = delay

    @function_tool
    async def sign_in(self) -> str:
        """Sign the caller in."""
        name = await AskName()
        await asyncio.sleep(self._delay)
        return f"{name} is in."


@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_a_run_that_completes_a_task_lasts_until_the_reply_about_it(delay: float) -> None:
    async def call() -> None:
        llm = FakeLLM([Reply(calls=[("sign_in", {})]), Reply(calls=[("name", {"name": "Bo"})]), "Welcome, Bo."])
        async with AgentSession(llm=llm) as session:
            await session.start(Host(delay))
            await session.run(user_input="Let me in.")
            await session.run(user_input="I am Bo.")
            assert transcript(session.history)[-2:] == ["output sign_in: Bo is in.", "assistant: Welcome, Bo."]

    run_virtual(call())
