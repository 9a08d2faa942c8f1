"""A model that hears and speaks by a script: the stand-in for `RealtimeModel`.

It keeps its own picture of the conversation, as a model at the far end of a line would: what it was told, what it
heard, what it said and how much of that it was told was heard. It never sees the session's history.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from antiphon.audio import AudioFrame
from antiphon.chat import ChatContext, ChatItem, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.errors import ProviderConnectionError, ProviderError
from antiphon.llm import FunctionToolCall
from antiphon.options import ToolChoice
from antiphon.realtime import (
    AudioDelta,
    FunctionCallDone,
    InputCommitted,
    InputTranscribed,
    RealtimeCapabilities,
    RealtimeEvent,
    RealtimeModel,
    RealtimeSession,
    RealtimeSetup,
    ResponseDone,
    ResponseStarted,
    SpeechStarted,
    SpeechStopped,
    TextDelta,
)
from antiphon.testing.audio import speech
from antiphon.testing.caller import Caller, Ear
from antiphon.testing.fakes import Fail, FakeVAD, Hang, Reply, ScriptExhausted
from antiphon.testing.history import transcript
from antiphon.testing.outlet import Outlet
from antiphon.text import word_spans
from antiphon.tools.function import Tool
from antiphon.vad import SpeechEnded

RATE = 24_000
"""Hz of its voice."""

PACE = 15.0
"""Characters a second that it speaks."""


@dataclass(slots=True, frozen=True)
class Break:
    """The connection breaks: the session raises `error` after `text` was said."""

    error: Exception
    text: str = ""


RealtimeTurn: TypeAlias = str | Reply | Fail | Hang | Break
"""What the model does in a response. A `Fail` is a response that failed; the session goes on."""


@dataclass(slots=True, frozen=True)
class RealtimeRequest:
    """A response that the model gave, as it began."""

    unasked: bool
    instructions: str | None
    tool_choice: ToolChoice | None
    conversation: list[str]
    """What the model knew, as lines (see `transcript`)."""
    session_instructions: str = ""
    """Those of the session, beside which `instructions` count."""
    items: Sequence[ChatItem] = ()
    """What the model knew."""
    tools: Sequence[Tool] = ()
    """Those that it may call."""


RealtimeScript: TypeAlias = Iterable[RealtimeTurn] | Callable[[RealtimeRequest], RealtimeTurn]
"""What the model does, in order, or as a function of what it is asked."""


@dataclass(slots=True)
class _Answer:
    id: str
    request: str | None
    task: asyncio.Task[None] | None = None
    said: ChatMessage | None = None


class FakeRealtimeModel(RealtimeModel):
    """A model that answers by a script and hears what it is told to hear.

    `script` has one turn for each response, asked for or not, or is a function of the request. `hears` has the words of
    each turn of the caller; turns beyond it are "". A `Caller` there is understood by the sound. `ttft`: seconds to the
    first sound of a response. It speaks `speed` times as fast as it sounds. `silence`: seconds of silence after which
    it ends the caller's turn, if it does; the words come `delay` seconds later. `stubborn`: it answers results of tools
    also where no answer is wanted.
    """

    model = "fake"

    def __init__(
        self,
        script: RealtimeScript = (),
        *,
        hears: Iterable[str] | Caller = (),
        capabilities: RealtimeCapabilities | None = None,
        ttft: float = 0.1,
        speed: float = 10.0,
        silence: float = 0.5,
        delay: float = 0.3,
        stubborn: bool = False,
    ) -> None:
        self.capabilities = capabilities or RealtimeCapabilities()
        self.script: list[RealtimeTurn] = [] if callable(script) else list(script)
        """Turns that were not used yet. Empty where a function makes them."""
        self.respond = script if callable(script) else None
        """Makes the turns."""
        self.hears: list[str] = [] if isinstance(hears, Caller) else list(hears)
        self.caller = hears if isinstance(hears, Caller) else None
        """Whose sound is understood."""
        self.sessions: list[FakeRealtimeSession] = []
        """All that were opened, oldest first."""
        self.requests: list[RealtimeRequest] = []
        """The responses that it gave."""
        self.closed = False
        self.ttft = ttft
        self.speed = speed
        self.silence = silence
        self.delay = delay
        self.stubborn = stubborn
        self.calls = 0

    def session(self, setup: RealtimeSetup) -> FakeRealtimeSession:
        session = FakeRealtimeSession(self, setup)
        self.sessions.append(session)
        return session

    async def aclose(self) -> None:
        self.closed = True


class FakeRealtimeSession(RealtimeSession):
    """One conversation of a `FakeRealtimeModel`."""

    def __init__(self, model: FakeRealtimeModel, setup: RealtimeSetup) -> None:
        self.instructions = setup.instructions
        self.tools: Sequence[Tool] = setup.tools
        self.chat_ctx = ChatContext(list(setup.items))
        """The conversation as the model knows it."""
        self.truncated: list[tuple[str, float]] = []
        """(response, seconds heard)."""
        self.interruptions = 0
        self.pushed = 0.0
        """Seconds of sound that came."""
        self.closed = False
        self._model = model
        self._can = model.capabilities
        self._vad = FakeVAD(stop_delay=model.silence).stream()
        self._events: Outlet[RealtimeEvent] = Outlet()
        self._active: _Answer | None = None
        self._waiting: list[tuple[str | None, str | None, ToolChoice | None]] = []
        self._requests = 0
        self._heard = False
        """Sound came since the last turn."""
        self._ear = None if model.caller is None else Ear(model.caller)
        self._words: list[str] = []
        """Those that the ear heard since the last turn."""
        self._items = 0
        self._messages: dict[str, tuple[ChatMessage, str]] = {}
        """By response: what was said in it, and all of its text."""

    # -- the caller

    def push_audio(self, frame: AudioFrame) -> None:
        if self.closed:
            return
        self.pushed += frame.duration
        self._heard = self._heard or frame.data.count(0) != len(frame.data)
        if self._ear is not None:
            self._words += (word for _, word in self._ear.hear(frame))
        if not self._can.turn_detection:
            return
        for event in self._vad.push(frame):
            if isinstance(event, SpeechEnded):
                self._give(SpeechStopped(self._model.silence))
                self._commit(answered=self._can.auto_reply and self._active is None)
            else:
                self._give(SpeechStarted())

    def commit_audio(self) -> None:
        if not self.closed and self._heard:
            self._commit(answered=False)

    def _commit(self, *, answered: bool) -> None:
        self._heard = False
        self._items += 1
        item_id = f"item_{self._items}"
        words = self._take_words()
        self.chat_ctx.add_message(role="user", content=f"({words})")
        self._give(InputCommitted(item_id, answered))
        if self._can.user_transcription:
            self._events.give(InputTranscribed(item_id, words), after=self._model.delay)
        if answered:
            self._ask(None, None, None)

    def _take_words(self) -> str:
        if self._ear is None:
            return self._model.hears.pop(0) if self._model.hears else ""
        words, self._words = self._words, []
        return " ".join(words)

    def clear_audio(self) -> None:
        self._heard = False
        self._vad = FakeVAD(stop_delay=self._model.silence).stream()
        self._words.clear()
        if self._ear is not None:
            self._ear.forget()

    # -- what it knows

    def update_instructions(self, instructions: str) -> None:
        self._must(self._can.mutable_instructions, "update_instructions", "mutable_instructions")
        self.instructions = instructions

    def update_tools(self, tools: Sequence[Tool]) -> None:
        self._must(self._can.mutable_tools, "update_tools", "mutable_tools")
        self.tools = tools

    def add_items(self, items: Sequence[ChatItem]) -> None:
        self._must(self._can.mutable_chat_context, "add_items", "mutable_chat_context")
        self.chat_ctx.items.extend(items)

    def submit_outputs(self, outputs: Sequence[FunctionCallOutput], *, reply: bool = True) -> None:
        open_calls = {item.call_id for item in self.chat_ctx.items if isinstance(item, FunctionCall)}
        answered = {item.call_id for item in self.chat_ctx.items if isinstance(item, FunctionCallOutput)}
        for output in outputs:
            if output.call_id not in open_calls - answered:
                self._complain(f"submit_outputs: {output.call_id!r} is no call without an output")
        self.chat_ctx.items.extend(outputs)
        if self._can.auto_tool_reply_generation and (reply or self._model.stubborn):
            self._ask(None, None, None)

    def _must(self, allowed: bool, method: str, capability: str) -> None:
        if not allowed:
            self._complain(f"{method}: the model's capabilities say {capability}=False")

    def _complain(self, what: str) -> None:
        error = AssertionError(f"FakeRealtimeSession.{what}")
        asyncio.get_running_loop().call_exception_handler({"message": "FakeRealtimeModel", "exception": error})

    # -- responses

    def generate_reply(self, *, instructions: str | None = None, tool_choice: ToolChoice | None = None) -> str:
        self._requests += 1
        request = f"request_{self._requests}"
        if not self.closed:
            self._ask(request, instructions, tool_choice)
        return request

    def speak_up(self) -> None:
        """Begin a response of its own accord, by the next turn of the script."""
        self._ask(None, None, None)

    def _ask(self, request: str | None, instructions: str | None, choice: ToolChoice | None) -> None:
        self._waiting.append((request, instructions, choice))
        if self._active is None:
            self._next()

    def _next(self) -> None:
        if not self._waiting or self.closed:
            return
        request, instructions, choice = self._waiting.pop(0)
        asked = RealtimeRequest(
            request is None,
            instructions,
            choice,
            transcript(self.chat_ctx),
            self.instructions,
            list(self.chat_ctx.items),
            self.tools,
        )
        self._model.requests.append(asked)
        number = len(self._model.requests)
        answer = self._active = _Answer(f"response_{number}", request)
        if not self._model.script and self._model.respond is None:
            error = ScriptExhausted(f"FakeRealtimeModel: the script has no turn for response {number}")
            asyncio.get_running_loop().call_exception_handler({"message": "FakeRealtimeModel", "exception": error})
            self._model.script.append("")
        turn = self._model.script.pop(0) if self._model.respond is None else self._model.respond(asked)
        self._give(ResponseStarted(answer.id, request))
        answer.task = asyncio.get_running_loop().create_task(self._answer(answer, turn), name="FakeRealtimeModel")

    async def _answer(self, answer: _Answer, turn: RealtimeTurn) -> None:
        given = turn if isinstance(turn, Reply) else Reply(turn if isinstance(turn, str) else turn.text)
        await asyncio.sleep(self._model.ttft if given.ttft is None else given.ttft)
        await self._speak(answer, given.text)
        for call in given.calls:
            self._call(answer, call)
        match turn:
            case Hang():
                await asyncio.get_running_loop().create_future()
            case Fail(error, _, after):
                await asyncio.sleep(after)
                self._end(answer, ResponseDone(answer.id, "failed", error))
            case Break(error):
                self._active = None
                self._events.give(error)
            case _:
                self._end(answer, ResponseDone(answer.id))

    async def _speak(self, answer: _Answer, text: str) -> None:
        for word in _words(text):
            if answer.said is None:
                answer.said = self.chat_ctx.add_message(role="assistant", content="")
            said = str(answer.said.content[0]) + word
            answer.said.content = [said]
            self._messages[answer.id] = answer.said, said
            self._give(TextDelta(answer.id, word))
            if self._can.audio_output:
                sound = speech(len(word) / PACE, RATE)
                self._give(AudioDelta(answer.id, sound))
                await asyncio.sleep(sound.duration / self._model.speed)

    def _call(self, answer: _Answer, call: tuple[str, Mapping[str, Any] | str] | FunctionToolCall) -> None:
        if not isinstance(call, FunctionToolCall):
            self._model.calls += 1
            name, given = call
            arguments = given if isinstance(given, str) else json.dumps(given)
            call = FunctionToolCall(name, arguments, f"call_{self._model.calls}")
        self.chat_ctx.items.append(FunctionCall(call_id=call.call_id, name=call.name, arguments=call.arguments))
        self._give(FunctionCallDone(answer.id, call.call_id, call.name, call.arguments))

    def _end(self, answer: _Answer, done: ResponseDone) -> None:
        self._give(done)
        if self._active is answer:
            self._active = None
            self._next()

    def interrupt(self) -> None:
        answer = self._active
        if answer is None or self.closed:
            return
        self.interruptions += 1
        if answer.task is not None:
            answer.task.cancel()
        self._end(answer, ResponseDone(answer.id, "cancelled"))

    def truncate(self, response_id: str, audio_end: float) -> None:
        self._must(self._can.message_truncation, "truncate", "message_truncation")
        self.truncated.append((response_id, audio_end))
        message, text = self._messages.get(response_id, (None, ""))
        if message is not None:
            heard = [end for begin, end in word_spans(text) if (begin + end) / 2 < audio_end * PACE]
            message.content = [text[: heard[-1]] if heard else ""]

    # -- events

    def _give(self, event: RealtimeEvent) -> None:
        if not self.closed:
            self._events.give(event)

    def hang_up(self, error: ProviderError | None = None) -> None:
        """Break the connection, for this reason: by default one after which another try is worth while."""
        self._events.give(error or ProviderConnectionError("FakeRealtimeModel: the connection broke"))

    def __aiter__(self) -> AsyncIterator[RealtimeEvent]:
        return self._events.read(self.aclose)

    async def aclose(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._events.cut()
        answer, self._active = self._active, None
        if answer is not None and answer.task is not None and answer.task is not asyncio.current_task():
            answer.task.cancel()
            await asyncio.gather(answer.task, return_exceptions=True)


def _words(text: str) -> list[str]:
    words = text.split(" ")
    return [word if number == 0 else f" {word}" for number, word in enumerate(words)] if text else []
