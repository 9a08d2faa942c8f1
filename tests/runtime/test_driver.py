"""Facts in, commands out, and what happens between."""

from __future__ import annotations

import asyncio
import contextvars
from typing import TYPE_CHECKING, Any, get_args

from antiphon import Agent, AgentSession, RunContext, function_tool
from antiphon.core.commands import Command
from antiphon.core.notices import Notice
from antiphon.runtime import driver
from antiphon.runtime.scope import current
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript

if TYPE_CHECKING:
    import pytest

marker: contextvars.ContextVar[str] = contextvars.ContextVar("marker", default="")


def test_what_a_callback_asks_for_is_done_behind_what_is_being_performed() -> None:
    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM(["One."]))

        def on_item(event: Any) -> None:
            if event.item.role == "user":
                session.say("Hm.")

        session.on("conversation_item_added", on_item)
        async with session:
            await session.start(Agent())
            await session.run(user_input="a")
            assert sorted(transcript(session.history)) == ["assistant: Hm.", "assistant: One.", "user: a"]

    run_virtual(main())


def test_a_callback_that_raises_disturbs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Any) -> None:
        raise ValueError("oops")

    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM(["One."]))
        session.on("conversation_item_added", broken)
        async with session:
            await session.start(Agent())
            await session.run(user_input="a")
            assert transcript(session.history) == ["user: a", "assistant: One."]

    run_virtual(main())
    assert "oops" in caplog.text


def test_tasks_of_the_session_do_not_inherit_the_tool_that_asked_for_them() -> None:
    inside: list[Any] = []

    class Nested(Agent):
        def llm_node(self, chat_ctx: Any, tools: Any, model_settings: Any) -> Any:
            inside.append((current.get(), marker.get()))
            return Agent.default.llm_node(self, chat_ctx, tools, model_settings)

        async def on_enter(self) -> None:
            await self.session.generate_reply(instructions="Greet.")

        @function_tool
        async def nest(self, ctx: RunContext) -> str:
            """Nest."""
            await ctx.session.generate_reply(instructions="Nest.")
            return "ok"

    async def main() -> None:
        marker.set("call")
        llm = FakeLLM(["Hello.", Reply(calls=[("nest", {})]), "Nested.", "Done."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Nested(), capture_run=True)
            await session.run(user_input="a")
        # What was set when the session began is there, what tools and hooks set is not.
        assert inside == [(None, "call")] * 4

    run_virtual(main())


def test_a_command_that_cannot_be_performed_is_closed_and_told(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Agent):
        def request_items(self) -> Any:
            raise ValueError("no context")

    async def main() -> None:
        errors: list[Any] = []
        session = AgentSession[Any](llm=FakeLLM(), failure_line="Sorry.")
        session.on("error", errors.append)
        async with session:
            await session.start(Broken())
            await session.run(user_input="a")
            assert transcript(session.history)[-1] == "assistant: Sorry."
        assert str(errors[0].error) == "no context"

    run_virtual(main())


def test_a_cancelled_tool_that_does_not_end_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    class Stubborn(Agent):
        @function_tool(timeout=1.0)
        async def work(self) -> str:
            """Work."""
            for _ in range(5):
                try:
                    await asyncio.sleep(1)
                except asyncio.CancelledError:
                    continue
            return "late"

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("work", {})]), "It took too long."])) as session:
            await session.start(Stubborn())
            await session.run(user_input="a")
            assert transcript(session.history)[-1] == "assistant: It took too long."
            await asyncio.sleep(10)
            assert transcript(session.history)[-1] == "assistant: It took too long."

    run_virtual(main())
    assert "was abandoned" in caplog.text


def test_every_command_is_performed_or_only_told() -> None:
    only_told = set(get_args(Notice))
    assert set(get_args(Command)) - only_told <= set(driver._PERFORM) <= set(get_args(Command))
