"""Random calls: whatever the caller, the model and the tools do, nothing is left behind and nothing is inconsistent."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AgentTask, ProviderError, RunContext, ToolError, function_tool
from antiphon.llm import ChatRequest
from antiphon.testing import (
    Fail,
    FakeLLM,
    FakeMicrophone,
    FakeSpeaker,
    FakeSTT,
    FakeTTS,
    FakeVAD,
    Reply,
    check_pairs,
    now,
    run_virtual,
)

WORDS = "one two three four five six seven eight nine ten".split()


def sentence(rng: random.Random, most: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, most))).capitalize() + "."


class Ask(AgentTask[str]):
    async def on_enter(self) -> None:
        self.session.say("What is it?")

    @function_tool
    async def give(self, n: int) -> None:
        """Give."""
        if not self.done():
            self.complete(str(n))


class Second(Agent):
    def __init__(self, rng: random.Random) -> None:
        super().__init__(instructions="Second.")
        self.rng = rng

    async def on_enter(self) -> None:
        self.session.generate_reply(instructions="Greet.")

    @function_tool
    async def back(self, n: int) -> Agent:
        """Go back."""
        return First(self.rng)


class First(Agent):
    def __init__(self, rng: random.Random) -> None:
        super().__init__(instructions="First.")
        self.rng = rng

    @function_tool(effect="reads")
    async def read(self, n: int) -> str:
        """Read."""
        await asyncio.sleep(self.rng.random() * 3)
        return "read"

    @function_tool
    async def slow(self, n: int) -> str:
        """Take a while."""
        await asyncio.sleep(self.rng.random() * 6)
        return "slow"

    @function_tool(effect="writes")
    async def write(self, n: int) -> str:
        """Write."""
        await asyncio.sleep(self.rng.random() * 4)
        return "written"

    @function_tool
    async def speak(self, ctx: RunContext, n: int) -> str:
        """Speak."""
        handle = ctx.session.say(sentence(self.rng, 10))
        if self.rng.random() < 0.5:
            await handle
        if self.rng.random() < 0.3:
            ctx.disallow_interruptions()
        if self.rng.random() < 0.3:
            await ctx.wait_for_playout()
        return "spoken"

    @function_tool
    async def work(self, ctx: RunContext, n: int) -> str:
        """Work in the background."""
        await ctx.update("Working.")
        await asyncio.sleep(self.rng.random() * 5)
        await ctx.update("Still working.", silent=self.rng.random() < 0.5)
        await asyncio.sleep(self.rng.random() * 5)
        return "worked"

    @function_tool
    async def ask(self, n: int) -> str:
        """Ask."""
        return await Ask(instructions="Ask.")

    @function_tool
    async def move(self, n: int) -> Any:
        """Move."""
        agent = Second(self.rng)
        return (agent, "moving") if self.rng.random() < 0.5 else agent

    @function_tool
    async def refuse(self, n: int) -> str:
        """Refuse."""
        raise ToolError("no")


def model(rng: random.Random, *, wordless: float = 0.2) -> FakeLLM:
    """One that says anything, calls whatever tools there are, and fails now and then.

    `wordless`: the share of its answers that have no text.
    """

    def script(request: ChatRequest) -> Reply | Fail:
        names = [tool.id for tool in request.tools if tool.id not in ("get_running_tasks", "cancel_task")]
        text = "" if rng.random() < wordless else sentence(rng, 25)
        if rng.random() < 0.03:
            return Fail(ProviderError("no luck"), text=text)
        count = rng.choice([1, 1, 1, 2, 3]) if names and rng.random() < 0.55 else 0
        return Reply(text, [(rng.choice(names), {"n": rng.randint(1, 2)}) for _ in range(count)])

    return FakeLLM(script, tokens_per_second=rng.choice([20, 100]))


async def call(rng: random.Random) -> None:
    llm = model(rng)
    microphone, speaker = FakeMicrophone(), FakeSpeaker()
    by_voice = rng.random() < 0.7
    utterances = [rng.choice(["", sentence(rng, 6), sentence(rng, 6), "yeah"]) for _ in range(50)]
    session = (
        AgentSession[Any](
            llm=llm, tts=FakeTTS(speed=rng.choice([None, 2, 0.9])), stt=FakeSTT(utterances), vad=FakeVAD()
        )
        if by_voice
        else AgentSession[Any](llm=llm)
    )
    handles: list[Any] = []
    closed = asyncio.Event()
    session.on("speech_created", lambda event: handles.append(event.speech_handle))
    session.on("close", lambda _: closed.set())
    if by_voice:
        await session.start(First(rng), input=microphone, output=speaker)
    else:
        await session.start(First(rng))
    for _ in range(rng.randint(3, 14)):
        await act(rng, session, microphone if by_voice else None)
        await asyncio.sleep(rng.choice([0, 0.05, 0.5, 2, 5]))
    if rng.random() < 0.7:
        await come_to_rest(rng, session)
    began = now()
    if rng.random() < 0.3:
        session.shutdown()
        await closed.wait()
        assert now() - began <= session.options.drain_timeout + session.options.close_grace + 0.5
    else:
        await session.aclose()
        assert now() - began <= session.options.close_grace + 0.5
    assert closed.is_set() and all(handle.done() for handle in handles)
    check_pairs(session.history)
    assert len({item.id for item in session.history.items}) == len(session.history.items)
    microphone.end()
    assert speaker.queued == 0


async def come_to_rest(rng: random.Random, session: AgentSession[Any]) -> None:
    """Until nothing is left to do. Where the agent asked something, the caller answers."""
    for _ in range(60):
        try:
            async with asyncio.timeout(60):
                await session.wait_for_idle()
        except TimeoutError:
            session.submit_user_turn(sentence(rng, 6))
        else:
            return
    await session.aclose()  # what it holds must not stay, whatever is wrong with it
    raise AssertionError("the session did not come to rest within an hour")


async def act(rng: random.Random, session: AgentSession[Any], microphone: FakeMicrophone | None) -> None:
    chance = rng.random()
    if microphone is not None and chance < 0.5:
        await microphone.speak(rng.choice([0.2, 0.6, 1.2]))
    elif chance < 0.7:
        session.submit_user_turn(sentence(rng, 6))
    elif chance < 0.8:
        session.say(sentence(rng, 20), allow_interruptions=rng.random() < 0.7)
    elif chance < 0.88:
        session.generate_reply(instructions="Go on.")
    elif chance < 0.95:
        session.interrupt(force=rng.random() < 0.5)
    else:
        session.update_agent(Second(rng))


# 163 and 220: a request that was put together late showed the same call twice.
@pytest.mark.parametrize("seed", [*range(40), 163, 220])
def test_a_random_call_leaves_nothing_behind(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    run_virtual(call(random.Random(seed)))
    problems = [r for r in caplog.records if r.levelno >= logging.ERROR and "no luck" not in r.getMessage()]
    assert not problems
