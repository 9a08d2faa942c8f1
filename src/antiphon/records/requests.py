"""What models were asked in a call, exactly, and what they answered: `requests.jsonl` of a record.

```
{"requests": 1}
{"part": 1, "kind": "instructions", "text": "You take bookings."}
{"part": 2, "kind": "user", "text": "A table for two"}
{"part": 3, "kind": "tool", "name": "book", "description": "...", "parameters": {...}}
{"request": 1, "id": "gen_4", "agent": "host", "model": "openai/gpt-4o-mini", "at": 3.2, "parts": [1, 2], "tools": [3],
 "outcome": "done", "text": "One moment.", "calls": [{...}], "pieces": [[0.3, 11], [0.4, "call"]], "ended": 3.7}
```

What stands in several requests is written once, before the first of them. Realtime models, which keep the talk
themselves, have none. Above: the recording of a call, and who reads records. Below: the event `model_answered`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from antiphon.chat import (
    INSTRUCTIONS_ID,
    NOTE_ID,
    REPLY_INSTRUCTIONS_ID,
    SUMMARY_ID,
    AgentConfigUpdate,
    ChatItem,
    ChatMessage,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
)
from antiphon.errors import AntiphonError
from antiphon.events import ModelAnsweredEvent, TraceEvent
from antiphon.llm import ChatRequest, FunctionToolCall
from antiphon.options import is_given
from antiphon.session import AgentSession
from antiphon.visible import to_json

FORMAT = 1
"""The version of the file that is written. Those before it are read."""

LONGEST = 20_000_000
"""Characters of all of them in one call. What is beyond is left out, and the record says so."""

MOST_PIECES = 400
"""Pieces of one response that are timed. More are joined."""

Part = Mapping[str, Any]
"""A part of a request, as data: `kind`, and what the model sees of it."""


def parts_of(request: ChatRequest) -> list[str]:
    """What the model is shown, in order: each part as JSON text. Hand-offs, which it is not shown, are left out."""
    parts = (item.wired("record", _part) for item in request.chat_ctx.items)
    return [part for part in parts if part]


def tools_of(request: ChatRequest) -> list[str]:
    """The tools that it may call, each as JSON text."""
    return [_tool(tool) for tool in request.tools]


def settings_of(request: ChatRequest) -> dict[str, Any]:
    """How it may choose among them, and in which form it is to answer: what is not as usual."""
    settings: dict[str, Any] = {}
    if is_given(request.tool_choice) and request.tool_choice is not None:
        settings["tool_choice"] = request.tool_choice
    if is_given(request.parallel_tool_calls):
        settings["parallel_tool_calls"] = request.parallel_tool_calls
    if is_given(request.response_format):
        settings["response_format"] = getattr(request.response_format, "__name__", None) or str(request.response_format)
    return settings


def _part(item: ChatItem) -> str:
    """Empty: the model is not shown it."""
    match item:
        case ChatMessage():
            return to_json(_message(item))
        case FunctionCall():
            return to_json({"kind": "call", "call_id": item.call_id, "name": item.name, "arguments": item.arguments})
        case FunctionCallOutput():
            output = {"kind": "output", "call_id": item.call_id, "name": item.name, "text": item.output}
            error = {"is_error": True} if item.is_error else {}
            return to_json({**output, **error, **_images(item.images)})
        case AgentConfigUpdate():
            return to_json({"kind": "config", "text": item.note})
        case _:
            return ""


_KINDS = {
    INSTRUCTIONS_ID: "instructions",
    NOTE_ID: "note",
    REPLY_INSTRUCTIONS_ID: "reply_instructions",
    SUMMARY_ID: "summary",
}
"""By the beginning of a message's id: what it was added for."""


def _message(item: ChatMessage) -> dict[str, Any]:
    kind = next((kind for begin, kind in _KINDS.items() if item.id.startswith(begin)), item.role)
    text = item.text_content or ""
    if item.role == "assistant" and not item.interrupted and item.extra.get("raw"):
        text = str(item.extra["raw"])  # the model reads what it wrote, where other words were spoken
    cut = {"interrupted": True} if item.interrupted else {}
    return {"kind": kind, "text": text, **cut, **_images(item.images)}


def _images(images: Sequence[ImageContent]) -> dict[str, Any]:
    if not images:
        return {}
    return {"images": [hashlib.sha256(one.url.encode()).hexdigest() for one in images]}


def _tool(tool: Any) -> str:
    spec = getattr(tool, "spec", None)
    if spec is None:
        return to_json({"kind": "tool", "name": str(getattr(tool, "id", tool))})
    return to_json({"kind": "tool", "name": spec.name, "description": spec.description, "parameters": spec.parameters})


class RequestLog:
    """Follows the requests of one session, which has not started. `now`: seconds since the call began."""

    def __init__(self, session: AgentSession[Any], now: Callable[[], float]) -> None:
        self._now = now
        self._parts: dict[str, int] = {}
        self._lines: list[dict[str, Any]] = []
        self._requests: dict[str, list[dict[str, Any]]] = {}
        """By stretch."""
        self._count = self._length = 0
        self.left_out = 0
        """Requests that there was no place for."""
        session.on("model_answered", self._answered)
        session.on("trace", self._traced)

    def lines(self) -> list[dict[str, Any]]:
        """The lines of the file, as data. The first alone: no model was asked."""
        return [{"requests": FORMAT}, *self._lines]

    def _traced(self, event: TraceEvent) -> None:
        if event.what == "end" and event.data.get("outcome") == "discarded":
            for line in self._requests.get(event.stretch, ()):
                line["outcome"] = "discarded"

    def _answered(self, event: ModelAnsweredEvent) -> None:
        exchange = event.exchange
        if self._length > LONGEST:
            self.left_out += 1
            return
        parts = [self._number(part) for part in parts_of(exchange.request)]
        tools = [self._number(tool) for tool in tools_of(exchange.request)]
        at = self._now() - (asyncio.get_running_loop().time() - exchange.asked_at)
        text, calls, pieces = _answer(exchange.pieces)
        self._count += 1
        line: dict[str, Any] = {
            "request": self._count,
            "id": exchange.gen,
            "agent": exchange.agent,
            "model": exchange.model,
            "at": round(at, 6),
            "parts": parts,
            "tools": tools,
            **settings_of(exchange.request),
            "outcome": exchange.outcome,
            "text": text,
            "calls": calls,
            "pieces": pieces,
            "ended": round(at + exchange.seconds, 6),
        }
        if exchange.error:
            line["error"] = exchange.error
        if exchange.usage is not None:
            line["prompt_tokens"] = exchange.usage.prompt_tokens
            line["completion_tokens"] = exchange.usage.completion_tokens
        self._length += len(text) + 6 * (len(parts) + len(tools)) + 200
        self._lines.append(line)
        self._requests.setdefault(exchange.gen, []).append(line)

    def _number(self, part: str) -> int:
        number = self._parts.get(part)
        if number is None:
            number = self._parts[part] = len(self._parts) + 1
            self._length += len(part)
            self._lines.append({"part": number, **json.loads(part)})
        return number


def _answer(pieces: Sequence[tuple[float, Any]]) -> tuple[str, list[dict[str, Any]], list[list[Any]]]:
    """All text, all calls, and when each came: [seconds, characters], or [seconds, "call"]."""
    text = ""
    calls: list[dict[str, Any]] = []
    timed: list[list[Any]] = []
    for seconds, piece in pieces:
        at = round(seconds, 6)
        if isinstance(piece, FunctionToolCall):
            calls.append({"call_id": piece.call_id, "name": piece.name, "arguments": piece.arguments})
            timed.append([at, "call"])
            continue
        text += piece
        last: list[Any] = timed[-1] if timed else [0, "call"]
        if last[1] != "call" and (len(timed) >= MOST_PIECES or last[0] == at):
            last[1] += len(piece)
        else:
            timed.append([at, len(piece)])
    return text, calls, timed


# -- reading


@dataclass(slots=True, frozen=True)
class Request:
    """What a model was asked at one step, and what it answered. Times are seconds since the call began."""

    number: int
    id: str
    """The stretch of its response: "gen_4". A request that was asked for again has the same."""
    agent: str
    model: str
    at: float
    ended: float
    parts: Sequence[Part]
    """What it was shown, in order."""
    tools: Sequence[Part]
    settings: Mapping[str, Any]
    outcome: str
    """done, stopped (nobody wanted the rest), discarded (made ahead, and not wanted) or failed."""
    text: str
    calls: Sequence[Mapping[str, Any]]
    pieces: Sequence[Sequence[Any]] = field(default_factory=tuple)
    error: str = ""
    prompt_tokens: int | None = None
    """As the model told them; None: it did not."""
    completion_tokens: int | None = None


class RequestsError(AntiphonError):
    """Requests that cannot be read."""


def requests_in(lines: Iterable[Mapping[str, Any]], source: str) -> list[Request]:
    """The requests in the lines of a file. Raises `RequestsError` for a later format, or what is none."""
    return list(_read(iter(lines), source))


def _read(lines: Iterator[Mapping[str, Any]], source: str) -> Iterator[Request]:
    head = next(lines, None)
    if head is None:
        return
    version = head.get("requests")
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise RequestsError(
            f"{source}: expected requests of format {FORMAT} or before, got {str(version)[:20]!r}. Read it with the"
            " version of Antiphon that wrote it."
        )
    parts: dict[int, Part] = {}
    try:
        for line in lines:
            if "part" in line:
                parts[line["part"]] = {name: value for name, value in line.items() if name != "part"}
            elif "request" in line:
                yield _request(line, parts)
    except (KeyError, TypeError) as error:
        raise RequestsError(f"{source}: {type(error).__name__}: {error}. Was it changed?") from None


_SETTINGS = ("tool_choice", "parallel_tool_calls", "response_format")


def _request(line: Mapping[str, Any], parts: Mapping[int, Part]) -> Request:
    return Request(
        number=line["request"],
        id=line["id"],
        agent=line["agent"],
        model=line["model"],
        at=line["at"],
        ended=line["ended"],
        parts=[parts[number] for number in line["parts"]],
        tools=[parts[number] for number in line["tools"]],
        settings={name: line[name] for name in _SETTINGS if name in line},
        outcome=line["outcome"],
        text=line["text"],
        calls=line["calls"],
        pieces=line["pieces"],
        error=line.get("error", ""),
        prompt_tokens=line.get("prompt_tokens"),
        completion_tokens=line.get("completion_tokens"),
    )
