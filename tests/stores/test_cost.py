"""What a start costs where calls are kept, beside the disk's own commit in the same run."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.store_start import BUDGET, Cost, memory, sqlite

ROUNDS = 15
"""Tries, all of which count, until it is clear: other programs on the machine make one slower, and not quicker."""


def test_a_start_adds_half_a_millisecond_to_the_disks_own_commit_at_most(tmp_path: Path) -> None:
    cost = Cost([], [])
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        cost += asyncio.run(sqlite(folder, 60))
        if cost.quickest <= BUDGET:
            break
    print(f"a start in SQLite: {cost}")
    assert cost.quickest <= BUDGET


def test_a_start_in_memory_costs_a_tenth_of_that() -> None:
    assert asyncio.run(memory(200)).quickest <= BUDGET / 10
