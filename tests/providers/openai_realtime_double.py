"""A double of OpenAI's Realtime service, for one connection of `WebSocketDouble`.

It checks every event of the client against the types of the `openai` package, and gives only events that those types
know. It refuses what the service refuses: a second response at a time, truncation past the end of what was said,
outputs of calls that were never made, a commit of nothing.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from openai.types.realtime import RealtimeClientEvent, RealtimeServerEvent
from pydantic import TypeAdapter

from antiphon.audio import AudioFrame
from antiphon.testing import FakeVAD, speech
from antiphon.testing.fakes import Reply
from antiphon.vad import SpeechEnded

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

RATE = 24_000
PACE = 40.0
"""Characters a second that it speaks."""

_CLIENT: TypeAdapter[Any] = TypeAdapter(RealtimeClientEvent)
_SERVER: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)


class Refused(Exception):
    """The client asked for what cannot be done."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class RealtimeDouble:
    """Serves connections, one after another, by one script: a turn for each response.

    `hears`: the words of each turn of the caller. `fails`: a response whose text is among these fails behind it.
    `breaks_off`: the connection is cut behind a response with this text. `refuses_setup`: `session.update` is an error.
    `refuses_tools`: it is, if one of these is among its tools.
    """

    def __init__(
        self,
        script: Iterable[str | Reply] = (),
        *,
        hears: Iterable[str] = (),
        fails: str = "",
        breaks_off: str = "",
        refuses_setup: bool = False,
        refuses_tools: Iterable[str] = (),
        transcription: float = 0.05,
        pause: float = 0.005,
    ) -> None:
        self.script = list(script)
        self.hears = list(hears)
        self.fails = fails
        self.breaks_off = breaks_off
        self.refuses_setup = refuses_setup
        self.refuses_tools = list(refuses_tools)
        self.transcription = transcription
        self.pause = pause
        self.received: list[dict[str, Any]] = []
        """Client events, without the caller's sound."""
        self.lines: list[_Line] = []
        self.calls = 0

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The client events of a type."""
        return [event for event in self.received if event["type"] == kind]

    async def __call__(self, connection: ServerConnection) -> None:
        line = _Line(self, connection)
        self.lines.append(line)
        await line.serve()


class _Line:
    def __init__(self, service: RealtimeDouble, connection: ServerConnection) -> None:
        self.service = service
        self.connection = connection
        self.session: dict[str, Any] = {"type": "realtime"}
        self.items: list[dict[str, Any]] = []
        """The conversation as the service knows it."""
        self._numbers = itertools.count(1)
        self._active: asyncio.Task[None] | None = None
        self._response: dict[str, Any] = {}
        self._spoken: dict[str, int] = {}
        """By item: bytes of sound."""
        self._input = 0
        self._vad = FakeVAD(stop_delay=0.2).stream()
        self._background: set[asyncio.Task[None]] = set()

    def _id(self, kind: str) -> str:
        return f"{kind}_{next(self._numbers)}"

    async def send(self, kind: str, **fields: Any) -> None:
        event = {"type": kind, "event_id": self._id("event"), **fields}
        made = _SERVER.validate_python(event)
        assert type(made).__name__ != "dict"
        await self.connection.send(json.dumps(event))

    async def serve(self) -> None:
        try:
            await self.send("session.created", session=self.session)
            async for message in self.connection:
                event = json.loads(message)
                _CLIENT.validate_json(message)
                if event["type"] != "input_audio_buffer.append":
                    self.service.received.append(event)
                try:
                    await self._take(event)
                except Refused as refused:
                    error = {
                        "type": "invalid_request_error",
                        "code": refused.code,
                        "message": str(refused),
                        "event_id": event.get("event_id"),
                    }
                    await self.send("error", error=error)
        finally:
            for task in [*self._background, self._active]:
                if task is not None:
                    task.cancel()

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _take(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "session.update":
                if self.service.refuses_setup:
                    raise Refused("invalid_value", "no such voice")
                for tool in event["session"].get("tools", ()):
                    if tool["name"] in self.service.refuses_tools:
                        raise Refused("invalid_function_parameters", f"Invalid schema for function '{tool['name']}'")
                self.session.update(event["session"])
                await self.send("session.updated", session=self.session)
            case "input_audio_buffer.append":
                await self._listen(base64.b64decode(event["audio"]))
            case "input_audio_buffer.commit":
                if not self._input:
                    raise Refused("input_audio_buffer_commit_empty", "buffer too small")
                await self._commit(respond=False)
            case "input_audio_buffer.clear":
                self._input = 0
                await self.send("input_audio_buffer.cleared")
            case "conversation.item.create":
                await self._create(event["item"])
            case "conversation.item.truncate":
                await self._truncate(event)
            case "response.create":
                await self._begin(event.get("response") or {})
            case "response.cancel":
                await self._cancel(event.get("response_id"))

    @property
    def _detection(self) -> dict[str, Any] | None:
        detection: dict[str, Any] | None = self.session.get("audio", {}).get("input", {}).get("turn_detection")
        return detection

    async def _listen(self, audio: bytes) -> None:
        self._input += len(audio)
        detection = self._detection
        if detection is None:
            return
        for heard in self._vad.push(AudioFrame(audio, RATE)):
            at = round(heard.at * 1000)
            item = self._id("item")
            if isinstance(heard, SpeechEnded):
                await self.send("input_audio_buffer.speech_stopped", audio_end_ms=at, item_id=item)
                await self._commit(respond=bool(detection.get("create_response", True)))
            else:
                await self.send("input_audio_buffer.speech_started", audio_start_ms=at, item_id=item)
                if detection.get("interrupt_response", True) and self._active is not None:
                    await self._cancel(None)

    async def _commit(self, *, respond: bool) -> None:
        self._input = 0
        item_id = self._id("item")
        words = self.service.hears.pop(0) if self.service.hears else ""
        await self.send("input_audio_buffer.committed", item_id=item_id, previous_item_id=None)
        self.items.append({"type": "message", "role": "user", "id": item_id, "heard": words})
        if self.session["audio"]["input"].get("transcription"):
            self._spawn(self._transcribe(item_id, words))
        if respond and self._active is None:
            await self._begin({})

    async def _transcribe(self, item_id: str, words: str) -> None:
        await asyncio.sleep(self.service.transcription)
        prefix = "conversation.item.input_audio_transcription"
        for piece in words.split():
            await self.send(f"{prefix}.delta", item_id=item_id, content_index=0, delta=f" {piece}")
        usage = {"type": "duration", "seconds": 1.0}
        await self.send(f"{prefix}.completed", item_id=item_id, content_index=0, transcript=f" {words}", usage=usage)

    async def _create(self, item: dict[str, Any]) -> None:
        if item["type"] == "function_call_output":
            made = {known["call_id"] for known in self.items if known["type"] == "function_call"}
            if item["call_id"] not in made:
                raise Refused("invalid_tool_call_id", f"no call {item['call_id']}")
        item = {"id": self._id("item"), **item}
        self.items.append(item)
        await self.send("conversation.item.added", item=item)

    async def _truncate(self, event: dict[str, Any]) -> None:
        sound = self._spoken.get(event["item_id"])
        if sound is None:
            raise Refused("item_truncate_invalid_item_id", f"no item {event['item_id']}")
        if event["audio_end_ms"] > sound / 2 / RATE * 1000:
            raise Refused("invalid_value", "the audio is shorter than that")
        for item in self.items:
            if item["id"] == event["item_id"]:
                item["cut_at"] = event["audio_end_ms"]
        await self.send(
            "conversation.item.truncated",
            item_id=event["item_id"],
            content_index=0,
            audio_end_ms=event["audio_end_ms"],
        )

    # -- responses

    async def _begin(self, wanted: dict[str, Any]) -> None:
        if self._active is not None:
            raise Refused("conversation_already_has_active_response", "one response at a time")
        self._response = {
            "object": "realtime.response",
            "id": self._id("resp"),
            "status": "in_progress",
            "metadata": wanted.get("metadata"),
        }
        turn = self.service.script.pop(0) if self.service.script else ""
        await self.send("response.created", response=self._response)
        self._active = asyncio.create_task(self._respond(turn if isinstance(turn, Reply) else Reply(turn)))

    async def _respond(self, turn: Reply) -> None:
        about = {"response_id": self._response["id"], "output_index": 0}
        if turn.text:
            await self._speak(turn.text, about)
        for number, call in enumerate(turn.calls):
            assert isinstance(call, tuple)
            await self._call(call, {**about, "output_index": number + 1})
        if self.service.breaks_off and self.service.breaks_off == turn.text:
            self.connection.transport.abort()
            return
        if self.service.fails and self.service.fails == turn.text:
            error = {"type": "server_error", "code": "server_error", "message": "the model fell over"}
            await self._done("failed", {"type": "failed", "error": error})
        else:
            await self._done("completed")

    async def _speak(self, text: str, about: dict[str, Any]) -> None:
        item = {"id": self._id("item"), "type": "message", "role": "assistant", "content": []}
        self.items.append({**item, "text": text})
        await self.send("response.output_item.added", item=item, **about)
        part = {**about, "item_id": item["id"], "content_index": 0}
        text_only = self.session.get("output_modalities") == ["text"]
        for word in _words(text):
            if text_only:
                await self.send("response.output_text.delta", delta=word, **part)
                continue
            await self.send("response.output_audio_transcript.delta", delta=word, **part)
            data = speech(len(word) / PACE, RATE).data
            self._spoken[str(item["id"])] = self._spoken.get(str(item["id"]), 0) + len(data)
            await self.send("response.output_audio.delta", delta=base64.b64encode(data).decode(), **part)
            await asyncio.sleep(self.service.pause)

    async def _call(self, call: tuple[str, Any], about: dict[str, Any]) -> None:
        name, arguments = call
        self.service.calls += 1
        item = {
            "id": self._id("item"),
            "type": "function_call",
            "call_id": f"call_{self.service.calls}",
            "name": name,
            "arguments": json.dumps(arguments),
        }
        self.items.append(item)
        await self.send("response.output_item.added", item={**item, "arguments": ""}, **about)
        done = {key: item[key] for key in ("call_id", "name", "arguments")}
        await self.send("response.function_call_arguments.done", item_id=item["id"], **done, **about)

    async def _done(self, status: str, details: dict[str, Any] | None = None) -> None:
        self._active = None
        await self.send("response.done", response={**self._response, "status": status, "status_details": details})

    async def _cancel(self, response_id: str | None) -> None:
        if self._active is None or response_id not in (None, self._response["id"]):
            raise Refused("response_cancel_not_active", "nothing to cancel")
        self._active.cancel()
        await self._done("cancelled", {"type": "cancelled", "reason": "client_cancelled"})


def _words(text: str) -> Sequence[str]:
    return [word if number == 0 else f" {word}" for number, word in enumerate(text.split(" "))]
