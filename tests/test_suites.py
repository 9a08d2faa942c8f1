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

    assert [cost.failed for _, cost in suites.table([good])] == [[]]
    assert [bool(cost.failed) for _, cost in suites.table([good, bad])] == [False, True]
    assert "no luck" in capsys.readouterr().err


def test_processor_time_is_that_of_children_too() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    of_child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}], check=True)"
    assert suites.measure(suites.Suite("", "", ((sys.executable, "-c", of_child),))).processor >= 0.3


# -- the table of CONTRIBUTING.md

MINUTES = 30.0
"""What CI may take."""


def test_the_table_has_the_suites_of_today() -> None:
    page = suites.PAGE.read_text(encoding="utf-8")
    assert suites.updated(page) == page, "a suite is new, or says something else: python -m tests.suites --update NAME"


def test_the_table_adds_up_to_what_ci_may_take() -> None:
    costs = suites.kept(suites.PAGE.read_text(encoding="utf-8"))
    assert sum(cost.wall for cost in costs.values() if cost is not None) <= 60 * MINUTES


def test_what_is_measured_goes_into_the_table_and_the_rest_stays() -> None:
    core, house, *_ = (suite for suite in suites.suites() if suite.name in ("core", "house"))
    page = f"before\n{suites.BEGIN}\n{suites.END}\nafter\n"

    once = suites.updated(page, [(core, suites.Cost(60.0, 90.0))])
    twice = suites.updated(once, [(house, suites.Cost(6.0, 9.0))])

    assert f"| `core` | 1.00 | 1.50 | {core.about} |" in twice
    assert f"| `house` | 0.10 | 0.15 | {house.about} |" in twice
    assert "| **all** | ? | ? |" in twice
    assert twice.startswith("before\n")
    assert twice.endswith("\nafter\n")


def test_a_table_that_is_measured_whole_has_its_sum() -> None:
    measured = [(suite, suites.Cost(6.0, 12.0)) for suite in suites.suites()]
    page = suites.updated(f"{suites.BEGIN}{suites.END}", measured)
    assert f"| **all** | {0.1 * len(measured):.2f} | {0.2 * len(measured):.2f} |" in page


def test_a_proof_closes_with_all_that_is_to_be_kept() -> None:
    told = closing("walks", "2,000 calls", "7", 0, time.perf_counter() - 90)
    assert re.fullmatch(
        rf"prove-walks, (\w{{7,}}\+?|\?), {date.today()}: 2,000 calls, seed 7, in 90 s: no finding", told
    )
    assert closing("walks", "", "", 1, 0.0).endswith(": 1 finding")
    assert closing("walks", "", "", 1200, 0.0).endswith(": 1,200 findings")
