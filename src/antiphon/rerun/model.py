"""The models of a call that is made again: what was answered is answered again, as long as the same is asked.

Above: `running`. Below: the recorded answers, and the model that answers from the first request that is another one.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from antiphon.errors import AntiphonError, ProviderError, UsageError
from antiphon.llm import LLM, ChatChunk, ChatRequest, ChoiceDelta, CollectedResponse, FunctionToolCall
from antiphon.protocols import ModelKind
from antiphon.realtime import RealtimeModel
from antiphon.records.requests import parts_of, settings_of, tools_of
from antiphon.rerun.call import Answers, RecordedCall, digest_of, key_of
from antiphon.rerun.line import Line, failure_of
from antiphon.testing.caller import RATE
from antiphon.testing.fakes import FakeTTS
from antiphon.vault import hide_in

T = TypeVar("T")

_PATIENCE = 0.05
"""Seconds longer than it was wanted that an answer goes on which was stopped in the recorded call."""
_NETWORK = 120.0
"""Real seconds that a model behind a network has."""


class OtherRequest(AntiphonError):
    """A request that the recorded call did not have, and no model to answer it."""


class Memory:
    """The answers of a recorded call, for all of its models."""

    def __init__(self, answers: Sequence[Answers]) -> None:
        self._answers = list(answers)
        self._used: set[int] = set()
        self.is_another_way = False
        """A request came that the recorded call did not have."""
        self.asked_instead = 0
        """Requests that another model was asked."""
        self.other: LLM | None = None
        """The last of these models."""

    def find(self, request: ChatRequest) -> Answers | None:
        """The recorded answer to this very request, the next one if there are several.

        None: there is none, and from here on the call goes another way.
        """
        same = [] if self.is_another_way else self._same(digest_now(request))
        if not same:
            self.is_another_way = True
            return None
        number = next((one for one in same if one not in self._used), same[0])
        self._used.add(number)
        return self._answers[number]

    def _same(self, asked: str) -> list[int]:
        return [number for number, one in enumerate(self._answers) if one.asked == asked]

    def asks(self, other: LLM) -> None:
        """Another model is asked."""
        self.other = other
        self.asked_instead += 1


class Recorded(LLM):
    """Answers from a recorded call while requests are the same, and by another model from the first that is not.

    `own`: the model that it stands for. `instead`: what answers other requests; None: nobody does.
    """

    def __init__(self, memory: Memory, own: LLM | None, instead: LLM | None) -> None:
        self._memory = memory
        self._instead = instead
        self.model = (own.model if own is not None else "") or "recorded"
        if own is not None:
            self.parallel_tool_calls = own.parallel_tool_calls
            self.reads_all = own.reads_all
            self.first_chunk_timeout = own.first_chunk_timeout

    async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        answer = self._memory.find(request)
        if answer is not None:
            async for chunk in _again(answer):
                yield chunk
            return
        other = self._instead
        if other is None:
            raise OtherRequest("this request is not the recorded one, and no model was named to answer it: --llm NAME")
        self._memory.asks(other)
        if _is_near(other):
            async for chunk in other.generate(request):
                yield chunk
            return
        for chunk in _chunks(_elsewhere(_asked(other, request))):
            yield chunk
            await asyncio.sleep(0.02)


async def _again(answer: Answers) -> AsyncGenerator[ChatChunk, None]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    for after, delta in _deltas(answer):
        if (left := began + after - loop.time()) > 0:
            await asyncio.sleep(left)
        yield ChatChunk(id="recorded", delta=delta)
    late = _PATIENCE if answer.outcome in ("stopped", "discarded") else 0.0
    if (left := began + answer.ended + late - loop.time()) > 0:
        await asyncio.sleep(left)
    if answer.outcome == "failed":
        raise failure_of(answer)


def digest_now(request: ChatRequest) -> str:
    """The digest of a request that is made now, as that of a recorded one: secrets are hidden."""
    parts: list[Any] = [hide_in(json.loads(part)) for part in parts_of(request)]
    tools: list[Any] = [hide_in(json.loads(tool)) for tool in tools_of(request)]
    return digest_of(key_of(parts, tools, settings_of(request)))


def _deltas(answer: Answers) -> list[tuple[float, ChoiceDelta]]:
    """What the answer came in, and after how many seconds."""
    calls = [_call(number, *one) for number, one in enumerate(answer.calls)]
    pieces = answer.pieces
    if not pieces:
        whole = [(answer.after, ChoiceDelta(content=answer.text))] if answer.text else []
        end = answer.ended
        return [*whole, *((end, ChoiceDelta(tool_calls=(call,))) for call in calls)]
    deltas: list[tuple[float, ChoiceDelta]] = []
    at = 0
    for number, (after, what) in enumerate(pieces):
        if what == "call":
            if calls:
                deltas.append((after, ChoiceDelta(tool_calls=(calls.pop(0),))))
            continue
        is_last = all(later[1] == "call" for later in pieces[number + 1 :])
        text = answer.text[at:] if is_last else answer.text[at : at + what]  # what was hidden may have another length
        at += what
        if text:
            deltas.append((after, ChoiceDelta(content=text)))
    return deltas


def _call(number: int, name: str, arguments: Mapping[str, Any] | str, call_id: str = "") -> FunctionToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return FunctionToolCall(name=name, arguments=text, call_id=call_id or f"recorded_{id(text):x}_{number}")


# -- a model that is asked instead


def _is_near(model: LLM) -> bool:
    """It runs in this process, and takes the call's own time."""
    from antiphon.scenarios.models import has_own_clock

    return not has_own_clock(model)


async def _asked(model: LLM, request: ChatRequest) -> CollectedResponse:
    async with asyncio.timeout(_NETWORK):
        return await model.chat(
            chat_ctx=request.chat_ctx,
            tools=request.tools,
            tool_choice=request.tool_choice,
            parallel_tool_calls=request.parallel_tool_calls,
            response_format=request.response_format,
            extra_kwargs=request.extra_kwargs,
        ).collect()


def _chunks(response: CollectedResponse) -> list[ChatChunk]:
    deltas = [ChoiceDelta(content=response.text)] if response.text else []
    deltas += [ChoiceDelta(tool_calls=(call,)) for call in response.tool_calls]
    return [ChatChunk(id="instead", delta=delta) for delta in deltas]


class _Elsewhere:
    """A loop in real time, in a thread of its own: virtual time stands still while a network is asked."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="model in real time", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


_place: list[_Elsewhere] = []


def _elsewhere(work: Coroutine[Any, Any, T]) -> T:
    """Do it in real time, while this thread waits. Raises what it raises."""
    if not _place:
        _place.append(_Elsewhere())
    try:
        return _place[0].run(work)
    except TimeoutError:
        raise ProviderError(f"the model did not answer within {_NETWORK:g} s", provider="instead") from None


# -- the models of a call


class Voice(FakeTTS):
    """As fast as the recorded one, text by text where that is known."""

    def __init__(self, call: RecordedCall) -> None:
        super().__init__(sample_rate=RATE, seconds_per_character=call.pace, ttfb=call.first_sound)
        self._paces = call.paces

    def duration(self, text: str) -> float:
        said = text.strip()
        pace = next((pace for known, pace in self._paces if said and said in known), None)
        return super().duration(text) if pace is None or not super().duration(text) else len(said) * pace


class Models:
    """Chooses the models of a call that is made again. `choice`: what it would run with otherwise."""

    def __init__(
        self,
        call: RecordedCall,
        line: Line,
        choice: Callable[[Mapping[ModelKind, Any]], Mapping[ModelKind, Any]],
        *,
        asks_others: bool,
    ) -> None:
        self._call = call
        self._line = line
        self._choice = choice
        self.asks_others = asks_others
        """Requests that are not recorded are answered by another model."""
        self._tts = Voice(call)
        self.memory = Memory(call.answers)

    def __call__(self, given: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
        """What to run with. Raises `UsageError` for a model that hears and speaks by itself."""
        return {kind: self._chosen(kind, model) for kind, model in given.items()}

    def _chosen(self, kind: ModelKind, given: Any) -> Any:
        if kind == "llm":
            return self._language_model(given)
        if not self._call.voice:
            return None
        heard: dict[str, Any] = {"stt": self._line.stt, "vad": self._line.vad, "tts": self._tts}
        return heard.get(kind, self._line.turn_detector)

    def _language_model(self, given: Any) -> LLM:
        if isinstance(given, RealtimeModel):
            raise UsageError(
                f"{given.label} hears and speaks by itself: what it was asked is in no record, and cannot be replayed."
            )
        if isinstance(given, Recorded):
            return given
        other = self._choice({"llm": given})["llm"]
        own = other if isinstance(other, LLM) else None
        return Recorded(self.memory, own, own if self.asks_others else None)
