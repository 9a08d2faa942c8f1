"""Groups of tasks: order, the way back, failures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AgentTask, UsageError, function_tool
from antiphon.tasks import TaskCompletedEvent, TaskGroup, TaskGroupResult
from antiphon.testing import FakeLLM, Reply, run_virtual


class Ask(AgentTask[str]):
    """Asks for one thing."""

    def __init__(self, what: str) -> None:
        super().__init__(instructions=f"Ask for the {what}.", id=f"ask_{what}")
        self.what = what

    async def on_enter(self) -> None:
        self.session.say(f"What is your {self.what}?")

    @function_tool
    async def record(self, value: str) -> None:
        """Record it."""
        if value == "refuse":
            self.complete(RuntimeError("refused"))
        else:
            self.complete(value)


class Host(Agent):
    def __init__(self, group: TaskGroup) -> None:
        super().__init__(instructions="host")
        self.group = group
        self.results: TaskGroupResult | None = None

    @function_tool
    async def sign_up(self) -> str:
        """Sign up."""
        try:
            self.results = await self.group
        except RuntimeError as error:
            return f"failed: {error}"
        return "signed up"


def record(value: str) -> Reply:
    return Reply(calls=[("record", {"value": value})])


def group(**options: Any) -> TaskGroup:
    made = TaskGroup(**options)
    made.add(lambda: Ask("name"), id="name", description="The name")
    made.add(lambda: Ask("city"), id="city", description="The city")
    return made


async def hold(host: Host, llm: FakeLLM, *words: str) -> AgentSession[Any]:
    session: AgentSession[Any] = AgentSession(llm=llm)
    await session.start(host)
    for text in words:
        await session.run(user_input=text)
    await session.aclose()
    return session


SIGN_UP = Reply(calls=[("sign_up", {})])


def test_tasks_run_in_order_and_their_results_come_back_by_id() -> None:
    async def call() -> None:
        seen: list[TaskCompletedEvent] = []
        host = Host(group(on_task_completed=seen.append))
        llm = FakeLLM([SIGN_UP, record("Ann"), record("Oslo"), "You are signed up."])
        await hold(host, llm, "sign me up", "Ann", "Oslo")
        assert host.results == TaskGroupResult({"name": "Ann", "city": "Oslo"})
        assert [event.task_id for event in seen] == ["name", "city"]

    run_virtual(call())


def test_the_caller_may_go_back_to_an_earlier_step() -> None:
    async def call() -> None:
        host = Host(group())
        back = Reply(calls=[("out_of_scope", {"task_ids": ["name"]})])
        llm = FakeLLM([SIGN_UP, record("Ann"), back, record("Anna"), record("Oslo"), "You are signed up."])
        await hold(host, llm, "sign me up", "Ann", "wait, the name is wrong", "Anna", "Oslo")
        assert host.results == TaskGroupResult({"name": "Anna", "city": "Oslo"})

    run_virtual(call())


def test_the_way_back_is_offered_only_where_something_is_behind() -> None:
    async def call() -> None:
        llm = FakeLLM([SIGN_UP, record("Ann"), record("Oslo"), "Done."])
        await hold(Host(group()), llm, "sign me up", "Ann", "Oslo")
        offered = [sorted(tool.id for tool in request.tools) for request in llm.requests]
        assert offered[1:3] == [["record"], ["out_of_scope", "record"]]

    run_virtual(call())


@pytest.mark.parametrize("kept", [False, True])
def test_a_task_that_fails_fails_the_group_or_is_a_result(kept: bool) -> None:
    async def call() -> None:
        host = Host(group(return_exceptions=kept))
        llm = FakeLLM([SIGN_UP, record("refuse"), *([record("Oslo")] if kept else []), "That is that."])
        session = await hold(host, llm, "sign me up", "no", *(["Oslo"] if kept else []))
        if kept:
            assert host.results is not None
            assert isinstance(host.results.task_results["name"], RuntimeError)
        else:
            outputs = [i.output for i in session.history.items if i.type == "function_call_output"]
            assert "failed: refused" in outputs

    run_virtual(call())


def test_what_the_callback_raises_ends_the_group_where_it_is_awaited() -> None:
    def tell(event: TaskCompletedEvent) -> None:
        raise RuntimeError(f"{event.task_id} is not wanted")

    async def call() -> None:
        host = Host(group(on_task_completed=tell))
        llm = FakeLLM([SIGN_UP, record("Ann"), "That did not work."])
        session = await hold(host, llm, "sign me up", "Ann")
        outputs = [i.output for i in session.history.items if i.type == "function_call_output"]
        assert "failed: name is not wanted" in outputs

    run_virtual(call())


def test_a_task_that_is_cancelled_cancels_the_group() -> None:
    class GivesUp(AgentTask[str]):
        @function_tool
        async def give_up(self) -> None:
            """Give up."""
            self.cancel()

    class Catching(Agent):
        @function_tool
        async def sign_up(self) -> str:
            """Sign up."""
            try:
                await TaskGroup().add(GivesUp, id="name", description="The name")
            except asyncio.CancelledError:
                return "cancelled"
            return "signed up"

    async def call() -> None:
        llm = FakeLLM([SIGN_UP, Reply(calls=[("give_up", {})]), "Another time."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Catching())
            await session.run(user_input="sign me up")
            await session.run(user_input="no")
            outputs = [i.output for i in session.history.items if i.type == "function_call_output"]
            assert outputs == ["", "cancelled"]

    run_virtual(call())


def test_an_id_is_taken_once() -> None:
    with pytest.raises(UsageError, match="'name'"):
        group().add(lambda: Ask("x"), id="name", description="again")
