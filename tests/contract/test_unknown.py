"""Outcomes that nobody knows have a life: the backend is asked, a person may say it, the caller is told."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from antiphon import Agent, AgentSession, DidNotHappen, Happened, RunContext, ToolError, function_tool
from antiphon.errors import ToolDefinitionError
from antiphon.events import ToolOutcomeEvent
from antiphon.store import RowState
from antiphon.stores.memory import MemoryStore
from antiphon.testing import FakeLLM, Reply, run_virtual
from antiphon.tools.function import OutcomeUnknown

PAY = Reply(calls=[("pay", {"amount": 5})])


class Bank:
    """A backend that loses answers, and can be asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Mapping[str, Any], float]] = []
        self.keys: list[str] = []
        self.loses = True

    async def find(self, key: str, arguments: Mapping[str, Any]) -> Any:
        self.asked.append((key, arguments, asyncio.get_running_loop().time()))
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def tool(self) -> Any:
        @function_tool(effect="writes", reconcile=self.find)
        async def pay(ctx: RunContext[Any], amount: int) -> str:
            """Pay."""
            self.keys.append(ctx.idempotency_key)
            if self.loses:
                raise ConnectionError("no answer")
            return f"paid {amount}"

        return pay


def session_of(bank: Bank, *script: Any, **options: Any) -> AgentSession[Any]:
    return AgentSession[Any](llm=FakeLLM(list(script)), **options)


def outputs(session: AgentSession[Any]) -> list[str]:
    return [item.output for item in session.history.items if item.type == "function_call_output"]


def test_a_backend_that_is_asked_says_that_it_happened_and_the_caller_is_told() -> None:
    async def test() -> None:
        bank, events = Bank(None, None, Happened("receipt 7")), list[ToolOutcomeEvent]()
        async with session_of(bank, PAY, "I don't know.", "It was paid after all: receipt 7.", "Fine.") as session:
            session.on("tool_outcome", events.append)
            await session.start(Agent(instructions="", tools=[bank.tool]))
            await session.run(user_input="Pay.")
            began = asyncio.get_running_loop().time()
            await asyncio.sleep(20)
            assert [event.outcome for event in events] == ["unknown", "succeeded"]
            assert "it happened. receipt 7" in outputs(session)[-1]
            assert session.history.messages()[-1].text_content == "It was paid after all: receipt 7."
        assert {(key, dict(arguments)["amount"]) for key, arguments, _ in bank.asked} == {(bank.keys[0], 5)}
        waits = [round(at - began) for _, _, at in bank.asked]
        assert waits == [1, 3, 7]  # each after twice as long

    run_virtual(test())


def test_what_did_not_happen_may_be_done_again_with_the_same_key() -> None:
    async def test() -> None:
        bank, store = Bank(*[DidNotHappen()] * 9), MemoryStore()
        script = (PAY, "I don't know.", "It was not paid. Shall I?", PAY, "Paid.", "Fine.")
        async with session_of(bank, *script, store=store) as session:
            await session.start(Agent(instructions="", tools=[bank.tool]))
            await session.run(user_input="Pay.")
            await asyncio.sleep(50)
            assert "not known" not in outputs(session)[-1]  # what was sent may still arrive
            assert len(outputs(session)) == 1
            await asyncio.sleep(30)
            bank.loses = False
            await session.run(user_input="Yes, again.")
        assert [round(at) for _, _, at in bank.asked][-1] == 61  # the limit of the tool, and its cancellation
        assert len(bank.keys) == 2 and len(set(bank.keys)) == 1
        ((_, row),) = await store.rows()
        assert (row.state, row.attempt, row.output) == (RowState.SUCCEEDED, 2, "paid 5")

    run_virtual(test())


def test_a_backend_that_cannot_say_is_asked_for_hours_and_the_write_stays_blocked() -> None:
    async def test() -> None:
        bank = Bank(RuntimeError("down"), "nonsense")
        async with session_of(bank, PAY, "I don't know.", PAY, "Still unknown.") as session:
            await session.start(Agent(instructions="", tools=[bank.tool]))
            await session.run(user_input="Pay.")
            await asyncio.sleep(1800)
            assert 25 < len(bank.asked) < 45
            await session.run(user_input="Try again.")
            assert len(bank.keys) == 1

    run_virtual(test())


def test_a_tool_that_may_still_be_at_work_is_not_asked_about() -> None:
    async def test() -> None:
        bank = Bank(DidNotHappen())

        @function_tool(effect="writes", timeout=1, reconcile=bank.find)
        async def pay(amount: int) -> str:
            """Pay."""
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                await asyncio.sleep(10)
            return "paid"

        async with session_of(bank, PAY, "I don't know.", "It was paid.", "Fine.") as session:
            await session.start(Agent(instructions="", tools=[pay]))
            await session.run(user_input="Pay.")
            await asyncio.sleep(30)
            assert bank.asked == []
            assert "it happened. paid" in outputs(session)[-1]

    run_virtual(test())


@pytest.mark.parametrize(("state", "told"), [(RowState.SUCCEEDED, "it happened"), (RowState.FAILED, "did not happen")])
def test_a_person_says_in_the_store_what_happened_and_the_caller_is_told(state: RowState, told: str) -> None:
    async def test() -> None:
        store = MemoryStore()

        @function_tool(effect="writes")
        async def pay(amount: int) -> str:
            """Pay."""
            raise OutcomeUnknown("no answer")

        async with session_of(Bank(), PAY, "I don't know.", "Now I know.", "Fine.", store=store) as session:
            await session.start(Agent(instructions="", tools=[pay]))
            await session.run(user_input="Pay.")
            ((info, row),) = await store.rows(states=[RowState.UNKNOWN])
            await store.resolve(info.id, row.key, state, "looked it up", 0.0)
            await asyncio.sleep(5)
            assert told in outputs(session)[-1]
            assert session.history.messages()[-1].text_content == "Now I know."

    run_virtual(test())


def test_reconcile_is_for_tools_that_write() -> None:
    with pytest.raises(ToolDefinitionError, match="reconcile"):
        function_tool(lambda: "", name="f", effect="reads", reconcile=Bank().find)
    with pytest.raises(ToolDefinitionError, match="reconcile"):
        function_tool(lambda: "", name="f", effect="writes", reconcile="find")  # type: ignore[call-overload]


class Till:
    """A tool of two effects, the second of which fails at first."""

    def __init__(self, *, charge: Any = None, mail_fails: int = 1) -> None:
        self.charged: list[str] = []
        self.mailed = 0
        self.mail_fails = mail_fails
        self.gave: list[Any] = []
        self.charge = charge

    async def _charge(self, key: str) -> dict[str, str]:
        self.charged.append(key)
        if self.charge is not None:
            raise self.charge
        return {"receipt": "7"}

    def _mail(self) -> None:
        self.mailed += 1
        if self.mailed <= self.mail_fails:
            raise ToolError("The mailbox is full.")

    @property
    def tool(self) -> Any:
        @function_tool(effect="writes")
        async def pay(ctx: RunContext[Any], amount: int) -> str:
            """Pay."""
            self.gave.append(await ctx.once("charge", self._charge))
            await ctx.once("mail", self._mail)
            return "paid and mailed"

        return pay


@pytest.mark.parametrize("store", [None, MemoryStore()])
def test_an_effect_within_a_tool_is_done_once_for_a_wish_though_the_tool_is_run_again(store: Any) -> None:
    async def test() -> None:
        till = Till()
        async with session_of(Bank(), PAY, PAY, "Paid.", PAY, "Paid again.", store=store) as session:
            await session.start(Agent(instructions="", tools=[till.tool]))
            await session.run(user_input="Pay.")
            assert (len(till.charged), till.mailed) == (1, 2)
            assert till.gave == [{"receipt": "7"}] * 2
            await session.run(user_input="Once more, please.")  # another wish
            assert (len(set(till.charged)), till.mailed) == (2, 3)
        if store is not None:
            states = sorted((row.extra["name"], row.state.value) for _, row in await store.rows())
            assert states == [
                ("pay", "failed"),
                ("pay", "succeeded"),
                ("pay", "succeeded"),
                ("pay/charge", "succeeded"),
                ("pay/charge", "succeeded"),
                ("pay/mail", "failed"),
                ("pay/mail", "succeeded"),
                ("pay/mail", "succeeded"),
            ]

    run_virtual(test())


def test_an_effect_that_broke_off_makes_its_tool_unknown() -> None:
    async def test() -> None:
        till = Till(charge=ConnectionError("gone"))
        async with session_of(Bank(), PAY, "I don't know.", PAY, "Still not.") as session:
            await session.start(Agent(instructions="", tools=[till.tool]))
            await session.run(user_input="Pay.")
            await session.run(user_input="Again.")
            assert len(till.charged) == 1
            assert "unknown" in outputs(session)[0]

    run_virtual(test())


def test_a_transaction_needs_a_store_that_can() -> None:
    async def test() -> None:
        raised: list[Exception] = []

        @function_tool(effect="writes")
        async def pay(ctx: RunContext[Any], amount: int) -> str:
            """Pay."""
            try:
                async with ctx.transaction():
                    raise AssertionError("there is none")
            except Exception as error:
                raised.append(error)
            return "not paid"

        for store in (None, MemoryStore()):
            async with session_of(Bank(), PAY, "No.", store=store) as session:
                await session.start(Agent(instructions="", tools=[pay]))
                await session.run(user_input="Pay.")
        assert ["postgresql://" in str(error) for error in raised] == [True, True]

    run_virtual(test())
