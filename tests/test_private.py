"""Files of calls are for nobody but who made them, whatever the umask."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon import private
from antiphon.adapters.cached_tts import CachedTTS
from antiphon.calls.record import CallRecord
from antiphon.calls.report import Sound
from antiphon.chat import ChatContext
from antiphon.cli.call import Call
from antiphon.console.archive import Archive
from antiphon.console.tls import own_certificate
from antiphon.options import SessionOptions
from antiphon.replay import Head, JournalWriter
from antiphon.testing import FakeTTS, run_virtual
from antiphon.transports.recorder import StereoRecorder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")


@pytest.fixture(autouse=True)
def careless() -> Iterator[None]:
    """A shell that lets everybody read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    return [f"{path.name} {path.stat().st_mode & 0o777:o}" for path in folder.rglob("*") if path.stat().st_mode & 0o077]


def test_recording_report_and_journal_are_private_and_so_are_folders_made_for_them(tmp_path: Path) -> None:
    recorder = StereoRecorder()
    recorder.hear_agent(0, bytes(4800))
    deep = tmp_path / "a" / "b"
    journal = JournalWriter(deep / "c" / "call.jsonl")
    journal.begin(Head(SessionOptions(), "desk"))
    call = Call(CallRecord(lambda: 0.0).report(1.0), "no models", recorder=recorder, journal=journal)
    call.save(title="T", recording=deep / "call.wav", page=deep / "call.html")
    assert len([path for path in deep.rglob("*") if path.is_file()]) == 3
    assert open_to_others(tmp_path) == []


def test_a_file_that_was_open_to_others_is_not_any_more_and_a_folder_stays_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o755)
    (folder / "old.html").write_text("a longer text than the new one")
    private.write(folder / "old.html", "new")
    assert (folder / "old.html").read_text() == "new"
    assert open_to_others(tmp_path) == ["theirs 755"]


def test_what_is_no_file_can_be_written_to() -> None:
    private.write(Path(os.devnull), b"gone")
    assert os.stat(os.devnull).st_mode & 0o077


def test_the_files_of_calls_from_the_page_are_private(tmp_path: Path) -> None:
    recorder = StereoRecorder()
    recorder.hear_agent(0, bytes(4800))
    archive = Archive(tmp_path / "calls")
    report = CallRecord(lambda: 0.0).report(1.0)
    sound = Sound(recorder, [], [])
    asyncio.run(archive.file("secret", report, title="T", models="", sound=sound, chat_ctx=ChatContext()))
    assert {path.name for path in tmp_path.rglob("*")} == {"calls", "secret", "report.html", "recording.wav"}
    assert open_to_others(tmp_path) == []


def test_a_folder_of_calls_that_others_can_list_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "calls").mkdir(mode=0o755)
    Archive(tmp_path / "calls")
    assert "chmod 700" in caplog.text


def test_a_folder_of_calls_that_cannot_be_made_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    Archive(tmp_path / "file" / "calls")
    assert "no reports can be written" in caplog.text


def test_the_key_of_the_own_certificate_is_private_and_one_that_others_could_read_is_made_anew(tmp_path: Path) -> None:
    pytest.importorskip("trustme", reason="needs trustme: pip install 'antiphon[dev]'")
    folder = tmp_path / "tls"
    first = own_certificate(("localhost",), folder)
    key = first.key.read_bytes()
    assert open_to_others(tmp_path) == []
    assert own_certificate(("localhost",), folder).key.read_bytes() == key
    first.key.chmod(0o644)
    assert own_certificate(("localhost",), folder).key.read_bytes() != key
    assert open_to_others(tmp_path) == []


def test_speech_that_is_kept_on_disk_is_private(tmp_path: Path) -> None:
    async def main() -> None:
        voice = CachedTTS(FakeTTS(), directory=tmp_path / "speech")
        await voice.prewarm()
        async for _ in voice.synthesize("Hello Anna."):
            pass
        await voice.aclose()

    run_virtual(main())
    assert open_to_others(tmp_path) == []
