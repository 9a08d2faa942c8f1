"""Code of the application around calls of tools: it says what the model reads, and never what has happened."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, StopResponse, ToolError, Toolset, function_tool
from antiphon.testing import FakeLLM, Reply, run_virtual
from antiphon.tools.function import OutcomeUnknown
from antiphon.tools.hooks import CallHook, Proceed, ToolCall

Output = tuple[str, bool]
"""What the model read, and whether as an error."""


async def outputs(session: AgentSession[Any], tools: list[Any], turns: int, call: tuple[str, Any]) -> list[Output]:
    async with session:
        await session.start(Agent(instructions="You book.", tools=tools))
        for _ in range(turns):
            await session.run(user_input="go")
        return [(i.output, i.is_error) for i in session.history.items if i.type == "function_call_output"]


def calls(
    tools: list[Any], *, turns: int = 1, call: tuple[str, Any] = ("book", {"people": 4}), **options: Any
) -> list[Output]:
    """What the model reads of the same call in each turn."""
    script: list[Reply | str] = [Reply(calls=[call]), "Well."] * turns
    session = AgentSession[Any](llm=FakeLLM([*script, "Well.", "Well."]), **options)
    return run_virtual(outputs(session, tools, turns, call))


class Desk:
    """Books, or raises what it is told to, and keeps how often it was asked."""

    def __init__(self, *raises: BaseException, hook: CallHook | None = None, effect: Any = "writes") -> None:
        self.raises = list(raises)
        self.asked = 0
        self.book = function_tool(self._book, name="book", effect=effect, call_tool=hook)

    async def _book(self, people: int) -> str:
        """Book a table."""
        self.asked += 1
        await asyncio.sleep(0.1)
        if self.raises:
            raise self.raises.pop(0)
        return f"booked for {people}"


def test_hooks_stand_around_one_another_session_toolsets_tool() -> None:
    log: list[str] = []

    def noting(name: str) -> CallHook:
        async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
            log.append(f"{name} {call.name} {call.arguments}")
            result = await proceed()
            log.append(f"{name} {result}")
            return f"{result}, {name}"

        return hook

    class Noting(Toolset):
        async def call_tool(self, call: ToolCall, ctx: RunContext[Any], proceed: Proceed) -> Any:
            return await noting(self.id)(call, ctx, proceed)

    desk = Desk(hook=noting("tool"))
    tools = [Noting(id="outer", tools=[Noting(id="inner", tools=[desk.book])])]
    assert calls(tools, call_tool=noting("session")) == [("booked for 4, tool, inner, outer, session", False)]
    order = ["session", "outer", "inner", "tool"]
    assert [line.split()[0] for line in log] == order + order[::-1]
    assert log[0] == "session book {'people': 4}"


def test_the_hook_of_a_toolset_stays_where_it_is_filtered_prefixed_or_renamed() -> None:
    class Refusing(Toolset):
        async def call_tool(self, call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
            raise ToolError(f"not {call.name}")

    toolset = Refusing(id="desk", tools=[Desk().book])
    for shown in (toolset.filtered(lambda _: True), toolset.renamed({"x": "y"})):
        assert calls([shown]) == [("not book", True)]
    assert calls([toolset.prefixed("a_")], call=("a_book", {"people": 1})) == [("not a_book", True)]
    assert calls([Holding(toolset)]) == [("not book", True)]


class Holding(Toolset):
    """One without a hook, that holds another."""

    def __init__(self, inner: Toolset) -> None:
        super().__init__(id="outer", tools=[inner])


def test_a_tool_that_is_held_twice_has_the_hooks_of_both_places() -> None:
    class Refusing(Toolset):
        async def call_tool(self, call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
            raise ToolError("no")

    desk = Desk()
    for tools in ([desk.book, Refusing(id="a", tools=[desk.book])], [Refusing(id="a", tools=[desk.book]), desk.book]):
        assert calls(tools) == [("no", True)]


@pytest.mark.parametrize("by_name", [True, False])
def test_what_is_called_by_proxy_has_the_hooks_of_what_holds_it(by_name: bool) -> None:
    from antiphon.tools.search import ToolProxyToolset

    log: list[str] = []

    class Proxied(ToolProxyToolset):
        async def call_tool(self, call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
            log.append(f"proxy {call.name}")
            return await proceed()

    class Inner(Toolset):
        async def call_tool(self, call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
            log.append(f"inner {call.name}")
            return await proceed()

    tools = [Proxied([Inner(id="inner", tools=[Desk().book])])]
    made = ("book", {"people": 4}) if by_name else ("call_tool", {"name": "book", "parameters": {"people": 4}})
    assert calls(tools, call=made) == [("booked for 4", False)]
    assert log == ["proxy book", "inner book"]


def test_a_tool_named_call_tool_is_no_hook() -> None:
    class Odd(Toolset):
        @function_tool
        async def call_tool(self) -> str:
            """Call."""
            return "called"

    assert calls([Odd(id="odd")], call=("call_tool", {})) == [("called", False)]


# -- what a hook may do


def test_a_hook_refuses_in_words_and_the_tool_is_not_called() -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        raise ToolError("Only the owner may book.")

    desk = Desk(hook=hook)
    assert calls([desk.book], turns=2) == [("Only the owner may book.", True)] * 2
    assert desk.asked == 0


def test_a_hook_redacts_what_the_model_reads() -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        return str(await proceed()).replace("4", "*")

    assert calls([Desk(hook=hook).book]) == [("booked for *", False)]


def test_what_a_hook_does_to_the_arguments_changes_nothing() -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        call.arguments["people"] = 99
        return await proceed()

    assert calls([Desk(hook=hook).book]) == [("booked for 4", False)]


def test_a_hook_sees_the_context_and_the_effect() -> None:
    seen: list[Any] = []

    async def hook(call: ToolCall, ctx: RunContext[Any], proceed: Proceed) -> Any:
        seen.extend([ctx.function_call.call_id == call.call_id, call.effect, ctx.session.userdata])
        return await proceed()

    calls([Desk(hook=hook).book], userdata="mine")
    assert seen == [True, "writes", "mine"]


def test_a_hook_sees_no_call_that_is_answered_with_what_was_done() -> None:
    seen: list[str] = []

    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        seen.append(call.call_id)
        return await proceed()

    desk = Desk(hook=hook)

    async def test() -> None:
        llm = FakeLLM([Reply(calls=[("book", {"people": 4}), ("book", {"people": 4})]), "Well."])
        told = await outputs(AgentSession[Any](llm=llm), [desk.book], 1, ("", {}))
        assert "was not started again" in told[1][0]

    run_virtual(test())
    assert len(seen) == desk.asked == 1


# -- what it may not do


def test_a_hook_that_goes_on_twice_is_an_error_and_the_tool_is_called_once() -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        await proceed()
        return await proceed()

    desk = Desk(hook=hook)
    ((text, is_error),) = calls([desk.book])
    assert desk.asked == 1
    assert not is_error and "`book` has happened" in text


def test_a_hook_goes_on_no_more_once_it_has_returned(caplog: pytest.LogCaptureFixture) -> None:
    kept: list[Proceed] = []

    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        kept.append(proceed)
        raise ToolError("Later, perhaps.")

    desk = Desk(hook=hook)
    calls([desk.book])

    async def late() -> None:
        with pytest.raises(Exception, match="after its hook had returned"):
            await kept[0]()

    run_virtual(late())
    assert desk.asked == 0


@pytest.mark.parametrize("error", [ToolError("Not logged."), ValueError("log is full"), OutcomeUnknown("who knows")])
def test_a_hook_that_fails_behind_a_write_has_not_undone_it(error: Exception) -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        await proceed()
        raise error

    desk = Desk(hook=hook)
    (text, is_error), again = calls([desk.book], turns=2)
    assert "`book` has happened" in text and not is_error
    # In a later turn it is another wish: it was heard of.
    assert desk.asked == 2 and "has happened" in again[0]


@pytest.mark.parametrize("error", [ValueError("broken"), OutcomeUnknown("who knows")])
def test_a_hook_that_fails_before_a_write_leaves_nothing_in_doubt(error: Exception) -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        raise error

    desk = Desk(hook=hook)
    first, second = calls([desk.book], turns=2)
    assert desk.asked == 0
    assert "unknown whether" not in first[0] and first == second


def test_a_hook_that_swallows_a_doubt_does_not_settle_it() -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        try:
            return await proceed()
        except ConnectionError:
            return "All is well."

    desk = Desk(ConnectionResetError(), hook=hook)
    (first,) = calls([desk.book], turns=2)  # the second call waits for the caller's yes
    assert first[1] and "All is well. It is unknown whether `book` happened" in first[0]
    assert desk.asked == 1


def test_a_hook_that_gives_the_tool_a_time_limit_leaves_the_write_in_doubt() -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        try:
            return await asyncio.wait_for(proceed(), 0.05)
        except TimeoutError:
            raise ToolError("That takes too long.") from None

    desk = Desk(hook=hook)
    (first,) = calls([desk.book], turns=2)
    assert "That takes too long. It is unknown whether `book` happened" in first[0]
    assert desk.asked == 1


def test_a_hook_that_puts_a_failure_in_other_words_has_not_done_it() -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        try:
            return await proceed()
        except ToolError as error:
            return f"Sadly: {error}"

    desk = Desk(ToolError("no seats"), hook=hook)
    assert calls([desk.book], turns=2) == [("Sadly: no seats", True), ("booked for 4", False)]


def test_a_hook_that_leaves_the_tool_behind_waits_for_it() -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        task = asyncio.ensure_future(proceed())
        await asyncio.sleep(0.01)
        assert not task.done()
        return "On its way."

    desk = Desk(hook=hook)
    first, _ = calls([desk.book], turns=2)
    assert first == ("On its way.", False)


def test_a_read_that_fails_may_be_answered_by_a_hook() -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        try:
            return await proceed()
        except ValueError:
            return "from memory"

    assert calls([Desk(ValueError(), hook=hook, effect="reads").book]) == [("from memory", False)]


def test_hooks_stand_around_all_attempts_of_a_call() -> None:
    entered: list[int] = []

    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        entered.append(1)
        return await proceed()

    desk = Desk(ConnectionResetError(), hook=hook, effect="reads")
    assert calls([desk.book]) == [("booked for 4", False)]
    assert (len(entered), desk.asked) == (1, 2)


def test_no_reply_is_no_reply_through_hooks() -> None:
    async def hook(call: ToolCall, ctx: Any, proceed: Proceed) -> Any:
        return await proceed()

    desk = Desk(StopResponse(), hook=hook)
    assert calls([desk.book]) == [("", False)]


# -- without any


class Shapeless:
    __str__ = object.__str__


def test_a_write_whose_result_cannot_be_shown_has_happened(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[int] = []

    @function_tool(effect="writes")
    async def book() -> Any:
        """Book."""
        asked.append(1)
        return Shapeless()

    caplog.set_level(logging.CRITICAL)

    async def test() -> None:
        llm = FakeLLM([Reply(calls=[("book", {})]), Reply(calls=[("book", {})]), "Well."])
        told = await outputs(AgentSession[Any](llm=llm), [book], 1, ("", {}))
        assert "`book` has happened; do not call it again." in told[0][0] and not told[0][1]
        assert "was not started again" in told[1][0]

    run_virtual(test())
    assert len(asked) == 1
