"""Calls that the local ears must bear: detector, recogniser and turn detector are real, the rest is scripted.

In virtual time: while a model works the clock stands still, so that slow machines hear the same.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from antiphon import Agent, AgentServer, AgentSession, RunContext, function_tool
from antiphon.adapters.stream import StreamOptions
from antiphon.audio import AudioFrame
from antiphon.calls.models import ModelChoice
from antiphon.cli.call import Call, voice_call
from antiphon.cli.screen import Screen
from antiphon.providers.local import MoonshineSTT, SileroVAD, TextTurnDetector
from antiphon.testing import FakeLLM, FakeTTS, Reply, run_virtual
from antiphon.transports.wav import read_recording
from tests.providers.local.models import needs_moonshine, needs_silero
from tests.providers.local.speech import noise, words

RECORDINGS = Path(__file__).parents[3] / "examples" / "recordings"
RATE = 16000

pytestmark = [needs_moonshine, needs_silero]


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """Loading takes longer than virtual time waits for a thread."""

    async def load() -> None:
        await asyncio.gather(SileroVAD().prewarm(), MoonshineSTT().prewarm())

    asyncio.run(load())


@function_tool
async def note(context: RunContext[Any], day: str) -> str:
    """Write the day down.

    Args:
        context: Gives the session
        day: The day
    """
    context.session.userdata = {"day": day}
    return f"noted {day}"


def server(interim_interval: float) -> AgentServer:
    """An agent that notes the day it hears of, and says so."""
    made = AgentServer()
    script: dict[str, str | Reply] = {
        "noted": "It is noted.",
        "tuesday": Reply(calls=[("note", {"day": "Tuesday"})]),
        "friday": Reply(calls=[("note", {"day": "Friday"})]),
        "": "I see.",
    }

    @made.rtc_session
    async def entrypoint(session: AgentSession[Any]) -> None:
        await session.start(
            agent=Agent(instructions="Be brief.", tools=[note]),
            room=session.room,
            llm=FakeLLM(script),
            tts=FakeTTS(),
            stt=MoonshineSTT(options=StreamOptions(interval=interim_interval)),
            vad=SileroVAD(),
            turn_detector=TextTurnDetector(),
        )

    return made


async def call(turn: AudioFrame, *, interim_interval: float = 0.4) -> Call:
    screen = Screen(to_stderr=True)
    return await voice_call(server(interim_interval), [turn], barge_in={}, models=ModelChoice(), screen=screen)


def made(turn: AudioFrame, *, interim_interval: float = 0.4) -> Call:
    return run_virtual(call(turn, interim_interval=interim_interval), timeout=300)


def said(one: Call, role: str = "user") -> list[str]:
    return [turn.text for turn in one.report.turns if turn.role == role]


def recording(name: str) -> AudioFrame:
    return read_recording(RECORDINGS / f"{name}.wav")


def frame(samples: Any) -> AudioFrame:
    return AudioFrame.from_float32(np.asarray(samples, np.float32), RATE)


def joined(names: Sequence[str]) -> AudioFrame:
    """The voices of recordings without the silence around and within them."""
    audio = np.concatenate([recording(name).to_float32() for name in names])
    blocks = audio[: len(audio) // 160 * 160].reshape(-1, 160)
    return frame(blocks[np.abs(blocks).max(axis=1) > 10 ** (-45 / 20)].ravel())


@pytest.mark.parametrize("level", [0.0, 0.002, 0.05], ids=["silence", "murmur", "noise"])
def test_a_line_on_which_nobody_speaks_brings_no_turn_and_no_answer(level: float) -> None:
    one = made(frame(noise(6 * RATE, level)))
    assert one.report.turns == []


def test_a_clipped_voice_is_understood() -> None:
    loud = np.clip(recording("demo-2").to_float32() * 20, -1, 1)
    one = made(frame(loud))
    assert [words(text) for text in said(one)] == [words("Do you have anything next Tuesday?")]


@pytest.mark.parametrize(
    ("rate", "channels", "subtype"), [(8000, 1, "ULAW"), (48000, 2, "PCM_24")], ids=["telephone", "studio"]
)
def test_a_recording_of_any_format_is_understood(tmp_path: Path, rate: int, channels: int, subtype: str) -> None:
    import soxr

    samples = soxr.resample(recording("demo-2").to_float32(), RATE, rate)
    path = tmp_path / "turn.wav"
    soundfile.write(path, np.repeat(samples[:, None], channels, axis=1), rate, subtype=subtype)
    one = made(read_recording(path))
    assert [words(text) for text in said(one)] == [words("Do you have anything next Tuesday?")]
    assert said(one, "assistant") == ["It is noted."]


def test_a_caller_who_never_stops_is_heard_to_the_end_in_one_turn() -> None:
    speech = joined([f"demo-{n}" for n in (1, 2, 3, 5)] * 2 + ["pause-20"])
    assert speech.duration > 18
    one = made(speech, interim_interval=2.0)
    (turn,) = said(one)
    assert "schedule an appointment" in turn.lower()
    assert "jordan park" in turn.lower()
    assert "retired" in turn.lower()
    assert turn.lower().count("tuesday") == 2
    assert len(said(one, "assistant")) == 1


def test_two_calls_at_once_do_not_mix() -> None:
    async def both() -> tuple[Call, Call]:
        return await asyncio.gather(call(recording("demo-2")), call(recording("pause-19")))

    tuesday, friday = run_virtual(both(), timeout=300)
    assert (tuesday.report.userdata, friday.report.userdata) == ({"day": "Tuesday"}, {"day": "Friday"})
    assert "friday" not in " ".join(said(tuesday)).lower()
    assert "tuesday" not in " ".join(said(friday)).lower()
    assert len(said(tuesday)) == len(said(friday)) == 1


def test_three_calls_in_a_row_leave_no_task_and_no_thread_behind() -> None:
    async def row() -> list[int]:
        threads = []
        for _ in range(3):
            await call(recording("demo-2"))
            assert asyncio.all_tasks() == {asyncio.current_task()}
            threads.append(threading.active_count())
        return threads

    first, *later = run_virtual(row(), timeout=300)
    assert later == [first, first]  # the models' own threads stay: they serve all calls
