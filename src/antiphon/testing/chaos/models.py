"""A language model whose calls come more than once, as they do with real models and providers.

```python
chaos = ChaosLLM(openai.LLM(), seed=7, rewordings={"book": [{"note": "a window table"}]})
async with AgentSession(llm=chaos) as session:
    ...
assert booked == wished, chaos.reissued
```

Above: calls with faults, and tests of agents whose tools write. Below: the model that is wrapped.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from antiphon.chat import ChatMessage, FunctionCallOutput
from antiphon.errors import ProviderError, UsageError
from antiphon.llm import LLM, ChatChunk, ChatRequest, ChoiceDelta, FunctionToolCall

Why: TypeAlias = Literal["twice", "retried", "anew", "forgotten"]
"""Why a call was made again.

- "twice": a second time in one response;
- "retried": its provider broke behind it, and the next one makes all calls of the response so far once more;
- "anew": its response was cut, and is begun anew;
- "forgotten": the model makes it once more in its next response, although its output is there.
"""


@dataclass(slots=True, frozen=True)
class Reissued:
    """A call that was made again. Nobody wished for it."""

    why: Why
    first: FunctionToolCall
    again: FunctionToolCall
    """With an id of its own."""

    @property
    def reworded(self) -> bool:
        """It asks for the same in other words."""
        return self.again.arguments != self.first.arguments


class ChaosLLM(LLM):
    """Answers as `llm` does, and makes its calls again, by the seed: no wish of a caller is behind that.

    A call is made again only while the caller has not said anything new, so that it means the same wish. A response
    that is cut ends in a `ProviderError` behind a call that was given.

    Args:
        llm: The model that is wrapped. Each decision is made in the order of its responses: with a model that answers
            the same, a seed repeats all of them.
        seed: Decides what happens.
        likelihood: Of each way of making a call again, wherever there is occasion for it.
        rewordings: By tool, arguments that may take the place of those of a call that is made again. Name those that
            the tool's `identity=` leaves out: with others, it is another wish.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        seed: int | str,
        likelihood: float = 0.3,
        rewordings: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ) -> None:
        if not 0.0 <= likelihood < 1.0:
            raise UsageError(f"ChaosLLM: expected a likelihood from 0 to below 1, got {likelihood}")
        self.reissued: list[Reissued] = []
        """The calls that were made again, in order."""
        self.cut: list[FunctionToolCall] = []
        """The calls behind which a response was cut, in order."""
        self.model = llm.model
        self.parallel_tool_calls = llm.parallel_tool_calls
        self.first_chunk_timeout = llm.first_chunk_timeout
        self._llm = llm
        self._rng = random.Random(seed)
        self._likelihood = likelihood
        self._rewordings = rewordings or {}
        self._made: dict[str, tuple[str, FunctionToolCall]] = {}
        """By id of the call: the turn of the caller for which it was made."""
        self._lost: tuple[str, FunctionToolCall] | None = None
        """What is to be made anew, and the turn for which it was made."""

    async def prewarm(self) -> None:
        await self._llm.prewarm()

    async def aclose(self) -> None:
        await self._llm.aclose()

    async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        turn = _turn(request)
        again = self._made_again(request, turn)
        if again is not None:
            yield again
            return
        given: list[FunctionToolCall] = []
        async with aclosing(self._llm.generate(request)) as chunks:
            async for chunk in chunks:
                yield chunk
                for call in chunk.delta.tool_calls if chunk.delta is not None else ():
                    self._made[call.call_id] = turn, call
                    given.append(call)
                    if self._happens("twice", call):
                        yield self._reissue("twice", call, turn)
                    if self._happens("retried", call):
                        for earlier in given:
                            yield self._reissue("retried", earlier, turn)
                    if self._happens("anew", call):
                        self.cut.append(call)
                        self._lost = turn, call
                        raise ProviderError("the connection broke in the middle of the response", provider="chaos")

    def _made_again(self, request: ChatRequest, turn: str) -> ChatChunk | None:
        """A response that is nothing but a call that was made before for this turn."""
        lost, self._lost = self._lost, None
        if lost is not None and lost[0] == turn and _is_offered(lost[1], request):
            return self._reissue("anew", lost[1], turn)
        answered = self._answered(request, turn)
        if answered is not None and _is_offered(answered, request) and self._happens("forgotten", answered):
            return self._reissue("forgotten", answered, turn)
        return None

    def _answered(self, request: ChatRequest, turn: str) -> FunctionToolCall | None:
        """The latest call for this turn, where its output is the latest that the model reads."""
        said = [item for item in request.chat_ctx.items if not _is_told_by_the_session(item)]
        if not said or not isinstance(said[-1], FunctionCallOutput):
            return None
        made_for, call = self._made.get(said[-1].call_id, ("", None))
        return call if made_for == turn else None

    def _happens(self, why: Why, call: FunctionToolCall) -> bool:
        """Whether this call is made again, in this way: asked at each occasion, in order."""
        return self._rng.random() < self._likelihood

    def _reissue(self, why: Why, first: FunctionToolCall, turn: str) -> ChatChunk:
        call_id = f"{first.call_id}_again_{len(self.reissued) + 1}"
        again = replace(first, call_id=call_id, arguments=self._reworded(first))
        self.reissued.append(Reissued(why, first, again))
        self._made[call_id] = turn, again
        return ChatChunk(id=f"chaos_{len(self.reissued)}", delta=ChoiceDelta(tool_calls=(again,)))

    def _reworded(self, call: FunctionToolCall) -> str:
        """Its arguments, in other words where there are some."""
        others = self._rewordings.get(call.name)
        return json.dumps({**json.loads(call.arguments), **self._rng.choice(others)}) if others else call.arguments


def _turn(request: ChatRequest) -> str:
    """What the caller said last, by its id."""
    said = (
        item.id for item in reversed(request.chat_ctx.items) if isinstance(item, ChatMessage) and item.role == "user"
    )
    return next(said, "")


def _is_told_by_the_session(item: object) -> bool:
    return isinstance(item, ChatMessage) and item.role == "system"


def _is_offered(call: FunctionToolCall, request: ChatRequest) -> bool:
    return request.tool_choice != "none" and any(tool.id == call.name for tool in request.tools)
