"""What is left of calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

from antiphon.chat import ChatContext
from antiphon.cli.call_log import CallLog
from antiphon.console.archive import Archive, FiledCall


async def file(archive: Archive, call_id: str) -> FiledCall:
    report = CallLog(lambda: 0.0).report(1.0)
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
