"""The command line on a terminal, as people have it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path


class Terminal:
    """A program on a terminal of 80 columns, or so many as given, and 24 lines."""

    def __init__(self, *arguments: str | Path, columns: int = 80) -> None:
        code = "import sys; from antiphon.cli.main import main; main(sys.argv[1:])"
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self._slave = slave
        self.before = termios.tcgetattr(slave)
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "24"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        self.output = ""

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: str, timeout: float = 30.0) -> str:
        """Until the text, spaces and colours aside, has come since the last wait. Returns what came."""
        came, deadline = "", time.monotonic() + timeout
        wanted = text.replace(" ", "")
        while wanted not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\s", "", came):
            assert time.monotonic() < deadline, f"{text!r} did not come:\n{came}"
            if select.select([self._master], [], [], 0.1)[0]:
                came += os.read(self._master, 65536).decode(errors="replace")
        self.output += came
        return came

    def interrupt(self) -> None:
        """Ctrl-C. There is no controlling terminal behind this one that would turn the key into a signal."""
        self.press("\x03")
        self._process.send_signal(signal.SIGINT)

    def end(self) -> int:
        deadline = time.monotonic() + 20
        while self._process.poll() is None and time.monotonic() < deadline:
            if select.select([self._master], [], [], 0.1)[0]:
                self.output += os.read(self._master, 65536).decode(errors="replace")
        return self._process.wait(1)

    @property
    def restored(self) -> bool:
        """The terminal is as it was before the program."""
        return termios.tcgetattr(self._slave) == self.before

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)
        os.close(self._slave)
