"""What is asked of whom when language models fail, and what is never asked twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from itertools import pairwise
from typing import Any

import pytest

from antiphon import Agent, AgentSession, function_tool
from antiphon.adapters.fallback import AllProvidersFailed, AvailabilityChanged, Backoff, FallbackLLM
from antiphon.chat import ChatContext
from antiphon.errors import ProviderConnectionError, ProviderStatusError, ProviderTimeout, UsageError
from antiphon.llm import LLM, ChatChunk, ChatRequest, CollectedResponse
from antiphon.testing import (
    Fail,
    FakeLLM,
    FakeSTT,
    FakeTTS,
    Hang,
    Reply,
    check_llm,
    now,
    run_virtual,
    transcript,
)
from tests.adapters.fallback_calls import Call

DOWN = ProviderConnectionError("refused", provider="one")


async def ask(llm: LLM, text: str = "Hello?") -> CollectedResponse:
    chat_ctx = ChatContext.empty()
    chat_ctx.add_message(role="user", content=text)
    return await llm.chat(chat_ctx=chat_ctx).collect()


def run(work: Coroutine[Any, Any, None]) -> None:
    run_virtual(work, timeout=600.0)


def test_it_is_a_language_model_like_any_other() -> None:
    run(check_llm(lambda: FallbackLLM([FakeLLM(lambda _: Fail(DOWN)), FakeLLM(lambda _: "Hello there.")])))


def test_it_needs_a_model() -> None:
    with pytest.raises(UsageError, match="FallbackLLM: expected one provider or more"):
        FallbackLLM([])


def test_the_next_model_gets_the_same_request() -> None:
    async def main() -> None:
        first, second = FakeLLM([Fail(DOWN)]), FakeLLM(["It is noon."])
        llm = FallbackLLM([first, second])
        assert (await ask(llm, "What time is it?")).text == "It is noon."
        assert first.histories == second.histories == [["user: What time is it?"]]

    run(main())


def test_a_model_that_stalls_is_given_up_after_the_attempt_timeout() -> None:
    async def main() -> None:
        first, second = FakeLLM([Hang()]), FakeLLM(["It is noon."])
        assert (await ask(FallbackLLM([first, second], attempt_timeout=2.0))).text == "It is noon."
        assert 2.0 <= now() <= 2.3
        assert first.stopped == 1

    run(main())


def test_chunks_without_text_do_not_keep_a_stalled_model() -> None:
    class Thinking(FakeLLM):
        async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
            while True:
                await asyncio.sleep(0.1)
                yield ChatChunk(id="thinking")

    async def main() -> None:
        chat_ctx = ChatContext.empty()
        stream = FallbackLLM([Thinking(), FakeLLM(["Yes."])], attempt_timeout=1.0).chat(chat_ctx=chat_ctx)
        async with stream:
            assert {chunk.id async for chunk in stream} == {"response_1"}

    run(main())


def test_a_model_that_is_slow_to_stop_does_not_keep_the_next_one_waiting() -> None:
    class Stuck(FakeLLM):
        async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
            try:
                await asyncio.sleep(60)
                yield ChatChunk(id="late")
            finally:
                await asyncio.sleep(0.9)

    async def main() -> None:
        llm = FallbackLLM([Stuck(), FakeLLM(["Yes."])], attempt_timeout=1.0)
        await ask(llm)
        assert now() <= 1.2
        await llm.aclose()

    run(main())


def test_a_model_that_has_given_text_is_not_followed_by_another() -> None:
    async def main() -> None:
        second = FakeLLM(["It is noon."])
        llm = FallbackLLM([FakeLLM([Fail(DOWN, text="It is")]), second])
        got: list[str | None] = []
        with pytest.raises(ProviderConnectionError, match="refused"):
            async for chunk in llm.chat(chat_ctx=ChatContext.empty()):
                got.append(chunk.delta.content if chunk.delta else None)  # noqa: PERF401  # until it raises
        assert got == ["It", " is"] and second.requests == []

    run(main())


def test_a_model_that_stalls_within_its_response_ends_it_with_a_timeout() -> None:
    async def main() -> None:
        llm = FallbackLLM([FakeLLM([Hang("It is")]), FakeLLM(["It is noon."])], stall_timeout=3.0)
        with pytest.raises(ProviderTimeout, match="expected a chunk within 3 s"):
            await ask(llm)
        assert 3.0 <= now() <= 3.3

    run(main())


def test_all_models_down_is_one_error_that_names_them_all() -> None:
    async def main() -> None:
        llm = FallbackLLM([FakeLLM([Fail(DOWN)]), FakeLLM([Hang()])])
        with pytest.raises(AllProvidersFailed, match=r"refused.*expected an answer within 4 s") as caught:
            await ask(llm)
        assert [type(error) for error in caught.value.errors] == [ProviderConnectionError, ProviderTimeout]

    run(main())


def test_misuse_is_not_tried_on_others() -> None:
    async def main() -> None:
        second = FakeLLM(["Yes."])
        with pytest.raises(UsageError, match="no such tool choice"):
            await ask(FallbackLLM([FakeLLM([Fail(UsageError("no such tool choice"))]), second]))
        assert second.requests == []

    run(main())


def test_a_model_that_failed_is_left_out_and_then_tried_again() -> None:
    async def main() -> None:
        changes: list[AvailabilityChanged] = []
        first, second = FakeLLM([Fail(DOWN), "First."]), FakeLLM(lambda _: "Second.")
        llm = FallbackLLM([first, second], backoff=Backoff(first=10.0), on_availability_changed=changes.append)
        assert (await ask(llm)).text == "Second."
        await asyncio.sleep(9.0)
        assert (await ask(llm)).text == "Second."
        assert len(first.requests) == 1
        await asyncio.sleep(1.0)
        assert (await ask(llm)).text == "First."
        assert [(change.provider, change.available, change.error) for change in changes] == [
            (first, False, DOWN),
            (first, True, None),
        ]

    run(main())


def test_only_one_request_at_a_time_finds_out_whether_a_model_has_recovered() -> None:
    async def main() -> None:
        first, second = FakeLLM(lambda _: Hang()), FakeLLM(lambda _: "Second.")
        llm = FallbackLLM([first, second], attempt_timeout=1.0, backoff=Backoff(first=10.0))
        await ask(llm)
        await asyncio.sleep(11.0)
        await asyncio.gather(*(ask(llm) for _ in range(5)))
        assert len(first.requests) == 2

    run(main())


def test_a_model_is_left_out_for_longer_each_time() -> None:
    async def main() -> None:
        first = FakeLLM(lambda _: Fail(DOWN))
        llm = FallbackLLM([first, FakeLLM(lambda _: "Second.")], backoff=Backoff(first=10.0, limit=25.0))
        asked: list[float] = []
        while now() < 100.0:
            before = len(first.requests)
            await ask(llm)
            if len(first.requests) > before:
                asked.append(round(now()))
            await asyncio.sleep(1.0)
        assert [b - a for a, b in pairwise(asked)] == pytest.approx([10, 20, 25, 25], abs=2)

    run(main())


def test_a_request_that_is_declined_goes_on_to_the_next_and_the_model_stays() -> None:
    async def main() -> None:
        changes: list[AvailabilityChanged] = []
        first = FakeLLM([Fail(ProviderStatusError("too long", status=400)), "First."])
        llm = FallbackLLM([first, FakeLLM(["Second."])], on_availability_changed=changes.append)
        assert [(await ask(llm)).text, (await ask(llm)).text] == ["Second.", "First."]
        assert changes == []

    run(main())


def test_when_all_were_left_out_all_are_asked() -> None:
    async def main() -> None:
        first, second = FakeLLM([Fail(DOWN), Fail(DOWN)]), FakeLLM([Fail(DOWN), "Second."])
        llm = FallbackLLM([first, second], backoff=Backoff(first=100.0))
        with pytest.raises(AllProvidersFailed):
            await ask(llm)
        assert (await ask(llm)).text == "Second."

    run(main())


def test_a_callback_that_raises_does_not_disturb_the_answer() -> None:
    def broken(_: AvailabilityChanged) -> None:
        raise ValueError("oops")

    async def main() -> None:
        llm = FallbackLLM([FakeLLM([Fail(DOWN)]), FakeLLM(["Yes."])], on_availability_changed=broken)
        assert (await ask(llm)).text == "Yes."

    run(main())


def test_closing_closes_every_model() -> None:
    async def main() -> None:
        models = [FakeLLM(), FakeLLM()]
        await FallbackLLM(models).aclose()
        assert [model.closed for model in models] == [True, True]

    run(main())


# -- in a session


def test_a_turn_is_answered_by_the_next_model_within_two_seconds_of_the_error() -> None:
    async def main() -> None:
        failed: list[float] = []
        llm = FallbackLLM(
            [FakeLLM([Fail(DOWN, after=0.5)]), FakeLLM(["It is noon."])],
            on_availability_changed=lambda _: failed.append(now()),
        )
        async with Call(llm=llm, stt=FakeSTT(["what time is it"])) as call:
            await call.begin()
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            await call.session.wait_for_idle()
            assert transcript(call.session.history) == ["user: what time is it", "assistant: It is noon."]
            delay = call.speaker.sounds[0].start - failed[0]
            print(f"from the error to the next model's voice: {delay:.2f} s")
            assert delay <= 2.0 and call.errors == []

    run(main())


def test_a_model_that_dies_in_mid_sentence_is_apologised_for_within_two_seconds() -> None:
    async def main() -> None:
        second = FakeLLM(["It is noon."])
        llm = FallbackLLM([FakeLLM([Fail(DOWN, text="It is almost")]), second])
        voice = FakeTTS()
        line = "Sorry, say that again?"
        async with Call(llm=llm, stt=FakeSTT(["what time is it"]), tts=voice, failure_line=line) as call:
            await call.begin()
            await call.microphone.speak(1.0)
            await asyncio.sleep(4.0)
            await call.session.wait_for_idle()
            assert transcript(call.session.history) == [
                "user: what time is it",
                "assistant: It is almost",
                "assistant: Sorry, say that again?",
            ]
            delay = call.speaker.sounds[-1].end - voice.duration(line) - call.errors[0][0]
            print(f"from the error to the apology: {delay:.2f} s")
            assert delay <= 2.0 and second.requests == []

    run(main())


def test_a_call_that_was_made_before_the_model_died_is_run_once_and_answered() -> None:
    runs: list[str] = []

    class Host(Agent):
        @function_tool(effect="writes")
        async def book(self) -> str:
            """Book."""
            runs.append("book")
            return "booked"

    class DiesAfterCalling(FakeLLM):
        async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
            async for chunk in super().generate(request):
                yield chunk
                if chunk.delta is not None and chunk.delta.tool_calls:
                    raise DOWN

    async def main() -> None:
        second = FakeLLM(["It is booked."])
        llm = FallbackLLM([DiesAfterCalling([Reply(calls=[("book", {})])]), second])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Host())
            await session.run(user_input="Book it.")
        assert runs == ["book"]
        assert transcript(session.history) == [
            "user: Book it.",
            "call book({})",
            "output book: booked",
            "assistant: It is booked.",
        ]
        assert len(second.requests) == 1

    run(main())


def test_all_models_down_is_told_to_the_caller_and_to_the_application() -> None:
    async def main() -> None:
        errors: list[Any] = []
        llm = FallbackLLM([FakeLLM([Fail(DOWN)]), FakeLLM([Fail(DOWN)])])
        async with AgentSession[Any](llm=llm, failure_line="Sorry.") as session:
            session.on("error", errors.append)
            await session.start(Agent())
            await session.run(user_input="Hello?")
            assert transcript(session.history) == ["user: Hello?", "assistant: Sorry."]
            assert [type(event.error) for event in errors] == [AllProvidersFailed]

    run(main())
