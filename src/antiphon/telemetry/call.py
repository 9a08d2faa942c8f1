"""The spans of one call, and what its metrics are told at the end of each.

Above: `Telemetry`, which has one for each session that it watches. Below: the events `trace` and `turn_metrics`, of
which this knows no more than they say, and OpenTelemetry's API. Names are those of the semantic conventions for
generative AI; what these have no name for is called `antiphon.*`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from antiphon.events import CloseEvent, TraceEvent, TurnMetricsEvent
from antiphon.metrics import TurnMetrics
from antiphon.running_tool import run_here
from antiphon.session_api import Session
from antiphon.telemetry.ids import beginning
from antiphon.telemetry.instruments import Instruments
from antiphon.telemetry.models import Named, named
from antiphon.telemetry.prices import Price, price_of
from antiphon.visible import to_json


@dataclass(slots=True, frozen=True)
class Told:
    """Where calls are told, and how much of them."""

    tracer: Tracer
    instruments: Instruments
    content: bool
    prices: Mapping[str, Price]


@dataclass(slots=True)
class _Usage:
    """Tokens, and what they cost."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cost: float | None = None

    def add(self, other: _Usage) -> None:
        """Those of a response, to the sum of a reply or a call."""
        self.prompt += other.prompt
        self.completion += other.completion
        self.cached += other.cached
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost

    def attributes(self) -> dict[str, Any]:
        if not (self.prompt or self.completion):
            return {}
        told: dict[str, Any] = {
            "gen_ai.usage.input_tokens": self.prompt,
            "gen_ai.usage.output_tokens": self.completion,
        }
        if self.cached:
            told["gen_ai.usage.cache_read.input_tokens"] = self.cached
        return told if self.cost is None else {**told, "antiphon.usage.cost": self.cost}


@dataclass(slots=True)
class _Stretch:
    """A stretch of the call that has not ended, and its span."""

    kind: str
    span: Span
    context: Context
    began: float
    within: str
    data: Mapping[str, Any]
    model: Named | None = None
    usage: _Usage = field(default_factory=_Usage)
    dead_air: float = 0.0
    is_measured: bool = False

    def measured(self, dead_air: float) -> bool:
        """Figures of it came. False: not for the first time."""
        self.dead_air += dead_air
        first, self.is_measured = not self.is_measured, True
        return first


class CallSpans:
    """Those of one session. `outer`: the span that the call is a part of. `log_fields`: what its job's log tells."""

    def __init__(
        self, told: Told, session: Session[Any], outer: Span, log_fields: MutableMapping[str, Any] | None
    ) -> None:
        self._told = told
        self._session = weakref.ref(session)
        self._outer = outer
        self._log_fields = log_fields
        self._stretches: dict[str, _Stretch] = {}
        self._turns = self._interruptions = self._tools = 0
        self._dead_air = 0.0

    # -- whose code asks

    @property
    def tool_here(self) -> Span | None:
        """The span of the run of a tool whose code this is."""
        run = run_here()
        stretch = None if run is None else self._stretches.get(f"run_{run}")
        return None if stretch is None else stretch.span

    @property
    def here(self) -> Span | None:
        """The same, else that of the call."""
        call = self._stretches.get("")
        return self.tool_here or (None if call is None else call.span)

    # -- what the session tells

    def traced(self, event: TraceEvent) -> None:
        """Something began, ended or came to pass."""
        if event.what == "begin":
            self._begin(event)
        elif event.what == "end":
            self._end(event)
        else:
            self._point(event)

    def measured(self, event: TurnMetricsEvent) -> None:
        """A reply is over, and what it took is known. Its span has not ended yet."""
        reply, instruments = event.metrics, self._told.instruments
        interrupted = reply.interrupted_at is not None
        self._turns += 1
        self._interruptions += interrupted
        self._dead_air = event.call.dead_air
        labels = {"antiphon.turn.origin": reply.origin}
        instruments.turns.add(1, {**labels, "antiphon.turn.interrupted": interrupted})
        if reply.response_delay is not None:
            instruments.response_delay.record(reply.response_delay, labels)
        if reply.answers_caller and reply.sound:
            instruments.dead_air.record(reply.dead_air, labels)
        stretch = self._stretches.get(reply.speech_id)
        if stretch is not None:
            self._tell_figures(stretch, reply)

    def closed(self, event: CloseEvent) -> None:
        """The session is over. Spans that are open still are those of one that broke."""
        for stretch in reversed(self._stretches.values()):
            stretch.span.end()
        if "" in self._stretches:
            self._told.instruments.call_ended()
        self._stretches.clear()

    # -- a stretch begins

    def _begin(self, event: TraceEvent) -> None:
        name, attributes, model = _BEGIN[event.kind](self, event)
        call_id = self._call_id
        attributes = {"gen_ai.conversation.id": call_id, **attributes}
        if self._told.content:
            attributes |= {_SAID[key]: value for key, value in event.said.items()}
        kind = SpanKind.CLIENT if event.kind == "model" else SpanKind.INTERNAL
        parent, tracer, at = self._parent(event), self._told.tracer, _nanoseconds(event.at)
        # The first of a trace gives the trace its id.
        with beginning(call_id) if event.kind == "call" else _NOTHING_BEGINS:
            span = tracer.start_span(name, parent, kind=kind, attributes=attributes, start_time=at)
        context = set_span_in_context(span)
        self._stretches[event.stretch] = _Stretch(event.kind, span, context, event.at, event.within, event.data, model)
        if event.kind == "call":
            self._told.instruments.call_began()
            if self._log_fields is not None and span.get_span_context().is_valid:
                self._log_fields["trace_id"] = f"{span.get_span_context().trace_id:032x}"

    def _parent(self, event: TraceEvent) -> Context:
        if event.kind == "call":
            return set_span_in_context(self._outer, Context())
        parent = self._stretches.get(event.within) or self._stretches[""]
        return parent.context

    @property
    def _call_id(self) -> str:
        session = self._session()
        return "" if session is None else session.call_id

    def _agent(self, agent: str) -> Any:
        session = self._session()
        return None if session is None or not agent else session.agent_by_id(agent)

    def _model(self, kind: str, agent: str) -> Named:
        """What an agent hears, thinks or speaks with. "": the agent in charge."""
        session = self._session()
        holder = self._agent(agent) if agent or session is None else session.current_agent
        return named(getattr(holder, kind, None))

    def _begin_call(self, event: TraceEvent) -> tuple[str, dict[str, Any], None]:
        attributes = {
            "gen_ai.agent.name": event.data["agent"],
            "antiphon.call.voice": event.data["voice"],
            "antiphon.call.language": event.data["language"],
        }
        return "call", attributes, None

    def _begin_reply(self, event: TraceEvent) -> tuple[str, dict[str, Any], None]:
        agent = event.data["agent"]
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            **({"gen_ai.agent.name": agent} if agent else {}),
            "antiphon.turn.number": event.data["turn"],
            "antiphon.turn.origin": event.data["origin"],
        }
        return f"invoke_agent {agent}".strip(), attributes, None

    def _begin_model(self, event: TraceEvent) -> tuple[str, dict[str, Any], Named]:
        model = self._model("llm", event.data["agent"])
        attributes = {
            **_operation("chat", model),
            "gen_ai.agent.name": event.data["agent"],
            "gen_ai.request.stream": True,
        }
        return model.span("chat"), attributes, model

    def _begin_tool(self, event: TraceEvent) -> tuple[str, dict[str, Any], None]:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.data["name"],
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": event.data["call_id"],
            "gen_ai.agent.name": event.data["agent"],
            "antiphon.tool.effect": event.data["effect"],
        }
        return f"execute_tool {event.data['name']}", attributes, None

    def _begin_voice(self, event: TraceEvent) -> tuple[str, dict[str, Any], Named]:
        model = self._model("tts", event.data["agent"])
        return model.span("text_to_speech"), _operation("text_to_speech", model), model

    def _begin_caller(self, event: TraceEvent) -> tuple[str, dict[str, Any], Named]:
        model = self._model("stt", "")
        return model.span("speech_to_text"), _operation("speech_to_text", model), model

    # -- it ends

    def _end(self, event: TraceEvent) -> None:
        stretch = self._stretches.pop(event.stretch, None)
        if stretch is None:
            return
        _END[stretch.kind](self, stretch, event)
        if self._told.content:
            own = {"error", "text"}  # told by the status, and as messages
            texts = {_SAID[key]: value for key, value in event.said.items() if value and key not in own}
            stretch.span.set_attributes(texts)
        stretch.span.end(_nanoseconds(event.at))

    def _end_call(self, stretch: _Stretch, event: TraceEvent) -> None:
        stretch.span.set_attributes(
            {
                **stretch.usage.attributes(),
                "antiphon.call.end_reason": event.data["reason"],
                "antiphon.call.turns": self._turns,
                "antiphon.call.interruptions": self._interruptions,
                "antiphon.call.tools": self._tools,
                "antiphon.call.dead_air": _seconds(self._dead_air),
                "antiphon.call.unheard": event.data["unheard"],
            }
        )
        instruments = self._told.instruments
        instruments.call_ended()
        instruments.call_duration.record(event.at - stretch.began, {"antiphon.call.end_reason": event.data["reason"]})

    def _end_reply(self, stretch: _Stretch, event: TraceEvent) -> None:
        stretch.span.set_attributes(stretch.usage.attributes())

    def _end_model(self, stretch: _Stretch, event: TraceEvent) -> None:
        data, model, instruments = event.data, stretch.model or named(None), self._told.instruments
        labels = _operation("chat", model)
        usage = self._used(model, data)
        told: dict[str, Any] = {**usage.attributes(), "antiphon.model.outcome": data["outcome"]}
        if (first := data.get("first")) is not None:
            told["gen_ai.response.time_to_first_chunk"] = _seconds(first - stretch.began)
            instruments.first_chunk.record(first - stretch.began, labels)
        if data["outcome"] == "done":
            told["gen_ai.response.finish_reasons"] = [_finish_reason(data)]
        told |= {f"antiphon.model.{name}": True for name in _OF_MODELS if data.get(name)}
        if self._told.content:
            told["gen_ai.output.messages"] = _messages(event)
        stretch.span.set_attributes(told)
        if data["outcome"] == "failed":
            self._failed(stretch.span, str(data["error"]), event.said.get("error", ""))
            labels = {**labels, "error.type": str(data["error"])}
        instruments.model_duration.record(event.at - stretch.began, labels)
        for sum_of in (self._stretches.get(stretch.within), self._stretches.get("")):
            if sum_of is not None and sum_of is not stretch:
                sum_of.usage.add(usage)
            if not stretch.within:
                break

    def _used(self, model: Named, data: Mapping[str, Any]) -> _Usage:
        prompt, completion, cached = (data.get(name) or 0 for name in ("prompt", "completion", "cached"))
        usage = _Usage(prompt, completion, cached)
        instruments, labels = self._told.instruments, _operation("chat", model)
        for kind, number in (("input", prompt), ("output", completion)):
            if number:
                instruments.tokens.record(number, {**labels, "gen_ai.token.type": kind})
        price = price_of(self._told.prices, model.provider, model.model)
        if price is not None and (prompt or completion):
            usage.cost = price.of(prompt, completion, cached)
            instruments.cost.add(usage.cost, labels)
        return usage

    def _end_tool(self, stretch: _Stretch, event: TraceEvent) -> None:
        outcome, name = event.data["outcome"], stretch.data["name"]
        self._tools += 1
        labels = {"gen_ai.tool.name": name}
        stretch.span.set_attribute("antiphon.tool.status", outcome)
        instruments = self._told.instruments
        instruments.tool_calls.add(1, {**labels, "antiphon.tool.status": outcome})
        if outcome in ("error", "unknown"):
            kind = "tool_error" if outcome == "error" else "unknown_outcome"
            self._failed(stretch.span, kind, event.said.get("output", ""))
            labels["error.type"] = kind
        instruments.tool_duration.record(event.at - stretch.began, labels)

    def _end_voice(self, stretch: _Stretch, event: TraceEvent) -> None:
        data = event.data
        told: dict[str, Any] = {"antiphon.voice.cut": bool(data.get("cut"))}
        for name, key in (("first_byte", "time_to_first_byte"), ("sounded", "time_to_sound")):
            if (at := data.get(name)) is not None:
                told[f"antiphon.voice.{key}"] = _seconds(at - stretch.began)
        if (heard := data.get("heard")) is not None:
            told["antiphon.voice.heard_characters"] = heard
        stretch.span.set_attributes(told)
        if data.get("failed"):
            self._failed(stretch.span, "voice_failed")

    def _end_caller(self, stretch: _Stretch, event: TraceEvent) -> None:
        ended = event.data.get("speech_ended")
        if ended is not None:
            stretch.span.set_attribute("antiphon.caller.speech_seconds", max(0.0, _seconds(ended - stretch.began)))

    def _failed(self, span: Span, kind: str, why: str = "") -> None:
        """Why it failed may name persons: it is told with what was said alone."""
        span.set_attribute("error.type", kind)
        span.set_status(Status(StatusCode.ERROR, why if self._told.content and why else None))

    # -- something came to pass

    def _point(self, event: TraceEvent) -> None:
        stretch = self._stretches.get(event.stretch) or self._stretches.get("")
        if stretch is None:
            return
        attributes = {_POINT_DATA.get(name, f"antiphon.{name}"): value for name, value in event.data.items()}
        if self._told.content:
            attributes |= {_SAID[key]: value for key, value in event.said.items() if value}
        stretch.span.add_event(f"antiphon.{event.kind}", attributes, _nanoseconds(event.at))
        count = _COUNTED.get(event.kind)
        if count is not None:
            count(self._told.instruments, event.data)
        if event.kind == "outcome" and stretch.kind == "tool":
            stretch.span.set_attribute("antiphon.tool.outcome", event.data["outcome"])
        if event.kind == "tool_refused":
            self._told.instruments.tool_refused(event.data["name"])

    def _tell_figures(self, stretch: _Stretch, reply: TurnMetrics) -> None:
        """What a reply took. One that read a call back is told of in two parts: delays are those of the first."""
        first = stretch.measured(reply.dead_air)
        told: dict[str, Any] = {"antiphon.turn.dead_air": _seconds(stretch.dead_air)}
        if reply.interrupted_at is not None or first:
            told["antiphon.turn.interrupted"] = reply.interrupted_at is not None
        if first:
            for name in ("response_delay", "answer_delay", "endpointing_delay", "transcription_delay"):
                if (value := getattr(reply, name)) is not None:
                    told[f"antiphon.turn.{name}"] = _seconds(value)
        stretch.span.set_attributes(told)
        began = self._stretches[""].began
        for name, at, seconds in _quiet_and_bridged(reply):
            stretch.span.add_event(
                name, {"antiphon.seconds": _seconds(seconds)} if seconds else {}, _nanoseconds(began + at)
            )


def _quiet_and_bridged(reply: TurnMetrics) -> Iterator[tuple[str, float, float]]:
    """Its silences, and the lines that bridged waits: name, seconds since the call began, and how long."""
    for silence in reply.silences:
        yield "antiphon.dead_air", silence.started, silence.duration
    for response in reply.responses:
        if response.filler and response.first_audio is not None:
            yield "antiphon.filler", response.first_audio, 0.0


def _messages(event: TraceEvent) -> str:
    """What a model answered, in the form of the conventions. Arguments of calls stand with their tools."""
    text, calls = event.said.get("text", ""), event.data.get("calls", ())
    parts = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "name": name} for name in calls]
    return to_json([{"role": "assistant", "parts": parts, "finish_reason": _finish_reason(event.data)}])


def _finish_reason(data: Mapping[str, Any]) -> str:
    return "tool_call" if data.get("calls") else "stop"


def _seconds(duration: float) -> float:
    return round(duration, 6)


def _nanoseconds(at: float) -> int:
    return round(at * 1e9)


def _operation(name: str, model: Named) -> dict[str, Any]:
    told = {"gen_ai.operation.name": name, "gen_ai.provider.name": model.provider}
    return {**told, "gen_ai.request.model": model.model} if model.model else told


_NOTHING_BEGINS = nullcontext()
_OF_MODELS = ("delivery", "retry", "ahead", "realtime")
_SAID = {
    "arguments": "gen_ai.tool.call.arguments",
    "output": "gen_ai.tool.call.result",
    "text": "antiphon.text",
    "heard": "antiphon.heard",
    "error": "antiphon.error",
}
_POINT_DATA = {"name": "gen_ai.tool.name", "call_id": "gen_ai.tool.call.id", "agent": "gen_ai.agent.name"}
_COUNTED: Mapping[str, Callable[[Instruments, Mapping[str, Any]], None]] = {
    "outcome": lambda of, data: of.outcomes.add(
        1, {"gen_ai.tool.name": data["name"], "antiphon.outcome": data["outcome"]}
    ),
    "tool_joined": lambda of, data: of.joined.add(1, {"gen_ai.tool.name": data["name"]}),
    "consent_decided": lambda of, data: of.consents.add(
        1, {"gen_ai.tool.name": data["name"], "antiphon.decision": data["decision"]}
    ),
    "handed_off": lambda of, data: of.handoffs.add(1, {"gen_ai.agent.name": data["agent"]}),
}
_BEGIN: Mapping[str, Callable[[CallSpans, TraceEvent], tuple[str, dict[str, Any], Named | None]]] = {
    "call": CallSpans._begin_call,
    "reply": CallSpans._begin_reply,
    "model": CallSpans._begin_model,
    "tool": CallSpans._begin_tool,
    "voice": CallSpans._begin_voice,
    "caller": CallSpans._begin_caller,
}
_END: Mapping[str, Callable[[CallSpans, _Stretch, TraceEvent], None]] = {
    "call": CallSpans._end_call,
    "reply": CallSpans._end_reply,
    "model": CallSpans._end_model,
    "tool": CallSpans._end_tool,
    "voice": CallSpans._end_voice,
    "caller": CallSpans._end_caller,
}
