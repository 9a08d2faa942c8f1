"""What a model was asked with and what came of it, told once the response has ended; for records and who reads them.

Above: `generation`, where somebody listens to `model_answered`. Below: language models. What passes here is not changed
and not held up.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from antiphon.llm import LLM, ChatChunk, ChatRequest, ModelExchange, RequestWatch
from antiphon.visible import one_line

LONGEST_ERROR = 500
"""Characters of what a model raised."""


class Answers(RequestWatch):
    """The requests of one generation. `tell` is called with each, at its end."""

    def __init__(self, agent: str, gen: int, clock: Callable[[], float], tell: Callable[[ModelExchange], None]) -> None:
        self._agent = agent
        self._gen = gen
        self._clock = clock
        self._tell = tell
        self._is_asking = False
        """A model is at work: whom it asks is its own business."""

    def passed(
        self, model: LLM, request: ChatRequest, chunks: AsyncGenerator[ChatChunk, None]
    ) -> AsyncGenerator[ChatChunk, None]:
        return chunks if self._is_asking else self._watched(model, request, chunks)

    async def _watched(
        self, model: LLM, request: ChatRequest, chunks: AsyncGenerator[ChatChunk, None]
    ) -> AsyncGenerator[ChatChunk, None]:
        as_it_was = replace(request, chat_ctx=request.chat_ctx.copy(), tools=tuple(request.tools))
        answered = ModelExchange(self._agent, f"gen_{self._gen}", model.label, self._clock(), as_it_was)
        try:
            async with aclosing(chunks):
                while (chunk := await self._next(chunks)) is not None:
                    answered.came(self._clock() - answered.asked_at, chunk)
                    yield chunk
            answered.outcome = "done"
        except Exception as error:
            answered.outcome, answered.error = "failed", one_line(f"{type(error).__name__}: {error}", LONGEST_ERROR)
            raise
        finally:
            answered.seconds = self._clock() - answered.asked_at
            self._tell(answered)

    async def _next(self, chunks: AsyncGenerator[ChatChunk, None]) -> ChatChunk | None:
        self._is_asking = True
        try:
            return await anext(chunks, None)
        finally:
            self._is_asking = False
