"""Toolsets: tools that come and go together, set up and closed with the agent that has them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, EndCallTool, Toolset, function_tool
from antiphon.testing import FakeLLM, FakeSpeaker, FakeTTS, Reply, now, run_virtual
from tests.calls import outputs


class Calendar(Toolset):
    """A toolset that has to connect before it knows its tools."""

    def __init__(self, log: list[str], *, id: str = "calendar", delay: float = 1.0, fails: bool = False) -> None:
        super().__init__(id=id)
        self.log = log
        self.delay = delay
        self.fails = fails

    async def setup(self) -> Calendar:
        await asyncio.sleep(self.delay)
        if self.fails:
            raise ConnectionError("no calendar")

        @function_tool(name=f"{self.id}_events")
        async def events() -> str:
            """List events."""
            return "none"

        self._tools = [events]
        self.log.append(f"{self.id} set up")
        return self

    async def aclose(self) -> None:
        self.log.append(f"{self.id} closed")


def offered(llm: FakeLLM, request: int) -> list[str]:
    return [tool.id for tool in llm.requests[request].tools]


def test_a_toolset_that_a_tool_adds_is_ready_for_the_same_turns_next_request() -> None:
    log: list[str] = []

    class Assistant(Agent):
        @function_tool
        async def connect(self) -> str:
            """Connect."""
            await self.update_tools([*self.tools, Calendar(log)])
            return "connected"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("connect", {})]), Reply(calls=[("calendar_events", {})]), "Nothing today."])
        agent = Assistant()
        async with AgentSession[Any](llm=llm) as session:
            await session.start(agent)
            await session.run(user_input="What is on today?")
            assert outputs(session) == ["connected", "none"]
            change = next(item for item in agent.chat_ctx.items if item.type == "agent_config_update")
            assert change.tools_added == ["calendar_events"]
        assert log == ["calendar set up", "calendar closed"]

    run_virtual(main())


def test_a_toolset_that_is_removed_closes_and_one_that_stays_does_not() -> None:
    log: list[str] = []

    async def main() -> None:
        one, two, three = (Calendar(log, id=name) for name in ("one", "two", "three"))
        agent = Agent(tools=[one, two])
        llm = FakeLLM(["One.", "Two."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(agent)
            await session.run(user_input="a")
            await agent.update_tools([two, three])
            await session.run(user_input="b")
            assert log == ["one set up", "two set up", "three set up", "one closed"]
        assert sorted(log[4:]) == ["three closed", "two closed"]
        assert offered(llm, 0) == ["one_events", "two_events"]
        assert offered(llm, 1) == ["two_events", "three_events"]

    run_virtual(main())


def test_a_toolset_given_to_an_agent_that_is_not_at_work_waits_for_its_turn() -> None:
    log: list[str] = []

    async def main() -> None:
        second = Agent(id="second")
        await second.update_tools([Calendar(log)])
        async with AgentSession[Any](llm=FakeLLM(["One."])) as session:
            await session.start(Agent(id="first"))
            assert log == []
            session.update_agent(second)
            await session.wait_for_idle()
            await asyncio.sleep(2.0)
            assert log == ["calendar set up"]

    run_virtual(main())


def test_a_toolset_that_cannot_be_added_is_told_and_the_others_work() -> None:
    errors: list[Any] = []

    async def main() -> None:
        agent = Agent()
        llm = FakeLLM(["One."])
        async with AgentSession[Any](llm=llm) as session:
            session.on("error", errors.append)
            await session.start(agent)
            await agent.update_tools([Calendar([], id="bad", fails=True), Calendar([], id="good")])
            await session.run(user_input="a")
        assert [event.source.id for event in errors] == ["bad"]
        assert offered(llm, 0) == ["good_events"]

    run_virtual(main())


@pytest.mark.parametrize("delay", [0.5, 3.0, 30.0])
def test_an_agent_that_leaves_before_its_toolset_is_ready_closes_it_after(delay: float) -> None:
    log: list[str] = []

    async def main() -> None:
        first = Agent(id="first")
        async with AgentSession[Any](llm=FakeLLM()) as session:
            await session.start(first)
            adding = asyncio.ensure_future(first.update_tools([Calendar(log, delay=delay)]))
            await asyncio.sleep(0.1)
            session.update_agent(Agent(id="second"))
            await adding
            await asyncio.sleep(1.0)
        assert log == ["calendar set up", "calendar closed"]

    run_virtual(main())


def test_an_agent_that_comes_back_while_its_toolset_closes_gets_it_set_up_again() -> None:
    class Slow(Calendar):
        async def aclose(self) -> None:
            await asyncio.sleep(2.0)
            await super().aclose()

    log: list[str] = []

    async def main() -> None:
        first, second = Agent(id="first", tools=[Slow(log)]), Agent(id="second")
        async with AgentSession[Any](llm=FakeLLM(), close_grace=5.0) as session:
            await session.start(first)
            for agent in (second, first):
                session.update_agent(agent)
                await session.wait_for_idle()
            await asyncio.sleep(5.0)
            assert log == ["calendar set up", "calendar closed", "calendar set up"]
        assert log[3:] == ["calendar closed"]

    run_virtual(main())


class Stuck(Toolset):
    """A toolset that never becomes ready, or never closes."""

    def __init__(self, *, setup: bool = False, close: bool = False) -> None:
        super().__init__(id="stuck")
        self._stuck_setup, self._stuck_close = setup, close

    async def setup(self) -> Stuck:
        if self._stuck_setup:
            await asyncio.sleep(10_000.0)
        return self

    async def aclose(self) -> None:
        if self._stuck_close:
            await asyncio.sleep(10_000.0)


@pytest.mark.parametrize("given", ["agent", "session", "later"])
@pytest.mark.parametrize("stuck", ["setup", "close"])
def test_a_toolset_that_is_stuck_holds_neither_the_conversation_nor_the_end(given: str, stuck: str) -> None:
    async def main() -> None:
        toolset = Stuck(**{stuck: True})
        agent = Agent(tools=[toolset] if given == "agent" else [])
        session = AgentSession[Any](llm=FakeLLM(["Hello."]), tools=[toolset] if given == "session" else [])
        await session.start(agent)
        assert now() <= 5.1
        adding = asyncio.ensure_future(agent.update_tools([toolset])) if given == "later" else None
        await asyncio.sleep(1.0)
        await session.run(user_input="Hi.")
        assert now() <= 7.0
        closing = now()
        await session.aclose()
        assert now() - closing <= 1.3
        if adding is not None:
            adding.cancel()
        await asyncio.sleep(0.1)

    run_virtual(main())


def test_a_session_that_ends_in_the_instant_in_which_an_agent_takes_over_does_not_wait_for_its_toolsets() -> None:
    @function_tool
    async def transfer() -> Agent:
        """Transfer."""
        return Agent(id="second", tools=[Toolset(id="late")])

    async def main() -> None:
        closed: list[float] = []
        session = AgentSession[Any](llm=FakeLLM([Reply(calls=[("transfer", {}), ("end_call", {})]), "Goodbye."]))
        session.on("close", lambda _: closed.append(now()))
        await session.start(Agent(tools=[transfer, EndCallTool()]))
        session.submit_user_turn("Bye.")
        await asyncio.sleep(5.0)
        assert closed and closed[0] < 0.5

    run_virtual(main())


class Flaky(Calendar):
    """A toolset that cannot be reached the first few times."""

    def __init__(self, log: list[str], *, failures: int) -> None:
        super().__init__(log, delay=0.1)
        self.failures = failures

    async def setup(self) -> Flaky:
        self.log.append("tried")
        self.fails = self.log.count("tried") <= self.failures
        await super().setup()
        return self


def test_a_toolset_that_could_not_be_reached_is_tried_again_and_its_tools_join() -> None:
    log: list[str] = []
    ready: list[Any] = []
    errors: list[Any] = []

    async def main() -> None:
        llm = FakeLLM(["One.", "Two."])
        async with AgentSession[Any](llm=llm) as session:
            session.on("toolset_ready", ready.append)
            session.on("error", errors.append)
            await session.start(Agent(tools=[Flaky(log, failures=2)]))
            await session.run(user_input="a")
            await asyncio.sleep(5.0)
            await session.run(user_input="b")
        assert (offered(llm, 0), offered(llm, 1)) == ([], ["calendar_events"])

    run_virtual(main())
    assert log == ["tried", "tried", "tried", "calendar set up", "calendar closed"]
    assert [event.toolset.id for event in ready] == ["calendar"]
    assert [str(event.error) for event in errors] == ["no calendar"]


def test_a_toolset_that_can_never_be_reached_is_given_up() -> None:
    log: list[str] = []
    errors: list[Any] = []

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM()) as session:
            session.on("error", errors.append)
            await session.start(Agent(tools=[Flaky(log, failures=1000)]))
            await asyncio.sleep(600.0)
            assert log.count("tried") == 7
            assert len(errors) == 2

    run_virtual(main())


@pytest.mark.parametrize("voice", [False, True])
def test_a_slow_toolset_does_not_delay_the_first_word_and_joins_when_it_is_ready(voice: bool) -> None:
    log: list[str] = []
    told: list[tuple[float, str, str]] = []

    class Greeter(Agent):
        async def on_enter(self) -> None:
            log.append(f"hello after {now():.1f}")
            self.session.say("Hello.")

    async def main() -> None:
        llm = FakeLLM(["One."])
        session = AgentSession[Any](llm=llm, tts=FakeTTS() if voice else None)
        session.on("error", lambda event: told.append((round(now(), 1), "error", str(event.error))))
        session.on("toolset_ready", lambda event: told.append((round(now(), 1), "ready", event.toolset.id)))
        tools = [Calendar(log, delay=20.0), Calendar(log, id="quick", delay=0.1)]
        async with session:
            await session.start(Greeter(tools=tools), output=FakeSpeaker() if voice else None)
            assert now() < (1.6 if voice else 5.1)
            await asyncio.sleep(25.0)
            await session.run(user_input="a")
        assert offered(llm, 0) == ["calendar_events", "quick_events"]

    run_virtual(main())
    limit = 1.5 if voice else 5.0
    assert log[:3] == ["quick set up", f"hello after {limit}", "calendar set up"]
    assert [(at, kind) for at, kind, _ in told] == [(limit, "error"), (20.0, "ready")]
    assert "toolset 'calendar' is not ready after" in told[0][2]


def test_toolsets_close_side_by_side_and_one_that_is_not_ready_at_the_end_is_not_waited_for() -> None:
    class SlowToClose(Calendar):
        async def aclose(self) -> None:
            await asyncio.sleep(0.8)
            await super().aclose()

    log: list[str] = []

    async def main() -> None:
        tools = [SlowToClose(log, id="one"), SlowToClose(log, id="two"), Calendar(log, delay=50.0)]
        agent = Agent()
        session = AgentSession[Any](llm=FakeLLM())
        await session.start(agent)
        adding = asyncio.ensure_future(agent.update_tools(tools))
        await asyncio.sleep(10.0)
        before = now()
        await session.aclose()
        assert now() - before < 1.0
        await adding

    run_virtual(main())
    assert sorted(log[2:]) == ["calendar closed", "one closed", "two closed"]


def test_a_handoff_does_not_wait_for_a_toolset_that_is_stuck() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["Second speaking."])) as session:
            await session.start(Agent(id="first", tools=[Stuck(setup=True, close=True)]))
            before = now()
            session.update_agent(Agent(id="second"))
            await session.run(user_input="Hi.")
            assert session.current_agent.id == "second" and now() - before < 1.0

    run_virtual(main())
