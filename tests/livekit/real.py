"""A real LiveKit server: the one that LIVEKIT_URL names, or a `livekit-server` of the PATH, started for the tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

START_TIMEOUT = 10.0


@dataclass(frozen=True)
class Address:
    url: str
    key: str
    secret: str


def is_there() -> bool:
    return bool(os.environ.get("LIVEKIT_URL") or shutil.which("livekit-server"))


needs_server = [
    pytest.mark.livekit_server,
    pytest.mark.skipif(not is_there(), reason="no LiveKit server: set LIVEKIT_URL, or put livekit-server on the PATH"),
]
"""Marks for a test that needs one."""


needs_own_server = [
    pytest.mark.livekit_server,
    pytest.mark.skipif(not shutil.which("livekit-server"), reason="no livekit-server on the PATH, to be killed"),
]
"""Marks for a test that kills one."""


class OwnServer:
    """A server of our own, which may be killed and started again."""

    def __init__(self) -> None:
        self._port, self._udp, self._tcp = _free_ports(3)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> Address:
        return Address(f"ws://127.0.0.1:{self._port}", "devkey", "secret")

    def start(self) -> None:
        options = ["--dev", "--bind", "127.0.0.1", "--port", str(self._port), "--udp-port", str(self._udp)]
        environment = {**os.environ, "LIVEKIT_RTC_TCP_PORT": str(self._tcp)}
        self._process = subprocess.Popen(
            ["livekit-server", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        )
        _wait_for(self._port, self._process)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def own_server() -> Iterator[OwnServer]:
    server = OwnServer()
    try:
        server.start()
        yield server
    finally:
        server.kill()


@contextlib.contextmanager
def running_server() -> Iterator[Address]:
    if url := os.environ.get("LIVEKIT_URL"):
        key, secret = os.environ.get("LIVEKIT_API_KEY", "devkey"), os.environ.get("LIVEKIT_API_SECRET", "secret")
        yield Address(url, key, secret)
        return
    with own_server() as server:
        yield server.address


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_TIMEOUT
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            raise AssertionError(f"livekit-server ended at once, with {process.returncode}")
        time.sleep(0.05)
    raise AssertionError(f"livekit-server did not listen within {START_TIMEOUT:g} s")


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(one.getsockname()[1]) for one in free]
