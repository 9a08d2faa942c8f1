"""The figures are right: against integration by hand, and against what is known of them."""

from __future__ import annotations

import math

import pytest

from antiphon.evaluation import better_probability, wilson


def by_integration(passes: int, runs: int, other_passes: int, other_runs: int, steps: int = 2_000) -> float:
    """The same probability: the density of one rate times the distribution of the other, summed."""

    def density(x: float, good: int, bad: int) -> float:
        ways = math.lgamma(good + bad + 2) - math.lgamma(good + 1) - math.lgamma(bad + 1)
        return math.exp(ways + good * math.log(x) + bad * math.log(1 - x))

    total = below = 0.0
    for step in range(steps):
        x = (step + 0.5) / steps
        other = density(x, other_passes, other_runs - other_passes) / steps
        total += density(x, passes, runs - passes) / steps * (below + other / 2)
        below += other
    return total


@pytest.mark.parametrize(
    ("passes", "runs", "low", "high"),
    [(0, 0, 0.0, 1.0), (10, 10, 0.7225, 1.0), (0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_s_interval_is_the_known_one(passes: int, runs: int, low: float, high: float) -> None:
    assert list(wilson(passes, runs)) == pytest.approx([low, high], abs=1e-4)


@pytest.mark.parametrize("counts", [(9, 10, 5, 10), (1, 3, 2, 3), (50, 60, 40, 60), (0, 4, 4, 4), (7, 20, 3, 5)])
def test_the_probability_to_be_better_is_that_of_two_beta_variables(counts: tuple[int, int, int, int]) -> None:
    assert better_probability(*counts) == pytest.approx(by_integration(*counts), abs=2e-4)


def test_equal_counts_say_nothing_and_the_other_way_round_is_the_rest() -> None:
    assert better_probability(0, 0, 0, 0) == pytest.approx(0.5)
    assert better_probability(7, 10, 7, 10) == pytest.approx(0.5)
    assert better_probability(9, 10, 5, 10) + better_probability(5, 10, 9, 10) == pytest.approx(1.0)
    assert better_probability(1000, 1000, 0, 1000) == pytest.approx(1.0)
