"""Segments on their way to the loudspeaker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AudioFrame
from antiphon.runtime.feed import TextFeed
from antiphon.runtime.sound import MAX_AHEAD
from antiphon.runtime.synthesis import speak
from antiphon.testing import FakeLLM, FakeMicrophone, FakeSpeaker, FakeSTT, FakeTTS, FakeVAD, now, run_virtual, speech

SENTENCE = "This is a sentence of some length."


def test_the_loudspeaker_gets_at_most_its_lead() -> None:
    async def main() -> None:
        speaker = FakeSpeaker(lead=0.3)
        async with AgentSession[Any](llm=FakeLLM(), tts=FakeTTS()) as session:
            await session.start(Agent(), output=speaker)
            await session.say(SENTENCE)
            assert 0.2 <= speaker.max_queued <= 0.3 + 1e-6

    run_virtual(main())


def test_two_speeches_follow_one_another_without_a_gap() -> None:
    async def main() -> None:
        speaker, tts = FakeSpeaker(), FakeTTS(ttfb=0.4)
        async with AgentSession[Any](llm=FakeLLM(), tts=tts) as session:
            await session.start(Agent(), output=speaker)
            session.say(SENTENCE)
            await session.say(SENTENCE)
            (sound,) = speaker.sounds
            assert sound.duration == pytest.approx(2 * tts.duration(SENTENCE), abs=1e-3)

    run_virtual(main())


def test_a_voice_of_another_rate_sounds_as_long_as_it_should() -> None:
    async def main() -> None:
        speaker, tts = FakeSpeaker(sample_rate=16_000), FakeTTS(sample_rate=24_000)
        async with AgentSession[Any](llm=FakeLLM(), tts=tts) as session:
            await session.start(Agent(), output=speaker)
            await session.say(SENTENCE)
            assert sum(s.duration for s in speaker.sounds) == pytest.approx(tts.duration(SENTENCE), abs=0.01)
            assert session.history.messages()[0].text_content == SENTENCE

    run_virtual(main())


def test_a_voice_of_the_right_rate_needs_nothing_heavy() -> None:
    code = """
import asyncio, sys
from antiphon import Agent, AgentSession
from antiphon.testing import FakeLLM, FakeSpeaker, FakeTTS, run_virtual
async def main():
    async with AgentSession(llm=FakeLLM(), tts=FakeTTS()) as session:
        await session.start(Agent(), output=FakeSpeaker())
        await session.say("Hello.")
    print([name for name in ("numpy", "soxr") if name in sys.modules])
run_virtual(main())
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_slow_voice_makes_gaps_and_loses_nothing() -> None:
    async def main() -> None:
        speaker, tts = FakeSpeaker(), FakeTTS(speed=0.5)
        async with AgentSession[Any](llm=FakeLLM(), tts=tts) as session:
            await session.start(Agent(), output=speaker)
            await session.say(SENTENCE)
            assert len(speaker.sounds) > 1
            assert sum(s.duration for s in speaker.sounds) == pytest.approx(tts.duration(SENTENCE), abs=1e-3)
            assert session.history.messages()[0].text_content == SENTENCE

    run_virtual(main())


def test_a_handle_is_done_when_its_last_sample_has_sounded() -> None:
    async def main() -> None:
        speaker = FakeSpeaker()
        async with AgentSession[Any](llm=FakeLLM(), tts=FakeTTS()) as session:
            await session.start(Agent(), output=speaker)
            await session.say(SENTENCE)
            assert 0 <= now() - speaker.sounds[-1].end <= 0.021

    run_virtual(main())


def test_an_interrupted_speech_is_silent_at_once() -> None:
    async def main() -> None:
        speaker = FakeSpeaker()
        async with AgentSession[Any](llm=FakeLLM(), tts=FakeTTS()) as session:
            await session.start(Agent(), output=speaker)
            handle = session.say(SENTENCE)
            await asyncio.sleep(1.0)
            handle.interrupt()
            assert speaker.queued == 0
            await handle
            await asyncio.sleep(1.0)
            assert speaker.sounds[-1].end == pytest.approx(1.0)
            message = session.history.messages()[0]
            assert message.interrupted and SENTENCE.startswith(message.text_content or "-")

    run_virtual(main())


def test_cutting_one_speech_leaves_the_next_one_whole() -> None:
    async def main() -> None:
        speaker, tts = FakeSpeaker(), FakeTTS()
        async with AgentSession[Any](llm=FakeLLM(), tts=tts) as session:
            await session.start(Agent(), output=speaker)
            first = session.say("Now this.")
            second = session.say(SENTENCE)
            # So late that the second one is in the loudspeaker already.
            await asyncio.sleep(tts.duration("Now this.") - 0.05)
            assert speaker.queued > 0
            first.interrupt()
            cut = now()
            await second
            texts = [message.text_content for message in session.history.messages()]
            assert texts[-1] == SENTENCE
            assert speaker.sounds[-1].end - cut == pytest.approx(tts.duration(SENTENCE), abs=0.02)

    run_virtual(main())


def test_a_voice_is_not_made_far_ahead_of_what_is_heard() -> None:
    made = 0.0

    async def endless() -> AsyncIterator[AudioFrame]:
        nonlocal made
        while made < 3 * MAX_AHEAD:
            made += 1.0
            yield speech(1.0, 24_000)

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(), tts=FakeTTS()) as session:
            await session.start(Agent(), output=FakeSpeaker())
            handle = session.say("Music.", audio=endless())
            await asyncio.sleep(1.0)
            assert made <= MAX_AHEAD + 2
            await handle
            assert made == 3 * MAX_AHEAD

    run_virtual(main())


def test_a_pause_in_the_middle_of_a_queue_loses_nothing() -> None:
    async def main() -> None:
        speaker, tts, microphone = FakeSpeaker(), FakeTTS(), FakeMicrophone()
        session = AgentSession[Any](llm=FakeLLM(), tts=tts, vad=FakeVAD(), stt=FakeSTT([""]))
        async with session:
            await session.start(Agent(), input=microphone, output=speaker)
            session.say("Now this.")
            second = session.say(SENTENCE)
            await asyncio.sleep(tts.duration("Now this.") - 0.1)
            await microphone.speak(0.2)
            await second
            assert [m.text_content for m in session.history.messages()] == ["Now this.", SENTENCE]
            total = sum(sound.duration for sound in speaker.sounds)
            assert 0 <= total - tts.duration("Now this.") - tts.duration(SENTENCE) < 0.5

    run_virtual(main())


def test_text_is_read_in_pieces_as_large_as_what_has_gathered() -> None:
    async def main() -> None:
        feed = TextFeed()
        feed.push("a")
        feed.push("b")
        pieces: list[str] = []

        async def read() -> None:
            pieces.extend([piece async for piece in feed])

        reading = asyncio.create_task(read())
        await asyncio.sleep(0.1)
        feed.push("c")
        await asyncio.sleep(0.1)
        feed.close()
        feed.push("late")
        await reading
        assert pieces == ["ab", "c"]

    run_virtual(main())


def test_the_default_voice_node_works_outside_of_a_segment() -> None:
    async def text() -> AsyncIterator[str]:
        yield "It is **noon**."

    async def main() -> None:
        tts = FakeTTS()
        frames = [frame async for frame in speak(tts, text())]
        assert tts.said == ["It is noon."]
        assert sum(frame.duration for frame in frames) == pytest.approx(tts.duration("It is noon."))

    run_virtual(main())


def test_an_engine_is_stopped_when_its_speech_is_cut() -> None:
    async def main() -> None:
        tts = FakeTTS(speed=1.0)
        async with AgentSession[Any](llm=FakeLLM(), tts=tts) as session:
            await session.start(Agent(), output=FakeSpeaker())
            handle = session.say(SENTENCE)
            await asyncio.sleep(1.0)
            handle.interrupt()
            await asyncio.sleep(0.1)
            assert tts.stopped == 1

    run_virtual(main())
