"""`undo=`: the model is told how to take a write back, and it is taken back once."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, ToolError, Toolset, function_tool
from antiphon.errors import ToolDefinitionError
from antiphon.testing import FakeLLM, Reply, run_virtual


class Desk:
    """Books and cancels, and keeps the keys of both."""

    def __init__(self) -> None:
        self.booked: list[str] = []
        self.cancelled: list[str] = []
        self.fails = False
        self.cancel = function_tool(self._cancel, name="cancel", effect="writes")
        self.book = function_tool(self._book, name="book", effect="writes", undo=self.cancel)

    async def _book(self, ctx: RunContext[Any], day: str) -> str:
        """Book a day."""
        self.booked.append(ctx.idempotency_key)
        if self.fails:
            raise ToolError("No seats.")
        return f"Booked, number {len(self.booked)}."

    async def _cancel(self, ctx: RunContext[Any], number: int) -> str:
        """Cancel a booking."""
        self.cancelled.append(ctx.idempotency_key)
        return "Cancelled."


def outputs(tools: list[Any], *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """What the model reads of calls, one in each turn."""

    async def test() -> list[str]:
        script = [part for call in calls for part in (Reply(calls=[call]), "Well.")]
        async with AgentSession[Any](llm=FakeLLM(script)) as session:
            await session.start(Agent(instructions="You book.", tools=tools))
            for _ in calls:
                await session.run(user_input="go")
            return [item.output for item in session.history.items if item.type == "function_call_output"]

    return run_virtual(test())


BOOK, CANCEL = ("book", {"day": "Friday"}), ("cancel", {"number": 1})


def test_the_model_is_told_with_the_result_how_to_undo_it() -> None:
    desk = Desk()
    assert outputs([desk.book, desk.cancel], BOOK) == ["Booked, number 1.\n[To undo this, call `cancel`.]"]


def test_what_failed_is_not_to_be_undone() -> None:
    desk = Desk()
    desk.fails = True
    assert outputs([desk.book, desk.cancel], BOOK) == ["No seats."]


def test_an_inverse_that_the_agent_does_not_have_is_not_offered(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    with caplog.at_level(logging.WARNING):
        assert outputs([desk.book], BOOK) == ["Booked, number 1."]
    assert "undo= names 'cancel', which the agent does not have" in caplog.text


def test_an_inverse_goes_by_its_name_in_a_toolset_with_a_prefix() -> None:
    desk = Desk()
    toolset = Toolset(id="desk", tools=[desk.book, desk.cancel]).prefixed("desk_")
    (told,) = outputs([toolset], ("desk_book", {"day": "Friday"}))
    assert told.endswith("[To undo this, call `desk_cancel`.]")


def test_what_was_undone_is_not_undone_again_but_done_again_it_is() -> None:
    desk = Desk()
    told = outputs([desk.book, desk.cancel], BOOK, CANCEL, CANCEL, BOOK, ("cancel", {"number": 2}))
    assert (len(desk.booked), len(desk.cancelled)) == (2, 2)
    assert "was not started again" in told[2]
    keys = {*desk.booked, *desk.cancelled}
    assert len(keys) == 4 and {len(key) for key in keys} == {32}


def test_an_inverse_that_does_not_write_is_an_error_where_it_is_given_to_an_agent() -> None:
    reads = function_tool(Desk()._cancel, name="cancel", effect="reads")
    with pytest.raises(ToolDefinitionError, match="undo= names 'cancel', which does not say that it writes"):
        Agent(instructions="", tools=[Desk().book, reads])


def test_a_tool_that_undoes_itself_is_an_error() -> None:
    toggle = function_tool(Desk()._cancel, name="toggle", effect="writes", undo="toggle")
    with pytest.raises(ToolDefinitionError, match="undo= names 'toggle', which is that tool itself"):
        Agent(instructions="", tools=[toggle])
