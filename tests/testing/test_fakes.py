"""The fakes do what their scripts say, when they say it, and record what they were asked."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any, cast

import pytest

from antiphon.audio import AudioFrame
from antiphon.chat import ChatContext, FunctionCall
from antiphon.errors import ProviderError, UsageError
from antiphon.llm import ChatRequest, CollectedResponse, FunctionToolCall, LLMStream
from antiphon.stt import SpeechEvent, STTStream
from antiphon.testing import (
    CallbackFailed,
    Fail,
    FakeLLM,
    FakeSTT,
    FakeTTS,
    FakeTurnDetector,
    FakeVAD,
    Hang,
    Reply,
    ScriptExhausted,
    now,
    run_virtual,
    silence,
    speech,
)
from antiphon.tts import SynthesizedAudio
from antiphon.turn_detector import TurnSoFar
from antiphon.vad import SpeechEnded, SpeechStarted, VADEvent

# -- language model


def chat(llm: FakeLLM, text: str = "hi") -> LLMStream:
    ctx = ChatContext.empty()
    ctx.add_message(role="user", content=text)
    return llm.chat(chat_ctx=ctx)


def ask(llm: FakeLLM, *texts: str) -> list[CollectedResponse]:
    async def call() -> list[CollectedResponse]:
        return [await chat(llm, text).collect() for text in texts]

    return run_virtual(call())


def test_a_script_is_answered_turn_by_turn() -> None:
    llm = FakeLLM(["Hello", Reply("One moment.", calls=[("book", {"day": "Tue"}), ("pay", "{")])])
    first, second = ask(llm, "hi", "book")
    assert (first.text, second.text) == ("Hello", "One moment.")
    assert second.tool_calls == [
        FunctionToolCall("book", '{"day": "Tue"}', "call_1"),
        FunctionToolCall("pay", "{", "call_2"),
    ]


def test_a_mapping_answers_by_what_was_said() -> None:
    llm = FakeLLM({"TABLE": "For how many?", "two": "Done."})
    assert [r.text for r in ask(llm, "a table please", "two")] == ["For how many?", "Done."]


def test_a_function_answers_the_request() -> None:
    def respond(request: ChatRequest) -> Reply:
        return Reply(f"{len(request.chat_ctx)} items")

    assert ask(FakeLLM(respond), "hi")[0].text == "1 items"


def test_the_text_comes_in_deltas_at_the_pace_of_the_model() -> None:
    async def call() -> list[tuple[float, str | None]]:
        llm = FakeLLM([Reply("One two three", ttft=0.5, tokens_per_second=10)])
        async with chat(llm) as stream:
            return [(round(now(), 3), c.delta.content) async for c in stream if c.delta is not None]

    assert run_virtual(call()) == [(0.5, "One"), (0.6, " two"), (0.7, " three")]


def test_requests_are_kept_as_they_were() -> None:
    async def call() -> FakeLLM:
        llm = FakeLLM(["a", "b"])
        ctx = ChatContext.empty()
        for text in ("one", "two"):
            ctx.add_message(role="user", content=text)
            await llm.chat(chat_ctx=ctx).collect()
        return llm

    llm = run_virtual(call())
    assert llm.histories == [["user: one"], ["user: one", "user: two"]]
    assert llm.remaining == 0


def test_running_out_of_script_shows_the_request() -> None:
    with pytest.raises(ScriptExhausted, match=r"(?s)1 turns and this is request 2.*user: again"):
        ask(FakeLLM(["Hello"]), "hi", "again")


def test_a_mapping_without_an_answer_shows_the_request() -> None:
    with pytest.raises(ScriptExhausted, match="user: hi"):
        ask(FakeLLM({"bye": "Bye"}), "hi")


def test_a_session_cannot_swallow_that_the_script_ran_out() -> None:
    async def call() -> None:
        with pytest.raises(ScriptExhausted):
            await chat(FakeLLM()).collect()

    with pytest.raises(CallbackFailed, match="request 1"):
        run_virtual(call())


def test_an_unpaired_call_in_a_request_is_refused() -> None:
    async def call() -> None:
        ctx = ChatContext([FunctionCall(call_id="1", name="book", arguments="{}")])
        await FakeLLM(["Hello"]).chat(chat_ctx=ctx).collect()

    with pytest.raises(AssertionError, match="no output"):
        run_virtual(call())


def test_a_failure_comes_after_its_text() -> None:
    async def call() -> tuple[list[str | None], float]:
        seen: list[str | None] = []
        with pytest.raises(ProviderError, match="down"):
            async for chunk in chat(FakeLLM([Fail(ProviderError("down"), text="Well", after=2.0)], ttft=0)):
                assert chunk.delta is not None
                seen.append(chunk.delta.content)
        return seen, now()

    assert run_virtual(call()) == (["Well"], 2.0)


def test_a_hanging_response_ends_when_it_is_cancelled_and_counts_as_stopped() -> None:
    async def call() -> FakeLLM:
        llm = FakeLLM([Hang("Well")])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await chat(llm).collect()
        return llm

    assert run_virtual(call()).stopped == 1


def test_a_pace_must_be_positive() -> None:
    with pytest.raises(UsageError, match="tokens_per_second"):
        FakeLLM(tokens_per_second=0)


# -- speech to text


async def listen(stream: STTStream) -> list[tuple[float, str, str]]:
    return [(round(now(), 3), event.type.value[:5], event.text) async for event in stream]


async def say(stream: STTStream, seconds: float) -> None:
    stream.mark(SpeechStarted(0))
    for _ in range(round(seconds / 0.1)):
        await asyncio.sleep(0.1)
        stream.push(speech(0.1))
    stream.mark(SpeechEnded(0))


def heard(stt: FakeSTT, *utterances: float) -> list[tuple[float, str, str]]:
    async def call() -> list[tuple[float, str, str]]:
        async with stt.stream() as stream, asyncio.TaskGroup() as group:
            listening = group.create_task(listen(stream))
            for seconds in utterances:
                await say(stream, seconds)
                await asyncio.sleep(1)
            stream.end_input()
        return listening.result()

    return run_virtual(call())


def test_each_utterance_has_interims_while_it_lasts_and_a_final_after_it() -> None:
    stt = FakeSTT(["Hi there.", "Bye."], delay=0.2, words_per_second=4)
    assert heard(stt, 0.6, 0.2) == [
        (0.3, "inter", "Hi"),
        (0.5, "inter", "Hi there."),
        (0.8, "final", "Hi there."),
        (2.0, "final", "Bye."),
    ]


def test_a_noise_and_what_is_beyond_the_script_have_no_transcript() -> None:
    assert heard(FakeSTT(["", "Yes"], interims=False), 0.3, 0.3, 0.3) == [(1.7, "final", "Yes")]


def test_the_script_goes_on_in_a_second_stream() -> None:
    stt = FakeSTT(["one", "two"], interims=False)
    assert [text for _, _, text in heard(stt, 0.1) + heard(stt, 0.1)] == ["one", "two"]


def test_a_flush_gives_the_final_transcript_at_once_and_only_once() -> None:
    async def call() -> list[tuple[float, str, str]]:
        stream = FakeSTT(["Hello"]).stream()
        stream.mark(SpeechStarted(0))
        stream.flush()
        stream.mark(SpeechEnded(0))
        stream.end_input()
        return await listen(stream)

    assert run_virtual(call()) == [(0.0, "final", "Hello")]


def test_a_timeline_goes_by_the_audio_pushed() -> None:
    async def call() -> list[tuple[str, float]]:
        stream = FakeSTT(timeline=[(0.25, SpeechEvent.final("b")), (0.1, SpeechEvent.interim("a"))]).stream()
        got: list[tuple[str, float]] = []
        iterator = aiter(stream)
        for _ in range(3):
            stream.push(silence(0.1))
            if stream.pushed != pytest.approx(0.2):
                got.append(((await anext(iterator)).text, round(stream.pushed, 3)))
        await stream.aclose()
        return got

    assert run_virtual(call()) == [("a", 0.1), ("b", 0.3)]


def test_a_scripted_failure_ends_the_stream() -> None:
    async def call() -> None:
        stream = FakeSTT([Fail(ProviderError("gone"))]).stream()
        stream.mark(SpeechStarted(0))
        with pytest.raises(ProviderError, match="gone"):
            await listen(stream)
        assert stream.closed

    run_virtual(call())


def test_transcripts_end_when_the_stream_is_closed() -> None:
    async def call() -> list[tuple[float, str, str]]:
        stream = FakeSTT(["Hello"]).stream()
        await say(stream, 0.2)
        await stream.aclose()
        return await listen(stream)

    assert run_virtual(call()) == []


# -- voice activity


def detect(vad: FakeVAD, *pieces: AudioFrame) -> list[VADEvent]:
    stream = vad.stream()
    events = [event for piece in pieces for event in stream.push(piece)]
    return events + list(stream.end())


def test_voice_begins_and_ends_a_speech_where_it_sounded() -> None:
    events = detect(FakeVAD(), silence(1), speech(0.5), silence(1))
    assert [type(e) for e in events] == [SpeechStarted, SpeechEnded]
    assert [e.at for e in events] == pytest.approx([1.0, 1.5])


def test_a_click_is_no_speech_and_a_breath_does_not_end_one() -> None:
    assert detect(FakeVAD(start_delay=0.05), speech(0.04), silence(1)) == []
    assert len(detect(FakeVAD(stop_delay=0.2), speech(1), silence(0.15), speech(1), silence(1))) == 2


def test_the_end_of_input_ends_a_speech() -> None:
    assert [type(e) for e in detect(FakeVAD(), speech(1))] == [SpeechStarted, SpeechEnded]


# -- text to speech


async def synthesize(tts: FakeTTS, text: str) -> list[SynthesizedAudio]:
    return [audio async for audio in tts.synthesize(text)]


def test_audio_is_as_long_as_its_text_and_never_silent() -> None:
    audio = run_virtual(synthesize(FakeTTS(seconds_per_character=0.05), "Hello there"))
    assert sum(a.frame.duration for a in audio) == pytest.approx(0.55)
    assert [a.text for a in audio] == ["Hello there", "", "", "", "", ""]
    assert len(detect(FakeVAD(), *(a.frame for a in audio))) == 2


def test_the_first_audio_takes_its_time_and_the_rest_comes_at_the_given_speed() -> None:
    async def call() -> list[float]:
        return [round(now(), 3) async for _ in FakeTTS(ttfb=0.3, speed=2.0).synthesize("Hello")]

    assert run_virtual(call()) == [0.3, 0.35, 0.4]


def test_what_was_asked_and_what_was_stopped_is_recorded() -> None:
    async def call() -> FakeTTS:
        tts = FakeTTS()
        await synthesize(tts, "Hello there. ")
        async with aclosing(cast("Any", tts.synthesize("Never said"))) as audio:
            await anext(audio)
        return tts

    tts = run_virtual(call())
    assert (tts.said, tts.stopped) == (["Hello there.", "Never said"], 1)


def test_a_voice_fails_on_the_text_it_was_told() -> None:
    async def call() -> float:
        seconds = 0.0
        with pytest.raises(ProviderError, match="boom"):
            async for audio in FakeTTS(fail_on="boom", fail_after=0.2).synthesize("boom!"):
                seconds += audio.frame.duration
        return seconds

    assert run_virtual(call()) == pytest.approx(0.2)


def test_word_timings_follow_the_text() -> None:
    audio = run_virtual(synthesize(FakeTTS(words=True, seconds_per_character=0.1), "Hi you"))
    assert [(w.text, round(w.start, 3), round(w.end, 3)) for w in audio[0].words] == [("Hi", 0, 0.2), ("you", 0.3, 0.6)]


def test_text_without_a_word_makes_no_sound() -> None:
    assert run_virtual(synthesize(FakeTTS(), "—")) == []


# -- end of turn


@pytest.mark.parametrize(
    ("probability", "expected"),
    [(0.25, 0.25), ({"TABLE": 0.1}, 0.1), ({"bye": 0.1}, 1.0), (lambda turn: len(turn.text) / 100, 0.07)],
)
def test_a_turn_detector_gives_the_answer_it_was_told(probability: Any, expected: float) -> None:
    async def call() -> tuple[float, int, float]:
        detector = FakeTurnDetector(probability, delay=0.1)
        answer = await detector.predict(TurnSoFar("a table", ()))
        return answer, len(detector.turns), now()

    assert run_virtual(call()) == (expected, 1, 0.1)
