"""A caller talks to the example receptionist by WebRTC, from a real browser: on this machine, and from another one.

Everything is as a user has it: `antiphon dev` in a process of its own, with the local models; Chromium, whose
microphone is a recording; the page as it is served.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

from tests.console.page_browser import chromium, faults_of, phase, watched
from tests.seeds.documents import missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytest.importorskip("aiortc", reason="needs aiortc: pip install 'antiphon[webrtc]'")
pytestmark = pytest.mark.skipif(bool(missing), reason=missing)

ROOT = Path(__file__).parents[2]
RECEPTIONIST = ROOT / "examples" / "receptionist.py"
RECORDINGS = ROOT / "examples" / "recordings"
STARTING = 60.0
"""Seconds that the server and its models may take to be there."""
PEERS = """
window.peers = [];
window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...options) { super(...options); window.peers.push(this); }
};
"""
"""Run before the page's own code: keeps its connections, to ask them what passed."""
NO_WAY = """
const withoutAddresses = (sdp) => sdp.replace(/a=candidate.*\\r\\n/g, "");
window.RTCPeerConnection = class extends RTCPeerConnection {
  get localDescription() {
    const { type, sdp } = super.localDescription;
    return { type, sdp: withoutAddresses(sdp) };
  }
  setRemoteDescription({ type, sdp }) { return super.setRemoteDescription({ type, sdp: withoutAddresses(sdp) }); }
};
"""
"""The same as a firewall: neither end learns of an address of the other."""
STATES = "window.peers.map((peer) => peer.connectionState)"
PASSED = """async () => {
  const passed = { sent: 0, received: 0, energy: 0 };
  for (const peer of window.peers) for (const report of (await peer.getStats()).values()) {
    if (report.type === "outbound-rtp") passed.sent += report.packetsSent;
    if (report.type === "inbound-rtp") {
      passed.received += report.packetsReceived;
      passed.energy += report.totalAudioEnergy;
    }
  }
  return passed;
}"""


def recording(path: Path, *turns: tuple[float, str]) -> Path:
    """A microphone's file: these recordings, each after so many seconds of silence, and silence at the end."""
    pieces: list[np.ndarray] = []
    for silence, name in turns:
        samples, rate = soundfile.read(RECORDINGS / name, dtype="float32")
        pieces += [np.zeros(round(silence * rate), np.float32), samples]
    soundfile.write(path, np.concatenate([*pieces, np.zeros(60 * rate, np.float32)]), rate, subtype="PCM_16")
    return path


@contextlib.contextmanager
def dev(*arguments: str, prefix: Sequence[str] = ()) -> Iterator[str]:
    """`antiphon dev` with the example receptionist. Yields the URL that it prints."""
    program = "from antiphon.cli.main import main; main()"
    command = [*prefix, sys.executable, "-c", program, "dev", str(RECEPTIONIST), "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT) as server:
        try:
            yield _printed_url(server)
        finally:
            server.terminate()
            try:
                server.communicate(timeout=15)
            except subprocess.TimeoutExpired:
                server.kill()


def _printed_url(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    said: list[str] = []
    patience = threading.Timer(STARTING, server.kill)
    patience.start()
    for line in server.stdout:
        said.append(line)
        if found := re.search(r"https?://\S+", line):
            patience.cancel()
            return found[0]
    raise AssertionError(f"the server ended without a URL: {''.join(said)}")


class TwoMachines:
    """Two network namespaces joined by a cable: what runs in one reaches the other by its address alone.

    The addresses are documentation's, so that the page does not take the server for a neighbour.
    """

    def __init__(self) -> None:
        self.server, self.caller = (f"antiphon-{os.getpid()}-{end}" for end in "sc")
        self.address = "203.0.113.1"

    def __enter__(self) -> TwoMachines:
        """Skips the test where namespaces cannot be made."""
        if shutil.which("ip") is None or os.geteuid() != 0:
            pytest.skip("needs root and the program ip, to make network namespaces")
        try:
            for command in self._commands():
                subprocess.run(["ip", *command.split()], check=True, capture_output=True, text=True, timeout=10)
        except subprocess.CalledProcessError as error:
            self.__exit__()
            pytest.skip(f"needs network namespaces: ip says {error.stderr.strip()!r}")
        return self

    def __exit__(self, *_: object) -> None:
        for name in (self.server, self.caller):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, timeout=10)

    def _commands(self) -> Iterator[str]:
        s, c = self.server, self.caller
        yield f"netns add {s}"
        yield f"netns add {c}"
        yield f"-n {s} link add cable type veth peer name cable netns {c}"
        for name, address in ((s, self.address), (c, "203.0.113.2")):
            yield f"-n {name} addr add {address}/24 dev cable"
            yield f"-n {name} link set cable up"
            yield f"-n {name} link set lo up"

    def browser(self, folder: Path) -> Path:
        """A folder with a program called chromium that runs on the caller's machine."""
        chromium = shutil.which("chromium")
        if chromium is None:
            pytest.skip("needs the program chromium")
        program = folder / "chromium"
        program.write_text(f'#!/bin/sh\nexec ip netns exec {self.caller} {chromium} "$@"\n')
        program.chmod(0o755)
        return folder


def open_page(browser: Browser, url: str, *scripts: str, wish: str | None = "webrtc") -> Page:
    """The page, with that wish for a transport."""
    page = watched(browser.new_page(ignore_https_errors=True))
    for script in (PEERS, *scripts):
        page.add_init_script(script)
    go(page, url if wish is None else url + ("&" if "?" in url else "?") + f"transport={wish}")
    return page


def go(page: Page, address: str) -> None:
    """Open an address: anew, where the browser has just noticed that a network was added to its machine."""
    from playwright.sync_api import Error

    for _ in range(5):
        try:
            page.goto(address)
            return
        except Error as error:
            if "ERR_NETWORK_CHANGED" not in error.message:
                raise
            page.wait_for_timeout(1000)
    page.goto(address)


def call_again(page: Page) -> None:
    """Call, hang up, and call anew: the models are loaded then, and the microphone's file starts from its beginning."""
    page.click("#call")
    phase(page, "live", STARTING)
    page.click("#hang-up")
    phase(page, "ended")
    page.click("#call")
    phase(page, "live", STARTING)


def entry(page: Page, text: str, seconds: float = 30) -> Locator:
    """The first entry of the conversation with that in it, once it is there."""
    found = page.locator("#log > li", has_text=text).first
    found.wait_for(timeout=1000 * seconds)
    return found


def book(page: Page) -> None:
    """What the recordings say, and what must come of it."""
    entry(page, "anything next Tuesday")
    entry(page, "check_availability")
    entry(page, "Available slots for next Tuesday are 9:00 AM")
    entry(page, "An appointment for Jordan Park, next Tuesday at 2:00 PM. Shall I book it?")
    tool = entry(page, "book_appointment")
    assert "Jordan Park" in tool.inner_text()
    entry(page, "I have booked an appointment for Jordan Park, next Tuesday at 2:00 PM")


@pytest.fixture(scope="module")
def microphone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    turns = (4.0, "demo-2.wav"), (11.0, "demo-3.wav"), (24.0, "demo-4.wav")
    return recording(tmp_path_factory.mktemp("sound") / "microphone.wav", *turns)


def test_a_caller_books_by_voice_over_webrtc(microphone: Path) -> None:
    with dev() as url, chromium(microphone) as browser:
        page = open_page(browser, url)
        call_again(page)
        book(page)
        passed = page.evaluate(PASSED)
        assert passed["sent"] > 500, "the microphone goes by the media track"
        assert passed["energy"] > 0.01, "the agent's voice comes by the media track"
        page.click("#hang-up")
        phase(page, "ended")
        assert set(page.evaluate(STATES)) == {"closed"}
        assert faults_of(page) == []


def test_where_webrtc_cannot_connect_the_call_goes_by_websocket(microphone: Path) -> None:
    with dev() as url, chromium(microphone) as browser:
        page = open_page(browser, url, NO_WAY)
        page.click("#call")
        deadline = time.monotonic() + STARTING
        while page.evaluate(STATES) != ["closed"]:
            assert time.monotonic() < deadline, "the page did not give WebRTC up"
            page.wait_for_timeout(200)
        phase(page, "live", STARTING)
        entry(page, "You")
        assert page.evaluate(STATES) == ["closed"]


def test_from_another_machine_the_page_takes_webrtc_by_itself(
    microphone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TwoMachines() as machines:
        monkeypatch.setenv("PATH", str(machines.browser(tmp_path)), prepend=os.pathsep)
        with (
            dev("--host", machines.address, "--tls", prefix=("ip", "netns", "exec", machines.server)) as url,
            chromium(microphone) as browser,
        ):
            assert url.startswith(f"https://{machines.address}:")
            assert "token=" in url
            page = open_page(browser, url, wish=None)
            call_again(page)
            book(page)
            assert page.evaluate(PASSED)["energy"] > 0.01
            assert page.evaluate(STATES)[-1] == "connected"
