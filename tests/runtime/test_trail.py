"""A call as a tree of stretches: whatever happens, each begins once, within one that goes on, and ends once."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.core.commands import Close, Command
from antiphon.core.facts import Fact
from antiphon.events import TraceEvent
from antiphon.replay import read, steps
from antiphon.runtime.observers import show
from antiphon.runtime.trail import Trail
from tests.runtime.test_meter import invented

REGRESSIONS = sorted((Path(__file__).parents[1] / "core" / "regressions").glob("*.jsonl"))
EPOCH = 1_000_000.0


class Told:
    """What a trail tells, checked as it comes."""

    def __init__(self, *, voiced: bool = True) -> None:
        self.begun: dict[str, TraceEvent] = {}
        self.open: set[str] = set()
        self.points: list[str] = []
        self.now = 0.0
        self.trail = Trail(self._take, began=0.0, epoch=EPOCH, voiced=voiced, data={})

    def show(self, at: float, fact: Fact | None, commands: list[Command] | tuple[Command, ...]) -> None:
        self.now = at
        if fact is not None:
            self.trail.fact(at, fact)
        for command in commands:
            show(self.trail, at, command)

    def _take(self, event: TraceEvent) -> None:
        assert event.at <= EPOCH + self.now + 1e-6, "told before it happened"
        if event.what == "begin":
            assert event.stretch not in self.begun, f"{event.stretch} began twice"
            assert not event.stretch or event.within in self.open, f"{event.stretch} began in what was over"
            self.begun[event.stretch] = event
            self.open.add(event.stretch)
        else:
            assert event.stretch in self.open, f"{event.kind} of {event.stretch}, which is not open"
        if event.what == "end":
            assert event.kind == self.begun[event.stretch].kind
            assert event.at >= self.begun[event.stretch].at - 1e-6, f"{event.stretch} ended before it began"
            self.open.remove(event.stretch)
        if event.what == "point":
            self.points.append(event.kind)

    def is_over(self, last: list[Command] | tuple[Command, ...]) -> None:
        """A call that was closed has nothing open."""
        if any(isinstance(command, Close) for command in last):
            assert not self.open


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_stretches_begin_and_end_once(seed: int) -> None:
    for number in range(25):
        kind = "consent" if number % 5 == 0 else "trail"
        session, told = invented(f"{kind}/{seed}/{number}"), Told(voiced=number % 7 != 0)
        for entry, commands in zip(session.journal.entries, session.commands, strict=True):
            told.show(entry.at, entry.fact, commands)
        if session.commands:
            told.is_over(session.commands[-1])


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_of_each_call_that_once_went_wrong_too(path: Path) -> None:
    told = Told()
    for step in steps(read(path)):
        told.show(step.entry.at, step.entry.fact, step.commands)


def test_of_a_long_call_nothing_piles_up() -> None:
    sizes = set()
    for number in range(40):
        session, told = invented(f"long/{number}"), Told()
        for entry, commands in zip(session.journal.entries, session.commands, strict=True):
            told.show(entry.at, entry.fact, commands)
        kept = [value for value in vars(told.trail).values() if isinstance(value, (dict, set))]
        if session.commands and any(isinstance(command, Close) for command in session.commands[-1]):
            sizes.add(max(map(len, kept)))
    assert max(sizes) <= 5
