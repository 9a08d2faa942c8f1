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


@contextlib.contextmanager
def running_server() -> Iterator[Address]:
    if url := os.environ.get("LIVEKIT_URL"):
        key, secret = os.environ.get("LIVEKIT_API_KEY", "devkey"), os.environ.get("LIVEKIT_API_SECRET", "secret")
        yield Address(url, key, secret)
        return
    port = _free_port()
    options = ["--dev", "--bind", "127.0.0.1", "--port", str(port), "--udp-port", str(_free_port())]
    process = subprocess.Popen(
        ["livekit-server", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_tcp(_free_port())
    )
    try:
        _wait_for(port, process)
        yield Address(f"ws://127.0.0.1:{port}", "devkey", "secret")
    finally:
        process.kill()
        process.wait()


def _tcp(port: int) -> dict[str, str]:
    return {**os.environ, "LIVEKIT_RTC_TCP_PORT": str(port)}


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_TIMEOUT
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            raise AssertionError(f"livekit-server ended at once, with {process.returncode}")
        time.sleep(0.05)
    raise AssertionError(f"livekit-server did not listen within {START_TIMEOUT:g} s")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
