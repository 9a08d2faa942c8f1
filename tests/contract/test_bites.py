"""Where other frameworks bite: one call for each, scripted so that it would bleed there."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, function_tool
from antiphon.testing import FakeLLM, Reply, clock, now, run_virtual, transcript
from antiphon.testing.fakes import Turn
from tests.calls import VoiceCall, converse, outputs


@pytest.mark.parametrize("effect", ["unsaid", "writes"])
@pytest.mark.parametrize("speaks_at", [1.8, 2.2, 3.0, 4.0, 4.9, 6.0])
def test_an_order_is_not_placed_twice_because_the_caller_spoke(effect: Any, speaks_at: float) -> None:
    """The caller asks "are you there?" at every stage of the order; a model in panic would order again."""
    orders: list[str] = []

    @function_tool(effect=effect)
    async def order(dish: str) -> str:
        """Order."""
        await asyncio.sleep(2.0)
        orders.append(dish)
        return f"ordered {dish}"

    def panic(request: Any) -> Turn:
        lines = transcript(request.chat_ctx)
        done = any("output order: ordered" in line for line in lines)
        told = any("still running" in line for line in lines)
        if done or told or not request.tools:
            return "Your pizza is on its way." if done else "I am at it."
        return Reply("I will order that for you.", [("order", {"dish": "pizza"})])

    async def main() -> None:
        async with VoiceCall(FakeLLM(panic), ["a pizza please", "hello are you there"]) as call:
            await call.begin(Agent(tools=[order]))
            await call.microphone.speak(1.0)
            await asyncio.sleep(speaks_at - 1.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(15.0)
            await call.session.wait_for_idle()
            assert orders == ["pizza"]
            assert transcript(call.session.history)[-1] == "assistant: Your pizza is on its way."

    run_virtual(main())


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (["Here is what I have."], "Here is what I have."),
        (["", "Here is what I have."], "Here is what I have."),
        (["", ""], "Let me start over."),
        ([Reply(calls=[("search", {})])] * 2, "Let me start over."),
    ],
)
def test_a_turn_does_not_end_in_silence_at_the_step_limit(ending: list[Turn], said: str) -> None:
    """The model searches on and on, and then has nothing to say, or calls tools that it was not offered."""

    @function_tool
    async def search() -> str:
        """Search."""
        return "nothing yet"

    async def main() -> None:
        llm = FakeLLM([*[Reply(calls=[("search", {})])] * 3, *ending])
        session = await converse(Agent(tools=[search]), "Find it.", llm=llm, fallback_line="Let me start over.")
        assert outputs(session) == ["nothing yet"] * 3
        assert transcript(session.history)[-1] == f"assistant: {said}"
        assert all(not request.tools for request in llm.requests[3:])
        if len(ending) > 1:  # the second time it is told why
            assert llm.histories[4] != llm.histories[3]

    run_virtual(main())


class Billing(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You are billing.")

    async def on_enter(self) -> None:
        await self.session.generate_reply(instructions="Greet.")


@pytest.mark.parametrize("speaks_at", [1.5, 1.8, 2.0, 2.4, 3.0, 4.0, 5.0, 6.5])
def test_a_turn_of_the_caller_is_not_lost_in_a_handoff(speaks_at: float) -> None:
    """The caller goes on speaking at every stage of a hand-off that takes three seconds."""

    class Front(Agent):
        @function_tool
        async def transfer(self) -> Any:
            """Transfer."""
            await asyncio.sleep(0.5)
            return Billing(), "Transferring."

        async def on_exit(self) -> None:
            await asyncio.sleep(1.0)

    def answer(request: Any) -> Turn:
        lines = transcript(request.chat_ctx)
        if "number seven" in " ".join(lines):
            return "Number seven it is."
        if lines[0].startswith("system: You are billing."):
            return "Billing, hello."
        return "One moment, I am putting you through." if not request.tools else Reply(calls=[("transfer", {})])

    async def main() -> None:
        llm = FakeLLM(answer)
        async with VoiceCall(llm, ["it is about a bill", "it is the one with number seven"]) as call:
            await call.begin(Front(instructions="You are front."))
            await call.microphone.speak(1.0)
            await asyncio.sleep(speaks_at - 1.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(20.0)
            await call.session.wait_for_idle()
            lines = transcript(call.session.history)
            assert "user: it is the one with number seven" in lines
            assert lines[-1] == "assistant: Number seven it is."
            assert lines.index("user: it is the one with number seven") < len(lines) - 1

    run_virtual(main())


@pytest.mark.parametrize("types_at", [0.5, 1.15, 1.5, 2.2])
def test_a_turn_that_is_typed_during_a_handoff_takes_the_place_of_the_greeting(types_at: float) -> None:
    """The caller types on while the first agent works, says farewell, and leaves."""

    class Greeting(Agent):
        async def on_enter(self) -> None:
            await self.session.say("Billing, hello.")

    class Front(Agent):
        @function_tool(effect="writes")
        async def transfer(self) -> Any:
            """Transfer."""
            await asyncio.sleep(1.0)
            return Greeting(), "Transferring."

        async def on_exit(self) -> None:
            await asyncio.sleep(1.0)

    def answer(request: Any) -> Turn:
        lines = transcript(request.chat_ctx)
        if "user: Number seven." in lines:
            return "Number seven it is."
        return Reply(calls=[("transfer", {})]) if request.tools else "One moment."

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(answer)) as session:
            await session.start(Front())
            session.submit_user_turn("A bill.")
            await asyncio.sleep(types_at)
            session.submit_user_turn("Number seven.")
            await asyncio.sleep(10.0)
            lines = transcript(session.history)
            assert lines.count("user: Number seven.") == 1 and "assistant: Number seven it is." in lines
            if types_at > 1.1:
                assert lines[-1] == "assistant: Number seven it is." and "assistant: Billing, hello." not in lines

    run_virtual(main())


def test_a_tool_added_in_a_turn_may_be_called_in_that_turn() -> None:
    """A tool unlocks another one; the model calls it at once. Tools taken away are unknown at once."""

    @function_tool
    async def refund() -> str:
        """Refund."""
        return "refunded"

    class Support(Agent):
        @function_tool
        async def verify(self) -> str:
            """Verify."""
            await self.update_tools([refund])
            return "verified"

    async def main() -> None:
        llm = FakeLLM(
            [
                Reply(calls=[("verify", {})]),
                Reply(calls=[("refund", {}), ("verify", {})]),
                "Refunded.",
            ]
        )
        session = await converse(Support(), "Give me my money back.", llm=llm)
        assert outputs(session) == ["verified", "refunded", "Unknown function: verify - available tools: refund"]

    run_virtual(main())


def test_a_tool_added_beside_a_call_of_it_in_the_same_step_is_found() -> None:
    """Both calls come in one response: the second is unknown when the model makes it, and is told so, not lost."""

    @function_tool
    async def refund() -> str:
        """Refund."""
        return "refunded"

    class Support(Agent):
        @function_tool
        async def verify(self) -> str:
            """Verify."""
            await self.update_tools([*self.tools, refund])
            return "verified"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("verify", {}), ("refund", {})]), Reply(calls=[("refund", {})]), "Refunded."])
        session = await converse(Support(), "Give me my money back.", llm=llm)
        assert outputs(session)[0] == "verified" and outputs(session)[-1] == "refunded"
        assert transcript(session.history)[-1] == "assistant: Refunded."

    run_virtual(main())


async def sleeping() -> str:
    """Sleep."""
    await asyncio.sleep(1000.0)
    return ""


async def deaf() -> str:
    """Do not listen to cancellation."""
    until = now() + 20.0
    while now() < until:
        try:
            await asyncio.sleep(until - now())
        except asyncio.CancelledError:
            continue
    return ""


async def reporting(ctx: RunContext) -> str:
    """Work in the background."""
    await ctx.update("Working.")
    await asyncio.sleep(1000.0)
    return ""


async def talking(ctx: RunContext) -> str:
    """Wait for speech that never ends."""
    await ctx.session.say("This takes very long. " * 200)
    return ""


async def asking(ctx: RunContext) -> str:
    """Wait for the session that waits for it."""
    await ctx.session.aclose()
    return ""


@pytest.mark.parametrize("effect", ["unsaid", "reads", "writes"])
@pytest.mark.parametrize("tool", [sleeping, deaf, reporting, talking, asking])
@pytest.mark.parametrize("grace", [1.0, 0.2])
def test_closing_does_not_hang_whatever_the_tools_do(tool: Any, effect: Any, grace: float) -> None:
    async def main() -> None:
        llm = FakeLLM([Reply("Right.", [("work", {})]), "Working on it."])
        async with VoiceCall(llm, ["do it"], close_grace=grace) as call:
            closed: list[str] = []
            call.session.on("close", lambda event: closed.append(event.reason.value))
            work = function_tool(tool, name="work", effect=effect)
            await call.begin(Agent(tools=[work]))
            await call.microphone.speak(1.0)
            await asyncio.sleep(3.0)
            began = now()
            await call.session.aclose()
            assert now() - began <= grace + 0.3
            assert closed == ["user_initiated"]
        await asyncio.sleep(30.0)  # until the one that is deaf has ended by itself

    run_virtual(main())


def test_closing_does_not_wait_for_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "THREAD_PATIENCE", 0.02)
    release = threading.Event()

    @function_tool
    def block() -> str:
        """Block."""
        release.wait(5.0)
        return ""

    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM([Reply(calls=[("block", {})])]))
        await session.start(Agent(tools=[block]))
        session.submit_user_turn("Go.")
        await asyncio.sleep(1.0)
        began = now()
        await session.aclose()
        assert now() - began <= 1.3
        release.set()

    run_virtual(main())
