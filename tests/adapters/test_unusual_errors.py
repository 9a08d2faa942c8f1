"""What providers may raise besides an `Exception`: the next provider answers, and the call goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from antiphon import Agent
from antiphon.adapters.cached_tts import CachedTTS
from antiphon.adapters.fallback import FallbackLLM, FallbackSTT, FallbackTTS
from antiphon.llm import LLM, ChatRequest
from antiphon.stt import STT, STTStream
from antiphon.testing import Caller, CallerSTT, FakeTTS, run_virtual
from antiphon.testing.caller import RATE
from antiphon.tts import TTS
from tests.contract.test_unusual_errors import UNUSUAL
from tests.situations.calls import calling, model, said

WHERE = ["open", "push", "mark", "listen", "close"]


@pytest.fixture(params=[name for name in UNUSUAL if name != "GeneratorExit"])  # frames come outside of any task
def raised(request: pytest.FixtureRequest) -> Callable[[], BaseException]:
    return UNUSUAL[request.param]


class BrokenLLM(LLM):
    def __init__(self, raised: Callable[[], BaseException], at_once: bool) -> None:
        self.raised, self.at_once = raised, at_once
        self.model = "broken"

    def generate(self, request: ChatRequest) -> Any:
        if self.at_once:
            raise self.raised()
        return self._chunks()

    async def _chunks(self) -> Any:
        await asyncio.sleep(0.01)
        raise self.raised()
        yield  # so that it is a generator


class BrokenSTT(STT):
    def __init__(self, raised: Callable[[], BaseException], where: str) -> None:
        self.raised, self.where = raised, where

    def stream(self) -> STTStream:
        if self.where == "open":
            raise self.raised()
        return BrokenStream(self.raised, self.where)


class BrokenStream(STTStream):
    def __init__(self, raised: Callable[[], BaseException], where: str) -> None:
        self.raised, self.where, self.frames = raised, where, 0

    def push(self, frame: Any) -> None:
        self.frames += 1
        if self.where == "push" and self.frames > 20:
            raise self.raised()

    def mark(self, event: Any) -> None:
        if self.where == "mark":
            raise self.raised()

    async def __aiter__(self) -> Any:
        await asyncio.sleep(0.3 if self.where == "listen" else 3600.0)
        raise self.raised()
        yield  # so that it is a generator

    async def aclose(self) -> None:
        if self.where == "close":
            raise self.raised()


class BrokenTTS(TTS):
    sample_rate = RATE

    def __init__(self, raised: Callable[[], BaseException], at_once: bool) -> None:
        self.raised, self.at_once = raised, at_once

    def synthesize(self, text: str) -> Any:
        if self.at_once:
            raise self.raised()
        return self._sound()

    async def _sound(self) -> Any:
        await asyncio.sleep(0.01)
        raise self.raised()
        yield  # so that it is a generator


async def talk(
    llm: LLM | None = None, stt: STT | None = None, tts: TTS | None = None, caller: Caller | None = None
) -> list[str]:
    caller = caller or Caller()
    async with calling(llm or model(["Six, tonight."]), caller=caller, stt=stt, tts=tts) as call:
        await call.start(Agent())
        await asyncio.sleep(0.1)
        await caller.says("find me a table for six")
        await call.settled(quiet=3.0)
        if said(call.session)[-1:] != ["Six, tonight."]:
            await caller.says("find me a table for six")
            await call.settled(quiet=3.0)
        heard = call.timeline.agent
        assert heard
        return said(call.session)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_fallback_of_models_goes_on(raised: Callable[[], BaseException], at_once: bool) -> None:
    llm = FallbackLLM([BrokenLLM(raised, at_once), model(["Six, tonight."])])
    assert run_virtual(talk(llm))[-1] == "Six, tonight."


@pytest.mark.parametrize("where", WHERE)
def test_a_fallback_of_recognisers_goes_on(raised: Callable[[], BaseException], where: str) -> None:
    async def main() -> None:
        caller = Caller()
        stt = FallbackSTT([BrokenSTT(raised, where), CallerSTT(caller)])
        assert (await talk(stt=stt, caller=caller))[-2:] == ["find me a table for six", "Six, tonight."]

    run_virtual(main())


@pytest.mark.parametrize("where", WHERE)
def test_a_recogniser_alone_that_breaks_does_not_stop_the_frames(
    raised: Callable[[], BaseException], where: str
) -> None:
    async def main() -> None:
        caller = Caller()

        class Once(STT):
            streams = 0

            def stream(self) -> STTStream:
                self.streams += 1
                return (BrokenSTT(raised, where) if self.streams == 1 else CallerSTT(caller)).stream()

        assert (await talk(stt=Once(), caller=caller))[-2:] == ["find me a table for six", "Six, tonight."]

    run_virtual(main())


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("cached", [True, False])
def test_a_fallback_of_voices_goes_on(raised: Callable[[], BaseException], at_once: bool, cached: bool) -> None:
    broken: TTS = BrokenTTS(raised, at_once)
    tts = FallbackTTS([CachedTTS(broken) if cached else broken, FakeTTS(sample_rate=RATE)])
    assert run_virtual(talk(tts=tts))[-1] == "Six, tonight."


@pytest.mark.parametrize("at_once", [True, False])
def test_a_cached_voice_that_cannot_prepare_its_texts_is_no_error(
    raised: Callable[[], BaseException], at_once: bool
) -> None:
    async def main() -> None:
        await CachedTTS(BrokenTTS(raised, at_once), texts=["One moment."]).prewarm()

    run_virtual(main())
