"""Language models.

`LLM.chat()` sends a history and tools, and gives an `LLMStream`: iterate it for `ChatChunk`s. Providers implement one
async generator, `generate`. Text comes in deltas; each tool call comes complete, in one chunk, and a provider
whose wire format streams arguments assembles them first.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from antiphon.chat import ChatContext, ChatRole
from antiphon.model import Model
from antiphon.options import NOT_GIVEN, NotGivenOr, ToolChoice, is_given
from antiphon.record import frozen
from antiphon.scope import Scoped
from antiphon.streams import Closable

if TYPE_CHECKING:
    from antiphon.tools.function import Tool


@frozen
class FunctionToolCall:
    """A complete tool call as the model wrote it."""

    name: str
    arguments: str
    """JSON text; may be malformed, the tool layer repairs or rejects it."""
    call_id: str
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ChoiceDelta:
    """What a chunk adds."""

    role: ChatRole = "assistant"
    content: str | None = None
    tool_calls: Sequence[FunctionToolCall] = ()
    extra: dict[str, Any] | None = None
    reasoning: str | None = None
    """What the model thinks. Never spoken, and not part of what it said; for whoever looks at how it came to it."""


@frozen
class CompletionUsage:
    """Tokens that a request cost."""

    prompt_tokens: int
    completion_tokens: int
    prompt_cached_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompt and completion."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(slots=True)
class ChatChunk:
    """A piece of a model's response. Not frozen: one is made for each token, and an `llm_node` may change its text."""

    id: str
    delta: ChoiceDelta | None = None
    usage: CompletionUsage | None = None


@frozen
class ChatRequest:
    """One request, complete. What providers get."""

    chat_ctx: ChatContext
    """Instructions (a system message), history and open items, calls and outputs paired."""
    tools: Sequence[Tool] = ()
    """Flat: no toolsets. Never two of one name."""
    tool_choice: NotGivenOr[ToolChoice] = NOT_GIVEN
    parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN
    response_format: NotGivenOr[Any] = NOT_GIVEN
    """A TypedDict class, a pydantic model class, or a provider's own form."""
    extra_kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class CollectedResponse:
    """A whole response."""

    text: str = ""
    tool_calls: list[FunctionToolCall] = field(default_factory=list)
    usage: CompletionUsage | None = None
    reasoning: str = ""


@dataclass(slots=True)
class ModelExchange:
    """A request that an agent's `llm_node` made, and what came of it, for who looks into a call."""

    agent: str
    """Its id."""
    gen: str
    """The stretch of `trace` that it belongs to: "gen_3"."""
    model: str
    """Its label."""
    asked_at: float
    """Seconds on the event loop's clock."""
    request: ChatRequest
    """Its context as it was then."""
    pieces: list[tuple[float, str | FunctionToolCall]] = field(default_factory=list)
    """Texts and complete calls as they came, each with the seconds since the model was asked."""
    seconds: float = 0.0
    """From the request to the end."""
    outcome: Literal["done", "stopped", "failed"] = "stopped"
    error: str = ""
    """What the model raised."""
    usage: CompletionUsage | None = None

    def came(self, seconds: float, chunk: ChatChunk) -> None:
        """The next chunk. Whoever gets it may change it, so what is in it is taken now."""
        if chunk.delta is not None:
            if chunk.delta.content:
                self.pieces.append((seconds, chunk.delta.content))
            self.pieces += [(seconds, call) for call in chunk.delta.tool_calls]
        self.usage = chunk.usage or self.usage


class LLMStream(Closable):
    """A response in the making.

    Iterate it once; use it as an async context manager, so that leaving stops the model.
    """

    __slots__ = ("_chunks",)

    def __init__(self, chunks: AsyncGenerator[ChatChunk, None]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[ChatChunk]:
        return self._chunks

    async def aclose(self) -> None:
        """Stop the model. May be called twice."""
        await self._chunks.aclose()

    async def collect(self) -> CollectedResponse:
        """Wait for the whole response."""
        response = CollectedResponse()
        text: list[str] = []
        thoughts: list[str] = []
        async with self:
            async for chunk in self._chunks:
                if chunk.delta is not None:
                    if chunk.delta.content:
                        text.append(chunk.delta.content)
                    if chunk.delta.reasoning:
                        thoughts.append(chunk.delta.reasoning)
                    response.tool_calls.extend(chunk.delta.tool_calls)
                if chunk.usage is not None:
                    response.usage = chunk.usage
        response.text, response.reasoning = "".join(text), "".join(thoughts)
        return response


REASONING_TIMEOUT = 60.0
"""Seconds that a model which reasons before it answers may take until its first chunk."""

_REASONING = re.compile(r"(^|[/:.])(o[1-9](-|$)|gpt-5(?!.*-chat)|deepseek-r)|reason|think")


def does_reason(model: str) -> bool:
    """Whether a model reasons before it answers, as far as its name tells."""
    return _REASONING.search(model) is not None


class RequestWatch(ABC):
    """Sees what a model is asked with, and what comes of it."""

    @abstractmethod
    def passed(
        self, model: LLM, request: ChatRequest, chunks: AsyncGenerator[ChatChunk, None]
    ) -> AsyncGenerator[ChatChunk, None]:
        """What `model` is about to give for this request, as it is, on its way to whoever asked."""


watching: Scoped[RequestWatch] = Scoped("antiphon_request_watch")
"""Who watches the requests that the running code makes. None: nobody."""


class LLM(Model, ABC):
    """A language model. Safe to share between calls; needs neither key nor network until the first use."""

    model: str = ""
    parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN
    """The model's own default, held by the session: False means that only the first call of a step runs."""
    reads_all: bool = False
    """It takes a request of any length, and needs the whole talk: no `ContextBudget` counts for it."""

    def chat(
        self,
        *,
        chat_ctx: ChatContext,
        tools: Sequence[Tool] | None = None,
        tool_choice: NotGivenOr[ToolChoice] = NOT_GIVEN,
        parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN,
        response_format: NotGivenOr[Any] = NOT_GIVEN,
        extra_kwargs: NotGivenOr[Mapping[str, Any]] = NOT_GIVEN,
    ) -> LLMStream:
        """Ask for a response. Nothing is sent before the stream is iterated.

        Iterating raises `ProviderError` (or `MissingKey`) when the model fails.
        """
        request = ChatRequest(
            chat_ctx=chat_ctx,
            tools=tools or (),
            tool_choice=tool_choice,
            parallel_tool_calls=parallel_tool_calls,
            response_format=response_format,
            extra_kwargs=extra_kwargs if is_given(extra_kwargs) else {},
        )
        chunks, watch = self.generate(request), watching.get()
        return LLMStream(chunks if watch is None else watch.passed(self, request, chunks))

    first_chunk_timeout: float = 10.0
    """Seconds that it may take until the first chunk of a response, of reasoning or with nothing in it included.

    A stream that stands still for longer than the session's `stream_timeout` after that has failed: a provider gives a
    chunk also for what nobody is to see."""

    @abstractmethod
    def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        """The response to a request, as an async generator. Closing it must stop the model's work."""
