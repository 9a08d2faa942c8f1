"""A call with a store: what is written down before a tool that writes is entered, and what a store that fails costs."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import Future
from typing import Any

import pytest

from antiphon import Agent, AgentSession, ErrorEvent, RunContext, ToolError, Toolset, function_tool
from antiphon.errors import LeaseHeld, StoreUnavailable, UsageError
from antiphon.replay import replay
from antiphon.replay.journal import parse
from antiphon.runtime.run import CANCEL_GRACE
from antiphon.store import HISTORY, JOURNAL, WORKER, Lease, Pending, Row, RowState, Store
from antiphon.stores.memory import MemoryStore
from antiphon.testing import FakeLLM, FakeSpeaker, FakeTTS, Reply, run_virtual
from antiphon.testing.chaos import Fault
from antiphon.testing.chaos.faults import Faults
from antiphon.testing.chaos.keeping import FaultyStore

PAY = Reply(calls=[("pay", {"amount": 5})])


class Shop(Agent):
    """Takes payments, and looks into the store while it does."""

    def __init__(self, store: Store, *, seconds: float = 0.0) -> None:
        super().__init__(instructions="You take payments.")
        self.store = store
        self.seconds = seconds
        self.seen: list[Row] = []
        self.paid = 0
        self.looked = 0

    @function_tool(effect="writes")
    async def pay(self, ctx: RunContext[Any], amount: int) -> str:
        """Pay."""
        self.paid += 1
        self.seen += await rows(self.store)
        await asyncio.sleep(self.seconds)
        if amount < 0:
            raise ToolError("Not below nothing.")
        if amount == 0:
            raise RuntimeError("the network broke")
        return f"paid {amount}"

    @function_tool(effect="reads")
    async def look(self) -> str:
        """Look."""
        self.looked += 1
        return "looked"


class Troubled(MemoryStore):
    """A store that acknowledges when it is told to, or refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.is_slow = self.refuses = False
        self.waiting: list[Any] = []

    def answer(self) -> None:
        """What waited is done now, in order, unless it was withdrawn."""
        self.is_slow = self.refuses = False
        waiting, self.waiting = self.waiting, []
        for pending, work in waiting:
            if pending.set_running_or_notify_cancel():
                done = work()
                error = None if done is None else done.exception()
                pending.set_exception(error) if error is not None else pending.set_result(None)

    def _write(self, lease: Lease, write: Any) -> Pending | None:
        return self._later(lambda: super(Troubled, self)._write(lease, write))

    def flush(self) -> Pending | None:
        return self._later(lambda: None)

    def _later(self, work: Any) -> Pending | None:
        pending: Pending = Future()
        if self.refuses:
            pending.set_exception(StoreUnavailable("the disk is full. Make room."))
            return pending
        if self.is_slow:
            self.waiting.append((pending, work))
            return pending
        done: Pending | None = work()
        return done


async def rows(store: Store) -> list[Row]:
    return [row for _, row in await store.rows()]


async def entries(store: Store, call: str, stream: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in await store.entries(call, stream)]


def pay(amount: int) -> Reply:
    return Reply(calls=[("pay", {"amount": amount})])


def test_a_write_is_written_down_as_started_before_it_is_entered() -> None:
    async def test() -> None:
        store = MemoryStore()
        shop = Shop(store)
        async with AgentSession[Any](llm=FakeLLM([PAY, "Paid."]), store=store) as session:
            await session.start(shop)
            await session.run(user_input="Pay 5.")
            assert [row.state for row in shop.seen] == [RowState.STARTED]
            (row,) = await rows(store)
        assert (row.state, row.output, row.attempt) == (RowState.SUCCEEDED, "paid 5", 1)
        assert row.closed_at is not None and row.started_at is not None
        assert json.loads(row.arguments) == {"amount": 5} and row.tool.endswith("pay")

    run_virtual(test())


@pytest.mark.parametrize(("amount", "state"), [(-1, RowState.FAILED), (0, RowState.UNKNOWN)])
def test_what_came_of_a_write_is_written_down(amount: int, state: RowState) -> None:
    async def test() -> None:
        store = MemoryStore()
        async with AgentSession[Any](llm=FakeLLM([pay(amount), "Hm."]), store=store) as session:
            await session.start(Shop(store))
            await session.run(user_input="Pay.")
        assert [row.state for row in await rows(store)] == [state]

    run_virtual(test())


def test_tools_that_do_not_write_leave_no_row_and_wait_for_nothing() -> None:
    async def test() -> None:
        store = Troubled()
        shop = Shop(store)
        llm = FakeLLM([Reply(calls=[("look", {})]), "There."])
        async with AgentSession[Any](llm=llm, store=store) as session:
            await session.start(shop)
            store.is_slow = True
            began = asyncio.get_running_loop().time()
            await session.run(user_input="Look.")
            assert asyncio.get_running_loop().time() - began < 0.5
            store.answer()
        assert shop.looked == 1 and await rows(store) == []

    run_virtual(test())


def test_the_call_and_its_history_are_kept_as_they_go_on() -> None:
    async def test() -> None:
        store = MemoryStore()
        async with AgentSession[Any](llm=FakeLLM(["Hello."]), store=store) as session:
            await session.start(Shop(store))
            await session.run(user_input="Hi.")
            await asyncio.sleep(1)
            history = await entries(store, session.call_id, HISTORY)
            assert [item["item"]["content"] for item in history] == [["Hi."], ["Hello."]]
            journal = await entries(store, session.call_id, JOURNAL)
            assert "journal" in journal[0]
            assert any((entry.get("fact") or {}).get("text") == "Hi." for entry in journal)
            (info,) = await store.calls(held=True)
            assert info.meta.agents == ("shop",) and info.meta.ended is None
        (info,) = await store.calls(held=False)
        assert info.meta.ended is not None and info.meta.reason == "user_initiated"
        assert (await entries(store, session.call_id, JOURNAL))[-1] == {"end": None}

    run_virtual(test())


def test_a_write_is_not_started_while_the_store_does_not_answer_and_reads_are() -> None:
    async def test() -> None:
        store = Troubled()
        shop, errors = Shop(store), list[ErrorEvent]()
        llm = FakeLLM([PAY, "It cannot be done now.", Reply(calls=[("look", {})]), "There.", PAY, "Still not."])
        async with AgentSession[Any](llm=llm, store=store) as session:
            session.on("error", errors.append)
            await session.start(shop)
            store.is_slow = True
            began = asyncio.get_running_loop().time()
            result = await session.run(user_input="Pay.")
            assert 2.0 <= asyncio.get_running_loop().time() - began < 2.7
            assert any("was not started" in getattr(event.item, "output", "") for event in result.events)
            await session.run(user_input="Look.")
            began = asyncio.get_running_loop().time()
            await session.run(user_input="Pay now.")
            assert asyncio.get_running_loop().time() - began < 0.5  # nobody waits again for what does not answer
            assert (shop.paid, shop.looked) == (0, 1)
            assert len(errors) == 1
            store.answer()

    run_virtual(test())


def test_what_was_acknowledged_too_late_is_settled_as_not_run() -> None:
    async def test() -> None:
        store = Troubled()
        shop = Shop(store)
        async with AgentSession[Any](llm=FakeLLM([PAY, "Not now."]), store=store) as session:
            await session.start(shop)
            store.is_slow = True
            running = asyncio.ensure_future(session.run(user_input="Pay."))
            await asyncio.sleep(0.5)
            taken = store.waiting[:]
            for pending, _ in taken:  # its writer is at it: it cannot be withdrawn any more
                pending.set_running_or_notify_cancel()
            await running
            for pending, work in taken:
                work()
                pending.set_result(None)
            store.waiting = store.waiting[len(taken) :]
            store.answer()
            await asyncio.sleep(3)
        assert shop.paid == 0
        assert [row.state for row in await rows(store)] == [RowState.FAILED]

    run_virtual(test())


def test_a_store_that_answers_again_has_all_and_writes_are_started_again() -> None:
    async def test() -> None:
        store = Troubled()
        shop = Shop(store)
        llm = FakeLLM([PAY, "Not now.", PAY, "Paid."])
        async with AgentSession[Any](llm=llm, store=store) as session:
            await session.start(shop)
            store.refuses = True
            await session.run(user_input="Pay.")
            await asyncio.sleep(5)
            assert shop.paid == 0
            store.answer()
            await asyncio.sleep(2)
            await session.run(user_input="Pay now.")
            assert shop.paid == 1
        history = await entries(store, session.call_id, HISTORY)
        assert len(history) == len(session.history.items)
        assert (await entries(store, session.call_id, JOURNAL))[-1] == {"end": None}
        assert sorted(row.state.value for row in await rows(store)) == ["failed", "succeeded"]

    run_virtual(test())


def test_an_outcome_that_cannot_be_stored_is_told_and_stored_later() -> None:
    async def test() -> None:
        store = Troubled()
        shop = Shop(store, seconds=1.0)
        async with AgentSession[Any](llm=FakeLLM([PAY, "Paid."]), store=store) as session:
            await session.start(shop)
            running = asyncio.ensure_future(session.run(user_input="Pay."))
            await asyncio.sleep(0.5)
            store.refuses = True
            result = await running
            assert any(getattr(event.item, "output", "") == "paid 5" for event in result.events)
            store.answer()
            await asyncio.sleep(2.5)
            (row,) = await rows(store)
            assert (row.state, row.output) == (RowState.SUCCEEDED, "paid 5")

    run_virtual(test())


def test_a_worker_that_lost_its_call_starts_nothing_and_changes_nothing() -> None:
    async def test() -> None:
        store = MemoryStore()
        shop, errors = Shop(store), list[ErrorEvent]()
        llm = FakeLLM(["Hello.", PAY, "Not possible.", "Fine."])
        async with AgentSession[Any](llm=llm, store=store) as session:
            session.on("error", errors.append)
            await session.start(shop)
            await session.run(user_input="Hi.")
            await asyncio.sleep(1)
            store.lose(session.call_id)
            taken = await store.lease(session.call_id, "another worker")
            await session.run(user_input="Pay.")
            assert shop.paid == 0
            await asyncio.sleep(1)
            assert len(errors) == 1
            await session.run(user_input="Bye.")
        assert taken.held
        assert await rows(store) == []

    run_virtual(test())


def test_a_call_that_another_process_holds_is_an_error_at_its_start() -> None:
    async def test() -> None:
        store = MemoryStore()
        session = AgentSession[Any](llm=FakeLLM(["Hello."]), store=store)
        await store.lease(session.call_id, "another worker")
        with pytest.raises(LeaseHeld):
            await session.start(Shop(store))

    run_virtual(test())


class Account(Toolset):
    """Pays from one account."""

    @function_tool(effect="writes")
    async def pay(self, amount: int) -> str:
        """Pay."""
        return f"{self.id} paid {amount}"


@pytest.mark.parametrize("ids", [("bank", "bank"), ("hers", "his")])
def test_two_live_owners_of_one_id_are_an_error_at_start_that_names_both(ids: tuple[str, str]) -> None:
    async def test(store: Store | None) -> None:
        accounts = [Account(id=id).prefixed(f"{whose}_") for id, whose in zip(ids, ("hers", "his"), strict=True)]
        async with AgentSession[Any](llm=FakeLLM(["Hello."]), store=store) as session:
            await session.start(Agent(instructions="", tools=accounts))

    run_virtual(test(None))
    if len(set(ids)) == 2:
        return run_virtual(test(MemoryStore()))
    with pytest.raises(UsageError, match="'bank': the Account of 'hers_pay' and the Account of 'his_pay'"):
        run_virtual(test(MemoryStore()))


class Frozen(MemoryStore):
    """Its worker stands still behind the acknowledgement of a start, until another one has taken the call over."""

    taken: Lease | None = None

    def start(self, lease: Lease, row: Row) -> Pending | None:
        done = super().start(lease, row)
        self.lose(lease.call)
        asyncio.get_running_loop().create_task(self._taken_over(lease.call))
        return done

    async def _taken_over(self, call: str) -> None:
        self.taken = await self.lease(call, "another worker")
        [(_, row)] = await self.rows(call=call)
        self.settle(self.taken, row.settled(RowState.UNKNOWN, "interrupted by a restart", at=0.0))


def test_a_worker_that_lost_its_call_behind_a_start_does_not_enter_it_and_says_so_in_the_store() -> None:
    async def test() -> None:
        store, llm = Frozen(), FakeLLM([PAY, "It cannot be done."])
        shop = Shop(store)
        async with AgentSession[Any](llm=llm, store=store) as session:
            await session.start(shop)
            await session.run(user_input="Pay.")
            await asyncio.sleep(1)
            assert shop.paid == 0
            assert "`pay` was not started" in str(llm.histories[-1])
            [row] = await rows(store)
            assert row.state is RowState.FAILED
            assert "was not started" in row.output
        assert store.taken is not None and store.taken.held

    run_virtual(test())


def test_a_row_says_whose_turn_it_was_and_when_it_has_ended() -> None:
    async def test() -> None:
        store = MemoryStore()
        shop = Shop(store, seconds=1.0)
        async with AgentSession[Any](llm=FakeLLM(["Hello.", PAY, "Paid."]), store=store) as session:
            await session.start(shop)
            await session.run(user_input="Hi.")
            await session.run(user_input="Pay.")
        [row] = await rows(store)
        assert row.turn == 2
        assert row.started_at is not None and row.deadline is not None
        assert row.deadline - row.started_at == pytest.approx(60.0 + CANCEL_GRACE, abs=0.1)

    run_virtual(test())


def test_a_tool_that_waits_for_the_caller_or_works_in_the_background_has_a_later_end() -> None:
    ends: list[float | None] = []

    @function_tool(effect="writes")
    async def pay(ctx: RunContext[Any], amount: int) -> str:
        """Pay."""
        with ctx.run.execution.suspended():
            await asyncio.sleep(100)
        await asyncio.sleep(0.1)
        ends.append((await rows(store))[0].deadline)
        await ctx.update("On the way.")
        await asyncio.sleep(0.1)
        ends.append((await rows(store))[0].deadline)
        return "paid"

    store = MemoryStore()

    async def test() -> None:
        async with AgentSession[Any](llm=FakeLLM([PAY, "A moment.", "Paid."]), store=store) as session:
            await session.start(Agent(instructions="", tools=[pay]))
            await session.run(user_input="Pay.")
            await asyncio.sleep(5)
        [row] = await rows(store)
        assert row.started_at is not None
        spans = [None if end is None else round(end - row.started_at) for end in ends]
        assert spans == [100 + 60 + 1, 100 + 600 + 1]

    run_virtual(test())


def test_a_tool_knows_the_epoch_under_which_its_call_is_held() -> None:
    fences: list[int | None] = []

    @function_tool
    async def look(ctx: RunContext[Any]) -> str:
        """Look."""
        fences.append(ctx.fence)
        return "seen"

    async def test(store: Store | None) -> None:
        llm = FakeLLM([Reply(calls=[("look", {})]), "Seen."])
        async with AgentSession[Any](llm=llm, store=store) as session:
            if store is not None:
                store.release(await store.lease(session.call_id, "a worker before"))
            await session.start(Agent(instructions="", tools=[look]))
            await session.run(user_input="Look.")

    run_virtual(test(MemoryStore()))
    run_virtual(test(None))
    assert fences == [2, None]


@pytest.mark.parametrize("resumes", [False, True])
def test_a_call_that_could_not_begin_is_given_back_as_it_was(resumes: bool) -> None:
    async def test() -> None:
        store = MemoryStore()
        if resumes:
            store.release(await store.lease("call", WORKER))
        session = AgentSession[Any](llm=FakeLLM(["Hello."]), tts=FakeTTS(), store=store)
        speaker = FakeSpeaker(sample_rate=0)  # what resamples for it is made when the call is held already
        begins = session.resume("call", agents=[Shop(store)], output=speaker) if resumes else None
        with pytest.raises(ValueError, match="rate"):
            await (begins or session.start(Shop(store), output=speaker))
        [info] = await store.calls()
        assert not info.is_held
        assert info.meta.ended is None
        assert (await store.lease(info.id, "another worker")).held

    run_virtual(test())


def test_a_write_that_is_cancelled_before_it_is_entered_has_not_run() -> None:
    async def test() -> None:
        store = Troubled()
        shop = Shop(store)
        async with AgentSession[Any](llm=FakeLLM([PAY, "Never mind."]), store=store) as session:
            await session.start(shop)
            store.is_slow = True
            session.submit_user_turn("Pay.")
            await asyncio.sleep(0.5)
            (running,) = session.running_tools
            running.execution.cancel()
            await asyncio.sleep(0.5)
            store.answer()
            await asyncio.sleep(3)
        assert shop.paid == 0
        assert [row.state for row in await rows(store)] == [RowState.FAILED]

    run_virtual(test())


def test_a_session_opens_and_closes_the_store_of_an_address() -> None:
    async def test() -> None:
        async with AgentSession[Any](llm=FakeLLM([PAY, "Paid."]), store="memory:") as session:
            await session.start(Shop(MemoryStore()))
            await session.run(user_input="Pay.")
            assert session.store is not None
            assert [row.state for row in await rows(session.store)] == [RowState.SUCCEEDED]

    run_virtual(test())


@pytest.mark.parametrize("number", range(1, 6))
def test_whichever_acknowledgement_is_lost_the_call_is_kept_to_its_end(number: int) -> None:
    async def main() -> None:
        store = FaultyStore(Faults([Fault("ack-lost", number)]))
        async with AgentSession(llm=FakeLLM([PAY, "Paid."] * 2), store=store) as session:
            shop = Shop(store)
            await session.start(shop)
            await session.run(user_input="pay five")
            await asyncio.sleep(20.0)
            await session.run(user_input="pay five again")
            await asyncio.sleep(2.0)
            kept = [row.state for row in await rows(store) if row.closed_at is not None]
            assert kept.count(RowState.SUCCEEDED) == shop.paid
            assert len(kept) == len(await rows(store)) == 2
            assert b"again" in b"".join(await store.entries(session.call_id, JOURNAL))

    run_virtual(main())


def test_the_journal_in_the_store_replays() -> None:
    async def test() -> None:
        store = MemoryStore()
        async with AgentSession[Any](llm=FakeLLM([PAY, "Paid."]), store=store) as session:
            await session.start(Shop(store))
            await session.run(user_input="Pay.")
            await asyncio.sleep(1)
            cut_off = parse(await store.entries(session.call_id, JOURNAL))  # as a process that is killed leaves it
        assert cut_off.lost is not None
        journal = parse(await store.entries(session.call_id, JOURNAL))
        assert journal.lost is None
        again = [getattr(item, "text_content", item.type) for item in replay(journal).history]
        assert again == [getattr(item, "text_content", item.type) for item in session.history.items]

    run_virtual(test())


def test_without_a_store_no_key_is_made_that_nobody_asks_for() -> None:
    async def test() -> None:
        made: list[str] = []

        @function_tool(effect="writes")
        async def pay(ctx: RunContext[Any], amount: int) -> str:
            """Pay."""
            made.append(ctx.run.execution.made_key)
            return "paid"

        async with AgentSession[Any](llm=FakeLLM([PAY, "Paid."])) as session:
            await session.start(Agent(instructions="", tools=[pay]))
            await session.run(user_input="Pay.")
        assert made == [""]

    run_virtual(test())
