"""Calls through the page with everything real: Chromium, `antiphon dev`, recorded speech, the local models."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import sys
import wave
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.console.page_browser import chromium, faults_of, phase, watched

if TYPE_CHECKING:
    from playwright.sync_api import Page

EXAMPLES = Path(__file__).parents[2] / "examples"
RECEPTIONIST = EXAMPLES / "receptionist.py"


@contextlib.contextmanager
def dev_server(agent: Path, *options: str) -> Iterator[str]:
    """`antiphon dev` on a free port. Gives the address that it prints."""
    command = [str(Path(sys.executable).with_name("antiphon")), "dev", str(agent), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield next(word for line in server.stdout for word in line.split() if word.startswith("http"))
        finally:
            server.send_signal(signal.SIGINT)
            server.stdout.read()


def microphone(path: Path, turns: Sequence[tuple[str, float]], seconds: float) -> Path:
    """A file with these recordings at these times, and silence between."""
    with wave.open(str(EXAMPLES / "recordings" / "demo-1.wav")) as first:
        rate = first.getframerate()
    line = bytearray(2 * int(seconds * rate))
    for name, at in turns:
        with wave.open(str(EXAMPLES / "recordings" / f"{name}.wav")) as recording:
            sound = recording.readframes(recording.getnframes())
        start = 2 * int(at * rate)
        line[start : start + len(sound)] = sound
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(line)
    return path


LOADED = 10.0
"""Seconds after which the models are loaded. The microphone's file plays from the press of the button."""
CAPTIONS = """
    window.captions = new Set();
    new MutationObserver(() => {
        for (const one of document.querySelectorAll('.assistant.open .heard')) window.captions.add(one.textContent);
    }).observe(document, {subtree: true, childList: true, characterData: true});
"""
"""Keeps what the agent's captions said while they grew."""


def wait_text(page: Page, selector: str, text: str, seconds: float = 30) -> None:
    page.locator(selector, has_text=text).first.wait_for(timeout=seconds * 1000)


def test_a_caller_books_interrupts_and_sees_it_happen(tmp_path: Path) -> None:
    turns = [("demo-1", 0.0), ("demo-2", 6.5), ("demo-3", 14.5), ("demo-4", 27.0), ("demo-6", 39.0)]
    caller = microphone(tmp_path / "caller.wav", [(name, LOADED + at) for name, at in turns], LOADED + 50)
    with dev_server(RECEPTIONIST) as address, chromium(caller) as browser:
        page = watched(browser.new_page())
        page.add_init_script(CAPTIONS)
        page.goto(address + "?processing=off")
        page.click("#call")
        phase(page, "live", 30)
        wait_text(page, ".user .heard", "appointment")
        wait_text(page, ".user .heard", "next Tuesday")
        wait_text(page, ".work", "check_availability")
        # The caller picks a time while the agent still lists them.
        wait_text(page, ".assistant", "cut by you")
        # What is booked was read back before, and agreed to.
        wait_text(page, ".assistant", "An appointment for Jordan Park, next Tuesday at 2:00 PM. Shall I book it?")
        wait_text(page, ".user .heard", "Yes, please")
        wait_text(page, ".work", "Appointment confirmed: Jordan Park, next Tuesday at 2:00 PM")
        wait_text(page, ".user .heard", "everything")
        page.locator(".assistant:last-child .timing").wait_for(timeout=20_000)
        page.click("#hang-up")
        phase(page, "ended")

        assert page.locator(".work.bad").count() == 0
        assert page.inner_text(".assistant s") != ""  # what the caller did not hear
        assert page.locator(".timing").count() >= 3
        captions = page.evaluate("[...window.captions]")
        assert len(captions) > 20  # they grew word by word
        seconds = page.wait_for_function("document.querySelector('#summary audio').duration").json_value()
        assert seconds > 30
        report = page.request.get(address + str(page.get_attribute("#summary a", "href")))
        assert report.ok
        assert "Jordan Park" in report.text()
        assert faults_of(page) == []


def test_a_call_goes_on_with_a_new_agent_file(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    shutil.copy(RECEPTIONIST, agent)
    text = agent.read_text()
    caller = microphone(tmp_path / "caller.wav", [("demo-2", LOADED)], LOADED + 4)
    with dev_server(agent) as address, chromium(caller) as browser:
        page = watched(browser.new_page())
        page.goto(address + "?processing=off")
        page.click("#call")
        phase(page, "live", 30)
        page.locator(".assistant:not(.open)").wait_for(timeout=30_000)

        agent.write_text(text.replace("4:30 PM", "5:45 PM"))
        wait_text(page, ".note", "Agent file reloaded")
        phase(page, "live", 30)
        page.fill("#say", "And what about Friday?")
        page.press("#say", "Enter")
        wait_text(page, ".work", "5:45 PM")
        assert page.locator(".work", has_text="4:30 PM").count() == 1  # what was done before is still there

        agent.write_text(text + "\nnot python\n")
        wait_text(page, "[role=alert]", "The agent file is broken")
        wait_text(page, "[role=alert] pre", f"agent.py:{len(text.splitlines()) + 2}")
        assert page.get_attribute("html", "data-phase") == "live"  # it goes on with the code it began with

        agent.write_text(text)
        page.locator("[role=alert]").wait_for(state="detached", timeout=20_000)
        page.locator(".note", has_text="Agent file reloaded").nth(1).wait_for(timeout=20_000)
        phase(page, "live", 30)
        page.click("#hang-up")
        phase(page, "ended")


def test_a_page_without_the_token_says_so_though_its_socket_was_never_open() -> None:
    with dev_server(RECEPTIONIST, "--token", "right") as address, chromium() as browser:
        page = browser.new_page()
        page.goto(address.replace("token=right", "token=wrong"))
        page.click("#call")
        wait_text(page, "[role=alert]", "This page lacks the token")
        wait_text(page, "[role=alert] pre", "the token is missing or wrong")
