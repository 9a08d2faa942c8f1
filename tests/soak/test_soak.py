"""The soak at its shortest, and that it would notice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from antiphon import AgentSession
from tests.soak import simulated
from tests.soak.level import WARM, Level, what_grew

ROOT = Path(__file__).parents[2]
BASE = Level(calls=WARM, memory=100.0, objects=100_000, left=0, tasks=2, threads=4, descriptors=9, files=1)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_nothing_stays_of_calls_that_are_over() -> None:
    command = [sys.executable, "-m", "tests.soak", "--simulated", "60", "--real", "40", "--seed", "tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("flat\n") == 2
    assert done.stdout.count(" objects ") == 20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_sessions_that_are_kept_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[AgentSession] = []
    close = AgentSession.aclose

    async def keep(session: AgentSession) -> None:
        kept.append(session)
        await close(session)

    monkeypatch.setattr(AgentSession, "aclose", keep)
    levels, _ = simulated.soak(20, "tests", lambda _: None)
    grown = what_grew(levels)
    assert "left" in [part.split()[0] for part in grown]


@pytest.mark.parametrize(
    ("grown", "name"),
    [
        ({"memory": 106.5}, "memory"),
        ({"objects": 101_500}, "objects"),
        ({"left": 1}, "left"),
        ({"tasks": 3}, "tasks"),
        ({"threads": 13}, "threads"),
        ({"descriptors": 10}, "descriptors"),
        ({"files": 2}, "files"),
    ],
)
def test_what_grows_is_named(grown: dict[str, float], name: str) -> None:
    fields = {field: getattr(BASE, field) for field in BASE.__slots__}
    assert what_grew([BASE] * 10) == []
    after = Level(**fields | grown)
    assert [part.split()[0] for part in what_grew([BASE, *[after] * 9])] == [name]
    assert what_grew([BASE, after, after, BASE]) == []  # it has gone again
