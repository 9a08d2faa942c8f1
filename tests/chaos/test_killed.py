"""Processes that are killed with SIGKILL: a share of them here, 300 by `make prove-resume`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.chaos.bfcl import is_installed

KILLS = os.environ.get("ANTIPHON_KILLS", "30")

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not is_installed(), reason="needs: pip install --no-deps bfcl-eval mpmath"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system with fork"),
]


def test_a_killed_process_loses_and_doubles_nothing() -> None:
    given = [sys.executable, "-m", "tests.chaos.killed", "--kills", KILLS, "--seed", "suite"]
    done = subprocess.run(given, capture_output=True, text=True, timeout=1700)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{int(KILLS):,} processes killed" in done.stdout
