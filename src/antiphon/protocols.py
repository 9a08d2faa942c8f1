"""What code below them may know of the job, the room and the call that it serves.

They live in upper layers, and are named by these protocols only. `session_api` says what may be known of the session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from antiphon.errors import UsageError
from antiphon.language import Language
from antiphon.record import frozen
from antiphon.scope import Scoped
from antiphon.store import Store
from antiphon.transport import AudioInput, AudioOutput

T = TypeVar("T")


@frozen
class Elicited:
    """What came of a question to the caller."""

    action: Literal["accept", "decline", "cancel"]
    """"accept": they answered; "decline": they did not want to; "cancel": they could not be asked."""
    content: dict[str, Any] | None = None
    """The answer, in the form that was asked for; None unless accepted."""


@runtime_checkable
class RunningCall(Protocol):
    """A tool's call under way, as toolsets see it: `RunContext` is one."""

    @property
    def language(self) -> Language:
        """The caller's."""

    @property
    def idempotency_key(self) -> str:
        """What a backend may know it by, however often it is tried."""

    async def update(self, message: Any, *, silent: bool = False) -> None:
        """Report progress; the call goes on in the background."""

    async def elicit(self, message: str, schema: Mapping[str, Any]) -> Elicited:
        """Ask the caller, and capture the answer in the form of a JSON schema of an object."""


@runtime_checkable
class AudioRoom(Protocol):
    """A room that a session can hear and speak in: `session.start(room=)` takes its audio from here."""

    @property
    def audio_input(self) -> AudioInput | None: ...
    @property
    def audio_output(self) -> AudioOutput | None: ...


@frozen
class DtmfReceived:
    """The caller pressed a key of their telephone."""

    digit: str
    """One of 0 to 9, *, #, A to D."""


@runtime_checkable
class KeypadRoom(Protocol):
    """A room that reports keys: callbacks of its event "dtmf" are called with `DtmfReceived`, on the event loop."""

    def on(self, name: str, callback: Callable[..., object]) -> object: ...
    def off(self, name: str, callback: Callable[..., object]) -> None: ...


class UserdataCodec(Protocol[T]):
    """How a session's userdata is kept with its call, where that is no dataclass, pydantic model or dictionary."""

    def dump(self, userdata: T, /) -> Any:
        """As JSON data. Called at the end of each turn and behind each tool."""

    def load(self, data: Any, /) -> T:
        """What `dump` gave, also that of earlier versions of the application, as userdata again."""


class Job(Protocol):
    """One call, as the server runs it."""

    @property
    def room(self) -> Any: ...
    @property
    def resumes(self) -> bool:
        """Its call began in another process, and goes on here."""

    @property
    def by_turns(self) -> bool:
        """Processes hold its call for a turn each: nobody is cut off between them, and the job's end is not its end."""

    @property
    def parts(self) -> Mapping[str, bytes]:
        """What is kept with its call beside that, for whoever goes on with it elsewhere. By name."""

    def attach(self, session: Any) -> str | None:
        """A session is about to start in this job. Called by the session.

        Returns what a store knows the call by if it is the session of the call; others run beside it.
        """

    async def prepare(self, models: Sequence[Any]) -> None:
        """Load the models (or None) that the session begins with. Called by the session, before the caller is heard."""

    def started(self, session: Any) -> None:
        """The session runs. Called by the session, at the end of its `start`."""

    def add_shutdown_callback(self, callback: Callable[..., Awaitable[None]]) -> None: ...
    async def delete_room(self) -> Any: ...
    def shutdown(self, reason: str = "") -> None: ...


current_job: Scoped[Job] = Scoped("antiphon_job")
"""The job that the running code belongs to. Set by the server before it calls the entrypoint."""


closing_session: Scoped[Any] = Scoped("antiphon_closing")
"""In `Toolset.aclose`: the session that closes it, because its agent or itself has ended; None: somebody else does.

What a toolset does for other sessions goes on.
"""


def get_job_context(required: bool = True) -> Any:
    """The job that this code runs in.

    Outside a job: raises `UsageError`, or returns None if not `required`.
    """
    job = current_job.get()
    if job is None and required:
        raise UsageError(
            "get_job_context: no job is running here. Call it inside an entrypoint that an AgentServer started, or"
            " pass required=False."
        )
    return job


ModelKind: TypeAlias = Literal["llm", "stt", "tts", "vad", "turn_detector"]
ModelResolver: TypeAlias = Callable[[Mapping[ModelKind, Any]], Mapping[ModelKind, Any]]
"""Given what a session was given (NOT_GIVEN, None, a model, or a name), returns what it runs with."""

call_store: ContextVar[Callable[[], Awaitable[Store | None]] | None] = ContextVar("antiphon_store", default=None)
"""Gives the store, if there is one, of a session that starts here and was not given any. Set by commands."""


call_watch: ContextVar[Callable[[Any], None] | None] = ContextVar("antiphon_watch", default=None)
"""Is given each session that starts here, before it does: to listen to it. Set by commands."""


model_resolver: ContextVar[ModelResolver | None] = ContextVar("antiphon_models", default=None)
"""How sessions started here choose their models.

The command line and the server set it; without one, a model that was not given is left out, and a model given by name
is an error.
"""
