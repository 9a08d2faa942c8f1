"""What happened in a call, put in order while it happens: turns, tool calls, cuts, and what each reply took.

`CallLog` listens to a session's events and gives a `CallReport`, which is data: JSON for `--json`, and what the page of
`report.py` is made of. All times are seconds since the call began.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import partial
from typing import Any, Literal

from antiphon.chat import ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.events import (
    AgentStateChangedEvent,
    ConversationItemAddedEvent,
    ErrorEvent,
    FunctionToolsExecutedEvent,
    ToolAdoptedEvent,
    ToolCallEnded,
    ToolCallStarted,
    ToolCallUpdated,
    ToolExecutionUpdatedEvent,
    TurnMetricsEvent,
    UserInputTranscribedEvent,
    UserStateChangedEvent,
)
from antiphon.metrics import CallMetrics, TurnMetrics
from antiphon.session import AgentSession
from antiphon.tools.function import FunctionTool, RawFunctionTool

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
    latency_ms: float | None = None
    """Agent only: from the end of the caller's sound to the first sound of this answer."""


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
    unlogged: list[str] = field(default_factory=list)
    """Of `errors`, all but those of tools: these have their line in the log when they happen."""

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
        }


class CallLog:
    """Listens to one session. `now` gives seconds since the call began.

    `on_turn`, `on_tool`, `on_interim`, `on_reply` are told of each turn, each start and end of a tool call, the
    caller's words so far, and what a reply took that is over.
    """

    def __init__(
        self,
        now: Callable[[], float],
        *,
        on_turn: Callable[[Turn], None] = lambda turn: None,
        on_tool: Callable[[ToolCallRecord], None] = lambda call: None,
        on_interim: Callable[[str], None] = lambda text: None,
        on_reply: Callable[[TurnMetrics], None] = lambda reply: None,
    ) -> None:
        self.turns: list[Turn] = []
        self.replies: list[TurnMetrics] = []
        self.errors: list[str] = []
        self.unlogged: list[str] = []
        self._now = now
        self._on_turn = on_turn
        self._on_tool = on_tool
        self._on_interim = on_interim
        self._on_reply = on_reply
        self._calls: dict[str, ToolCallRecord] = {}
        self._in_background: set[str] = set()
        """By call id: tools that go on after the model was told something of them, and whose result is not in yet."""
        self._progress: dict[str, str] = {}
        """By call id: what such a tool reported last, in its own words."""
        self._session: AgentSession[Any] | None = None
        self._user_began: float | None = None
        self._user_ended: float | None = None
        self._agent_began: float | None = None

    def listen(self, session: AgentSession[Any]) -> None:
        """Begin to follow a session."""
        self._session = session
        session.on("user_state_changed", self._user_state)
        session.on("user_input_transcribed", self._transcribed)
        session.on("agent_state_changed", self._agent_state)
        session.on("conversation_item_added", self._item_added)
        session.on("tool_execution_updated", self._tool_updated)
        session.on("tool_adopted", self._tool_adopted)
        session.on("function_tools_executed", self._tools_executed)
        session.on("turn_metrics", self._reply_over)
        session.on("error", self._failed)

    @property
    def tool_calls(self) -> list[ToolCallRecord]:
        """The calls so far, in the order in which they began."""
        return list(self._calls.values())

    def report(self, duration: float, voice_to_voice: Sequence[float | None] = ()) -> CallReport:
        """The whole call, once its session has ended.

        `voice_to_voice` are the latencies measured on the sound, in seconds, by caller's turn.
        """
        history = self._session.history if self._session is not None else None
        for item in history.items if history is not None else ():
            if isinstance(item, FunctionCall):
                self._record(item)
            elif isinstance(item, FunctionCallOutput):
                self._output(item)
        for call in self.tool_calls:
            if call.ended is None:
                # The call was over before the tool was.
                self._end(call, "error" if call.is_error else "unknown")
        return CallReport(
            turns=list(self.turns),
            tool_calls=self.tool_calls,
            userdata=plain(getattr(self._session, "userdata", None)),
            latency={"voice_to_voice_ms": percentiles([1000 * v for v in voice_to_voice if v is not None])},
            history=history.to_dict(exclude_timestamp=False)["items"] if history is not None else [],
            duration=duration,
            errors=self.errors,
            replies=list(self.replies),
            unlogged=self.unlogged,
        )

    # -- the caller

    def _user_state(self, event: UserStateChangedEvent) -> None:
        if event.new_state == "speaking":
            self._user_began = self._user_began if self._user_began is not None else self._now()
        else:
            self._user_ended = self._now()

    def _transcribed(self, event: UserInputTranscribedEvent) -> None:
        self._on_interim(event.transcript)

    # -- the agent

    def _agent_state(self, event: AgentStateChangedEvent) -> None:
        if event.new_state == "speaking":
            self._agent_began = self._now()

    def _item_added(self, event: ConversationItemAddedEvent) -> None:
        item = event.item
        if not isinstance(item, ChatMessage) or item.role not in ("user", "assistant"):
            return
        now = self._now()
        if item.role == "assistant":
            self._look_for_results()
        if item.role == "user":
            began = self._user_began if self._user_began is not None else now
            ended = self._user_ended if self._user_ended is not None and self._user_ended >= began else now
            self._user_began = self._user_ended = None
            turn = Turn("user", item.text_content or "", began, ended)
        else:
            began = self._agent_began if self._agent_began is not None else now
            self._agent_began = None
            turn = Turn("assistant", item.text_content or "", began, now, interrupted=item.interrupted)
            if item.interrupted:
                turn.overtaken = self._user_began is None
                turn.unheard = rest_of(str(item.extra.get("written", "")), turn.text)
        self.turns.append(turn)
        self._on_turn(turn)

    def _reply_over(self, event: TurnMetricsEvent) -> None:
        self.replies.append(event.metrics)
        self._on_reply(event.metrics)

    # -- tools

    def _tool_updated(self, event: ToolExecutionUpdatedEvent) -> None:
        update = event.update
        if isinstance(update, ToolCallStarted):
            self._on_tool(self._record(update.function_call))
        elif isinstance(update, ToolCallUpdated):
            self._progress[base_id(update.call_id)] = update.message
        elif isinstance(update, ToolCallEnded) and update.call_id in self._calls:
            call = self._calls[update.call_id]
            self._end(call, update.status)
            if call.status in ("dropped", "cancelled", "unknown"):
                self._in_background.discard(call.call_id)
                self._on_tool(call)  # no output will come that is worth waiting for

    def _tool_adopted(self, event: ToolAdoptedEvent) -> None:
        call = self._record(event.function_call)
        self._end(call, "adopted")
        self._on_tool(call)

    def _tools_executed(self, event: FunctionToolsExecutedEvent) -> None:
        for function_call, output in event.zipped():
            never_ran = base_id(function_call.call_id) not in self._calls
            call = self._record(function_call)
            if never_ran:  # an unknown tool, bad arguments, a duplicate
                self._on_tool(call)
                self._end(call, "error" if output.is_error else "refused")
            self._output(output)
            if call.ended is None or call.call_id in self._progress:
                self._in_background.add(call.call_id)
            self._on_tool(call)

    def _look_for_results(self) -> None:
        """Tell what came of tools in the background: it enters the history when the agent speaks of it."""
        for call in [self._calls[call_id] for call_id in self._in_background]:
            for item in reversed(self._session.history.items if self._session is not None else ()):
                if isinstance(item, FunctionCallOutput) and item.call_id == f"{call.call_id}/finished":
                    self._in_background.discard(call.call_id)
                    self._output(item)
                    self._on_tool(call)
                    break

    def _record(self, call: FunctionCall) -> ToolCallRecord:
        key = base_id(call.call_id)
        if key not in self._calls:
            self._calls[key] = ToolCallRecord(key, call.name, arguments_of(call.arguments), started=self._now())
        return self._calls[key]

    def _output(self, output: FunctionCallOutput) -> None:
        """Keep what the model was told, or, of a report from the background, what the tool said to it."""
        call = self._calls.get(base_id(output.call_id))
        if call is None:
            return
        progress = None if output.call_id.endswith("/finished") else self._progress.get(call.call_id)
        call.output = output.output if progress is None else progress
        call.is_error = output.is_error

    def _end(self, call: ToolCallRecord, status: str) -> None:
        call.status = status  # type: ignore[assignment]  # the events document the same words
        call.ended = self._now()
        call.is_error = status in ("error", "unknown")

    def _failed(self, event: ErrorEvent) -> None:
        told = told_error(event)
        self.errors.append(told)
        if not isinstance(event.source, (FunctionTool, RawFunctionTool)):
            self.unlogged.append(told)


def told_error(event: ErrorEvent) -> str:
    """An error in one line, with the name of the tool if it is one's."""
    told = f"{type(event.error).__name__}: {event.error}"
    is_tools = isinstance(event.source, (FunctionTool, RawFunctionTool))
    return f"tool {event.source.name!r}: {told}" if is_tools else told


def rest_of(written: str, heard: str) -> str:
    """The words of `written` after those that were heard; "" if it does not begin with them."""
    words, known = written.split(), heard.split()
    return " ".join(words[len(known) :]) if words[: len(known)] == known else ""


def base_id(call_id: str) -> str:
    """The call that a pair in the history belongs to: reports of a tool in the background are "c1/update_1", ..."""
    return call_id.partition("/")[0]


def arguments_of(text: str) -> dict[str, Any]:
    """A call's arguments as an object; text that is none is kept under "raw"."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"raw": value}


def rounded(fields: dict[str, Any]) -> dict[str, Any]:
    """The same with times to the millisecond."""
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in fields.items()}


def percentiles(values: Sequence[float]) -> dict[str, Any]:
    """`{"p50", "p95", "values"}`, rounded to a tenth; linear between neighbours, None without values."""
    ordered = sorted(values)

    def at(share: float) -> float | None:
        if not ordered:
            return None
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return round(ordered[low] + (ordered[high] - ordered[low]) * (place - low), 1)

    return {"p50": at(0.5), "p95": at(0.95), "values": [round(v, 1) for v in values]}


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
        return value if value == value and abs(value) != float("inf") else str(value)
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
