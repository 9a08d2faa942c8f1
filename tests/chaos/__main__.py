"""`python -m tests.chaos --seed S`: the tasks of BFCL under faults at every point, and what was found.

What goes wrong is made short, told, and kept as a journal (`--out FOLDER`). `--only CASE` makes one call again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from antiphon.chat import ChatContext
from antiphon.testing import transcript
from antiphon.testing.chaos.call import Case
from antiphon.testing.chaos.faults import KILLS, KINDS, Fault
from antiphon.testing.chaos.many import Job, Summary, do_all, proof, try_case
from antiphon.testing.chaos.shrink import shrink
from antiphon.testing.chaos.verdict import Finding
from tests.chaos.bfcl import tasks
from tests.proofs import closing

MOST_SHRUNK = 5


def main() -> int:
    """Returns 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", type=int, default=800, help="how many tasks (default: all 800)")
    parser.add_argument("--every", type=int, default=40, help="so many of them at every point (default: 40)")
    parser.add_argument("--pairs", type=int, default=4000, help="pairs of faults that are drawn (default: 4000)")
    parser.add_argument("--no-three", action="store_true", help="leave out all pairs of one dialogue of three calls")
    parser.add_argument("--seed", default=str(time.time_ns() % 1_000_000), help="of all of them (default: the clock)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    parser.add_argument("--kills", action="store_true", help="end processes, which others follow, in place of all else")
    parser.add_argument("--only", metavar="CASE", help="one call, by the name that a finding has")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="keep the journals of what goes wrong here")
    given = parser.parse_args()
    if given.only:
        return tell(given.only)
    everything = list(tasks())
    chosen = everything[:: max(1, len(everything) // given.tasks)][: given.tasks]
    kinds = KILLS if given.kills else KINDS
    jobs = proof(chosen, given.seed, every=given.every, pairs=given.pairs, three=not given.no_three, kinds=kinds)
    return many(jobs, len(chosen), given.seed, given.jobs, given.out)


def tell(name: str) -> int:
    """One call, and what is wrong with it."""
    verdict = try_case(case_of(name))
    print("\n".join(transcript(ChatContext(verdict.made.history))))
    for start in verdict.made.starts:
        print(f"{start.number}. {start.wish}: {'done' if start.done else 'not done'}, {start.outcome or 'unknown'}")
    print("\n".join(map(str, verdict.findings)) or "nothing is wrong with it")
    return int(bool(verdict.findings))


def case_of(name: str) -> Case:
    """The case of this name."""
    task, medium, *rest = name.split("/")
    plan = [] if rest[-1] == "no-fault" else rest[-1].split("+")
    errand = next(one for one in tasks() if one.name == task)
    at_once = "at-once" in rest
    faults = tuple(map(Fault.parse, plan))
    return Case(errand, faults, "voice" if medium == "voice" else "text", at_once, "stored" in rest)


def many(jobs: list[Job], count: int, seed: str, processes: int, out: Path | None) -> int:
    """Many calls, with a bar to look at."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(f"seed {seed}")
    began = time.perf_counter()
    total = Summary()
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(jobs))
        for summary in do_all(jobs, processes):
            total.merge(summary)
            wrong = f"{len(total.findings)} findings" if total.findings else "nothing found"
            progress.update(bar, advance=1, description=f"{total.calls:,} calls, {wrong}")
            if not console.is_terminal and not int(progress.tasks[bar].completed) % 200:
                console.print(
                    f"{progress.tasks[bar].completed:,.0f} of {len(jobs):,} parts, {total.calls:,} calls, {wrong}"
                )
            for finding in summary.findings:
                progress.console.print(str(finding), style="red", markup=False, highlight=False, soft_wrap=True)
    show(console, total, out)
    console.print(f"{count} tasks; {total.sentence}", highlight=False, soft_wrap=True)
    print(closing("chaos", f"{total.calls:,} calls of {count} tasks", seed, len(total.findings), began))
    return int(bool(total.findings))


def show(console: Console, total: Summary, out: Path | None) -> None:
    """The faults that came, and what was found, made short."""
    for kind, number in sorted(total.faults.items()):
        console.print(f"{number:9,}  {kind}", highlight=False)
    console.print(f"{total.missed:9,}  had no occasion any more", highlight=False)
    for number, finding in enumerate(_of_each_kind(total.findings), 1):
        short = shrink(finding)
        console.print(f"made short: {short}", style="red", markup=False, highlight=False, soft_wrap=True)
        if out is not None and short.journal is not None:
            out.mkdir(parents=True, exist_ok=True)
            short.journal.save(out / f"finding_{number}.jsonl")


def _of_each_kind(findings: list[Finding]) -> list[Finding]:
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(f"{finding.wrong} {finding.case.faults and finding.case.faults[0].kind}", finding)
    return list(first.values())[:MOST_SHRUNK]


if __name__ == "__main__":
    sys.exit(main())
