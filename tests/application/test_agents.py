"""Agents: what they hold, handing over to one another, and tasks that take the floor."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AgentTask, ChatContext, ToolDefinitionError, UsageError, function_tool
from antiphon.runtime.instructions import instructions_told
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript


@function_tool
async def one() -> str:
    """One."""
    return "1"


@function_tool
async def two() -> str:
    """Two."""
    return "2"


def test_an_agent_lists_given_tools_and_methods() -> None:
    class Mine(Agent):
        @function_tool
        async def own(self) -> str:
            """Own."""
            return ""

    assert [tool.id for tool in Mine(tools=[one]).tools] == ["one", "own"]


@pytest.mark.parametrize(("kind", "name"), [(Agent, "session"), (Agent, "update_tools"), (AgentTask, "done")])
def test_a_tool_in_the_place_of_a_method_of_ours_is_refused(kind: type[Agent], name: str) -> None:
    with pytest.raises(ToolDefinitionError, match=rf"{name}, which the session calls. Name the method"):
        type("Mine", (kind,), {name: one})


def test_a_tool_may_take_the_place_of_a_tool() -> None:
    class Base(Agent):
        @function_tool
        async def own(self) -> str:
            """Own."""
            return "base"

    class Mine(Base):
        @function_tool
        async def own(self) -> str:
            """Own."""
            return "mine"

    assert [tool.id for tool in Mine().tools] == ["own"]


def test_two_different_tools_of_one_name_are_refused() -> None:
    @function_tool(name="one")
    async def other() -> str:
        """Other."""
        return ""

    with pytest.raises(ToolDefinitionError, match="one"):
        Agent(tools=[one, other])


def test_update_tools_replaces_all_and_keeps_the_last_of_equal_ids() -> None:
    @function_tool(name="one")
    async def newer() -> str:
        """Newer."""
        return ""

    agent = Agent(tools=[one, two])
    run_virtual(agent.update_tools([*agent.tools, newer]))
    assert agent.tools == [newer, two]


def test_the_context_is_read_only_and_replaced_by_a_copy() -> None:
    agent = Agent(tools=[one])
    with pytest.raises(UsageError, match="update_chat_ctx"):
        agent.chat_ctx.add_message(role="user", content="a")
    context = agent.chat_ctx.copy()
    context.add_message(role="user", content="a")
    run_virtual(agent.update_chat_ctx(context))
    assert transcript(agent.chat_ctx) == ["user: a"]


def test_ids_follow_from_the_class() -> None:
    class TableReservation(Agent):
        pass

    assert TableReservation().id == "table_reservation"
    assert Agent().id == "default_agent"
    assert Agent(id="front").id == "front"


def test_an_agent_without_a_session_says_so() -> None:
    with pytest.raises(UsageError, match="in no session"):
        _ = Agent().session


class Billing(Agent):
    async def on_enter(self) -> None:
        self.session.say("Billing speaking.")


class Front(Agent):
    exits = 0

    @function_tool
    async def transfer(self) -> Any:
        """Transfer."""
        return Billing(instructions="Bills."), "Transferring."

    @function_tool
    async def transfer_silently(self) -> Agent:
        """Transfer."""
        return Billing(instructions="Bills.")

    async def on_exit(self) -> None:
        self.exits += 1


def test_a_tool_hands_over_after_the_old_agent_said_so() -> None:
    async def main() -> None:
        front = Front(instructions="Front.")
        llm = FakeLLM([Reply(calls=[("transfer", {})]), "I transfer you.", "Yes?"])
        async with AgentSession(llm=llm) as session:
            await session.start(front)
            result = await session.run(user_input="A bill.")
            result.expect.contains_agent_handoff(new_agent_type=Billing)
            assert isinstance(session.current_agent, Billing) and front.exits == 1
            assert transcript(session.history)[-2:] != []
            assert [m.text_content for m in session.history.messages()] == [
                "A bill.",
                "I transfer you.",
                "Billing speaking.",
            ]
            await session.run(user_input="Hello?")
            assert session.agent_by_id("front") is front
        assert not llm.requests[1].tools
        assert llm.histories[2][0] == "system: Bills." and "user: A bill." not in llm.histories[2]

    run_virtual(main())


def test_an_agent_alone_hands_over_without_a_word() -> None:
    async def main() -> None:
        async with AgentSession(llm=FakeLLM([Reply(calls=[("transfer_silently", {})])])) as session:
            await session.start(Front())
            await session.run(user_input="A bill.")
            assert [m.text_content for m in session.history.messages()] == ["A bill.", "Billing speaking."]

    run_virtual(main())


def test_the_application_may_put_another_agent_in_charge() -> None:
    async def main() -> None:
        async with AgentSession(llm=FakeLLM()) as session:
            await session.start(Front())
            session.update_agent(Billing())
            await session.wait_for_idle()
            assert isinstance(session.current_agent, Billing)

    run_virtual(main())


def test_agents_of_one_class_have_ids_of_their_own() -> None:
    async def main() -> None:
        async with AgentSession(llm=FakeLLM()) as session:
            first, second = Billing(), Billing()
            await session.start(first)
            session.update_agent(second)
            await session.wait_for_idle()
            assert (first.id, second.id) == ("billing", "billing_2")

    run_virtual(main())


class AskName(AgentTask[str]):
    async def on_enter(self) -> None:
        self.session.say("Your name?")

    @function_tool
    async def give_name(self, name: str) -> None:
        """Take the name."""
        self.complete(name)


class Registrar(Agent):
    @function_tool
    async def register(self) -> str:
        """Register."""
        name = await AskName(instructions="Find out the name.")
        return f"registered {name}"


def test_a_task_takes_the_floor_until_it_has_its_result() -> None:
    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("register", {})]), Reply(calls=[("give_name", {"name": "Ada"})]), "Welcome, Ada."])
        registrar = Registrar(instructions="Register people.")
        async with AgentSession(llm=llm) as session:
            await session.start(registrar)
            await session.run(user_input="Register me.")
            assert isinstance(session.current_agent, AskName)
            await session.run(user_input="Ada.")
            await session.wait_for_idle()
            assert session.agent_by_id("registrar") is session.current_agent
            assert transcript(session.history)[-1] == "assistant: Welcome, Ada."
        assert llm.histories[1] == [
            "system: " + instructions_told("Find out the name.", has_tools=True),
            "assistant: Your name?",
            "user: Ada.",
        ]
        assert "user: Ada." in llm.histories[2]

    run_virtual(main())


def test_a_task_may_fail() -> None:
    caught: list[str] = []

    class Fails(AgentTask[str]):
        async def on_enter(self) -> None:
            self.complete(ValueError("no name"))

    class Tries(Agent):
        async def on_enter(self) -> None:
            try:
                await Fails()
            except ValueError as error:
                caught.append(str(error))

    async def main() -> None:
        async with AgentSession(llm=FakeLLM()) as session:
            tries = Tries()
            await session.start(tries)
            await session.wait_for_idle()
            assert caught == ["no name"] and session.current_agent is tries

    run_virtual(main())


def test_a_task_that_is_complete_before_it_is_awaited_asks_nothing() -> None:
    class Knows(Agent):
        @function_tool
        async def register(self) -> str:
            """Register."""
            task = AskName()
            task.complete("Ada")
            return f"registered {await task}"

    async def main() -> None:
        async with AgentSession(llm=FakeLLM([Reply(calls=[("register", {})]), "Welcome, Ada."])) as session:
            await session.start(Knows())
            await session.run(user_input="Register me, I am Ada.")
            assert [m.text_content for m in session.history.messages()][1:] == ["Welcome, Ada."]

    run_virtual(main())


def test_a_cancelled_wait_gives_the_floor_back() -> None:
    class Impatient(Agent):
        @function_tool
        async def register(self) -> str:
            """Register."""
            try:
                async with asyncio.timeout(5):
                    return await AskName()
            except TimeoutError:
                return "no name"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("register", {})]), "Never mind."])
        async with AgentSession(llm=llm) as session:
            impatient = Impatient()
            await session.start(impatient)
            await session.run(user_input="Register me.")
            await asyncio.sleep(6)
            await session.wait_for_idle()
            assert session.current_agent is impatient
            assert transcript(session.history)[-1] == "assistant: Never mind."

    run_virtual(main())


def test_a_task_needs_somebody_who_awaits_it_inside_a_session() -> None:
    async def main() -> None:
        with pytest.raises(UsageError, match="inside a tool or a hook"):
            await AskName()

    run_virtual(main())


def test_a_context_given_at_first_is_known_to_the_model() -> None:
    async def main() -> None:
        context = ChatContext()
        context.add_message(role="user", content="Earlier.")
        llm = FakeLLM(["Yes."])
        async with AgentSession(llm=llm) as session:
            await session.start(Agent(chat_ctx=context))
            await session.run(user_input="Now.")
            assert transcript(session.history) == ["user: Now.", "assistant: Yes."]
        assert llm.histories[0] == ["user: Earlier.", "user: Now."]

    run_virtual(main())
