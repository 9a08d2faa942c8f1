"""The conformance suites accept our fakes and catch what breaks a promise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

import pytest

from antiphon.audio import AudioFrame
from antiphon.llm import LLM, ChatChunk, ChatRequest, ChoiceDelta, FunctionToolCall
from antiphon.stt import STT, SpeechEvent, STTStream
from antiphon.testing import (
    FakeLLM,
    FakeSpeaker,
    FakeSTT,
    FakeTTS,
    FakeVAD,
    Reply,
    check_llm,
    check_output,
    check_stt,
    check_tts,
    check_vad,
    run_virtual,
)
from antiphon.transport import AudioOutput
from antiphon.tts import TTS, SynthesizedAudio
from antiphon.vad import VAD, SpeechEnded, SpeechStarted, VADEvent, VADStream


def test_the_fakes_keep_their_promises() -> None:
    run_virtual(check_llm(lambda: FakeLLM(lambda _: Reply("Hello there", calls=[("book", {})]))))
    run_virtual(check_stt(lambda: FakeSTT(["Book a table, please."]), expect="a table"))
    run_virtual(check_tts(lambda: FakeTTS(words=True)))
    run_virtual(check_vad(FakeVAD))
    run_virtual(check_output(FakeSpeaker, tolerance=0.001))


def complains(check: Coroutine[Any, Any, None], about: str) -> None:
    with pytest.raises(AssertionError, match=about):
        run_virtual(check)


# -- language models


class ScriptedLLM(LLM):
    def __init__(self, *chunks: ChatChunk) -> None:
        self.chunks = chunks

    async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        await asyncio.sleep(0.1)
        for chunk in self.chunks:
            yield chunk


TEXT = ChatChunk("1", ChoiceDelta(content="Hello"))


@pytest.mark.parametrize(
    ("chunks", "complaint"),
    [
        ([], "no chunks"),
        ([ChatChunk("1")], "neither text nor calls"),
        ([TEXT, ChatChunk("2", ChoiceDelta(content="x"))], "share one id"),
        ([ChatChunk("1", ChoiceDelta(role="user", content="x"))], "role"),
        ([ChatChunk("1", ChoiceDelta(tool_calls=[FunctionToolCall("f", "{", "c")]))], "incomplete arguments"),
        ([ChatChunk("1", ChoiceDelta(tool_calls=[FunctionToolCall("f", "{}", "c")] * 2))], "unique"),
        ([TEXT], "same chunk id"),
    ],
)
def test_a_model_with_broken_chunks_is_caught(chunks: Sequence[ChatChunk], complaint: str) -> None:
    complains(check_llm(lambda: ScriptedLLM(*chunks)), complaint)


class StubbornLLM(FakeLLM):
    async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        try:
            async for chunk in super().generate(request):
                yield chunk
        except asyncio.CancelledError:
            yield TEXT


def test_a_model_that_swallows_cancellation_is_caught() -> None:
    complains(check_llm(lambda: StubbornLLM(lambda _: "Hi")), "swallowed its cancellation")


def test_a_model_that_never_answers_is_caught() -> None:
    complains(check_llm(lambda: FakeLLM(lambda _: Reply("Hi", ttft=60))), "took more than 30 s")


# -- speech to text


class BrokenSTT(STT):
    """A recogniser whose streams do what they are told on each promise."""

    def __init__(self, events: Sequence[SpeechEvent] = (), *, ends: bool = True, closes: bool = True) -> None:
        self.events, self.ends, self.closes = events, ends, closes

    def stream(self) -> STTStream:
        return BrokenSTTStream(self)


class BrokenSTTStream(STTStream):
    def __init__(self, stt: BrokenSTT) -> None:
        self.stt = stt
        self.over = asyncio.Event()

    def push(self, frame: AudioFrame) -> None:
        """Hears nothing."""

    def end_input(self) -> None:
        if self.stt.ends:
            self.over.set()

    async def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        for event in self.stt.events:
            yield event
        await self.over.wait()

    async def aclose(self) -> None:
        if self.stt.closes:
            self.over.set()


@pytest.mark.parametrize(
    ("factory", "complaint"),
    [
        (lambda: BrokenSTT([SpeechEvent.interim("Hel")]), "still an interim"),
        (lambda: BrokenSTT([SpeechEvent.final("Hello")]), "closed STTStream still gave"),
        (lambda: BrokenSTT(ends=False), "after end_input.* took more"),
        (lambda: BrokenSTT(closes=False), "did not end"),
        (lambda: FakeSTT(["Good bye"]), "expected 'Hello', got 'Good bye'"),
    ],
)
def test_a_broken_recogniser_is_caught(factory: Callable[[], STT], complaint: str) -> None:
    expect = "Hello" if "Hello" in complaint else None
    complains(check_stt(factory, expect=expect), complaint)


# -- text to speech


class WrongRateTTS(FakeTTS):
    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        async for audio in super().synthesize(text):
            yield SynthesizedAudio(AudioFrame(audio.frame.data, 8_000), audio.text)


class ForgetfulTTS(FakeTTS):
    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        async for audio in super().synthesize(text[:8]):
            yield audio


class MuteTTS(FakeTTS):
    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        async for audio in super().synthesize(text):
            yield SynthesizedAudio(audio.frame)


class UnclosableTTS(FakeTTS):
    def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        return Plain(super().synthesize(text))


class Plain:
    def __init__(self, wrapped: AsyncIterator[SynthesizedAudio]) -> None:
        self.wrapped = wrapped

    def __aiter__(self) -> AsyncIterator[SynthesizedAudio]:
        return self

    async def __anext__(self) -> SynthesizedAudio:
        return await anext(self.wrapped)


@pytest.mark.parametrize(
    ("factory", "complaint"),
    [
        (WrongRateTTS, "8000 Hz, but sample_rate is 24000"),
        (ForgetfulTTS, "expected the text"),
        (MuteTTS, "does not carry the text"),
        (UnclosableTTS, "cannot be closed"),
        (lambda: FakeTTS(seconds_per_character=0.001), "cannot be 8 words"),
        (lambda: FakeTTS(ttfb=60), "took more than 30 s"),
    ],
)
def test_a_broken_voice_is_caught(factory: Callable[[], TTS], complaint: str) -> None:
    complains(check_tts(factory), complaint)


# -- voice activity


class BrokenVAD(VAD):
    """Streams that give the same events for each frame, or at the end."""

    def __init__(self, first: Sequence[VADEvent] = (), at_end: Sequence[VADEvent] = ()) -> None:
        self.first, self.at_end = first, at_end

    def stream(self) -> VADStream:
        return BrokenVADStream(list(self.first), list(self.at_end))


class BrokenVADStream(VADStream):
    def __init__(self, first: list[VADEvent], at_end: list[VADEvent]) -> None:
        self.first, self.at_end = first, at_end

    def push(self, frame: AudioFrame) -> Sequence[VADEvent]:
        events, self.first = self.first, []
        return events

    def end(self) -> Sequence[VADEvent]:
        return self.at_end


class SharedVAD(FakeVAD):
    def __init__(self) -> None:
        super().__init__()
        self.only = super().stream()

    def stream(self) -> VADStream:
        return self.only


class FrameLengthVAD(FakeVAD):
    """Hears nothing in frames shorter than 10 ms."""

    def stream(self) -> VADStream:
        return ShortSighted(super().stream())


class ShortSighted(VADStream):
    def __init__(self, inner: VADStream) -> None:
        self.inner = inner

    def push(self, frame: AudioFrame) -> Sequence[VADEvent]:
        return self.inner.push(frame) if frame.duration > 0.01 else ()

    def end(self) -> Sequence[VADEvent]:
        return self.inner.end()


START, END = SpeechStarted(0.5), SpeechEnded(1.5)


@pytest.mark.parametrize(
    ("factory", "complaint"),
    [
        (BrokenVAD, "nobody was heard"),
        (lambda: BrokenVAD([END, START]), "alternate"),
        (lambda: BrokenVAD([START, SpeechEnded(9.0)]), "in the future"),
        (lambda: BrokenVAD([START]), "still speaks"),
        (lambda: BrokenVAD([START, END]), "silence was taken"),
        (FrameLengthVAD, "frames of 0.007 s"),
        (SharedVAD, "independent"),
    ],
)
def test_a_broken_detector_is_caught(factory: Callable[[], VAD], complaint: str) -> None:
    complains(check_vad(factory), complaint)


# -- loudspeakers


class EagerSpeaker(FakeSpeaker):
    """Counts what it was given as played."""

    @property
    def played(self) -> float:
        return super().played + self.queued


class RestlessSpeaker(FakeSpeaker):
    def pause(self) -> None:
        """Plays on."""


class DeafSpeaker(FakeSpeaker):
    def resume(self) -> None:
        """Stays paused."""


class HoardingSpeaker(FakeSpeaker):
    def clear(self) -> float:
        return self.queued


class SilencedSpeaker(FakeSpeaker):
    def clear(self) -> float:
        dropped = super().clear()
        self.pause()
        return dropped


class ForgettingSpeaker(FakeSpeaker):
    """Counts anew when it resumes."""

    forgotten = 0.0

    def resume(self) -> None:
        super().resume()
        self.forgotten = super().played

    @property
    def played(self) -> float:
        return super().played - self.forgotten


@pytest.mark.parametrize(
    ("factory", "complaint"),
    [
        (EagerSpeaker, "0.3 s after more was written"),
        (RestlessSpeaker, r"0.3 s after pause\(\)"),
        (DeafSpeaker, r"0.2 s after resume\(\)"),
        (HoardingSpeaker, "second clear"),
        (SilencedSpeaker, "ends a pause"),
        (ForgettingSpeaker, r"0.2 s after resume\(\)"),
    ],
)
def test_a_broken_loudspeaker_is_caught(factory: Callable[[], AudioOutput], complaint: str) -> None:
    complains(check_output(factory), complaint)


# -- the package


def test_public_names_are_there() -> None:
    import antiphon.testing as kit

    assert all(getattr(kit, name) is not None for name in kit.__all__)
