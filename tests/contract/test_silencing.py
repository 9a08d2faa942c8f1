"""What is silenced, and what is not: by a turn of the caller, by the application, and by a tool itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentTask, RunContext, function_tool
from antiphon.llm import ChatRequest
from antiphon.options import Effect
from antiphon.testing import FakeLLM, Reply, SimulatedCall, run_virtual, transcript
from antiphon.testing.fakes import Turn

LONG = "This is a rather long answer that goes on and on and on for quite a while so that one can speak over it."


def told(request: ChatRequest) -> Turn:
    """Calls `work` when the caller says "begin"; else tells the newest result and answers the newest turn."""
    lines = transcript(request.chat_ctx)
    if lines[-1] == "user: begin":
        return Reply(calls=[("work", {})])
    results = [line.removeprefix("output work: ") for line in lines if line.startswith("output work: result")]
    answer = f"Answer: {lines[-1].removeprefix('user: ')}." if lines[-1].startswith("user: ") else ""
    return " ".join([*(f"Here is {result}." for result in results[-1:]), answer]).strip() or "Working on it."


def call_of(script: Any, **options: Any) -> SimulatedCall:
    llm = FakeLLM(script, ttft=0.1, tokens_per_second=1e6)
    return SimulatedCall(llm, preemptive_generation=False, **{"max_silence": None, **options})


def said(call: SimulatedCall) -> str:
    """All that was heard of the agent."""
    return " ".join(m.text_content or "" for m in call.session.history.messages() if m.role == "assistant")


@pytest.mark.parametrize("asks", ["a tool in the background", "the application", "the application, with a model"])
def test_what_is_asked_for_while_the_caller_speaks_is_heard_once_they_have(asks: str) -> None:
    async def main() -> None:
        handles: list[Any] = []

        def announce(session: Any) -> None:
            if asks.endswith("model"):
                handles.append(session.generate_reply(instructions="Say that the parcel is sent."))
            else:
                handles.append(session.say("Your parcel has just been sent."))

        @function_tool(effect="writes")
        async def work(ctx: RunContext) -> None:
            """Work."""
            await ctx.update("started", silent=True)
            await asyncio.sleep(2.0)
            if asks == "a tool in the background":
                announce(ctx.session)

        def script(request: ChatRequest) -> Turn:
            newest = request.chat_ctx.messages()[-1].text_content or ""
            return "Your parcel has just been sent." if "the parcel is sent" in newest else told(request)

        async with call_of(script) as call:
            await call.start(Agent(tools=[work]))
            await call.caller.says("begin")
            await asyncio.sleep(1.2)
            if asks != "a tool in the background":
                asyncio.get_running_loop().call_later(1.0, announce, call.session)
            await call.caller.says("and what is the weather going to be like on the weekend")
            await call.settled()
            assert said(call).count("parcel") == 1 and not handles[0].interrupted
            assert "Answer: and what is the weather" in said(call)

    run_virtual(main())


@pytest.mark.parametrize("effect", ["unsaid", "reads", "writes"])
def test_a_tool_that_has_everything_silenced_keeps_its_call_and_the_caller_is_answered(effect: Effect) -> None:
    @function_tool(effect=effect)
    async def work(ctx: RunContext) -> str:
        """Work."""
        await asyncio.sleep(0.5)
        ctx.session.interrupt()
        await asyncio.sleep(0.5)
        return "result 77"

    async def main() -> None:
        async with call_of(told, max_silence=1.5) as call:
            await call.start(Agent(tools=[work]))
            await call.caller.says("begin")
            await call.settled()
            assert said(call).count("result 77") == 1

    run_virtual(main())


def test_a_tool_that_has_everything_silenced_is_not_spoken_over_by_what_it_said_before() -> None:
    @function_tool
    async def work(ctx: RunContext) -> str:
        """Work."""
        await asyncio.sleep(1.0)
        ctx.session.interrupt()
        return "result 77"

    def script(request: ChatRequest) -> Turn:
        turn = told(request)
        return Reply(LONG, turn.calls) if isinstance(turn, Reply) else turn

    async def main() -> None:
        async with call_of(script) as call:
            await call.start(Agent(tools=[work]))
            await call.caller.says("begin")
            await call.settled()
            assert "Here is result 77." in said(call) and LONG not in said(call)

    run_virtual(main())


class Ask(AgentTask[str]):
    """A task that the agent below awaits."""

    def __init__(self) -> None:
        super().__init__(instructions="ask")

    async def on_enter(self) -> None:
        self.session.say("What would you like?")

    @function_tool
    async def got(self, value: str) -> None:
        """Got it."""
        self.complete(value)


@pytest.mark.parametrize("typed", [True, False])
def test_a_turn_to_a_task_silences_all_that_the_agent_below_would_still_say(typed: bool) -> None:
    @function_tool
    async def ask(ctx: RunContext) -> str:
        """Ask."""
        return await Ask()

    def script(request: ChatRequest) -> Turn:
        if [tool.id for tool in request.tools] == ["got"]:
            return "The task heard you."
        if transcript(request.chat_ctx)[-1] == "user: second":
            return Reply(f"Second. {LONG}", [("ask", {})])
        return f"First. {LONG}"

    async def main() -> None:
        async with call_of(script) as call:
            await call.start(Agent(tools=[ask]))
            await call.caller.says("first")
            await asyncio.sleep(0.75)
            call.session.generate_reply(user_input="second")
            await asyncio.sleep(2.5)
            if typed:
                call.session.submit_user_turn("stop it please")
            else:
                await call.caller.says("stop it please")
            await asyncio.sleep(3.0)
            assert said(call).endswith("The task heard you.") and LONG not in said(call)

    run_virtual(main())


def test_a_tool_that_must_not_be_interrupted_protects_its_speech_up_to_the_reply_that_tells_the_result() -> None:
    async def main() -> None:
        handles: list[Any] = []

        @function_tool
        async def work(ctx: RunContext) -> str:
            """Work."""
            handles.append(ctx.speech_handle)
            assert ctx.speech_handle.allow_interruptions
            ctx.disallow_interruptions()
            assert not ctx.speech_handle.allow_interruptions
            await asyncio.sleep(1.0)
            return "result 77"

        def script(request: ChatRequest) -> Turn:
            lines = transcript(request.chat_ctx)
            if lines[-1] == "user: begin":
                return Reply(calls=[("work", {})])
            return LONG if lines[-1] == "output work: result 77" else "Answer."

        async with call_of(script) as call:
            await call.start(Agent(tools=[work]))
            await call.caller.says("begin")
            await asyncio.sleep(3.0)
            await call.caller.says("hold on a moment please")
            await call.settled()
            assert not handles[0].interrupted and not handles[0].allow_interruptions
            assert transcript(call.session.history)[-3:] == [
                f"assistant: {LONG}",
                "user: hold on a moment please",
                "assistant: Answer.",
            ]

    run_virtual(main())


@pytest.mark.parametrize("begins_after", [0.6, 0.9, 1.3])
def test_one_reply_answers_a_protected_tool_and_the_caller_who_speaks_as_it_returns(begins_after: float) -> None:
    @function_tool
    async def work(ctx: RunContext) -> str:
        """Work."""
        ctx.disallow_interruptions()
        await asyncio.sleep(2.0)
        return "result 77"

    async def main() -> None:
        async with call_of(told) as call:
            await call.start(Agent(tools=[work]))
            await call.caller.says("begin")
            await asyncio.sleep(begins_after)
            await call.caller.says("by the window if that can be done")
            await call.settled()
            assert transcript(call.session.history)[1:] == [
                "call work({})",
                "output work: result 77",
                "user: by the window if that can be done",
                "assistant: Here is result 77. Answer: by the window if that can be done.",
            ]

    run_virtual(main())
