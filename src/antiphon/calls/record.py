"""What happened in a call, put in order while it happens: turns, tool calls, cuts, and what each reply took.

`CallRecord` listens to a session's events. Screens, the page and whoever waits for work to be done listen to it, so
that this is the only place that knows which tools run and what came of them. At the end it gives a `CallReport`, which
is data: JSON for `--json`, and what the page of `report.py` is made of. All times are seconds since the call began.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any, Literal, TypeAlias, cast

from antiphon.calls.offered import offered_by
from antiphon.calls.where import at_users_line
from antiphon.chat import ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.errors import SessionClosed
from antiphon.events import (
    AgentStateChangedEvent,
    ConsentAskedEvent,
    ConsentDecidedEvent,
    ConversationItemAddedEvent,
    ErrorEvent,
    EventEmitter,
    FunctionToolsExecutedEvent,
    SaidAsideEvent,
    ToolCallEnded,
    ToolCallStarted,
    ToolCallUpdated,
    ToolDroppedEvent,
    ToolExecutionUpdatedEvent,
    ToolResultEvent,
    TurnMetricsEvent,
    UnbackedClaimEvent,
    UserStateChangedEvent,
)
from antiphon.metrics import CallMetrics, TurnMetrics
from antiphon.options import MustHearLine
from antiphon.session import AgentSession
from antiphon.toolkit.answered import CallAnsweredEvent, MessageLeftEvent
from antiphon.tools.function import FunctionTool, RawFunctionTool
from antiphon.tools.guarantees import Guarantee
from antiphon.vault import hide_in
from antiphon.visible import LONGEST_SHOWN, finite, shortened

NAMELESS = "default_agent"
"""What an agent without a name of its own goes by."""
Status = Literal["running", "done", "error", "dropped", "cancelled", "unknown", "adopted", "refused"]


@dataclass(slots=True)
class Turn:
    """Something said, by caller ("user") or agent ("assistant")."""

    role: Literal["user", "assistant"]
    text: str
    started: float
    ended: float
    interrupted: bool = False
    """The agent was cut: `text` is what was heard."""
    overtaken: bool = False
    """It was cut, and not by the caller: by the application, or a filler by the answer."""
    unheard: str = ""
    """What the agent was going to say when it was cut, as far as known."""
    aside: bool = False
    """A line that bridged a wait, or that the application keeps out of the history."""
    agent: str = ""
    """Agent only: what texts call the one who spoke; empty: it has no name."""
    latency_ms: float | None = None
    """Agent only: from the end of the caller's sound to the first sound of this answer."""

    def is_by(self, agent: str) -> None:
        """This agent said it."""
        self.agent = agent

    def answers(self, seconds: float) -> None:
        """It is the answer to what the caller said, and came so many seconds after it."""
        self.latency_ms = round(1000 * seconds, 1)


@dataclass(slots=True)
class ConsentRecord:
    """What the caller was asked before a call, and how it was decided."""

    asked: str
    """As it was read back the last time."""
    times: int = 1
    """How often."""
    decision: str = ""
    """As in `ConsentDecidedEvent`; empty while nobody has answered."""
    heard: str = ""
    """The caller's words."""
    by: str = ""

    def is_asked(self, text: str, times: int) -> None:
        """It is read back once more."""
        self.asked, self.times = text, times

    def is_decided(self, decision: str, heard: str, by: str) -> None:
        """It may be made, or never will be."""
        self.decision, self.heard, self.by = decision, heard, by


@dataclass(slots=True, frozen=True)
class Claim:
    """A sentence of the agent claimed that something was done, and no tool had done it."""

    at: float
    sentence: str
    done: str
    """What it claims, in its word."""


@dataclass(slots=True)
class ToolCallRecord:
    """One call of a tool. `ended` is None while it runs."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    output: str = ""
    """What came of it. Of one that ran on in the background, and whose result is not in: what it reported last."""
    is_error: bool = False
    status: Status = "running"
    started: float = 0.0
    ended: float | None = None
    consent: ConsentRecord | None = None
    """What the caller was asked first, if they were."""
    guarantee: Guarantee | None = None
    """How often it takes effect for one wish; None: its tool does not say that it writes."""

    def end(self, status: str, now: float) -> None:
        """It is over, or goes on for another call ("adopted"). `status`: as events of tools have it."""
        self.status = cast("Status", status)
        self.ended = now
        self.is_error = status in ("error", "unknown")

    def give(self, output: str, *, is_error: bool) -> None:
        """The model is told this of it."""
        self.output, self.is_error = output, is_error


@dataclass(slots=True)
class CallReport:
    """A finished call."""

    turns: list[Turn]
    tool_calls: list[ToolCallRecord]
    userdata: Any
    """What the tools stored, made fit for JSON."""
    latency: dict[str, Any]
    """`{"voice_to_voice_ms": {"p50", "p95", "values"}}`; percentiles are None where nothing was measured."""
    history: list[dict[str, Any]]
    duration: float
    errors: list[str] = field(default_factory=list)
    replies: list[TurnMetrics] = field(default_factory=list)
    """What each reply took, in the order in which they ended."""
    failed_tools: list[str] = field(default_factory=list)
    """Names of the tools that raised what is no `ToolError`, or could not be used."""
    claims: list[Claim] = field(default_factory=list)
    must_hear: list[dict[str, Any]] = field(default_factory=list)
    """The proof of what the caller had to hear: `text`, `heard_at` (ISO 8601; None: never), `begun` (how often)."""
    answered: list[dict[str, Any]] = field(default_factory=list)
    """Who answered a call to people, and each change of mind (`AnswerWatch`): `at`, `who`, `sign`."""
    message_left: dict[str, Any] | None = None
    """What became of a message for a voicemail: `text`, `whole`, `after_tone`, `at`. None: none was to be left."""

    @property
    def metrics(self) -> CallMetrics:
        """The sums of `replies`."""
        return CallMetrics(self.replies)

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "turns": [rounded(dataclasses.asdict(turn)) for turn in self.turns],
            "tool_calls": [rounded(dataclasses.asdict(call)) for call in self.tool_calls],
            "userdata": self.userdata,
            "latency": self.latency,
            "replies": [reply.to_json() for reply in self.replies],
            "metrics": self.metrics.to_json(),
            "history": self.history,
            "duration": round(self.duration, 3),
            "errors": self.errors,
            "claims": [rounded(dataclasses.asdict(claim)) for claim in self.claims],
            "must_hear": self.must_hear,
            "answered": self.answered,
            "message_left": self.message_left,
        }


ToolStep: TypeAlias = Literal[
    "started", "adopted", "updated", "dropped", "ended", "given_up", "called", "refused", "deferred", "told"
]
"""What happened to a tool call.

started: its tool runs. adopted: a run whose own call was spoken over goes on under this one. updated: it reported
something, see `CallRecord.progress`. dropped: the caller spoke over it, and nobody waits for it any more. ended: its
tool has returned or raised. given_up: it was dropped, cancelled, or nobody knows its end; no output will come.

called, then refused: it never ran, for its tool is unknown, its arguments are bad, or an equal call runs. deferred: the
model was told something before the tool had its result. told: `output` is the result, and the model knows it.
"""


class CallRecord:
    """Follows one session and puts in order what happens in it. `now` gives seconds since the call began.

    Whoever wants to know at once listens with `on`: "turn" is given each `Turn`; "tool" each `ToolCallRecord` and its
    `ToolStep`; "reply" the `TurnMetrics` of a reply that is over; "consent" the `FunctionCall` and its
    `ConsentRecord` when it is asked or decided; "claim" each `Claim`; "interim" the caller's words so far; "error" what
    failed, in one line. A result that the agent speaks of is told before its words.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.turns: list[Turn] = []
        self.replies: list[TurnMetrics] = []
        self.errors: list[str] = []
        self.failed_tools: list[str] = []
        self.claims: list[Claim] = []
        self.answered: list[dict[str, Any]] = []
        self.message_left: dict[str, Any] | None = None
        self.progress: dict[str, str] = {}
        """By call id: what a tool that goes on in the background reported last, in its own words."""
        self.now = now
        self._events = EventEmitter()
        self._calls: dict[str, ToolCallRecord] = {}
        self._running: dict[str, ToolCallRecord] = {}
        self._asked: dict[str, ConsentRecord] = {}
        """By call id: what the caller was asked before it."""
        self._untold: dict[str, ToolCallRecord] = {}
        """Calls whose result the model does not know yet."""
        self._session: AgentSession[Any] | None = None
        self._user_began: float | None = None
        self._user_ended: float | None = None
        self._agent_began: float | None = None

    def on(self, name: str, callback: Callable[..., object]) -> None:
        """Call `callback` at "turn", "tool", "reply", "consent", "claim", "interim" or "error"; see the class."""
        self._events.on(name, callback)

    def listen(self, session: AgentSession[Any]) -> None:
        """Begin to follow a session, which must not have started."""
        self._session = session
        session.on("user_state_changed", self._user_state)
        session.on("user_input_transcribed", lambda event: self._events.emit("interim", event.transcript))
        session.on("agent_state_changed", self._agent_state)
        session.on("conversation_item_added", self._item_added)
        session.on("said_aside", self._said_aside)
        session.on("unbacked_claim", self._claimed)
        session.on("call_answered", self._call_answered)
        session.on("message_left", self._message_left)
        session.on("tool_execution_updated", self._tool_updated)
        session.on("tool_adopted", lambda event: self._begun(event.function_call, "adopted"))
        session.on("tool_dropped", self._tool_dropped)
        session.on("consent_asked", self._consent_asked)
        session.on("consent_decided", self._consent_decided)
        session.on("tool_result", self._result)
        session.on("function_tools_executed", self._tools_executed)
        session.on("turn_metrics", self._reply_over)
        session.on("error", self._failed)
        session.on("close", lambda event: self._events.clear())  # nobody holds anybody any more

    @property
    def tool_calls(self) -> list[ToolCallRecord]:
        """The calls so far, in the order in which they began."""
        return list(self._calls.values())

    @property
    def running(self) -> list[ToolCallRecord]:
        """The calls whose tools run and are waited for, in the order in which they began."""
        return list(self._running.values())

    def report(self, duration: float, voice_to_voice: Sequence[float | None] = ()) -> CallReport:
        """The whole call, once its session has ended.

        `voice_to_voice` are the latencies measured on the sound, in seconds, by caller's turn.
        """
        history = self._session.history if self._session is not None else None
        for item in history.items if history is not None else ():
            if isinstance(item, FunctionCall):
                self._called(item)
            elif isinstance(item, FunctionCallOutput):
                self._output(item)
        for call in self.tool_calls:
            if call.ended is None:
                # The call was over before the tool was.
                call.end("error" if call.is_error else "unknown", self.now())
        return CallReport(
            turns=list(self.turns),
            tool_calls=self.tool_calls,
            userdata=hide_in(plain(getattr(self._session, "userdata", None))),
            latency={"voice_to_voice_ms": percentiles([1000 * v for v in voice_to_voice if v is not None])},
            history=history.to_dict(exclude_timestamp=False)["items"] if history is not None else [],
            duration=duration,
            errors=self.errors,
            replies=list(self.replies),
            failed_tools=self.failed_tools,
            claims=self.claims,
            must_hear=[_proof(line) for line in getattr(self._session, "must_hear", ())],
            answered=self.answered,
            message_left=self.message_left,
        )

    def so_far(self) -> CallReport:
        """The same while the call goes on: nothing is ended by it, and tools may still run."""
        history: list[dict[str, Any]] = []
        if self._session is not None:
            with contextlib.suppress(SessionClosed):
                history = self._session.history.to_dict(exclude_timestamp=False)["items"]
        return CallReport(
            turns=list(self.turns),
            tool_calls=self.tool_calls,
            userdata=None,
            latency={"voice_to_voice_ms": percentiles(())},
            history=history,
            duration=self.now(),
            errors=list(self.errors),
            replies=list(self.replies),
            claims=list(self.claims),
            must_hear=[_proof(line) for line in getattr(self._session, "must_hear", ())],
            answered=list(self.answered),
            message_left=self.message_left,
        )

    # -- what was said

    def _user_state(self, event: UserStateChangedEvent) -> None:
        if event.new_state == "speaking":
            self._user_began = self._user_began if self._user_began is not None else self.now()
        else:
            self._user_ended = self.now()

    def _agent_state(self, event: AgentStateChangedEvent) -> None:
        if event.new_state == "speaking":
            self._agent_began = self.now()

    def _item_added(self, event: ConversationItemAddedEvent) -> None:
        item = event.item
        if not isinstance(item, ChatMessage) or item.role not in ("user", "assistant"):
            return
        now = self.now()
        if item.role == "user":
            began = self._user_began if self._user_began is not None else now
            ended = self._user_ended if self._user_ended is not None and self._user_ended >= began else now
            self._user_began = self._user_ended = None
            turn = Turn("user", item.text_content or "", began, ended)
        else:
            began = self._agent_began if self._agent_began is not None else now
            self._agent_began = None
            overtaken = item.interrupted and self._user_began is None
            turn = Turn("assistant", item.text_content or "", began, now, item.interrupted, overtaken, unheard(item))
            turn.is_by(self._speaker())
        self._add(turn)

    def _said_aside(self, event: SaidAsideEvent) -> None:
        now = self.now()
        turn = Turn("assistant", event.text, now if self._agent_began is None else self._agent_began, now, aside=True)
        turn.is_by(self._speaker())
        if self._agent_began is not None:
            self._agent_began = now  # what is said behind it begins here
        self._add(turn)

    def _add(self, turn: Turn) -> None:
        self.turns.append(turn)
        self._events.emit("turn", turn)

    def _speaker(self) -> str:
        try:
            label = "" if self._session is None else self._session.current_agent.label
        except SessionClosed:
            return ""
        return "" if label == NAMELESS else label

    def _claimed(self, event: UnbackedClaimEvent) -> None:
        claim = Claim(self.now(), event.sentence, event.done)
        self.claims.append(claim)
        self._events.emit("claim", claim)

    def _call_answered(self, event: CallAnsweredEvent) -> None:
        self.answered.append({"at": round(self.now(), 3), "who": event.who, "sign": event.sign})

    def _message_left(self, event: MessageLeftEvent) -> None:
        left = {"text": event.text, "whole": event.whole, "after_tone": event.after_tone}
        self.message_left = {**left, "at": round(self.now(), 3)}

    def _reply_over(self, event: TurnMetricsEvent) -> None:
        self.replies.append(event.metrics)
        self._events.emit("reply", event.metrics)

    # -- tools

    def _tell(self, call: ToolCallRecord, step: ToolStep) -> None:
        self._events.emit("tool", call, step)

    def _tool_updated(self, event: ToolExecutionUpdatedEvent) -> None:
        match event.update:
            case ToolCallStarted(function_call=call):
                self._begun(call, "started")
            case ToolCallUpdated(call_id=call_id, message=text):
                if (known := self._calls.get(base_id(call_id))) is not None:
                    self.progress[known.call_id] = text
                    self._tell(known, "updated")
            case ToolCallEnded(call_id=call_id, status=status):
                if (known := self._calls.get(base_id(call_id))) is not None:
                    self._running.pop(known.call_id, None)
                    known.end(status, self.now())
                    has_result = known.status in ("done", "error")
                    if not has_result:
                        self._untold.pop(known.call_id, None)
                    self._tell(known, "ended" if has_result else "given_up")

    def _begun(self, function_call: FunctionCall, step: Literal["started", "adopted"]) -> None:
        call = self._called(function_call)
        self._running[call.call_id] = self._untold[call.call_id] = call
        if step == "adopted":
            call.end("adopted", self.now())
        self._tell(call, step)

    def _tool_dropped(self, event: ToolDroppedEvent) -> None:
        call = self._called(event.function_call)
        self._running.pop(call.call_id, None)
        call.end("dropped", self.now())  # of a run that another call takes over, nothing more is told under this one
        self._tell(call, "dropped")

    def _consent_asked(self, event: ConsentAskedEvent) -> None:
        consent = self._asked.setdefault(event.function_call.call_id, ConsentRecord(event.text))
        consent.is_asked(event.text, event.times)
        self._events.emit("consent", event.function_call, consent)

    def _consent_decided(self, event: ConsentDecidedEvent) -> None:
        consent = self._asked.get(event.function_call.call_id)
        if consent is not None:
            consent.is_decided(event.decision, event.heard, event.by)
            self._events.emit("consent", event.function_call, consent)

    def _tools_executed(self, event: FunctionToolsExecutedEvent) -> None:
        for function_call, output in event.zipped():
            ran = base_id(function_call.call_id) in self._calls
            call = self._called(function_call)
            if call.call_id in self.progress and call.call_id not in self._untold:
                continue  # it came back before the others of its round: what it said at first is old
            if not ran:
                self._tell(call, "called")
                call.end("error" if output.is_error else "refused", self.now())
            self._output(output)
            if not ran:
                self._tell(call, "refused")
            elif call.call_id in self._running or call.ended is None or call.call_id in self.progress:
                self._tell(call, "deferred")
            else:
                self._told(call)

    def _result(self, event: ToolResultEvent) -> None:
        """What came of a tool in the background. What is told of one that was cancelled is nothing to wait for."""
        call = self._untold.get(event.call_id)
        if event.is_final and call is not None and call.call_id not in self._running:
            self._output(event.output)
            self._told(call)

    def _told(self, call: ToolCallRecord) -> None:
        self._untold.pop(call.call_id, None)
        self._tell(call, "told")

    def _called(self, call: FunctionCall) -> ToolCallRecord:
        key = base_id(call.call_id)
        if key not in self._calls:
            self._calls[key] = ToolCallRecord(
                key,
                call.name,
                arguments_of(call.arguments),
                started=self.now(),
                consent=self._asked.get(key),
                guarantee=self._guarantee(call.name),
            )
        return self._calls[key]

    def _guarantee(self, name: str) -> Guarantee | None:
        try:
            tools = () if self._session is None else offered_by(self._session)
        except SessionClosed:
            return None
        return next((tool.guarantee for tool in tools if tool.name == name), None)

    def _output(self, output: FunctionCallOutput) -> None:
        """Keep what the model was told, or, of a report from the background, what the tool said to it."""
        call = self._calls.get(base_id(output.call_id))
        if call is None:
            return
        told = output.output
        if not output.call_id.endswith("/finished"):
            told = self.progress.get(call.call_id, told)
        call.give(told, is_error=output.is_error)

    def _failed(self, event: ErrorEvent) -> None:
        told = told_error(event)
        self.errors.append(told)
        if isinstance(event.source, (FunctionTool, RawFunctionTool)):
            self.failed_tools.append(event.source.name)
        self._events.emit("error", told)


def _proof(line: MustHearLine) -> dict[str, Any]:
    heard = (
        None if line.heard_at is None else datetime.fromtimestamp(line.heard_at, UTC).isoformat(timespec="milliseconds")
    )
    return {"text": line.text, "heard_at": heard, "begun": line.begun}


def told_error(event: ErrorEvent) -> str:
    """An error in one line, with the name of the tool if it is one's, and the line of the user's code."""
    told = shortened(f"{type(event.error).__name__}: {event.error}", LONGEST_SHOWN) + at_users_line(event.error)
    is_tools = isinstance(event.source, (FunctionTool, RawFunctionTool))
    return f"tool {event.source.name!r}: {told}" if is_tools else told


def unheard(message: ChatMessage) -> str:
    """What the agent was going to say when a message was cut; "" where that is not known, or nothing was cut."""
    if not message.interrupted:
        return ""
    words, heard = str(message.extra.get("written", "")).split(), (message.text_content or "").split()
    return " ".join(words[len(heard) :]) if words[: len(heard)] == heard else ""


def base_id(call_id: str) -> str:
    """The call that a pair in the history belongs to: reports of a tool in the background are "c1/update_1", ..."""
    return call_id.partition("/")[0]


def arguments_of(text: str) -> dict[str, Any]:
    """A call's arguments as an object; text that is none is kept under "raw"."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = text
    return plain(value) if isinstance(value, dict) else {"raw": plain(value)}


def rounded(fields: dict[str, Any]) -> dict[str, Any]:
    """The same with times to the millisecond."""
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in fields.items()}


def percentiles(values: Sequence[float]) -> dict[str, Any]:
    """`{"p50", "p95", "values"}`, rounded to a tenth; linear between neighbours, None without values."""
    ordered = sorted(values)
    p50, p95 = percentile(ordered, 0.5), percentile(ordered, 0.95)
    return {
        "p50": None if p50 is None else round(p50, 1),
        "p95": None if p95 is None else round(p95, 1),
        "values": [round(v, 1) for v in values],
    }


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The value below which this share of sorted values lies, linear between neighbours; None without values."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def plain(value: Any, depth: int = 20) -> Any:
    """`value` in terms of JSON: containers and dataclasses become dicts and lists, what is neither becomes its text.

    So does what lies more than `depth` levels deep.
    """
    if depth == 0:
        return str(value)
    deeper = partial(plain, depth=depth - 1)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if hasattr(value, "model_dump"):
        return deeper(value.model_dump())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: deeper(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): deeper(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [deeper(one) for one in value]
    if hasattr(value, "__dict__") and not callable(value):
        return {name: deeper(one) for name, one in vars(value).items() if not name.startswith("_")}
    return str(value)
