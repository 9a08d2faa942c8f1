"""`AgentServer`: entrypoints, and the running of them once for each call.

Calls come from the command line of the same process (`run()` is that command line), or from a LiveKit server, by the
name of the agent that is asked for. The handler gets a session or a `JobContext`, as its parameter asks; the two are
the same call.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from antiphon.discovery import load
from antiphon.errors import UsageError, pass_on
from antiphon.protocols import ModelResolver, current_job, model_resolver
from antiphon.records.current import call_records
from antiphon.server.ending import Ending
from antiphon.server.job import SHUTDOWN_TIMEOUT, Job, JobContext, JobProcess
from antiphon.server.process import holding
from antiphon.server.recorded import record
from antiphon.server.request import JobRequest
from antiphon.server.room import Room
from antiphon.session import AgentSession

if TYPE_CHECKING:
    from antiphon.records.keeping import Records
    from antiphon.server.telephone.dialed import DialedCall

logger = logging.getLogger("antiphon")

CANCEL_GRACE = 1.0
"""Seconds that a cancelled entrypoint has before it is left behind."""

LOAD_THRESHOLD = 0.7
"""The load from which on a server takes no more calls, unless it says otherwise."""
DRAIN_TIMEOUT = 1800.0
"""Seconds that calls have to come to their end when a server stops, unless it says otherwise."""

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[None]])
JobType: TypeAlias = Literal["room", "publisher", "participant"]
"""What a job is for: a room, each participant who publishes a track, or each participant."""


@dataclass(slots=True, frozen=True)
class Permissions:
    """What an agent may do in a LiveKit room."""

    can_publish: bool = True
    can_subscribe: bool = True
    can_publish_data: bool = True
    can_update_metadata: bool = True
    hidden: bool = False


loading: ContextVar[bool] = ContextVar("antiphon_loading", default=False)
"""True while a file is imported in order to run it: then `run()` at module level is not the one in charge."""


@dataclass(slots=True, frozen=True)
class Entrypoint:
    """What is run for a call."""

    handler: Callable[..., Awaitable[None]]
    takes_session: bool
    agent_name: str = ""
    """By which a dispatch asks for it; "": every room gets it."""
    type: JobType = "room"
    on_request: Callable[[JobRequest], Any] | None = None
    """Whether to take a job, of those that LiveKit offers; None: each."""


class AgentServer:
    """Runs an agent for each call.

    ```python
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(session: AgentSession):
        await session.start(agent=Agent(instructions="..."), room=session.room)

    if __name__ == "__main__":
        server.run()
    ```

    Args:
        setup_fnc: Called once with `proc`, before the first call; may be a coroutine function.
        setup_timeout: Seconds that a coroutine function `setup_fnc` has; None: any.
        load_fnc: How busy the process is, 0 to 1; may take the server as its argument. By default the processor.
        load_threshold: The load from which on no more calls are taken from LiveKit.
        drain_timeout: Seconds that calls have to come to their end when the server stops.
        max_retry: How often the server tries to come back to LiveKit before it gives up.
        ws_url: LiveKit's address; by default LIVEKIT_URL of the environment.
        api_key: By default LIVEKIT_API_KEY.
        api_secret: By default LIVEKIT_API_SECRET.
        http_proxy: The proxy by which LiveKit is reached.
        permissions: What agents may do in LiveKit's rooms.
        shutdown_timeout: Seconds that the shutdown callbacks of a call have together.
        memory_limit: Megabytes from which on `antiphon start` replaces a process.
        memory_warning: Megabytes from which on it says so in the log.
        health_host: Where `antiphon start` serves health and figures; by default where its `--host` is.
        health_port: The same: 8081.
        prometheus_port: A further port for the same.
        log_level: Of `antiphon start`, unless the command line says otherwise.
        records: Where calls become records when they have ended: a folder, a URL that fsspec knows, or `Records`.
            None: nowhere, unless the command line says where.
    """

    context_class: type[JobContext] = JobContext
    """What entrypoints are given."""

    def __init__(
        self,
        *,
        setup_fnc: Callable[[JobProcess], Any] | None = None,
        setup_timeout: float | None = None,
        load_fnc: Callable[..., float] | None = None,
        load_threshold: float = LOAD_THRESHOLD,
        drain_timeout: float = DRAIN_TIMEOUT,
        max_retry: int = 16,
        ws_url: str | None = None,
        api_key: str | None = None,
        api_secret: str | None = None,
        http_proxy: str | None = None,
        permissions: Permissions | None = None,
        shutdown_timeout: float = SHUTDOWN_TIMEOUT,
        memory_limit: float | None = None,
        memory_warning: float | None = None,
        health_host: str | None = None,
        health_port: int | None = None,
        prometheus_port: int | None = None,
        log_level: str | None = None,
        records: Records | str | os.PathLike[str] | None = None,
    ) -> None:
        self.proc = JobProcess()
        self.setup_fnc = setup_fnc
        self.setup_timeout = setup_timeout
        self.load_fnc = load_fnc
        self.load_threshold = load_threshold
        self.drain_timeout = drain_timeout
        self.max_retry = max_retry
        self.ws_url = ws_url
        self.api_key = api_key
        self.api_secret = api_secret
        self.http_proxy = http_proxy
        self.permissions = permissions or Permissions()
        self.shutdown_timeout = shutdown_timeout
        self.memory_limit = memory_limit
        self.memory_warning = memory_warning
        self.health_host = health_host
        self.health_port = health_port
        self.prometheus_port = prometheus_port
        self.log_level = log_level
        self._records = records
        self._entrypoints: dict[str, Entrypoint] = {}
        self._is_set_up = False
        self._watch: Callable[[JobContext], AbstractContextManager[None]] = lambda context: nullcontext()
        self._dial: Callable[..., Awaitable[DialedCall]] | None = None

    @overload
    def rtc_session(
        self,
        handler: Handler,
        *,
        agent_name: str = "",
        type: JobType = "room",
        on_request: Callable[[JobRequest], Any] | None = None,
    ) -> Handler: ...
    @overload
    def rtc_session(
        self,
        handler: None = None,
        *,
        agent_name: str = "",
        type: JobType = "room",
        on_request: Callable[[JobRequest], Any] | None = None,
    ) -> Callable[[Handler], Handler]: ...

    def rtc_session(
        self,
        handler: Callable[..., Awaitable[None]] | None = None,
        *,
        agent_name: str = "",
        type: JobType = "room",
        on_request: Callable[[JobRequest], Any] | None = None,
    ) -> Any:
        """Make a coroutine function an entrypoint; a decorator, with or without parentheses.

        It is called with one argument: a `JobContext` or an `AgentSession`, by its annotation; without one, a parameter
        called `session` gets the session. `agent_name`: by which LiveKit dispatches it; without one each room gets it.
        `on_request(request)` accepts or rejects each job that LiveKit offers. Raises `UsageError` for a second
        entrypoint of the same name, or one of another shape.
        """
        if handler is None:
            return lambda function: self.rtc_session(
                function,
                agent_name=agent_name,
                type=type,
                on_request=on_request,
            )
        if agent_name in self._entrypoints:
            raise UsageError(
                f"rtc_session: {_name(handler)!r} is a second entrypoint, after"
                f" {_name(self._entrypoints[agent_name].handler)!r}. Give each an agent_name of its own."
            )
        takes_session = _takes_session(handler)
        self._entrypoints[agent_name] = Entrypoint(handler, takes_session, agent_name, type, on_request)
        return handler

    @property
    def entrypoints(self) -> Sequence[Entrypoint]:
        """All of them, in the order in which they were made."""
        return list(self._entrypoints.values())

    @property
    def entrypoint(self) -> Callable[..., Awaitable[None]] | None:
        """The function that calls from here get: the one without a name, else the first."""
        found = self._find(None)
        return None if found is None else found.handler

    def _find(self, job: Job | None) -> Entrypoint | None:
        if job is not None and job.agent_name:
            return self._entrypoints.get(job.agent_name)
        return self._entrypoints.get("") or next(iter(self._entrypoints.values()), None)

    async def set_up(self) -> None:
        """Run `setup_fnc`, the first time. Raises `UsageError` if it raises."""
        if self.setup_fnc is None or self._is_set_up:
            return
        self._is_set_up = True
        try:
            result = self.setup_fnc(self.proc)
            if inspect.isawaitable(result):
                async with asyncio.timeout(self.setup_timeout):
                    await result
        except TimeoutError as error:
            raise UsageError(
                f"{_name(self.setup_fnc)}() did not return within {self.setup_timeout} s. Raise setup_timeout."
            ) from error
        except BaseException as error:
            pass_on(error)
            raise UsageError(f"{_name(self.setup_fnc)}() raised {type(error).__name__}: {error}") from error

    @property
    def records(self) -> Records | None:
        """Where its calls become records: what a command says, else what it was given; None: nowhere.

        Raises `UsageError` for an address that is none.
        """
        said = call_records.get()
        if said is not None and not (said.is_default and self._records is not None):
            return said.records
        if isinstance(self._records, (str, os.PathLike)):
            from antiphon.records.keeping import Records  # most servers record nothing

            self._records = Records(self._records)
        return self._records

    async def dial(
        self,
        to: str,
        *,
        agent_name: str = "",
        metadata: str | Mapping[str, Any] = "",
        from_: str = "",
        ring_timeout: float = 30.0,
        key: str = "",
    ) -> DialedCall:
        """Call a telephone number from the running server (`antiphon start --telephone`).

        The entrypoint runs when the call is answered: its job has `metadata`, and `room.caller` the number. Returns
        before it rings: `await call.answered()`, `await call.over()`, or listen by `call.on_state`.

        Args:
            to: The number, "+15550123456".
            agent_name: Which entrypoint; "": the one without a name, else the first.
            metadata: What the job is told, 400 characters at most; a mapping becomes JSON.
            from_: A number of yours; "": TWILIO_PHONE_NUMBER (of Telnyx: TELNYX_PHONE_NUMBER).
            ring_timeout: Seconds that it may ring.
            key: Of this request: asked for twice with one key, it is dialled once, by all processes of one store.

        Raises `UsageError` for what makes no sense, where there is no telephone, and where there is no place for the
        call (`DialBusy`); then nothing rings.
        """
        self.check_agent(agent_name)
        if self._dial is None:
            raise UsageError("dial: no telephone is connected with this server. Run it by antiphon start --telephone.")
        wish = {"agent_name": agent_name, "metadata": metadata, "ring_timeout": ring_timeout, "key": key}
        return await self._dial(to, from_, **wish)

    def check_agent(self, agent_name: str) -> None:
        """Raise `UsageError` if no entrypoint goes by this name."""
        if self._find(Job(agent_name=agent_name)) is None:
            names = ", ".join(repr(one.agent_name) for one in self.entrypoints if one.agent_name) or "none has a name"
            raise UsageError(f"dial: expected agent_name to be one of the entrypoints ({names}), got {agent_name!r}.")

    def dial_by(self, dial: Callable[..., Awaitable[DialedCall]]) -> None:
        """For the shell that has a telephone: `dial` leads there."""
        self._dial = dial

    def watch_jobs(self, watch: Callable[[JobContext], AbstractContextManager[None]]) -> None:
        """Enter `watch(context)` for each job, from before its entrypoint is called until its callbacks have run."""
        self._watch = watch

    @asynccontextmanager
    async def job(
        self, room: Room, *, models: ModelResolver | None = None, job: Job | None = None
    ) -> AsyncIterator[JobContext]:
        """Run the entrypoint for one call; leaving ends the call.

        `models` decides what the sessions of this call run with; `job` says what was asked for. An entrypoint that
        raises, or returns without having started a session, ends the job with `JobContext.error` set. Tools that write
        have `write_grace` seconds; whoever is cancelled while leaving gives them `close_grace`.
        """
        entrypoint = self._find(job)
        if entrypoint is None:
            raise UsageError("AgentServer: no entrypoint. Decorate a coroutine function with @server.rtc_session.")
        await self.set_up()
        context = self.context_class(room, job=job, proc=self.proc)
        if (records := self.records) is not None:
            record(records, context, room)
        with self._watch(context):
            async with self._run(entrypoint, context, room, models) as running:
                yield running

    @asynccontextmanager
    async def _run(
        self, entrypoint: Entrypoint, context: JobContext, room: Room, models: ModelResolver | None
    ) -> AsyncIterator[JobContext]:
        tokens = current_job.set(context), model_resolver.set(models)
        handler = asyncio.create_task(self._enter(entrypoint, context), name=f"{context.job.id} entrypoint")
        ending = Ending(context, room)
        try:
            with holding(ending):
                try:
                    yield context
                finally:
                    context.shutdown("the call is over")
                    # Before the entrypoint is cancelled: leaving its `async with` would cut off what writes.
                    await ending.close_session()
        finally:
            handler.cancel()
            _, deaf = await asyncio.wait([handler], timeout=CANCEL_GRACE)
            if deaf:
                logger.warning("%s: the entrypoint ignored its cancellation and was abandoned", context.job.id)
            await ending.close_session()  # one that was about to start
            await context.run_shutdown_callbacks(self.shutdown_timeout)
            context.release()
            current_job.reset(tokens[0])
            model_resolver.reset(tokens[1])

    async def _enter(self, entrypoint: Entrypoint, context: JobContext) -> None:
        try:
            await entrypoint.handler(AgentSession() if entrypoint.takes_session else context)
            if context.session is None:
                raise UsageError(
                    f"{_name(entrypoint.handler)}() returned without starting a session."
                    " Call `await session.start(agent=...)`."
                )
        except BaseException as error:
            pass_on(error)
            context.fail(error)

    def run(self) -> Awaitable[int]:
        """Run the command line for this server: `python agent.py`, `python agent.py call --say "Hi"`, ...

        Blocks, then leaves the program with the command's exit code. Inside a running event loop it returns an
        awaitable of that code instead. In a file that `antiphon console` or `antiphon call` imports, it does nothing.
        """
        if loading.get():
            return _Nothing()
        # The command line is built on this module: it is found as anybody's shell would find it.
        front_door: Callable[..., Awaitable[int]] = load("console_scripts", "antiphon")
        return front_door(server=self)


class _Nothing:
    """What `run()` gives where it is not in charge: awaitable, and no warning when nobody awaits it."""

    def __await__(self) -> Generator[None, None, int]:
        return 0
        yield


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", function))


def _takes_session(handler: Callable[..., Any]) -> bool:
    """Whether the entrypoint's parameter asks for a session (else for a job)."""
    if not inspect.iscoroutinefunction(handler):
        raise UsageError(f"rtc_session: expected a coroutine function, got {_name(handler)!r}. Write `async def`.")
    parameters = list(inspect.signature(handler).parameters.values())
    if len(parameters) != 1:
        raise UsageError(
            f"rtc_session: expected {_name(handler)!r} to take one parameter (a JobContext or an AgentSession),"
            f" got {len(parameters)}."
        )
    try:
        annotation = typing.get_type_hints(handler).get(parameters[0].name)
    except NameError:
        annotation = parameters[0].annotation  # a name that is imported for type checkers only
    annotation = typing.get_origin(annotation) or annotation
    if isinstance(annotation, type):
        if issubclass(annotation, AgentSession):
            return True
        if issubclass(annotation, JobContext):
            return False
    if isinstance(annotation, str):
        return "AgentSession" in annotation
    return parameters[0].name == "session"
