"""What a session tells those who listen: event objects, and the emitter behind `session.on()`.

Events are built only when somebody listens. Callbacks are plain functions, called at once, in the order they were
added; what one raises is logged and keeps nobody else from being called.
"""

from __future__ import annotations

import enum
import inspect
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from antiphon.chat import AgentHandoff, ChatContext, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.errors import UsageError, pass_on
from antiphon.options import SessionOptions
from antiphon.record import frozen, mutable, record

if TYPE_CHECKING:
    from antiphon.metrics import CallMetrics, TurnMetrics

logger = logging.getLogger("antiphon")

AgentState: TypeAlias = Literal["initializing", "idle", "listening", "thinking", "speaking"]
UserState: TypeAlias = Literal["listening", "speaking", "away"]


@mutable
class _Event:
    created_at: float = field(default_factory=time.time)
    """Seconds since the epoch."""


@mutable
class AgentStateChangedEvent(_Event):
    """The agent began to listen, think or speak."""

    old_state: AgentState
    new_state: AgentState
    type: Literal["agent_state_changed"] = "agent_state_changed"


@mutable
class UserStateChangedEvent(_Event):
    """The caller began or stopped to speak."""

    old_state: UserState
    new_state: UserState
    type: Literal["user_state_changed"] = "user_state_changed"


@mutable
class UserInputTranscribedEvent(_Event):
    """Words of the caller were understood. An interim transcript replaces the one before it."""

    transcript: str
    is_final: bool
    language: str = ""
    type: Literal["user_input_transcribed"] = "user_input_transcribed"


@mutable
class AgentOutputTranscribedEvent(_Event):
    """Words of the agent sound, or appear in a text session: captions.

    `transcript` is what of this speech was heard so far; `is_final` closes it.
    """

    transcript: str
    is_final: bool
    segment_id: str
    type: Literal["agent_output_transcribed"] = "agent_output_transcribed"


@mutable
class SaidAsideEvent(_Event):
    """The caller heard words that the history does not have.

    A line that bridged a wait, or what the application keeps out of it (`say(add_to_chat_ctx=False)`).
    """

    text: str
    """What was heard of it."""
    segment_id: str
    """As in `AgentOutputTranscribedEvent`."""
    type: Literal["said_aside"] = "said_aside"


@mutable
class ConversationItemAddedEvent(_Event):
    """A message or a hand-off entered the history. Not given for tool calls and their outputs."""

    item: ChatMessage | AgentHandoff
    type: Literal["conversation_item_added"] = "conversation_item_added"


@mutable
class AgentFalseInterruptionEvent(_Event):
    """A sound paused the agent and turned out to be nothing."""

    resumed: bool = True
    type: Literal["agent_false_interruption"] = "agent_false_interruption"


@mutable
class UserTurnExceededEvent(_Event):
    """The caller said as much as one turn may hold (`user_turn_limit`): the agent takes the word."""

    transcript: str
    """What they said so far."""
    type: Literal["user_turn_exceeded"] = "user_turn_exceeded"


@mutable
class SpeechCreatedEvent(_Event):
    """The agent is about to say something."""

    user_initiated: bool
    """True if the application asked for it with `say()` or `generate_reply()`."""
    source: Literal["say", "generate_reply"]
    speech_handle: Any
    """The `SpeechHandle`."""
    type: Literal["speech_created"] = "speech_created"


@mutable
class FunctionToolsExecutedEvent(_Event):
    """All tools of one model response have ended. The two lists are parallel."""

    function_calls: list[FunctionCall]
    function_call_outputs: list[FunctionCallOutput]
    type: Literal["function_tools_executed"] = "function_tools_executed"

    def zipped(self) -> list[tuple[FunctionCall, FunctionCallOutput]]:
        """Each call with its output."""
        return list(zip(self.function_calls, self.function_call_outputs, strict=True))


@mutable
class MaxToolStepsReachedEvent(_Event):
    """A reply has had as many rounds of tools as it may (`max_tool_steps`): its model goes on without tools.

    The model is told why, and to ask the caller whether to go on, if more is to be done.
    """

    speech_id: str
    """The id of the reply's `SpeechHandle`."""
    steps: int
    """Rounds that it had."""
    type: Literal["max_tool_steps_reached"] = "max_tool_steps_reached"


@mutable
class ToolCallStarted:
    """A tool began to run."""

    function_call: FunctionCall
    type: Literal["tool_call_started"] = "tool_call_started"


@mutable
class ToolCallUpdated:
    """A tool reported progress."""

    call_id: str
    message: str
    """In the tool's own words, without what the model is told around them."""
    silent: bool = False
    type: Literal["tool_call_updated"] = "tool_call_updated"


@mutable
class ToolCallEnded:
    """A tool ended."""

    call_id: str
    message: str
    status: str
    """done, error, cancelled, dropped or unknown."""
    type: Literal["tool_call_ended"] = "tool_call_ended"


@mutable
class ToolExecutionUpdatedEvent(_Event):
    """Something happened to a running tool."""

    update: ToolCallStarted | ToolCallUpdated | ToolCallEnded
    type: Literal["tool_execution_updated"] = "tool_execution_updated"


@mutable
class ConsentAskedEvent(_Event):
    """A call is read back to the caller, and runs only after they said yes to it."""

    function_call: FunctionCall
    text: str
    """What they are asked."""
    times: int
    """How often they were asked, this one included."""
    type: Literal["consent_asked"] = "consent_asked"


@mutable
class ConsentDecidedEvent(_Event):
    """Whether a call runs that was read back. All decisions but "yes" are void: it never will."""

    function_call: FunctionCall
    decision: str
    """yes, no, change, question, unclear, unanswered, unheard, interrupted, handed_over or ending."""
    heard: str
    """The caller's words; empty: there were none."""
    by: str
    """words, judge, key, time or session."""
    type: Literal["consent_decided"] = "consent_decided"


@mutable
class MustHearEvent(_Event):
    """The caller has heard a line of `must_hear`, or no voice could say it."""

    text: str
    heard_at: float | None
    """By the loudspeaker's clock, in seconds since the Unix epoch; None: it could not be said, and no write runs."""
    begun: int
    """How often it was begun."""
    type: Literal["must_hear"] = "must_hear"


@mutable
class ToolOutcomeEvent(_Event):
    """What came of a tool that writes is known, or that nobody knows. A second one for a call corrects the first."""

    function_call: FunctionCall
    outcome: Literal["succeeded", "failed", "unknown"]
    """"unknown": it may have happened. Whoever can say is asked (`reconcile=`, `antiphon calls resolve`)."""
    output: str
    """What the model is told."""
    type: Literal["tool_outcome"] = "tool_outcome"


@mutable
class ToolDroppedEvent(_Event):
    """The caller spoke over a call: it left the history, and its result will be ignored."""

    function_call: FunctionCall
    type: Literal["tool_dropped"] = "tool_dropped"


@mutable
class ToolAdoptedEvent(_Event):
    """An identical call took over a run whose first call had been dropped."""

    function_call: FunctionCall
    type: Literal["tool_adopted"] = "tool_adopted"


@mutable
class ToolEndedEvent(_Event):
    """A tool ended. `status`: done, error, cancelled, dropped or unknown."""

    function_call: FunctionCall
    status: str
    type: Literal["tool_ended"] = "tool_ended"


@mutable
class ToolResultEvent(_Event):
    """A tool in the background reported something, or returned: it is in the history now.

    What other tools returned is told with `function_tools_executed`.
    """

    call_id: str
    """Of the call as the model made it. The output's own id says which report it is."""
    output: FunctionCallOutput
    is_final: bool
    """The tool has returned: nothing more will come."""
    type: Literal["tool_result"] = "tool_result"


@mutable
class TurnMetricsEvent(_Event):
    """A reply of the agent is over: what it took.

    Listen before the session starts; replies that were begun before anybody listened are not measured.
    """

    metrics: TurnMetrics
    call: CallMetrics
    """The sums of the call so far. Always the same object."""
    type: Literal["turn_metrics"] = "turn_metrics"


TrimReason: TypeAlias = Literal["budget", "overflow", "summary"]


@mutable
class ContextTrimmedEvent(_Event):
    """From here on the requests of an agent carry less of the talk (`ContextBudget`). The history stays whole."""

    agent_id: str
    reason: TrimReason
    """"budget": there was more than the budget allows. "overflow": the model refused a request that was too long.
    "summary": a summary stands in the place of what it was made of."""
    left_out: int
    """Items of the agent's context that are not carried as they were."""
    tokens_before: int
    """Of the talk, estimated."""
    tokens_after: int
    summary: str
    """What the model reads of what was left out, beside calls of tools. Empty: only that it was."""
    type: Literal["context_trimmed"] = "context_trimmed"


@record
class NewId:
    """In a journal: the application took a number for something that it opens."""


@mutable
class JournalEvent(_Event):
    """The conversation's core is about to be told something, or asks for something that is about to be done.

    What it is told, replayed in order, gives the same conversation (`antiphon.replay`). Listen before the session
    starts: who comes later is told nothing.
    """

    at: float
    """Seconds on the event loop's clock."""
    fact: Any = None
    """A record of what happened; `NewId`; None, with no command: time passed, the first time the session's start."""
    command: Any = None
    """A record of what the core wants done, or thinks worth telling. None: the event is about a fact."""
    agent: str
    """The id of the agent that the session began with."""
    options: SessionOptions
    """What the core was given."""
    epoch: float
    """To be added to `at`: seconds since the Unix epoch."""
    mark: str
    """Is in the ids of the session's history items."""
    type: Literal["journal"] = "journal"


@mutable
class ToolsetReadyEvent(_Event):
    """A toolset that the conversation began without is ready: its tools are offered from the next response on."""

    toolset: Any
    type: Literal["toolset_ready"] = "toolset_ready"


@mutable
class RecordingHushedEvent(_Event):
    """Whose sound must not be recorded from now on: something sensitive is asked for, or said."""

    caller: bool
    agent: bool
    type: Literal["recording_hushed"] = "recording_hushed"


@mutable
class ErrorEvent(_Event):
    """Something failed and the session went on."""

    error: BaseException
    source: Any
    """What failed: a model, a tool, a toolset, an agent, the session, or a word that names a part of it."""
    type: Literal["error"] = "error"


class CloseReason(enum.Enum):
    """Why a session ended."""

    ERROR = "error"
    JOB_SHUTDOWN = "job_shutdown"
    PARTICIPANT_DISCONNECTED = "participant_disconnected"
    USER_INITIATED = "user_initiated"
    TASK_COMPLETED = "task_completed"
    USER_AWAY = "user_away"
    """The caller had fallen silent (`AgentSession(away_ladder=)`)."""


@dataclass(slots=True)
class UnheardOutcome:
    """What a call of a tool that writes came to, and the caller did not hear."""

    name: str
    call_id: str
    arguments: str
    """JSON."""
    outcome: Literal["done", "unknown", "failed"]
    """"unknown": nobody knows whether it happened. "failed": that was so, the caller may have been told it, and it is
    known by now that it did not happen."""
    output: str
    """What the tool returned."""


@mutable
class CloseEvent(_Event):
    """The session ended. The last event."""

    reason: CloseReason
    error: BaseException | None = None
    unheard: list[UnheardOutcome] = field(default_factory=list)
    """What tools that write did, or may have done, and the caller was not told of: somebody should."""
    type: Literal["close"] = "close"


@mutable
class UnbackedClaimEvent(_Event):
    """A sentence of the model claims that something was done, and no tool has done it. It is said all the same."""

    sentence: str
    done: str
    """What is claimed, in its word: "booked"."""
    speech_id: str
    """The id of the `SpeechHandle`."""
    type: Literal["unbacked_claim"] = "unbacked_claim"


@mutable
class ModelRequestEvent(_Event):
    """A model is about to be asked, for those who look into a call. Realtime models, which keep the talk, are not told.

    Only read what is in it: the request itself goes out behind it.
    """

    agent_id: str
    chat_ctx: ChatContext
    """Instructions, what is carried of the talk, and notes for this response."""
    tools: list[Any]
    """What the model may call."""
    type: Literal["model_request"] = "model_request"


@mutable
class ModelAnsweredEvent(_Event):
    """A model was asked, and its response has ended. Realtime models are not told, nor whom a `FallbackLLM` asks."""

    exchange: Any
    """The `ModelExchange` (`antiphon.llm`): the exact request, and what came of it. Only read what is in it."""
    type: Literal["model_answered"] = "model_answered"


@frozen
class TraceEvent:
    """Of a call as a tree of stretches: one began, or ended, or something came to pass in it (`docs/telemetry.md`).

    For those who tell elsewhere of what happens, as `antiphon.telemetry` does. Whoever begins to listen late is told of
    what begins from then on.
    """

    what: Literal["begin", "point", "end"]
    kind: str
    """Of a stretch: call, reply, model, tool, voice, or caller (their voice). Of a point: what came to pass."""
    stretch: str
    """Its id in the call: "speech_3", "run_7"; "" is the call."""
    at: float
    """Seconds since the Unix epoch. Not in the order of events: what is made ahead is told once it is wanted."""
    within: str = ""
    """The stretch that it is a part of. Told where it begins."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """Names, numbers, ids and outcomes. Not what anybody said."""
    said: Mapping[str, str] = field(default_factory=dict)
    """What was said, what tools were called with and gave, and the words of errors: it may be about persons."""
    type: Literal["trace"] = "trace"


AgentEvent: TypeAlias = (
    AgentStateChangedEvent
    | UserStateChangedEvent
    | UserInputTranscribedEvent
    | AgentOutputTranscribedEvent
    | SaidAsideEvent
    | ConversationItemAddedEvent
    | AgentFalseInterruptionEvent
    | UserTurnExceededEvent
    | SpeechCreatedEvent
    | FunctionToolsExecutedEvent
    | MaxToolStepsReachedEvent
    | ToolExecutionUpdatedEvent
    | ConsentAskedEvent
    | ConsentDecidedEvent
    | MustHearEvent
    | ToolDroppedEvent
    | ToolAdoptedEvent
    | ToolEndedEvent
    | ToolOutcomeEvent
    | ToolResultEvent
    | TurnMetricsEvent
    | ContextTrimmedEvent
    | UnbackedClaimEvent
    | ModelRequestEvent
    | ModelAnsweredEvent
    | JournalEvent
    | TraceEvent
    | ToolsetReadyEvent
    | ErrorEvent
    | CloseEvent
)

Callback = TypeVar("Callback", bound=Callable[..., Any])


class EventEmitter:
    """Callbacks by event name."""

    def __init__(self) -> None:
        self.callbacks: dict[str, tuple[Callable[..., Any], ...]] = {}
        """By name: who listens. To be read only."""
        self._once: dict[str, list[Callable[..., Any]]] = {}
        self._awaited: dict[str, Callable[[], None]] = {}

    def when_listened(self, name: str, prepare: Callable[[], None]) -> None:
        """Call `prepare` once: now if somebody listens to `name`, else when somebody begins to.

        For what is only worth doing while somebody listens. One `prepare` a name: the last one given.
        """
        if self.listened(name):
            prepare()
        else:
            self._awaited[name] = prepare

    def listened(self, name: str) -> bool:
        """True if somebody listens to `name`. Ask before you build an event."""
        return name in self.callbacks

    @overload
    def on(self, name: str, callback: Callback) -> Callback: ...
    @overload
    def on(self, name: str, callback: None = None) -> Callable[[Callback], Callback]: ...

    def on(self, name: str, callback: Callable[..., Any] | None = None) -> Any:
        """Call `callback(event)` at each event called `name`. Without a callback: a decorator.

        Raises `UsageError` for a coroutine function: start a task inside a plain function instead.
        """
        if callback is None:
            return lambda function: self.on(name, function)
        if inspect.iscoroutinefunction(callback):
            raise UsageError(
                f"on({name!r}): expected a plain function, got the coroutine function {callback.__name__!r};"
                " start a task inside a plain function: asyncio.create_task(...)"
            )
        self.callbacks[name] = (*self.callbacks.get(name, ()), callback)
        prepare = self._awaited.pop(name, None)
        if prepare is not None:
            prepare()
        return callback

    @overload
    def once(self, name: str, callback: Callback) -> Callback: ...
    @overload
    def once(self, name: str, callback: None = None) -> Callable[[Callback], Callback]: ...

    def once(self, name: str, callback: Callable[..., Any] | None = None) -> Any:
        """Like `on`, for the next event only."""
        if callback is None:
            return lambda function: self.once(name, function)
        self.on(name, callback)
        self._once.setdefault(name, []).append(callback)
        return callback

    def off(self, name: str, callback: Callable[..., Any]) -> None:
        """Stop calling `callback`. No effect if it is not registered."""
        left = list(self.callbacks.get(name, ()))
        if callback not in left:
            return
        left.remove(callback)
        if left:
            self.callbacks[name] = tuple(left)
        else:
            del self.callbacks[name]
        if callback in self._once.get(name, ()):
            self._once[name].remove(callback)

    def clear(self) -> None:
        """Forget everybody who listens: nothing will be emitted any more."""
        self.callbacks.clear()
        self._once.clear()
        self._awaited.clear()

    def emit(self, name: str, *arguments: Any) -> None:
        """Call everybody who listens to `name`."""
        for callback in self.callbacks.get(name, ()):
            if callback in self._once.get(name, ()):
                self.off(name, callback)
            try:
                callback(*arguments)
            except BaseException as error:
                pass_on(error)
                logger.exception("a callback for %r raised", name)
