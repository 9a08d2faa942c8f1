"""What a process has: memory, objects, tasks, threads, descriptors, files. And whether it stays as it is."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from antiphon.transports.track import SPOOL

POINTS = 10
"""How often a run is looked at."""
OF_A_CALL = frozenset(
    {
        "AgentSession",
        "Application",
        "CallRecord",
        "Conversation",
        "Driver",
        "JobContext",
        "PageCall",
        "Recognition",
        "Room",
        "StereoRecorder",
    }
)
"""Types of which nothing is left when a call is over."""
WARM = 50
"""Calls after which all code is loaded and all pools and caches have what they need."""
MEMORY = 0.01, 6.0
"""By how much resident memory may be above that after the warm-up: a share of it and MB, whichever is more.

Threads that a pool makes later have an arena each. 6 MB are 7 kB for each of 900 calls; a call that stays is more.
"""
OBJECTS = 0.01, 500
"""The same for Python objects."""
COLD = 0.2, 10_000
"""What is allowed of both, MB or objects, where the warm-up had fewer than `WARM` calls: a leak shows in the rest."""
THREADS = 8
"""Pools make threads when enough happens at once: asyncio's six on two cores, AnyIO's one for each file being sent."""


@dataclass(slots=True, frozen=True)
class Level:
    """What a process has at one moment."""

    calls: int
    """How many calls it has made."""
    memory: float
    """Resident, in MB, once what is free was given back to the system."""
    objects: int
    """That the garbage collector knows, after a collection."""
    left: int
    """Of them, parts of calls."""
    tasks: int
    threads: int
    descriptors: int
    files: int
    """In the folders of temporary files."""

    def __str__(self) -> str:
        fields = asdict(self)
        return f"{fields.pop('calls'):6,} calls: {fields.pop('memory'):7.1f} MB" + "".join(
            f" {value:8,} {name}" for name, value in fields.items()
        )


def level(calls: int) -> Level:
    """That of this process, after so many calls. In a running loop, between calls."""
    gc.collect()
    _trim()
    memory = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    objects = gc.get_objects()
    return Level(
        calls,
        memory,
        len(objects),
        sum(type(thing).__name__ in OF_A_CALL for thing in objects),
        len(asyncio.all_tasks()),
        threading.active_count(),
        len(os.listdir("/proc/self/fd")),
        len(os.listdir(tempfile.gettempdir())) + len(list(SPOOL.glob("antiphon-*"))),
    )


def _trim() -> None:
    """Have the C library give back what is free: else it is chance how much of the last call's sound is still held."""
    with contextlib.suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def what_grew(levels: Sequence[Level]) -> list[str]:
    """What there is more of at the end than after the warm-up, which is the first of `levels`, in words.

    A look may come at a bad moment: the lowest of the last three counts.
    """
    base, last = levels[0], levels[-3:]
    memory, objects = (MEMORY, OBJECTS) if base.calls >= WARM else (COLD, COLD)
    grown: list[str] = []
    for name, allowed in (
        ("memory", max(memory[0] * base.memory, MEMORY[1])),
        ("objects", max(objects[0] * base.objects, objects[1])),
        ("left", 0),
        ("tasks", 0),
        ("threads", THREADS),
        ("descriptors", 0),
        ("files", 0),
    ):
        before, after = getattr(base, name), min(getattr(one, name) for one in last)
        if after - before > allowed:
            grown.append(f"{name} from {before:,.10g} to {after:,.10g} (allowed: {allowed:,.4g} more)")
    return grown
