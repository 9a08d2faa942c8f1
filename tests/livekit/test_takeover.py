"""A call in a LiveKit room whose worker is gone, or stands still, goes on in another one: on the double."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from antiphon.agent import Agent
from antiphon.protocols import call_store
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import JobContext
from antiphon.server.livekit.takeover import TakeOvers
from antiphon.server.livekit.worker import Worker
from antiphon.session import AgentSession
from antiphon.store import CallInfo
from antiphon.stores.memory import MemoryStore
from antiphon.testing import FakeLLM, Reply, wait_until
from antiphon.tools.function import function_tool
from antiphon.tools.reconciling import Happened
from tests.livekit.caller import new_room
from tests.livekit.sides import DoubleSide, opened, working


class Desk:
    """A server of agents that book, and what was booked; bookings that are `held` do not return."""

    def __init__(self, booked: list[str], *, held: bool) -> None:
        self.booked = booked
        self.held = held
        self.released = asyncio.Event()
        self.jobs: list[JobContext] = []
        self.server = AgentServer(load_fnc=lambda: 0.0)
        self.server.rtc_session(agent_name="desk")(self._entrypoint)

    async def _entrypoint(self, context: JobContext) -> None:
        self.jobs.append(context)
        llm = FakeLLM({"table": Reply(calls=[("book", {"day": "Friday"})]), "booked": "It is booked.", "": "Hello."})
        agent = Agent(instructions="", tools=[self._tool()], id="host", llm=llm)
        await AgentSession().start(agent)

    def _tool(self) -> Any:
        async def found(key: str, arguments: Any) -> Happened | None:
            return Happened("booked for Friday") if self.booked else None

        @function_tool(effect="writes", reconcile=found)
        async def book(day: str) -> str:
            """Book a table."""
            self.booked.append(day)
            if self.held:
                await self.released.wait()
            return f"booked for {day}"

        return book

    @property
    def session(self) -> AgentSession[Any] | None:
        return self.jobs[0].session if self.jobs else None

    def has_said(self, words: str) -> bool:
        """Whether its agent did."""
        session = self.session
        return session is not None and any(words in (one.text_content or "") for one in session.history.messages())


@contextlib.asynccontextmanager
async def cut_off(side: DoubleSide, store: MemoryStore) -> AsyncIterator[tuple[Desk, str]]:
    """A call whose worker stands still in mid-booking: the room, and what holds it."""
    desk, room = Desk([], held=True), new_room()
    async with working(side, desk.server):
        await side.visit(room)
        await side.dispatch("desk", room, "for Ann")
        await wait_until(lambda: desk.session is not None and desk.session.is_running)
        assert desk.session is not None
        desk.session.submit_user_turn("a table please")
        await wait_until(lambda: desk.booked)
        store.lose(desk.session.call_id)
        try:
            yield desk, room
        finally:
            desk.released.set()


@contextlib.asynccontextmanager
async def other_worker(side: DoubleSide, desk: Desk, store: MemoryStore) -> AsyncIterator[TakeOvers]:
    """A worker that takes calls over, and is offered none."""
    worker = Worker(desk.server, side.server, make_call=side.make_call)
    try:
        yield TakeOvers(store, side.server, worker)
    finally:
        for call in worker.calls:
            call.end("the test is over")
        await worker.drain(2.0)
        await worker.aclose()


def on_double(check: Callable[[DoubleSide, MemoryStore], Awaitable[None]]) -> None:
    """With a store that all workers share."""

    async def run() -> None:
        store = MemoryStore()

        async def find() -> MemoryStore:
            return store

        token = call_store.set(find)
        try:
            async with opened(None) as side:
                assert isinstance(side, DoubleSide)
                await check(side, store)
        finally:
            call_store.reset(token)

    asyncio.run(run())


async def only_call(store: MemoryStore) -> CallInfo:
    (info,) = await store.calls()
    return info


def test_who_gets_the_lease_goes_on_in_the_room_and_tells_what_came_of_the_booking() -> None:
    async def check(side: DoubleSide, store: MemoryStore) -> None:
        async with cut_off(side, store) as (old, room):
            dead = set(side.double.rooms[room].people)
            new = Desk(old.booked, held=False)
            async with other_worker(side, new, store) as takeovers:
                await takeovers.look()
                await wait_until(lambda: new.has_said("It is booked."))
                (job,) = new.jobs
                assert (job.room.name, job.job.metadata, job.job.agent_name) == (room, "for Ann", "desk")
                assert new.has_said("we were cut off")
                assert old.booked == ["Friday"]
                people = side.double.rooms[room].people
                assert dead & set(people) == {"caller"} and len(people) == 2  # the dead agent has gone
                await wait_until(lambda: old.jobs[0].reason)
                assert old.session is not None and new.session is not None
                assert new.session.call_id == (await only_call(store)).id

    on_double(check)


def test_who_does_not_get_the_lease_leaves_the_call_alone() -> None:
    async def check(side: DoubleSide, store: MemoryStore) -> None:
        async with cut_off(side, store) as (old, _):
            new = Desk(old.booked, held=False)
            async with other_worker(side, new, store) as takeovers:
                info = await only_call(store)
                # While this one asks who waits in the room:
                await asyncio.gather(takeovers.look(), store.lease(info.id, "another worker"))
                await asyncio.sleep(0.2)
                assert not new.jobs and (await only_call(store)).worker == "another worker"

    on_double(check)


def test_nobody_goes_on_with_a_call_in_whose_room_nobody_waits() -> None:
    async def check(side: DoubleSide, store: MemoryStore) -> None:
        async with cut_off(side, store) as (old, room):
            side.double.rooms[room].people.pop("caller")
            new = Desk(old.booked, held=False)
            async with other_worker(side, new, store) as takeovers:
                await takeovers.look()
                await asyncio.sleep(0.2)
                assert not new.jobs and not (await only_call(store)).is_held

    on_double(check)


def test_a_call_that_came_to_its_end_is_left_alone() -> None:
    async def check(side: DoubleSide, store: MemoryStore) -> None:
        old, room = Desk([], held=False), new_room()
        async with working(side, old.server):
            caller = await side.visit(room)
            await side.dispatch("desk", room)
            await wait_until(lambda: old.session is not None and old.session.is_running)
            await caller.leave()
            await wait_until(lambda: old.session is not None and not old.session.is_running)
        await side.visit(room)
        new = Desk([], held=False)
        async with other_worker(side, new, store) as takeovers:
            await takeovers.look()
            await asyncio.sleep(0.2)
            assert not new.jobs

    on_double(check)
