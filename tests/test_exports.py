"""The public names are there, and having them costs little."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import antiphon
from antiphon import adapters, sim, tasks, testing

IMPORT = "from antiphon import Agent, AgentSession, AgentServer, function_tool, RunContext, ToolError"
BUDGET = 0.150
"""Seconds that the import may take over a bare interpreter, on a machine that takes `USUAL` for the other one."""
OTHER = "import asyncio, http.server, unittest.mock, pydoc, doctest, xml.dom.minidom, multiprocessing.pool, sqlite3"
USUAL = 0.060
"""Seconds. Where it takes longer, the machine is slower, or full of other programs, by as much."""
HEAVY = ("numpy", "soxr", "onnxruntime", "rich", "soundfile")


def run(code: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={**os.environ, **environment}
    ).stdout


@pytest.mark.parametrize("name", antiphon.__all__)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(antiphon, name) is not None


def test_exported_names_are_sorted_and_unique() -> None:
    assert list(antiphon.__all__) == sorted(set(antiphon.__all__))


@pytest.mark.parametrize("package", [antiphon, adapters, sim, tasks, testing], ids=lambda package: package.__name__)
def test_a_misspelt_name_is_an_attribute_error_and_what_there_is_is_listed(package: ModuleType) -> None:
    misspelt = package.__all__[0] + "s"
    with pytest.raises(AttributeError, match=misspelt) as caught:
        getattr(package, misspelt)
    assert caught.value.obj is package  # so that Python asks whether another name was meant
    assert dir(package) == sorted(package.__all__)


def test_importing_the_framework_imports_nothing_heavy() -> None:
    loaded = run(f"{IMPORT}\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_importing_the_framework_is_quick(tmp_path: Path) -> None:
    # Processor time, and the best of several runs: other programs on the machine can only make a run slower.
    timed = "import time; began = time.process_time()\n{}\nprint(time.process_time() - began)"
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}  # as users have it
    runs = [[float(run(timed.format(code), **compiled)) for code in (IMPORT, OTHER)] for _ in range(10)]
    cost, other = (min(times) for times in zip(*runs, strict=True))
    print(f"import: {1000 * cost:.0f} ms over bare Python, the other {1000 * other:.0f} ms")
    assert cost <= BUDGET * max(1.0, other / USUAL)
