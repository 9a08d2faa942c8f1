"""What a tool's effect promises, as callers and tools see it: how often it is tried, what is said when it raises."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon import AgentSession, RunContext, ToolError, function_tool
from antiphon.agent import Agent
from antiphon.store import RowState
from antiphon.stores.memory import MemoryStore
from antiphon.testing import FakeLLM, Reply, run_virtual


class Refused(Exception): ...


class Backend:
    """Fails as it is told, then answers. Keeps the times of its calls, and of their ends."""

    def __init__(self, *failures: BaseException) -> None:
        self.failures = list(failures)
        self.times: list[float] = []
        self.ends: list[float] = []

    async def __call__(self, x: int = 1) -> str:
        """Do it."""
        loop = asyncio.get_running_loop()
        self.times.append(loop.time())
        await asyncio.sleep(0.1)
        self.ends.append(loop.time())
        if self.failures:
            raise self.failures.pop(0)
        return "done"


async def outputs(tools: list[Any], *calls: tuple[str, dict[str, Any]], turns: int = 1) -> list[str]:
    """What the model reads of its calls: one response of them for each turn."""
    script: list[Reply | str] = []
    for _ in range(turns):
        script += [Reply(calls=list(calls)), "So it is."]
    script += ["Well."] * 3  # what came of work in the background is told, too
    async with AgentSession(llm=FakeLLM(script), max_silence=None) as session:
        await session.start(Agent(instructions="You do things.", tools=tools))
        for _ in range(turns):
            await session.run(user_input="go")
        return [item.output for item in session.history.items if item.type == "function_call_output"]


def one(backend: Callable[..., Awaitable[str]], turns: int = 1, **options: Any) -> list[str]:
    return run_virtual(outputs([function_tool(backend, name="f", **options)], ("f", {}), turns=turns))


def gaps(backend: Backend) -> list[float]:
    return [round(later - before, 2) for before, later in zip(backend.ends[:-1], backend.times[1:], strict=True)]


def test_a_read_is_tried_again_behind_a_wait_that_grows() -> None:
    backend = Backend(ConnectionResetError(), TimeoutError())
    assert one(backend, effect="reads") == ["done"]
    assert gaps(backend) == [0.25, 0.5]


def test_a_read_is_given_up_after_its_attempts() -> None:
    backend = Backend(*[ConnectionResetError()] * 5)
    assert one(backend, effect="reads") == ["An internal error occurred"]
    assert len(backend.times) == 3


def test_a_read_is_not_tried_beyond_its_time_limit() -> None:
    backend = Backend(*[ConnectionResetError()] * 5)
    assert one(backend, effect="reads", timeout=0.5, retries=5) == ["An internal error occurred"]
    assert len(backend.times) == 2


@pytest.mark.parametrize("error", [ValueError("no"), ToolError("no table"), asyncio.CancelledError()])
def test_a_read_is_not_tried_again_after_another_error(error: BaseException) -> None:
    backend = Backend(error)
    one(backend, effect="reads")
    assert len(backend.times) == 1


@pytest.mark.parametrize("effect", ["unsaid", "writes", "irreversible"])
def test_nothing_else_is_tried_again(effect: Any) -> None:
    backend = Backend(ConnectionResetError())
    one(backend, effect=effect, **({"confirm": False} if effect == "irreversible" else {}))
    assert len(backend.times) == 1


def test_a_read_that_reported_progress_is_not_tried_again() -> None:
    tried = []

    @function_tool(effect="reads")
    async def look(ctx: RunContext[Any]) -> str:
        """Look."""
        tried.append(1)
        await ctx.update("Looking.")
        raise ConnectionResetError

    run_virtual(outputs([look], ("look", {})))
    assert len(tried) == 1


# -- what raises


@pytest.mark.parametrize("effect", ["writes", "irreversible"])
def test_of_a_write_that_raised_nobody_knows_whether_it_happened(effect: Any) -> None:
    backend = Backend(ConnectionRefusedError())
    (first,) = one(backend, turns=2, effect=effect, confirm=False)  # the second call waits for the caller's yes
    assert "unknown whether `f` happened" in first
    assert len(backend.times) == 1


def test_what_retry_on_names_was_not_done_and_may_be_called_again() -> None:
    backend = Backend(Refused())
    first, second = one(backend, turns=2, effect="writes", retry_on=Refused)
    assert first == "An internal error occurred. `f` did nothing."
    assert second == "done"


def test_what_retry_on_names_of_what_is_irreversible_was_not_done() -> None:
    backend = Backend(Refused())
    assert one(backend, turns=2, effect="irreversible", confirm=False, retry_on=Refused)[1] == "done"


def test_an_idempotent_write_is_one_run_however_often_it_is_tried() -> None:
    backend = Backend(ConnectionResetError())
    assert one(backend, effect="writes", idempotent=True) == ["done"]
    assert len(backend.times) == 2


def test_of_an_idempotent_write_that_never_got_through_nobody_knows_whether_it_happened() -> None:
    backend = Backend(*[ConnectionResetError()] * 3)
    (first,) = one(backend, turns=2, effect="writes", idempotent=True)
    assert "unknown whether `f` happened" in first and len(backend.times) == 3


@pytest.mark.parametrize("later", [ToolError("That table is taken"), Refused()])
def test_what_a_later_attempt_says_does_not_tell_what_the_first_one_did(later: Exception) -> None:
    backend = Backend(ConnectionResetError(), later)
    (told,) = one(backend, effect="writes", idempotent=True, retry_on=Refused, retries=1)
    assert "unknown whether `f` happened" in told


def test_an_idempotent_write_whose_attempts_all_did_nothing_did_nothing() -> None:
    backend = Backend(*[Refused()] * 3)
    assert one(backend, turns=2, effect="writes", idempotent=True, retry_on=Refused)[1] == "done"
    assert len(backend.times) == 4


def test_a_retry_on_that_raises_counts_as_a_no() -> None:
    def broken(error: Exception) -> bool:
        raise ZeroDivisionError

    backend = Backend(Refused())
    (told,) = one(backend, effect="writes", retry_on=broken)
    assert "unknown whether `f` happened" in told


# -- beside others


def order(effects: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """What one response of calls of such tools does, in order of time."""
    log: list[str] = []

    def tool(name: str, options: dict[str, Any]) -> Any:
        async def work() -> str:
            """Work."""
            log.append(f"{name} begins")
            await asyncio.sleep(1)
            log.append(f"{name} ends")
            return "done"

        return function_tool(work, name=name, **options)

    run_virtual(outputs([tool(*one) for one in effects], *[(name, {}) for name, _ in effects]))
    return log


def test_what_is_irreversible_runs_alone_in_its_response() -> None:
    log = order([
        ("a", {"effect": "reads"}),
        ("b", {"effect": "irreversible", "confirm": False}),
        ("c", {"effect": "writes", "parallel": True}),
    ])  # fmt: skip
    assert log == ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]


def test_writes_run_in_call_order_and_beside_one_another_where_they_say_so() -> None:
    plain, beside = {"effect": "writes"}, {"effect": "writes", "parallel": True}
    assert order([("a", plain), ("b", plain)]) == ["a begins", "a ends", "b begins", "b ends"]
    assert order([("a", beside), ("b", beside)]) == ["a begins", "b begins", "a ends", "b ends"]


def test_reads_run_beside_one_another_and_one_by_one_where_they_say_so() -> None:
    plain, alone = {"effect": "reads"}, {"effect": "reads", "parallel": False}
    assert order([("a", plain), ("b", plain)]) == ["a begins", "b begins", "a ends", "b ends"]
    assert order([("a", alone), ("b", alone)]) == ["a begins", "a ends", "b begins", "b ends"]


def test_with_a_store_an_idempotent_write_is_one_row_however_often_it_is_tried() -> None:
    backend, store = Backend(ConnectionResetError(), ConnectionResetError()), MemoryStore()

    async def test() -> None:
        llm = FakeLLM([Reply(calls=[("f", {})]), "Well."])
        async with AgentSession[Any](llm=llm, store=store) as session:
            tool = function_tool(backend, name="f", effect="writes", idempotent=True)
            await session.start(Agent(instructions="You do things.", tools=[tool]))
            await session.run(user_input="go")
            output = next(item for item in session.history.items if item.type == "function_call_output")
            assert (output.output, output.is_error) == ("done", False)
        stored = [await store.load(call.id) for call in await store.calls()]
        assert [row.state for call in stored if call is not None for row in call.rows] == [RowState.SUCCEEDED]

    run_virtual(test())
    assert len(backend.times) == 3
