"""Many walks: over all cores, in strides, each walk's failure kept with its seed.

Above: tests and command lines. Below: one walk, and what is found in it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context

from antiphon.sim.checks import Findings, examine
from antiphon.sim.walks import KINDS, Kind, walk

STRIDE = 10
"""Calls that a process makes before it tells what it found."""


@dataclass(slots=True)
class Stride:
    """What was found in some calls."""

    found: Findings
    cpu: float
    """Seconds of processor time."""
    calls: int = 0
    kinds: dict[Kind, Findings] = field(default_factory=lambda: {kind: Findings() for kind in KINDS})
    """The same, for each kind of call by itself."""

    def merge(self, other: Stride) -> None:
        """Take over what was found in others."""
        self.found.merge(other.found)
        for kind, found in other.kinds.items():
            self.kinds[kind].merge(found)
        self.cpu += other.cpu
        self.calls += other.calls


def stride(seeds: Sequence[str]) -> Stride:
    """Walk these."""
    logging.getLogger("antiphon").setLevel(logging.CRITICAL)  # faults are on purpose
    began = time.process_time()
    total = Stride(Findings(), 0.0, len(seeds))
    for seed in seeds:
        try:
            done = walk(seed)
            found = examine(done)
        except (Exception, asyncio.CancelledError) as error:
            total.found.other[f"{seed}: {type(error).__name__}: {str(error)[:400]}"] += 1
        else:
            total.found.merge(found)
            total.kinds[done.kind].merge(found)
    total.cpu = time.process_time() - began
    return total


def stroll(seeds: Sequence[str], jobs: int) -> Iterator[Stride]:
    """Walk all of these, on so many cores, and tell after each stride."""
    strides = [seeds[at : at + STRIDE] for at in range(0, len(seeds), STRIDE)]
    if jobs <= 1 or len(strides) == 1:
        yield from map(stride, strides)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(stride, some) for some in strides]):
            yield done.result()
