"""Simulated calls, in virtual time, one after another and side by side, on one loop that never ends.

Random calls of the runtime's soak and random walks: by voice, in text and with realtime models, with tools,
hand-offs, barge-ins and faults.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial

from antiphon.sim import walking
from antiphon.testing import run_virtual
from tests.runtime.test_soak import call
from tests.soak.level import POINTS, Level, level

TOGETHER = 8
"""Calls that are begun within half a minute."""
LIMIT = 1e9
"""Seconds of virtual time for all of them."""


def soak(calls: int, seed: str, tell: Callable[[Level], None]) -> tuple[list[Level], list[str]]:
    """Make so many calls. Returns the levels, of which the first is that after the warm-up, and what went wrong."""
    return run_virtual(_soak(calls, seed, tell), timeout=LIMIT)


async def _soak(calls: int, seed: str, tell: Callable[[Level], None]) -> tuple[list[Level], list[str]]:
    levels: list[Level] = []
    failed: list[str] = []
    for point in range(POINTS):
        numbers = range(calls * point // POINTS, calls * (point + 1) // POINTS)
        for first in numbers[::TOGETHER]:
            async with asyncio.TaskGroup() as group:
                for number in range(first, min(first + TOGETHER, numbers.stop)):
                    group.create_task(_call(f"{seed}/{number}", number, failed))
        levels.append(level(numbers.stop))
        tell(levels[-1])
    return levels, failed


async def _call(seed: str, number: int, failed: list[str]) -> None:
    rng = random.Random(seed)
    await asyncio.sleep(30 * rng.random())
    kind = partial(walking, seed) if number % 3 == 0 else partial(call, rng)
    try:
        await kind()
    except Exception as error:
        failed.append(f"{seed}: {error!r}")
        print(f"simulated  failed: {failed[-1]}", flush=True)
