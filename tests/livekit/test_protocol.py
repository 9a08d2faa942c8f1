"""What a server does with a worker that is out of step: the double does as the real one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
from livekit import api
from livekit.protocol import agent

from antiphon.server.livekit.server import LiveKitServer
from tests.livekit.caller import new_room
from tests.livekit.sides import Check, Side

pytestmark = pytest.mark.timeout(60)

WAIT = 3.0
"""Seconds for what the server does at once."""


class RawWorker:
    """A worker by hand: it sends what it likes."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def send(self, **message: Any) -> None:
        await self.socket.send_bytes(agent.WorkerMessage(**message).SerializeToString())

    async def next(self) -> Any:
        """The next message of the server's; None: it closed the socket. It never says why, nor goodbye."""
        async with asyncio.timeout(WAIT):
            frame = await self.socket.receive()
        if frame.type is aiohttp.WSMsgType.BINARY:
            return agent.ServerMessage.FromString(frame.data)
        assert self.socket.close_code == 1006
        return None

    async def register(self, **options: Any) -> Any:
        await self.send(register=agent.RegisterWorkerRequest(**options))
        return await self.next()


@contextlib.asynccontextmanager
async def raw(server: LiveKitServer) -> AsyncIterator[RawWorker]:
    headers = {"Authorization": f"Bearer {server.worker_token()}"}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{server.url}/agent", headers=headers) as socket,
    ):
        yield RawWorker(socket)


def test_who_may_not_work_is_refused(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        server = side.server
        another = LiveKitServer(server.url, server.key, "another secret, as long as it should be")
        no_grant = api.AccessToken(server.key, server.secret).with_grants(api.VideoGrants(room_list=True)).to_jwt()
        good = server.worker_token()
        address = f"{server.url}/agent"
        async with aiohttp.ClientSession() as session:
            for token in ("", "nonsense", another.worker_token(), no_grant):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await session.ws_connect(address, headers={"Authorization": f"Bearer {token}"})
                assert refused.value.status == 401
            async with session.get(address.replace("ws://", "http://")) as answer:
                assert answer.status == 404
            async with session.ws_connect(f"{address}?access_token={good}"):
                pass

    on(check)


def test_a_worker_is_told_who_it_is_and_pings_are_answered(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        async with raw(side.server) as worker:
            await worker.send(ping=agent.WorkerPing(timestamp=7))
            assert (await worker.next()).pong.last_timestamp == 7
            answer = (await worker.register(agent_name=new_room())).register
            assert answer.worker_id.startswith("AW_")
            assert (answer.server_info.protocol, answer.server_info.agent_protocol) == (17, 1)

    on(check)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff\xff\xff",
        agent.WorkerMessage(update_worker=agent.UpdateWorkerStatus()).SerializeToString(),
        agent.WorkerMessage(
            register=agent.RegisterWorkerRequest(agent_name="x", deployment="with_underscore")
        ).SerializeToString(),
        b"\xfa\x06\x00",
    ],
    ids=["empty", "undecodable", "not a registration", "a bad deployment", "a newer message"],
)
def test_what_is_out_of_place_before_the_registration_costs_the_socket(
    on: Callable[[Check], None], message: bytes
) -> None:
    async def check(side: Side) -> None:
        async with raw(side.server) as worker:
            await worker.socket.send_bytes(message)
            assert await worker.next() is None

    on(check)


def test_a_second_registration_costs_the_socket_and_what_is_unknown_does_not(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        async with raw(side.server) as worker:
            assert (await worker.register(agent_name=new_room())).HasField("register")
            await worker.send(update_job=agent.UpdateJobStatus(job_id="AJ_nobody", status=agent.JS_RUNNING))
            await worker.send(migrate_job=agent.MigrateJobRequest(job_ids=["AJ_nobody"]))
            await worker.send(availability=agent.AvailabilityResponse(job_id="AJ_nobody", available=True))
            await worker.send(update_worker=agent.UpdateWorkerStatus(status=agent.WS_AVAILABLE, draining=True, seq=3))
            await worker.send(ping=agent.WorkerPing(timestamp=9))
            assert (await worker.next()).pong.last_timestamp == 9
            assert await worker.register(agent_name="again") is None

    on(check)


def test_a_worker_is_offered_jobs_as_soon_as_it_is_registered(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        name, room = new_room("agent"), new_room()
        async with raw(side.server) as worker:
            await worker.register(agent_name=name)
            dispatch = await side.dispatch(name, room, "because")
            offer = (await worker.next()).availability
            assert (offer.job.agent_name, offer.job.metadata, offer.job.room.name) == (name, "because", room)
            assert (offer.job.dispatch_id, offer.job.state.status) == (dispatch, agent.JS_RUNNING)
            await worker.send(
                availability=agent.AvailabilityResponse(
                    job_id=offer.job.id, available=True, participant_identity="me", participant_attributes={"a": "b"}
                )
            )
            assignment = (await worker.next()).assignment
            assert (assignment.job.id, assignment.url) == (offer.job.id, "")
            assert assignment.job.state.participant_identity == "me"
            claims = api.TokenVerifier(side.server.key, side.server.secret).verify(assignment.token)
            assert (claims.identity, claims.kind) == ("me", "agent")
            assert claims.attributes == {"a": "b", "lk.agent_name": name}
            assert claims.video is not None and claims.video.room == room and claims.video.can_update_own_metadata
        await side.delete_room(room)

    on(check)


def test_a_refusal_for_all_ends_the_search(on: Callable[[Check], None]) -> None:
    async def check(side: Side) -> None:
        name, room = new_room("agent"), new_room()
        async with raw(side.server) as first, raw(side.server) as second:
            for worker in (first, second):
                await worker.register(agent_name=name)
            await side.dispatch(name, room)
            asked = {asyncio.create_task(worker.next()): worker for worker in (first, second)}
            done, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            offer = done.pop().result().availability
            answer = agent.AvailabilityResponse(job_id=offer.job.id, available=False, terminate=True)
            await next(w for task, w in asked.items() if task not in waiting).send(availability=answer)
            _, still = await asyncio.wait(waiting, timeout=1.0)
            assert still == waiting
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
        await side.delete_room(room)

    on(check)
