"""What hooks, tools and toolsets may know of the session and the job they run in.

The session and the job live in upper layers; code below them names them by these protocols only. The context variables
say which job and which agent hook the running code belongs to.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from antiphon.audio import AudioFrame
from antiphon.chat import ChatContext
from antiphon.errors import UsageError
from antiphon.options import NOT_GIVEN, NotGivenOr, ToolChoice
from antiphon.transport import AudioInput, AudioOutput


class Speech(Protocol):
    """What `say()` and `generate_reply()` return. Awaiting it waits until it was played."""

    @property
    def id(self) -> str: ...
    @property
    def interrupted(self) -> bool: ...
    @property
    def allow_interruptions(self) -> bool: ...
    @allow_interruptions.setter
    def allow_interruptions(self, value: bool) -> None: ...
    def done(self) -> bool: ...
    def interrupt(self, *, force: bool = False) -> Any: ...
    def add_done_callback(self, callback: Callable[[Any], object]) -> None: ...
    def __await__(self) -> Any: ...


class Session(Protocol):
    """A running session, as tools see it."""

    userdata: Any

    @property
    def history(self) -> ChatContext: ...
    @property
    def current_agent(self) -> Any: ...
    @property
    def current_speech(self) -> Speech | None: ...
    def say(
        self,
        text: str | AsyncIterable[str],
        *,
        audio: AsyncIterable[AudioFrame] | None = None,
        allow_interruptions: NotGivenOr[bool] = NOT_GIVEN,
        add_to_chat_ctx: bool = True,
    ) -> Speech: ...
    def generate_reply(
        self,
        *,
        user_input: str | None = None,
        instructions: str | None = None,
        tool_choice: NotGivenOr[ToolChoice] = NOT_GIVEN,
        allow_interruptions: NotGivenOr[bool] = NOT_GIVEN,
    ) -> Speech: ...
    def interrupt(self, *, force: bool = False) -> Any: ...
    def shutdown(self, *, drain: bool = True) -> None: ...
    async def wait_for_idle(self) -> None: ...
    def on(self, name: str, callback: Any = None) -> Any: ...
    def once(self, name: str, callback: Any = None) -> Any: ...
    def off(self, name: str, callback: Any) -> None: ...


@dataclass(slots=True, frozen=True)
class Elicited:
    """What came of a question to the caller."""

    action: Literal["accept", "decline", "cancel"]
    """"accept": they answered; "decline": they did not want to; "cancel": they could not be asked."""
    content: dict[str, Any] | None = None
    """The answer, in the form that was asked for; None unless accepted."""


@runtime_checkable
class RunningCall(Protocol):
    """A tool's call under way, as toolsets see it: `RunContext` is one."""

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


@dataclass(slots=True, frozen=True)
class DtmfReceived:
    """The caller pressed a key of their telephone."""

    digit: str
    """One of 0 to 9, *, #, A to D."""


@runtime_checkable
class KeypadRoom(Protocol):
    """A room that reports keys: callbacks of its event "dtmf" are called with `DtmfReceived`, on the event loop."""

    def on(self, name: str, callback: Callable[..., object]) -> object: ...
    def off(self, name: str, callback: Callable[..., object]) -> None: ...


class Job(Protocol):
    """One call, as the server runs it."""

    @property
    def room(self) -> Any: ...
    def attach(self, session: Any) -> None:
        """A session is about to start in this job. Called by the session."""

    async def prepare(self, models: Sequence[Any]) -> None:
        """Load the models (or None) that the session begins with. Called by the session, before the caller is heard."""

    def started(self, session: Any) -> None:
        """The session runs. Called by the session, at the end of its `start`."""

    def add_shutdown_callback(self, callback: Callable[..., Awaitable[None]]) -> None: ...
    async def delete_room(self) -> Any: ...
    def shutdown(self, reason: str = "") -> None: ...


current_job: ContextVar[Job | None] = ContextVar("antiphon_job", default=None)
"""The job that the running code belongs to. Set by the server before it calls the entrypoint."""


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

model_resolver: ContextVar[ModelResolver | None] = ContextVar("antiphon_models", default=None)
"""How sessions started here choose their models.

The command line and the server set it; without one, a model that was not given is left out, and a model given by name
is an error.
"""
