"""How much a number of passes says: intervals, and the probability that of two rates one is higher.

Exact formulas and no sampling: the same figures each time. Above: reports and comparisons. Below: nothing.
"""

from __future__ import annotations

import math

SURE = 1.959963984540054
"""Standard deviations of 95 %."""


def wilson(passes: int, runs: int, deviations: float = SURE) -> tuple[float, float]:
    """Where a pass rate lies with 95 %, by Wilson's score: right for few runs, and at 0 and 1."""
    if runs == 0:
        return 0.0, 1.0
    rate, square = passes / runs, deviations**2
    middle = (rate + square / (2 * runs)) / (1 + square / runs)
    half = deviations / (1 + square / runs) * math.sqrt(rate * (1 - rate) / runs + square / (4 * runs**2))
    return max(0.0, middle - half) if passes else 0.0, min(1.0, middle + half) if passes < runs else 1.0


def better_probability(passes: int, runs: int, other_passes: int, other_runs: int) -> float:
    """The probability that the first pass rate is higher than the other: 0.5 where nothing is known.

    Each rate is taken to be anything from 0 to 1 before its runs, all alike (a beta-binomial model): after them it is
    Beta(1 + passes, 1 + failures). The probability that one such variable exceeds another is a finite sum.
    """
    a, b = 1 + other_passes, 1 + other_runs - other_passes
    c, d = 1 + passes, 1 + runs - passes
    found = math.fsum(
        math.exp(_log_beta(a + i, b + d) - math.log(d + i) - _log_beta(1 + i, d) - _log_beta(a, b)) for i in range(c)
    )
    return min(1.0, max(0.0, found))


def _log_beta(a: int, b: int) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
