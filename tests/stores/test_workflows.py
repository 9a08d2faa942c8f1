"""The page on workflows: what it shows starts one workflow for one wish, and finds out what came of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon import AgentSession
from antiphon.store import RowState
from antiphon.stores.memory import MemoryStore
from antiphon.testing import FakeLLM, Reply, transcript

PAGE = Path(__file__).parents[2] / "docs" / "workflows.md"
PAY = Reply(calls=[("pay", {"amount": 5})])


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What the page defines, with an engine that runs."""
    dbos = pytest.importorskip("dbos", reason="the recipe needs the package dbos: pip install dbos").DBOS
    dbos.destroy(destroy_registry=True)  # other tests may have read the page, and its names are one process's
    first, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    namespace: dict[str, Any] = {"__name__": "shop", "charged": [], "pause": 0.0}
    slow = "    charged.append(amount)\n    await asyncio.sleep(pause)\n    return f"
    exec("import asyncio\n" + first.replace("    return f", slow, 1), namespace)
    dbos(config={"name": "shop", "system_database_url": f"sqlite:///{tmp_path / 'dbos.sqlite'}"})
    dbos.launch()
    yield namespace
    dbos.destroy(destroy_registry=True)


def test_one_wish_is_one_workflow_and_the_next_is_another(shop: dict[str, Any]) -> None:
    async def test() -> None:
        llm = FakeLLM([PAY, PAY, "It is paid.", PAY, "Paid again."])
        async with AgentSession[Any](llm=llm, store=MemoryStore()) as session:
            await session.start(shop["agent"])
            await session.run(user_input="Pay five.")
            assert "output pay: Paid: receipt for 5." in transcript(session.history)
            assert shop["charged"] == [5]
            await session.run(user_input="And five more.")
            assert shop["charged"] == [5, 5]

    asyncio.run(test())


def test_the_workflow_goes_on_without_the_call_and_who_takes_that_over_is_told_what_came_of_it(
    shop: dict[str, Any],
) -> None:
    async def test() -> None:
        store, agent = MemoryStore(), shop["agent"]
        shop["pause"] = 1.0
        first = AgentSession[Any](llm=FakeLLM([PAY]), store=store, max_silence=None)
        await first.start(agent)
        first.generate_reply(user_input="Pay five.")
        async with asyncio.timeout(10.0):
            while not shop["charged"]:  # noqa: ASYNC110  # it is in a thread of the engine
                await asyncio.sleep(0.01)
        store.lose(first.call_id)  # as if its process had ended
        taken = await store.lease(first.call_id, "another worker")
        await first.aclose()
        store.release(taken)
        second = AgentSession[Any](llm=FakeLLM(["I don't know yet.", "It is paid."]), store=store, max_silence=None)
        await second.resume(first.call_id, agents=[agent])
        async with asyncio.timeout(10.0):
            while "assistant: It is paid." not in transcript(second.history):  # noqa: ASYNC110  # the same
                await asyncio.sleep(0.05)
        await second.aclose()
        [(_, row)] = await store.rows()
        assert (row.state, row.output) == (RowState.SUCCEEDED, "Paid: receipt for 5.")
        assert shop["charged"] == [5]

    asyncio.run(test())
