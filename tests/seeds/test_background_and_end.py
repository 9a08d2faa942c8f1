"""The two pages of reference: what a background tool tells and when, the constructors, and how a call ends."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AsyncRunContext, AsyncToolset, EndCallTool, RunContext, get_job_context
from antiphon.protocols import ModelKind
from antiphon.server.entrypoint import AgentServer
from antiphon.server.room import Room
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from antiphon.tools.toolset import Toolset
from tests.seeds.documents import lines_of, page, run

TRIP = {"origin": "NYC", "destination": "Tokyo"}


def test_the_agent_says_what_the_comments_of_the_block_say() -> None:
    says = [m[1] for line in lines_of("book_flight") if (m := re.search(r'# → agent says: "(.*)"', line))]

    async def search_flights(origin: str, destination: str) -> list[str]:
        await asyncio.sleep(20.0)
        return [f"{origin}-{destination}"] * 3

    async def book_best_flight(flights: list[str]) -> SimpleNamespace:
        await asyncio.sleep(20.0)
        return SimpleNamespace(id="FL-847293")

    async def main() -> None:
        block = await run("book_flight", search_flights=search_flights, book_best_flight=book_best_flight)
        llm = FakeLLM([Reply(calls=[("book_flight", TRIP)]), *says])
        async with AgentSession(llm=llm) as session:
            await session.start(Agent(instructions="You book flights.", tools=[block.async_tools]))
            await session.run(user_input="Fly me from New York to Tokyo.")
            await asyncio.sleep(60.0)
            history = transcript(session.history)
        assert len(says) == 3
        assert [line.removeprefix("assistant: ") for line in history if line.startswith("assistant")] == says
        told = [line for line in history if line.startswith("output")]
        assert "message: Looking up flights from NYC to Tokyo..." in told[0]
        assert "message: Found 3 flights, picking the best one..." in told[1]
        assert told[2] == 'output book_flight: {"confirmation": "FL-847293"}'
        assert block.async_tools.id == "booking"

    run_virtual(main())


def printed(document: str, name: str) -> inspect.Signature:
    """The signature that a page of reference prints for a class."""
    match = re.search(rf"^class {name} \((.*?)\)-?$", page(document), re.MULTILINE | re.DOTALL)
    assert match is not None
    names: dict[str, Any] = {}
    exec(f"from __future__ import annotations\ndef {name}({match[1]}): ...", names)
    return inspect.signature(names[name])


def shape(signature: inspect.Signature) -> list[tuple[str, Any, Any]]:
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


@pytest.mark.parametrize(("document", "kind"), [("002", AsyncRunContext), ("002", AsyncToolset), ("004", EndCallTool)])
def test_the_constructors_take_what_the_pages_print(document: str, kind: type[Any]) -> None:
    assert shape(inspect.signature(kind)) == shape(printed(document, kind.__name__))


def test_a_call_ends_in_the_order_that_the_page_gives() -> None:
    log: list[str] = []

    async def called(event: Toolset.ToolCalledEvent) -> None:
        assert isinstance(event.ctx, RunContext) and event.ctx.function_call.name == "end_call"
        log.append(f"called {event.arguments}")

    async def completed(event: Toolset.ToolCompletedEvent) -> None:
        log.append(f"completed {event.output}")

    async def main() -> None:
        server = AgentServer()
        llm = FakeLLM([Reply(calls=[("end_call", {})]), "Goodbye, and thank you for calling."])
        end_call = EndCallTool(on_tool_called=called, on_tool_completed=completed)

        @server.rtc_session
        async def entrypoint(session: AgentSession[Any]) -> None:
            session.on("conversation_item_added", lambda event: log.append(event.item.text_content))
            session.on("close", lambda event: log.append(f"closed: {event.reason.value}"))
            get_job_context().add_shutdown_callback(lambda reason: log.append(f"job over: {reason}"))
            await session.start(agent=Agent(tools=[end_call]), room=session.room)

        def models(wanted: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
            return {**wanted, "llm": llm}

        async with server.job(Room(), models=models) as job:
            job.room.on("disconnected", lambda reason: log.append(reason))
            session = await job.wait_for_session()
            assert session is not None
            session.submit_user_turn("That's all, thanks.")
            reason = await job.wait_for_shutdown()
        assert llm.requests[1].chat_ctx.items[-1].output == "say goodbye to the user"  # type: ignore[union-attr]
        assert log == [
            "That's all, thanks.",
            "called {}",
            "completed say goodbye to the user",
            "Goodbye, and thank you for calling.",
            f"closed: {reason}",
            f"job over: {reason}",
            "room deleted",
        ]

    run_virtual(main())


def test_the_room_stays_if_it_is_not_to_be_deleted() -> None:
    ended: list[str] = []

    async def main() -> None:
        server = AgentServer()
        llm = FakeLLM([Reply(calls=[("end_call", {})]), "Goodbye."])

        @server.rtc_session()
        async def entrypoint(session: AgentSession[Any]) -> None:
            await session.start(agent=Agent(tools=[EndCallTool(delete_room=False)]), llm=llm)

        async with server.job(Room()) as job:
            job.room.on("disconnected", ended.append)
            session = await job.wait_for_session()
            assert session is not None
            session.submit_user_turn("Bye.")
            await job.wait_for_shutdown()
        assert ended == []

    run_virtual(main())
