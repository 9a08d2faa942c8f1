"""A whole turn with tools through `openai.LLM`: what the endpoint is shown at each step."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Agent, AgentSession, ToolError, function_tool
from antiphon.providers.openai import LLM
from antiphon.testing import run_virtual, transcript

pytest.importorskip("openai", reason="needs the openai package: pip install 'antiphon[openai]'")

from tests.providers.http_double import HTTPDouble, status
from tests.providers.openai_double import call, calls, text


class Host(Agent):
    @function_tool
    async def book(self, day: str) -> str:
        """Book a table."""
        if day == "Sunday":
            raise ToolError("Closed on Sundays.")
        return f"Booked for {day}."


def test_parallel_calls_run_and_their_results_go_back_as_one_step() -> None:
    async def main() -> None:
        both = calls(
            call(0, id="c1", name="book", arguments='{"day": "Monday"}'),
            call(1, id="c2", name="book", arguments='{"day": "Sunday"}'),
        )
        async with HTTPDouble(both, text("Monday is booked.")) as double:
            llm = LLM(base_url=double.url)
            session: AgentSession[Any] = AgentSession(llm=llm)
            await session.start(Host(instructions="You book tables."))
            await session.run(user_input="Monday and Sunday")
            await session.aclose()
            await llm.aclose()
        first, second = (request.json for request in double.requests)
        assert [tool["function"]["name"] for tool in first["tools"]] == ["book"]
        assert [message["role"] for message in first["messages"]] == ["system", "user"]
        assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "tool", "tool"]
        assert [one["id"] for one in second["messages"][2]["tool_calls"]] == ["c1", "c2"]
        assert [message["content"] for message in second["messages"][3:]] == [
            "Booked for Monday.",
            "[error] Closed on Sundays.",
        ]
        assert transcript(session.history)[-1].rstrip() == "assistant: Monday is booked."

    run_virtual(main(), timeout=60)


def test_an_endpoint_that_fails_ends_no_session() -> None:
    async def main() -> None:
        async with HTTPDouble(status(400, {"error": {"message": "bad"}}), text("Here I am.")) as double:
            llm = LLM(base_url=double.url, max_retries=0)
            session: AgentSession[Any] = AgentSession(llm=llm)
            await session.start(Host())
            await session.run(user_input="Hello?")
            await session.run(user_input="Are you there?")
            await session.aclose()
            await llm.aclose()
        assert transcript(session.history)[-1].rstrip() == "assistant: Here I am."

    run_virtual(main(), timeout=60)
