"""Toolsets, their wrappers, and the flat view of a request."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import pytest

from antiphon.errors import ToolDefinitionError
from antiphon.tools.function import CallContext, FunctionTool, ProviderTool, Tool, function_tool
from antiphon.tools.policy import policy_of
from antiphon.tools.toolset import ToolContext, ToolLike, Toolset, dedupe_by_id, unknown_tool_text


def tool(name: str, **options: Any) -> FunctionTool:
    async def f() -> str:
        return name

    made: FunctionTool = function_tool(f, name=name, **options)
    return made


class Recording(Toolset):
    def __init__(self, id: str, log: list[str], tools: Sequence[ToolLike] = (), *, fails: bool = False) -> None:
        super().__init__(id=id, tools=tools)
        self.log = log
        self.fails = fails

    async def setup(self) -> Self:
        if self.fails:
            raise RuntimeError(f"{self.id} is down")
        await super().setup()
        self.log.append(f"setup {self.id}")
        return self

    async def aclose(self) -> None:
        await super().aclose()
        self.log.append(f"close {self.id}")
        if self.fails:
            raise RuntimeError(f"{self.id} is stuck")


class Calendar(Toolset):
    def __init__(self) -> None:
        super().__init__(id="calendar", tools=[tool("given")])

    @function_tool
    async def own(self, day: str) -> str:
        return f"{self.id} {day}"


def names(tools: Sequence[ToolLike]) -> list[str]:
    return [item.id for item in tools]


class TestToolset:
    def test_it_holds_the_tools_given_and_its_decorated_methods(self) -> None:
        calendar = Calendar()
        assert names(calendar.tools) == ["given", "own"]
        own = ToolContext([calendar]).get_function_tool("own")
        assert own is not None
        assert asyncio.run(own.call({"day": "Monday"})) == "calendar Monday"

    def test_nested_toolsets_are_set_up_and_closed_with_it(self) -> None:
        log: list[str] = []
        outer = Recording("outer", log, [Recording("a", log), tool("x"), Recording("b", log)])

        async def live() -> None:
            assert await outer.setup() is outer
            await outer.aclose()

        asyncio.run(live())
        assert log == ["setup a", "setup b", "setup outer", "close b", "close a", "close outer"]

    def test_a_failing_setup_closes_what_was_set_up_before_it(self) -> None:
        log: list[str] = []
        outer = Toolset(id="outer", tools=[Recording("a", log), Recording("b", log, fails=True)])
        with pytest.raises(RuntimeError, match="b is down"):
            asyncio.run(outer.setup())
        assert log == ["setup a", "close a"]

    def test_a_failing_close_does_not_keep_others_open(self) -> None:
        log: list[str] = []
        outer = Toolset(id="outer", tools=[Recording("a", log), Recording("b", log, fails=True)])
        with pytest.raises(RuntimeError, match="b is stuck"):
            asyncio.run(outer.aclose())
        assert log == ["close b", "close a"]

    def test_its_events_carry_context_and_a_replaceable_output(self) -> None:
        ctx = CallContext()
        called = Toolset.ToolCalledEvent(ctx=ctx, arguments={"a": 1})
        completed = Toolset.ToolCompletedEvent(ctx=ctx, output="x")
        completed.output = "y"
        assert (called.arguments, completed.output, completed.ctx) == ({"a": 1}, "y", ctx)


class TestWrappers:
    def test_filtered_shows_the_tools_that_pass_at_any_depth(self) -> None:
        inner = Toolset(id="inner", tools=[tool("keep_b"), tool("drop_b")])
        outer = Toolset(id="outer", tools=[tool("keep_a"), tool("drop_a"), inner])
        shown = outer.filtered(lambda t: t.id.startswith("keep"))
        assert shown.id == "outer"
        assert list(ToolContext([shown]).function_tools) == ["keep_a", "keep_b"]

    def test_prefixed_names_run_the_same_functions_under_the_same_policies(self) -> None:
        calendar = Toolset(id="calendar", tools=[tool("book", effect="writes"), ProviderTool(id="web")])
        shown = calendar.prefixed("work_")
        assert (shown.id, names(shown.tools)) == ("work_calendar", ["work_book", "web"])
        book = ToolContext([shown]).function_tools["work_book"]
        assert policy_of(book).effect == "writes"
        assert asyncio.run(book.call({})) == "book"

    def test_renamed_changes_the_names_it_lists(self) -> None:
        shown = Toolset(id="t", tools=[tool("a"), Toolset(id="n", tools=[tool("b"), tool("c")])]).renamed({"b": "x"})
        assert list(ToolContext([shown]).function_tools) == ["a", "x", "c"]

    def test_a_renamed_tool_is_the_same_tool_on_every_request(self) -> None:
        shown = Toolset(id="t", tools=[tool("a")]).prefixed("p_")
        assert ToolContext([shown]) == ToolContext([shown])
        assert ToolContext([shown]).specs[0] is ToolContext([shown]).specs[0]

    def test_wrappers_nest_and_live_with_what_they_wrap(self) -> None:
        log: list[str] = []
        shown = Recording("a", log, [tool("x"), tool("y")]).filtered(lambda t: t.id == "x").prefixed("p_")
        assert names(shown.tools) == ["p_x"]

        async def live() -> None:
            await shown.setup()
            await shown.aclose()

        asyncio.run(live())
        assert log == ["setup a", "close a"]

    def test_a_wrapper_follows_a_toolset_that_changes(self) -> None:
        class Growing(Toolset):
            count = 1

            @property
            def tools(self) -> Sequence[Tool]:
                return [tool(f"t{i}") for i in range(self.count)]

        growing = Growing(id="g")
        shown = growing.prefixed("p_")
        growing.count = 2
        assert names(shown.tools) == ["p_t0", "p_t1"]


class TestToolContext:
    def test_it_is_flat(self) -> None:
        inner = Toolset(id="inner", tools=[tool("b")])
        outer = Toolset(id="outer", tools=[inner, tool("c")])
        web = ProviderTool(id="web")
        context = ToolContext([tool("a"), outer, web])
        assert list(context.function_tools) == ["a", "b", "c"]
        assert names(context.flatten()) == ["a", "b", "c", "web"]
        assert context.toolsets == [outer, inner]
        assert context.provider_tools == [web]
        assert [spec.name for spec in context.specs] == ["a", "b", "c"]
        assert context.specs is context.specs
        assert context.get_function_tool("x") is None
        assert len(context) == 4
        assert "b" in context

    def test_two_different_tools_of_one_name_are_refused_naming_both(self) -> None:
        with pytest.raises(ToolDefinitionError) as caught:
            ToolContext([tool("a"), Toolset(id="set", tools=[tool("a")])])
        message = str(caught.value)
        assert message.startswith("two different tools are named 'a': ")
        assert "in the agent's tools" in message
        assert "in toolset 'set'" in message
        assert "name=" in message

    def test_the_same_tool_twice_is_one(self) -> None:
        a, calendar = tool("a"), Calendar()
        context = ToolContext([a, a, calendar.own, calendar])
        assert list(context.function_tools) == ["a", "own", "given"]

    def test_a_toolset_that_clashes_can_be_left_out_whole(self) -> None:
        a, late = tool("a"), Toolset(id="late", tools=[tool("b"), tool("a")])
        context, left_out = ToolContext.leaving_out_unusable([a, late, tool("c")])
        assert list(context.function_tools) == ["a", "c"]
        assert [item for item, _ in left_out] == [late]
        assert "two different tools are named 'a'" in str(left_out[0][1])

    def test_what_is_no_tool_is_refused(self) -> None:
        with pytest.raises(ToolDefinitionError, match=r"expected a tool or a toolset, got 'hello'.*@function_tool"):
            ToolContext(["hello"])  # type: ignore[list-item]

    def test_a_copy_is_equal_and_sees_changes(self) -> None:
        tools: list[ToolLike] = [tool("a")]
        toolset = Toolset(id="t", tools=tools)
        context = ToolContext([toolset])
        assert context == context.copy()
        assert context != ToolContext.empty()

    def test_check_refuses_a_tool_that_cannot_be_offered(self) -> None:
        @function_tool
        async def broken(x) -> None: ...  # type: ignore[no-untyped-def]

        with pytest.raises(ToolDefinitionError, match="'broken': parameter 'x'"):
            ToolContext([broken]).check()


def test_of_equal_ids_the_last_is_kept() -> None:
    first, second, other = tool("a"), tool("a"), tool("b")
    same_id = Toolset(id="a")
    assert dedupe_by_id([first, other, same_id, second]) == [second, other, same_id]


def test_the_text_for_an_unknown_tool_lists_what_there_is() -> None:
    assert unknown_tool_text("x", ["a", "b"]) == "Unknown function: x - available tools: a, b"
    assert unknown_tool_text("x", []) == "Unknown function: x - available tools: none"


def test_a_toolset_is_an_abc_whose_subclasses_may_leave_methods_to_theirs() -> None:
    class Unfinished(Toolset):
        @abstractmethod
        async def reach(self) -> None:
            """Say how."""

    assert Toolset(id="plain", tools=[tool("f")]).id == "plain"
    with pytest.raises(TypeError, match="reach"):
        Unfinished(id="unfinished")  # type: ignore[abstract]
