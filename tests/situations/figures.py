"""What was measured in a situation, against what is allowed. Told at the end of the test run."""

from __future__ import annotations

from dataclasses import dataclass

SAMPLE = 0.0001
"""Seconds by which two exact times may differ."""


@dataclass(frozen=True)
class Figure:
    """One measurement, in seconds. `at_least` and `at_most` are inclusive."""

    situation: str
    what: str
    seconds: float
    at_most: float

    def __str__(self) -> str:
        measured, allowed = 1000 * self.seconds, 1000 * self.at_most
        return f"{self.situation}: {self.what} {measured:.0f} ms (at most {allowed:.0f})"


figures: dict[tuple[str, str], Figure] = {}
"""The largest of each, by situation and what was measured."""


def measured(situation: str, what: str, seconds: float, *, at_most: float) -> None:
    """Keep a figure for the summary, the largest of its name, and hold it against its bound."""
    figure = Figure(situation, what, seconds, at_most)
    before = figures.get((situation, what))
    if before is None or before.seconds - before.at_most < seconds - at_most:
        figures[situation, what] = figure
    assert seconds <= at_most + SAMPLE, str(figure)
