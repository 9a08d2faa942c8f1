"""`python -m tests.wires --inputs 100000 --wire NAME --seed S`: feed wires, and show what was found."""

from __future__ import annotations

import argparse
import os
import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.proofs import closing
from tests.wires.run import Found, all_wires, made, run, shares
from tests.wires.wire import Wire


def main() -> int:
    """Returns 1 if anything was found."""
    wires = all_wires()
    parser = argparse.ArgumentParser(prog="python -m tests.wires", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="how many in all (default: 10000)")
    parser.add_argument("--wire", action="append", choices=sorted(wires), help="only this one; may be repeated")
    parser.add_argument("--seed", default=str(time.time_ns() % 1_000_000), help="of all of them (default: the clock)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    parser.add_argument("--only", metavar="SEED/N", help="one input, shown and fed here")
    arguments = parser.parse_args()
    chosen = [wires[name] for name in arguments.wire or sorted(wires)]
    if arguments.only:
        return one(chosen, arguments.only)
    return many(chosen, arguments.inputs, arguments.seed, arguments.jobs)


def one(chosen: list[Wire], only: str) -> int:
    """One input of each; what it raises is raised."""
    seed, _, number = only.rpartition("/")
    for wire in chosen:
        given = made(wire, seed, int(number))
        print(repr(given).encode("ascii", "backslashreplace").decode())
        try:
            wire.feed(given)
        except wire.declared as error:
            print(f"refused: {error}")
        else:
            print("taken")
    return 0


def many(chosen: list[Wire], inputs: int, seed: str, jobs: int) -> int:
    """Many, with a bar to look at."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(f"seed {seed}")
    began = time.perf_counter()
    totals = {wire.name: Found(wire.name) for wire in chosen}
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=sum(shares(chosen, inputs).values()))
        for found in run(chosen, inputs, seed, jobs):
            totals[found.name].add(found)
            wrong = sum(len(total.findings) + total.more for total in totals.values())
            progress.update(task, advance=found.inputs, description=f"{wrong} findings" if wrong else "nothing found")
            for finding in found.findings:
                progress.console.print(finding, style="red", markup=False, highlight=False, soft_wrap=True)
    console.print(table(list(totals.values()), time.perf_counter() - began))
    fed = sum(total.inputs for total in totals.values())
    findings = sum(len(total.findings) + total.more for total in totals.values())
    print(closing("wires", f"{fed:,} inputs to {len(totals)} wires", seed, findings, began))
    return int(bool(findings))


def table(totals: list[Found], wall: float) -> Table:
    """The figures of each wire."""
    rows = Table("wire", "inputs", "refused", "findings", "a second", "slowest", "at", title=f"wires, in {wall:.0f} s")
    for column in rows.columns[1:-1]:
        column.justify = "right"
    for total in totals:
        rows.add_row(
            total.name,
            f"{total.inputs:,}",
            f"{total.refused:,}",
            f"{len(total.findings) + total.more:,}",
            f"{total.inputs / (total.cpu or 1):,.0f}",
            f"{1000 * total.slowest:.0f} ms",
            total.slowest_at,
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
