"""What goes on with a call elsewhere, beside what tools did: what was kept, what was at work, what is told later."""

from __future__ import annotations

import asyncio
import datetime
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel, Field

from antiphon import Agent, AgentSession, RunContext, Secret, function_tool
from antiphon.application.resuming import held_call
from antiphon.chat import Clock
from antiphon.errors import UsageError
from antiphon.stores.memory import MemoryStore
from antiphon.testing import FakeLLM, Reply, SimulatedCall, run_virtual
from tests.contract.test_resuming import CUT, Kitchen, Shop, cut_off, gone, lines, pays, resumed
from tests.stores.kept_calls import NameTask

# -- what the application keeps


@dataclass
class Guest:
    name: str = ""
    day: datetime.date | None = None
    pin: Secret[str] | None = None
    desk: object = None
    """Nothing that can be kept."""


class Basket(BaseModel):
    items: list[str] = Field(default_factory=list)


class Keeper(Agent):
    """Counts what it did, and says what it is told to when it goes on."""

    def __init__(self) -> None:
        super().__init__(instructions="You keep things.", id="keeper")
        self.count = 0
        self.began: list[str] = []

    async def on_enter(self) -> None:
        self.began.append("enter")

    async def on_resume(self) -> None:
        self.began.append("resume")
        await self.session.say(f"You have {self.count}.")

    def dump_state(self) -> Any:
        return {"count": self.count}

    def load_state(self, state: Any) -> None:
        self.count = state["count"]

    @function_tool(effect="writes")
    async def keep(self, ctx: RunContext[Any], what: str) -> str:
        """Keep something."""
        self.count += 1
        match ctx.userdata:
            case Guest():
                ctx.userdata.name, ctx.userdata.day = what, datetime.date(2027, 3, 15)
                ctx.userdata.pin = Secret("4711")
            case Basket():
                ctx.userdata.items.append(what)
            case dict():
                ctx.userdata["what"] = what
            case Odd():
                ctx.userdata.what = what
        return "kept"


class Odd:
    what = ""


class OddCodec:
    def dump(self, userdata: Odd) -> Any:
        return [userdata.what]

    def load(self, data: Any) -> Odd:
        odd = Odd()
        odd.what = data[0]
        return odd


async def kept_and_resumed(given: Any, again: Any, **options: Any) -> tuple[AgentSession[Any], Keeper]:
    """A tool keeps a rose, in its agent and in `given`; then the call goes on with another agent, and `again`."""
    store = MemoryStore()
    llm = FakeLLM([Reply(calls=[("keep", {"what": "a rose"})]), "Kept."])
    session = AgentSession[Any](llm=llm, store=store, max_silence=None, userdata=given, **options)
    await session.start(Keeper())
    await session.run(user_input="keep a rose")
    await gone(store, session)
    agent, call = Keeper(), session.call_id
    session = AgentSession[Any](llm=FakeLLM([]), store=store, max_silence=None, userdata=again, **options)
    await session.resume(call, agents=[agent])
    await asyncio.sleep(1.0)
    return session, agent


def test_an_agent_goes_on_with_what_it_kept_of_itself_and_its_own_hook() -> None:
    async def check() -> None:
        session, agent = await kept_and_resumed({}, {})
        assert (agent.count, agent.began) == (1, ["resume"])
        assert lines(session)[-2:] == [f"assistant: {CUT}", "assistant: You have 1."]
        await session.aclose()

    run_virtual(check())


def test_userdata_is_kept_by_its_fields_and_what_cannot_be_kept_stays_as_it_was_given() -> None:
    async def check() -> None:
        desk = object()
        session, _ = await kept_and_resumed(Guest(desk=object()), guest := Guest(desk=desk))
        assert session.userdata is guest
        assert guest == Guest("a rose", datetime.date(2027, 3, 15), None, desk)
        await session.aclose()
        session, _ = await kept_and_resumed(Basket(), Basket())
        assert session.userdata == Basket(items=["a rose"])
        await session.aclose()
        session, _ = await kept_and_resumed({"desk": desk}, {"desk": desk})
        assert session.userdata == {"what": "a rose", "desk": desk}
        await session.aclose()

    run_virtual(check())


def test_userdata_of_any_class_is_kept_by_its_codec(caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        session, _ = await kept_and_resumed(Odd(), Odd(), userdata_codec=OddCodec())
        assert session.userdata.what == "a rose"
        await session.aclose()
        assert "was not kept" not in caplog.text
        session, _ = await kept_and_resumed(Odd(), Odd())
        assert session.userdata.what == ""
        assert "userdata of type Odd was not kept; give AgentSession(userdata_codec=)" in caplog.text
        await session.aclose()

    run_virtual(check())


class NoCodec:
    def dump(self, userdata: Odd) -> Any:
        raise TypeError("what is this?")

    def load(self, data: Any) -> Odd:
        raise AssertionError("nothing was kept")


def test_what_could_not_be_kept_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    class Odder(Keeper):
        def dump_state(self) -> Any:
            return object()

    async def check() -> None:
        llm = FakeLLM([Reply(calls=[("keep", {"what": what})]) if what else "Kept." for what in ("a", "", "b", "")])
        session = AgentSession[Any](
            llm=llm, store=MemoryStore(), max_silence=None, userdata=Odd(), userdata_codec=NoCodec()
        )
        await session.start(Odder())
        await session.run(user_input="keep a")
        await session.run(user_input="keep b")
        await session.aclose()

    run_virtual(check())
    said = [record.getMessage() for record in caplog.records if "could not be kept" in record.getMessage()]
    assert sorted(said) == [
        "dump_state() of agent 'keeper': what it gave could not be kept",
        "userdata: what it gave could not be kept",
    ]


def test_agents_are_made_by_their_id_and_the_session_may_know_them_before() -> None:
    async def check() -> None:
        asked: list[str] = []

        def make(agent_id: str) -> Agent | None:
            asked.append(agent_id)
            return Kitchen() if agent_id == "kitchen" else None

        for way in ("session", "resume"):
            moves = FakeLLM([Reply(calls=[("move_on", {})]), "The kitchen."])
            store, call = await cut_off(Shop(), moves, "the kitchen, please")
            llm = FakeLLM(["The kitchen."])
            session = AgentSession[Any](llm=llm, store=store, agents=make if way == "session" else ())
            await session.resume(call, agents=make if way == "resume" else ())
            assert session.current_agent.id == "kitchen"
            await session.aclose()
        assert asked == ["kitchen", "kitchen"]
        store, call = await cut_off(Shop(), FakeLLM(["Hello."]), "hello")
        with pytest.raises(UsageError, match="gave no agent for 'shop'"):
            await AgentSession[Any](llm=FakeLLM([]), store=store).resume(call, agents=make)
        assert (await store.lease(call, "another")).held

    run_virtual(check())


# -- what was at work


class Desk(Agent):
    """Asks for a name by a task, looks things up, and does what it does not speak of."""

    def __init__(self) -> None:
        super().__init__(instructions="You sit at a desk.", id="desk")

    @function_tool(effect="reads")
    async def look(self) -> str:
        """Look something up."""
        await asyncio.sleep(60.0)
        return "seen"

    @function_tool
    async def knock(self) -> str:
        """Do something."""
        await asyncio.sleep(60.0)
        return "knocked"

    @function_tool(effect="reads")
    async def ask(self) -> str:
        """Ask for the name."""
        return await NameTask()


@pytest.mark.parametrize(("tool", "says"), [("look", "Call it again"), ("knock", "nobody knows whether it finished")])
def test_a_call_of_a_tool_that_does_not_write_is_settled_in_words(tool: str, says: str) -> None:
    async def check() -> None:
        first = FakeLLM([Reply("One moment.", calls=[(tool, {})])])
        store, call = await cut_off(Desk(), first, "please do", after=5.0)
        llm = FakeLLM(["We were cut off."])
        session = await resumed(store, call, llm, Desk())
        await asyncio.sleep(3.0)
        assert len(llm.requests) == 1
        assert any(f"`{tool}` was interrupted by a restart" in line and says in line for line in llm.histories[0])
        assert "assistant: We were cut off." in lines(session)
        await session.aclose()

    run_virtual(check())


def test_a_task_is_given_up_and_the_agent_below_it_goes_on() -> None:
    async def check() -> None:
        store, call = await cut_off(Desk(), FakeLLM([Reply(calls=[("ask", {})])]), "book a table", after=5.0)
        stored = await store.load(call)
        assert stored is not None and stored.info.meta.agents == ("desk", "asks")
        llm = FakeLLM(["And what is your name?"])
        session = await resumed(store, call, llm, Desk(), NameTask())
        await asyncio.sleep(3.0)
        assert session.current_agent.id == "desk"
        assert any("`ask` was interrupted by a restart" in line for line in llm.histories[0])
        assert "assistant: What is your name?" in lines(session)
        assert lines(session)[-1] == "assistant: And what is your name?"
        await session.aclose()

    run_virtual(check())


def test_what_ended_before_is_not_said_to_have_been_interrupted() -> None:
    async def check() -> None:
        class Quick(Desk):
            @function_tool
            async def knock(self) -> str:
                """Do something."""
                return "knocked"

        first = FakeLLM([Reply("One moment.", calls=[("knock", {})]), Reply("It is done.", ttft=30.0)])
        store, call = await cut_off(Quick(), first, "please do", after=5.0)
        llm = FakeLLM(["It was done."])
        session = await resumed(store, call, llm, Quick())
        await asyncio.sleep(3.0)
        assert not any("interrupted by a restart" in line for line in llm.histories[0])
        assert lines(session)[-1] == "assistant: It was done."
        await session.aclose()

    run_virtual(check())


def test_a_reply_that_was_cut_is_made_again_from_what_was_heard() -> None:
    async def check() -> None:
        store = MemoryStore()
        long = "We are open from nine to five on weekdays, and from ten to two on Saturdays, as we always were."
        async with SimulatedCall(FakeLLM([long]), store=store) as call:
            await call.start(Shop())
            await call.caller.says("when are you open")
            await asyncio.sleep(3.0)
            await gone(store, call.session)
        llm = FakeLLM(["And on Saturdays until two."])
        session = await resumed(store, call.session.call_id, llm)
        await asyncio.sleep(3.0)
        told = lines(session)
        assert told[0] == "user: when are you open"
        assert told[1].startswith("assistant: We are open") and long not in told[1]
        assert told[2:] == [f"assistant: {CUT}", "assistant: And on Saturdays until two."]
        await session.aclose()

    run_virtual(check())


def test_a_row_is_recovered_by_the_contract_that_is_stored_with_it() -> None:
    async def check() -> None:
        class Once(Shop):
            @function_tool(effect="writes", repeat="once", undo="refund")
            async def pay(self, ctx: RunContext[Any], amount: int) -> str:
                """Pay."""
                return f"paid {amount}"

        store, call = await cut_off(Once(), FakeLLM([pays(), "Paid."]), "pay five")
        [(_, row)] = await store.rows(call=call)
        assert (row.contract["effect"], row.contract["repeat"], row.contract["undo"]) == ("writes", "once", "refund")
        async with held_call(store, call) as kept:
            [write] = kept.fact({row.key: 1}).writes
        assert (write.policy.repeat, write.policy.undo) == ("once", "refund")

    run_virtual(check())


def test_a_secret_is_asked_for_again_and_another_one_has_another_name() -> None:
    class Bank(Agent):
        def __init__(self, given: list[str]) -> None:
            super().__init__(instructions="You pay.", id="bank")
            self.given = given

        @function_tool(effect="writes")
        async def pay(self, ctx: RunContext[Any], card: Secret[str]) -> str:
            """Pay by card."""
            self.given.append(card.reveal())
            return "paid"

    def pays_by(card: str) -> Reply:
        return Reply(calls=[("pay", {"card": card})])

    async def check() -> None:
        given: list[str] = []
        store = MemoryStore()
        session = AgentSession[Any](llm=FakeLLM(["Shall I?"]), store=store, redact=["card_number"], max_silence=None)
        await session.start(Bank(given))
        await session.run(user_input="my card is 4111 1111 1111 1111")
        await asyncio.sleep(0.5)
        await gone(store, session)
        call = session.call_id
        llm = FakeLLM([pays_by("[card_number_1]"), "Your card, please.", pays_by("[card_number_2]"), "Paid."])
        session = AgentSession[Any](llm=llm, store=store, redact=["card_number"], max_silence=None)
        await session.resume(call, agents=[Bank(given)])
        await session.run(user_input="yes")
        assert given == []
        assert any("[card_number_1] was given before the line was cut" in line for line in llm.histories[1])
        await session.run(user_input="it is 5500 0055 5555 5559")
        assert given == ["5500005555555559"]
        await session.aclose()

    run_virtual(check())


def test_a_yes_to_what_was_read_back_before_is_void() -> None:
    class Careful(Agent):
        def __init__(self, paid: list[int]) -> None:
            super().__init__(instructions="You take payments.", id="shop")
            self.paid = paid

        @function_tool(effect="writes", confirm="Pay {amount}?")
        async def pay(self, ctx: RunContext[Any], amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

    async def check() -> None:
        paid: list[int] = []
        store, call = await cut_off(Careful(paid), FakeLLM([pays()]), "pay five", after=3.0)
        session = await resumed(store, call, FakeLLM([pays(), "Paid."]), Careful(paid))
        await asyncio.sleep(3.0)
        assert paid == []
        assert lines(session) == ["user: pay five", "assistant: Pay five?", f"assistant: {CUT}", "assistant: Pay five?"]
        await session.run(user_input="yes")
        assert paid == [5]
        await session.aclose()

    run_virtual(check())


# -- the caller who rings again


async def rings(store: MemoryStore, llm: FakeLLM, *turns: str, caller: str = "ann", **how: Any) -> AgentSession[Any]:
    session = AgentSession[Any](llm=llm, store=store, max_silence=None)
    await session.resume(caller=caller, agents=[Shop(**how)])
    for turn in turns:
        await session.run(user_input=turn)
    return session


def test_who_rings_again_is_told_what_they_have_not_heard_once() -> None:
    async def check() -> None:
        store = MemoryStore()
        session = await rings(store, FakeLLM([pays(), Reply("Paid.", ttft=60.0)]))
        session.submit_user_turn("pay five")
        await asyncio.sleep(5.0)
        await session.aclose()  # the caller has hung up
        llm = FakeLLM(["Your five were paid.", "Anything else?"])
        session = await rings(store, llm, "hello", "thanks")
        before = llm.histories[0]
        assert before.index("output pay: paid 5") < before.index("user: hello")
        assert any("The user called before" in line for line in before)
        assert not any("paid 5" in line for line in lines(session))  # it is of another call
        await session.aclose()
        [row] = [row for _, row in await store.rows() if row.output]
        assert row.closed_at is not None
        llm = FakeLLM(["Hello."])
        await (await rings(store, llm, "hello")).aclose()
        assert not any("paid 5" in line for line in llm.histories[0])

    run_virtual(check())


def test_who_rings_again_after_a_crash_hears_that_nobody_knows_and_others_hear_nothing() -> None:
    async def check() -> None:
        store = MemoryStore()
        session = await rings(store, FakeLLM([pays()]), seconds=60.0)
        session.submit_user_turn("pay five")
        await asyncio.sleep(5.0)
        await gone(store, session)
        llm = FakeLLM(["Hello."])
        await (await rings(store, llm, "hello", caller="bob")).aclose()
        assert not any("call pay" in line for line in llm.histories[0])
        for _ in range(2):  # it is still unknown
            llm = FakeLLM(["I don't know whether it went through."])
            await (await rings(store, llm, "hello")).aclose()
            assert any("It is unknown whether `pay` happened" in line for line in llm.histories[0])

    run_virtual(check())


def test_what_was_done_before_the_window_is_not_told() -> None:
    async def check() -> None:
        store = MemoryStore(Clock.wall)
        session = await rings(store, FakeLLM([pays()]), seconds=60.0)
        session.submit_user_turn("pay five")
        await asyncio.sleep(5.0)
        await gone(store, session)
        llm = FakeLLM(["Hello."])
        session = AgentSession[Any](llm=llm, store=store)
        await session.resume(caller="ann", within=-1.0, agents=[Shop()])
        await session.run(user_input="hello")
        assert not any("call pay" in line for line in llm.histories[0])
        await session.aclose()

    run_virtual(check())
