"""Finding tools: the ranking, and the two toolsets, alone and in a session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from antiphon import Agent, AgentSession, RunContext, ToolError, ToolFlag, Toolset, mock_tools
from antiphon.errors import ToolDefinitionError, UsageError
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from antiphon.tools.function import AnyFunctionTool, FunctionTool, ToolSpec, function_tool
from antiphon.tools.policy import policy_of
from antiphon.tools.proxy import find_tool, prepare_call
from antiphon.tools.ranking import ToolIndex, words
from antiphon.tools.search import ToolProxyToolset, ToolSearchToolset
from antiphon.tools.toolset import ToolContext, ToolLike


def spec(name: str, description: str = "", **properties: Any) -> ToolSpec:
    return ToolSpec(name, description, {"type": "object", "properties": properties})


def found(specs: Sequence[ToolSpec], query: str, limit: int = 5) -> list[str]:
    return [specs[place].name for place in ToolIndex(specs).search(query, limit)]


def test_a_word_without_end_is_cut_before_its_stem_is_looked_for() -> None:
    assert words("book " + "a" * 300_000)[1:] == ["a" * 60]


@function_tool(effect="writes", timeout=7)
async def cancel_booking(booking_id: int) -> str:
    """Cancel a hotel booking."""
    return f"Cancelled {booking_id}."


@function_tool
async def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Tell the weather of a city."""
    return f"Sunny in {city}."


@function_tool
async def play_song(title: str) -> str:
    """Play a song."""
    return f"Playing {title}."


LIBRARY: list[ToolLike] = [cancel_booking, weather, play_song]


def names(toolset: Toolset) -> list[str]:
    return list(ToolContext([toolset]).function_tools)


def call(toolset: Toolset, name: str, **kwargs: Any) -> str:
    tool = ToolContext([toolset]).function_tools[name]
    result: str = asyncio.run(tool.call(tool.prepare(json.dumps(kwargs)).kwargs))
    return result


async def converse(toolset: Toolset, replies: Sequence[Reply | str], *turns: str) -> tuple[AgentSession[Any], FakeLLM]:
    llm = FakeLLM(list(replies))
    async with AgentSession(llm=llm) as session:
        await session.start(Agent(tools=[toolset]))
        for turn in turns:
            await session.run(user_input=turn)
    return session, llm


class TestWords:
    @pytest.mark.parametrize("name", ["getUserInfo", "get_user_info", "get-user-info", "get user info", "GETUserInfo"])
    def test_names_are_cut_where_people_see_words(self, name: str) -> None:
        assert words(name) == ["get", "user", "info"]

    def test_forms_of_a_word_are_one(self) -> None:
        assert words("booking booked books") == ["book", "book", "book"]

    def test_numbers_stand_alone(self) -> None:
        assert words("sha256sum") == ["sha", "256", "sum"]

    def test_signs_of_scripts_without_spaces_are_words(self) -> None:
        assert words("天気予報") == ["天", "気", "予", "報"]

    def test_letters_with_accents_stay_in_their_words(self) -> None:
        assert len(words("Café Zürich")) == 2


class TestRanking:
    def test_a_word_in_a_name_outweighs_one_in_a_description(self) -> None:
        specs = [spec("open", "Before the weather turns."), spec("weather", "Look out."), spec("other", "Nothing.")]
        assert found(specs, "the weather") == ["weather", "open"]

    def test_parameters_are_searched(self) -> None:
        assert found([spec("a", "Do it."), spec("b", "Do it.", iban={"type": "string"})], "IBAN") == ["b"]

    def test_values_of_parameters_are_searched(self) -> None:
        assert found([spec("a"), spec("b", unit={"enum": ["celsius"]})], "in celsius") == ["b"]

    def test_parameters_inside_lists_of_objects_are_searched(self) -> None:
        inner = {"type": "array", "items": {"type": "object", "properties": {"allergen": {"type": "string"}}}}
        assert found([spec("a"), spec("order", items=inner)], "allergens") == ["order"]

    def test_neighbouring_words_count_as_a_pair(self) -> None:
        specs = [spec("status_order", "x"), spec("order_status", "x")]
        assert found(specs, "what is the order status")[0] == "order_status"

    def test_rare_words_tell_more_than_frequent_ones(self) -> None:
        specs = [*(spec(f"get_{name}") for name in ("cat", "dog", "cow")), spec("zebra_list")]
        assert found(specs, "get zebra")[0] == "zebra_list"

    def test_of_equals_the_earlier_comes_first(self) -> None:
        assert found([spec("a", "book"), spec("b", "book"), spec("c", "book")], "book", limit=2) == ["a", "b"]

    def test_no_common_word_finds_nothing(self) -> None:
        assert found([spec("a", "book")], "weather") == []

    @pytest.mark.parametrize("query", ["", "   ", "?!", "the of a", "💥"])
    def test_a_query_without_words_finds_nothing(self, query: str) -> None:
        assert found([spec("a", "the book")], query) == []

    def test_an_empty_library_finds_nothing(self) -> None:
        assert found([], "book") == []

    def test_a_schema_that_contains_itself_can_be_indexed(self) -> None:
        node: dict[str, Any] = {"type": "object", "properties": {}}
        node["properties"]["child"] = node
        assert found([spec("tree", root=node), spec("other")], "child") == ["tree"]


class TestToolSearchToolset:
    def test_it_offers_the_search_only_at_first(self) -> None:
        assert names(ToolSearchToolset(LIBRARY)) == ["tool_search"]

    def test_what_was_found_is_offered_and_stays(self) -> None:
        toolset = ToolSearchToolset(LIBRARY, max_results=1)
        call(toolset, "tool_search", query="cancel a booking")
        call(toolset, "tool_search", query="weather")
        assert names(toolset) == ["tool_search", "cancel_booking", "weather"]

    def test_the_result_names_what_was_found_best_first(self) -> None:
        result = call(ToolSearchToolset(LIBRARY), "tool_search", query="weather in a city")
        assert result.splitlines()[1] == "- weather: Tell the weather of a city."

    def test_a_search_without_result_says_what_to_do(self) -> None:
        result = call(ToolSearchToolset(LIBRARY), "tool_search", query="quantum")
        assert "'quantum'" in result
        assert "other words" in result

    def test_two_instances_keep_apart_what_they_found(self) -> None:
        one, other = ToolSearchToolset(LIBRARY), ToolSearchToolset(LIBRARY)
        call(one, "tool_search", query="weather")
        assert names(other) == ["tool_search"]

    def test_max_results_must_be_positive(self) -> None:
        with pytest.raises(UsageError, match="max_results must be 1 or more, got 0"):
            ToolSearchToolset(LIBRARY, max_results=0)

    def test_two_tools_of_one_name_are_refused(self) -> None:
        other: FunctionTool = function_tool(play_song.function, name="weather")
        with pytest.raises(ToolDefinitionError, match="weather"):
            ToolSearchToolset([weather, other])

    def test_toolsets_in_the_library_live_with_it(self) -> None:
        log: list[str] = []

        class Source(Toolset):
            async def setup(self) -> Source:
                log.append("setup")
                return self

            async def aclose(self) -> None:
                log.append("close")

        async def live() -> None:
            toolset = ToolSearchToolset([Source(id="source", tools=[weather])])
            await toolset.setup()
            await toolset.aclose()

        asyncio.run(live())
        assert log == ["setup", "close"]

    def test_a_toolset_that_fails_leaves_the_others_usable(self) -> None:
        class Down(Toolset):
            async def setup(self) -> Down:
                raise OSError("down")

        async def live() -> None:
            toolset = ToolSearchToolset([Down(id="down"), Changing([weather])])
            with pytest.raises(OSError, match="down"):
                await toolset.setup()
            await ToolContext([toolset]).function_tools["tool_search"].call({"query": "weather"})
            assert names(toolset) == ["tool_search", "weather"]

        asyncio.run(live())

    def test_tools_that_a_toolset_gains_later_are_found_and_those_it_loses_go(self) -> None:
        source = Changing([weather])
        toolset = ToolSearchToolset([source])
        call(toolset, "tool_search", query="weather")
        source.now = [play_song]
        assert names(toolset) == ["tool_search"]
        call(toolset, "tool_search", query="song")
        assert names(toolset) == ["tool_search", "play_song"]

    def test_a_found_tool_can_be_called_in_the_same_turn(self) -> None:
        async def test() -> None:
            session, llm = await converse(
                ToolSearchToolset(LIBRARY),
                [
                    Reply(calls=[("tool_search", {"query": "weather"})]),
                    Reply(calls=[("weather", {"city": "Rome"})]),
                    "Sunny!",
                ],
                "How is Rome?",
            )
            assert "output weather: Sunny in Rome." in transcript(session.history)
            offered = [[tool.id for tool in request.tools] for request in llm.requests]
            assert offered[0] == ["tool_search"]
            assert "weather" in offered[1]

        run_virtual(test())

    def test_a_tool_that_was_not_found_yet_is_unknown(self) -> None:
        async def test() -> None:
            replies: list[Reply | str] = [Reply(calls=[("weather", {"city": "Rome"})]), "Sorry."]
            session, _ = await converse(ToolSearchToolset(LIBRARY), replies, "How is Rome?")
            assert any(
                "Unknown function: weather - available tools: tool_search" in line
                for line in transcript(session.history)
            )

        run_virtual(test())


class Changing(Toolset):
    def __init__(self, tools: list[ToolLike]) -> None:
        super().__init__(id="changing")
        self.now = tools

    @property
    def tools(self) -> Sequence[ToolLike]:
        return self.now


def proxied(toolset: Toolset, name: str, parameters: Any) -> tuple[AnyFunctionTool, dict[str, Any]]:
    tool = ToolContext([toolset]).function_tools["call_tool"]
    other, prepared = prepare_call(tool, json.dumps({"name": name, "parameters": parameters}))
    return other, prepared.kwargs


class TestToolProxyToolset:
    def test_it_offers_the_same_two_tools_always(self) -> None:
        toolset = ToolProxyToolset(LIBRARY)
        before = ToolContext([toolset]).specs
        call(toolset, "tool_search", query="weather")
        assert ToolContext([toolset]).specs == before
        assert [one.name for one in before] == ["tool_search", "call_tool"]

    def test_a_search_describes_parameters(self) -> None:
        described = json.loads(call(ToolProxyToolset(LIBRARY), "tool_search", query="weather").splitlines()[0])
        assert described == {
            "name": "weather",
            "description": weather.description,
            "parameters": weather.spec.parameters,
        }

    def test_a_call_becomes_that_of_the_tool_itself(self) -> None:
        other, kwargs = proxied(ToolProxyToolset(LIBRARY), "cancel_booking", {"booking_id": "12"})
        assert other == cancel_booking
        assert kwargs == {"booking_id": 12}
        assert policy_of(other) == policy_of(cancel_booking)

    def test_parameters_that_do_not_fit_are_told_as_in_a_direct_call(self) -> None:
        with pytest.raises(ToolError, match="Error parsing arguments for `cancel_booking`") as caught:
            proxied(ToolProxyToolset(LIBRARY), "cancel_booking", {"booking_id": "soon"})
        with pytest.raises(ToolError) as direct:
            cancel_booking.prepare('{"booking_id": "soon"}')
        assert caught.value.message == direct.value.message

    def test_an_unknown_name_is_answered_with_similar_ones(self) -> None:
        with pytest.raises(ToolError, match=r"play_songs\. Did you mean play_song\?") as caught:
            proxied(ToolProxyToolset(LIBRARY), "play_songs", {})
        assert "tool_search" in caught.value.message

    def test_a_tool_behind_it_is_found_by_its_own_name(self) -> None:
        tools = ToolContext([ToolProxyToolset(LIBRARY)]).flatten()
        assert find_tool(tools, "weather") == weather
        assert find_tool(tools, "nothing") is None

    def test_in_a_session_the_history_names_the_tool_itself(self) -> None:
        async def test() -> None:
            calling = Reply(calls=[("call_tool", {"name": "weather", "parameters": {"city": "Rome"}})])
            session, _ = await converse(ToolProxyToolset(LIBRARY), [calling, "Sunny!"], "How is Rome?")
            assert transcript(session.history)[1:3] == [
                'call weather({"city": "Rome"})',
                "output weather: Sunny in Rome.",
            ]

        run_virtual(test())

    def test_a_direct_call_of_a_tool_behind_it_runs(self) -> None:
        async def test() -> None:
            replies: list[Reply | str] = [Reply(calls=[("weather", {"city": "Rome"})]), "Sunny!"]
            session, _ = await converse(ToolProxyToolset(LIBRARY), replies, "How is Rome?")
            assert "output weather: Sunny in Rome." in transcript(session.history)

        run_virtual(test())

    def test_in_a_session_the_time_limit_is_that_of_the_tool(self) -> None:
        @function_tool(timeout=2)
        async def slow() -> str:
            """Be slow."""
            await asyncio.sleep(60)
            return "late"

        async def test() -> None:
            calling = Reply(calls=[("call_tool", {"name": "slow"})])
            session, _ = await converse(ToolProxyToolset([slow]), [calling, "Hm."], "Go on.")
            outputs = [item for item in session.history.items if item.type == "function_call_output"]
            assert [item.is_error for item in outputs] == [True]

        run_virtual(test())

    def test_the_context_of_a_call_is_that_of_the_tool(self) -> None:
        seen: list[str] = []

        @function_tool
        async def look(ctx: RunContext, at: str) -> str:
            """Look at something."""
            seen.extend([ctx.function_call.name, ctx.function_call.arguments])
            return "Seen."

        async def test() -> None:
            calling = Reply(calls=[("call_tool", {"name": "look", "parameters": {"at": "me"}})])
            await converse(ToolProxyToolset([look]), [calling, "Done."], "Look.")

        run_virtual(test())
        assert seen[0] == "look"
        assert json.loads(seen[1]) == {"at": "me"}

    def test_the_model_may_cancel_tools_behind_it_that_allow_it(self) -> None:
        @function_tool(flags=ToolFlag.CANCELLABLE)
        async def report() -> str:
            """Write a report."""
            return "Written."

        async def test() -> None:
            _, llm = await converse(ToolProxyToolset([report]), ["Hi."], "Hello.")
            offered = [tool.id for tool in llm.requests[0].tools]
            assert offered == ["tool_search", "call_tool", "get_running_tasks", "cancel_task"]

        run_virtual(test())

    def test_mocks_reach_the_tools_behind_it(self) -> None:
        class Guide(Agent):
            pass

        async def test() -> None:
            llm = FakeLLM([Reply(calls=[("call_tool", {"name": "weather", "parameters": {"city": "Rome"}})]), "Wet!"])
            with mock_tools(Guide, {"weather": lambda city: f"Rain in {city}."}):
                async with AgentSession(llm=llm) as session:
                    await session.start(Guide(tools=[ToolProxyToolset(LIBRARY)]))
                    await session.run(user_input="How is Rome?")
            assert "output weather: Rain in Rome." in transcript(session.history)

        run_virtual(test())
