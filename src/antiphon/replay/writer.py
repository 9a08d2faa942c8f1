"""The journal of a call, written while it goes on.

What the conversation is told is handed over before it is told, so before anything is done for it; handing over makes
a line of it and takes microseconds. A thread appends the lines to the file several times a second. What a process that
is killed leaves can be read up to about the last second; the disk itself is not waited for.

Above: the shells that keep journals. Below: the journal's format, and the file system.
"""

from __future__ import annotations

import errno
import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from antiphon import private
from antiphon.core.codec import classes
from antiphon.core.commands import Command
from antiphon.core.facts import Fact
from antiphon.core.lines import Head, command_line, end_line, fact_line, ids_line, version
from antiphon.errors import pass_on
from antiphon.events import JournalEvent, NewId

logger = logging.getLogger("antiphon")

EVERY = 0.2
"""Seconds between two looks at what is to be written."""

MOST_WAITING = 50_000_000
"""Characters that may wait for a disk that does not keep up. More: the journal ends there, and says so."""

CLOSING_LIMIT = 5.0
"""Seconds that closing waits for the disk."""


class Emitter(Protocol):
    """A session."""

    def on(self, name: str, callback: Callable[[JournalEvent], None]) -> Any:
        """Call `callback(event)` at each event called `name`."""


class JournalWriter:
    """Writes the journal of one session to a file that only its owner may read.

    `listen(session)` before the session starts, and `close()` when it is over. It never fails
    a call: if the file cannot be written, `close()` tells.
    """

    def __init__(self, path: Path, *, about: str = "", commands: bool = True) -> None:
        classes(), version()  # what takes milliseconds once, takes them before the call
        self._path = path
        self._about = about
        self._commands = commands
        self._mark: str | None = None
        """The session's that is written down; None: none has begun."""
        self._waiting: deque[str] = deque()
        self._handed = self._written = 0
        """Characters. Each is counted by one thread only."""
        self._over = False
        self._error: OSError | None = None
        self._file: BinaryIO | None = None
        self._writing = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"journal {path.name}", daemon=True)

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def listen(self, session: Emitter) -> None:
        """Begin to keep the journal of a session, which must not have started."""
        session.on("journal", self.told)

    def told(self, event: JournalEvent) -> None:
        """A session's `journal` event. Those of a second session are left out: a journal is of one."""
        if self._mark is None:
            self.begin(Head(event.options, event.agent, event.epoch, event.mark))
        if event.mark != self._mark:
            return
        if event.command is not None:
            self.command(event.at, event.command)
        elif isinstance(event.fact, NewId):
            self._hand_over(ids_line, event.at, 1)
        else:
            self.fact(event.at, event.fact)

    def begin(self, head: Head) -> None:
        """The conversation is about to begin."""
        self._mark = head.mark
        self._hand_over(replace(head, about=self._about, commands=self._commands).line)
        self._thread.start()

    def fact(self, at: float, fact: Fact | None) -> None:
        """The conversation is about to be told a fact, or, with None, that time passed."""
        self._hand_over(fact_line, at, fact)

    def command(self, at: float, command: Command) -> None:
        """The conversation gave a command or notice, which is about to be performed."""
        if self._commands:
            self._hand_over(command_line, at, command)

    def flush(self) -> None:
        """Write what was handed over so far. Waits for the operating system to take it, not for the disk."""
        with self._writing:
            lines = []
            while self._waiting:
                lines.append(self._waiting.popleft())
            if not lines or self._error is not None:
                return
            text = "".join(lines)
            try:
                if self._file is None:
                    self._file = private.open_to_write(self._path)
                self._file.write(text.encode())
                self._file.flush()
            except OSError as error:
                self._error, self._over = error, True
            self._written += len(text)

    def close(self) -> None:
        """The call is over. Raises `OSError` if its journal is not all there. A second time: no effect."""
        if self._mark is None or self._closing.is_set():
            return
        self._hand_over(end_line, None)
        self._over = True
        self._closing.set()
        self._thread.join(CLOSING_LIMIT)
        if self._thread.is_alive():
            raise OSError(errno.ETIMEDOUT, f"the disk took nothing for {CLOSING_LIMIT:g} s", str(self._path))
        if self._error is not None:
            raise self._error

    def _hand_over(self, line: Callable[..., str], *given: object) -> None:
        if self._over:
            return
        try:
            made = line(*given)
        except BaseException as error:
            pass_on(error)
            logger.exception("%r could not be written down", given)
            self._give_up(f"what was to be written had no form: {type(error).__name__}")
            return
        self._handed += len(made)
        if self._handed - self._written > MOST_WAITING:
            self._give_up(f"the disk did not keep up: more than {MOST_WAITING:,} characters waited for it")
        else:
            self._waiting.append(made)

    def _give_up(self, why: str) -> None:
        """What follows would not mean anything without what is missing."""
        self._over = True
        self._waiting.append(end_line(why))
        logger.warning("the journal %s ends before its call does: %s", self._path, why)

    def _work(self) -> None:
        while not self._closing.wait(EVERY):
            self.flush()
        self.flush()
        with self._writing:
            if self._file is not None:
                try:
                    self._file.close()
                except OSError as error:
                    self._error = self._error or error
