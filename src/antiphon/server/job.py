"""One call as the server runs it: its room, its session, and how it ends.

`JobContext` is what an entrypoint gets and what `get_job_context()` returns. It is data and callbacks; the task that
runs the entrypoint belongs to `server.py`.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.chat import ChatContext
from antiphon.errors import UsageError, pass_on
from antiphon.server.memory import settle_memory
from antiphon.server.room import Room
from antiphon.session import AgentSession

logger = logging.getLogger("antiphon")

SHUTDOWN_TIMEOUT = 10.0
"""Seconds that all shutdown callbacks of a job have together."""

_numbers = itertools.count(1)


@dataclass(slots=True, frozen=True)
class Job:
    """What was asked for."""

    id: str = field(default_factory=lambda: f"job-{next(_numbers)}")
    metadata: str = ""
    """What whoever asked for it said of it."""
    agent_name: str = ""
    """Which entrypoint was asked for."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    participant: Any = None
    """Of a job for one participant: LiveKit's `ParticipantInfo`."""
    api: Any = None
    """LiveKit's `LiveKitAPI` for the server that the job came from; None in this process."""
    call_id: str = field(default_factory=lambda: secrets.token_hex(8))
    """What a store knows its call by, among all calls that there ever were."""
    resumes: bool = False
    """The call began in another process, which has ended: it goes on here, from its store."""
    by_turns: bool = False
    """Processes hold the call for a turn each, one after the other: what ends here is the process, not the call."""
    parts: Mapping[str, bytes] = field(default_factory=dict)
    """What its store keeps with the call, by name, for whoever goes on with it."""


def job_of(call: str | None, *, by_turns: bool = False) -> Job:
    """A job for a new call, or for one that began in another process: `call` is its id."""
    return Job(by_turns=by_turns) if call is None else Job(call_id=call, resumes=True, by_turns=by_turns)


@dataclass(slots=True)
class JobProcess:
    """The process that runs jobs. `userdata` is shared by all of them: put there what is dear to load."""

    userdata: dict[str, Any] = field(default_factory=dict)
    is_settled: bool = False
    """Its memory is set up for many calls (`server/memory.py`)."""

    def settle(self) -> None:
        """The first call's models are loaded: what is there now stays."""
        if not self.is_settled:
            self.is_settled = True
            settle_memory()


class JobContext:
    """One job: a call from its first second to the last shutdown callback."""

    def __init__(self, room: Room, *, job: Job | None = None, proc: JobProcess | None = None) -> None:
        self.job = job or Job()
        self.proc = proc or JobProcess()
        self.log_context_fields: dict[str, Any] = {
            "call": self.job.call_id,
            "job": self.job.id,
            "room": room.name,
        }
        """Fields that belong into every log line of this job."""
        self._call_id = self.job.call_id
        self.resumes = self.job.resumes
        """Its call began in another process, and goes on here: the agent that is started knows what was said."""
        self.by_turns = self.job.by_turns
        """Its end is not that of the call, which another process goes on with."""
        self.parts = self.job.parts
        """What is kept with its call, for whoever goes on with it."""
        self._room = room
        self._session: AgentSession[Any] | None = None
        self._observers: list[Callable[[AgentSession[Any]], object]] = []
        self._callbacks: list[Callable[..., Awaitable[None] | None]] = []
        self._earlier: ChatContext | None = None
        self._started = asyncio.Event()
        self._is_loading = False
        self._ended = asyncio.Event()
        self._reason = ""
        self._error: BaseException | None = None
        room.on("disconnected", self.shutdown)

    @property
    def room(self) -> Room:
        """Where the call takes place."""
        return self._room

    @property
    def session(self) -> AgentSession[Any] | None:
        """The session of this call, once there is one."""
        return self._session

    @property
    def reason(self) -> str:
        """Why the job ended; "" while it runs."""
        return self._reason

    @property
    def error(self) -> BaseException | None:
        """What the entrypoint raised, if it did; the job has then ended."""
        return self._error

    async def connect(self) -> None:
        """Join the room. Rooms in this process are joined from the start; `session.start` joins others, too.

        Raises `AntiphonError` if that cannot be done.
        """
        if not self._room.connected:
            raise UsageError(f"JobContext.connect: the room {self._room.name!r} has ended already.")
        await self._room.connect()

    async def wait_for_participant(self, *, identity: str | None = None) -> Any:
        """Join the room, wait for the participant of this identity, or for the caller, and return them."""
        return await self._room.wait_for_participant(identity)

    @property
    def api(self) -> Any:
        """LiveKit's `LiveKitAPI` for the server that this job came from. Raises `UsageError` in this process."""
        if self.job.api is None:
            raise UsageError("JobContext.api: no LiveKit server is behind this call.")
        return self.job.api

    def attach(self, session: AgentSession[Any]) -> str | None:
        """The session of this job is about to start. Sessions call this themselves.

        The job's first session is its session; others that start later run beside it.
        """
        if self._session is None:
            self._session = session
            session.on("close", lambda event: self.shutdown(event.reason.value))
            for callback in self._observers:
                callback(session)
            return self._call_id
        return None

    def on_session(self, callback: Callable[[AgentSession[Any]], object]) -> None:
        """Call `callback(session)` when the session of this job is about to start: listen to its events there."""
        self._observers.append(callback)

    def continue_from(self, earlier: ChatContext) -> None:
        """This call continues one that was cut: its first agent knows what was said there, and does not greet again.

        Call it before the session starts. The agent's `on_enter` is not run.
        """
        self._earlier = earlier.copy()

    def add_shutdown_callback(self, callback: Callable[..., Awaitable[None] | None]) -> None:
        """Call `callback()`, or `callback(reason)` if it takes an argument, when the job ends."""
        self._callbacks.append(callback)

    def shutdown(self, reason: str = "") -> None:
        """End the job. Returns at once; the callbacks run afterwards. Later calls do nothing."""
        if not self._ended.is_set():
            self._reason = reason
            self._ended.set()

    def fail(self, error: BaseException) -> None:
        """End the job because its entrypoint raised `error`."""
        self._error = self._error or error
        self.shutdown("error")

    async def prepare(self, models: Sequence[Any]) -> None:
        """Join the room and load models, before the caller is heard. Sessions call this themselves.

        Raises what a model raises.
        """
        if self._earlier is not None and self._session is not None:
            earlier, self._earlier = self._earlier, None
            agent = self._session.current_agent
            await agent.update_chat_ctx(earlier)
            agent.overridden = agent.overridden - {"on_enter"}
        for result in await asyncio.gather(self._room.connect(), self._load(models), return_exceptions=True):
            if isinstance(result, BaseException):
                raise result
        self.proc.settle()

    async def _load(self, models: Sequence[Any]) -> None:
        self._is_loading = True
        try:
            loads = [model.prewarm() for model in models if model is not None]
            for result in await asyncio.gather(*loads, return_exceptions=True):
                if isinstance(result, BaseException):
                    raise result
        finally:
            self._is_loading = False

    def started(self, session: AgentSession[Any]) -> None:
        """A session of this job runs. Sessions call this themselves, at the end of `start`."""
        if session is self._session:
            self._started.set()

    async def wait_for_session(self, *, patience: float | None = None) -> AgentSession[Any] | None:
        """Wait until the session runs. None: the job ended before, see `error`.

        Raises `TimeoutError` after `patience` seconds in which no models were loaded.
        """
        waits = [asyncio.create_task(event.wait()) for event in (self._started, self._ended)]
        try:
            while not (await asyncio.wait(waits, timeout=patience, return_when=asyncio.FIRST_COMPLETED))[0]:
                if not self._is_loading:
                    raise TimeoutError
        finally:
            for task in waits:
                task.cancel()
        return self._session if self._started.is_set() else None

    async def delete_room(self) -> None:
        """Delete the room, which disconnects the caller and ends the job."""
        await self._room.delete()

    async def wait_for_shutdown(self) -> str:
        """Wait until the job was told to end. Returns the reason."""
        await self._ended.wait()
        return self._reason

    async def run_shutdown_callbacks(self, timeout: float = SHUTDOWN_TIMEOUT) -> None:
        """Run every callback once, in the order they were added, all within `timeout` seconds.

        What one raises, or leaves undone when time is up, is logged. Callbacks may add further ones.
        """
        if not self._callbacks:
            return
        calling = asyncio.create_task(self._call_back_each(), name=f"{self.job.id} shutdown callbacks")
        try:
            _, late = await asyncio.wait([calling], timeout=timeout)
        finally:
            calling.cancel()
        if late:
            logger.warning("%s: shutdown callbacks did not end within %g s", self.job.id, timeout)
            self._callbacks.clear()

    def release(self) -> None:
        """It is over: let go of those who watched it."""
        self._observers.clear()
        self._room.off("disconnected", self.shutdown)

    async def _call_back_each(self) -> None:
        while self._callbacks:
            await self._call_back(self._callbacks.pop(0))

    async def _call_back(self, callback: Callable[..., Awaitable[None] | None]) -> None:
        arguments = (self._reason,) if inspect.signature(callback).parameters else ()
        try:
            result = callback(*arguments)
            if result is not None:
                await result
        except BaseException as error:
            pass_on(error)
            logger.exception("%s: a shutdown callback raised", self.job.id)
