"""`update_options`: every voice and recogniser takes it, does what it can, and tells once what it cannot."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable

import pytest

from antiphon import inference
from antiphon.adapters.cached_tts import CachedTTS
from antiphon.adapters.fallback import FallbackSTT, FallbackTTS
from antiphon.adapters.stream import StreamAdapter
from antiphon.audio import AudioFrame
from antiphon.model import Model
from antiphon.options import NOT_GIVEN
from antiphon.providers import cartesia, deepgram, openai
from antiphon.providers.local.stt import MoonshineSTT
from antiphon.providers.local.tts import HibariTTS
from antiphon.testing import Caller, CallerSTT, FakeSTT, FakeTTS
from antiphon.tts import TTS, SynthesizedAudio


class Listener:
    async def recognize(self, audio: AudioFrame) -> str:
        return ""


MODELS: list[Callable[[], Model]] = [
    openai.TTS, openai.STT, deepgram.TTS, deepgram.STT, cartesia.TTS, HibariTTS, MoonshineSTT, inference.TTS,
    inference.STT, lambda: inference.TTS("nobody/nothing"), FakeTTS, FakeSTT, lambda: CallerSTT(Caller()),
    lambda: FallbackTTS([FakeTTS()]), lambda: FallbackSTT([FakeSTT()]), lambda: CachedTTS(FakeTTS()),
    lambda: StreamAdapter(Listener()),
]  # fmt: skip


@pytest.mark.parametrize("make", MODELS)
def test_every_voice_and_recogniser_takes_options_that_it_does_not_know(make: Callable[[], Model]) -> None:
    make().update_options(instructions="warm", colour="blue")


def test_what_a_voice_cannot_change_is_told_once_for_each_option(caplog: pytest.LogCaptureFixture) -> None:
    class Monotone(TTS):
        sample_rate = 24_000
        adjustable = ("speed",)
        speed = 1.0

        async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
            for _ in ():
                yield SynthesizedAudio(AudioFrame.silence(0.1, 24_000))

    with caplog.at_level(logging.WARNING, "antiphon"):
        for voice in (Monotone(), Monotone()):
            voice.update_options(instructions="warm", emotion="calm", language=NOT_GIVEN, speed=1.5)
            voice.update_options(instructions="cold")
            assert voice.speed == 1.5
    assert [record.getMessage() for record in caplog.records] == [
        "test_model.Monotone cannot change instructions (what it can change: speed); it goes on as it is",
        "test_model.Monotone cannot change emotion (what it can change: speed); it goes on as it is",
    ]


def test_options_reach_the_voices_behind_an_adapter() -> None:
    first, second, kept = FakeTTS(), FakeTTS(), FakeTTS()
    heard = FakeSTT()
    FallbackTTS([first, second]).update_options(voice="ash")
    CachedTTS(kept).update_options(voice="ash")
    FallbackSTT([heard]).update_options(language="de")
    assert [voice.options for voice in (first, second, kept)] == [{"voice": "ash"}] * 3
    assert heard.options == {"language": "de"}


def test_a_chosen_model_changes_the_one_behind_it() -> None:
    voice = inference.TTS("openai/tts-1")
    voice.update_options(instructions="warm")
    assert isinstance(voice.behind, openai.TTS) and voice.behind.instructions == "warm"


def test_the_local_voice_changes_its_speed_within_its_limits() -> None:
    voice = HibariTTS()
    voice.update_options(speed=1.2)
    voice.update_options(speed=9.0)
    assert voice.speed == 1.2
