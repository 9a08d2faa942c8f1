"""`antiphon dev`: where it serves, what it prints, and how it stops."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import ssl
import sys
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from antiphon.cli.main import main
from antiphon.console.access import Access
from antiphon.console.serve import Place, needs_tls
from antiphon.console.tls import given_certificate, lan_address, own_certificate
from antiphon.errors import UsageError
from tests.console.page import Page, socket_url
from tests.console.serving import ECHO, run, serving, write

MAIN = """
if __name__ == "__main__":
    server.run()
"""


def test_the_address_is_plain_on_this_machine_and_carries_a_token_elsewhere(tmp_path: Path) -> None:
    async def check() -> None:
        path = write(tmp_path, ECHO)
        async with serving(path) as server:
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+", server.url)
        async with serving(path, place=Place("0.0.0.0", 0)) as server:
            assert re.fullmatch(r"http://[\d.]+:\d+/\?token=[\w-]{20,}", server.url)
            async with Page(server.url, audio=False) as page:
                assert await page.asks("Hello") == "You are heard."

    run(check)


def test_what_is_sent_goes_at_once_and_waits_for_no_acknowledgement(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server, Page(server.url, audio=False):
            (connection,) = server.server.server_state.connections
            connected = connection.transport.get_extra_info("socket")
            assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    run(check)


def test_a_port_that_is_taken_is_told_with_what_helps(tmp_path: Path) -> None:
    async def check() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(UsageError, match=rf"cannot serve at 127.0.0.1:{port}: .*another --host or --port"):
                async with serving(write(tmp_path, ECHO), place=Place(port=port)):
                    pass

    run(check)


def test_a_certificate_of_its_own_serves_https_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    async def check() -> None:
        async with serving(write(tmp_path, ECHO), place=Place(port=0, tls=True)) as server:
            assert server.url.startswith("https://")
            certificate = own_certificate(("127.0.0.1", "localhost"))
            trusting = ssl.create_default_context(cafile=str(certificate.authority))
            async with connect(socket_url(server.url, "/watch"), ssl=trusting):
                pass

    run(check)


def test_the_key_of_its_certificate_is_for_its_owner_only(tmp_path: Path) -> None:
    first = own_certificate(("192.168.1.7", "localhost"), tmp_path)
    assert first.key.stat().st_mode & 0o077 == 0
    again = own_certificate(("192.168.1.7", "localhost"), tmp_path)
    assert (again, again.chain.read_bytes()) == (first, first.chain.read_bytes())


def test_a_certificate_that_is_soon_too_old_is_made_anew(tmp_path: Path) -> None:
    first = own_certificate(("localhost",), tmp_path)
    before = first.chain.read_bytes()
    year_ago = first.chain.stat().st_mtime - 340 * 86_400
    os.utime(first.chain, (year_ago, year_ago))
    assert own_certificate(("localhost",), tmp_path).chain.read_bytes() != before


def test_half_a_certificate_and_files_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="belong together"):
        given_certificate(tmp_path / "cert.pem", None)
    with pytest.raises(UsageError, match=r"no such certificate file: .*cert.pem"):
        given_certificate(tmp_path / "cert.pem", tmp_path / "key.pem")
    assert given_certificate(None, None) is None


@pytest.mark.parametrize(
    ("place", "needed"),
    [(Place(), False), (Place("192.168.1.7"), True), (Place("192.168.1.7", tls=True), False), (Place("::1"), False)],
)
def test_browsers_want_https_for_the_microphone_of_any_other_machine(place: Place, needed: bool) -> None:
    assert needs_tls(place) is needed


def test_the_address_in_the_network_is_no_loopback() -> None:
    address = lan_address()
    assert address is None or Access.to(address).token is not None


DEAF = """
import asyncio
from antiphon import Agent, AgentServer, AgentSession, function_tool
from antiphon.testing import FakeLLM, Reply

server = AgentServer()

@function_tool(effect="writes")
async def wait() -> str:
    '''Wait.'''
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

@server.rtc_session
async def entrypoint(session: AgentSession):
    llm = FakeLLM({"": Reply(calls=[("wait", {})])}, ttft=0.0)
    await session.start(agent=Agent(instructions="", tools=[wait]), room=session.room, llm=llm)
"""


async def started(*arguments: str) -> tuple[asyncio.subprocess.Process, str]:
    """A server in a process of its own, and the address that it printed."""
    # With keys for voices and ears there are no local ones to be loaded, which takes long.
    keys = {f"{vendor}_API_KEY": "none" for vendor in ("DEEPGRAM", "CARTESIA", "OPENAI")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **keys},
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # whatever the tests run under
    )
    assert process.stdout is not None
    printed = ""
    while not (found := re.search(r"Open\s+(http\S+)", printed)):
        line = await process.stdout.readline()
        assert line, printed
        printed += line.decode()
    return process, found.group(1)


@pytest.mark.parametrize(
    ("through_its_file", "stop"),
    [(False, signal.SIGINT), (False, signal.SIGTERM), (False, signal.SIGHUP), (True, signal.SIGINT)],
)
def test_the_command_serves_until_it_is_told_to_stop(
    tmp_path: Path, through_its_file: bool, stop: signal.Signals
) -> None:
    async def check() -> None:
        path = write(tmp_path, ECHO + MAIN)
        antiphon = ["-c", "from antiphon.cli.main import main; main()", "dev", str(path)]
        process, url = await started(*([str(path), "dev"] if through_its_file else antiphon), "--port", "0")
        try:
            async with Page(url, audio=False) as page:
                await page.wait_for("ready", agent="Agent")
                process.send_signal(stop)
                await page.wait_for("ended", reason="the server stops")
            assert await process.wait() == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    run(check)


def test_a_tool_that_ignores_its_cancellation_cannot_keep_a_server_that_is_told_twice(tmp_path: Path) -> None:
    async def check() -> None:
        path = write(tmp_path, DEAF)
        process, url = await started(
            "-c", "from antiphon.cli.main import main; main()", "dev", str(path), "--port", "0"
        )
        try:
            async with Page(url, audio=False) as page:
                await page.wait_for("ready", agent="Agent")
                await page.send("text", text="Wait")
                await page.wait_for("tool", status="started")
                process.send_signal(signal.SIGTERM)
                with pytest.raises(TimeoutError):  # it writes, and has its time
                    await asyncio.wait_for(process.wait(), 2)
                process.send_signal(signal.SIGTERM)
                await page.wait_for("ended", reason="the server stops")
            assert await asyncio.wait_for(process.wait(), 10) == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    run(check)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--port", "70000"], "expected a port, 0 to 65535"),
        (["--port", "-1"], "expected"),
        (["--max-calls", "0"], "expected a number from 1 on"),
        (["--tls-cert", "cert.pem"], "--tls-cert and --tls-key belong together"),
        (["--llm", "nobody"], "no LLM called 'nobody'"),
    ],
)
def test_arguments_that_make_no_sense_are_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["dev", str(write(tmp_path, ECHO)), *arguments])
    told = capsys.readouterr().err
    assert (left.value.code, says in told, told.count("\n")) == (2, True, 1), told


def test_a_file_that_is_not_there_is_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["dev", str(tmp_path / "agnet.py")])
    assert left.value.code == 2
    assert "no such agent file" in capsys.readouterr().err
