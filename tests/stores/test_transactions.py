"""`ctx.transaction()` in a call: what a tool writes to the store's database is there with its row, or not at all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, ToolError, function_tool
from antiphon.calls.start import describe_guarantees
from antiphon.store import RowState
from antiphon.stores.postgres import PostgresStore
from antiphon.testing import FakeLLM, Reply
from tests.stores.test_postgres import asked

BOOK = Reply(calls=[("book", {"people": 4})])


def booked(address: str, fails: str) -> tuple[list[Any], RowState, str]:
    """A call in which a table is booked, and the tool fails: "inside", "behind" or not at all."""
    asked(address, "drop table if exists bookings")
    asked(address, "create table bookings(people int)")
    outputs: list[str] = []

    @function_tool(effect="writes")
    async def book(ctx: RunContext[Any], people: int) -> str:
        """Book a table."""
        async with ctx.transaction() as connection:
            await connection.execute("insert into bookings values (%s)", (people,))
            if fails == "inside":
                raise ToolError("We are closed.")
        if fails == "behind":
            raise RuntimeError("the printer is out of paper")
        return "Booked."

    async def main() -> RowState:
        async with PostgresStore.of(address) as store:
            async with AgentSession[Any](llm=FakeLLM([BOOK, "Well."]), store=store) as session:
                await session.start(Agent(instructions="", tools=[book]))
                assert describe_guarantees(session) == "Tools that write: book exactly once."
                await session.run(user_input="Book a table for four.")
                outputs.extend(item.output for item in session.history.items if item.type == "function_call_output")
            ((_, row),) = await store.rows(call=session.call_id)
            return row.state

    state = asyncio.run(main())
    return asked(address, "select people from bookings"), state, outputs[0]


@pytest.mark.parametrize(
    ("fails", "rows", "state", "told"),
    [
        ("", [(4,)], RowState.SUCCEEDED, "Booked."),
        ("inside", [], RowState.FAILED, "We are closed."),
        ("behind", [(4,)], RowState.SUCCEEDED, "has happened"),
    ],
)
def test_what_a_tool_wrote_is_there_if_its_call_is_done(
    postgres: str, fails: str, rows: list[Any], state: RowState, told: str
) -> None:
    found, kept, output = booked(postgres, fails)
    assert (found, kept) == (rows, state)
    assert told in output
