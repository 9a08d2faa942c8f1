"""What one page may do to its server: every limit closes that call with a code and a reason, and touches no other."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets import ConnectionClosed
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from antiphon.console.access import Limits
from antiphon.console.serve import PageServer, Place
from antiphon.testing import wait_until
from tests.console.page import Page, socket_url
from tests.console.serving import ECHO, VOICE, run, serving, write
from tests.console.test_app import fetch

START = json.dumps({"type": "start", "rate": 48_000, "audio": True})
TEXT = json.dumps({"type": "start", "rate": 48_000, "audio": False})

WEBRTC = json.dumps({"type": "start", "rate": 48_000, "transport": "webrtc"})
OFFER = json.dumps({"type": "offer", "sdp": "nothing of the kind"})

Act = Callable[[ClientConnection], Awaitable[Any]]


async def end_of(server: PageServer, act: Act, path: str = "/call", **options: Any) -> tuple[int | None, str]:
    """Open a socket, do `act`, and wait for the server to close it. Code and reason."""
    async with connect(socket_url(server.url, path), compression=None, max_size=None, **options) as socket:
        await act(socket)
        async with asyncio.timeout(10):
            await socket.wait_closed()
        return socket.close_code, socket.close_reason or ""


async def nothing(socket: ClientConnection) -> None:
    pass


def saying(*frames: str | bytes) -> Act:
    async def act(socket: ClientConnection) -> None:
        for frame in frames:
            await socket.send(frame)

    return act


async def flood_with_messages(socket: ClientConnection) -> None:
    await socket.send(TEXT)
    for _ in range(60):
        await socket.send('{"type":"played","epoch":0,"samples":0}')


async def flood_with_sound(socket: ClientConnection) -> None:
    await socket.send(START)
    for _ in range(60):
        await socket.send(bytes(1920))


SMALL = Limits(
    max_calls=2,
    start_timeout=0.3,
    offer_timeout=0.2,
    max_text=2_000,
    messages_per_second=10,
    messages_burst=50,
    sound_burst=0.5,
)


@pytest.mark.parametrize(
    ("act", "code", "says"),
    [
        pytest.param(nothing, 4408, "within 0.3 s", id="nothing"),
        pytest.param(saying("hello"), 4400, "message", id="no JSON"),
        pytest.param(saying(b"\0\0"), 4400, "binary", id="sound first"),
        pytest.param(saying('{"type":"hang_up"}'), 4400, "got hang_up", id="another message first"),
        pytest.param(saying(TEXT, TEXT), 4400, "second", id="a second start"),
        pytest.param(saying(TEXT, "{}"), 4400, "type", id="malformed later"),
        pytest.param(saying(TEXT, b"\0\0"), 4400, "text call", id="sound in a text call"),
        pytest.param(saying(START, b"\0\0\0"), 4400, "16-bit", id="half a sample"),
        pytest.param(saying(START, b""), 4400, "got 0 bytes", id="empty frame"),
        pytest.param(saying(START, bytes(96_000)), 4413, "100 ms", id="a long frame"),
        pytest.param(saying("x" * 3_000), 4413, "2000 at most", id="a long text"),
        pytest.param(saying(START, '{"type":"offer","sdp":"v=0"}'), 4400, "offer", id="an offer without WebRTC"),
        pytest.param(saying(WEBRTC), 4408, "no WebRTC offer came within 0.2 s", id="WebRTC without an offer"),
        pytest.param(saying(WEBRTC, OFFER), 4400, "WebRTC offer", id="an offer that is none"),
        pytest.param(saying(WEBRTC, OFFER, OFFER), 4400, "second", id="a second offer"),
        pytest.param(saying(WEBRTC, bytes(4)), 4400, "webrtc call", id="sound beside WebRTC"),
        pytest.param(saying(bytes(2_000_000)), 1009, "", id="beyond the library's limit"),
        pytest.param(flood_with_messages, 4429, "10 messages a second", id="too many messages"),
        pytest.param(flood_with_sound, 4429, "more sound", id="sound faster than time"),
    ],
)
def test_a_page_that_breaks_a_limit_is_closed_with_a_reason_and_no_other_call_notices(
    tmp_path: Path, act: Act, code: int, says: str
) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO), limits=SMALL) as server:
            async with Page(server.url, audio=False) as bystander:
                await bystander.asks("Before")
                closed, reason = await end_of(server, act)
                assert (closed, says in reason) == (code, True), reason
                assert await bystander.asks("After") == "You are heard."

    run(check)


def test_no_more_calls_are_held_than_allowed_and_a_place_becomes_free_again(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO), limits=SMALL) as server:
            async with Page(server.url, audio=False) as one, Page(server.url, audio=False) as two:
                await one.wait_for("ready")
                await two.wait_for("ready")
                code, reason = await end_of(server, saying(TEXT))
                assert (code, "--max-calls" in reason) == (4429, True)
                await two.send("hang_up")
                await two.closed()
                async with Page(server.url, audio=False) as three:
                    await three.wait_for("ready")

    run(check)


def test_a_page_that_does_not_read_is_closed_and_another_call_goes_on(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server, Page(server.url, audio=False) as bystander:
            await bystander.wait_for("ready")
            async with connect(socket_url(server.url, "/call"), compression=None, close_timeout=0.1) as deaf:
                await deaf.send(TEXT)
                await wait_until(lambda: server.calls.running == 2)
                deaf.transport.pause_reading()
                # Long news, again and again: the system's own buffers hold some megabytes.
                server.calls.file.server, server.calls.file.problem = None, "x" * 200_000
                for _ in range(200):
                    server.calls.tell_news()
                    await asyncio.sleep(0)
                    if server.calls.running == 1:
                        break
                await wait_until(lambda: server.calls.running == 1)
                deaf.transport.resume_reading()
                with pytest.raises(ConnectionClosed) as closed:
                    async with asyncio.timeout(10):
                        async for _ in deaf:
                            pass
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 4410
                assert "does not read" in closed.value.rcvd.reason
            assert await bystander.asks("Still there?") == "You are heard."

    run(check)


@pytest.mark.parametrize("path", ["/call", "/watch"])
@pytest.mark.parametrize(
    ("token", "origin", "status", "says"),
    [
        ("wrong", None, 401, "token is missing or wrong"),
        ("right", "http://example.org", 403, "http://example.org"),
        ("right", "http://[", 403, "expected a page of"),
    ],
)
def test_a_wrong_token_and_a_foreign_page_are_refused_before_a_socket_is_open_and_told_why(
    tmp_path: Path, path: str, token: str, origin: str | None, status: int, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = logging.getLogger("uvicorn.error")

    async def check() -> None:
        async with serving(write(tmp_path, ECHO), place=Place(port=0, token="right")) as server:
            log.addHandler(caplog.handler)  # it does not propagate
            base = server.url.partition("/?")[0]
            with pytest.raises(InvalidStatus) as refused:
                async with connect(socket_url(base, path, token), origin=origin):  # type: ignore[arg-type]
                    pass
            told = (refused.value.response.body or b"").decode()
            assert (refused.value.response.status_code, says in told) == (status, True), told
            async with Page(server.url, audio=False, origin=base) as page:
                await page.wait_for("ready")

    try:
        run(check)
    finally:
        log.removeHandler(caplog.handler)
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_page_whose_socket_was_refused_learns_why_without_one(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO), place=Place(port=0, token="right")) as server:
            base = server.url.partition("/?")[0]
            for path in ("/call", "/watch"):
                assert (await fetch(f"{base}{path}?token=wrong"))[0] == 401
                assert (await fetch(f"{base}{path}?token=right"))[0] == 204

    run(check)


first_messages = st.text() | st.binary() | st.sampled_from([START, TEXT, "{}", '{"type":"text","text":"hi"}'])


def test_no_beginning_of_a_call_takes_the_server_down(tmp_path: Path) -> None:
    async def check() -> None:
        limits = Limits(max_calls=50, start_timeout=0.2)
        async with serving(write(tmp_path, ECHO), limits=limits) as server:
            async with Page(server.url, audio=False) as bystander:
                await bystander.wait_for("ready")
                for frames in _examples():
                    async with connect(socket_url(server.url, "/call"), compression=None) as socket:
                        for frame in frames:
                            await socket.send(frame)
                assert await bystander.asks("After all that") == "You are heard."

    run(check)


def _examples() -> list[list[str | bytes]]:
    """A hundred ways to begin, the same in every run."""
    found: list[list[str | bytes]] = []

    @settings(max_examples=100, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.lists(first_messages, min_size=1, max_size=4))
    def collect(frames: list[str | bytes]) -> None:
        found.append(frames)

    collect()
    return found


def test_calls_however_they_end_leave_no_task_behind(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, VOICE), limits=SMALL) as server:
            before = len(asyncio.all_tasks())
            for last in ('{"type":"hang_up"}', "{}", b"\0", '{"type":"text","text":"cut off"}'):
                async with connect(socket_url(server.url, "/call"), compression=None) as socket:
                    await socket.send(START)
                    while b"ready" not in (received := await socket.recv(decode=False)):
                        assert received
                    await socket.send(last)
            async with connect(socket_url(server.url, "/call")):
                pass
            await wait_until(lambda: len(asyncio.all_tasks()) <= before)

    run(check)
