"""Measurements in LiveKit's terms: made where somebody listens, and fit to be collected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon.events import TurnMetricsEvent
from antiphon.metrics import CallMetrics, ResponseMetrics, TurnMetrics
from antiphon.testing import FakeLLM, FakeMicrophone, FakeSpeaker, FakeSTT, FakeTTS, FakeVAD, run_virtual
from antiphon_livekit.agents import Agent
from antiphon_livekit.metrics import UNKNOWN, EOUMetrics, LLMMetrics, TTSMetrics, measurements
from antiphon_livekit.quiet import UsageCollector
from antiphon_livekit.sessions import AgentSession, MetricsCollectedEvent


def test_a_reply_by_voice_gives_the_end_of_the_turn_the_model_and_the_voice() -> None:
    async def main() -> list[Any]:
        microphone, told = FakeMicrophone(), []
        session = AgentSession[Any](
            llm=FakeLLM(["It is noon."], ttft=0.3),
            stt=FakeSTT(["what time is it"]),
            tts=FakeTTS(ttfb=0.1),
            vad=FakeVAD(),
        )

        def collect(event: MetricsCollectedEvent) -> None:
            told.append(event.metrics)

        session.on("metrics_collected", collect)
        async with session:
            await session.start(Agent(instructions=""), input=microphone, output=FakeSpeaker())
            await microphone.speak(1.0)
            await asyncio.sleep(1.0)
            await session.wait_for_idle()
        return told

    turn, model, voice = run_virtual(main())
    assert (turn.type, model.type, voice.type) == ("eou_metrics", "llm_metrics", "tts_metrics")
    assert isinstance(turn, EOUMetrics)
    assert turn.end_of_utterance_delay == pytest.approx(0.55, abs=0.02)
    assert isinstance(model, LLMMetrics)
    assert model.ttft == pytest.approx(0.3, abs=0.01)
    assert model.timestamp == pytest.approx(turn.timestamp, abs=0.01)
    assert isinstance(voice, TTSMetrics)
    assert voice.ttfb == pytest.approx(0.1, abs=0.03)
    assert voice.characters_count == len("It is noon.")
    assert {turn.speech_id, model.speech_id, voice.speech_id} == {model.speech_id}
    collector = UsageCollector()
    for one in (turn, model, voice):
        collector.collect(one)
    summary = collector.get_summary()
    assert (summary.llm_total_tokens, summary.tts_characters_count) == (model.total_tokens, 11)


def test_nothing_is_measured_until_somebody_listens() -> None:
    session = AgentSession[Any](llm=FakeLLM(["One."]))
    assert not session.listened("turn_metrics")
    session.on("metrics_collected", lambda event: None)
    assert session.listened("turn_metrics")


def test_a_model_that_was_stopped_before_its_first_word_is_told_as_cancelled() -> None:
    reply = TurnMetrics(1, "typed", "speech_1", 1.0, 3.0, decided=1.0, responses=(ResponseMetrics(True, 1.0),))
    (model,) = measurements(TurnMetricsEvent(metrics=reply, call=CallMetrics()))
    assert isinstance(model, LLMMetrics)
    assert (model.cancelled, model.ttft, model.duration) == (True, UNKNOWN, 2.0)
