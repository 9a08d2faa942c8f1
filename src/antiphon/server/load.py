"""How busy this process is: the mean of the last seconds.

One process is one loop, so its own share of a core counts; where the whole machine is busier than that, the machine.

Above: the worker, which takes jobs by it. Below: the clocks of the system.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

PERIOD = 0.5
"""Seconds between two measurements."""
SAMPLES = 5
"""Measurements that the mean is made of."""

_STAT = Path("/proc/stat")


class LoadMeter:
    """Measures as long as `run` does. `measure` gives 0 to 1, in the place of the processor; None: that.

    `owner` is what a `measure` with a parameter is given.
    """

    def __init__(self, measure: Callable[..., float] | None = None, owner: Any = None) -> None:
        self._measure: Callable[[], float] = _Processor().share if measure is None else _bound(measure, owner)
        self._samples: deque[float] = deque(maxlen=SAMPLES)

    @property
    def load(self) -> float:
        """0 is idle; 1 is all that there is."""
        return sum(self._samples) / len(self._samples) if self._samples else 0.0

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            self._samples.append(self._measure())
            await asyncio.sleep(PERIOD)


def _bound(measure: Callable[..., float], owner: Any) -> Callable[[], float]:
    return (lambda: measure(owner)) if inspect.signature(measure).parameters else measure


class _Processor:
    def __init__(self) -> None:
        self._at, self._used = time.monotonic(), time.process_time()
        self._ticks = _machine_ticks()

    def share(self) -> float:
        """What was used since the last time."""
        at, used, ticks = time.monotonic(), time.process_time(), _machine_ticks()
        own = (used - self._used) / max(at - self._at, 0.001)
        busy, all_of_it = ticks[0] - self._ticks[0], ticks[1] - self._ticks[1]
        self._at, self._used, self._ticks = at, used, ticks
        return min(max(own, busy / all_of_it if all_of_it else 0.0), 1.0)


def _machine_ticks() -> tuple[int, int]:
    """Busy ones and all of them since the system began; zeros where the system does not tell."""
    try:
        fields = [int(field) for field in _STAT.read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        return 0, 0
    idle = fields[3] + fields[4]
    return sum(fields) - idle, sum(fields)
