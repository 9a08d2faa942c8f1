"""A worker takes jobs from LiveKit, holds their calls and lets go of them: on the double, and on a real server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon.agent import Agent
from antiphon.errors import AntiphonError
from antiphon.server.entrypoint import AgentServer, Permissions
from antiphon.server.job import JobContext
from antiphon.server.livekit import link as link_module
from antiphon.server.livekit import worker as worker_module
from antiphon.server.livekit.again import LostJob, ask_again
from antiphon.server.livekit.server import LiveKitServer
from antiphon.server.request import JobRequest
from antiphon.session import AgentSession
from antiphon.testing import FakeLLM, wait_until
from tests.livekit.caller import new_room
from tests.livekit.double import Person
from tests.livekit.sides import Check, DoubleSide, Side, opened, working

pytestmark = pytest.mark.timeout(60)


def on_double(check: Callable[[DoubleSide], Awaitable[None]]) -> None:
    """For what a real server cannot be made to do."""

    async def run() -> None:
        async with opened(None) as side:
            assert isinstance(side, DoubleSide)
            await check(side)

    asyncio.run(run())


def idle_server(load_fnc: Callable[..., float] = lambda: 0.0, **options: Any) -> AgentServer:
    """A server that has time, however busy the machine is."""
    return AgentServer(load_fnc=load_fnc, **options)


class Office:
    """A server of agents, and the jobs that came. Its calls are in text: there is no media in them."""

    def __init__(self, *names: str, on_request: Callable[[JobRequest], Any] | None = None, **options: Any) -> None:
        self.jobs: list[JobContext] = []
        self.server = idle_server(**options)
        for name in names or ("",):
            self.server.rtc_session(agent_name=name, on_request=on_request)(self._entrypoint(name))

    def _entrypoint(self, name: str) -> Callable[[JobContext], Awaitable[None]]:
        async def entrypoint(context: JobContext) -> None:
            self.jobs.append(context)
            await AgentSession().start(Agent(instructions=name, llm=FakeLLM([])))

        return entrypoint

    @property
    def open_jobs(self) -> list[JobContext]:
        return [job for job in self.jobs if not job.reason]


def test_a_new_room_gets_an_agent_who_leaves_with_the_caller(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        office, room = Office(), new_room()
        async with working(side, office.server) as worker:
            caller = await side.visit(room)
            await wait_until(lambda: caller.agents() and office.jobs)
            (identity,) = caller.agents()
            assert re.fullmatch(r"agent-AJ_\w+", identity)
            assert caller.agents()[identity].attributes["lk.agent.name"] == ""
            assert office.jobs[0].room.name == room
            await caller.leave()
            await wait_until(lambda: office.jobs[0].reason, timeout=2.0)
            await wait_until(lambda: not worker.calls, timeout=2.0)

    on(check)


def test_a_dispatch_says_which_agent_and_why(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        sales, support = new_room("sales"), new_room("support")
        office, room = Office(sales, support), new_room()
        async with working(side, office.server):
            caller = await side.visit(room)
            await side.dispatch(support, room, '{"about": "a bill"}')
            await wait_until(lambda: office.jobs)
            job = office.jobs[0].job
            assert (job.agent_name, job.metadata) == (support, '{"about": "a bill"}')
            await wait_until(lambda: caller.agents())
            (agent,) = caller.agents().values()
            assert agent.attributes["lk.agent.name"] == agent.attributes["lk.agent_name"] == support
            await caller.leave()

    on(check)


def test_a_request_may_be_refused_and_the_next_worker_is_asked(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        name, asked = new_room("agent"), []

        async def refuse(request: JobRequest) -> None:
            asked.append(request.room.name)
            await request.reject("not in the mood")

        async def accept(request: JobRequest) -> None:
            await request.accept(name="Maria", identity="maria", metadata="m", attributes={"desk": "2"})

        grumpy, friendly = Office(name, on_request=refuse), Office(name, on_request=accept, load_fnc=lambda: 0.6)
        async with working(side, grumpy.server), working(side, friendly.server):
            caller = await side.visit(room := new_room())
            for _ in range(3):
                dispatched = await side.dispatch(name, room)
                await wait_until(lambda: friendly.open_jobs)
                await wait_until(lambda: "maria" in caller.agents())
                maria = caller.agents()["maria"]
                assert (maria.name, maria.metadata, maria.attributes["desk"]) == ("Maria", "m", "2")
                if asked:
                    break
                friendly.open_jobs[0].shutdown("enough")
                await wait_until(lambda: not caller.agents())
            assert not grumpy.jobs and dispatched
            await caller.leave()

    on(check)


def test_a_full_worker_is_not_asked(on: Callable[[Check], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "UPDATE_PERIOD", 0.2)

    async def check(side: Side) -> None:
        name, load = new_room("agent"), [0.9]
        office = Office(name, load_fnc=lambda: load[0])
        async with working(side, office.server) as worker:
            await wait_until(lambda: worker.load > 0.7)
            await asyncio.sleep(0.5)
            await side.dispatch(name, room := new_room())
            await asyncio.sleep(1.0)
            assert not office.jobs
            load[0] = 0.69  # the server, too, takes it for available
            await wait_until(lambda: worker.is_available, timeout=5.0)
            await asyncio.sleep(0.5)
            await side.dispatch(name, room)
            await wait_until(lambda: office.jobs)

    on(check)


def test_a_worker_that_drains_takes_no_more_and_waits_for_its_calls(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        name = new_room("agent")
        office, room = Office(name), new_room()
        async with working(side, office.server) as worker:
            caller = await side.visit(room)
            await side.dispatch(name, room)
            await wait_until(lambda: office.jobs and caller.agents())
            draining = asyncio.create_task(worker.drain(20.0))
            await asyncio.sleep(0.1)
            await side.dispatch(name, new_room())
            await asyncio.sleep(1.0)
            assert len(office.open_jobs) == len(office.jobs) == 1 and not draining.done()
            await caller.leave()
            assert await draining

    on(check)


def test_a_deleted_dispatch_and_a_deleted_room_end_the_call(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        name = new_room("agent")
        office, room = Office(name), new_room()
        async with working(side, office.server) as worker:
            caller = await side.visit(room)
            dispatch = await side.dispatch(name, room)
            await wait_until(lambda: caller.agents() and office.jobs)
            await side.delete_dispatch(dispatch, room)
            await wait_until(lambda: not worker.calls, timeout=8.0)
            await wait_until(lambda: not caller.agents(), timeout=5.0)
            await side.dispatch(name, room)
            await wait_until(lambda: len(office.jobs) == 2 and caller.agents(), timeout=15.0)
            await side.delete_room(room)
            await wait_until(lambda: not worker.calls, timeout=3.0)
            await caller.leave()

    on(check)


def test_the_key_is_refused_at_once(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        wrong = LiveKitServer(side.server.url, side.server.key, "another secret, as long as it should be")
        worker = worker_module.Worker(Office().server, wrong)
        with pytest.raises(AntiphonError, match="refused the key"):
            await worker.run()
        await worker.aclose()

    on(check)


# -- what a real server does when it will


def test_a_job_for_each_participant_listens_to_them() -> None:
    async def check(side: DoubleSide) -> None:
        server = idle_server()
        heard: list[str] = []

        @server.rtc_session(type="participant")
        async def entrypoint(context: JobContext) -> None:
            await AgentSession().start(Agent(instructions="", llm=FakeLLM([])))
            heard.append((await context.wait_for_participant()).identity)

        async with working(side, server):
            callers = [await side.visit("hall", name) for name in ("ann", "bob")]
            await wait_until(lambda: len(heard) == 2)
            assert sorted(heard) == ["ann", "bob"]
            for caller in callers:
                await caller.leave()

    on_double(check)


def test_an_application_that_does_not_answer_is_answered_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "REQUEST_TIMEOUT", 0.3)

    async def check(side: DoubleSide) -> None:
        async def asleep(request: JobRequest) -> None:
            await asyncio.sleep(60)

        async def broken(request: JobRequest) -> None:
            raise LookupError("no calendar")

        async def silent(request: JobRequest) -> None: ...

        offices = [Office("x", on_request=handler) for handler in (asleep, broken, silent)]
        async with (
            working(side, offices[0].server),
            working(side, offices[1].server),
            working(side, offices[2].server),
        ):
            await side.dispatch("x", "somewhere")
            await wait_until(lambda: len(_answers(side)) == 3)
            assert not any(answer.available for answer in _answers(side))

    on_double(check)


def _answers(side: DoubleSide) -> list[Any]:
    return [m.availability for _, m in side.double.received if m.WhichOneof("message") == "availability"]


def test_a_lost_socket_comes_back_and_the_calls_go_on() -> None:
    async def check(side: DoubleSide) -> None:
        office = Office("x")
        async with working(side, office.server) as worker:
            caller = await side.visit("a")
            await side.dispatch("x", "a")
            await wait_until(lambda: office.jobs and caller.agents())
            side.double.cut()
            await wait_until(lambda: _migrated(side), timeout=3.0)
            assert worker.is_ready and len(office.open_jobs) == 1
            assert _migrated(side) == [office.jobs[0].job.id]
            await side.dispatch("x", "b")
            await wait_until(lambda: len(office.jobs) == 2)
            await caller.leave()
            await wait_until(lambda: len(office.open_jobs) == 1)

    on_double(check)


def _migrated(side: DoubleSide) -> list[str]:
    return [job for _, m in side.double.received for job in m.migrate_job.job_ids]


def test_a_server_that_was_restarted_has_its_workers_back_soon_and_no_second_agent_in_a_room() -> None:
    async def check(side: DoubleSide) -> None:
        office = Office()
        async with working(side, office.server) as worker:
            await side.visit("a")
            await wait_until(lambda: len(office.jobs) == 1 and worker.calls)
            await side.double.stop()
            await asyncio.sleep(0.5)
            await side.double.start()
            await wait_until(lambda: worker.is_ready, timeout=5.0)
            await side.visit("a")  # the room is made anew, and gets its agent again
            await wait_until(lambda: _answers(side)[-1:] and not _answers(side)[-1].available)
            assert len(office.jobs) == 1

    on_double(check)


def test_how_a_job_ended_is_told_before_the_agent_leaves() -> None:
    async def check(side: DoubleSide) -> None:
        server = idle_server()

        @server.rtc_session
        async def entrypoint(context: JobContext) -> None:
            await context.connect()
            if context.room.name == "bad":
                raise LookupError("no calendar")
            await AgentSession().start(Agent(instructions="", llm=FakeLLM([])))

        async with working(side, server):
            good = await side.visit("good")
            await side.visit("bad")
            await wait_until(lambda: good.agents())
            await good.leave()
            await wait_until(lambda: len(_ends(side)) == 2)
        told = {update.status: update.error for update in _ends(side)}
        assert told == {2: "", 3: "LookupError: no calendar"}
        assert all(launched.done for launched in side.double.jobs.values())

    on_double(check)


def _ends(side: DoubleSide) -> list[Any]:
    updates = [m.update_job for _, m in side.double.received if m.WhichOneof("message") == "update_job"]
    return [update for update in updates if update.status != 1]


def test_a_server_that_is_not_to_be_had_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check() -> None:
        nowhere = LiveKitServer("ws://127.0.0.1:9", "key", "a secret that is as long as secrets should be")
        worker = worker_module.Worker(Office(max_retry=2).server, nowhere)
        with pytest.raises(AntiphonError, match=r"ws://127.0.0.1:9 is not to be had: .*127\.0\.0\.1"):
            await worker.run()
        await worker.aclose()

    asyncio.run(check())


def test_for_a_call_whose_process_died_another_agent_is_asked_for() -> None:
    async def check(side: DoubleSide) -> None:
        office, room = Office("desk"), new_room()
        await side.visit(room)
        side.double.join(room, Person("agent-dead", kind=4))
        async with working(side, office.server):
            await ask_again(side.server, [LostJob("AJ_1", room, "desk", "the metadata", "agent-dead")])
            await wait_until(lambda: office.jobs)
            assert office.jobs[0].job.metadata == "the metadata"
            assert "agent-dead" not in side.double.rooms[room].people

    on_double(check)


def test_nobody_is_asked_for_where_nobody_waits_any_more() -> None:
    async def check(side: DoubleSide) -> None:
        room = new_room()
        side.double.join(room, Person("agent-dead", kind=4))
        dispatched = len(side.double.dispatches)
        lost = [LostJob("AJ_1", room, "desk", "", "agent-dead"), LostJob("AJ_2", new_room(), "desk", "", "agent-2")]
        await ask_again(side.server, lost)
        assert len(side.double.dispatches) == dispatched

    on_double(check)


def test_what_agents_may_do_in_a_room_is_told_at_registration() -> None:
    async def check(side: DoubleSide) -> None:
        office = Office(permissions=Permissions(can_publish_data=False, hidden=True))
        async with working(side, office.server):
            allowed = side.double.workers[0].register.allowed_permissions
            assert (allowed.can_publish, allowed.can_publish_data, allowed.hidden) == (True, False, True)

    on_double(check)
