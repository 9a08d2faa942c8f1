"""The page on function tools: each block does what the text around it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from antiphon import Agent, AgentConfigUpdate, AgentSession, ChatContext, RunContext, function_tool
from antiphon.runtime.instructions import RESULTS_ARE_DATA
from antiphon.testing import FakeLLM, FakeTTS, Reply, run_virtual, transcript
from antiphon_standin import StandInLLM
from tests.calls import VoiceCall, converse, outputs
from tests.seeds.documents import run


def offered(llm: FakeLLM, request: int = 0) -> list[str]:
    """The tools that a request offered to the model."""
    return [tool.id for tool in llm.requests[request].tools]


def test_a_method_becomes_a_tool_and_its_result_is_told() -> None:
    async def main() -> None:
        block = await run("MyAgent")
        llm = FakeLLM([Reply(calls=[("lookup_weather", {"location": "Kyoto"})]), "Sunny, seventy degrees."])
        session = await converse(block.MyAgent(instructions="Weather."), "Kyoto?", llm=llm)
        assert json.loads(outputs(session)[0]) == {"weather": "sunny", "temperature_f": 70}
        (tool,) = llm.requests[0].tools
        assert tool.description == "Look up weather information for a given location."  # type: ignore[attr-defined]
        assert tool.spec.parameters["properties"]["location"]["description"] == (  # type: ignore[attr-defined]
            "The location to look up weather information for."
        )

    run_virtual(main())


def test_a_flagged_tool_is_hidden_while_the_agent_enters() -> None:
    async def main() -> None:
        block = await run("AddressAgent")
        llm = FakeLLM(["Where do you live?", Reply(calls=[("confirm_address", {})])])
        async with AgentSession(llm=llm) as session:
            await session.start(block.AddressAgent(), capture_run=True)
            await session.run(user_input="Main Street 1.")
        assert [offered(llm, 0), offered(llm, 1)] == [[], ["confirm_address"]]
        assert outputs(session) == [""] and llm.remaining == 0

    run_virtual(main())


def test_the_id_is_the_functions_name_or_the_one_given() -> None:
    async def main() -> None:
        block = await run("tool ids")
        assert block.values == ["lookup_weather", "get_weather"]

    run_virtual(main())


def test_an_agent_and_a_result_are_told_by_the_old_agent_before_the_handoff() -> None:
    async def main() -> None:
        block = await run("my_tool")
        llm = FakeLLM([Reply(calls=[("my_tool", {})]), "I am transferring you.", "Hello."])
        first = Agent(tools=[block.my_tool])
        async with AgentSession(llm=llm) as session:
            await session.start(first)
            result = await session.run(user_input="Somebody else, please.")
            result.expect.next_event().is_function_call(name="my_tool")
            result.expect.next_event().is_function_call_output(output="Transferring the user to SomeAgent")
            result.expect.next_event().is_message(role="assistant")
            result.expect.next_event().is_agent_handoff(new_agent_type=block.SomeAgent)
            result.expect.no_more_events()
            assert isinstance(session.current_agent, block.SomeAgent)

    run_virtual(main())


EMOTION = {"voice_instructions": "warm and calm", "response": "All is well, do not worry."}


def test_structured_output_is_parsed_while_it_is_written() -> None:
    async def main() -> None:
        block = await run("ResponseEmotion")
        seen: list[dict[str, str]] = []

        async def text() -> AsyncIterator[str]:
            for character in json.dumps(EMOTION):
                yield character

        spoken = [piece async for piece in block.process_structured_output(text(), callback=seen.append)]
        assert "".join(spoken) == EMOTION["response"] and len(spoken) > 5
        assert seen[-1] == EMOTION

    run_virtual(main())


def test_structured_output_speaks_the_response_and_applies_the_directive() -> None:
    async def main() -> None:
        types = await run("ResponseEmotion")
        block = await run(
            "llm_node and tts_node",
            ResponseEmotion=types.ResponseEmotion,
            process_structured_output=types.process_structured_output,
        )
        llm, voice = FakeLLM([json.dumps(EMOTION)]), FakeTTS()
        async with VoiceCall(llm, ["is everything all right"], tts=voice) as call:
            await call.begin(block.Emotional(instructions="You console."))
            await call.microphone.speak(1.0)
            await asyncio.sleep(5.0)
            await call.session.wait_for_idle()
            message = call.session.history.messages()[-1]
        assert llm.requests[0].response_format is types.ResponseEmotion
        assert voice.options == {"instructions": "warm and calm"}
        assert message.text_content == "All is well, do not worry."
        assert json.loads(message.extra["raw"]) == EMOTION

    run_virtual(main())


def test_structured_output_is_heard_without_a_key() -> None:
    async def main() -> None:
        types = await run("ResponseEmotion")
        block = await run(
            "llm_node and tts_node",
            ResponseEmotion=types.ResponseEmotion,
            process_structured_output=types.process_structured_output,
        )
        async with VoiceCall(StandInLLM(), ["hello there"], tts=FakeTTS()) as call:
            await call.begin(block.Emotional(instructions="You console."))
            await call.microphone.speak(1.0)
            await asyncio.sleep(5.0)
            await call.session.wait_for_idle()
            message = call.session.history.messages()[-1]
            assert call.speaker.sounds
        assert message.text_content == json.loads(message.extra["raw"])["response"] != ""

    run_virtual(main())


def test_a_tool_speaks_first_and_works_when_it_was_heard() -> None:
    log: list[str] = []

    async def process_order_internal(order_id: str) -> str:
        log.append(f"processed {order_id}")
        return f"Order {order_id} is on its way."

    async def main() -> None:
        block = await run("process_order", process_order_internal=process_order_internal)
        llm = FakeLLM(
            [Reply(calls=[("process_order", {"order_id": "7"})]), "I process order seven, one moment.", "It is coming."]
        )
        async with VoiceCall(llm, ["where is my order"]) as call:
            call.session.on("conversation_item_added", lambda event: log.append(event.item.text_content))
            await call.begin(block.Shop())
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
            await call.session.wait_for_idle()
        assert log == [
            "where is my order",
            "I process order seven, one moment.",
            "processed 7",
            "It is coming.",
        ]
        assert "Processing order 7. This may take a moment." in " ".join(llm.histories[1])

    run_virtual(main())


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_long_tool_learns_that_the_caller_spoke_over_it(interrupted: bool) -> None:
    work: list[asyncio.Task[Any]] = []

    class Searching(Agent):
        async def _a_long_running_task(self, query: str) -> str:
            current = asyncio.current_task()
            assert current is not None
            work.append(current)
            await asyncio.sleep(5.0)
            return f"found {query}"

    async def main() -> None:
        block = await run("interruption")
        agent = Searching()
        search: Callable[..., Awaitable[str | None]] = block.search

        @function_tool(name="search")
        async def tool(run_ctx: RunContext, query: str) -> str | None:
            """Search."""
            return await search(agent, run_ctx, query)

        await agent.update_tools([tool])
        llm = FakeLLM([Reply(calls=[("search", {"query": "a table"})]), "Never mind, then."])
        async with VoiceCall(llm, ["find me a table", "no forget about that"]) as call:
            await call.begin(agent)
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            if interrupted:
                await call.microphone.speak(1.0)
            await asyncio.sleep(8.0)
            await call.session.wait_for_idle()
            assert work[0].cancelled() is interrupted
            assert outputs(call.session) == ([] if interrupted else ["found a table"])

    run_virtual(main())


# -- HTTP


@asynccontextmanager
async def web_service(
    monkeypatch: pytest.MonkeyPatch, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> AsyncIterator[list[str]]:
    """A server in this process that stands where every address leads to. Gives the list of addresses asked for."""
    asked: list[str] = []
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    async with TestServer(application) as server:

        async def redirect(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
            asked.append(f"{request.method} {request.url}")
            request.url = server.make_url(request.url.raw_path_qs)
            return await send(request)

        session_class = aiohttp.ClientSession
        monkeypatch.setattr(aiohttp, "ClientSession", lambda: session_class(middlewares=[redirect]))
        yield asked


@pytest.mark.parametrize(
    ("symbol", "told"),
    [
        ("AAPL", '{"symbol": "AAPL", "price": 191.5, "volume": 1000, "latest_trading_day": "2026-06-05"}'),
        ("NONE", "Could not fetch stock price for NONE."),
    ],
)
def test_a_tool_fetches_from_an_http_service(monkeypatch: pytest.MonkeyPatch, symbol: str, told: str) -> None:
    async def quote(request: web.Request) -> web.Response:
        if request.query["symbol"] != "AAPL":
            return web.Response(status=404)
        return web.json_response(
            {"symbol": "AAPL", "price": 191.5, "volume": 1000, "latestTradingDay": "2026-06-05", "more": "ignored"}
        )

    async def main() -> None:
        block = await run("StockAgent")
        llm = FakeLLM([Reply(calls=[("get_stock_price", {"symbol": symbol})]), "There you are."])
        async with web_service(monkeypatch, quote) as asked:
            session = await converse(block.StockAgent(), "What does it cost?", llm=llm)
        assert asked == [f"GET https://livekit-stock-api.vercel.app/api/quote?symbol={symbol}"]
        assert outputs(session) == [told]

    run_virtual(main())


@pytest.mark.parametrize(
    ("status", "told"), [(201, "Order 42 placed successfully."), (500, "Failed to place order. Please try again.")]
)
def test_an_order_is_placed_although_the_caller_speaks_over_it(
    monkeypatch: pytest.MonkeyPatch, status: int, told: str
) -> None:
    orders: list[Any] = []

    async def place(request: web.Request) -> web.Response:
        await asyncio.sleep(4.0)
        orders.append((request.headers["Authorization"], await request.json()))
        return web.json_response({"order_id": 42}, status=status)

    async def main() -> None:
        block = await run("place_order")
        llm = FakeLLM(
            [Reply(calls=[("place_order", {"item": "tea", "quantity": 2})]), "About your order: hello again."]
        )
        # In text: a microphone has fifty timers a second, and real sockets hold the virtual clock before each.
        async with web_service(monkeypatch, place) as asked, AgentSession[Any](llm=llm) as session:
            await session.start(block.Orders())
            session.submit_user_turn("two teas")
            await asyncio.sleep(2.0)
            session.submit_user_turn("are you there yet")
            await session.wait_for_idle()
            assert asked == ["POST https://api.example.com/orders"]
            assert orders == [("Bearer secret", {"item": "tea", "quantity": 2})]
            assert outputs(session) == [told]
            assert [line for line in transcript(session.history) if line.startswith("user")] == [
                "user: two teas",
                "user: are you there yet",
            ]
            assert len(llm.requests) == 2

    monkeypatch.setenv("API_KEY", "secret")
    run_virtual(main())


# -- tools that come and go


def test_a_tool_is_shared_by_agents() -> None:
    async def main() -> None:
        block = await run("lookup_user")
        for kind in (block.AgentA, block.AgentB):
            llm = FakeLLM([Reply(calls=[("lookup_user", {"user_id": "1"})]), "John Doe."])
            session = await converse(kind(), "Who am I?", llm=llm)
            assert json.loads(outputs(session)[0]) == {"name": "John Doe", "email": "john.doe@example.com"}

    run_virtual(main())


@function_tool
async def tool_a() -> str:
    """A."""
    return "a"


@function_tool
async def tool_b() -> str:
    """B."""
    return "b"


def test_tools_are_added_removed_and_replaced() -> None:
    class Changing(Agent):
        @function_tool
        async def own(self) -> str:
            """Own."""
            return "own"

    async def main() -> None:
        agent = Changing()
        seen: list[list[str]] = []
        update = agent.update_tools

        async def spy(tools: Any) -> None:
            await update(tools)
            seen.append([tool.id for tool in agent.tools])

        agent.update_tools = spy  # type: ignore[method-assign]
        await run("update_tools", agent=agent, tool_a=tool_a, tool_b=tool_b)
        assert seen == [["own", "tool_a"], ["own"], ["tool_a", "tool_b"]]

    run_virtual(main())


def test_tools_are_made_by_a_method_before_the_agent_is_complete() -> None:
    async def main() -> None:
        block = await run("Assistant")
        llm = FakeLLM([Reply(calls=[("set_phone_number", {"value": "1"}), ("set_email", {"value": "a@b"})]), "Noted."])
        session = await converse(block.Assistant(), "My number is 1, my address a@b.", llm=llm)
        assert outputs(session) == ["field phone was set to 1", "field email was set to a@b"]
        assert [tool.description for tool in llm.requests[0].tools] == [  # type: ignore[attr-defined]
            "Call this function when user has provided their phone number.",
            "Call this function when user has provided their email.",
        ]

    run_virtual(main())


def test_a_raw_schema_is_sent_as_it_is_and_its_arguments_come_as_a_dictionary() -> None:
    async def main() -> None:
        block = await run("get_weather")
        llm = FakeLLM([Reply(calls=[("get_weather", {"location": "New York, USA"})]), "So it is."])
        session = await converse(Agent(tools=[block.get_weather]), "New York?", llm=llm)
        assert outputs(session) == ["The weather of New York, USA is ..."]
        (tool,) = llm.requests[0].tools
        assert tool.spec.parameters == block.raw_schema["parameters"]  # type: ignore[attr-defined]

    run_virtual(main())


def test_tools_are_made_from_schemas_in_a_loop() -> None:
    async def main() -> None:
        block = await run("create_database_tool")
        llm = FakeLLM([Reply(calls=[("update_users", {"record_id": "9"})]), "Updated."])
        session = await converse(block.DataAgent(), "Update nine.", llm=llm)
        assert offered(llm) == ["read_users", "update_users", "delete_users"]
        assert outputs(session) == ["Performed update on users for record 9"]

    run_virtual(main())


# -- what is recorded of changes


def test_changes_of_tools_and_instructions_are_recorded_and_shown_to_the_model() -> None:
    @function_tool
    async def new_tool_a() -> str:
        """New."""
        return "a"

    @function_tool
    async def new_tool_b() -> str:
        """New."""
        return "b"

    @function_tool
    async def old_tool() -> str:
        """Old."""
        return "old"

    async def main() -> None:
        agent = Agent(tools=[old_tool])
        llm = FakeLLM(["Let me check...", "How can I help?"])
        async with AgentSession(llm=llm) as session:
            await session.start(agent)
            await session.run(user_input="What's the weather?")
            await run("tracked changes", agent=agent, new_tool_a=new_tool_a, new_tool_b=new_tool_b)
            history = await run("tracked history")
            (items,) = history.values
            assert transcript(agent.chat_ctx) == transcript(items)
            changes = [item for item in agent.chat_ctx.items if isinstance(item, AgentConfigUpdate)]
            wanted = [item for item in items if isinstance(item, AgentConfigUpdate)]
            assert [(c.instructions, c.tools_added, c.tools_removed) for c in changes] == [
                (c.instructions, c.tools_added, c.tools_removed) for c in wanted
            ]
            await session.run(user_input="Hello?")
        assert llm.histories[1][0] == f"system: You are now a support agent.\n\n{RESULTS_ARE_DATA}"
        assert "new_tool_a" in " ".join(line for line in llm.histories[1] if line.startswith("note"))

    run_virtual(main())


def test_a_copy_may_leave_changes_out() -> None:
    async def main() -> None:
        (items,) = (await run("tracked history")).values
        block = await run("copy", chat_ctx=ChatContext(items))
        assert transcript(block.ctx_copy) == ["user: What's the weather?", "assistant: Let me check..."]

    run_virtual(main())


@pytest.mark.parametrize(
    ("location", "told", "is_error"),
    [
        ("mars", "This location is coming soon. Please join our mailing list to stay updated.", True),
        ("earth", '{"weather": "sunny", "temperature_f": 70}', False),
    ],
)
def test_a_tool_error_is_told_in_the_place_of_a_result(location: str, told: str, is_error: bool) -> None:
    async def main() -> None:
        block = await run("lookup_weather")
        llm = FakeLLM([Reply(calls=[("lookup_weather", {"location": location})]), "So it is."])
        session = await converse(block.Weather(), "The weather?", llm=llm)
        line = next(line for line in transcript(session.history) if "lookup_weather:" in line)
        assert line == f"{'error' if is_error else 'output'} lookup_weather: {told}"

    run_virtual(main())
