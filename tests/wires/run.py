"""Feeds wires in processes of their own, and watches: what escapes, freezes or grows is a finding.

A process tells its watcher which input it is at, in memory that both share. One that stands still is asked for its
traceback by a signal, which works in the middle of a C function, too; then it is killed, and another goes on behind
that input.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import logging
import os
import pkgutil
import signal
import sys
import tempfile
import time
import traceback
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from random import Random
from typing import Any

from tests import wires
from tests.wires.wire import Wire

FREEZE = 20.0
"""Real seconds at one input after which a process is given up."""
STRIDE = 250
"""Inputs that a process feeds before it tells what it found."""
AGAIN = 100
"""Inputs that are fed once more at the end, to see whether anything of them stays."""
BLOCKS_EACH = 2.0
"""Memory blocks that an input may leave behind: numpy and asyncio keep one or the other for later."""
GROWTH = 64 * 2**20
"""Bytes by which a process may grow in the second half of its inputs."""
FINDINGS = 20
"""Findings that are kept for each wire; one defect is met often."""


@dataclass(slots=True)
class Found:
    """What a run found of one wire."""

    name: str
    inputs: int = 0
    refused: int = 0
    """Inputs that ended in a declared error."""
    findings: list[str] = field(default_factory=list)
    more: int = 0
    """Findings that are not kept."""
    slowest: float = 0.0
    """Seconds of processor time of one input."""
    slowest_at: str = ""
    cpu: float = 0.0

    def add(self, other: Found) -> None:
        self.inputs += other.inputs
        self.refused += other.refused
        self.more += other.more
        self.cpu += other.cpu
        for finding in other.findings:
            self.note(finding)
        if other.slowest > self.slowest:
            self.slowest, self.slowest_at = other.slowest, other.slowest_at

    def note(self, finding: str) -> None:
        if len(self.findings) < FINDINGS:
            self.findings.append(finding)
        else:
            self.more += 1


@dataclass(frozen=True, slots=True)
class Task:
    """Inputs `first` to `last` (not included) of a wire."""

    wire: Wire
    seed: str
    first: int
    last: int


def all_wires() -> dict[str, Wire]:
    """Every wire whose module can be imported here, by name."""
    found = {}
    for module in pkgutil.iter_modules(wires.__path__, "tests.wires."):
        if module.name.startswith("tests.wires.wire_"):
            wire = importlib.import_module(module.name).WIRE
            found[wire.name] = wire
    return found


def shares(chosen: Sequence[Wire], inputs: int) -> dict[str, int]:
    """How many inputs each wire gets."""
    whole = sum(wire.share for wire in chosen)
    return {wire.name: max(1, round(inputs * wire.share / whole)) for wire in chosen}


def made(wire: Wire, seed: str, number: int) -> Any:
    """The input of that number: always the same."""
    return wire.make(Random(f"{seed}/{wire.name}/{number}"))


def run(chosen: Sequence[Wire], inputs: int, seed: str, jobs: int, *, freeze: float = FREEZE) -> Iterator[Found]:
    """Feed so many inputs in all; gives what was found, piece by piece."""
    tasks: list[Task] = []
    counts = shares(chosen, inputs)
    for wire in chosen:
        count = counts[wire.name]
        # Long stretches show growth; several of them keep all cores busy.
        size = max(STRIDE, -(-count // (4 * jobs)))
        tasks += [Task(wire, seed, at, min(at + size, count)) for at in range(0, count, size)]
    tasks.reverse()
    workers = [Worker(freeze) for _ in range(min(jobs, len(tasks)))]
    try:
        busy = [worker for worker in workers if worker.take(tasks)]
        while busy:
            wait([worker.pipe for worker in busy], timeout=0.5)
            for worker in list(busy):
                yield from worker.reports()
                if worker.task is None and not worker.take(tasks):
                    busy.remove(worker)
    finally:
        for worker in workers:
            worker.finish()


class Worker:
    """A process that feeds, seen from the one that watches."""

    def __init__(self, freeze: float) -> None:
        self.task: Task | None = None
        self.pipe: Connection
        self._freeze = freeze
        self._folder = tempfile.TemporaryDirectory()
        self._traces = Path(self._folder.name) / "traceback"
        self._process: SpawnProcess | None = None
        self._seen = (-1, 0.0)
        """An input, and when it was first seen to be fed."""
        self._told = 0
        """The first input of which nothing was told yet."""

    def take(self, tasks: list[Task]) -> bool:
        """Begin the next task. False if there is none."""
        if not tasks:
            return False
        self._begin(tasks.pop())
        return True

    def _begin(self, task: Task) -> None:
        if self._process is None:
            context = get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self._at = context.Value("q", -1, lock=False)
            self._process = context.Process(target=work, args=(theirs, self._at, str(self._traces)), daemon=True)
            self._process.start()
            theirs.close()
            assert self.pipe.recv() == "ready"
        self.task = task
        self._seen, self._told = (-1, time.monotonic()), task.first
        self.pipe.send(task)

    def reports(self) -> Iterator[Found]:
        """What it found since the last time; what became of it, if it stands still or is gone."""
        task = self.task
        assert task is not None and self._process is not None
        try:
            while self.pipe.poll():
                said = self.pipe.recv()
                if said is None:
                    self.task = None
                    return
                self._told += said.inputs
                yield said
        except (EOFError, ConnectionError):
            self._process.join()
            yield from self._lost(f"the process died ({self._process.exitcode})")
            return
        at = self._at.value
        if at != self._seen[0]:
            self._seen = (at, time.monotonic())
        elif time.monotonic() - self._seen[1] > self._freeze:
            yield from self._lost(f"no end after {self._freeze:g} s")

    def _lost(self, why: str) -> Iterator[Found]:
        """Tell of the input that it was at, and go on behind it."""
        task, at, process = self.task, self._at.value, self._process
        assert task is not None and process is not None and process.pid is not None
        if process.is_alive():
            os.kill(process.pid, signal.SIGUSR1)
            time.sleep(0.2)
        self.stop()
        trace = self._traces.read_text() if self._traces.exists() else ""
        found = Found(task.wire.name, at + 1 - self._told)
        found.note(described(task.wire, task.seed, at, f"{why}\n{trace}"))
        yield found
        self.task = None
        if at + 1 < task.last:
            self._begin(Task(task.wire, task.seed, at + 1, task.last))

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
            self.pipe.close()

    def finish(self) -> None:
        """Nothing more is to be done."""
        self.stop()
        self._folder.cleanup()


def described(wire: Wire, seed: str, number: int, what: str) -> str:
    """A finding, with the input and how to meet it again."""
    try:
        shown = repr(made(wire, seed, number))
    except Exception as error:
        shown = f"(cannot be made: {error!r})"
    if len(shown) > 4_000:
        shown = f"{shown[:4_000]}... ({len(shown)} characters)"
    shown = shown.encode("ascii", "backslashreplace").decode()
    again = f"python -m tests.wires --wire {wire.name} --only {seed}/{number}"
    what = what.encode("utf-8", "backslashreplace").decode()
    return f"{wire.name} {seed}/{number}: {what}\n  input: {shown}\n  again: {again}"


# -- in the process that feeds


def work(pipe: Connection, at: Any, traces: str) -> None:
    """Do tasks until the pipe is closed."""
    logging.disable(logging.CRITICAL)  # bad messages are on purpose
    with open(traces, "w") as file:
        faulthandler.register(signal.SIGUSR1, file=file, all_threads=True)
        faulthandler.enable(file=file)
        all_wires()  # what they import is not counted
        pipe.send("ready")
        while True:
            try:
                task = pipe.recv()
            except (EOFError, KeyboardInterrupt):
                return
            feed_all(task, pipe, at)
            pipe.send(None)


def feed_all(task: Task, pipe: Connection, at: Any) -> None:
    """Feed the inputs of a task, and tell after each stride."""
    wire, half, memory = task.wire, (task.first + task.last) // 2, 0
    found = Found(wire.name)
    for number in range(task.first, task.last):
        at.value = number
        if number == half:
            memory = resident()
        feed_one(wire, task.seed, number, found)
        if found.findings or found.inputs == STRIDE:
            pipe.send(found)
            found = Found(wire.name)
    if (grown := resident() - memory) > GROWTH:
        found.note(f"{wire.name}: {grown / 2**20:.0f} MB more after inputs {half} to {task.last} of seed {task.seed}")
    numbers = range(max(task.first, task.last - AGAIN), task.last)
    if task.first == 0 and len(numbers) == AGAIN and (growth := leaked(wire, task.seed, numbers, at)):
        found.note(f"{wire.name}: {growth}\n  inputs {numbers[0]} to {numbers[-1]} of seed {task.seed}")
    pipe.send(found)


def feed_one(wire: Wire, seed: str, number: int, found: Found) -> None:
    """Feed one input, and note what it did."""
    found.inputs += 1
    began = time.process_time()
    try:
        given = made(wire, seed, number)
        began = time.process_time()
        wire.feed(given)
    except wire.declared:
        found.refused += 1
    except BaseException:
        found.note(described(wire, seed, number, traceback.format_exc(limit=-8)))
    took = time.process_time() - began
    found.cpu += took
    if took > found.slowest:
        found.slowest, found.slowest_at = took, f"{seed}/{number}"
    if took > wire.slow:
        found.note(described(wire, seed, number, f"it took {took:.2f} s of the processor, more than {wire.slow:g} s"))


def leaked(wire: Wire, seed: str, numbers: Sequence[int], at: Any) -> str:
    """What stays of inputs that were all fed before, "" if nothing does."""

    def feed() -> int:
        for number in numbers:
            at.value = number
            feed_one(wire, seed, number, Found(wire.name))
        gc.collect()
        return sys.getallocatedblocks()

    counts = [feed() for _ in range(4)]
    # What grows once or twice may be a cache that fills.
    stays = min(after - before for before, after in pairwise(counts))
    if stays <= BLOCKS_EACH * len(numbers):
        return ""
    tracemalloc.start(6)
    before = tracemalloc.take_snapshot()
    feed()
    grown = tracemalloc.take_snapshot().compare_to(before, "lineno")[:6]
    tracemalloc.stop()
    return f"{stays} memory blocks stay after {len(numbers)} inputs\n" + "\n".join(f"  {one}" for one in grown)


def resident() -> int:
    """Bytes of memory that this process has."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0  # not every system tells
