"""A call goes on in a new session, as if its process had ended at that instant: nothing is lost, doubled or silent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from antiphon import (
    Agent,
    AgentSession,
    DidNotHappen,
    Happened,
    RunContext,
    ToolError,
    function_tool,
)
from antiphon.errors import StoreError, UsageError
from antiphon.store import HISTORY, RowState
from antiphon.stores.memory import MemoryStore
from antiphon.testing import FakeLLM, Reply, check_pairs, run_virtual, transcript

CUT = "Sorry, we were cut off for a moment."


class Shop(Agent):
    """Takes payments."""

    def __init__(self, *, seconds: float = 0.0, paid: list[int] | None = None) -> None:
        super().__init__(instructions="You take payments.", id="shop")
        self.seconds = seconds
        self.paid = [] if paid is None else paid
        self.entered = False

    async def on_enter(self) -> None:
        self.entered = True

    @function_tool(effect="writes")
    async def pay(self, ctx: RunContext[Any], amount: int) -> str:
        """Pay."""
        self.paid.append(amount)
        await asyncio.sleep(self.seconds)
        return f"paid {amount}"

    @function_tool
    async def move_on(self) -> Agent:
        """Connect to the kitchen."""
        return Kitchen()


class Kitchen(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You cook.", id="kitchen")


def pays(amount: int = 5) -> Reply:
    return Reply(calls=[("pay", {"amount": amount})])


async def cut_off(agent: Agent, llm: FakeLLM, *turns: str, after: float | None = None) -> tuple[MemoryStore, str]:
    """What is left of a call whose process stopped `after` seconds of its last turn; None: when that was answered."""
    store = MemoryStore()
    session = AgentSession[Any](llm=llm, store=store, max_silence=None)
    await session.start(agent)
    for turn in turns[:-1]:
        await session.run(user_input=turn)
    if after is None:
        await session.run(user_input=turns[-1])
    else:
        session.generate_reply(user_input=turns[-1])
        await asyncio.sleep(after)
    await asyncio.sleep(0.0 if after else 0.5)  # what was handed over is in the store
    await gone(store, session)
    return store, session.call_id


async def gone(store: MemoryStore, session: AgentSession[Any]) -> None:
    """The process has ended: nothing that the session still does reaches the store, which another worker may take."""
    store.lose(session.call_id)
    taken = await store.lease(session.call_id, "another worker")
    await session.aclose()
    store.release(taken)


async def resumed(store: MemoryStore, call: str, llm: FakeLLM, *agents: Agent) -> AgentSession[Any]:
    session = AgentSession[Any](llm=llm, store=store, max_silence=None)
    await session.resume(call, agents=agents or [Shop()])
    return session


def lines(session: AgentSession[Any]) -> list[str]:
    check_pairs(session.history)
    return transcript(session.history)


def test_the_history_goes_on_and_nobody_greets_again() -> None:
    async def check() -> None:
        store, call = await cut_off(Shop(), FakeLLM(["Hello Ann."]), "I am Ann")
        agent, llm = Shop(), FakeLLM(["You are Ann."])
        session = await resumed(store, call, llm, agent)
        await session.run(user_input="who am I?")
        assert lines(session) == [
            "user: I am Ann",
            "assistant: Hello Ann.",
            f"assistant: {CUT}",
            "user: who am I?",
            "assistant: You are Ann.",
        ]
        assert llm.histories[0][-4:] == lines(session)[:-1]
        assert not agent.entered
        assert session.call_id == call
        await session.aclose()

    run_virtual(check())


def test_a_write_that_was_cut_off_is_unknown_said_to_be_and_not_done_again() -> None:
    async def check() -> None:
        paid: list[int] = []
        store, call = await cut_off(Shop(seconds=60.0, paid=paid), FakeLLM([pays()]), "pay five", after=1.0)
        llm = FakeLLM(["I don't know whether it went through.", "I don't know.", pays(), "As I said."])
        session = await resumed(store, call, llm, Shop(paid=paid))
        await asyncio.sleep(5.0)
        assert any("unknown" in line for line in llm.histories[0])
        assert "assistant: I don't know whether it went through." in lines(session)
        await session.run(user_input="then pay five")
        assert paid == [5]
        [(_, row)] = await store.rows(call=call)
        assert row.state is RowState.UNKNOWN
        await session.aclose()

    run_virtual(check())


def test_a_write_that_was_done_and_not_heard_of_is_told_and_stands_for_an_equal_call() -> None:
    async def check() -> None:
        paid: list[int] = []
        first = FakeLLM([pays(), Reply("It is paid.", ttft=30.0)])
        store, call = await cut_off(Shop(paid=paid), first, "pay five", after=2.0)
        llm = FakeLLM(["Your payment went through.", Reply("")])
        session = await resumed(store, call, llm, Shop(paid=paid))
        await asyncio.sleep(5.0)
        assert lines(session)[:3] == ["user: pay five", 'call pay({"amount": 5})', "output pay: paid 5"]
        assert lines(session).count("assistant: Your payment went through.") == 1
        assert paid == [5]
        [(_, row)] = await store.rows(call=call)
        assert row.state is RowState.SUCCEEDED and row.closed_at is not None
        await session.aclose()

    run_virtual(check())


def test_a_write_that_was_heard_of_is_not_told_again_and_a_new_turn_is_a_new_wish() -> None:
    async def check() -> None:
        paid: list[int] = []
        store, call = await cut_off(Shop(paid=paid), FakeLLM([pays(), "It is paid."]), "pay five")
        llm = FakeLLM([pays(), "Paid once more."])
        session = await resumed(store, call, llm, Shop(paid=paid))
        await asyncio.sleep(3.0)
        assert llm.requests == []
        await session.run(user_input="the same again")
        assert paid == [5, 5]
        keys = {row.key for _, row in await store.rows(call=call)}
        assert len(keys) == 2
        await session.aclose()

    run_virtual(check())


class Bank:
    """A backend that may be asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any], float]] = []

    async def find(self, key: str, arguments: Mapping[str, Any]) -> Any:
        self.asked.append((key, dict(arguments), asyncio.get_running_loop().time()))
        return self.answer

    def agent(self, paid: list[str], *, seconds: float = 0.0) -> Agent:
        @function_tool(effect="writes", reconcile=self.find)
        async def pay(ctx: RunContext[Any], amount: int) -> str:
            """Pay."""
            paid.append(ctx.idempotency_key)
            await asyncio.sleep(seconds)
            return f"paid {amount}"

        return Agent(instructions="You take payments.", id="shop", tools=[pay])


def test_the_backend_of_a_write_that_was_cut_off_is_asked_in_the_new_process() -> None:
    async def check() -> None:
        bank, paid = Bank(Happened("receipt 7")), list[str]()
        store, call = await cut_off(bank.agent(paid, seconds=60.0), FakeLLM([pays()]), "pay five", after=1.0)
        llm = FakeLLM(["I don't know whether it went through.", "It did: receipt 7."])
        session = await resumed(store, call, llm, bank.agent(paid))
        await asyncio.sleep(9.0)
        assert lines(session)[-1] == "assistant: It did: receipt 7."
        assert [(key, arguments) for key, arguments, _ in bank.asked] == [(paid[0], {"amount": 5})]
        [(_, row)] = await store.rows(call=call)
        assert (row.state, row.output) == (RowState.SUCCEEDED, "receipt 7")
        await session.aclose()

    run_virtual(check())


def test_an_effect_within_a_tool_is_not_done_again_in_the_new_process_and_gives_what_it_gave() -> None:
    charges: list[str] = []
    receipts: list[object] = []

    def shop(*, breaks: bool) -> Agent:
        async def charge(key: str) -> dict[str, int]:
            charges.append(key)
            return {"receipt": 7}

        async def mail() -> None:
            if breaks:
                raise ToolError("no post today")

        @function_tool(effect="writes")
        async def pay(ctx: RunContext[Any], amount: int) -> str:
            """Pay."""
            receipts.append(await ctx.once("charge", charge))
            await ctx.once("mail", mail)
            return f"paid {amount}"

        return Agent(instructions="You take payments.", id="shop", tools=[pay])

    async def check() -> None:
        store, call = await cut_off(shop(breaks=True), FakeLLM([pays(), "The mail failed."]), "pay five")
        session = await resumed(store, call, FakeLLM([pays(), "It is paid."]), shop(breaks=False))
        await session.run(user_input="then try again")
        await asyncio.sleep(1.0)
        assert "output pay: paid 5" in lines(session)
        assert len(charges) == 1
        assert receipts == [{"receipt": 7}, {"receipt": 7}]
        kept = sorted((row.name, row.state.value) for _, row in await store.rows(call=call))
        assert kept == [
            *[("pay", "failed"), ("pay", "succeeded"), ("pay/charge", "succeeded")],
            *[("pay/mail", "failed"), ("pay/mail", "succeeded")],
        ]
        await session.aclose()

    run_virtual(check())


def test_an_effect_that_was_cut_off_is_unknown_and_its_tool_with_it() -> None:
    charges: list[str] = []

    def shop(*, seconds: float) -> Agent:
        async def charge(key: str) -> None:
            charges.append(key)
            await asyncio.sleep(seconds)

        @function_tool(effect="writes")
        async def pay(ctx: RunContext[Any], amount: int) -> str:
            """Pay."""
            await ctx.once("charge", charge)
            return f"paid {amount}"

        return Agent(instructions="You take payments.", id="shop", tools=[pay])

    async def check() -> None:
        store, call = await cut_off(shop(seconds=60.0), FakeLLM([pays()]), "pay five", after=1.0)
        llm = FakeLLM(["I don't know.", "I still don't."])
        session = await resumed(store, call, llm, shop(seconds=0.0))
        await asyncio.sleep(5.0)
        assert {row.name: row.state for _, row in await store.rows(call=call)} == {
            "pay": RowState.UNKNOWN,
            "pay/charge": RowState.UNKNOWN,
        }
        assert [line for line in lines(session) if "pay/charge" in line] == []
        await session.aclose()

    run_virtual(check())


def test_that_it_did_not_happen_counts_once_the_run_of_the_other_process_has_certainly_ended() -> None:
    async def check() -> None:
        bank, paid = Bank(DidNotHappen()), list[str]()
        store, call = await cut_off(bank.agent(paid, seconds=60.0), FakeLLM([pays()]), "pay five", after=1.0)
        llm = FakeLLM(["I don't know.", "It did not.", pays(), "Now it is paid.", "Fine."])
        session = await resumed(store, call, llm, bank.agent(paid))
        await asyncio.sleep(50.0)
        [(_, row)] = await store.rows(call=call)
        assert row.state is RowState.UNKNOWN
        await asyncio.sleep(30.0)
        assert "assistant: It did not." in lines(session)
        await session.run(user_input="then pay five")
        await asyncio.sleep(1.0)
        [(_, row)] = await store.rows(call=call)
        assert (row.state, row.attempt, row.turn) == (RowState.SUCCEEDED, 2, 1)
        assert len(paid) == 2 and len(set(paid)) == 1
        await session.aclose()

    run_virtual(check())


def test_a_turn_that_no_reply_was_heard_to_is_answered() -> None:
    async def check() -> None:
        store, call = await cut_off(Shop(), FakeLLM([Reply("Hello.", ttft=30.0)]), "are you open?", after=1.0)
        llm = FakeLLM(["We are open."])
        session = await resumed(store, call, llm)
        await asyncio.sleep(3.0)
        assert lines(session) == ["user: are you open?", f"assistant: {CUT}", "assistant: We are open."]
        await session.aclose()

    run_virtual(check())


def test_the_agent_that_was_in_charge_goes_on_and_else_the_first_begins() -> None:
    async def check() -> None:
        moves = FakeLLM([Reply(calls=[("move_on", {})]), "The kitchen."])
        store, call = await cut_off(Shop(), moves, "the kitchen, please")
        session = await resumed(store, call, FakeLLM(["This is the kitchen."]), Shop(), Kitchen())
        assert session.current_agent.id == "kitchen"
        await session.aclose()
        moves = FakeLLM([Reply(calls=[("move_on", {})]), "The kitchen."])
        store, call = await cut_off(Shop(), moves, "the kitchen, please")
        agent = Shop()
        session = await resumed(store, call, FakeLLM(["What can I do?"]), agent)
        assert session.current_agent is agent and agent.entered
        await session.aclose()

    run_virtual(check())


def test_a_call_can_be_cut_off_twice() -> None:
    async def check() -> None:
        store, call = await cut_off(Shop(), FakeLLM(["Hello Ann."]), "I am Ann")
        session = await resumed(store, call, FakeLLM(["Yes?"]))
        await session.run(user_input="still there?")
        await asyncio.sleep(0.5)
        await gone(store, session)
        session = await resumed(store, call, FakeLLM([]))
        await asyncio.sleep(1.0)
        assert lines(session)[-3:] == ["user: still there?", "assistant: Yes?", f"assistant: {CUT}"]
        await session.aclose()

    run_virtual(check())


def test_what_cannot_be_resumed_is_said_with_the_remedy() -> None:
    async def check() -> None:
        store, call = MemoryStore(), ""
        async with AgentSession[Any](llm=FakeLLM(["Hello."]), store=store) as session:
            await session.start(Shop())
            call = session.call_id
        with pytest.raises(UsageError, match="come to its end"):
            await resumed(store, call, FakeLLM([]))
        with pytest.raises(UsageError, match=r"has no call 'other'.*antiphon calls"):
            await resumed(store, "other", FakeLLM([]))
        with pytest.raises(UsageError, match=r"AgentSession\(store=\)"):
            await AgentSession[Any](llm=FakeLLM([])).resume(call, agents=[Shop()])

    run_virtual(check())


def test_a_call_that_cannot_be_read_is_held_by_nobody() -> None:
    async def check() -> None:
        store, call = await cut_off(Shop(), FakeLLM(["Hello Ann."]), "I am Ann")
        lease = await store.lease(call, "another")
        store.append(lease, len(await store.entries(call, HISTORY)), [b"no item"], HISTORY)
        store.release(lease)
        with pytest.raises(StoreError, match="cannot be read"):
            await resumed(store, call, FakeLLM([]))
        assert (await store.lease(call, "another")).held

    run_virtual(check())


def test_what_a_process_left_in_doubt_is_tried_again_with_its_key_in_the_next() -> None:
    keys: list[str] = []

    @function_tool(effect="writes")
    async def book(ctx: RunContext[Any], seats: int) -> str:
        """Book seats."""
        keys.append(ctx.idempotency_key)
        if len(keys) == 1:
            raise ConnectionError("broken off")
        return "Booked."

    def desk() -> Agent:
        return Agent(id="desk", instructions="You take bookings.", tools=[book])

    call = Reply(calls=[("book", {"seats": 2})])

    async def check() -> None:
        store, call_id = await cut_off(desk(), FakeLLM([call, "I can't tell."]), "Two seats")
        session = await resumed(store, call_id, FakeLLM([call, "They are booked."]), desk())
        for turn in ("Then try again", "yes"):
            await session.run(user_input=turn)
        await session.aclose()
        assert len(keys) == 2 and keys[0] == keys[1]

    run_virtual(check())
