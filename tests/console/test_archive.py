"""What is left of calls."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path

import numpy as np
import soundfile

from antiphon.audio import AudioFrame
from antiphon.calls.record import CallRecord, ToolCallRecord, Turn
from antiphon.calls.report import Sound
from antiphon.chat import ChatContext
from antiphon.console.archive import Archive, FiledCall
from antiphon.transports.recorder import Span, StereoRecorder


async def file(archive: Archive, call_id: str) -> FiledCall:
    report = CallRecord(lambda: 0.0).report(1.0)
    return await archive.file(call_id, report, title="Call", models="none", sound=None, chat_ctx=ChatContext.empty())


def test_the_oldest_calls_are_forgotten_with_their_files(tmp_path: Path) -> None:
    async def check() -> None:
        archive = Archive(tmp_path, max_kept=2)
        for number in range(4):
            await file(archive, f"call-{number}")
        assert archive.get("call-1") is None
        assert archive.get("call-3") is not None

    asyncio.run(check())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["call-2", "call-3"]


def test_a_call_knows_where_the_server_has_its_report(tmp_path: Path) -> None:
    async def check() -> None:
        filed = await file(Archive(tmp_path), "abc")
        assert (filed.report_path, filed.recording_path) == ("/calls/abc/report", None)
        assert filed.report is not None
        assert "<html" in filed.report.read_text()

    asyncio.run(check())


def test_a_recording_that_cannot_be_written_costs_no_report(tmp_path: Path) -> None:
    recorder = StereoRecorder()
    (tmp_path / "abc" / "recording.wav").mkdir(parents=True)

    async def check() -> FiledCall:
        report = CallRecord(lambda: 0.0).report(1.0)
        sound = Sound(recorder, [], [])
        return await Archive(tmp_path).file(
            "abc", report, title="Call", models="none", sound=sound, chat_ctx=ChatContext.empty()
        )

    filed = asyncio.run(check())
    assert (filed.report_path, filed.recording_path) == ("/calls/abc/report", None)


def test_a_call_of_seventeen_minutes_is_filed_in_little_memory(tmp_path: Path) -> None:
    rate, seconds = 48_000, 17 * 60
    recorder, log = StereoRecorder(caller_rate=rate, agent_rate=rate), CallRecord(lambda: 0.0)
    second = AudioFrame.from_float32(np.full(rate, 0.25, np.float32), rate)
    for at in range(seconds):
        recorder.hear_caller(second)
        if at % 3 == 0:
            recorder.hear_agent(at * rate, second.data)
        if at % 8 == 0:
            log.turns.append(Turn("user", "What the caller said. " * 6, at, at + 2))
    report = log.report(seconds)
    report.tool_calls.extend(ToolCallRecord(f"c{n}", "look", {"n": n}, output="x" * 8_000) for n in range(100))
    sound = Sound(recorder, [Span(turn.started, turn.ended) for turn in log.turns], [])
    archive = Archive(tmp_path)
    tracemalloc.start()
    try:
        filed = asyncio.run(
            archive.file("long", report, title="Call", models="", sound=sound, chat_ctx=ChatContext.empty())
        )
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert filed.recording is not None
    assert soundfile.info(filed.recording).frames == seconds * rate
