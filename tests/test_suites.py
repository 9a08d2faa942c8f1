"""The default run of pytest is there, what tests cost is written down, and proofs close with a line to keep."""

from __future__ import annotations

import re
import sys
import time
from datetime import date
from typing import TYPE_CHECKING

from tests import suites
from tests.proofs import closing

if TYPE_CHECKING:
    import pytest


def test_what_runs_by_default_is_there() -> None:
    default = [suite.name for suite in suites.suites() if suite.default]
    assert {"core", "contract", "application", "runtime", "tools", "house", "test_*.py"} <= set(default)


def test_every_suite_says_what_it_is_of() -> None:
    assert [suite.name for suite in suites.suites() if not suite.about] == []


def test_what_fails_is_told_and_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    python = sys.executable
    good = suites.Suite("good", "Nothing.", ((python, "-c", "sum(range(10**6))"),))
    bad = suites.Suite("bad", "Less.", ((python, "-c", "raise SystemExit('no luck')"),), default=True)

    assert suites.table([good]) == 0
    assert suites.table([good, bad]) == 1
    assert "no luck" in capsys.readouterr().err


def test_processor_time_is_that_of_children_too() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    of_child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}], check=True)"
    assert suites.measure(suites.Suite("", "", ((sys.executable, "-c", of_child),))).processor >= 0.3


def test_a_proof_closes_with_all_that_is_to_be_kept() -> None:
    told = closing("walks", "2,000 calls", "7", 0, time.perf_counter() - 90)
    assert re.fullmatch(
        rf"prove-walks, (\w{{7,}}\+?|\?), {date.today()}: 2,000 calls, seed 7, in 90 s: no finding", told
    )
    assert closing("walks", "", "", 1, 0.0).endswith(": 1 finding")
    assert closing("walks", "", "", 1200, 0.0).endswith(": 1,200 findings")
