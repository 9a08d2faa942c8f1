"""Any line, recorded: what sounded, where it sounded."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from antiphon.audio import AudioFrame
from antiphon.testing import FakeMicrophone, FakeSpeaker, run_virtual
from antiphon.testing.audio import silence, speech
from antiphon.testing.contract import check_output
from antiphon.transports.recorded import RecordedInput, RecordedOutput
from antiphon.transports.recorder import StereoRecorder
from antiphon.transports.websocket import WebSocketInput


def test_the_agents_sound_stands_where_it_sounded() -> None:
    async def check() -> None:
        recorder = StereoRecorder()
        output = RecordedOutput(FakeSpeaker(), recorder)
        output.start()
        await asyncio.sleep(1.0)
        output.write(speech(0.5, 24_000))
        for _ in range(50):
            await asyncio.sleep(0.02)
            assert output.played >= 0
        [span] = recorder.agent_spans()
        assert span.start == pytest.approx(1.0, abs=0.03)
        assert span.end - span.start == pytest.approx(0.5, abs=1e-3)

    run_virtual(check())


def test_looks_at_the_position_leave_no_gaps() -> None:
    async def check() -> None:
        recorder = StereoRecorder()
        output = RecordedOutput(FakeSpeaker(), recorder)
        output.start()
        output.write(speech(1.0, 24_000))
        for number in range(60):
            await asyncio.sleep(0.013 + 0.01 * (number % 3))
            assert output.played >= 0
        agent = recorder.channels()[1]
        sounding = np.flatnonzero(agent)
        assert len(sounding) == sounding[-1] - sounding[0] + 1 == 24_000

    run_virtual(check())


def test_what_was_cleared_is_not_recorded_and_is_kept_as_a_cut() -> None:
    async def check() -> None:
        recorder = StereoRecorder()
        output = RecordedOutput(FakeSpeaker(), recorder)
        output.start()
        output.write(speech(1.0, 24_000))
        await asyncio.sleep(0.4)
        lost = output.clear()
        await asyncio.sleep(1.0)
        await output.aclose()
        [cut] = output.cuts
        assert lost == cut.lost == pytest.approx(0.6)
        assert cut.at == pytest.approx(0.4)
        assert sum(span.end - span.start for span in recorder.agent_spans()) == pytest.approx(0.4, abs=1e-3)

    run_virtual(check())


def test_it_keeps_the_promises_of_what_it_wraps() -> None:
    async def check() -> None:
        await check_output(lambda: RecordedOutput(FakeSpeaker(), StereoRecorder()))

    run_virtual(check())


def test_the_caller_is_one_unbroken_stream() -> None:
    async def check() -> None:
        recorder = StereoRecorder()
        frames: list[AudioFrame] = []
        microphone = RecordedInput(FakeMicrophone([silence(0.3), speech(0.5)]), recorder)
        microphone.start(frames.append, lambda: None)
        await asyncio.sleep(1.0)
        await microphone.aclose()
        caller = recorder.channels()[0]
        audible = np.flatnonzero(np.abs(caller) > 0.05) / recorder.agent_rate
        assert audible[0] == pytest.approx(0.3, abs=0.01)
        assert audible[-1] == pytest.approx(0.8, abs=0.01)
        assert sum(frame.duration for frame in frames) == pytest.approx(1.0, abs=0.03)

    run_virtual(check())


def test_a_hole_in_the_callers_stream_becomes_silence() -> None:
    async def check() -> None:
        recorder = StereoRecorder()
        source = WebSocketInput(sample_rate=16_000)
        microphone = RecordedInput(source, recorder)
        microphone.start(lambda frame: None, lambda: None)
        await asyncio.sleep(2.0)  # the network held everything back
        source.push(speech(0.02).data)
        caller = recorder.channels()[0]
        assert np.flatnonzero(np.abs(caller) > 0.05)[0] / recorder.agent_rate == pytest.approx(1.98, abs=0.01)

    run_virtual(check())
