"""OpenAI's models that hear and speak, by the events of its Realtime API.

Above: `antiphon.plugins.openai` (as `openai.realtime`). Below: `websocket`.

Theory of operation. What the session is told becomes client events, which one task sends in order; server events become
ours as they arrive. Two rules of the service shape this module. It gives one response at a time, so a response that is
asked for while another goes on waits here for the end of that one; if the service began one of its own in the meantime
and refuses, it is asked for again. And instructions of a response replace those of the session, so both are sent.

The service is told not to interrupt its responses by itself (`interrupt_response`): whether a voice means to interrupt
is the session's decision, which cancels the response and truncates what was said.

Sound is not acknowledged, so a service that is gone would not be missed while the caller is silent: it is pinged.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Any, cast, get_args
from urllib.parse import quote

from antiphon import realtime
from antiphon.audio import AudioFrame, Resampler
from antiphon.chat import ChatItem, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.errors import ProviderConnectionError, ProviderError, ToolRefused
from antiphon.options import NOT_GIVEN, NotGivenOr, ToolChoice, is_given
from antiphon.providers.openai_format import output_text, wire_call_id, wire_name, wire_tools
from antiphon.providers.refusals import refused_tool
from antiphon.providers.remote import RemoteProvider
from antiphon.providers.websocket import open_websocket, parsed, text_in, translated_errors, understood
from antiphon.realtime import RealtimeCapabilities, RealtimeEvent, RealtimeSetup, ResponseStatus
from antiphon.tools.function import Tool
from antiphon.visible import well_formed

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_logger = logging.getLogger("antiphon.realtime")

_RATE = 24_000
"""Hz of sound in both directions: the only rate of the service's PCM format."""
_BACKLOG = 10.0
"""Seconds of the caller's sound kept for a service that does not keep up. The oldest is dropped beyond that."""
_PING = 1.0
"""Seconds between two pings: one that is not answered is noticed within a sentence."""
_SILENCE = 0.5
"""Seconds of silence after which the service's detector ends a turn, unless it is told otherwise."""
_STATUSES: tuple[str, ...] = get_args(ResponseStatus)
_BUSY = "conversation_already_has_active_response"
_LATE_CANCEL = "response_cancel_not_active"
_EXPIRED = "session_expired"


class RealtimeModel(RemoteProvider, realtime.RealtimeModel):
    """A model that hears and speaks.

    Args:
        model: For example "gpt-realtime".
        voice: For example "marin". It cannot be changed once the model has spoken.
        modalities: ["audio"], or ["text"] for an agent with a voice of its own.
        turn_detection: How the service ends the caller's turns, by its own names; None: the session does. Its
            `interrupt_response` is always False.
        input_audio_transcription: What writes the caller's words down, by the service's own names; None: nothing.
        speed, max_output_tokens, noise_reduction: As the service has them.
        extra_session: More of the session's configuration, by the service's own names.
        api_key: The key; else the environment's OPENAI_API_KEY.
        base_url: For example "https://api.openai.com/v1"; else the environment's OPENAI_BASE_URL.
        timeout: Seconds to connect.
    """

    key_variable = "OPENAI_API_KEY"
    package = "websockets"
    extra = "openai"

    def __init__(
        self,
        *,
        model: str = "gpt-realtime",
        voice: str = "marin",
        modalities: Sequence[str] = ("audio",),
        turn_detection: NotGivenOr[Mapping[str, Any] | None] = NOT_GIVEN,
        input_audio_transcription: NotGivenOr[Mapping[str, Any] | None] = NOT_GIVEN,
        speed: float | None = None,
        max_output_tokens: int | None = None,
        noise_reduction: Mapping[str, Any] | None = None,
        extra_session: Mapping[str, Any] | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        self.model = model
        self._api_key = api_key
        self._base_url = base_url
        self.timeout = timeout
        detection = dict((turn_detection or {}) if is_given(turn_detection) else {"type": "server_vad"})
        if detection:
            detection = {"create_response": True, **detection, "interrupt_response": False}
        transcription = (
            input_audio_transcription if is_given(input_audio_transcription) else {"model": "gpt-4o-mini-transcribe"}
        )
        self.capabilities = RealtimeCapabilities(
            turn_detection=bool(detection),
            auto_reply=bool(detection.get("create_response")),
            user_transcription=transcription is not None,
            audio_output="audio" in modalities,
        )
        self.silence = detection.get("silence_duration_ms", 1000 * _SILENCE) / 1000
        """Seconds of silence after which the service's detector speaks up."""
        pcm = {"type": "audio/pcm", "rate": _RATE}
        self._configuration: dict[str, Any] = {
            "type": "realtime",
            "output_modalities": list(modalities),
            "audio": {
                "input": {
                    "format": pcm,
                    "turn_detection": detection or None,
                    "transcription": None if transcription is None else dict(transcription),
                    **({} if noise_reduction is None else {"noise_reduction": dict(noise_reduction)}),
                },
                "output": {"format": pcm, "voice": voice, **({} if speed is None else {"speed": speed})},
            },
            **({} if max_output_tokens is None else {"max_output_tokens": max_output_tokens}),
            **(extra_session or {}),
        }

    @property
    def url(self) -> str:
        """Where it connects."""
        base = self._base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        base = base.replace("https://", "wss://").replace("http://", "ws://").rstrip("/")
        base = base if base.endswith("/realtime") else f"{base}/realtime"
        return f"{base}?model={quote(self.model)}"

    def configuration(self, instructions: str, tools: Sequence[Tool]) -> dict[str, Any]:
        """The session as the service is told of it."""
        return {**self._configuration, "instructions": instructions, "tools": _tools(tools), "tool_choice": "auto"}

    async def connect(self) -> ClientConnection:
        """A connection. Raises `MissingKey`, `ProviderError`."""
        return await open_websocket(
            self.url,
            headers={"Authorization": f"Bearer {self.require()}"},
            timeout=self.timeout,
            provider=self.label,
            key_variable=self.key_variable,
        )

    def session(self, setup: RealtimeSetup) -> realtime.RealtimeSession:
        return _Session(self, setup)


@dataclass(slots=True)
class _Ask:
    """A response that is to be asked for."""

    request: str
    instructions: str | None
    tool_choice: ToolChoice | None


@dataclass(slots=True)
class _Said:
    """What was said in one response: the sound of each item, in bytes, in order."""

    items: dict[str, int] = field(default_factory=dict)


class _Outbox:
    """Client events on their way. Sound that a slow connection cannot take is dropped, oldest first."""

    def __init__(self) -> None:
        self._events: deque[tuple[str, int]] = deque()
        """Each with the bytes of sound in it."""
        self._sound = 0
        self._wake = asyncio.Event()

    def put(self, event: Mapping[str, Any], sound: int = 0) -> None:
        self._events.append((well_formed(json.dumps(event, ensure_ascii=False)), sound))
        self._sound += sound
        if self._sound > _BACKLOG * 2 * _RATE:
            self._drop_oldest()
        self._wake.set()

    def _drop_oldest(self) -> None:
        for at, (_, sound) in enumerate(self._events):
            if sound:
                self._sound -= sound
                del self._events[at]
                return

    async def get(self) -> str:
        while not self._events:
            self._wake.clear()
            await self._wake.wait()
        event, sound = self._events.popleft()
        self._sound -= sound
        return event


class _Session(realtime.RealtimeSession):
    """One conversation. A task of its own sends; it ends with the iteration."""

    def __init__(self, model: RealtimeModel, setup: RealtimeSetup) -> None:
        self._model = model
        self._instructions = setup.instructions
        self._closed = False
        self._connection: ClientConnection | None = None
        self._outbox = _Outbox()
        self._resampler = Resampler(_RATE)
        self._numbers = 0
        self._asks: deque[_Ask] = deque()
        """To be sent when the service is free."""
        self._asking: _Ask | None = None
        """Sent, and not begun."""
        self._active: str | None = None
        """The response that goes on."""
        self._said: dict[str, _Said] = {}
        """By response: the last few, which may still be truncated."""
        self._names: dict[str, str] = {}
        """By item: functions that are being called."""
        self._own_commits = 0
        self._words: dict[str, str] = {}
        """By item: the caller's words so far."""
        self._latest: float | None = None
        """When the service last showed that it is there."""
        self._has_begun = False
        """The service speaks the protocol, and does not only accept connections."""
        self._tools = list(setup.tools)
        self._refused_tools: set[str] = set()
        self._tools_event = ""
        """The last event that told the service of tools."""
        self._setup_event = ""
        self._set_up()
        self.add_items(setup.items)

    # -- in

    def _send(self, event: dict[str, Any], *, sound: int = 0) -> str:
        self._numbers += 1
        event.setdefault("event_id", f"event_{self._numbers}")
        if not self._closed:
            self._outbox.put(event, sound)
        return str(event["event_id"])

    def _set_up(self) -> None:
        setup = {"type": "session.update", "session": self._model.configuration(self._instructions, self._tools)}
        self._setup_event = self._tools_event = self._send(setup)

    def push_audio(self, frame: AudioFrame) -> None:
        if self._closed:
            return
        data = self._resampler.push(frame).data
        if data:
            audio = base64.b64encode(data).decode("ascii")
            self._send({"type": "input_audio_buffer.append", "audio": audio}, sound=len(data))

    def commit_audio(self) -> None:
        self._own_commits += 1
        self._send({"type": "input_audio_buffer.commit", "event_id": f"commit_{self._numbers}"})

    def clear_audio(self) -> None:
        self._send({"type": "input_audio_buffer.clear"})

    def update_instructions(self, instructions: str) -> None:
        self._instructions = instructions
        self._send({"type": "session.update", "session": {"type": "realtime", "instructions": instructions}})

    def update_tools(self, tools: Sequence[Tool]) -> None:
        self._tools = [tool for tool in tools if tool.id not in self._refused_tools]
        session = {"type": "realtime", "tools": _tools(self._tools)}
        self._tools_event = self._send({"type": "session.update", "session": session})

    def add_items(self, items: Sequence[ChatItem]) -> None:
        for item in items:
            made = _item(item)
            if made is not None:
                self._send({"type": "conversation.item.create", "item": made})

    def submit_outputs(self, outputs: Sequence[FunctionCallOutput], *, reply: bool = True) -> None:
        for output in outputs:
            item = {"type": "function_call_output", "call_id": output.call_id, "output": output_text(output)}
            self._send({"type": "conversation.item.create", "item": item})

    # -- responses

    def generate_reply(self, *, instructions: str | None = None, tool_choice: ToolChoice | None = None) -> str:
        self._numbers += 1
        ask = _Ask(f"request_{self._numbers}", instructions, tool_choice)
        self._asks.append(ask)
        self._ask_next()
        return ask.request

    def _ask_next(self) -> None:
        """Ask for the next response, if the service is free."""
        if self._active is not None or self._asking is not None or not self._asks:
            return
        ask = self._asking = self._asks.popleft()
        response: dict[str, Any] = {"metadata": {"request": ask.request}}
        if ask.instructions is not None:
            response["instructions"] = "\n\n".join(part for part in (self._instructions, ask.instructions) if part)
        if ask.tool_choice is not None:
            response["tool_choice"] = _tool_choice(ask.tool_choice)
        self._send({"type": "response.create", "event_id": ask.request, "response": response})

    def interrupt(self) -> None:
        if self._active is not None:
            self._send({"type": "response.cancel", "response_id": self._active})

    def truncate(self, response_id: str, audio_end: float) -> None:
        said = self._said.get(response_id)
        if said is None:
            return
        heard = 2 * round(audio_end * _RATE)
        for item_id, sound in said.items.items():
            if heard < sound:
                end = int(max(0, heard) / 2 / _RATE * 1000)
                self._send(
                    {
                        "type": "conversation.item.truncate",
                        "item_id": item_id,
                        "content_index": 0,
                        "audio_end_ms": end,
                    }
                )
            heard -= sound

    # -- out

    @property
    def silence(self) -> float | None:
        return None if self._latest is None else asyncio.get_running_loop().time() - self._latest

    def _shows_itself(self) -> None:
        self._latest = asyncio.get_running_loop().time()

    async def __aiter__(self) -> AsyncIterator[RealtimeEvent]:
        if self._closed:
            return
        self._shows_itself()
        connection = self._connection = await self._model.connect()
        tasks = [
            asyncio.create_task(self._pump(connection), name="openai.realtime sending"),
            asyncio.create_task(self._ping(connection), name="openai.realtime pinging"),
        ]
        try:
            with translated_errors(self._model.label, timeout=self._model.timeout):
                async for message in connection:
                    self._has_begun = True
                    self._shows_itself()
                    for event in self._hear(parsed(message, self._model.label)):
                        yield event
            if not self._closed:
                raise ProviderConnectionError(f"{self._model.label}: the service hung up.", provider=self._model.label)
        except ProviderError:
            if not self._closed:
                raise
        finally:
            self._closed = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            connection.transport.abort()

    async def _pump(self, connection: ClientConnection) -> None:
        while True:
            await connection.send(await self._outbox.get())

    async def _ping(self, connection: ClientConnection) -> None:
        while True:
            await asyncio.sleep(_PING)
            await (await connection.ping())
            if self._has_begun:
                self._shows_itself()

    async def aclose(self) -> None:
        self._closed = True
        if self._connection is not None:
            self._connection.transport.abort()

    def _hear(self, message: dict[str, Any]) -> list[RealtimeEvent]:
        with understood(message, self._model.label):
            return self._translated(message)

    def _translated(self, message: dict[str, Any]) -> list[RealtimeEvent]:
        match message.get("type"):
            case "response.output_audio.delta":
                sound = AudioFrame(base64.b64decode(text_in(message, "delta")), _RATE)
                response, item = text_in(message, "response_id"), text_in(message, "item_id")
                said = self._said.setdefault(response, _Said())
                said.items[item] = said.items.get(item, 0) + len(sound.data)
                return [realtime.AudioDelta(response, sound)]
            case "response.output_audio_transcript.delta" | "response.output_text.delta":
                return [realtime.TextDelta(text_in(message, "response_id"), text_in(message, "delta"))]
            case "response.created":
                return [self._created(message["response"])]
            case "response.done":
                return [self._done(message["response"])]
            case "response.output_item.added":
                if message["item"]["type"] == "function_call":
                    self._names[text_in(message["item"], "id")] = text_in(message["item"], "name")
            case "response.function_call_arguments.done":
                response, call = text_in(message, "response_id"), text_in(message, "call_id")
                name = self._names.pop(text_in(message, "item_id"), None) or text_in(message, "name")
                return [realtime.FunctionCallDone(response, call, name, text_in(message, "arguments"))]
            case "input_audio_buffer.speech_started":
                return [realtime.SpeechStarted()]
            case "input_audio_buffer.speech_stopped":
                return [realtime.SpeechStopped(self._model.silence)]
            case "input_audio_buffer.committed":
                return [self._committed(text_in(message, "item_id"))]
            case "conversation.item.input_audio_transcription.delta":
                item = text_in(message, "item_id")
                words = self._words[item] = self._words.get(item, "") + text_in(message, "delta")
                return [realtime.InputTranscribed(item, words, final=False)]
            case "conversation.item.input_audio_transcription.completed":
                item, words = text_in(message, "item_id"), text_in(message, "transcript").strip()
                self._words.pop(item, None)
                return [realtime.InputTranscribed(item, words)]
            case "conversation.item.input_audio_transcription.failed":
                _logger.warning("%s: the caller's words could not be transcribed", self._model.label)
                item = text_in(message, "item_id")
                return [realtime.InputTranscribed(item, self._words.pop(item, ""))]
            case "error":
                return self._refused(message["error"])
        return []

    def _committed(self, item_id: str) -> RealtimeEvent:
        own = self._own_commits > 0
        self._own_commits -= own
        free = self._active is None and self._asking is None
        return realtime.InputCommitted(item_id, answered=not own and free and self._model.capabilities.auto_reply)

    def _created(self, response: dict[str, Any]) -> RealtimeEvent:
        request = (response.get("metadata") or {}).get("request")
        if not isinstance(request, (str, NoneType)):
            raise TypeError(f"request: expected text, got {type(request).__name__}")
        response_id = self._active = text_in(response, "id")
        self._said[response_id] = _Said()
        while len(self._said) > 8:
            del self._said[next(iter(self._said))]
        if self._asking is not None and request == self._asking.request:
            self._asking = None
        return realtime.ResponseStarted(response_id, request)

    def _done(self, response: dict[str, Any]) -> RealtimeEvent:
        response_id, status = text_in(response, "id"), response.get("status") or "completed"
        if status not in _STATUSES:
            raise ValueError(f"status: expected one of {', '.join(_STATUSES)}, got {status!r}")
        error = None
        if status == "failed":
            details = (response.get("status_details") or {}).get("error") or {}
            error = self._error(details)
        if self._active == response_id:
            self._active = None
        self._ask_next()
        return realtime.ResponseDone(response_id, cast("ResponseStatus", status), error)

    def _refused(self, error: dict[str, Any]) -> list[RealtimeEvent]:
        code, about = error.get("code"), error.get("event_id")
        if code == _LATE_CANCEL:
            return []  # it ended by itself in the meantime
        if code == _EXPIRED:
            raise ProviderConnectionError(self._error(error).message, provider=self._model.label)
        if about is not None and about == self._tools_event and (refused := self._without_refused_tool(error)):
            return [realtime.Failed(refused)]
        if about == self._setup_event:
            raise ProviderError(self._error(error).message, provider=self._model.label, retryable=False)
        if about is not None and str(about).startswith("commit_"):
            self._own_commits = max(0, self._own_commits - 1)
        ask = self._asking
        if ask is not None and about == ask.request:
            self._asking = None
            if code == _BUSY:  # it began one by itself just now: ours comes after that
                self._asks.appendleft(ask)
                self._ask_next()
                return []
            self._ask_next()
            return [realtime.Failed(self._error(error), ask.request)]
        return [realtime.Failed(self._error(error))]

    def _without_refused_tool(self, error: Mapping[str, Any]) -> ToolRefused | None:
        """A session that is refused for the sake of one tool is asked for without it."""
        told = self._error(error).message
        tool = refused_tool(f"{told}\n{error.get('param')}", [tool.id for tool in self._tools])
        if tool is None:
            return None
        self._refused_tools.add(tool)
        self._tools = [one for one in self._tools if one.id != tool]
        if self._tools_event == self._setup_event:
            self._set_up()
        else:
            self.update_tools(self._tools)
        return ToolRefused(told, tool=tool, status=400, provider=self._model.label)

    def _error(self, error: Mapping[str, Any]) -> ProviderError:
        said = error.get("message") or error.get("code") or "no reason given"
        retryable = error.get("type") != "invalid_request_error"
        return ProviderError(
            f"{self._model.label}: the service says: {said}", provider=self._model.label, retryable=retryable
        )


def _tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    made = []
    for tool in wire_tools(tools, strict=False):
        function = {name: value for name, value in tool["function"].items() if name != "strict"}
        made.append({"type": "function", **function})
    return made


def _tool_choice(choice: ToolChoice) -> Any:
    if isinstance(choice, str):
        return choice
    return {"type": "function", "name": choice["function"]["name"]}


def _item(item: ChatItem) -> dict[str, Any] | None:
    match item:
        case ChatMessage():
            text = item.text_content
            if not text:
                return None
            kind = "output_text" if item.role == "assistant" else "input_text"
            role = "system" if item.role == "developer" else item.role
            return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        case FunctionCall():
            return {
                "type": "function_call",
                "call_id": wire_call_id(item.call_id),
                "name": wire_name(item.name),
                "arguments": item.arguments,
            }
        case FunctionCallOutput():
            return {"type": "function_call_output", "call_id": wire_call_id(item.call_id), "output": output_text(item)}
        case _:
            return None
