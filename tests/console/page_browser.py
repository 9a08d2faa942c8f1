"""Debian's Chromium for tests of the page, one at a time, and what every test of it does."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --use-fake-device-for-media-stream --use-fake-ui-for-media-stream"
)


def node() -> str:
    """A program that runs JavaScript: the machine's, or the one that Playwright brings."""
    found = shutil.which("node")
    if found is not None:
        return found
    playwright = pytest.importorskip("playwright", reason="needs the program node, or the package playwright")
    return str(Path(playwright.__file__).parent / "driver" / "node")


@contextlib.contextmanager
def chromium(microphone: Path | None = None, *flags: str) -> Iterator[Browser]:
    """A browser whose microphone plays a file once, or beeps every second. Skips the test where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs the program chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    args = [*FLAGS.split(), *flags]
    if microphone is not None:
        args.append(f"--use-file-for-fake-audio-capture={microphone}%noloop")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=args)
        try:
            yield browser
        finally:
            browser.close()


def watched(page: Page) -> Page:
    """The page, with a list of what went wrong in it: `faults_of(page)`."""
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.__dict__["_faults"] = faults
    return page


def faults_of(page: Page) -> list[str]:
    """What the page's own code did wrong so far."""
    faults: list[str] = page.__dict__["_faults"]
    return faults


def phase(page: Page, name: str, seconds: float = 10) -> None:
    """Wait until the call is in this phase."""
    page.wait_for_selector(f"html[data-phase={name}]", timeout=seconds * 1000)


def log(page: Page) -> list[str]:
    """What the conversation says, one string an entry, times left out."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")  # it is drawn
    return [" ".join(item.split()[1:]) for item in page.locator("#log > li").all_inner_texts()]
