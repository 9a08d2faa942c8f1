"""Servers, jobs and the command line as agent files have them: `WorkerOptions`, `cli.run_app`, prewarming.

Below: `antiphon.server`, which runs one entrypoint for each call.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, MutableSequence, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, overload

from antiphon.errors import UsageError, pass_on
from antiphon.protocols import ModelResolver, get_job_context
from antiphon.server import entrypoint as native
from antiphon.server import job as native_job
from antiphon.server.job import JobProcess
from antiphon.server.request import JobRequest
from antiphon.server.room import Room as NativeRoom
from antiphon.session import AgentSession
from antiphon_livekit.notices import without_effect
from antiphon_livekit.rooms import RemoteParticipant, Room, ServerAPI

logger = logging.getLogger("antiphon.livekit")

SERVER_OPTIONS: Mapping[str, str] = {
    "api_key": "api_key",
    "api_secret": "api_secret",
    "drain_timeout": "drain_timeout",
    "host": "health_host",
    "http_proxy": "http_proxy",
    "initialize_process_timeout": "setup_timeout",
    "initialize_timeout": "setup_timeout",
    "job_memory_limit_mb": "memory_limit",
    "job_memory_warn_mb": "memory_warning",
    "load_fnc": "load_fnc",
    "load_threshold": "load_threshold",
    "log_level": "log_level",
    "max_retry": "max_retry",
    "permissions": "permissions",
    "port": "health_port",
    "prometheus_port": "prometheus_port",
    "shutdown_process_timeout": "shutdown_timeout",
    "ws_url": "ws_url",
}
"""Options of `AgentServer` and `WorkerOptions`, and what they are called in `antiphon.AgentServer`."""

OWN_OPTIONS = ("session_end_timeout",)
"""Options that `AgentServer` here has, and `antiphon.AgentServer` has not."""

SERVER_OPTIONS_WITHOUT_EFFECT: Mapping[str, str] = {
    "job_executor_type": "a process holds many calls, side by side",
    "multiprocessing_context": "workers are always started anew, which leaves nothing of the supervisor in them",
    "num_idle_processes": "a process that holds calls has a place for the next one, which waits for no process",
    "on_simulation_end": "there are no simulations of LiveKit's; see antiphon.sim",
}
"""Options of `AgentServer`, `rtc_session` and `WorkerOptions` that are accepted, told, and not used, and why."""

SESSION_END_TIMEOUT = 300.0
"""Seconds that `on_session_end` has, unless the file says otherwise."""


class AutoSubscribe(enum.StrEnum):
    """What to hear of a room. Without effect."""

    SUBSCRIBE_ALL = "subscribe_all"
    SUBSCRIBE_NONE = "subscribe_none"
    AUDIO_ONLY = "audio_only"
    VIDEO_ONLY = "video_only"


class WorkerType(enum.Enum):
    """What a worker serves."""

    ROOM = "room"
    PUBLISHER = "publisher"


class JobExecutorType(enum.Enum):
    """Where jobs run. Without effect: a process holds many."""

    PROCESS = "process"
    THREAD = "thread"


@dataclass(frozen=True)
class WorkerPermissions:
    """What an agent may do in a room."""

    can_publish: bool = True
    can_subscribe: bool = True
    can_publish_data: bool = True
    can_update_metadata: bool = True
    can_publish_sources: Sequence[Any] = ()
    """Without effect: an agent publishes a microphone."""
    hidden: bool = False

    def native(self) -> native.Permissions:
        """The same, as `antiphon.AgentServer` has it."""
        return native.Permissions(
            self.can_publish, self.can_subscribe, self.can_publish_data, self.can_update_metadata, self.hidden
        )


@dataclass(frozen=True)
class Job:
    """What was asked for."""

    id: str
    room: Room
    metadata: str = ""
    agent_name: str = ""
    participant: RemoteParticipant | None = None


class JobContext(native_job.JobContext):
    """`antiphon.JobContext`, with the attributes of LiveKit's."""

    def __init__(self, room: NativeRoom, *, job: native_job.Job | None = None, proc: JobProcess | None = None) -> None:
        super().__init__(room, job=job, proc=proc)
        self._livekit_room = Room(room)
        asked = self._asked = self.job
        self.job: Any = Job(asked.id, self._livekit_room, asked.metadata, asked.agent_name, asked.participant)

    @property
    def room(self) -> Any:
        """Where the call takes place."""
        return self._livekit_room

    @property
    def agent(self) -> Any:
        """The agent, as a participant."""
        return self._livekit_room.local_participant

    @property
    def primary_session(self) -> AgentSession[Any]:
        """The session of this call. Raises `RuntimeError` before there is one."""
        if self.session is None:
            raise RuntimeError("primary_session: no session was started in this job yet")
        return self.session

    @property
    def api(self) -> Any:
        """The LiveKit server. Without one there is only `api.room.delete_room`: it ends this call."""
        return ServerAPI(self._room) if self._asked.api is None else self._asked.api

    async def connect(self, **_: Any) -> None:
        """Join the room. Rooms in this process are joined from the start."""
        await super().connect()

    async def wait_for_participant(self, *, identity: str | None = None, kind: Any = None) -> Any:
        """The caller; in a room in this process they are there from the start."""
        if self._room.rtc is None:
            return self._livekit_room.remote_participants["caller"]
        return await super().wait_for_participant(identity=identity)

    def add_participant_entrypoint(self, entrypoint_fnc: Any, **_: Any) -> None:
        """Raises `UsageError`: there is one participant, whom the job's entrypoint serves."""
        raise UsageError("add_participant_entrypoint: there is one caller here; serve them in the job's entrypoint.")

    async def transfer_sip_participant(self, participant: Any, transfer_to: str, play_dialtone: bool = False) -> None:
        """Send a caller by telephone elsewhere. Raises `UsageError` in a room in this process."""
        if self._asked.api is None:
            raise UsageError("transfer_sip_participant: there is no telephone here; hand off to another Agent.")
        from livekit import api

        identity = participant if isinstance(participant, str) else participant.identity
        await self._asked.api.sip.transfer_sip_participant(
            api.TransferSIPParticipantRequest(
                room_name=self._room.name,
                participant_identity=identity,
                transfer_to=transfer_to,
                play_dialtone=play_dialtone,
            )
        )

    async def add_sip_participant(
        self, *, call_to: str, trunk_id: str, participant_identity: str, participant_name: str = "SIP-participant"
    ) -> Any:
        """Call somebody by telephone into the room. Raises `UsageError` in a room in this process."""
        if self._asked.api is None:
            raise UsageError("add_sip_participant: there is no telephone here; the caller is in the room already.")
        from livekit import api

        return await self._asked.api.sip.create_sip_participant(
            api.CreateSIPParticipantRequest(
                room_name=self._room.name,
                participant_identity=participant_identity,
                sip_trunk_id=trunk_id,
                sip_call_to=call_to,
                participant_name=participant_name,
            )
        )


class AgentServer(native.AgentServer):
    """`antiphon.AgentServer`, with the options of LiveKit's. `setup_fnc(proc)` runs once, before the first call."""

    context_class = JobContext

    def __init__(
        self,
        *,
        setup_fnc: Callable[[JobProcess], Any] | None = None,
        session_end_timeout: float = SESSION_END_TIMEOUT,
        **options: Any,
    ) -> None:
        taken = {name: options.pop(name) for name in SERVER_OPTIONS if name in options}
        super().__init__(setup_fnc=setup_fnc, **_translated(taken))
        self._on_session_end: Callable[..., Awaitable[Any]] | None = None
        self._session_end_timeout = session_end_timeout
        unknown = without_effect("AgentServer", options, SERVER_OPTIONS_WITHOUT_EFFECT)
        if unknown:
            raise TypeError(f"AgentServer: unknown option {next(iter(unknown))!r}")

    @overload
    def rtc_session(
        self,
        handler: native.Handler,
        *,
        agent_name: str = "",
        type: Any = "room",
        on_request: Callable[[JobRequest], Any] | None = None,
    ) -> native.Handler: ...
    @overload
    def rtc_session(
        self,
        handler: None = None,
        *,
        agent_name: str = "",
        type: Any = "room",
        on_request: Callable[[JobRequest], Any] | None = None,
        on_session_end: Callable[..., Awaitable[Any]] | None = None,
        **options: Any,
    ) -> Callable[[native.Handler], native.Handler]: ...

    def rtc_session(
        self,
        handler: Any = None,
        *,
        agent_name: str = "",
        type: Any = "room",
        on_request: Callable[[JobRequest], Any] | None = None,
        on_session_end: Callable[..., Awaitable[Any]] | None = None,
        **options: Any,
    ) -> Any:
        """Make a coroutine function the entrypoint; a decorator, with or without parentheses."""
        without_effect("rtc_session", {n: v for n, v in options.items() if v}, SERVER_OPTIONS_WITHOUT_EFFECT)

        def decorate(function: Any) -> Any:
            kind = getattr(type, "value", type)
            super(AgentServer, self).rtc_session(function, agent_name=agent_name, type=kind, on_request=on_request)
            self._on_session_end = on_session_end
            return function

        return decorate if handler is None else decorate(handler)

    @asynccontextmanager
    async def job(
        self, room: NativeRoom, *, models: ModelResolver | None = None, job: native_job.Job | None = None
    ) -> AsyncIterator[native_job.JobContext]:
        """Run the entrypoint for one call; leaving ends the call."""
        ended, held = self._on_session_end, None
        try:
            async with super().job(room, models=models, job=job) as context:
                held = context
                yield context
        finally:
            if ended is not None and held is not None:
                await self._tell_end(ended, held)

    async def _tell_end(self, ended: Callable[..., Awaitable[Any]], context: native_job.JobContext) -> None:
        """The session is closed, and the other callbacks have run: the application has its time for the last things."""
        try:
            async with asyncio.timeout(self._session_end_timeout):
                await ended(context)
        except TimeoutError:
            logger.warning("on_session_end did not return within %g s", self._session_end_timeout)
        except Exception as error:
            pass_on(error)
            logger.exception("on_session_end raised")


def _translated(taken: Mapping[str, Any]) -> dict[str, Any]:
    """The options as `antiphon.AgentServer` has them; what is not given, or None, is left to it."""
    found = {SERVER_OPTIONS[name]: value for name, value in taken.items() if value is not None}
    if isinstance(found.get("permissions"), WorkerPermissions):
        found["permissions"] = found["permissions"].native()
    for name in ("memory_limit", "memory_warning"):
        if not found.get(name):  # LiveKit's 0 is no limit
            found.pop(name, None)
    return found


@dataclass(init=False)
class WorkerOptions:
    """An entrypoint and how to prepare for it, as files of before `AgentServer` have it."""

    entrypoint_fnc: Callable[..., Awaitable[Any]]
    prewarm_fnc: Callable[[JobProcess], Any] | None = None
    request_fnc: Callable[[JobRequest], Any] | None = None
    agent_name: str = ""
    worker_type: Any = WorkerType.ROOM
    others: dict[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        entrypoint_fnc: Callable[..., Awaitable[Any]],
        *,
        request_fnc: Callable[[JobRequest], Any] | None = None,
        prewarm_fnc: Callable[[JobProcess], Any] | None = None,
        agent_name: str = "",
        worker_type: Any = WorkerType.ROOM,
        **options: Any,
    ) -> None:
        taken = {name: options.pop(name) for name in (*SERVER_OPTIONS, *OWN_OPTIONS) if name in options}
        unknown = without_effect("WorkerOptions", options, SERVER_OPTIONS_WITHOUT_EFFECT)
        if unknown:
            raise TypeError(f"WorkerOptions: unknown option {next(iter(unknown))!r}")
        self.entrypoint_fnc = entrypoint_fnc
        self.prewarm_fnc = prewarm_fnc
        self.request_fnc = request_fnc
        self.agent_name = agent_name
        self.worker_type = worker_type
        self.others = taken

    def server(self) -> AgentServer:
        """The server that these options describe."""
        server = AgentServer(setup_fnc=self.prewarm_fnc, **self.others)
        server.rtc_session(agent_name=self.agent_name, type=self.worker_type, on_request=self.request_fnc)(
            self.entrypoint_fnc
        )
        return server


_served: ContextVar[MutableSequence[native.AgentServer] | None] = ContextVar("antiphon_livekit_served", default=None)


@contextmanager
def collecting() -> Iterator[MutableSequence[native.AgentServer]]:
    """While a file is imported in order to run it: the servers that it gives to `run_app`."""
    served: MutableSequence[native.AgentServer] = []
    token = _served.set(served)
    try:
        yield served
    finally:
        _served.reset(token)


def run_app(server: AgentServer | WorkerOptions, **_: Any) -> Any:
    """Run the command line for a server: `python agent.py console`, and so on.

    In a file that `antiphon console --livekit` imports, it only says which server to run.
    """
    if isinstance(server, WorkerOptions):
        server = server.server()
    served = _served.get()
    if served is not None:
        served.append(server)
        return None
    return server.run()


__all__ = [
    "AgentServer",
    "AutoSubscribe",
    "Job",
    "JobContext",
    "JobExecutorType",
    "JobProcess",
    "JobRequest",
    "WorkerOptions",
    "WorkerPermissions",
    "WorkerType",
    "collecting",
    "get_job_context",
    "run_app",
]
