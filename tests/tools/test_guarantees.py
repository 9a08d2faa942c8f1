"""How often a tool takes effect for one wish, as shells say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from antiphon import RunContext, function_tool
from antiphon.tools.guarantees import guarantee_of


async def find(key: str, arguments: Mapping[str, Any]) -> None:
    """Nobody knows."""


@function_tool(effect="writes")
async def books(ctx: RunContext[Any]) -> str:
    """Book by the database of the store."""
    async with ctx.transaction():
        return "booked"


def nothing() -> str:
    """Do nothing."""
    return ""


@pytest.mark.parametrize(
    ("tool", "promised"),
    [
        (function_tool(nothing, effect="reads"), None),
        (function_tool(nothing), None),
        (function_tool(nothing, effect="writes"), "at most once"),
        (function_tool(nothing, effect="writes", idempotent=True), "effectively once"),
        (function_tool(nothing, effect="writes", reconcile=find), "effectively once"),
        (books, "exactly once"),
    ],
)
def test_what_is_promised_of_a_tool(tool: Any, promised: str | None) -> None:
    assert guarantee_of(tool, has_transactions=True) == promised


def test_a_transaction_promises_nothing_where_there_is_none() -> None:
    assert guarantee_of(books, has_transactions=False) == "at most once"
