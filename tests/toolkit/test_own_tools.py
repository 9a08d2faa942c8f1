"""What our own toolkit can do with a session, users can do: tools written with public names only."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import antiphon
from antiphon import (
    Agent,
    AgentSession,
    CloseEvent,
    RunContext,
    SessionClosed,
    ToolError,
    Toolset,
    UsageError,
    function_tool,
)
from antiphon.events import ToolResultEvent
from antiphon.session_api import current_session
from antiphon.testing import (
    FakeLLM,
    FakeMicrophone,
    FakeSpeaker,
    FakeSTT,
    FakeTTS,
    FakeVAD,
    Reply,
    run_virtual,
    transcript,
)

SOURCE = Path(antiphon.__file__).parent
HIDDEN = ("antiphon.core", "antiphon.runtime", "antiphon.application")


def hidden_names(path: Path) -> Iterator[str]:
    """What a module uses that users have not: imports, and attributes that lead behind the session."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(tuple(f"{name}." for name in HIDDEN)):
            yield f"{path.name}:{node.lineno} imports {node.module}"
        elif isinstance(node, ast.Import) and any(alias.name.startswith(HIDDEN) for alias in node.names):
            yield f"{path.name}:{node.lineno} imports {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom) and (private := [a.name for a in node.names if a.name.startswith("_")]):
            yield f"{path.name}:{node.lineno} imports {', '.join(private)}"
        elif isinstance(node, ast.Attribute) and node.attr in ("driver", "execution", "host"):
            yield f"{path.name}:{node.lineno} {ast.unparse(node)}"


@pytest.mark.parametrize("package", ["tools", "tasks", "toolkit"])
def test_tools_tasks_and_toolkit_use_public_names_only(package: str) -> None:
    assert [name for path in sorted((SOURCE / package).rglob("*.py")) for name in hidden_names(path)] == []


@pytest.mark.parametrize(
    "line",
    [
        "from antiphon.core.facts import EndRequested",
        "import antiphon.runtime.driver",
        "def f():\n    from antiphon.application import cast",
        "from antiphon.session import _given_or",
        "ctx.run.execution.gen",
    ],
)
def test_the_look_for_hidden_names_finds_them(line: str, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(line)
    assert len(list(hidden_names(tmp_path / "one.py"))) == 1


@function_tool
async def hang_up(ctx: RunContext[Any]) -> str:
    """End the call."""
    ctx.session.end_call()
    return "Say goodbye."


def test_a_tool_of_ones_own_ends_the_call_after_its_goodbye() -> None:
    reasons: list[str] = []

    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM([Reply(calls=[("hang_up", {})]), "Bye."]))
        session.on("close", lambda event: reasons.append(event.reason.value))
        await session.start(Agent(tools=[hang_up]))
        assert not session.said_goodbye
        session.submit_user_turn("that's all")
        await asyncio.sleep(1.0)
        assert transcript(session.history)[-1] == "assistant: Bye."
        assert session.said_goodbye and not session.is_running
        with pytest.raises(SessionClosed, match="end_call"):
            session.end_call()

    run_virtual(main())
    assert reasons == ["user_initiated"]


def test_a_caller_who_goes_on_over_the_goodbye_keeps_the_call() -> None:
    async def main() -> None:
        speaker, microphone = FakeSpeaker(), FakeMicrophone()
        session = AgentSession[Any](
            llm=FakeLLM([Reply(calls=[("hang_up", {})]), "Goodbye, and thank you.", "Sure, what is it?"]),
            stt=FakeSTT(["that's all", "wait, one more thing"]),
            tts=FakeTTS(),
            vad=FakeVAD(),
        )
        await session.start(Agent(tools=[hang_up]), input=microphone, output=speaker)
        await microphone.speak(1.0)
        await asyncio.sleep(2.5)
        await microphone.speak(1.0)
        await asyncio.sleep(10.0)
        assert session.is_running and not session.said_goodbye
        await session.aclose()

    run_virtual(main())


def test_an_application_ends_the_call_with_a_goodbye_of_its_own() -> None:
    closed: list[CloseEvent] = []

    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM([]), tts=FakeTTS())
        session.on("close", closed.append)
        await session.start(Agent(), output=FakeSpeaker())
        goodbye = session.say("Goodbye, and thank you for calling.")
        session.end_call(goodbye=goodbye, linger=1.0)
        await goodbye
        assert session.is_running
        await asyncio.sleep(0.9)
        assert session.is_running
        await asyncio.sleep(0.3)
        assert not session.is_running and not goodbye.interrupted

    run_virtual(main())
    assert [event.reason.value for event in closed] == ["user_initiated"]


def test_a_call_that_was_dropped_ends_nothing() -> None:
    raised: list[str] = []

    @function_tool
    async def slow_end(ctx: RunContext[Any]) -> str:
        """End the call."""
        await asyncio.sleep(2.0)
        assert ctx.run.dropped
        try:
            ctx.session.end_call()
        except ToolError as error:
            raised.append(str(error))
        return "Say goodbye."

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("slow_end", {})]), "Sure."])) as session:
            await session.start(Agent(tools=[slow_end]))
            session.submit_user_turn("that's all")
            await asyncio.sleep(1.0)
            session.submit_user_turn("wait")
            await asyncio.sleep(5.0)
            assert session.is_running

    run_virtual(main())
    assert raised == ["The call was not ended: the caller went on."]


class Errands(Toolset):
    """A toolset of one's own for work in the background."""

    @function_tool
    async def errand(self, ctx: RunContext[Any], thing: str) -> str:
        """Do something that takes long.

        Args:
            ctx: The call.
            thing: What to do.
        """
        await ctx.update(f"Doing {thing}.", silent=True)
        await asyncio.sleep(5.0)
        return f"{thing} is done"

    @function_tool(effect="writes")
    async def pay(self, ctx: RunContext[Any]) -> str:
        """Pay."""
        await ctx.update("Paying.", silent=True)
        await asyncio.sleep(5.0)
        return "paid"

    @function_tool
    async def stop_all(self, ctx: RunContext[Any]) -> str:
        """Stop everything that may be stopped."""
        others = [run for run in ctx.session.running_tools if run != ctx.run and run.may_be_cancelled]
        for run in others:
            run.cancel()
        return f"stopped {', '.join(run.function_call.arguments for run in others)}"


def test_a_toolset_of_ones_own_sees_its_work_in_the_background_and_stops_it() -> None:
    llm = FakeLLM(
        [
            Reply(calls=[("errand", {"thing": "washing"})]),
            Reply(calls=[("pay", {})]),
            Reply(calls=[("stop_all", {})]),
            "Stopped.",
            "It is paid.",
        ]
    )
    results: list[ToolResultEvent] = []

    async def main() -> None:
        async with AgentSession[Any](llm=llm) as session:
            assert session.running_tools == []
            session.on("tool_result", results.append)
            await session.start(Agent(tools=[Errands(id="errands")]))
            await session.run(user_input="Wash.")
            await session.run(user_input="Pay.")
            washing, paying = session.running_tools
            assert (washing.tool.name, washing.in_background, washing.dropped) == ("errand", True, False)
            assert washing.function_call.arguments == '{"thing": "washing"}'
            with pytest.raises(ToolError, match="cannot be cancelled"):
                paying.cancel()
            await session.run(user_input="Stop it all.")
            assert session.running_tools == [paying]
            await asyncio.sleep(10.0)
            assert session.running_tools == []

    run_virtual(main())
    assert [(event.call_id, event.output.output, event.is_final) for event in results] == [
        ("call_1", "`errand` was cancelled.", True),
        ("call_2", "paid", True),
    ]


def test_every_report_from_the_background_after_the_first_is_told() -> None:
    @function_tool
    async def search(ctx: RunContext[Any]) -> str:
        """Search."""
        for part in ("first", "second", "third"):
            await ctx.update(part, silent=True)
            await asyncio.sleep(1.0)
        return "found"

    seen: list[tuple[str, bool]] = []

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("search", {})]), "Found."])) as session:
            session.on("tool_result", lambda event: seen.append((event.output.call_id, event.is_final)))
            await session.start(Agent(tools=[search]))
            await session.run(user_input="Search.")
            await asyncio.sleep(5.0)

    run_virtual(main())
    assert seen == [("call_1/update_1", False), ("call_1/update_2", False), ("call_1/finished", True)]


def test_an_agent_of_ones_own_takes_the_floor_while_a_tool_waits() -> None:
    class Sizes(Agent):
        """Finds out a size. No `AgentTask`."""

        def __init__(self, answer: asyncio.Future[str]) -> None:
            super().__init__(instructions="Find out the size.")
            self.answer = answer

        @function_tool
        async def note_size(self, size: str) -> None:
            """Note the size."""
            self.answer.set_result(size)

    @function_tool
    async def order(ctx: RunContext[Any]) -> str:
        """Order."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        assert current_session.get() is ctx.session
        await ctx.session.lend_floor(Sizes(answer), answer)
        assert ctx.session.current_agent is ctx.agent
        return f"ordered in {answer.result()}"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("order", {})]), Reply(calls=[("note_size", {"size": "L"})]), "Done."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(front := Agent(tools=[order]))
            session.submit_user_turn("A shirt, please.")
            await asyncio.sleep(1.0)
            assert isinstance(session.current_agent, Sizes)
            await session.run(user_input="Large.")
            assert transcript(session.history)[-1] == "assistant: Done."
            assert "user: Large." in transcript(front.chat_ctx)
            assert current_session.get() is None
            with pytest.raises(UsageError, match="inside a tool or a hook"):
                session.lend_floor(Agent(), asyncio.get_running_loop().create_future())

    run_virtual(main())
