"""Antiphon's adapter for the overhead benchmark: the shared fakes behind its LLM, STT, TTS, VAD and transport.

The harness (`common`, with the workloads w1 to w7) runs one adapter for each framework on identical fake providers;
copy this file beside them and add `"antiphon": "peer_antiphon"` to `PEERS`.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import common as c  # type: ignore[import-not-found]

from antiphon import Agent, AgentSession, function_tool
from antiphon.audio import AudioFrame
from antiphon.chat import ChatContext, ChatMessage, FunctionCallOutput
from antiphon.llm import LLM, ChatChunk, ChoiceDelta, FunctionToolCall
from antiphon.options import Endpointing, Interruption, TurnHandling
from antiphon.server.memory import settle_memory
from antiphon.stt import STT, SpeechEvent, STTStream
from antiphon.tools.toolset import ToolContext
from antiphon.transport import AudioInput, AudioOutput
from antiphon.tts import TTS, SynthesizedAudio
from antiphon.vad import VAD, SpeechEnded, SpeechStarted, VADStream

MAIN_MODULE = "antiphon"


class _LLM(LLM):
    def __init__(self, timing: Any, talk_first: bool = False) -> None:
        self.timing, self.talk_first, self.calls = timing, talk_first, 0

    async def generate(self, request: Any) -> Any:
        self.calls += 1
        rid = f"r{self.calls}"
        after_tool = isinstance(request.chat_ctx.items[-1], FunctionCallOutput)
        if after_tool or self.talk_first:
            async for token in c.llm_text(self.timing):
                yield ChatChunk(rid, ChoiceDelta(content=token))
        if not after_tool:
            name = args = call_id = ""
            timing = c.same_stream(self.timing) if self.talk_first else self.timing
            async for call_id, n, piece in c.llm_tool_call(timing, f"c{self.calls}"):  # noqa: B007
                name += n
                args += piece
            yield ChatChunk(rid, ChoiceDelta(tool_calls=(FunctionToolCall(name, args, call_id),)))


class _TextAgent(Agent):
    def __init__(self) -> None:
        super().__init__(instructions=c.INSTRUCTIONS)

    @function_tool
    async def get_weather(self, city: str, unit: str) -> str:
        """Get the current weather in a city."""
        return str(c.TOOL_RESULT)


class _TextSession:
    def __init__(self, timing: Any) -> None:
        self.session: AgentSession[Any] = AgentSession(llm=_LLM(timing))
        self.reply_count = 0
        self.session.on("conversation_item_added", self._on_item)

    def _on_item(self, event: Any) -> None:
        item = event.item
        if isinstance(item, ChatMessage) and item.role == "assistant" and item.text_content:
            assert item.text_content == c.REPLY_TEXT
            self.reply_count += 1

    async def turn(self, text: str) -> None:
        await self.session.generate_reply(user_input=text)

    async def close(self) -> None:
        await self.session.aclose()


_settled: list[bool] = []


def _settle() -> None:
    """What the server does in a process of calls, once."""
    if not _settled:
        _settled.append(True)
        settle_memory()


async def text_session(timing: Any) -> _TextSession:
    session = _TextSession(timing)
    await session.session.start(_TextAgent())
    _settle()
    return session


# -- voice


class _VADStream(VADStream):
    def __init__(self, core: Any, stop: float) -> None:
        self.core = core
        self.stop = stop
        self.heard = 0.0

    def push(self, frame: AudioFrame) -> Any:
        self.heard += frame.duration
        events: list[Any] = []
        for kind, _ in self.core.feed(frame.data):
            if kind == "start":
                events.append(SpeechStarted(self.heard))
            elif kind == "stop":
                events.append(SpeechEnded(self.heard - self.stop))
        return events


class _VAD(VAD):
    def __init__(self, core: Any, stop: float) -> None:
        self.core = core
        self.stop = stop

    def stream(self) -> VADStream:
        return _VADStream(self.core, self.stop)


class _STTStream(STTStream):
    def __init__(self, cfg: Any) -> None:
        self.events: asyncio.Queue[SpeechEvent | None] = asyncio.Queue()
        self.core = c.STTCore(cfg, lambda text: self.events.put_nowait(SpeechEvent.final(text)))

    def push(self, frame: AudioFrame) -> None:
        self.core.feed(frame.data)

    async def __aiter__(self) -> Any:
        while (event := await self.events.get()) is not None:
            yield event

    async def aclose(self) -> None:
        self.events.put_nowait(None)


class _STT(STT):
    def __init__(self, cfg: Any) -> None:
        self.cfg = cfg

    def stream(self) -> STTStream:
        return _STTStream(self.cfg)


class _TTS(TTS):
    def __init__(self, cfg: Any) -> None:
        self.cfg = cfg
        self.sample_rate = c.OUT_RATE

    async def synthesize(self, text: str) -> Any:
        async for chunk in c.tts_chunks(self.cfg):
            yield SynthesizedAudio(AudioFrame(chunk, c.OUT_RATE), text)
            text = ""


class _Input(AudioInput):
    def start(self, on_frame: Any, on_end: Any) -> None:
        self.on_frame = on_frame

    def push(self, pcm: bytes) -> None:
        self.on_frame(AudioFrame(pcm, c.IN_RATE))


class _Output(AudioOutput):
    sample_rate = c.OUT_RATE
    lead = 0.2

    def __init__(self, sink: Any) -> None:
        self.sink = sink
        self.written = 0.0
        self._pending: list[bytes] = []

    def write(self, frame: AudioFrame) -> None:
        if self.sink.remaining <= 0:
            self.sink.end_segment()  # what was said before has been played
        self.written += frame.duration
        data = frame.data
        for start in range(0, len(data), c.OUT_FRAME_BYTES):
            _run_now(self.sink.push(len(data[start : start + c.OUT_FRAME_BYTES])))

    @property
    def played(self) -> float:
        return float(max(0.0, self.written - self.sink.remaining))

    def pause(self) -> None:
        self.sink.clear()

    def resume(self) -> None: ...

    def clear(self) -> float:
        left = float(self.sink.remaining)
        self.sink.clear()
        self.written -= left
        return left


def _run_now(coroutine: Any) -> None:
    """Run a coroutine that has no reason to wait: the session never writes further ahead than the sink takes."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise AssertionError("the sink made the session wait")


class _VoiceCall:
    def __init__(self, cfg: Any) -> None:
        self.cfg = cfg
        self.sink = c.Sink(cfg)
        self.vad = c.VADCore(cfg)
        self.tool_started_at: list[float] = []
        self.tool_cancelled_at: list[float] = []
        self.input = _Input()
        self.session: AgentSession[Any] = AgentSession(
            llm=_LLM(cfg.llm, talk_first=bool(cfg.slow_tool)),
            stt=_STT(cfg),
            tts=_TTS(cfg),
            vad=_VAD(self.vad, cfg.vad_stop),
            max_silence=None,  # the others say nothing while a tool runs
            turn_handling=TurnHandling(
                endpointing=Endpointing(min_delay=cfg.endpointing, max_delay=cfg.endpointing),
                interruption=Interruption(cancel_after=0.0),
            ),
        )

    def push(self, pcm: bytes) -> None:
        self.input.push(pcm)

    def agent(self) -> Agent:
        call = self

        @function_tool(effect="reads")
        async def get_weather(city: str, unit: str) -> str:
            """Get the current weather in a city."""
            call.tool_started_at.append(time.perf_counter())
            try:
                if call.cfg.slow_tool:
                    await asyncio.sleep(call.cfg.slow_tool)
            except asyncio.CancelledError:
                call.tool_cancelled_at.append(time.perf_counter())
                raise
            return str(c.TOOL_RESULT)

        return Agent(instructions=c.INSTRUCTIONS, tools=[get_weather])

    async def close(self) -> None:
        await self.session.aclose()


async def voice_call(cfg: Any, fail: Any = None) -> _VoiceCall:
    call = _VoiceCall(cfg)
    await call.session.start(call.agent(), input=call.input, output=_Output(call.sink))
    return call


# -- tools, history


def tool_functions(n: int) -> list[Any]:
    return list(c.make_tool_functions(n))


def build_tools(fns: list[Any]) -> list[Any]:
    tools = [function_tool(f) for f in fns]
    ToolContext(tools).check()
    return tools


_tables: dict[int, ToolContext] = {}


def provider_schema(tools: list[Any]) -> Any:
    """What a request pays: the session holds the table of its agent's tools, the provider makes its list of them."""
    from antiphon.providers.openai_format import wire_tools

    table = _tables.get(id(tools))
    if table is None:
        table = _tables[id(tools)] = ToolContext(tools)
    return wire_tools(table.flatten(), strict=True)


def history_new(n: int) -> ChatContext:
    context = ChatContext()
    roles: tuple[Any, ...] = ("user", "assistant")
    for i in range(n):
        context.add_message(role=roles[i % 2], content=f"message number {i} of the history")
    return context


def history_copy(h: ChatContext) -> ChatContext:
    return h.copy()


def history_append(h: ChatContext, i: int) -> None:
    h.add_message(role="user", content=f"appended {i}")


def history_serialise(h: ChatContext) -> str:
    from antiphon.providers.openai_format import wire_messages

    return json.dumps(wire_messages(h))
