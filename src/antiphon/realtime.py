"""Models that hear and speak for themselves.

A `RealtimeModel` is a factory; each agent of a call gets a `RealtimeSession`: the caller's sound goes in, responses
come out as events. How models differ is data (`RealtimeCapabilities`), and one event means one thing with every model:
what a provider's own protocol does otherwise is translated in the provider.

A session is told things by plain calls that never block and take effect in the order in which they were made; what goes
wrong with one of them arrives as an event, or as the `ProviderError` that ends the iteration. A session whose
iteration has ended is of no more use: its owner opens another one and tells it the conversation so far.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from antiphon.audio import AudioFrame
from antiphon.chat import ChatItem, FunctionCallOutput
from antiphon.model import Model
from antiphon.options import ToolChoice
from antiphon.streams import Closable

if TYPE_CHECKING:
    from antiphon.tools.function import Tool


@dataclass(slots=True, frozen=True)
class RealtimeCapabilities:
    """What a model does by itself, and what it lets be done to it."""

    turn_detection: bool = True
    """It decides when the caller's turn is over (`InputCommitted` unasked). False: the session says so, by
    `commit_audio`."""
    auto_reply: bool = True
    """It answers the turns that it ends, unasked. False: it waits for `generate_reply`."""
    auto_tool_reply_generation: bool = False
    """It answers the results of tools unasked. False: it waits for `generate_reply`."""
    user_transcription: bool = True
    """It gives the caller's words (`InputTranscribed`), sooner or later."""
    live_transcription: bool = False
    """It gives them while the caller speaks, so that words can interrupt; else the duration of the voice does."""
    message_truncation: bool = True
    """It can be told how much of what it said was heard (`truncate`)."""
    audio_output: bool = True
    """It speaks. False: it gives text, and the agent's voice speaks it."""
    mutable_instructions: bool = True
    """`update_instructions` works within a session. False: changed instructions need a new one."""
    mutable_tools: bool = True
    """`update_tools` works within a session. False: changed tools need a new one."""
    mutable_chat_context: bool = True
    """`add_items` works within a session once it has begun. False: new items need a new one."""


# -- what it tells


@dataclass(slots=True, frozen=True)
class SpeechStarted:
    """The caller's voice began."""


@dataclass(slots=True, frozen=True)
class SpeechStopped:
    """The caller's voice stopped. Says nothing about the turn."""

    silence: float = 0.0
    """Seconds it has been silent already, if the model says so."""


@dataclass(slots=True, frozen=True)
class InputCommitted:
    """What was heard since the last one is a turn of the caller: the model ended it, or was told to."""

    item_id: str
    answered: bool = False
    """The model answers it unasked: a `ResponseStarted` without a request is to follow."""


@dataclass(slots=True, frozen=True)
class InputTranscribed:
    """The caller's words. Where `final` is False they replace those given before for this item.

    After `InputCommitted` one with `final` comes for its item if the model transcribes; "" if it could not.
    """

    item_id: str
    text: str
    final: bool = True


@dataclass(slots=True, frozen=True)
class ResponseStarted:
    """A response begins. Everything of it follows, until its `ResponseDone`; responses do not overlap."""

    response_id: str
    request: str | None = None
    """What `generate_reply` gave; None: the model began it unasked."""


@dataclass(slots=True, frozen=True)
class TextDelta:
    """The next piece of what the response says, in text; where it speaks, the transcript of its speech."""

    response_id: str
    text: str


@dataclass(slots=True, frozen=True)
class AudioDelta:
    """The next piece of what the response says, in sound."""

    response_id: str
    frame: AudioFrame


@dataclass(slots=True, frozen=True)
class FunctionCallDone:
    """The response makes this call; it is complete. It needs an output, by `submit_outputs`."""

    response_id: str
    call_id: str
    name: str
    arguments: str
    """JSON text; may be malformed."""


ResponseStatus: TypeAlias = Literal["completed", "cancelled", "incomplete", "failed"]


@dataclass(slots=True, frozen=True)
class ResponseDone:
    """Nothing more comes of the response."""

    response_id: str
    status: ResponseStatus = "completed"
    error: Exception | None = None
    """Why it failed."""


@dataclass(slots=True, frozen=True)
class Failed:
    """Something that was asked for was refused, or went wrong; the session goes on."""

    error: Exception
    request: str | None = None
    """The `generate_reply` for which no response will come, if it was one."""


RealtimeEvent: TypeAlias = (
    SpeechStarted
    | SpeechStopped
    | InputCommitted
    | InputTranscribed
    | ResponseStarted
    | TextDelta
    | AudioDelta
    | FunctionCallDone
    | ResponseDone
    | Failed
)


@dataclass(slots=True, frozen=True)
class RealtimeSetup:
    """What a session begins with."""

    instructions: str = ""
    tools: Sequence[Tool] = ()
    items: Sequence[ChatItem] = ()
    """The conversation so far, without the instructions; calls and outputs are paired."""


class RealtimeSession(Closable):
    """One agent's conversation with a model. Iterate it, once, for `RealtimeEvent`s; nothing happens before that.

    None of its methods blocks or raises for what the model does. After `aclose`, or once the iteration has ended,
    they do nothing.
    """

    # -- the caller

    @abstractmethod
    def push_audio(self, frame: AudioFrame) -> None:
        """The caller's sound, of any rate, without gaps."""

    @abstractmethod
    def commit_audio(self) -> None:
        """The caller's turn is over; `InputCommitted` answers. Nothing follows if no sound came since the last one."""

    @abstractmethod
    def clear_audio(self) -> None:
        """Forget the sound since the last turn: a voice that goes on begins anew."""

    # -- what it knows

    @abstractmethod
    def update_instructions(self, instructions: str) -> None:
        """Replace the instructions, from the next response on."""

    @abstractmethod
    def update_tools(self, tools: Sequence[Tool]) -> None:
        """Replace all tools, from the next response on. Flat: no toolsets."""

    @abstractmethod
    def add_items(self, items: Sequence[ChatItem]) -> None:
        """Append to the conversation: messages, and pairs of call and output. No response follows."""

    @abstractmethod
    def submit_outputs(self, outputs: Sequence[FunctionCallOutput], *, reply: bool = True) -> None:
        """The outputs of calls that the model made.

        A model that answers these unasked does so if `reply` is True, and does not if it can be kept from it otherwise.
        """

    # -- responses

    @abstractmethod
    def generate_reply(self, *, instructions: str | None = None, tool_choice: ToolChoice | None = None) -> str:
        """Ask for a response, and get the name of the request.

        A `ResponseStarted` or a `Failed` with this request follows. `instructions` are for this response, in
        addition to the session's. While another response goes on, it is asked for when that has ended.
        """

    @abstractmethod
    def interrupt(self) -> None:
        """Stop the response that goes on; its `ResponseDone` follows. Nothing happens if there is none.

        A response that was asked for and did not begin yet begins all the same.
        """

    @abstractmethod
    def truncate(self, response_id: str, audio_end: float) -> None:
        """Only `audio_end` seconds of a response's sound were heard: the rest of it was never said."""

    # -- events

    @property
    def silence(self) -> float | None:
        """Seconds since the service last showed that it is there, by an event or by a sign of its own.

        It counts from the beginning of the iteration. None: that cannot be told, or the iteration has not begun.
        """
        return None

    @abstractmethod
    def __aiter__(self) -> AsyncIterator[RealtimeEvent]:
        """What happens. Raises `ProviderError` when the session breaks."""

    @abstractmethod
    async def aclose(self) -> None:
        """End it. The iteration ends. May be called twice."""


class RealtimeModel(Model, ABC):
    """A model that hears and speaks. Safe to share between calls; needs neither key nor network until the first use."""

    model: str = ""
    capabilities: RealtimeCapabilities = RealtimeCapabilities()

    @abstractmethod
    def session(self, setup: RealtimeSetup) -> RealtimeSession:
        """A conversation that begins with `setup`. Connects when it is iterated."""
