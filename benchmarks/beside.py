"""What this tree costs beside another one: the same workloads, in turn, in processes of their own.

    python -m benchmarks.beside --beside ../old [NAME ...] [--pairs 15] [--count N]
    python -m benchmarks.beside --beside ../old [NAME ...] --instructions

Processor time on a machine that does other things, too: the two trees take turns, and the ratio is that of
neighbours; printed are the medians, and between which ratios half of the pairs lie. `--instructions` counts
instructions by valgrind instead, which nothing else on the machine changes: those of twice the work less those of once.
The other tree may be any that has what `benchmarks/workloads.py` names.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.workloads import WORKLOADS

HERE = Path(__file__).resolve().parents[1]
UNITS = {
    "text": "us a turn",
    "reads": "us a turn",
    "unsaid": "us a turn",
    "writes": "us a turn",
    "fact": "us a fact",
    "core-turn": "us a turn",
    "voice": "ms a second of a call",
    "crowd": "ms a session",
    "import": "ms",
    "memory": "kB a session",
}
INSTRUCTIONS = re.compile(r"Collected : (\d+)")
COUNTED = {
    "text": 35,
    "reads": 35,
    "unsaid": 35,
    "writes": 35,
    "fact": 5,
    "core-turn": 50,
    "voice": 4,
    "crowd": 100,
}
"""How many of it are enough where instructions are counted: turns before the budget of the context is reached."""


class Tree:
    """A tree of sources, whose compiled files are kept elsewhere."""

    def __init__(self, root: Path, cache: str) -> None:
        self.root = root
        self.sources = root / "src"
        self.environment = dict(
            os.environ, PYTHONPATH=f"{self.sources}:{root}", PYTHONPYCACHEPREFIX=cache, PYTHONHASHSEED="0"
        )
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def _run(self, name: str, count: int, *before: str) -> subprocess.CompletedProcess[str]:
        command = [*before, sys.executable, "-P", str(HERE / "benchmarks" / "workloads.py"), name, str(count)]
        done = subprocess.run(command, env=self.environment, cwd=self.root, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{self.root}: {name} failed:\n{done.stderr[-3000:]}")
        return done

    def figure(self, name: str, count: int) -> float:
        """What the workload costs."""
        figure, where = self._run(name, count).stdout.split()
        if not Path(where).is_relative_to(self.sources):
            sys.exit(f"expected the package of {self.sources}, got {where}")
        return float(figure)

    def instructions(self, name: str, count: int) -> float:
        """How many instructions one of it takes, in thousands."""
        self.figure(name, 1)  # files are compiled
        once, twice = (self._collected(name, times * count) for times in (1, 2))
        return (twice - once) / count / 1e3

    def _collected(self, name: str, count: int) -> int:
        done = self._run(name, count, "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
        found = INSTRUCTIONS.search(done.stderr)
        if found is None:
            sys.exit(f"valgrind counted nothing:\n{done.stderr[-3000:]}")
        return int(found[1])


def beside(mine: Tree, other: Tree, name: str, pairs: int, count: int) -> str:
    """The line of a workload."""
    ours, theirs = [], []
    for pair in range(pairs + 1):
        for tree, seen in ((mine, ours), (other, theirs))[:: 1 if pair % 2 else -1]:
            seen.append(tree.figure(name, count))
    del ours[0], theirs[0]  # files are compiled in the first
    ratios = [our / their for our, their in zip(ours, theirs, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4) if pairs > 1 else ratios * 3
    our, their = statistics.median(ours), statistics.median(theirs)
    return f"{name:10} {middle:5.2f} ({low:.2f}-{high:.2f})   {our:8.2f} beside {their:8.2f} {UNITS[name]}"


def counted(mine: Tree, other: Tree, name: str, count: int) -> str:
    """The line of a workload of which instructions are counted."""
    ours, theirs = (tree.instructions(name, count or COUNTED[name]) for tree in (mine, other))
    return f"{name:10} {ours / theirs:5.2f}   {ours:8.0f} beside {theirs:8.0f} thousand instructions"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(WORKLOADS))
    parser.add_argument("--beside", type=Path, required=True, metavar="PATH", help="the root of the other tree")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--count", type=int, default=0, help="turns, facts, seconds or sessions in a run")
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    unknown = set(options.names) - set(WORKLOADS)
    if unknown:
        parser.error(f"expected {', '.join(WORKLOADS)}, got {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as cache:
        mine, other = Tree(HERE, cache), Tree(options.beside.resolve(), cache)
        for name in options.names or list(COUNTED if options.instructions else WORKLOADS):
            if options.instructions:
                print(counted(mine, other, name, options.count), flush=True)
            else:
                print(beside(mine, other, name, options.pairs, options.count), flush=True)


if __name__ == "__main__":
    main()
