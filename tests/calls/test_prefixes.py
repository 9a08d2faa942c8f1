"""What a model was shown stays as it was, so that caches of prefixes hold: requests only grow, but for what was cut."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, RunContext, function_tool
from antiphon.chat import NOTE_ID, REPLY_INSTRUCTIONS_ID, ChatContext
from antiphon.providers.openai_format import wire_messages
from antiphon.testing import FakeLLM, Reply, run_virtual, wait_until
from tests.calls import VoiceCall


def shown(llm: FakeLLM) -> list[list[dict[str, Any]]]:
    """The messages of each request, without the notes for its response only, which stand behind all others."""
    requests = []
    for request in llm.requests:
        items = list(request.chat_ctx.items)
        while items and items[-1].id.startswith((NOTE_ID, REPLY_INSTRUCTIONS_ID)):
            items.pop()
        requests.append(wire_messages(ChatContext(items)))
    return requests


def changed(llm: FakeLLM) -> list[int]:
    """The requests that do not begin with all that the one before them showed."""
    requests = shown(llm)
    return [at for at in range(1, len(requests)) if requests[at][: len(requests[at - 1])] != requests[at - 1]]


class Clerk(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You look things up.")

    @function_tool
    async def look(self, seconds: float) -> str:
        """Look."""
        await asyncio.sleep(seconds)
        return "found **two**"

    @function_tool
    async def comment(self, ctx: RunContext[Any]) -> str:
        """Say something."""
        ctx.session.say("This is *how* it goes.")
        return "said"

    @function_tool
    async def work(self, ctx: RunContext[Any]) -> str:
        """Work."""
        await ctx.update("Under **way**.")
        await asyncio.sleep(4.0)
        return "worked"


class Shouting(Clerk):
    async def tts_node(self, text: Any, model_settings: Any) -> Any:
        async def louder() -> Any:
            async for piece in text:
                yield piece.upper()

        async for frame in Agent.default.tts_node(self, louder(), model_settings):
            yield frame


LOOKS = "**One moment**, let me look that up for you:\n\n- in the *first* place"


@pytest.mark.parametrize("agent", [Clerk, Shouting])
def test_each_request_of_a_long_call_by_voice_begins_with_the_one_before_it(agent: type[Clerk]) -> None:
    async def main() -> None:
        turns: list[Any] = []
        for seconds in (0.0, 0.5, 3.0, 9.0):
            look = ("look", {"seconds": seconds})
            turns += [Reply(LOOKS, [look]), Reply("And *again*.", [look]), "I have found **two** of them."]
            turns += [Reply("*Listen*.", [("comment", {})]), "That is **all**."]
        llm = FakeLLM([*turns, Reply("I *begin*.", [("work", {})]), "It is **under way**.", "It is **done**.", "Yes."])
        async with VoiceCall(llm, ["look it up please", "and say something"] * 4 + ["work", "good"]) as call:
            await call.begin(agent())
            for _ in range(10):
                await call.microphone.speak(1.0)
                await asyncio.sleep(25.0)
        assert len(llm.requests) == len(turns) + 4
        assert changed(llm) == []

    run_virtual(main())


def test_a_message_before_a_call_is_shown_as_it_was_written_before_and_after_it_has_sounded() -> None:
    async def main() -> None:
        llm = FakeLLM([Reply(LOOKS, [("look", {"seconds": 0.2})]), "Found.", "Yes."])
        async with VoiceCall(llm, ["look it up please", "good"]) as call:
            await call.begin(Clerk())
            for _ in range(2):
                await call.microphone.speak(1.0)
                await asyncio.sleep(10.0)
        before, after = shown(llm)[1:]
        assert before[2]["content"] == after[2]["content"] == LOOKS

    run_virtual(main())


def test_a_message_that_was_cut_is_shown_as_it_was_heard_and_nothing_else_changes() -> None:
    async def main() -> None:
        llm = FakeLLM(["**Welcome**.", Reply(LOOKS, [("look", {"seconds": 0.2})]), "Found *it*.", "Yes.", "Bye."])
        async with VoiceCall(llm, ["hello", "look it up please", "no stop that", "good"]) as call:
            await call.begin(Clerk())
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
            await call.microphone.speak(1.0)
            await wait_until(lambda: len(llm.requests) == 3)
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
        assert changed(llm) == [3]
        before, after = shown(llm)[2:4]
        cut = next(at for at, message in enumerate(before) if message != after[at])
        assert before[cut]["content"] == LOOKS
        assert after[cut]["content"] == "One"
        assert before[cut + 1 :] == after[cut + 1 : len(before)]

    run_virtual(main())
