"""What is left of calls: the report and the recording of each, and what was said, for a call that continues it.

Above: calls, which are filed here when they end, and the web application, which hands the files out. The id of a call
is a secret of whoever made it: it is what opens its files. The oldest calls are forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from antiphon.chat import ChatContext
from antiphon.cli.call_log import CallReport
from antiphon.cli.report import Sound, write_report

logger = logging.getLogger("antiphon")

MAX_KEPT = 50
"""Calls whose files are kept."""


@dataclass(slots=True, frozen=True)
class FiledCall:
    """A call that has ended."""

    id: str
    report: Path | None
    recording: Path | None
    chat_ctx: ChatContext
    """What its last agent knew of the conversation."""

    @property
    def report_path(self) -> str | None:
        """Where the server has the report."""
        return None if self.report is None else f"/calls/{self.id}/report"

    @property
    def recording_path(self) -> str | None:
        """Where the server has the recording."""
        return None if self.recording is None else f"/calls/{self.id}/recording.wav"


class Archive:
    """Keeps the files of the last calls in `folder`, each in a folder of its own."""

    def __init__(self, folder: Path, *, max_kept: int = MAX_KEPT) -> None:
        self._folder = folder
        self._max_kept = max_kept
        self._calls: OrderedDict[str, FiledCall] = OrderedDict()

    def get(self, call_id: str) -> FiledCall | None:
        """The call of this id, if it is still known."""
        return self._calls.get(call_id)

    async def file(
        self, call_id: str, report: CallReport, *, title: str, models: str, sound: Sound | None, chat_ctx: ChatContext
    ) -> FiledCall:
        """Write report and recording. What cannot be written is logged and left out."""
        folder = self._folder / call_id
        recording = folder / "recording.wav"

        def write() -> tuple[Path, Path | None]:
            folder.mkdir(parents=True, exist_ok=True)
            page, kept = folder / "report.html", None
            if sound is not None:
                sound.recorder.save(recording)
                kept = Sound(sound.recorder, sound.caller, sound.cuts, recording)
            write_report(page, report, title=title, models=models, sound=kept)
            return page, recording if kept is not None else None

        try:
            written: tuple[Path | None, Path | None] = await asyncio.to_thread(write)
        except (OSError, ImportError) as error:
            logger.warning("the report of call %s could not be written: %s", call_id, error)
            written = None, None
        filed = self._calls[call_id] = FiledCall(call_id, *written, chat_ctx)
        while len(self._calls) > self._max_kept:
            oldest, _ = self._calls.popitem(last=False)
            await asyncio.to_thread(shutil.rmtree, self._folder / oldest, ignore_errors=True)
        return filed
