"""Many calls with faults: which, on all cores, and what was found in them all.

A *job* is an errand and which of its faults are tried: none, one drawn by a seed, every single one, pairs of them.
The points of an errand are those of a call without faults, so a job makes that call first.

Above: command lines and tests. Below: one call, and its judge.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from typing import Final, Literal, TypeAlias

from antiphon.testing.chaos.call import Case, Made, Medium, make_call
from antiphon.testing.chaos.errand import Errand
from antiphon.testing.chaos.faults import KILLS, KINDS, Fault, Kind, points
from antiphon.testing.chaos.verdict import WRONGS, Finding, Verdict, broken, judge

Want: TypeAlias = Literal["none", "one", "every", "pairs"]

MEDIA: Final[tuple[Medium, ...]] = ("text", "voice")


@dataclass(slots=True, frozen=True)
class Job:
    """Some calls of one errand."""

    errand: Errand
    want: Want
    medium: Medium
    seed: str
    """Decides whether the model makes the calls of a turn at once, whether there is a store, and which faults come."""
    part: tuple[int, int] = (0, 1)
    """Of so many parts, the one at this place, from 0 on."""
    most: int = 0
    """Pairs that are drawn; 0: all of them."""
    kinds: tuple[Kind, ...] = KINDS

    @property
    def base(self) -> Case:
        """The call without faults."""
        rng = self._rng()
        at_once, stored = rng.random() < 0.5, rng.random() < 0.5
        return Case(self.errand, (), self.medium, at_once, stored or any(kind in KILLS for kind in self.kinds))

    def _rng(self) -> random.Random:
        return random.Random(f"{self.seed}/{self.errand.name}/{self.medium}")

    def cases(self) -> Iterator[Case]:
        """The calls. Raises what breaks the one without faults."""
        base, rng = self.base, self._rng()
        if self.want == "none":
            yield base
            return
        single = list(points(make_call(base).met, self.kinds))
        at, parts = self.part
        for plan in itertools.islice(self._plans(single, rng), at, None, parts):
            yield replace(base, faults=plan)

    def _plans(self, single: Sequence[Fault], rng: random.Random) -> Iterator[tuple[Fault, ...]]:
        match self.want:
            case "one":
                kind = rng.choice(sorted({fault.kind for fault in single}))
                yield (rng.choice([fault for fault in single if fault.kind == kind]),)
            case "pairs" if self.most:
                yield from (tuple(rng.sample(single, 2)) for _ in range(self.most))
            case "pairs":
                yield from itertools.combinations(single, 2)
            case _:
                yield from ((fault,) for fault in single)


@dataclass(slots=True)
class Summary:
    """What was found in some calls."""

    calls: int = 0
    writes: int = 0
    """Effects of tools that write."""
    unknown: int = 0
    """Writes of which nobody can know what came of them, and of which that was said."""
    seconds: float = 0.0
    """Of virtual time."""
    faults: Counter[Kind] = field(default_factory=Counter)
    """Those that came."""
    missed: int = 0
    """Faults for which there was no occasion any more."""
    tools: dict[str, Counter[str]] = field(default_factory=dict)
    """By tool that writes: starts, effects, and what was wrong."""
    findings: list[Finding] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        """One more call."""
        made = verdict.made
        self.calls += 1
        self.writes += verdict.writes
        self.unknown += verdict.unknown
        self.seconds += made.seconds
        self.faults.update(fault.kind for fault in made.came)
        self.missed += len(made.case.faults) - len(made.came)
        self.findings += verdict.findings
        for start in made.starts:
            self._count(start.wish.tool, "starts")
        for start in made.effects:
            self._count(start.wish.tool, "effects")
        for finding in verdict.findings:
            if finding.tool:
                self._count(finding.tool, finding.wrong)

    def broke(self, finding: Finding) -> None:
        """A call that did not come to its end."""
        self.calls += 1
        self.findings.append(finding)

    def merge(self, other: Summary) -> None:
        """Take over what was found in others."""
        self.calls += other.calls
        self.writes += other.writes
        self.unknown += other.unknown
        self.seconds += other.seconds
        self.faults.update(other.faults)
        self.missed += other.missed
        self.findings += other.findings
        for tool, counts in other.tools.items():
            self.tools.setdefault(tool, Counter()).update(counts)

    def count(self, wrong: str) -> int:
        """How often this was found."""
        return sum(finding.wrong == wrong for finding in self.findings)

    def _count(self, tool: str, what: str) -> None:
        self.tools.setdefault(tool, Counter())[what] += 1

    @property
    def sentence(self) -> str:
        """The figures, in words."""
        wrong = ", ".join(f"{self.count(wrong)} {wrong}" for wrong in WRONGS)
        return (
            f"{self.calls:,} calls, {self.faults.total():,} faults, {self.writes:,} writes: {wrong};"
            f" {self.unknown:,} unknown, and said to be"
        )


def try_case(case: Case) -> Verdict:
    """Make a call and judge it. One that does not come to its end is a finding."""
    try:
        made = make_call(case)
        return asyncio.run(judge(made))
    except (Exception, asyncio.CancelledError) as error:
        return Verdict(Made(case, case.errand.world()), [broken(case, error)])


def do(job: Job) -> Summary:
    """Make the calls of a job."""
    summary = Summary()
    try:
        for case in job.cases():
            summary.add(try_case(case))
    except (Exception, asyncio.CancelledError) as error:
        summary.broke(broken(Case(job.errand, (), job.medium), error))
    return summary


def do_all(jobs: Sequence[Job], processes: int) -> Iterator[Summary]:
    """All of them, on so many cores, and what was found in each as soon as it is known."""
    if processes <= 1 or len(jobs) == 1:
        yield from map(do, jobs)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(do, job) for job in jobs]):
            yield done.result()


def in_parts(job: Job, parts: int) -> list[Job]:
    """The same calls, as so many jobs."""
    return [replace(job, part=(at, parts)) for at in range(parts)]


def proof(
    errands: Iterable[Errand],
    seed: str,
    *,
    every: int = 40,
    pairs: int = 2000,
    three: bool = True,
    media: Sequence[Medium] = MEDIA,
    kinds: tuple[Kind, ...] = KINDS,
) -> list[Job]:
    """The jobs that try everything.

    All errands without a fault, and under one that their seed draws; `every` of them at every point; all pairs of the
    points of one errand of three calls (`three`), and `pairs` that are drawn among those of the others.
    """
    given = list(errands)
    rng = random.Random(seed)
    jobs = [Job(errand, want, medium, seed, kinds=kinds) for errand in given for medium in media for want in _SINGLE]
    chosen = rng.sample(given, min(every, len(given)))
    for errand, medium in itertools.product(chosen, media):
        jobs += in_parts(Job(errand, "every", medium, seed, kinds=kinds), 4)
        jobs.append(Job(errand, "pairs", medium, seed, most=max(1, pairs // (len(chosen) * len(media))), kinds=kinds))
    if three and (of_three := [errand for errand in given if len(list(errand.wishes)) == 3]):
        errand = rng.choice(of_three)
        jobs += [job for medium in media for job in in_parts(Job(errand, "pairs", medium, seed, kinds=kinds), 40)]
    rng.shuffle(jobs)  # so that how far it is tells how long it will take
    return jobs


_SINGLE: Final[tuple[Want, ...]] = ("none", "one")
