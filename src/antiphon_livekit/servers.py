"""Servers, jobs and the command line as agent files have them: `WorkerOptions`, `cli.run_app`, prewarming.

Below: `antiphon.server`, which runs one entrypoint for each call.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableSequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, overload

from antiphon.errors import UsageError
from antiphon.protocols import ModelResolver, get_job_context
from antiphon.server import entrypoint as native
from antiphon.server import job as native_job
from antiphon.server.job import JobProcess
from antiphon.server.request import JobRequest
from antiphon.server.room import Room as NativeRoom
from antiphon.session import AgentSession
from antiphon_livekit.notices import without_effect
from antiphon_livekit.rooms import RemoteParticipant, Room, ServerAPI

SERVER_OPTIONS = (
    "api_key",
    "api_secret",
    "drain_timeout",
    "load_fnc",
    "load_threshold",
    "max_retry",
    "ws_url",
)
"""Options of `AgentServer` and `WorkerOptions` that say how calls are taken from a LiveKit server."""

SERVER_OPTIONS_WITHOUT_EFFECT = (
    "host",
    "http_proxy",
    "initialize_process_timeout",
    "initialize_timeout",
    "job_executor_type",
    "job_memory_limit_mb",
    "job_memory_warn_mb",
    "log_level",
    "multiprocessing_context",
    "num_idle_processes",
    "on_simulation_end",
    "permissions",
    "port",
    "prometheus_port",
    "session_end_timeout",
    "shutdown_process_timeout",
)
"""Options of `AgentServer`, `rtc_session` and `WorkerOptions` that are accepted, told, and not used."""


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
    """Where jobs run. Without effect: they run in this process."""

    PROCESS = "process"
    THREAD = "thread"


class WorkerPermissions:
    """Without effect."""

    def __init__(self, **options: Any) -> None:
        self.__dict__.update(options)


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

    def __init__(self, *, setup_fnc: Callable[[JobProcess], Any] | None = None, **options: Any) -> None:
        taken = {name: options.pop(name) for name in SERVER_OPTIONS if name in options}
        super().__init__(setup_fnc=setup_fnc, **{name: value for name, value in taken.items() if value is not None})
        self._on_session_end: Callable[..., Awaitable[Any]] | None = None
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
        async with super().job(room, models=models, job=job) as context:
            if (ended := self._on_session_end) is not None:

                async def end() -> None:
                    await ended(context)

                context.add_shutdown_callback(end)
            yield context


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
        taken = {name: options.pop(name) for name in SERVER_OPTIONS if name in options}
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
