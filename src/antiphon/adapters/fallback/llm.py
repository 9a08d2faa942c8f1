"""`FallbackLLM`: the next language model answers when one fails before it has said anything.

Above: sessions. Below: models, `roster`, `attempt`. A model that already gave text or a tool call is not followed by
another: the caller would hear the beginning twice, and a call might be made twice. The response then ends with what
was given and an error, which the session speaks about.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from antiphon.adapters.fallback.attempt import Attempt, Retired
from antiphon.adapters.fallback.roster import (
    AllProvidersFailed,
    Backoff,
    Fallback,
    Member,
    OnAvailabilityChanged,
    Roster,
)
from antiphon.errors import ProviderTimeout, ToolRefused, UsageError
from antiphon.llm import LLM, ChatChunk, ChatRequest
from antiphon.overflow import overflow_of


class FallbackLLM(Fallback, LLM):
    """Several language models, in order of preference, that answer as one.

    A model that raises, or gives neither text nor a call within `attempt_timeout`, is followed by the next one, which
    gets the same request; what the failed one may give later is not taken. Raises `AllProvidersFailed` when none is
    left, and the model's own error when it fails within its response. Misuse (`UsageError`) is not retried, nor is a
    request that a model refuses for a tool or its length (`ToolRefused`, `ContextOverflow`): who asked asks for less.

    Args:
        llms: The models. The first one's defaults (`model`, `parallel_tool_calls`) are shown to the session.
        attempt_timeout: Seconds to the first text or tool call of a model.
        stall_timeout: Seconds between two chunks of a response that has begun. Less than the
            session's own `stream_timeout` (6 s), so that the model is named that stood still.
        backoff: For how long a model that failed is left out.
        on_availability_changed: Called when a model fails and when it has recovered.
    """

    def __init__(
        self,
        llms: Sequence[LLM],
        *,
        attempt_timeout: float = 4.0,
        stall_timeout: float = 5.5,
        backoff: Backoff | None = None,
        on_availability_changed: OnAvailabilityChanged | None = None,
    ) -> None:
        self._roster: Roster[LLM] = Roster("FallbackLLM", llms, backoff, on_availability_changed)
        self._attempt_timeout = attempt_timeout
        self._stall_timeout = stall_timeout
        self.first_chunk_timeout = max(LLM.first_chunk_timeout, (attempt_timeout + 1.0) * len(llms))
        self.model = llms[0].model
        self.parallel_tool_calls = llms[0].parallel_tool_calls

    async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        tried: list[Member[LLM]] = []
        errors: list[Exception] = []
        while (member := self._roster.choose(tried)) is not None:
            tried.append(member)
            response = _Response(member, request, self._roster.retired, self._attempt_timeout, self._stall_timeout)
            try:
                while (chunks := await response.next()) is not None:
                    if response.began:
                        self._roster.succeeded(member)
                    for chunk in chunks:
                        yield chunk
                self._roster.succeeded(member)
                return
            except (UsageError, ToolRefused):
                raise  # the session asks again, without the tool
            except Exception as error:
                if not response.began and (overflow := overflow_of(error)) is not None:
                    raise overflow from error  # it asks again, with less
                response.retire()
                self._roster.failed(member, error)
                if response.began:
                    raise
                errors.append(error)
            finally:
                await response.aclose()
        raise AllProvidersFailed(self._roster.owner, errors)


class _Response:
    """One model's response. Nothing is given of it before there is a text or a call."""

    def __init__(
        self, member: Member[LLM], request: ChatRequest, retired: Retired, attempt_timeout: float, stall_timeout: float
    ) -> None:
        self.began = False
        """Text or a call was given: no other model may answer."""
        self._label = member.provider.label
        self._attempt: Attempt[ChatChunk] | None = Attempt(
            _ask(member.provider, request), name=f"FallbackLLM {self._label}", retired=retired
        )
        self._attempt_timeout = attempt_timeout
        self._stall_timeout = stall_timeout
        self._deadline = asyncio.get_running_loop().time() + attempt_timeout

    async def next(self) -> list[ChatChunk] | None:
        """The next chunks; None after the last. Raises `ProviderTimeout` when the model stalls."""
        chunks: list[ChatChunk] = []
        while (chunk := await self._next_chunk()) is not None:
            chunks.append(chunk)
            if self.began or _says_something(chunk):
                self.began = True
                return chunks
        return chunks or None

    async def _next_chunk(self) -> ChatChunk | None:
        if self._attempt is None:
            return None
        left = self._deadline - asyncio.get_running_loop().time()
        try:
            chunk = await self._attempt.next(self._stall_timeout if self.began else max(0.0, left))
        except TimeoutError:
            raise self._stalled() from None
        if chunk is None:
            await self.aclose()
        return chunk

    def _stalled(self) -> ProviderTimeout:
        expected, seconds = ("a chunk", self._stall_timeout) if self.began else ("an answer", self._attempt_timeout)
        return ProviderTimeout(
            f"{self._label}: expected {expected} within {seconds:g} s, got none. If the model is that slow, raise"
            f" {'stall_timeout' if self.began else 'attempt_timeout'} of the FallbackLLM.",
            provider=self._label,
        )

    def retire(self) -> None:
        """Give the model up without waiting for it."""
        if self._attempt is not None:
            self._attempt.retire()
            self._attempt = None

    async def aclose(self) -> None:
        """Stop the model."""
        attempt, self._attempt = self._attempt, None
        if attempt is not None:
            await attempt.aclose()


async def _ask(llm: LLM, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
    async with llm.chat(
        chat_ctx=request.chat_ctx,
        tools=request.tools,
        tool_choice=request.tool_choice,
        parallel_tool_calls=request.parallel_tool_calls,
        response_format=request.response_format,
        extra_kwargs=request.extra_kwargs,
    ) as stream:
        async for chunk in stream:
            yield chunk


def _says_something(chunk: ChatChunk) -> bool:
    delta = chunk.delta
    return delta is not None and bool(delta.tool_calls or (delta.content and delta.content.strip()))
