"""From microphone frames to facts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession
from antiphon.options import Endpointing
from antiphon.runtime.recognition import QUEUED_FRAMES, REMEMBERED, AudioMemory, FrameQueue
from antiphon.stt import SpeechEvent, SpeechEventType
from antiphon.testing import (
    FakeLLM,
    FakeMicrophone,
    FakeSpeaker,
    FakeSTT,
    FakeTTS,
    FakeTurnDetector,
    FakeVAD,
    run_virtual,
    silence,
    speech,
)


def test_a_queue_of_frames_drops_the_oldest_when_it_is_full(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        queue = FrameQueue()
        for number in range(QUEUED_FRAMES + 2):
            queue.push(silence((number + 1) / 16_000))
        queue.close()
        lengths = [frame.samples_per_channel async for frame in queue]
        assert lengths == list(range(3, QUEUED_FRAMES + 3)) and queue.dropped == 2

    run_virtual(main())
    assert caplog.text.count("behind") == 1


def test_the_memory_keeps_the_last_seconds() -> None:
    memory = AudioMemory()
    assert memory.audio() is None
    for _ in range(12):
        memory.push(speech(1.0))
    audio = memory.audio()
    assert audio is not None and REMEMBERED <= audio.duration <= REMEMBERED + 1


def test_a_turn_detector_is_asked_with_the_sound_it_wants() -> None:
    async def main() -> None:
        detector, microphone = FakeTurnDetector(wants_audio=True), FakeMicrophone()
        session = AgentSession[Any](
            llm=FakeLLM(["Yes."]), stt=FakeSTT(["are you there"]), vad=FakeVAD(), tts=FakeTTS(), turn_detector=detector
        )
        async with session:
            await session.start(Agent(), input=microphone, output=FakeSpeaker())
            await microphone.speak(1.0)
            await asyncio.sleep(2)
            await session.wait_for_idle()
        turn = detector.turns[-1]
        assert turn.text == "are you there" and turn.audio is not None and turn.audio.duration > 1

    run_virtual(main())


def test_a_turn_that_is_probably_not_over_waits_longer() -> None:
    async def delay(probability: float) -> float:
        microphone, speaker = FakeMicrophone(), FakeSpeaker()
        session = AgentSession[Any](
            llm=FakeLLM(["Yes."]),
            stt=FakeSTT(["and then I"]),
            vad=FakeVAD(),
            tts=FakeTTS(),
            turn_detector=FakeTurnDetector(probability),
        )
        async with session:
            await session.start(Agent(), input=microphone, output=speaker)
            await microphone.speak(1.0)
            await asyncio.sleep(3)
            return speaker.sounds[0].start - microphone.sounds[0].end

    sure, unsure = run_virtual(delay(0.9)), run_virtual(delay(0.1))
    assert unsure - sure == pytest.approx(Endpointing().max_delay - Endpointing().min_delay, abs=0.1)


def test_a_turn_detector_that_fails_is_told_and_the_turn_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: object) -> float:
        raise ValueError("no idea")

    async def main() -> None:
        errors: list[Any] = []
        microphone = FakeMicrophone()
        session = AgentSession[Any](
            llm=FakeLLM(["Yes."]),
            stt=FakeSTT(["are you there"]),
            vad=FakeVAD(),
            tts=FakeTTS(),
            turn_detection=FakeTurnDetector(fail),
        )
        session.on("error", errors.append)
        async with session:
            await session.start(Agent(), input=microphone, output=FakeSpeaker())
            await microphone.speak(1.0)
            await asyncio.sleep(3)
            assert session.history.messages()[-1].text_content == "Yes."
        assert str(errors[0].error) == "no idea"

    run_virtual(main())
    assert "turn detector failed" in caplog.text


def test_without_a_detector_of_the_sessions_the_recognisers_own_is_used() -> None:
    async def main() -> None:
        states: list[str] = []
        microphone = FakeMicrophone()
        timeline = [
            (0.5, SpeechEvent(SpeechEventType.START_OF_SPEECH)),
            (1.0, SpeechEvent.final("hello")),
            (1.2, SpeechEvent(SpeechEventType.END_OF_SPEECH)),
        ]
        session = AgentSession[Any](llm=FakeLLM(["Hi."]), stt=FakeSTT(timeline=timeline))
        session.on("user_state_changed", lambda event: states.append(event.new_state))
        async with session:
            await session.start(Agent(), input=microphone)
            await asyncio.sleep(3)
            assert states == ["speaking", "listening"]
            assert session.history.messages()[-1].text_content == "Hi."

    run_virtual(main())


def test_the_callers_words_are_told_as_they_are_understood() -> None:
    async def main() -> None:
        heard: list[tuple[str, bool]] = []
        microphone = FakeMicrophone()
        session = AgentSession[Any](llm=FakeLLM(["Yes."]), stt=FakeSTT(["are you there"]), vad=FakeVAD())
        session.on("user_input_transcribed", lambda event: heard.append((event.transcript, event.is_final)))
        async with session:
            await session.start(Agent(), input=microphone)
            await microphone.speak(1.0)
            await asyncio.sleep(2)
        assert heard == [("are", False), ("are you", False), ("are you there", False), ("are you there", True)]

    run_virtual(main())


def test_the_application_may_end_the_turn() -> None:
    async def main() -> None:
        microphone, stt = FakeMicrophone(), FakeSTT(["are you there"])
        session = AgentSession[Any](llm=FakeLLM(["Yes."]), stt=stt, vad=FakeVAD(), turn_detection="manual")
        async with session:
            await session.start(Agent(), input=microphone)
            await microphone.speak(1.0)
            await asyncio.sleep(5)
            assert not session.history.messages()
            session.commit_user_turn()
            await asyncio.sleep(1)
            assert [m.text_content for m in session.history.messages()] == ["are you there", "Yes."]

    run_virtual(main())


def test_a_final_that_comes_before_the_detector_knows_of_the_end_is_the_answer_to_it() -> None:
    errors: list[Any] = []

    async def main() -> None:
        finals = [(1.7, SpeechEvent.final("one")), (5.7, SpeechEvent.final("two"))]
        stt, microphone = FakeSTT(timeline=finals), FakeMicrophone()
        session = AgentSession[Any](llm=FakeLLM(["Yes."] * 2), stt=stt, vad=FakeVAD(), tts=FakeTTS())
        session.on("error", errors.append)
        async with session:
            await session.start(Agent(), input=microphone, output=FakeSpeaker())
            await microphone.speak(1.6)
            await asyncio.sleep(2.4)
            await microphone.speak(1.6)
            await asyncio.sleep(2)
            assert not errors and len(stt.streams) == 1

    run_virtual(main())
