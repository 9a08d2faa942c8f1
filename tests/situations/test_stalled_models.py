"""A model's stream stands still: what the caller hears, when, and how often; and what becomes of results meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from antiphon import Agent, ErrorEvent, RunContext, function_tool
from antiphon.adapters.fallback import FallbackLLM
from antiphon.errors import ProviderTimeout
from antiphon.llm import ChatChunk, ChatRequest, ChoiceDelta
from antiphon.testing import FakeLLM, Hang, Reply, SimulatedCall, now, run_virtual
from antiphon.testing.fakes import Script
from tests.situations.calls import TTFB, TTFT, Lookup, calling, lines, model, said, voiced

SORRY = "I'm sorry, something went wrong on my side. Could you say that again?"
STREAM_TIMEOUT = 6.0

Piece = str | None | float | tuple[str, dict[str, Any]]
"""Of a response: a text, a chunk with nothing in it, seconds of silence, or a call."""


class PiecesLLM(FakeLLM):
    """A model whose first responses come in these pieces, and then by the script. "..." is silence for ever."""

    def __init__(self, *responses: Sequence[Piece], then: Script = ()) -> None:
        super().__init__([Hang()] * len(responses) + list(then), ttft=TTFT, tokens_per_second=1e6)  # type: ignore[arg-type]
        self._pieces = list(responses)
        self.asked_at: list[float] = []

    async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        self.asked_at.append(now())
        pieces = self._pieces.pop(0) if self._pieces else None
        if pieces is None:
            async for chunk in super().generate(request):
                yield chunk
            return
        self.requests.append(request)
        self._turns += 1
        for piece in pieces:
            if isinstance(piece, float):
                await asyncio.sleep(piece)
            elif isinstance(piece, tuple):
                yield ChatChunk("pieces", ChoiceDelta(tool_calls=(self._call(piece),)))
            else:
                yield ChatChunk("pieces", None if piece is None else ChoiceDelta(content=piece))


FOR_EVER = 3600.0


class Errors(list[tuple[float, BaseException]]):
    """The error events of a call, and when they came."""

    def __init__(self, call: SimulatedCall) -> None:
        super().__init__()
        call.session.on("error", self._note)

    def _note(self, event: ErrorEvent) -> None:
        self.append((now(), event.error))


def fillers(call: SimulatedCall) -> int:
    """How many times the agent was heard, without what the history has."""
    return len(call.timeline.agent) - len(said(call.session, "assistant"))


@pytest.mark.parametrize("first", ["Let me see what there", None, ""])
def test_a_stream_that_stands_still_for_six_seconds_has_failed(first: str | None) -> None:
    async def main() -> None:
        llm = PiecesLLM([TTFT, first, FOR_EVER], then=["It is noon."])
        async with calling(llm) as call:
            errors = Errors(call)
            await call.start(Agent())
            await call.caller.says("what time is it")
            await call.settled()
            assert [type(error) for _, error in errors] == [ProviderTimeout]
            when, error = errors[0]
            assert when - llm.asked_at[0] == pytest.approx(TTFT + STREAM_TIMEOUT, abs=0.05)
            for words in ("PiecesLLM", "stood still for 6 s", "FallbackLLM"):
                assert words in str(error)
            assert said(call.session, "assistant") == [*([first] if first else []), SORRY]
            assert fillers(call) <= 4
            await call.caller.says("what time is it")
            await call.settled()
            assert said(call.session)[-1] == "It is noon."

    run_virtual(main())


def test_a_model_that_gives_no_chunk_has_its_own_limit() -> None:
    async def main() -> None:
        llm = PiecesLLM([FOR_EVER], then=["It is noon."])
        llm.first_chunk_timeout = 20.0
        async with calling(llm) as call:
            errors = Errors(call)
            await call.start(Agent())
            await call.caller.says("what time is it")
            await call.settled()
            assert errors[0][0] - llm.asked_at[0] == pytest.approx(20.0, abs=0.05)
            assert said(call.session)[-1] == SORRY
            await call.caller.says("what time is it")
            await call.settled()
            assert said(call.session)[-1] == "It is noon."

    run_virtual(main())


def test_reasoning_and_keep_alives_show_that_a_model_is_at_work() -> None:
    async def main() -> None:
        thinking: list[Piece] = [TTFT, *([None, 5.0] * 5), "It is noon.", 5.0, " Or so."]
        async with calling(PiecesLLM(thinking)) as call:
            errors = Errors(call)
            await call.start(Agent())
            await call.caller.says("what time is it")
            await call.settled()
        assert not errors
        assert said(call.session)[-1] == "It is noon. Or so."

    run_virtual(main())


@pytest.mark.parametrize("text", ["", "Let me look."])
def test_a_result_that_comes_in_while_the_stream_stands_still_is_told_at_once(text: str) -> None:
    lookup = Lookup(3.0)

    async def main() -> None:
        pieces: list[Piece] = [TTFT, *([text] if text else []), ("look", {}), FOR_EVER]
        llm = PiecesLLM(pieces, then=["Two are free."])
        async with calling(llm) as call:
            errors = Errors(call)
            await call.start(Agent(tools=[lookup.tool]))
            await call.caller.says("find me a table")
            await call.settled()
        assert not errors
        assert lookup.words == ["began", "ended"]
        assert llm.asked_at[1] == pytest.approx(lookup.at("ended"), abs=0.02)
        assert said(call.session, "assistant") == [*([text] if text else []), "Two are free."]

    run_virtual(main())


def test_a_call_that_was_complete_when_the_stream_failed_runs_once_and_is_answered() -> None:
    lookup = Lookup(9.0)

    async def main() -> None:
        llm = PiecesLLM([TTFT, ("look", {}), FOR_EVER], then=["Two are free."])
        async with calling(llm) as call:
            await call.start(Agent(tools=[lookup.tool]))
            await call.caller.says("find me a table")
            await call.settled()
        assert lookup.words == ["began", "ended"]
        assert llm.asked_at[1] == pytest.approx(lookup.at("ended"), abs=0.02)
        assert said(call.session)[-1] == "Two are free."

    run_virtual(main())


def test_a_result_that_is_in_when_the_stream_pauses_is_told_a_second_later() -> None:
    lookup = Lookup(0.3)

    async def main() -> None:
        llm = PiecesLLM([TTFT, ("look", {}), FOR_EVER], then=["Two are free."])
        async with calling(llm) as call:
            await call.start(Agent(tools=[lookup.tool]))
            await call.caller.says("find me a table")
            await call.settled()
        assert llm.asked_at[1] - llm.asked_at[0] == pytest.approx(TTFT + 1.0, abs=0.02)
        assert said(call.session)[-1] == "Two are free."

    run_virtual(main())


def test_a_second_call_that_is_still_written_is_waited_for() -> None:
    lookup = Lookup(0.3)

    async def main() -> None:
        llm = PiecesLLM([TTFT, ("look", {}), *([None, 0.5] * 6), ("look", {"what": "chairs"})], then=["Two are free."])
        async with calling(llm) as call:
            await call.start(Agent(tools=[lookup.tool]))
            await call.caller.says("find me a table")
            await call.settled()
        assert lookup.words.count("ended") == 2
        assert len(llm.asked_at) == 2

    run_virtual(main())


@pytest.mark.parametrize("pieces", [[TTFT, None, FOR_EVER], [TTFT, "There are", FOR_EVER]])
def test_a_background_result_that_comes_in_while_the_stream_stands_still_is_told_at_once(pieces: list[Piece]) -> None:
    ended: list[float] = []

    @function_tool
    async def book(context: RunContext[Any]) -> str:
        """Book it."""
        await context.update("I have asked the kitchen.")
        await asyncio.sleep(12.0)
        ended.append(now())
        return "booked under Ada"

    async def main() -> None:
        told = ["It is noon, and your table is booked.", ""]  # asked once more, it has nothing to add
        llm = PiecesLLM([TTFT, ("book", {})], [TTFT, "I am on it."], pieces, then=told)
        async with calling(llm) as call:
            errors = Errors(call)
            await call.start(Agent(tools=[book]))
            await call.caller.says("book me a table")
            await asyncio.sleep(max(0.0, 9.5 - now()))
            await call.caller.says("what time is it")
            await call.settled()
        assert not errors
        assert llm.asked_at[3] == pytest.approx(ended[0], abs=0.05)
        assert "booked under Ada" in "\n".join(lines(call.session))
        assert voiced(call.session, "your table is booked") == 1
        assert voiced(call.session, "There are") == int("There are" in pieces)

    run_virtual(main())


@pytest.mark.parametrize("pieces", [[FOR_EVER], [TTFT, None, FOR_EVER]])
def test_the_next_model_of_a_fallback_answers_for_one_that_says_nothing(pieces: list[Piece]) -> None:
    async def main() -> None:
        second = model(["It is noon."])
        async with calling(FallbackLLM([PiecesLLM(pieces), second])) as call:
            errors = Errors(call)
            await call.start(Agent())
            asked = await call.caller.says("what time is it")
            await call.settled()
        assert not errors
        assert said(call.session)[-1] == "It is noon."
        answer = call.timeline.agent[-1].start - asked.end
        assert answer < 0.6 + 4.0 + TTFT + TTFB + 1.5

    run_virtual(main())


def test_a_stall_of_a_fallback_names_the_model_that_stood_still() -> None:
    async def main() -> None:
        llm = FallbackLLM([PiecesLLM([TTFT, "Let me", FOR_EVER]), model(["It is noon."])])
        async with calling(llm) as call:
            errors = Errors(call)
            await call.start(Agent())
            await call.caller.says("what time is it")
            await call.settled()
            assert len(errors) == 1
            assert "PiecesLLM" in str(errors[0][1])
            assert said(call.session, "assistant") == ["Let me", SORRY]
            await call.caller.says("what time is it")
            await call.settled()
            assert said(call.session)[-1] == "It is noon."

    run_virtual(main())


def test_a_reply_that_was_made_ahead_and_stands_still_is_given_up_too() -> None:
    async def main() -> None:
        llm = PiecesLLM([TTFT, "Let me see", FOR_EVER], [TTFT, "It is noon."], then=["It is one."])
        async with SimulatedCall(llm) as call:
            await call.start(Agent())
            await call.caller.says("what time is it")
            await call.settled()
        assert said(call.session, "assistant")[-1] in (SORRY, "It is noon.")

    run_virtual(main())


def test_words_over_a_stream_that_stands_still_are_answered() -> None:
    async def main() -> None:
        llm = PiecesLLM([TTFT, None, FOR_EVER], then=[Reply("It is noon.")])
        async with calling(llm, max_silence=None) as call:
            await call.start(Agent())
            await call.caller.says("what time is it")
            await asyncio.sleep(3.0)
            await call.caller.says("and where am I")
            await call.settled()
        assert said(call.session)[-1] == "It is noon."

    run_virtual(main())
