"""Nothing leaves the machine unasked: calls with the local models, in a network namespace that hears all they send."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.providers.local.convert import cache_folder
from antiphon.providers.local.weights import SILERO
from tests.cli.alone import ROOT, Alone
from tests.providers.local.models import needs_hibari, needs_moonshine, needs_silero

LOADING = 90.0
"""Seconds that all programs together may take to load their models."""
REPORTING = 40.0
"""Seconds after which onnxruntime has reported for certain; it does so 9 s after it was loaded."""
MAIN = "from antiphon.cli.main import main; main()"
UNTOLD = "import onnxruntime, sys, time; network = onnxruntime.InferenceSession(sys.argv[1]); time.sleep(60)"
"""A program that nobody has told to be quiet."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory with nothing in it but the recogniser's weights, which take a while to make."""
    cache = tmp_path / "home" / ".cache"
    cache.mkdir(parents=True)
    cache_folder().mkdir(parents=True, exist_ok=True)
    (cache / "antiphon").symlink_to(cache_folder())
    return cache.parent


def antiphon(*arguments: str) -> list[str]:
    return [sys.executable, "-c", MAIN, *arguments]


@needs_silero
@needs_hibari
@needs_moonshine
def test_nothing_leaves_the_machine_in_demo_call_dev_and_console(home: Path, tmp_path: Path) -> None:
    files = ["--out", str(tmp_path / "call.wav"), "--report", str(tmp_path / "call.html")]
    agent = str(ROOT / "examples" / "receptionist.py")
    turns = [str(ROOT / "examples" / "recordings" / f"pause-{number:02}.wav") for number in range(1, 11)]
    calls = [
        antiphon("demo", *files),
        antiphon("call", agent, "--caller", *turns),
        antiphon("dev", agent, "--port", "0"),
        antiphon("console", agent, "--null-audio"),
    ]
    untold = [sys.executable, "-c", UNTOLD, str(SILERO.locate())]
    with Alone(home, calls) as ours:
        ours.wait_loaded(LOADING)
        # The same in a machine of its own, begun when all others were running: once it is heard, they would have been.
        with Alone(tmp_path, [untold]) as other:
            other.wait_heard("TLS", REPORTING)
        ours.stop()
    assert any(line.startswith("DNS ") for line in other.heard)
    assert ours.heard == []
    assert ours.exit_codes == [None] * len(calls), "a call was over before it could have been heard"
    assert [path for path in home.rglob("*") if path.is_file()] == [], "a file was left in the home directory"
    assert list((tmp_path / ".cache").rglob("deviceid")), "what was to be seen in the home directory was not looked for"


@needs_silero
def test_who_loads_onnxruntime_before_antiphon_is_told_that_it_reports() -> None:
    program = "import onnxruntime, antiphon"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
    for told, known in ((program, True), ("import antiphon, onnxruntime", False)):
        run = subprocess.run([sys.executable, "-c", told], env=environment, capture_output=True, text=True, timeout=60)
        assert ("Import antiphon first" in run.stderr) is known
