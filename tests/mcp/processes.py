"""Starts the tests' MCP server as a process of its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from antiphon.tools.mcp import MCPServerHTTP, MCPServerStdio

SERVER = Path(__file__).with_name("server.py")
LIMIT = 15.0
"""Seconds that a process may take to start, on a machine that does other things too."""


class Shop:
    """The server: over stdio (started by whoever connects), or over HTTP (started, killed and restarted here)."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "calls.log"
        self._log.touch()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def calls(self) -> list[str]:
        """The calls that reached a tool, oldest first."""
        return self._log.read_text().splitlines()

    def stdio(self, **options: object) -> MCPServerStdio:
        return MCPServerStdio(sys.executable, [str(SERVER), str(self._log)], **options)  # type: ignore[arg-type]

    def http(self, **options: object) -> MCPServerHTTP:
        return MCPServerHTTP(f"http://127.0.0.1:{self._port}/mcp", **options)  # type: ignore[arg-type]

    def start(self) -> None:
        command = [sys.executable, str(SERVER), str(self._log), str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
                return
            time.sleep(0.02)  # in another process there is nothing to await
        raise TimeoutError(f"the MCP server did not listen on port {self._port} within {LIMIT} s")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def shop(folder: Path, *, http: bool = False) -> Iterator[Shop]:
    made = Shop(folder)
    if http:
        made.start()
    try:
        yield made
    finally:
        made.kill()
