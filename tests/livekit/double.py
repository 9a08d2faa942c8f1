"""A double of a LiveKit server: workers and dispatch as the real one (1.13.3) does them, over a real socket.

Rooms are names with people in them: there is no media. `DoubleCall` stands for `LiveKitCall` in them. What the real
server was seen to do is done here, its odd ways included; `test_protocol.py` and `test_worker.py` ask both the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from aiohttp import WSMsgType, web
from google.protobuf.message import DecodeError
from livekit import api
from livekit.protocol import agent, models

from antiphon.errors import AntiphonError
from antiphon.transports.livekit import LiveKitInput, LiveKitOutput

KEY, SECRET = "devkey", "a secret that is as long as secrets should be"
TARGET_LOAD = 0.7
CHOICE = 0.2
"""Seconds that the choice of a node takes, also of one."""
REGISTER_TIMEOUT = 10.0
ANSWER_TIMEOUT = 10.0
PING_PERIOD = 10.0
TOKEN_LIFE = timedelta(hours=1)


@dataclass(eq=False)
class Registered:
    """A worker."""

    id: str
    register: Any
    socket: web.WebSocketResponse
    status: int = agent.WS_AVAILABLE
    load: float = 0.0
    answers: dict[str, asyncio.Future[Any]] = field(default_factory=dict)

    async def send(self, **message: Any) -> None:
        with contextlib.suppress(ConnectionError):
            await self.socket.send_bytes(agent.ServerMessage(**message).SerializeToString())


@dataclass(eq=False)
class DoubleRoom:
    """A room, and who is in it."""

    name: str
    sid: str = field(default_factory=lambda: f"RM_{uuid.uuid4().hex[:12]}")
    people: dict[str, Person] = field(default_factory=dict)


@dataclass
class Person:
    """Somebody in a room of the double's; has the attributes of a participant of LiveKit's."""

    identity: str
    kind: int = 0
    name: str = ""
    metadata: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    told: Callable[[str, str], None] = lambda what, identity: None
    """Called with "joined", "left" or "deleted", and whom that is about."""


@dataclass(eq=False)
class Launched:
    """A job that a worker was given."""

    job: Any
    worker: Registered
    identity: str
    done: bool = False
    known: bool = True
    """The server knows whose it is; it forgets with the worker's socket."""


class Double:
    """The server. `port` stays when it is stopped and started again."""

    def __init__(self) -> None:
        self.port = 0
        self.rooms: dict[str, DoubleRoom] = {}
        self.workers: list[Registered] = []
        self.jobs: dict[str, Launched] = {}
        self.dispatches: dict[str, tuple[str, list[str]]] = {}
        """By id: the room, and the jobs."""
        self.received: list[tuple[str, Any]] = []
        """What workers sent: the worker's id, and the message."""
        self._transports: set[asyncio.Transport] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/agent", self._agent)
        app.router.add_post("/twirp/livekit.{service}/{method}", self._twirp)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """As kill -9 does: sockets break, rooms and dispatches are forgotten."""
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        self.rooms.clear()
        self.jobs.clear()
        self.dispatches.clear()

    def cut(self) -> None:
        """Break the sockets of all workers."""
        for transport in list(self._transports):
            transport.abort()

    # -- what a program asks of it

    async def create_dispatch(self, agent_name: str, room: str, metadata: str = "") -> str:
        """As `AgentDispatchService` does; it succeeds whether there is such a worker or not."""
        return self._dispatch(self._room(room), agent_name, metadata)

    async def delete_dispatch(self, dispatch: str) -> None:
        """End its jobs; an agent that stays for 3 s is removed."""
        room, jobs = self.dispatches.pop(dispatch)
        for job in jobs:
            await self._terminate(self.jobs[job])
            self._spawn(self._remove_later(room, self.jobs[job].identity))

    async def delete_room(self, name: str) -> None:
        """Tell the workers whose agents are in it, then everybody."""
        room = self.rooms.pop(name, None)
        if room is None:
            return
        for launched in list(self.jobs.values()):
            if launched.job.room.name == name and launched.identity in room.people:
                await self._terminate(launched)
        people, room.people = room.people, {}
        for person in people.values():
            person.told("deleted", person.identity)

    def join(self, name: str, person: Person) -> None:
        """Somebody comes. A room that is not there is made, and gets its agents."""
        room = self._room(name)
        room.people[person.identity] = person
        for other in list(room.people.values()):
            if other is not person:
                other.told("joined", person.identity)
        if person.kind == 0:
            self._launch_later(room, "", agent.JT_PARTICIPANT, person)

    def leave(self, name: str, identity: str) -> None:
        """Somebody goes."""
        room = self.rooms.get(name)
        if room is None or room.people.pop(identity, None) is None:
            return
        for other in list(room.people.values()):
            other.told("left", identity)
        for launched in list(self.jobs.values()):
            if launched.identity == identity and not launched.done:
                self._spawn(self._terminate(launched))

    # -- dispatch

    def _room(self, name: str) -> DoubleRoom:
        room = self.rooms.get(name)
        if room is None:
            room = self.rooms[name] = DoubleRoom(name)
            self._dispatch(room, "", "")
        return room

    def _dispatch(self, room: DoubleRoom, agent_name: str, metadata: str) -> str:
        dispatch = f"AD_{uuid.uuid4().hex[:12]}"
        self.dispatches[dispatch] = (room.name, [])
        self._launch_later(room, agent_name, agent.JT_ROOM, None, dispatch, metadata)
        return dispatch

    def _launch_later(
        self,
        room: DoubleRoom,
        agent_name: str,
        type: int,
        person: Person | None,
        dispatch: str = "",
        metadata: str = "",
    ) -> None:
        job = agent.Job(
            id=f"AJ_{uuid.uuid4().hex[:12]}",
            dispatch_id=dispatch,
            type=type,  # type: ignore[arg-type]
            room=models.Room(sid=room.sid, name=room.name, empty_timeout=300, departure_timeout=20),
            agent_name=agent_name,
            metadata=metadata,
        )
        if person is not None:
            job.participant.CopyFrom(
                models.ParticipantInfo(identity=person.identity, state=models.ParticipantInfo.JOINED)
            )
        self._spawn(self._launch(job))

    async def _launch(self, job: Any) -> None:
        await asyncio.sleep(CHOICE)
        asked: set[str] = set()
        while (worker := self._choose(job, asked)) is not None:
            asked.add(worker.id)
            answer = await self._offer(worker, job)
            if answer is None or answer.terminate:
                return  # no answer in time loses the job; a refusal for all ends the search
            if answer.available:
                await self._assign(worker, job, answer)
                return

    def _choose(self, job: Any, asked: set[str]) -> Registered | None:
        fit = [
            worker
            for worker in self.workers
            if worker.id not in asked
            and (worker.register.agent_name, worker.register.type) == (job.agent_name, job.type)
            and worker.status == agent.WS_AVAILABLE
            and worker.load < TARGET_LOAD
        ]
        return random.choices(fit, [1.0 - worker.load for worker in fit])[0] if fit else None

    async def _offer(self, worker: Registered, job: Any) -> Any:
        """The answer; one that refuses if the socket breaks; None if there is none in time."""
        job.state.CopyFrom(agent.JobState(status=agent.JS_RUNNING, worker_id=worker.id, started_at=time.time_ns()))
        worker.answers[job.id] = asyncio.get_running_loop().create_future()
        await worker.send(availability=agent.AvailabilityRequest(job=job))
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                return await worker.answers[job.id]
        except TimeoutError:
            return None
        finally:
            worker.answers.pop(job.id, None)

    async def _assign(self, worker: Registered, job: Any, answer: Any) -> None:
        identity = answer.participant_identity
        job.state.participant_identity = identity
        self.jobs[job.id] = Launched(job, worker, identity)
        if job.dispatch_id in self.dispatches:
            self.dispatches[job.dispatch_id][1].append(job.id)
        token = api.AccessToken(KEY, SECRET).with_identity(identity).with_name(answer.participant_name)
        token = token.with_metadata(answer.participant_metadata).with_kind("agent").with_ttl(TOKEN_LIFE)
        token = token.with_attributes({**answer.participant_attributes, "lk.agent_name": job.agent_name})
        grants = api.VideoGrants(
            room_join=True, room=job.room.name, agent=True, can_update_own_metadata=True, can_subscribe_metrics=True
        )
        await worker.send(assignment=agent.JobAssignment(job=job, token=token.with_grants(grants).to_jwt()))

    async def _terminate(self, launched: Launched) -> None:
        if launched.known and not launched.done:
            launched.done = True
            await launched.worker.send(termination=agent.JobTermination(job_id=launched.job.id))

    async def _remove_later(self, room: str, identity: str) -> None:
        await asyncio.sleep(3.0)
        if room in self.rooms and (person := self.rooms[room].people.get(identity)):
            self.leave(room, identity)
            person.told("deleted", identity)

    # -- its other services, as far as workers use them

    async def _twirp(self, request: web.Request) -> web.Response:
        body = await request.read()
        match request.match_info["method"]:
            case "ListParticipants":
                room = self.rooms.get(api.ListParticipantsRequest.FromString(body).room)
                people = () if room is None else room.people.values()
                found = [models.ParticipantInfo(identity=one.identity, kind=one.kind) for one in people]  # type: ignore[arg-type]
                answer: Any = api.ListParticipantsResponse(participants=found)
            case "RemoveParticipant":
                asked = api.RoomParticipantIdentity.FromString(body)
                person = self.rooms[asked.room].people.get(asked.identity) if asked.room in self.rooms else None
                if person is None:
                    error = {"code": "not_found", "msg": "participant does not exist"}
                    return web.json_response(error, status=404)
                self.leave(asked.room, asked.identity)
                person.told("deleted", person.identity)
                answer = api.RemoveParticipantResponse()
            case "CreateDispatch":
                wanted = api.CreateAgentDispatchRequest.FromString(body)
                dispatch = await self.create_dispatch(wanted.agent_name, wanted.room, wanted.metadata)
                answer = api.AgentDispatch(id=dispatch, agent_name=wanted.agent_name, room=wanted.room)
            case _:
                return web.json_response({"code": "bad_route", "msg": "no such method"}, status=404)
        return web.Response(body=answer.SerializeToString(), content_type="application/protobuf")

    # -- the socket of a worker

    async def _agent(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return web.Response(status=404)
        if not _may_work(request):
            return web.Response(status=401, text="invalid token")
        socket = web.WebSocketResponse(autoping=True, autoclose=False)
        await socket.prepare(request)
        transport = request.transport
        assert isinstance(transport, asyncio.Transport)
        self._transports.add(transport)
        worker = Registered(f"AW_{uuid.uuid4().hex[:12]}", None, socket)
        pinging = self._spawn(_ping(socket))
        try:
            await self._serve(worker)
        except (TimeoutError, ConnectionError):
            pass
        finally:
            pinging.cancel()
            self._transports.discard(transport)
            self._forget(worker)
            transport.abort()  # the real one closes without a close frame, too
        return socket

    async def _serve(self, worker: Registered) -> None:
        """Take messages until one is out of place."""
        deadline = asyncio.get_running_loop().time() + REGISTER_TIMEOUT
        while True:
            async with asyncio.timeout_at(deadline if worker.register is None else None):
                frame = await worker.socket.receive()
            if frame.type is not WSMsgType.BINARY:
                return
            try:
                message = agent.WorkerMessage.FromString(frame.data)
            except DecodeError:
                return
            kind = message.WhichOneof("message")
            self.received.append((worker.id, message))
            if kind == "ping":
                now = int(time.time() * 1000)
                await worker.send(pong=agent.WorkerPong(last_timestamp=message.ping.timestamp, timestamp=now))
            elif kind is None or (kind == "register") == (worker.register is not None):
                return
            elif kind == "register":
                if not _may_register(message.register):
                    return
                await self._register(worker, message.register)
            else:
                self._heed(worker, kind, message)

    async def _register(self, worker: Registered, register: Any) -> None:
        worker.register = register
        info = models.ServerInfo(version="1.13.3", protocol=17, agent_protocol=1, node_id="ND_double")
        await worker.send(register=agent.RegisterWorkerResponse(worker_id=worker.id, server_info=info))
        self.workers.append(worker)

    def _heed(self, worker: Registered, kind: str, message: Any) -> None:
        match kind:
            case "update_worker":
                worker.status, worker.load = message.update_worker.status, message.update_worker.load
            case "availability":
                waiting = worker.answers.get(message.availability.job_id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message.availability)
            case "update_job":
                launched = self.jobs.get(message.update_job.job_id)
                if launched is not None and message.update_job.status in (agent.JS_SUCCESS, agent.JS_FAILED):
                    launched.done = True
            case "migrate_job":
                pass  # accepted and ignored

    def _forget(self, worker: Registered) -> None:
        if worker in self.workers:
            self.workers.remove(worker)
        for launched in self.jobs.values():
            if launched.worker is worker:
                launched.known = False
        for waiting in worker.answers.values():
            if not waiting.done():
                waiting.set_result(agent.AvailabilityResponse(available=False))

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _may_work(request: web.Request) -> bool:
    token = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.query.get("access_token", "")
    try:
        claims = api.TokenVerifier(KEY, SECRET).verify(token)
    except Exception:
        return False
    return bool(claims.video and claims.video.agent)


def _may_register(register: Any) -> bool:
    deployment = register.deployment
    is_named = len(deployment) <= 64 and not any(char.isspace() or char == "_" for char in deployment)
    return is_named and register.type in agent.JobType.values()


async def _ping(socket: web.WebSocketResponse) -> None:
    while True:
        await asyncio.sleep(PING_PERIOD)
        await socket.ping()


class _NoMedia:
    """What of a `livekit.rtc.Room` there is where there is no media: nothing connects, and nobody is heard of."""

    def __init__(self) -> None:
        self.handlers: dict[str, list[Callable[..., Any]]] = {}

    def on(self, name: str, callback: Callable[..., Any]) -> None:
        self.handlers.setdefault(name, []).append(callback)

    def off(self, name: str, callback: Callable[..., Any]) -> None:
        self.handlers[name].remove(callback)

    def register_text_stream_handler(self, topic: str, handler: Callable[..., Any]) -> None: ...
    def isconnected(self) -> bool:
        return False


class DoubleCall:
    """In the place of `LiveKitCall`, in a room of the double's."""

    def __init__(
        self,
        double: Double,
        url: str,
        token: str,
        *,
        delete: Callable[[], Awaitable[object]] | None = None,
        unless_agent: str | None = None,
        **_: Any,
    ) -> None:
        claims = api.TokenVerifier(KEY, SECRET).verify(token)
        assert url == double.url and claims.video is not None and claims.video.room_join and claims.kind == "agent"
        self.rtc = _NoMedia()
        self.input, self.output = LiveKitInput(), LiveKitOutput()
        self.track_sid = ""
        self._double = double
        self._room = claims.video.room
        self._unless_agent = unless_agent
        self._delete = delete
        self._me = Person(
            claims.identity, 4, claims.name, claims.metadata, dict(claims.attributes or {}), told=self._told
        )
        self._chosen: str | None = None
        self._on_end: Callable[[str], None] | None = None
        self._joined = False

    def listen(self, *, on_end: Callable[[str], None], on_key: Callable[[str], None]) -> None:
        self._on_end = on_end

    @property
    def participants(self) -> Mapping[str, Any]:
        people = self._double.rooms[self._room].people if self._joined else {}
        return {identity: person for identity, person in people.items() if person is not self._me}

    @property
    def caller(self) -> Any:
        persons = [person for person in self.participants.values() if person.kind == 0]
        return next((p for p in persons if self._chosen in (None, p.identity)), None)

    def choose(self, identity: str | None = None, *, ends_call: bool = True) -> None:
        self._chosen = identity

    async def join(self) -> None:
        people = self._double.rooms[self._room].people if self._room in self._double.rooms else {}
        for person in people.values() if self._unless_agent is not None else ():
            if person.kind == 4 and person.attributes.get("lk.agent.name") == self._unless_agent:
                raise AntiphonError(f"the agent {person.identity} is in the room already")
        self._joined = True
        self._double.join(self._room, self._me)

    async def leave(self) -> None:
        self._on_end = None
        if self._joined:
            self._joined = False
            self._double.leave(self._room, self._me.identity)
        await self.input.aclose()

    async def delete(self) -> None:
        await self._double.delete_room(self._room)

    def _told(self, what: str, identity: str) -> None:
        if what == "joined":
            for callback in self.rtc.handlers.get("participant_connected", []):
                callback(self._double.rooms[self._room].people[identity])
        elif self._on_end is not None and (what == "deleted" or self.caller is None):
            on_end, self._on_end = self._on_end, None
            self._joined = self._joined and what != "deleted"
            self.input.end()
            on_end("room deleted" if what == "deleted" else "the caller hung up")
