"""One wish, one action, as callers and tools see it: by voice, with agents, objects and closures of one kind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from antiphon import Agent, AgentSession, CloseEvent, EndCallTool, ToolError, Toolset, function_tool
from antiphon.errors import ToolDefinitionError
from antiphon.events import CloseReason
from antiphon.llm import ChatRequest as Request
from antiphon.options import DuplicateMode
from antiphon.testing import FakeLLM, Reply, SimulatedCall, run_virtual, transcript


def last(request: Request) -> Any:
    """The latest message, or output of a tool, that a model is asked with."""
    items = [item for item in request.chat_ctx.items if getattr(item, "role", "") != "system"]
    return next(item for item in reversed(items) if item.type in ("message", "function_call_output"))


def calling(**calls: Any) -> Callable[[Request], Reply | str]:
    """A model that makes a call at a word of the caller, and tells what comes of it."""

    def answer(request: Request) -> Reply | str:
        item = last(request)
        if item.type == "function_call_output":
            return f"Told: {item.output}"
        for word, arguments in calls.items():
            if word in (item.text_content or ""):
                return Reply(calls=[arguments])
        return "Fine."

    return answer


def by_voice(model: Callable[[Request], Reply | str]) -> SimulatedCall:
    llm = FakeLLM(model, ttft=0.1, tokens_per_second=1e6)
    return SimulatedCall(llm, preemptive_generation=False, max_silence=None)


def voiced(session: AgentSession[Any], words: str) -> int:
    said = [message.text_content or "" for message in session.history.messages() if message.role == "assistant"]
    return sum(text.count(words) for text in said)


class Account(Agent):
    """An agent of which a call may have two."""

    def __init__(self, owner: str) -> None:
        super().__init__(instructions="You look after an account.")
        self.owner = owner
        self.told = 0
        self.paid = 0

    @function_tool
    async def balance(self) -> str:
        """Tell the balance."""
        self.told += 1
        await asyncio.sleep(8)
        return f"{self.owner} has 100"

    @function_tool(effect="writes")
    async def pay(self) -> str:
        """Pay."""
        self.paid += 1
        await asyncio.sleep(8)
        return f"{self.owner} paid"


def test_what_one_object_s_tool_came_to_is_not_told_for_another_s() -> None:
    async def test() -> None:
        alice, bob = Account("Alice"), Account("Bob")
        async with by_voice(calling(balance=("balance", {}))) as call:
            await call.start(alice)
            await call.caller.says("balance")
            await asyncio.sleep(1.2)
            await call.caller.says("put me through to my partner")
            await call.settled()
            call.session.update_agent(bob)
            await asyncio.sleep(1)
            await call.caller.says("balance please")
            await asyncio.sleep(12)
            await call.settled()
            assert bob.told == 1
            assert voiced(call.session, "Bob has 100") == 1
            assert not voiced(call.session, "Alice has 100")

    run_virtual(test())


def test_a_write_of_one_object_is_not_refused_for_that_of_another() -> None:
    async def test() -> None:
        alice, bob = Account("Alice"), Account("Bob")
        async with by_voice(calling(pay=("pay", {}))) as call:
            await call.start(alice)
            await call.caller.says("pay")
            await asyncio.sleep(1.2)
            await call.caller.says("now my partner")
            await call.settled()
            call.session.update_agent(bob)
            await asyncio.sleep(0.5)
            await call.caller.says("pay for me too")
            await asyncio.sleep(12)
            await call.settled()
            assert (alice.paid, bob.paid) == (1, 1)

    run_virtual(test())


def test_agents_of_one_given_id_have_one_tool() -> None:
    class Till(Agent):
        paid = 0

        def __init__(self) -> None:
            super().__init__(id="till")

        @function_tool(effect="writes")
        async def pay(self) -> str:
            """Pay."""
            Till.paid += 1
            await asyncio.sleep(8)
            return "paid"

    async def test() -> None:
        async with by_voice(calling(pay=("pay", {}))) as call:
            await call.start(Till())
            await call.caller.says("pay")
            await asyncio.sleep(1.2)
            await call.caller.says("a moment")
            call.session.update_agent(Till())
            await asyncio.sleep(0.5)
            await call.caller.says("pay now")
            await asyncio.sleep(12)
            await call.settled()
            assert Till.paid == 1

    run_virtual(test())


def test_closures_of_one_function_are_tools_of_their_own() -> None:
    ran: list[str] = []

    def balance_of(owner: str) -> Any:
        @function_tool
        async def balance() -> str:
            """Tell the balance."""
            ran.append(owner)
            await asyncio.sleep(8)
            return f"{owner} has 100"

        return balance

    async def test() -> None:
        agent = Agent(tools=[balance_of("Alice")])
        async with by_voice(calling(balance=("balance", {}))) as call:
            await call.start(agent)
            await call.caller.says("balance")
            await asyncio.sleep(1.2)
            await call.caller.says("no, use my other account")
            await call.settled()
            await agent.update_tools([balance_of("Bob")])
            await call.caller.says("balance please")
            await asyncio.sleep(12)
            assert ran == ["Alice", "Bob"]

    run_virtual(test())


@pytest.mark.parametrize("mode", ["replace", "reject", "confirm"])
def test_an_order_that_the_caller_corrects_is_not_made_beside_the_other(mode: DuplicateMode) -> None:
    ordered: list[str] = []

    @function_tool(on_duplicate=mode)
    async def order(dish: str) -> str:
        """Order."""
        await asyncio.sleep(6)
        ordered.append(dish)
        return f"ordered {dish}"

    async def test() -> None:
        model = calling(pizza=("order", {"dish": "pizza"}), pasta=("order", {"dish": "pasta"}))
        async with by_voice(model) as call:
            await call.start(Agent(tools=[order]))
            await call.caller.says("order a pizza")
            await asyncio.sleep(1.5)
            await call.caller.says("no make it pasta")
            await asyncio.sleep(14)
            await call.settled()
            made = "pasta" if mode == "replace" else "pizza"
            assert ordered == [made]
            assert voiced(call.session, f"ordered {made}") == 1

    run_virtual(test())


def booking(**options: Any) -> tuple[Any, list[dict[str, Any]]]:
    """A tool that writes, and what it was called with."""
    made: list[dict[str, Any]] = []

    async def book(date: str, people: int, note: str = "") -> str:
        """Book a table."""
        made.append({"date": date, "people": people, "note": note})
        return f"number {len(made)}"

    return function_tool(book, **{"effect": "writes", **options}), made


async def texted(tool: Any, *calls: dict[str, Any]) -> AgentSession[Any]:
    """One turn of the caller, in which the model makes these calls, one after another."""
    llm = FakeLLM([*(Reply(calls=[("book", arguments)]) for arguments in calls), "Done."])
    async with AgentSession[Any](llm=llm, max_tool_steps=len(calls) + 1) as session:
        await session.start(Agent(tools=[tool]))
        await session.run(user_input="book it")
    return session


def test_a_write_in_other_words_is_the_same_wish_where_the_tool_says_what_makes_it() -> None:
    async def test() -> None:
        first = {"date": "2026-11-27", "people": 2, "note": "by the window"}
        second = {"date": "2026-11-27 ", "people": 2, "note": "a window table"}
        tool, made = booking(identity=("date", "people"))
        session = await texted(tool, first, second)
        assert len(made) == 1
        assert "a window table" in transcript(session.history)[-2]
        tool, made = booking()
        await texted(tool, first, second)
        assert len(made) == 2

    run_virtual(test())


def test_what_makes_a_wish_may_be_computed() -> None:
    async def test() -> None:
        tool, made = booking(identity=lambda arguments: arguments["date"].lower())
        await texted(tool, {"date": "Friday", "people": 2}, {"date": "friday", "people": 3})
        assert len(made) == 1

    run_virtual(test())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"identity": "date"}, "expected names of parameters"),
        ({"identity": ()}, "expected names of parameters"),
        ({"identity": ("day",)}, "identity= names 'day', expected one of its parameters: date, people, note"),
        ({"repeat": "twice"}, "must be one of per_turn, once"),
        ({"repeat": "once", "effect": "unsaid"}, "is for tools that write"),
        ({"identity": ("date",), "effect": "reads"}, "is for tools that write"),
    ],
)
def test_a_wish_that_cannot_be_told_is_an_error_where_the_tool_is_defined(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ToolDefinitionError, match=why):
        booking(**options)[0].check()


def test_a_write_that_raises_may_have_happened_and_is_not_made_again() -> None:
    tried: list[int] = []

    @function_tool(effect="writes")
    async def pay() -> str:
        """Pay."""
        tried.append(1)
        raise ValueError("cannot parse the bank's answer")

    async def test() -> None:
        llm = FakeLLM([Reply(calls=[("pay", {})]), Reply(calls=[("pay", {})]), "I don't know whether it was paid."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[pay]))
            await session.run(user_input="pay")
        assert len(tried) == 1
        assert "It is unknown whether `pay` happened" in transcript(session.history)[2]

    run_virtual(test())


def test_a_write_that_says_that_it_failed_may_be_made_again() -> None:
    tried: list[int] = []

    @function_tool(effect="writes")
    async def pay() -> str:
        """Pay."""
        tried.append(1)
        raise ToolError("the card was refused")

    async def test() -> None:
        llm = FakeLLM([Reply(calls=[("pay", {})]), Reply(calls=[("pay", {})]), "It was refused twice."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[pay]))
            await session.run(user_input="pay")
        assert len(tried) == 2

    run_virtual(test())


def slow_booking() -> tuple[Any, list[str]]:
    log: list[str] = []

    @function_tool(effect="writes")
    async def book() -> str:
        """Book."""
        log.append("began")
        try:
            await asyncio.sleep(8)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise
        log.append("ended")
        return "booked 4711"

    return book, log


def test_a_goodbye_over_a_booking_waits_for_it_and_tells_it() -> None:
    async def test() -> None:
        book, log = slow_booking()
        async with by_voice(calling(book=("book", {}), all=("end_call", {}))) as call:
            closes: list[CloseEvent] = []
            call.session.on("close", closes.append)
            await call.start(Agent(tools=[book, EndCallTool()]))
            await call.caller.says("book it")
            await asyncio.sleep(1.5)
            await call.caller.says("thanks that is all")
            await asyncio.sleep(30)
            assert log == ["began", "ended"]
            assert voiced(call.session, "booked 4711") == 1
            assert [close.unheard for close in closes] == [[]]

    run_virtual(test())


def test_a_booking_ends_when_the_caller_has_hung_up_and_the_close_event_has_it() -> None:
    async def test() -> None:
        book, log = slow_booking()
        async with by_voice(calling(book=("book", {}))) as call:
            closes: list[CloseEvent] = []
            call.session.on("close", closes.append)
            await call.start(Agent(tools=[book]))
            await call.caller.says("book it")
            await asyncio.sleep(1.5)
            await call.session.aclose(reason=CloseReason.PARTICIPANT_DISCONNECTED)
            assert log == ["began", "ended"]
            ((unheard,),) = [close.unheard for close in closes]
            assert (unheard.name, unheard.outcome, unheard.output) == ("book", "done", "booked 4711")

    run_virtual(test())


def test_what_a_write_came_to_after_its_time_is_told_as_a_correction() -> None:
    @function_tool(effect="writes", timeout=5.0)
    async def book() -> str:
        """Book."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(3)  # it cannot be stopped any more
        return "booked 4711"

    async def test() -> None:
        llm = FakeLLM([Reply(calls=[("book", {})]), "I don't know whether it was booked.", "It was: booked 4711."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[book]))
            await session.run(user_input="book it")
            assert transcript(session.history)[-1] == "assistant: I don't know whether it was booked."
            await asyncio.sleep(4)
            assert transcript(session.history)[-3:] == [
                "call book({})",
                "output book: It is known now what came of `book`: it happened. booked 4711",
                "assistant: It was: booked 4711.",
            ]

    run_virtual(test())


@pytest.mark.parametrize("cancelled", [1, 2])
def test_a_thread_that_writes_is_left_alone_by_the_time_limit_and_abandoned_by_the_end(cancelled: int) -> None:
    began, goes_on = threading.Event(), threading.Event()

    @function_tool(effect="writes")
    def book() -> str:
        """Book."""
        began.set()
        goes_on.wait(10)
        return "booked 4711"

    async def test() -> Any:
        running = asyncio.create_task(book.call({}))
        await asyncio.to_thread(began.wait, 10)
        for _ in range(cancelled):
            running.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        goes_on.set()
        return await asyncio.gather(running, return_exceptions=True)

    (came,) = asyncio.run(test())
    assert came == "booked 4711" if cancelled == 1 else isinstance(came, asyncio.CancelledError)


@pytest.mark.parametrize(("sees", "made"), [("all", 2), ("nothing", 1), ("a copy", 2)])
def test_whether_an_agent_sees_what_was_done_decides_what_an_equal_call_means(sees: str, made: int) -> None:
    tool, booked = booking()
    arguments = {"date": "2026-11-27", "people": 2}

    class Desk(Agent):
        @function_tool
        async def transfer(self) -> Agent:
            """Transfer."""
            return Desk(tools=[tool], chat_ctx=self.chat_ctx)

    async def test() -> None:
        llm = FakeLLM([Reply(calls=[("book", arguments)]), "Number 1."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Desk(tools=[tool]))
            await session.run(user_input="book it")
            if sees == "nothing":
                agent = session.current_agent
                await agent.update_chat_ctx(agent.chat_ctx.copy(exclude_function_call=True))
            elif sees == "a copy":
                llm.extend([Reply(calls=[("transfer", {})])])
                await session.run(user_input="somebody else")
            llm.extend([Reply(calls=[("book", arguments)]), "Done."])
            await session.run(user_input="another one")
        assert len(booked) == made

    run_virtual(test())


def test_a_tool_that_another_agent_has_under_another_name_is_the_same_tool() -> None:
    tool, booked = booking()
    arguments = {"date": "2026-11-27", "people": 2}

    class Desk(Agent):
        @function_tool
        async def transfer(self) -> Agent:
            """Transfer."""
            return Agent(tools=[Toolset(id="crm", tools=[tool]).prefixed("crm_")])

    async def test() -> None:
        llm = FakeLLM([Reply(calls=[("book", arguments)]), "Fine.", Reply(calls=[("transfer", {})]), "Fine."])
        llm.extend([Reply(calls=[("crm_book", arguments)]), "Fine."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Desk(tools=[tool]))
            for text in ("book it", "somebody else please", "what now"):
                session.submit_user_turn(text)
                await asyncio.sleep(1)
        assert len(booked) == 1

    run_virtual(test())


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ({"at": "2026-11-27T10:00:00+00:00"}, {"at": "2026-11-27T11:00:00+01:00"}),
        ({"at": "2026-11-27T10:00:00Z", "price": "2.50"}, {"at": "2026-11-27T10:00:00Z", "price": 2.5}),
        ({"at": "2026-11-27T10:00:00Z", "price": 2}, {"at": "2026-11-27T10:00:00Z", "price": "2.0"}),
    ],
)
def test_times_and_numbers_are_equal_by_value(first: dict[str, Any], again: dict[str, Any]) -> None:
    made: list[datetime] = []

    @function_tool(effect="writes")
    async def book(at: datetime, price: Decimal = Decimal(1)) -> str:
        """Book."""
        made.append(at)
        return f"number {len(made)}"

    async def test() -> None:
        await texted(book, first, again)
        assert len(made) == 1

    run_virtual(test())
