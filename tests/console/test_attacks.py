"""What strangers send does not keep other people's calls from going on: attacks on real sockets, a real server."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from antiphon.chat import ChatContext
from antiphon.console import door
from antiphon.console.access import Limits
from antiphon.console.archive import FiledCall
from antiphon.console.serve import PageServer, Place
from antiphon.console.wires import Wait
from antiphon.testing import wait_until
from antiphon.visible import SparingLog
from tests.console.attacked import TOKEN, attack, place_for
from tests.console.attacks import ATTACKS, Target, frame
from tests.console.page import Page, socket_url
from tests.console.serving import ECHO, VOICE, run, serving, write

STALL = 0.1
"""Seconds for which nothing else may happen in the server. Two frames of sound are 0.04 s; a page holds 0.6 s."""


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_stalls_no_call_keeps_nobody_out_and_fills_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    async def check() -> None:
        async with serving(write(tmp_path, VOICE), place=place_for(name)) as server:
            effect = await attack(server, name, seconds=2.0)
            assert effect.busy < STALL, str(effect)
            assert effect.heard, str(effect)
            assert effect.let_in, str(effect)
            assert effect.logged < 10_000, str(effect)

    run(check)


@pytest.mark.parametrize("name", ["half_handshakes_of_many", "unread_answers"])
def test_where_all_places_are_taken_by_those_who_wait_somebody_else_comes_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(door, "MAX_CONNECTIONS", 40)

    async def check() -> None:
        async with serving(write(tmp_path, VOICE), place=place_for(name)) as server:
            effect = await attack(server, name, seconds=2.0)
            assert (effect.heard, effect.let_in) == (True, True), str(effect)

    run(check)


@contextmanager
def few_descriptors(number: int) -> Iterator[None]:
    """Leave this process so many descriptors more than it has now."""
    used = len(list(Path("/proc/self/fd").iterdir()))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + number, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_half_requests_where_descriptors_run_out_keep_nobody_out_and_fill_no_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, VOICE), place=Place(port=0, token=TOKEN)) as server:
            with few_descriptors(40):
                effect = await attack(server, "half_requests", seconds=3.0)
            assert (effect.heard, effect.let_in) == (True, True), str(effect)
            assert effect.logged < 1_000, str(effect)
            assert "Raise `ulimit -n`" in caplog.text

    run(check)


def target_of(server: PageServer, token: str = "") -> Target:
    return Target(int(server.url.partition("?")[0].rstrip("/").rpartition(":")[2]), token, float("inf"))


async def is_closed(opened: socket.socket, seconds: float) -> bool:
    """Whether the server ends this connection within so many seconds, whatever it sends before."""
    opened.setblocking(False)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(seconds):
            while await loop.sock_recv(opened, 65_536):
                pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: ", id="half a request"),
        pytest.param(b"GET /icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\nGET /", id="half of the next one"),
    ],
)
def test_a_connection_whose_request_does_not_come_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(Wait.REQUEST, "_value_", 0.3)
    monkeypatch.setattr(door, "LOOK", 0.05)

    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server:
            with target_of(server).connect() as opened:
                opened.sendall(said)
                assert await is_closed(opened, 3.0)

    run(check)


def test_a_client_that_does_not_take_its_answer_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wait.READER, "_value_", 0.3)
    monkeypatch.setattr(door, "LOOK", 0.05)

    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server:
            target = target_of(server)
            with target.connect() as opened:
                request = b"GET /style.css HTTP/1.1\r\nHost: " + target.host + b"\r\n\r\n"
                opened.setblocking(False)
                loop = asyncio.get_running_loop()
                with pytest.raises((ConnectionResetError, BrokenPipeError)):
                    async with asyncio.timeout(10):
                        while True:
                            await loop.sock_sendall(opened, request * 100)

    run(check)


def test_a_client_that_takes_its_answer_slowly_gets_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wait.READER, "_value_", 0.5)
    monkeypatch.setattr(door, "LOOK", 0.02)
    recording = tmp_path / "recording.wav"
    recording.write_bytes(bytes(12_000_000))
    filed = FiledCall("c", None, recording, ChatContext())

    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server:
            monkeypatch.setattr(server.calls.archive, "get", lambda call_id: filed)
            target = target_of(server)
            with target.connect() as opened:
                opened.setblocking(False)
                loop, got = asyncio.get_running_loop(), 0
                request = b"GET /calls/c/recording.wav HTTP/1.1\r\nHost: " + target.host + b"\r\n\r\n"
                await loop.sock_sendall(opened, request)
                while got < 12_000_000 and (piece := await loop.sock_recv(opened, 200_000)):
                    got += len(piece)
                    await asyncio.sleep(0.05)
                assert got > 12_000_000

    run(check)


def test_a_client_that_speaks_no_tls_is_closed_and_others_come_in_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(Wait.REQUEST, "_value_", 0.5)

    async def check() -> None:
        async with serving(write(tmp_path, ECHO), place=Place(port=0, tls=True)) as server:
            trusting = ssl._create_unverified_context()
            with target_of(server).connect() as silent, target_of(server).connect() as nonsense:
                nonsense.sendall(b"GET / HTTP/1.1\r\n\r\n")
                async with connect(socket_url(server.url, "/watch"), ssl=trusting):
                    assert await is_closed(nonsense, 3.0)
                    assert await is_closed(silent, 3.0)

    run(check)


@pytest.mark.parametrize(
    "flood",
    [
        pytest.param(frame(2) * 10_000, id="empty frames"),
        pytest.param(frame(9, bytes(100)) * 10_000, id="pings"),
        pytest.param(frame(1, b"{", last=False) + frame(0, last=False) * 10_000, id="pieces of one message"),
        pytest.param(b"\x82\xff" + (2**40).to_bytes(8, "big") + bytes(4), id="a message of a terabyte"),
        pytest.param(b"\xff" * 100, id="no frames"),
        pytest.param(frame(1, b"\xff") + frame(1, b"\xff") + frame(8), id="no UTF-8, twice, and the end"),
    ],
)
def test_a_socket_that_is_flooded_is_closed(tmp_path: Path, flood: bytes) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server, Page(server.url, audio=False) as bystander:
            await bystander.wait_for("ready")
            target = target_of(server)
            with target.connect() as opened:
                await asyncio.to_thread(target.open_call, opened)
                opened.setblocking(False)
                sending = asyncio.create_task(asyncio.get_running_loop().sock_sendall(opened, flood))
                assert await is_closed(opened, 5.0)
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
            assert await bystander.asks("Still there?") == "You are heard."

    run(check)


def test_frames_before_the_socket_is_open_end_it(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server:
            target = target_of(server)
            with target.connect() as opened:
                opened.sendall(target.request() + frame(2) * 5_000)
                assert await is_closed(opened, 2.0)

    run(check)


def test_of_sockets_that_keep_silent_the_oldest_goes_and_who_speaks_stays(tmp_path: Path) -> None:
    async def check() -> None:
        limits = Limits(max_silent=2, start_timeout=30)
        async with serving(write(tmp_path, ECHO), limits=limits) as server:
            url = socket_url(server.url, "/call")
            async with Page(server.url, audio=False) as page:
                await page.wait_for("ready")
                async with connect(url) as first, connect(url) as second, connect(url) as third:
                    async with asyncio.timeout(5):
                        await first.wait_closed()
                    assert first.close_code == 4408
                    assert (second.close_code, third.close_code) == (None, None)
                    assert await page.asks("Still there?") == "You are heard."

    run(check)


def test_no_more_pages_are_open_than_allowed_and_a_place_becomes_free_again(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO), limits=Limits(max_pages=1)) as server:
            url = socket_url(server.url, "/watch")
            async with connect(url):
                with pytest.raises(Exception, match="429"):
                    async with connect(url):
                        pass
            await wait_until(lambda: not server.server.server_state.connections)
            async with connect(url):
                pass

    run(check)


def test_a_sparing_log_says_how_much_it_left_out() -> None:
    sparing = SparingLog(burst=2)

    def logged(at: float) -> str | None:
        record = logging.LogRecord("x", logging.WARNING, "", 0, "nonsense from %s", ("somebody",), None)
        record.created = at
        return record.getMessage() if sparing.filter(record) else None

    assert [logged(0) for _ in range(5)] == ["nonsense from somebody"] * 2 + [None] * 3
    assert logged(61) == "nonsense from somebody (3 lines before it were left out)"
    assert logged(121) == "nonsense from somebody"
