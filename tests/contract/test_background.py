"""Tools in the background: what is recorded, what is told, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon import (
    Agent,
    AgentSession,
    AsyncRunContext,
    AsyncToolset,
    FunctionCallOutput,
    RunContext,
    ToolResult,
    function_tool,
)
from antiphon.options import DuplicateMode
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from antiphon.testing.fakes import Turn
from tests.calls import VoiceCall, outputs

WORK = Reply(calls=[("work", {})])


def ids(session: AgentSession[Any]) -> list[str]:
    """Ids of the outputs in the history, each without the part that all share."""
    found = [item.call_id for item in session.history.items if isinstance(item, FunctionCallOutput)]
    return [call_id.removeprefix(found[0]) for call_id in found]


def said(session: AgentSession[Any]) -> list[str | None]:
    return [m.text_content for m in session.history.messages() if m.role == "assistant"]


async def working(
    work: Callable[[RunContext], Awaitable[Any]], script: list[Turn], *turns: str, wait: float = 30.0
) -> tuple[AgentSession[Any], FakeLLM]:
    """A call in text in which the caller asks for the work, says the turns, and waits."""

    @function_tool(name="work")
    async def tool(ctx: RunContext) -> Any:
        """Work."""
        return await work(ctx)

    llm = FakeLLM([WORK, *script])
    session = AgentSession[Any](llm=llm)
    async with session:
        await session.start(Agent(tools=[tool]))
        await session.run(user_input="Go.")
        for turn in turns:
            await session.run(user_input=turn)
        await asyncio.sleep(wait)
        await session.wait_for_idle()
    assert llm.remaining == 0
    return session, llm


def finishing(result: Any, delay: float = 5.0) -> Callable[[RunContext], Awaitable[Any]]:
    async def work(ctx: RunContext) -> Any:
        await ctx.update("Working.")
        await asyncio.sleep(delay)
        if isinstance(result, Exception):
            raise result
        return result

    return work


@pytest.mark.parametrize(
    ("result", "line", "told"),
    [
        ("done", "output work: done", True),
        ({"code": 1}, 'output work: {"code": 1}', True),
        (0, "output work: 0", True),
        (None, "output work: ", False),
        (RuntimeError("secret"), "error work: An internal error occurred", True),
    ],
)
def test_the_end_is_recorded_and_told_unless_it_is_none(result: Any, line: str, told: bool) -> None:
    async def main() -> None:
        session, _ = await working(finishing(result), ["I am at it.", *["It is over."] * told])
        assert line in transcript(session.history)
        assert ids(session) == ["", "/finished"]
        assert said(session) == ["I am at it.", *["It is over."] * told]

    run_virtual(main())


def test_updates_are_numbered_pairs_and_text_goes_through_the_template() -> None:
    async def work(ctx: RunContext) -> str:
        await ctx.update("One.")
        await asyncio.sleep(5.0)
        await ctx.update({"two": 2})
        await asyncio.sleep(5.0)
        await ctx.update("Three.", _template="{function_name} says {message}")
        await asyncio.sleep(5.0)
        return "Four."

    async def main() -> None:
        session, _ = await working(work, ["One.", "Two.", "Three.", "Four."])
        assert ids(session) == ["", "/update_1", "/update_2", "/finished"]
        first, *rest = outputs(session)
        assert first == (
            "The tool `work` has updated, message: One.\n"
            "The task is still running, so DON'T make up or give information not included in the message above."
        )
        assert rest == ['{"two": 2}', "work says Three.", "Four."]
        assert said(session) == ["One.", "Two.", "Three.", "Four."]

    run_virtual(main())


def test_a_silent_update_is_known_to_the_model_and_not_spoken_of() -> None:
    async def work(ctx: RunContext) -> str:
        await ctx.update("Begun.", silent=True)
        await asyncio.sleep(5.0)
        await ctx.update("Half.", silent=True)
        await asyncio.sleep(5.0)
        return "Done."

    async def main() -> None:
        session, llm = await working(work, ["It is done."])
        assert said(session) == ["It is done."]
        assert any("Half." in line for line in llm.histories[-1])

    run_virtual(main())


def test_updates_that_are_no_text_are_told_as_results_are() -> None:
    async def work(ctx: RunContext) -> None:
        for value in (None, ToolResult({"at": 1}, reply_required=False), ToolResult([2])):
            await ctx.update(value)
            await asyncio.sleep(5.0)

    async def main() -> None:
        session, llm = await working(work, ["At two."])
        assert outputs(session) == ["", '{"at": 1}', "[2]", ""]
        assert said(session) == ["At two."]
        assert llm.remaining == 0

    run_virtual(main())


def test_pending_updates_are_told_in_one_reply() -> None:
    async def work(ctx: RunContext) -> None:
        await ctx.update("One.")
        await asyncio.sleep(0.01)
        for text in ("Two.", "Three.", "Four."):
            await ctx.update(text)

    async def main() -> None:
        session, llm = await working(work, ["One.", "Two, three and four."])
        assert ids(session) == ["", "/update_1", "/update_2", "/update_3", "/finished"]
        assert said(session)[-1] == "Two, three and four."
        assert len(llm.requests) == 3

    run_virtual(main())


def test_an_update_is_not_told_after_a_reply_that_was_made_with_it() -> None:
    async def work(ctx: RunContext) -> None:
        await ctx.update("One.")
        await asyncio.sleep(1.0)
        await ctx.update("Two.")
        await asyncio.sleep(20.0)

    async def main() -> None:
        llm = FakeLLM([WORK, "One, and this is a rather long sentence about it.", "I am at two."])

        @function_tool(name="work")
        async def tool(ctx: RunContext) -> None:
            """Work."""
            await work(ctx)

        async with VoiceCall(llm, ["go", "how far are you"]) as call:
            await call.begin(Agent(tools=[tool]))
            await call.microphone.speak(0.5)
            await asyncio.sleep(2.5)  # the second update is in, and the line is busy
            await call.microphone.speak(1.0)
            await asyncio.sleep(30.0)
            assert said(call.session)[1:] == ["I am at two."]
            assert llm.remaining == 0 and len(llm.requests) == 3
            assert any("Two." in line for line in llm.histories[2])

    run_virtual(main())


def test_a_final_result_that_was_cut_is_told_again() -> None:
    @function_tool
    async def work(ctx: RunContext) -> str:
        """Work."""
        await ctx.update("Working.")
        await asyncio.sleep(5.0)
        return "the code is 7"

    async def main() -> None:
        llm = FakeLLM(
            [
                WORK,
                "I am at it.",
                "Well now, let me tell you what I have found out for you, namely that the code is seven.",
                "Sorry, what was that?",
                "The code is seven.",
            ]
        )
        async with VoiceCall(llm, ["go", "hold on a second"]) as call:
            await call.begin(Agent(tools=[work]))
            await call.microphone.speak(0.5)
            await asyncio.sleep(6.5)
            assert call.session.agent_state == "speaking"
            await call.microphone.speak(1.0)
            await asyncio.sleep(20.0)
            await call.session.wait_for_idle()
            assert said(call.session)[-1] == "The code is seven."
            assert outputs(call.session)[-1] == "the code is 7"

    run_virtual(main())


def test_only_for_a_final_result_may_the_model_call_tools() -> None:
    async def work(ctx: RunContext) -> str:
        await ctx.update("One.")
        await asyncio.sleep(5.0)
        await ctx.update("Two.")
        await asyncio.sleep(5.0)
        return "Three."

    async def main() -> None:
        _, llm = await working(work, ["One.", "Two.", "Three."])
        may = [bool(request.tools) and request.tool_choice != "none" for request in llm.requests]
        assert may == [True, False, False, True]

    run_virtual(main())


@pytest.mark.parametrize(
    ("effect", "line"),
    [
        (
            "unsaid",
            "error work: It is unknown whether `work` happened; do not repeat it unless the user asks for that.",
        ),
        (
            "writes",
            "error work: It is unknown whether `work` happened; do not repeat it unless the user asks for that.",
        ),
    ],
)
def test_work_in_the_background_has_ten_minutes(effect: Any, line: str) -> None:
    @function_tool(effect=effect)
    async def work(ctx: RunContext) -> str:
        """Work."""
        await ctx.update("Working.")
        await asyncio.sleep(10_000.0)
        return "done"

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([WORK, "I am at it.", "It did not work."])) as session:
            await session.start(Agent(tools=[work]))
            await session.run(user_input="Go.")
            await asyncio.sleep(590.0)
            assert line not in transcript(session.history)
            await asyncio.sleep(20.0)
            await session.wait_for_idle()
            assert transcript(session.history)[-2:] == [line, "assistant: It did not work."]

    run_virtual(main())


@pytest.mark.parametrize("limit", [5.0, 1200.0])
def test_a_tool_may_have_more_or_less_time_in_the_background(limit: float) -> None:
    @function_tool(background_timeout=limit)
    async def work(ctx: RunContext) -> str:
        """Work."""
        await ctx.update("Working.")
        await asyncio.sleep(1000.0)
        return "done"

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([WORK, "I am at it.", "That is that."])) as session:
            await session.start(Agent(tools=[work]))
            await session.run(user_input="Go.")
            await asyncio.sleep(1100.0)
            cut = "It is unknown whether `work` happened; do not repeat it unless the user asks for that."
            assert outputs(session)[-1] == (cut if limit == 5.0 else "done")

    run_virtual(main())


# -- duplicates


def booking(mode: DuplicateMode | None = None, **options: Any) -> Any:
    async def book(ctx: AsyncRunContext[Any], what: str) -> str:
        """Book."""
        await ctx.update(f"Booking {what}.", silent=True)
        await asyncio.sleep(5.0)
        return f"booked {what}"

    if mode is not None:
        options["on_duplicate"] = mode
    return function_tool(book, **options)


def book(what: str, **more: Any) -> Reply:
    return Reply(calls=[("book", {"what": what, **more})])


@pytest.mark.parametrize(
    ("mode", "second", "booked"),
    [
        ("allow", book("b"), ["a", "b"]),
        ("replace", book("b"), ["b"]),
        ("reject", book("b"), ["a"]),
        ("confirm", book("b"), ["a"]),
        ("confirm", book("b", _lk_agents_confirm_duplicate=True), ["a", "b"]),
        ("confirm", book("b", lk_agents_confirm_duplicate=True), ["a", "b"]),
        ("confirm", book("b", _lk_agents_confirm_duplicate=False), ["a"]),
    ],
)
def test_a_second_call_does_what_the_toolset_says(mode: DuplicateMode, second: Reply, booked: list[str]) -> None:
    run_virtual(_two_bookings(AsyncToolset(id="b", tools=[booking()], on_duplicate_call=mode), second, booked))


@pytest.mark.parametrize(("own", "booked"), [("allow", ["a", "b"]), ("reject", ["a"])])
def test_a_tools_own_mode_wins(own: DuplicateMode, booked: list[str]) -> None:
    toolset = AsyncToolset(id="b", tools=[booking(own)], on_duplicate_call="replace")
    run_virtual(_two_bookings(toolset, book("b"), booked))


def test_what_writes_is_not_replaced() -> None:
    toolset = AsyncToolset(id="b", tools=[booking(effect="writes")], on_duplicate_call="replace")
    run_virtual(_two_bookings(toolset, book("b"), ["a"]))


def test_what_disallowed_interruptions_is_not_replaced() -> None:
    @function_tool(name="book")
    async def protected(ctx: AsyncRunContext[Any], what: str) -> str:
        """Book."""
        ctx.disallow_interruptions()
        await ctx.update("Booking.", silent=True)
        await asyncio.sleep(5.0)
        return f"booked {what}"

    toolset = AsyncToolset(id="b", tools=[protected], on_duplicate_call="replace")
    run_virtual(_two_bookings(toolset, book("b"), ["a"]))


@pytest.mark.parametrize(("scope", "booked"), [("name", ["a"]), ("name_and_args", ["a", "b"])])
def test_a_duplicate_may_be_one_with_equal_arguments_only(scope: str, booked: list[str]) -> None:
    toolset = AsyncToolset(id="b", tools=[booking("reject", duplicate_scope=scope)])
    run_virtual(_two_bookings(toolset, book("b"), booked))


async def _two_bookings(toolset: AsyncToolset, second: Reply, booked: list[str]) -> None:
    llm = FakeLLM(lambda request: answers(request))
    script: list[Turn] = [book("a"), second]

    def answers(request: Any) -> Turn:
        asked = transcript(request.chat_ctx)[-1].startswith("user:")
        return script.pop(0) if asked and script else "I see."

    async with AgentSession[Any](llm=llm) as session:
        await session.start(Agent(tools=[toolset]))
        await session.run(user_input="Book a.")
        await session.run(user_input="Book b.")
        await asyncio.sleep(20.0)
        await session.wait_for_idle()
        assert [o.removeprefix("booked ") for o in outputs(session) if o.startswith("booked ")] == booked


# -- who may stop what


def test_the_pair_for_tasks_is_there_once_for_all_toolsets() -> None:
    async def other(ctx: AsyncRunContext[Any]) -> str:
        """Other."""
        return "other"

    async def main() -> None:
        llm = FakeLLM(["Hello."])
        toolsets = [
            AsyncToolset(id="one", tools=[booking()]),
            AsyncToolset(id="two", tools=[function_tool(other)]),
        ]
        async with AgentSession[Any](llm=llm, tools=[toolsets[1]]) as session:
            await session.start(Agent(tools=[toolsets[0]]))
            await session.run(user_input="Hi.")
        names = [tool.id for tool in llm.requests[0].tools]
        assert names == ["book", "other", "get_running_tasks", "cancel_task"]

    run_virtual(main())


@pytest.mark.parametrize("how", ["protected", "writes"])
def test_a_call_that_must_be_finished_cannot_be_cancelled(how: str) -> None:
    async def book(ctx: AsyncRunContext[Any]) -> str:
        """Book."""
        if how == "protected":
            ctx.disallow_interruptions()
        await ctx.update("Booking.", silent=True)
        await asyncio.sleep(5.0)
        return "booked"

    async def main() -> None:
        tool = function_tool(book, effect="writes") if how == "writes" else function_tool(book)
        llm = FakeLLM([Reply(calls=[("book", {})])])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[AsyncToolset(id="b", tools=[tool])]))
            await session.run(user_input="Book.")
            call_id = session.history.items[1].call_id  # type: ignore[union-attr]
            llm.extend([Reply(calls=[("cancel_task", {"call_id": call_id})]), "I cannot.", "Booked."])
            await session.run(user_input="Stop.")
            assert f"error cancel_task: Task {call_id} cannot be cancelled." in transcript(session.history)
            await asyncio.sleep(10.0)
            assert outputs(session)[-1] == "booked"

    run_virtual(main())
