"""Any plugin of LiveKit's `livekit-agents` as a provider of ours: some seventy vendors.

    from livekit.plugins import cartesia, deepgram, openai
    from antiphon.providers import livekit_plugin

    session = AgentSession(
        stt=livekit_plugin.STT(deepgram.STT()),
        llm=livekit_plugin.LLM(openai.LLM()),
        tts=livekit_plugin.TTS(cartesia.TTS()),
    )

The plugin is wrapped at the border: nothing of ours is known to it, and its errors are ours behind it. Detectors of
voices and realtime models are not wrapped: the first answer later than the frame that they heard, which interruptions
cannot wait for, and the second keep a history of their own. Use `antiphon.providers.local.SileroVAD`, and
`antiphon.providers.openai_realtime`.

Above: agents that are written for Antiphon. Below: the real `livekit.agents`, which is imported at first use. A file
that is written for LiveKit has our `livekit.agents` instead; the two are never mixed in one process.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import importlib
import inspect
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from typing import Any, TypeVar

from antiphon import llm, stt, tts
from antiphon.adapters.stream import StreamAdapter, StreamOptions
from antiphon.audio import AudioFrame
from antiphon.chat import new_id
from antiphon.errors import (
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
    ProviderTimeout,
    UsageError,
    pass_on,
)
from antiphon.model import Model
from antiphon.options import is_given
from antiphon.providers.openai_format import own_call_id, wire_messages, wire_tools
from antiphon.providers.refusals import naming_refusals

T = TypeVar("T")

_EARLY_FRAMES = 1_500
"""Frames that a recogniser keeps until its connection is being opened: half a minute of the usual 20 ms."""


class _Plugin(Model):
    """What wraps a plugin: its name, its network, its end."""

    def __init__(self, plugin: Any, kind: str) -> None:
        agents = _livekit_agents()
        wanted = getattr(getattr(agents, kind.lower()), kind)
        if not isinstance(plugin, wanted):
            raise UsageError(
                f"livekit_plugin.{kind}: expected a {kind} of livekit.agents, got {type(plugin).__name__}."
                f" Give an object of a plugin, such as livekit.plugins.openai.{kind}()."
            )
        self._agents = agents
        self._plugin = plugin
        self._network = _Network()

    @property
    def label(self) -> str:
        return f"livekit_plugin.{type(self).__name__}({self._plugin.label})"

    async def prewarm(self) -> None:
        """As the plugin does."""
        done = (await self._network.context()).run(self._plugin.prewarm)
        if inspect.isawaitable(done):
            await done

    async def aclose(self) -> None:
        """Close the plugin, and its connections."""
        with _translated(self):
            await self._plugin.aclose()
        await self._network.aclose()

    async def _begin(self, make: Callable[..., T], *args: Any, **options: Any) -> T:
        """Call a method of the plugin where it finds what it takes from LiveKit's jobs elsewhere."""
        return (await self._network.context()).run(functools.partial(make, *args, **options))


class LLM(_Plugin, llm.LLM):
    """A language model of a LiveKit plugin. Raises `UsageError` for what is none."""

    def __init__(self, plugin: Any) -> None:
        super().__init__(plugin, "LLM")
        self.model = str(plugin.model)
        if llm.does_reason(self.model):
            self.first_chunk_timeout = llm.REASONING_TIMEOUT

    async def generate(self, request: llm.ChatRequest) -> AsyncGenerator[llm.ChatChunk, None]:
        options = self._options(request)
        response = new_id("response")
        with naming_refusals(request.tools), _translated(self):
            stream = await self._begin(self._plugin.chat, **options)
            try:
                async for chunk in stream:
                    yield _chunk(response, chunk)
            finally:
                await stream.aclose()

    def _options(self, request: llm.ChatRequest) -> dict[str, Any]:
        options: dict[str, Any] = {
            "chat_ctx": _chat_context(self._agents, wire_messages(request.chat_ctx)),
            "tools": [_tool(self._agents, tool["function"]) for tool in wire_tools(request.tools, strict=False)],
            "conn_options": self._agents.APIConnectOptions(max_retry=1, timeout=self.first_chunk_timeout),
        }
        if request.tools:
            if is_given(request.parallel_tool_calls):
                options["parallel_tool_calls"] = request.parallel_tool_calls
            if is_given(request.tool_choice):
                options["tool_choice"] = request.tool_choice
        if request.extra_kwargs:
            options["extra_kwargs"] = dict(request.extra_kwargs)
        if is_given(request.response_format):
            if "response_format" not in inspect.signature(self._plugin.chat).parameters:
                raise UsageError(f"{self.label}: this plugin knows no response_format. Leave it out, or use another.")
            options["response_format"] = request.response_format
        return options


class TTS(_Plugin, tts.TTS):
    """A voice of a LiveKit plugin. Sentences are spoken one by one. Raises `UsageError` for what is none."""

    def __init__(self, plugin: Any) -> None:
        super().__init__(plugin, "TTS")
        self.sample_rate = int(plugin.sample_rate)

    async def synthesize(self, text: str) -> AsyncGenerator[tts.SynthesizedAudio, None]:
        if not text.strip():
            return
        said = text
        with _translated(self):
            stream = await self._begin(self._spoken, text)
            try:
                async for audio in stream:
                    frame = _our_frame(audio.frame)
                    if frame.data:
                        yield tts.SynthesizedAudio(frame, said)
                        said = ""
            finally:
                await stream.aclose()
        if said:
            raise ProviderConnectionError(f"{self.label}: it sent no sound for {text!r}.", provider=self.label)

    def _spoken(self, text: str) -> Any:
        options = self._agents.APIConnectOptions(max_retry=1)
        try:
            return self._plugin.synthesize(text, conn_options=options)
        except NotImplementedError:  # it takes text piece by piece, and in no other way
            stream = self._plugin.stream(conn_options=options)
            stream.push_text(text)
            stream.end_input()
            return stream


class STT(_Plugin, stt.STT):
    """A recogniser of a LiveKit plugin. Raises `UsageError` for what is none.

    One that takes whole utterances needs a voice activity detector in the session.
    """

    def __init__(self, plugin: Any) -> None:
        super().__init__(plugin, "STT")
        self._adapter = None if plugin.capabilities.streaming else StreamAdapter(self, StreamOptions(pause=0.2))

    def stream(self) -> stt.STTStream:
        return _STTStream(self) if self._adapter is None else self._adapter.stream()

    async def recognize(self, audio: AudioFrame) -> str:
        """What is said in `audio`. Raises `ProviderError`."""
        with _translated(self):
            heard = await asyncio.create_task(
                self._plugin.recognize([_their_frame(audio)]), context=await self._network.context()
            )
        return heard.alternatives[0].text.strip() if heard.alternatives else ""

    async def opened(self) -> Any:
        """A stream of the plugin."""
        return await self._begin(self._plugin.stream)


class _STTStream(stt.STTStream):
    """A stream of a plugin, which is opened when somebody listens. Frames before that wait."""

    def __init__(self, recogniser: STT) -> None:
        self._recogniser = recogniser
        self._early: deque[AudioFrame] = deque(maxlen=_EARLY_FRAMES)
        self._stream: Any = None
        self._is_closed = self._has_ended = False

    def push(self, frame: AudioFrame) -> None:
        if self._is_closed or self._has_ended:
            return
        if self._stream is None:
            self._early.append(frame)
        else:
            self._stream.push_frame(_their_frame(frame))

    def flush(self) -> None:
        if self._stream is not None and not self._is_closed and not self._has_ended:
            self._stream.flush()

    def end_input(self) -> None:
        if self._stream is not None and not self._has_ended and not self._is_closed:
            self._stream.end_input()
        self._has_ended = True

    async def __aiter__(self) -> AsyncIterator[stt.SpeechEvent]:
        if self._is_closed:
            return
        with _translated(self._recogniser):
            stream = self._stream = await self._recogniser.opened()
            try:
                for frame in self._early:
                    stream.push_frame(_their_frame(frame))
                self._early.clear()
                if self._has_ended:
                    stream.end_input()
                async for event in stream:
                    if (ours := _event(event)) is not None:
                        yield ours
            except Exception:
                if not self._is_closed:  # what breaks when it is closed breaks for nobody
                    raise
            finally:
                await stream.aclose()

    async def aclose(self) -> None:
        self._is_closed = True
        self._early.clear()
        if self._stream is not None:
            await self._stream.aclose()


# -- the border


def _livekit_agents() -> Any:
    """LiveKit's own package. Raises `UsageError` where it is not there, or ours stands in its place."""
    try:
        agents = importlib.import_module("livekit.agents")
    except ImportError as error:
        raise UsageError(
            "livekit_plugin needs LiveKit's own package. Install it with: pip install 'antiphon[livekit-plugins]'"
        ) from error
    if agents.__spec__ is not None and agents.__spec__.origin == "antiphon":
        raise UsageError(
            "livekit_plugin: in this process `livekit.agents` is Antiphon's, because the agent file is written for"
            " LiveKit. Write the file for Antiphon to use plugins of LiveKit in it, or name the model by a string."
        )
    return agents


class _Network:
    """What plugins look for in LiveKit's jobs: a client for HTTP, known by a variable of the context.

    It is opened at first use, in a task that holds it until `aclose`, once for each event loop.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[contextvars.Context] | None = None

    async def context(self) -> contextvars.Context:
        """A context in which the client is found."""
        loop = asyncio.get_running_loop()
        if self._ready is None or self._ready.get_loop() is not loop:
            self._ready = loop.create_future()
            self._task = asyncio.create_task(self._hold(self._ready), name="livekit plugin: network")
        return (await asyncio.shield(self._ready)).copy()

    async def _hold(self, ready: asyncio.Future[contextvars.Context]) -> None:
        try:
            http_context = importlib.import_module("livekit.agents.utils.http_context")
            async with http_context.open():
                ready.set_result(contextvars.copy_context())
                await asyncio.get_running_loop().create_future()
        except BaseException as error:
            if ready.done():
                raise
            if self._ready is ready:
                self._ready = None  # who asks next tries again
            ready.set_exception(ProviderConnectionError(f"livekit plugin: its HTTP client did not open: {error!r}."))
            pass_on(error)

    async def aclose(self) -> None:
        """Close the client."""
        task, self._task, self._ready = self._task, None, None
        if task is not None and task.get_loop() is asyncio.get_running_loop():
            task.cancel()
            await asyncio.wait([task])


@contextlib.contextmanager
def _translated(model: _Plugin) -> Iterator[None]:
    """Errors of LiveKit's package, and whatever else a plugin raises, become ours."""
    agents = importlib.import_module("livekit.agents")
    label = model.label
    try:
        yield
    except (ProviderError, UsageError):
        raise
    except agents.APIStatusError as error:
        status = int(error.status_code)
        hint = " Check the key." if status in (401, 403) else ""
        told = f"{label}: answered {status}: {error.message}.{hint}"
        raise ProviderStatusError(
            told, status=status, body=error.body, provider=label, retryable=error.retryable
        ) from error
    except agents.APITimeoutError as error:
        raise ProviderTimeout(f"{label}: no answer in time: {error.message}", provider=label) from error
    except agents.APIConnectionError as error:
        why = error.__cause__ or error.message
        raise ProviderConnectionError(f"{label}: the connection broke: {why}", provider=label) from error
    except Exception as error:
        raise ProviderError(f"{label}: {type(error).__name__}: {error}", provider=label) from error


def _chat_context(agents: Any, wire: list[dict[str, Any]]) -> Any:
    """The talk in LiveKit's terms. The wire form has settled pairs, groups and ids."""
    chat, names = agents.llm.ChatContext.empty(), dict[str, str]()
    for message in wire:
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            chat.items.append(
                agents.llm.FunctionCallOutput(
                    call_id=call_id, name=names.get(call_id, ""), output=message["content"], is_error=False
                )
            )
            continue
        if message.get("content"):
            chat.add_message(role=message["role"], content=_content(agents, message["content"]))
        group = new_id("group")
        for call in message.get("tool_calls", ()):
            names[call["id"]] = call["function"]["name"]
            chat.items.append(
                agents.llm.FunctionCall(
                    call_id=call["id"],
                    name=call["function"]["name"],
                    arguments=call["function"]["arguments"],
                    group_id=group,
                )
            )
    return chat


def _content(agents: Any, content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [
        part["text"] if part["type"] == "text" else agents.llm.ImageContent(image=part["image_url"]["url"])
        for part in content
    ]


def _tool(agents: Any, function: Mapping[str, Any]) -> Any:
    """A tool as LiveKit's models are shown it. It is never run there."""

    async def called(raw_arguments: dict[str, object]) -> None: ...

    schema = {"name": function["name"], "description": function["description"], "parameters": function["parameters"]}
    return agents.llm.function_tool(called, raw_schema=schema)


def _chunk(response: str, chunk: Any) -> llm.ChatChunk:
    delta = usage = None
    if chunk.delta is not None:
        calls = tuple(
            llm.FunctionToolCall(call.name, call.arguments, own_call_id(call.call_id))
            for call in chunk.delta.tool_calls or ()
        )
        if chunk.delta.content or calls:
            delta = llm.ChoiceDelta(content=chunk.delta.content, tool_calls=calls)
    if chunk.usage is not None:
        cached = getattr(chunk.usage, "prompt_cached_tokens", 0)
        usage = llm.CompletionUsage(chunk.usage.prompt_tokens, chunk.usage.completion_tokens, cached)
    return llm.ChatChunk(response, delta, usage)


_EVENTS: Mapping[str, stt.SpeechEventType] = {
    "start_of_speech": stt.SpeechEventType.START_OF_SPEECH,
    "interim_transcript": stt.SpeechEventType.INTERIM_TRANSCRIPT,
    "preflight_transcript": stt.SpeechEventType.INTERIM_TRANSCRIPT,
    "final_transcript": stt.SpeechEventType.FINAL_TRANSCRIPT,
    "end_of_speech": stt.SpeechEventType.END_OF_SPEECH,
}


def _event(event: Any) -> stt.SpeechEvent | None:
    kind = _EVENTS.get(event.type.value)
    if kind is None:
        return None
    heard = [stt.SpeechData(one.text, str(one.language or ""), one.confidence) for one in event.alternatives]
    is_transcript = "transcript" in kind.value
    return None if is_transcript and not (heard and heard[0].text) else stt.SpeechEvent(kind, heard)


def _their_frame(frame: AudioFrame) -> Any:
    rtc = importlib.import_module("livekit.rtc")
    return rtc.AudioFrame(frame.data, frame.sample_rate, frame.num_channels, frame.samples_per_channel)


def _our_frame(frame: Any) -> AudioFrame:
    data = bytes(frame.data.cast("b"))
    if frame.num_channels == 1:
        return AudioFrame(data, frame.sample_rate)
    import numpy as np

    samples = np.frombuffer(data, "<i2").reshape(-1, frame.num_channels)
    return AudioFrame(samples.mean(axis=1).astype("<i2").tobytes(), frame.sample_rate)
