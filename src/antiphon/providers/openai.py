"""OpenAI and every endpoint that speaks its protocol: `LLM`, `STT`, `TTS`.

Above: `antiphon.plugins.openai`, `antiphon.inference`. Below: `openai_format`, what the requests look like, and
`openai_client`, where they go. Here is what is asked for, and what is done when the answer is bad.

A request is sent again, up to `max_retries` times, only as long as nothing of its answer was given on: the SDK does so
for connections and statuses, this module for answers that break off before their first token. What breaks later is a
`ProviderError`; the conversation knows better what to do about half a sentence.
"""

from __future__ import annotations

import asyncio
import io
import logging
import math
import wave
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from antiphon import llm, stt, tts
from antiphon.adapters.stream import StreamAdapter, StreamOptions
from antiphon.audio import AudioFrame
from antiphon.chat import ChatContext, FunctionCall, new_id
from antiphon.errors import ProviderError
from antiphon.options import NOT_GIVEN, NotGivenOr, ToolChoice, is_given
from antiphon.providers.lacking import Lacking, lacking
from antiphon.providers.openai_client import OpenAIEndpoint
from antiphon.providers.openai_format import ToolCallAssembler, wire_messages, wire_response_format, wire_tools
from antiphon.providers.refusals import naming_refusals, refusal
from antiphon.providers.websocket import WholeSamples
from antiphon.text.thoughts import Thoughts
from antiphon.visible import well_formed

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

logger = logging.getLogger("antiphon")

_RETRY_DELAY = 0.2
"""Seconds before an answer that broke off is asked for again; doubled each time."""

_BREATH = 0.01
"""Seconds for which pieces of an answer that are there already are read before other calls have their turn."""

_REQUEST_OPTIONS = ("extra_headers", "extra_query", "timeout")
"""Keys of `extra_kwargs` that are meant for the SDK, not for the endpoint."""


class LLM(OpenAIEndpoint, llm.LLM):
    """A language model behind the chat completions protocol.

    Args:
        model: Its name at the endpoint.
        base_url: The endpoint, for example "http://127.0.0.1:8080/v1"; None: `OPENAI_BASE_URL`, else OpenAI.
        api_key: None: `OPENAI_API_KEY`. Endpoints on this machine or in its network need none.
        temperature: Sent if given.
        parallel_tool_calls: Whether one response may hold several calls. Sent with tools, and kept by the session.
        tool_choice: For requests that do not say.
        extra_kwargs: More fields of the request's body, whatever the endpoint understands.
        timeout: Seconds until the answer begins, and between its pieces. None: 20, for models that reason 60.
        max_retries: Times that a request is sent again if it fails before the first token.
        client: An `openai.AsyncOpenAI` of yours, for everything it can do; it is not closed.
        strict_tools: Have the endpoint enforce the tools' schemas. Not given: at OpenAI itself.
        reasons_first: Its answers begin inside of a `<think>` block that its chat template has opened. What stands in
            such blocks, and in fields of their own, is never said.
    """

    def __init__(
        self,
        *,
        model: str = "gpt-4o-mini",
        base_url: str | None = None,
        api_key: str | None = None,
        temperature: NotGivenOr[float] = NOT_GIVEN,
        parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN,
        tool_choice: NotGivenOr[ToolChoice] = NOT_GIVEN,
        extra_kwargs: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        max_retries: int = 2,
        client: AsyncOpenAI | None = None,
        strict_tools: NotGivenOr[bool] = NOT_GIVEN,
        reasons_first: bool = False,
    ) -> None:
        if llm.does_reason(model):
            self.first_chunk_timeout = llm.REASONING_TIMEOUT
        if timeout is None:
            timeout = max(20.0, self.first_chunk_timeout)
        self.connect_to(base_url=base_url, api_key=api_key, timeout=timeout, max_retries=max_retries, client=client)
        self.model = model
        self.temperature = temperature
        self.tool_choice = tool_choice
        self.extra_kwargs = dict(extra_kwargs or {})
        if not is_given(parallel_tool_calls) and "parallel_tool_calls" in self.extra_kwargs:
            parallel_tool_calls = bool(self.extra_kwargs["parallel_tool_calls"])
        self.parallel_tool_calls = parallel_tool_calls
        self._strict_tools = strict_tools
        self._reasons_first = reasons_first
        self._without: set[Lacking] = set()
        """What its endpoint has refused, as a thing that it does not have."""

    async def generate(self, request: llm.ChatRequest) -> AsyncGenerator[llm.ChatChunk, None]:
        client = self.client()
        attempt = 0
        while True:
            body = self._body(request)
            given = begun = False
            try:
                with naming_refusals(request.tools), self.translated_errors():
                    answer = await self._ask(client, body)
                begun = True
                async with aclosing(self._chunks(answer, request.chat_ctx)) as chunks:
                    async for chunk in chunks:
                        given = given or (chunk.delta is not None and not chunk.delta.reasoning)
                        yield chunk
                return
            except ProviderError as error:
                if not given and self._goes_without(error, body):
                    continue
                # Some endpoints begin to answer before they look at the request, and refuse it inside of the answer.
                if begun and not given and (refused := refusal(error, request.tools, status=400)) is not None:
                    raise refused from error
                if given or not begun or not error.retryable or attempt == self._max_retries:
                    raise
            await asyncio.sleep(_RETRY_DELAY * 2**attempt)
            attempt += 1

    async def _ask(self, client: AsyncOpenAI, body: Mapping[str, Any]) -> AsyncStream[ChatCompletionChunk]:
        options = {name: body[name] for name in _REQUEST_OPTIONS if name in body}
        # The SDK copies and checks every field of every message that it is given as such, which for a long history
        # takes longer than all the rest; the body goes as it is.
        rest = {name: value for name, value in body.items() if name not in options}
        answer: AsyncStream[ChatCompletionChunk] = await client.chat.completions.create(
            model=self.model, messages=[], stream=True, extra_body=rest, **options
        )
        return answer

    def _goes_without(self, error: ProviderError, body: Mapping[str, Any]) -> bool:
        """Whether the endpoint refused a part of the protocol that it does not have. It is not asked for it again."""
        part = lacking(error, body)
        if part is None or part in self._without:
            return False
        self._without.add(part)
        logger.warning("%s: its endpoint has no %s: %s. %s", self.label, part.value, part.consequence, error)
        return True

    def _body(self, request: llm.ChatRequest) -> dict[str, Any]:
        extra = {**self.extra_kwargs, **request.extra_kwargs}
        extra |= extra.pop("extra_body", {})
        body: dict[str, Any] = {}
        if Lacking.USAGE not in self._without:
            body["stream_options"] = {"include_usage": True}
        if is_given(self.temperature):
            body["temperature"] = self.temperature
        parallel = extra.pop("parallel_tool_calls", self.parallel_tool_calls)
        if is_given(request.parallel_tool_calls):
            parallel = request.parallel_tool_calls
        choice = request.tool_choice if is_given(request.tool_choice) else self.tool_choice
        if (
            request.tools and Lacking.TOOLS not in self._without
        ):  # without tools, endpoints refuse what else is said about them
            body["tools"] = wire_tools(request.tools, strict=self._strict)
            if is_given(parallel) and Lacking.PARALLEL not in self._without:
                body["parallel_tool_calls"] = parallel
            if is_given(choice):
                body["tool_choice"] = choice
        if is_given(request.response_format):
            body["response_format"] = wire_response_format(request.response_format)
        return body | extra | {"messages": wire_messages(request.chat_ctx)}

    @property
    def _strict(self) -> bool:
        if Lacking.STRICT in self._without:
            return False
        if is_given(self._strict_tools):
            return self._strict_tools
        return self.base_url is None and self._given is None

    async def _chunks(
        self, answer: AsyncStream[ChatCompletionChunk], chat_ctx: ChatContext
    ) -> AsyncGenerator[llm.ChatChunk, None]:
        """The answer in our terms. Raises `ProviderError` if it is cut off or makes no sense."""
        response = _Response(chat_ctx, Thoughts(inside=self._reasons_first))
        clock = asyncio.get_running_loop().time
        until = clock() + _BREATH
        try:
            with self.translated_errors():
                async for piece in answer:
                    if clock() > until:
                        await asyncio.sleep(0)
                        until = clock() + _BREATH
                    try:
                        deltas = response.read(piece)
                    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                        raise self.broken(f"it sent a chunk of another form ({error})") from error
                    for delta in deltas:
                        yield llm.ChatChunk(response.id, delta)
                    if not deltas:  # a piece of a call, a keep-alive: it is at work
                        yield llm.ChatChunk(response.id)
        finally:
            await answer.close()
        for delta in response.rest():
            yield llm.ChatChunk(response.id, delta)
        if response.finish_reason is None:
            raise self.broken("the answer stopped in the middle")
        if response.finish_reason == "length" and (cut := response.calls.unfinished()):
            raise ProviderError(
                f"{self.label}: the response was cut inside a call of {cut!r}: it reached the limit of tokens."
                " Raise max_completion_tokens in extra_kwargs, or leave it out.",
                provider=self.label,
                retryable=False,
            )
        for call in response.calls.finish():
            yield llm.ChatChunk(response.id, llm.ChoiceDelta(tool_calls=(call,)))
        if response.usage is not None:
            yield llm.ChatChunk(response.id, usage=response.usage)


class _Response:
    """What is known of a response so far."""

    def __init__(self, chat_ctx: ChatContext, thoughts: Thoughts) -> None:
        self._thoughts = thoughts
        self.id = new_id("response")
        self.finish_reason: str | None = None
        self.usage: llm.CompletionUsage | None = None
        self.calls = ToolCallAssembler(lambda: {i.call_id for i in chat_ctx.items if isinstance(i, FunctionCall)})

    def read(self, piece: ChatCompletionChunk) -> list[llm.ChoiceDelta]:
        """What a piece of the wire adds. Raises an `AttributeError`, `TypeError` or the like if it is none."""
        deltas: list[llm.ChoiceDelta] = []
        if piece.usage is not None:
            # Nobody's answer is refused for its bill.
            details = getattr(piece.usage, "prompt_tokens_details", None)
            self.usage = llm.CompletionUsage(
                prompt_tokens=_count(piece.usage, "prompt_tokens"),
                completion_tokens=_count(piece.usage, "completion_tokens"),
                prompt_cached_tokens=_count(details, "cached_tokens"),
            )
        for choice in (piece.choices or ())[:1]:
            self.finish_reason = choice.finish_reason or self.finish_reason
            if choice.delta is None:
                continue  # some endpoints end so
            if thought := _reasoning(choice.delta):
                deltas.append(llm.ChoiceDelta(reasoning=thought))
            if text := _text(choice.delta.content or choice.delta.refusal):
                deltas.extend(_deltas(*self._thoughts.push(text)))
            for call in choice.delta.tool_calls or ():
                function = call.function
                complete = self.calls.push(
                    index=call.index,
                    call_id=_text(call.id),
                    name=_text(function.name) if function else None,
                    arguments=function.arguments if function else None,
                )
                deltas.extend(llm.ChoiceDelta(tool_calls=(one,)) for one in complete)
        return deltas

    def rest(self) -> list[llm.ChoiceDelta]:
        """Nothing more comes: what looked like the beginning of a mark was none."""
        return _deltas(*self._thoughts.end())


def _deltas(said: str, thought: str) -> list[llm.ChoiceDelta]:
    """Thoughts apart from words: whoever takes the one does not look for the other."""
    deltas = [llm.ChoiceDelta(reasoning=thought)] if thought else []
    return [*deltas, llm.ChoiceDelta(content=said)] if said else deltas


def _reasoning(delta: Any) -> str | None:
    """What endpoints part from the words themselves; the field has two names. Of another form: nobody misses it."""
    for name in ("reasoning_content", "reasoning"):
        if isinstance(text := getattr(delta, name, None), str) and text:
            return well_formed(text)
    return None


def _text(value: Any) -> str | None:
    """A text of the wire, well-formed. The SDK promises texts, and does not look."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__}")
    return value and well_formed(value)


def _count(holder: Any, name: str) -> int:
    value = getattr(holder, name, 0)
    return value if type(value) is int else 0


# -- voice


class TTS(OpenAIEndpoint, tts.TTS):
    """A voice behind the speech endpoint. Sentences are spoken one by one.

    Args:
        model: Its name at the endpoint.
        voice: Which of its voices.
        instructions: How to speak, in words ("warmly, a little slower"). Not every model follows them.
        speed: 1.0 is the voice's own.
        base_url, api_key, timeout, max_retries, client: As for `LLM`.
    """

    sample_rate = 24_000
    adjustable = ("model", "voice", "instructions", "speed")

    def __init__(
        self,
        *,
        model: str = "gpt-4o-mini-tts",
        voice: str = "alloy",
        instructions: str | None = None,
        speed: float = 1.0,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 20.0,
        max_retries: int = 2,
        client: AsyncOpenAI | None = None,
    ) -> None:
        self.connect_to(base_url=base_url, api_key=api_key, timeout=timeout, max_retries=max_retries, client=client)
        self.model = model
        self.voice = voice
        self.instructions = instructions
        self.speed = speed

    async def synthesize(self, text: str) -> AsyncGenerator[tts.SynthesizedAudio, None]:
        client = self.client()
        if not text.strip():
            return
        options: dict[str, Any] = {"speed": self.speed} if self.speed != 1.0 else {}
        if self.instructions:
            options["instructions"] = self.instructions
        said = text
        with self.translated_errors():
            async with client.audio.speech.with_streaming_response.create(
                model=self.model, voice=self.voice, input=text, response_format="pcm", **options
            ) as answer:
                samples = WholeSamples()
                async for piece in answer.iter_bytes():
                    if data := samples.push(piece):
                        yield tts.SynthesizedAudio(AudioFrame(data, self.sample_rate), said)
                        said = ""
        if said:
            raise self.broken("it sent no sound")


# -- recognition


class STT(OpenAIEndpoint, stt.STT):
    """A recogniser behind the transcription endpoint, which takes whole utterances.

    Sessions that use it need a voice activity detector: the utterance is sent when it falls quiet.

    Args:
        model: Its name at the endpoint.
        language: A hint, for example "en"; None: it finds out.
        prompt: Words to expect, or the style of the text.
        interim_interval: Seconds of speech between two interim transcripts, each of which is a request; None: none.
        base_url, api_key, timeout, max_retries, client: As for `LLM`.
    """

    adjustable = ("model", "language", "prompt")

    def __init__(
        self,
        *,
        model: str = "gpt-4o-mini-transcribe",
        language: str | None = None,
        prompt: str | None = None,
        interim_interval: float | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 20.0,
        max_retries: int = 2,
        client: AsyncOpenAI | None = None,
    ) -> None:
        self.connect_to(base_url=base_url, api_key=api_key, timeout=timeout, max_retries=max_retries, client=client)
        self.model = model
        self.language = language
        self.prompt = prompt
        # A pause short of the end of the utterance costs a request, too; so it must be a likely end.
        options = StreamOptions(interval=interim_interval or math.inf, pause=0.2)
        self._adapter = StreamAdapter(self, options)

    def stream(self) -> stt.STTStream:
        self.require()
        return self._adapter.stream()

    async def recognize(self, audio: AudioFrame) -> str:
        """What is said in `audio`, mono, of any rate. Raises `ProviderError`."""
        client = self.client()
        if audio.duration < _SHORTEST:
            return ""
        from openai import omit

        with self.translated_errors():
            answer = await client.audio.transcriptions.create(
                file=("audio.wav", _wav(audio), "audio/wav"),
                model=self.model,
                response_format="json",
                language=self.language or omit,
                prompt=self.prompt or omit,
            )
        return (_text(answer.text) or "").strip()


_SHORTEST = 0.1
"""Seconds of sound below which the endpoint refuses to listen."""


def _wav(audio: AudioFrame) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(audio.num_channels)
        file.setsampwidth(2)
        file.setframerate(audio.sample_rate)
        file.writeframes(audio.data)
    return buffer.getvalue()
