"""`python -m tests.situations.walks --calls 2000 --seed S`: walk, show what was found, and how fast it went."""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from antiphon.sim import Findings, Stride, examine, seeds, story, stroll, walk
from antiphon.sim.walks import KINDS, Kind
from tests.proofs import closing

GROUPS: dict[str, tuple[Kind, ...]] = {
    "all": tuple(KINDS),
    "pipeline": ("three models",),
    "realtime": ("realtime, its turns", "realtime, our turns"),
}


def main() -> int:
    """Returns 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.situations.walks", description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="how many calls (default: 2000)")
    parser.add_argument("--seed", default=str(time.time_ns() % 1_000_000), help="of all of them (default: the clock)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    parser.add_argument("--kinds", choices=GROUPS, default="all", help="who hears, thinks and speaks (default: all)")
    parser.add_argument("--only", metavar="SEED/N", help="one call, told from beginning to end")
    arguments = parser.parse_args()
    logging.getLogger("antiphon").setLevel(logging.CRITICAL)
    return tell(arguments.only) if arguments.only else many(arguments)


def tell(seed: str) -> int:
    """One call, and what is wrong with it."""
    done = walk(seed)
    print(story(done))
    problems = examine(done).problems
    print("\n".join(problems) or "nothing is wrong with it")
    return bool(problems)


def many(arguments: argparse.Namespace) -> int:
    """Many calls, with a bar to look at."""
    seed, calls, group = arguments.seed, arguments.calls, arguments.kinds
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(f"seed {seed}")
    total = Stride(Findings(), 0.0)
    began = time.perf_counter()
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=calls)
        for stride in stroll(seeds(seed, calls, GROUPS[group]), arguments.jobs):
            total.merge(stride)
            wrong = len(total.found.problems)
            progress.update(task, advance=stride.calls, description=f"{wrong} problems" if wrong else "nothing wrong")
            for problem in stride.found.problems:
                progress.console.print(problem, style="red", markup=False, highlight=False)
    console.print(table(total, time.perf_counter() - began))
    what = f"{calls:,} calls" if group == "all" else f"{calls:,} calls, {group}"
    print(closing("walks", what, seed, len(total.found.problems), began))
    return bool(total.found.problems)


def table(total: Stride, wall: float) -> Table:
    """All figures, for each kind of call and for all together."""
    columns = [*total.kinds.values(), total.found]
    rows = Table("", *total.kinds, "all", title="random walks")
    rows.columns[0].no_wrap = True
    for column in rows.columns[1:]:
        column.justify = "right"
    for name in sorted(total.found.figures):
        rows.add_row(name, *(f"{found.figures[name]:,}" for found in columns))
    rows.add_section()
    rows.add_row("turns lost", *(str(len(found.turns_lost)) for found in columns))
    rows.add_row("results of kept calls never voiced", *(str(len(found.results_never_voiced)) for found in columns))
    rows.add_row("results voiced twice", *(str(len(found.results_voiced_twice)) for found in columns))
    rows.add_row("silences over the budget", *(str(len(found.silences)) for found in columns))
    rows.add_row("slow pauses", *(str(len(found.slow_pauses)) for found in columns))
    rows.add_row("other problems", *(str(len(found.other)) for found in columns))
    rows.add_section()
    rows.add_row("longest silence with work pending", *(f"{found.longest_silence:.2f} s" for found in columns))
    rows.add_row("onset to the agent's pause, at most", *(f"{1000 * found.slowest_pause:.0f} ms" for found in columns))
    rows.add_row("end of a turn to the next sound", *(_reaction(found) for found in columns))
    seconds = total.found.figures["seconds"]
    rows.caption = f"{wall:.0f} s; {seconds / max(total.cpu, 1e-9):.0f} s of call per second of one core"
    return rows


def _reaction(found: Findings) -> str:
    if len(found.reactions) < 2:
        return ""
    cuts = statistics.quantiles(found.reactions, n=20)
    return f"{cuts[9]:.2f} s, p95 {cuts[18]:.2f} s"


if __name__ == "__main__":
    sys.exit(main())
