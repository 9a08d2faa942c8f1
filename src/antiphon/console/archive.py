"""What is left of calls: the report and the recording of each, and what was said, for a call that continues it.

Above: calls, which are filed here when they end, and the web application, which hands the files out. The id of a call
is a secret of whoever made it: it is what opens its files. The oldest calls are forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from antiphon import private
from antiphon.calls.record import CallReport
from antiphon.calls.report import Sound, write_report
from antiphon.chat import ChatContext

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
    """Keeps the files of the last calls in `folder`, each in a folder of its own. None: of calls no files are kept."""

    def __init__(self, folder: Path | None, *, max_kept: int = MAX_KEPT) -> None:
        self._folder = folder
        self._max_kept = max_kept
        self._calls: OrderedDict[str, FiledCall] = OrderedDict()
        if folder is not None:
            self._make(folder)

    @property
    def keeps(self) -> bool:
        """Reports and recordings are written."""
        return self._folder is not None

    @staticmethod
    def _make(folder: Path) -> None:
        try:
            private.make_folder(folder)
            if private.is_open_to_others(folder):
                # Names of folders in it are the ids that open a call's files.
                logger.warning("others on this machine can list the calls in %s. Run: chmod 700 %s", folder, folder)
        except OSError as error:
            logger.warning("no reports can be written to %s: %s. Choose another folder.", folder, error)

    def get(self, call_id: str) -> FiledCall | None:
        """The call of this id, if it is still known."""
        return self._calls.get(call_id)

    async def file(
        self, call_id: str, report: CallReport, *, title: str, models: str, sound: Sound | None, chat_ctx: ChatContext
    ) -> FiledCall:
        """Write report and recording. What cannot be written is logged and left out."""
        if self._folder is None:
            return await self._remember(FiledCall(call_id, None, None, chat_ctx))
        folder = self._folder / call_id
        recording = folder / "recording.wav"

        def write(what: str, path: Path, how: Callable[[], None]) -> Path | None:
            try:
                how()
            except (OSError, ImportError) as error:
                logger.warning("the %s of call %s could not be written: %s", what, call_id, error)
                return None
            return path

        def write_each() -> tuple[Path | None, Path | None]:
            kept, shown = None, sound
            if sound is not None:
                kept = write("recording", recording, partial(sound.recorder.save, recording))
                shown = Sound(sound.recorder, sound.caller, sound.cuts, kept)
            page = folder / "report.html"
            how = partial(write_report, page, report, title=title, models=models, sound=shown)
            return write("report", page, how), kept

        written = await asyncio.to_thread(write_each)
        return await self._remember(FiledCall(call_id, *written, chat_ctx))

    async def _remember(self, filed: FiledCall) -> FiledCall:
        self._calls[filed.id] = filed
        while len(self._calls) > self._max_kept:
            oldest, _ = self._calls.popitem(last=False)
            if self._folder is not None:
                await asyncio.to_thread(shutil.rmtree, self._folder / oldest, ignore_errors=True)
        return filed
