"""What the caller is owed is told once, whatever happens to the speech that was to tell it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, RunContext, function_tool
from antiphon.chat import FunctionCallOutput
from antiphon.errors import ProviderError
from antiphon.llm import ChatRequest
from antiphon.testing import Fail, FakeTTS, Reply, run_virtual
from tests.situations.calls import calling, lines, model, until_heard, voiced


def outputs(request: ChatRequest) -> list[str]:
    """What the model sees of results."""
    return [item.output for item in request.chat_ctx.items if isinstance(item, FunctionCallOutput)]


def is_asked_to_tell(request: ChatRequest) -> bool:
    """The model is told that the caller has not heard something."""
    notes = [m.text_content or "" for m in request.chat_ctx.messages() if m.role == "system"]
    return any("not heard the results" in note or "New results" in note for note in notes)


def booking(seconds: float = 1.0) -> Any:
    """A tool that changes the world."""

    @function_tool(effect="writes")
    async def book() -> str:
        """Book."""
        await asyncio.sleep(seconds)
        return "number 4711"

    return book


@pytest.mark.parametrize(
    ("worse", "times"), [(Fail(ProviderError("x")), 1), ("", 2)], ids=["the model fails", "it is silent twice"]
)
def test_a_line_of_the_session_does_not_count_as_telling_a_result(worse: Any, times: int) -> None:
    asked = [0]

    def script(request: ChatRequest) -> Any:
        if not outputs(request):
            return Reply(calls=[("book", {})])
        asked[0] += 1
        return worse if asked[0] <= times else "It is number 4711."

    async def main() -> None:
        async with calling(model(script), max_silence=1.5) as call:
            await call.start(Agent(tools=[booking()]))
            await call.caller.says("book it")
            await asyncio.sleep(12)
            await call.settled()
        assert voiced(call.session, "4711") == 1, lines(call.session)

    run_virtual(main())


@pytest.mark.parametrize("hands_off", [False, True], ids=["the same agent", "a hand-off meanwhile"])
def test_a_write_that_is_done_in_a_round_that_is_cut_is_told(hands_off: bool) -> None:
    @function_tool(effect="reads")
    async def look() -> str:
        """Look."""
        await asyncio.sleep(6)
        return "free"

    def script(request: ChatRequest) -> Any:
        last = request.chat_ctx.messages()[-1].text_content or ""
        if not outputs(request) and "book" in last:
            return Reply(calls=[("book", {}), ("look", {})])
        return "It is number 4711. Anything else?" if is_asked_to_tell(request) else "As you like."

    async def main() -> None:
        async with calling(model(script)) as call:
            await call.start(Agent(instructions="A", tools=[booking(), look]))
            await call.caller.says("book it and look")
            await asyncio.sleep(2.5)
            if hands_off:
                call.session.update_agent(Agent(instructions="B", id="b"))
            await call.caller.says("wait a second please")
            await asyncio.sleep(10)
            await call.settled()
        assert voiced(call.session, "4711") == 1, lines(call.session)

    run_virtual(main())


@pytest.mark.parametrize("effect", ["unsaid", "writes"])
def test_a_tool_that_was_not_to_be_interrupted_is_not_called_again_by_the_answer_to_a_turn(effect: Any) -> None:
    ran: list[int] = []

    @function_tool(effect=effect)
    async def charge(ctx: RunContext[Any]) -> str:
        """Charge the card."""
        ran.append(1)
        ctx.disallow_interruptions()
        await asyncio.sleep(1.5)
        return "charged 99"

    def script(request: ChatRequest) -> Any:
        said = " ".join(m.text_content or "" for m in request.chat_ctx.messages() if m.role == "assistant")
        news = " ".join(output for output in outputs(request) if output not in said)
        last = request.chat_ctx.items[-1]
        if not isinstance(last, FunctionCallOutput):
            words = request.chat_ctx.messages()[-1].text_content or ""
            for word in ("book", "charge"):
                if word in words:
                    return Reply(news, [(word, {})])
        return news

    async def main() -> None:
        async with calling(model(script), tts=FakeTTS(sample_rate=16000, ttfb=1.0)) as call:
            await call.start(Agent(tools=[booking(), charge]))
            await call.caller.says("book it")
            await asyncio.sleep(0.9)
            call.session.generate_reply(user_input="and charge it")
            await until_heard(call, lambda: ran)
            await asyncio.sleep(0.3)
            call.session.submit_user_turn("hang on")
            await asyncio.sleep(10)
            await call.settled()
        assert len(ran) == 1, lines(call.session)
        assert voiced(call.session, "4711") == 1, lines(call.session)

    run_virtual(main())
