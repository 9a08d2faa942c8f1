"""`AgentServer`: an entrypoint, and the running of it once for each call.

So far calls come from the command line of the same process; `run()` is that command line. The handler gets a session
or a `JobContext`, as its parameter asks; the two are the same call.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, overload

from antiphon.discovery import load
from antiphon.errors import UsageError, pass_on
from antiphon.events import CloseReason
from antiphon.protocols import ModelResolver, current_job, model_resolver
from antiphon.server.job import Job, JobContext, JobProcess
from antiphon.server.room import Room
from antiphon.session import AgentSession

logger = logging.getLogger("antiphon")

CANCEL_GRACE = 1.0
"""Seconds that a cancelled entrypoint has before it is left behind."""

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[None]])

loading: ContextVar[bool] = ContextVar("antiphon_loading", default=False)
"""True while a file is imported in order to run it: then `run()` at module level is not the one in charge."""


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
    """

    context_class: type[JobContext] = JobContext
    """What entrypoints are given."""

    def __init__(self) -> None:
        self.proc = JobProcess()
        self._handler: Callable[..., Awaitable[None]] | None = None
        self._takes_session = False

    @overload
    def rtc_session(self, handler: Handler) -> Handler: ...
    @overload
    def rtc_session(self) -> Callable[[Handler], Handler]: ...

    def rtc_session(self, handler: Callable[..., Awaitable[None]] | None = None) -> Any:
        """Make a coroutine function the entrypoint; a decorator, with or without parentheses.

        It is called with one argument: a `JobContext` or an `AgentSession`, by its annotation; without one, a parameter
        called `session` gets the session. Raises `UsageError` for a second entrypoint, or one of another shape.
        """
        if handler is None:
            return self.rtc_session
        if self._handler is not None:
            raise UsageError(
                f"rtc_session: {_name(handler)!r} is a second entrypoint, after {_name(self._handler)!r}."
                " A server has one."
            )
        self._takes_session = _takes_session(handler)
        self._handler = handler
        return handler

    @property
    def entrypoint(self) -> Callable[..., Awaitable[None]] | None:
        """The function that `rtc_session` decorated."""
        return self._handler

    @asynccontextmanager
    async def job(
        self, room: Room, *, models: ModelResolver | None = None, job: Job | None = None
    ) -> AsyncIterator[JobContext]:
        """Run the entrypoint for one call; leaving ends the call.

        `models` decides what the sessions of this call run with; `job` says what was asked for. An entrypoint that
        raises, or returns without having started a session, ends the job with `JobContext.error` set.
        """
        if self._handler is None:
            raise UsageError("AgentServer: no entrypoint. Decorate a coroutine function with @server.rtc_session.")
        context = self.context_class(room, job=job, proc=self.proc)
        tokens = current_job.set(context), model_resolver.set(models)
        handler = asyncio.create_task(self._enter(self._handler, context), name=f"{context.job.id} entrypoint")
        try:
            yield context
        finally:
            context.shutdown("the call is over")
            handler.cancel()
            _, deaf = await asyncio.wait([handler], timeout=CANCEL_GRACE)
            if deaf:
                logger.warning("%s: the entrypoint ignored its cancellation and was abandoned", context.job.id)
            if context.session is not None:
                left = room.caller_left
                await context.session.aclose(
                    reason=CloseReason.PARTICIPANT_DISCONNECTED if left else CloseReason.USER_INITIATED
                )
            await context.run_shutdown_callbacks()
            context.release()
            current_job.reset(tokens[0])
            model_resolver.reset(tokens[1])

    async def _enter(self, handler: Callable[..., Awaitable[None]], context: JobContext) -> None:
        try:
            await handler(AgentSession() if self._takes_session else context)
            if context.session is None:
                raise UsageError(
                    f"{_name(handler)}() returned without starting a session. Call `await session.start(agent=...)`."
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
