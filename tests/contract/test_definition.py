"""Tools as a session treats them: arguments in, results out, names that clash."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import logging
from typing import Any, Literal

import pydantic
import pytest

from antiphon import (
    Agent,
    AgentSession,
    RunContext,
    StopResponse,
    ToolDefinitionError,
    ToolError,
    ToolFlag,
    ToolResult,
    Toolset,
    function_tool,
)
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript
from tests.calls import converse, outputs


@dataclasses.dataclass
class Slot:
    day: str
    seats: int


class Booking(pydantic.BaseModel):
    code: str
    at: datetime.date


@pytest.mark.parametrize(
    ("result", "told", "reply"),
    [
        ("text as it is", "text as it is", True),
        ("", "", True),
        (0, "0", True),
        (1.5, "1.5", True),
        (False, "false", True),
        ([], "[]", True),
        ({"a": None}, '{"a": null}', True),
        (("x", 1), '["x", 1]', True),
        (Slot("Friday", 2), '{"day": "Friday", "seats": 2}', True),
        (Booking(code="R", at=datetime.date(2026, 6, 12)), '{"code": "R", "at": "2026-06-12"}', True),
        (datetime.date(2026, 6, 12), '"2026-06-12"', True),
        ([Slot("Friday", 2)], '[{"day": "Friday", "seats": 2}]', True),
        (None, "", False),
        (ToolResult("told", reply_required=False), "told", False),
        (ToolResult({"a": 1}), '{"a": 1}', True),
    ],
)
def test_each_kind_of_result_reaches_the_model(result: Any, told: str, reply: bool) -> None:
    async def work() -> Any:
        """Work."""
        return result

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("work", {})]), *["Done."] * reply])
        session = await converse(Agent(tools=[function_tool(work)]), "Go.", llm=llm)
        assert outputs(session) == [told]
        assert llm.remaining == 0 and len(llm.requests) == 1 + reply

    run_virtual(main())


@pytest.mark.parametrize(("limit", "cut"), [(10, True), (12, False)])
def test_long_results_are_cut_with_a_note(limit: int, cut: bool) -> None:
    @function_tool
    async def work() -> str:
        """Work."""
        return "abcdefghijkl"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("work", {})]), "Done."])
        session = await converse(Agent(tools=[work]), "Go.", llm=llm, max_result_chars=limit)
        (told,) = outputs(session)
        assert (told == "abcdefghijkl") is not cut
        if cut:
            assert told.startswith("abcdefghij\n") and "10 of 12" in told

    run_virtual(main())


def test_long_errors_and_reports_of_progress_are_cut_as_results_are() -> None:
    @function_tool
    async def fail() -> str:
        """Fail."""
        raise ToolError("abcdefghijkl")

    @function_tool
    async def report(ctx: RunContext) -> None:
        """Report."""
        await ctx.update("abcdefghijkl", _template="{message}")
        await ctx.update(["abcdefghijkl"])

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("fail", {}), ("report", {})]), *["Well."] * 3])
        session = await converse(Agent(tools=[fail, report]), "Go.", llm=llm, max_result_chars=10)
        cut = "abcdefghij\n[cut: the first 10 of 12 characters]"
        assert outputs(session)[:3] == [cut, cut, '["abcdefgh\n[cut: the first 10 of 16 characters]']

    run_virtual(main())


class Meal(enum.Enum):
    LUNCH = "lunch"
    DINNER = "dinner"


TAKEN = 'output book: {"day": "Friday", "seats": 2, "meal": "lunch", "notes": []}'


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"day": "Friday", "seats": 2}', TAKEN),
        # extra arguments are ignored
        ('{"day": "Friday", "seats": 2, "colour": "red"}', TAKEN),
        # null for a defaulted argument means the default
        ('{"day": "Friday", "seats": 2, "meal": null, "notes": null}', TAKEN),
        # repaired where that is unambiguous
        ('{"day": "Friday", "seats": 2,}', TAKEN),
        ("{'day': 'Friday', 'seats': 2}", TAKEN),
        ('```json\n{"day": "Friday", "seats": 2}\n```', TAKEN),
        ('{"day": "Friday", "seats": "2"}', TAKEN),
    ],
)
def test_arguments_that_have_one_meaning_are_taken(arguments: str, told: str) -> None:
    run_virtual(_book(arguments, told, is_error=False))


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ('{"day": "Friday"}', ["seats", "an integer"]),
        ('{"day": "Friday", "seats": "many"}', ["seats", "an integer", "many"]),
        ('{"day": "Friday", "seats": 2, "meal": "brunch"}', ["meal", "lunch", "dinner", "brunch"]),
        ('{"day": 5, "seats": {}}', ["day", "a string", "5", "seats", "an integer"]),
        ("book a table", []),
        ("[1, 2]", []),
    ],
)
def test_arguments_that_do_not_fit_are_told_field_by_field(arguments: str, parts: list[str]) -> None:
    run_virtual(_book(arguments, "error book: Error parsing arguments for `book`:", is_error=True, parts=parts))


async def _book(arguments: str, told: str, *, is_error: bool, parts: list[str] | None = None) -> None:
    @function_tool
    async def book(day: str, seats: int, meal: Meal = Meal.LUNCH, notes: list[str] | None = None) -> dict[str, Any]:
        """Book."""
        return {"day": day, "seats": seats, "meal": meal, "notes": notes or []}

    llm = FakeLLM([Reply(calls=[("book", arguments)]), "Well."])
    session = await converse(Agent(tools=[book]), "Book.", llm=llm)
    line = next(line for line in transcript(session.history) if line.startswith(("output", "error")))
    assert line.startswith(told) and (is_error or line == told)
    for part in parts or ():
        assert part in line
    assert "pydantic" not in line and "http" not in line


def test_an_unknown_tool_is_told_with_those_there_are() -> None:
    @function_tool
    async def a() -> str:
        """A."""
        return "a"

    @function_tool
    async def b() -> str:
        """B."""
        return "b"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("x", {})]), "Sorry."])
        session = await converse(Agent(tools=[a, b]), "Go.", llm=llm)
        assert transcript(session.history)[2] == "error x: Unknown function: x - available tools: a, b"

    run_virtual(main())


def test_a_name_without_end_is_cut_where_a_model_calls_it() -> None:
    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("x" * 500_000, {})]), "Sorry."])
        session = await converse(Agent(), "Go.", llm=llm)
        made, refused = transcript(session.history)[1:3]
        assert "(500,000 characters)" in made and len(made) < 200
        assert "(500,000 characters)" in refused and len(refused) < 400

    run_virtual(main())


@pytest.mark.parametrize(
    ("error", "line", "replies"),
    [
        (ToolError("Not today."), "error work: Not today.", True),
        (RuntimeError("secret"), "error work: An internal error occurred", True),
        (StopResponse(), "output work: ", False),
    ],
)
def test_what_a_synchronous_tool_raises_is_told_alike(error: Exception, line: str, replies: bool) -> None:
    @function_tool
    def work() -> str:
        """Work."""
        raise error

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("work", {})]), *["Well."] * replies])
        session = await converse(Agent(tools=[work]), "Go.", llm=llm)
        assert transcript(session.history)[2] == line
        assert llm.remaining == 0

    run_virtual(main())


def test_a_result_that_cannot_be_told_is_an_error_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    @function_tool
    async def work() -> object:
        """Work."""
        return object()

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("work", {})]), "It worked."])
        session = await converse(Agent(tools=[work]), "Go.", llm=llm)
        assert (
            "error work: The tool has run, but its result cannot be shown: an object has no JSON form."
            in (transcript(session.history)[2])
        )

    with caplog.at_level(logging.ERROR, logger="antiphon"):
        run_virtual(main())
    assert "tool 'work' returned what no model can read" in caplog.text


class NoSeats(ToolError):
    """An author's own error, which keeps what it needs and leaves our constructor alone."""

    def __init__(self, seats: int) -> None:
        Exception.__init__(self, f"Only {seats} seats.")


@pytest.mark.parametrize(
    ("error", "told"), [(NoSeats(2), "Only 2 seats."), (ToolError(ValueError("closed")), "closed")]
)
def test_the_message_of_a_tool_error_is_text_however_it_was_made(error: ToolError, told: str) -> None:
    @function_tool
    async def work() -> str:
        """Work."""
        raise error

    async def main() -> None:
        session = await converse(Agent(tools=[work]), "Go.", llm=FakeLLM([Reply(calls=[("work", {})]), "Well."]))
        assert outputs(session) == [told]
        assert transcript(session.history)[-1] == "assistant: Well."

    run_virtual(main())


def test_every_way_to_make_a_tool_works_in_a_session() -> None:
    class Counter:
        def bump(self, by: int) -> int:
            """Bump."""
            return by + 1

    class Own(Agent):
        @function_tool
        async def method(self, n: int, ctx: RunContext) -> int:
            """The context comes last."""
            return n + (ctx.agent is self)

        @function_tool()
        def plain(self, n: int) -> int:
            """No context, no await."""
            return n

    @function_tool(name="renamed", description="Renamed.")
    async def original(ctx: RunContext, n: int) -> int:
        return n

    async def main() -> None:
        names = ["bump", "renamed", "method", "plain"]
        llm = FakeLLM([Reply(calls=[(name, {"by" if name == "bump" else "n": 1}) for name in names]), "Done."])
        session = await converse(Own(tools=[function_tool(Counter().bump), original]), "Go.", llm=llm)
        assert outputs(session) == ["2", "1", "2", "1"]
        for tool in llm.requests[0].tools:
            properties = tool.spec.parameters["properties"]  # type: ignore[attr-defined]
            assert list(properties) in (["n"], ["by"])

    run_virtual(main())


def test_literal_values_are_spelled_into_the_description() -> None:
    @function_tool
    async def book(meal: Literal["lunch", "dinner"]) -> str:
        """Book.

        Args:
            meal: Which meal.
        """
        return meal

    async def main() -> None:
        llm = FakeLLM(["Hello."])
        await converse(Agent(tools=[book]), "Hi.", llm=llm)
        text = llm.requests[0].tools[0].spec.parameters["properties"]["meal"]["description"]  # type: ignore[attr-defined]
        assert text.startswith("Which meal.") and '"lunch"' in text and '"dinner"' in text

    run_virtual(main())


def test_a_name_that_is_not_known_yet_is_an_error_only_when_an_agent_gets_the_tool() -> None:
    @function_tool
    async def lookup(where: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821
        """Look."""
        return ""

    with pytest.raises(ToolDefinitionError) as caught:
        Agent(tools=[lookup])
    assert "lookup" in str(caught.value) and "where" in str(caught.value)


class Computed(Toolset):
    """A toolset that knows its tools only when it has been set up."""

    async def setup(self) -> Computed:
        await asyncio.sleep(0.1)

        @function_tool(name="look")
        async def other_look() -> str:
            """Another."""
            return "other"

        self._tools = [other_look]
        return self


class Undescribed(Toolset):
    """A toolset whose tool nobody can describe to a model, which shows when it has been set up."""

    async def setup(self) -> Undescribed:
        @function_tool
        async def find(what) -> str:  # type: ignore[no-untyped-def]
            """Find."""
            return "found"

        self._tools = [find]
        return self


@pytest.mark.parametrize(("toolset", "named"), [(Computed, "'look'"), (Undescribed, "'what'")])
def test_a_toolset_whose_tools_clash_or_cannot_be_described_after_setup_is_left_out(
    toolset: type[Toolset], named: str
) -> None:
    @function_tool
    async def look() -> str:
        """Look."""
        return "mine"

    async def main() -> None:
        errors: list[Any] = []
        llm = FakeLLM([Reply(calls=[("look", {})]), "Mine."])
        session = AgentSession[Any](llm=llm)
        session.on("error", errors.append)
        async with session:
            await session.start(Agent(tools=[look, toolset(id="left out")]))
            await session.run(user_input="Look.")
        assert [tool.id for tool in llm.requests[0].tools] == ["look"]
        assert outputs(session) == ["mine"]
        assert [(event.source.id, named in str(event.error)) for event in errors] == [("left out", True)]

    run_virtual(main())


def test_what_is_no_tool_is_refused_by_update_tools() -> None:
    async def main() -> None:
        agent = Agent()
        with pytest.raises(ToolDefinitionError, match="expected a tool or a toolset, got 'look'"):
            await agent.update_tools(["look"])  # type: ignore[list-item]

    run_virtual(main())


def test_a_cancellable_tool_may_be_cancelled_by_the_model() -> None:
    @function_tool(flags=ToolFlag.CANCELLABLE)
    async def search(ctx: RunContext) -> str:
        """Search."""
        await ctx.update("Searching.")
        await asyncio.sleep(60.0)
        return "found"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("search", {})]), "I am searching."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[search]))
            await session.run(user_input="Search.")
            call_id = session.history.items[1].call_id  # type: ignore[union-attr]
            llm.extend([Reply(calls=[("cancel_task", {"call_id": call_id})]), "I stopped."])
            await session.run(user_input="Stop.")
            assert f"Task {call_id} cancelled successfully." in outputs(session)
            await asyncio.sleep(100.0)
            assert "found" not in outputs(session)

    run_virtual(main(), timeout=300)
