"""What the tests cost: each suite by itself, with the counts of CI, as the table of CONTRIBUTING.md.

python -m tests.suites                     all, and what CI does besides; takes as long as CI
python -m tests.suites NAME ...            these
python -m tests.suites --update [NAME ...] the same, and into the table; rows that were not measured keep their figures

The default run of pytest comes first: its suites are the `testpaths` of pyproject.toml. Minutes are those of the clock;
processor time, of the suite and of the processes that it started, does not depend on how busy the machine is.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN = "<!-- python -m tests.suites --update -->"
END = "<!-- until here -->"
HEAD = "| suite | minutes | processor minutes | of what |\n|---|---|---|---|"


@dataclass(frozen=True, slots=True)
class Suite:
    """Commands that are measured together."""

    name: str
    about: str
    commands: tuple[tuple[str, ...], ...]
    default: bool = False
    """Plain `pytest` runs it."""


@dataclass(slots=True)
class Cost:
    """Seconds."""

    wall: float = 0.0
    processor: float = 0.0
    failed: list[str] = field(default_factory=list)

    def add(self, other: Cost) -> None:
        self.wall += other.wall
        self.processor += other.processor
        self.failed += other.failed


def suites() -> list[Suite]:
    """All of them: the default run, the other folders, and what CI does besides."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    default = settings["tool"]["pytest"]["ini_options"]["testpaths"]
    folders = sorted(path for path in TESTS.iterdir() if any(path.rglob("test_*.py")))
    found = [
        Suite(one.name, _about(one), (_pytest([f"tests/{one.name}"]),), f"tests/{one.name}" in default)
        for one in folders
    ]
    files = [f"tests/{path.name}" for path in sorted(TESTS.glob("test_*.py"))]
    found.append(Suite("test_*.py", "Layers, exports, documents, and the small modules.", (_pytest(files),), True))
    found.sort(key=lambda suite: not suite.default)
    python = sys.executable
    style = ((python, "-m", "ruff", "check"), (python, "-m", "ruff", "format", "--check"), (python, "-m", "mypy"))
    demo = (python, "-c", "from antiphon.cli.main import main; main()", "demo")
    return [*found, Suite("style", "`make lint types`.", style), Suite("demo", "`make demo`: a real call.", (demo,))]


def _pytest(paths: Sequence[str]) -> tuple[str, ...]:
    return (sys.executable, "-m", "pytest", "-q", *paths)


def _about(folder: Path) -> str:
    """The first line of what the folder says of itself."""
    return (ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or "").split("\n")[0]


def counts() -> dict[str, str]:
    """How much CI fuzzes and walks."""
    return dict(re.findall(r"(ANTIPHON_\w+)=(\d+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8")))


def measure(suite: Suite) -> Cost:
    """Run it."""
    cost = Cost()
    for command in suite.commands:
        began = time.perf_counter()
        with tempfile.TemporaryFile() as output:
            path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
            environment = {**os.environ, **counts(), "PYTHONPATH": path}
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                output.seek(0)
                cost.failed.append(output.read()[-3000:].decode("utf-8", "replace"))
        cost.wall += time.perf_counter() - began
        cost.processor += used.ru_utime + used.ru_stime
    return cost


def row(name: str, cost: Cost | None, about: str) -> str:
    """A line of the table."""
    wall, processor = ("?", "?") if cost is None else (f"{cost.wall / 60:.2f}", f"{cost.processor / 60:.2f}")
    return f"| {name} | {wall} | {processor} | {about} |"


def totals(costs: Sequence[tuple[Suite, Cost | None]]) -> list[str]:
    """The last lines of the table: of a sum of which a part is not known, nothing is said."""
    default = [cost for suite, cost in costs if suite.default]
    whole = [cost for _, cost in costs]
    return [
        row("**of these, plain `pytest`**", _sum(default), "What the product is."),
        row("**all**", _sum(whole), "What CI runs, but for what it installs."),
    ]


def _sum(costs: Iterable[Cost | None]) -> Cost | None:
    whole = Cost()
    for cost in costs:
        if cost is None:
            return None
        whole.add(cost)
    return whole


def table(chosen: Iterable[Suite]) -> list[tuple[Suite, Cost]]:
    """Measure, and print as it goes."""
    print(HEAD, flush=True)
    costs: list[tuple[Suite, Cost]] = []
    for suite in chosen:
        costs.append((suite, cost := measure(suite)))
        print(row(f"`{suite.name}`", cost, suite.about), flush=True)
        for output in cost.failed:
            print(output, file=sys.stderr, flush=True)
    print(*totals(costs), sep="\n")
    return costs


# -- the table that is kept


def kept(page: str) -> dict[str, Cost | None]:
    """By name of a suite: what a page says that it costs; None where it says nothing."""
    rows = re.findall(r"^\| `([^`]+)` \| (\S+) \| (\S+) \|", page.partition(BEGIN)[2].partition(END)[0], re.MULTILINE)
    return {
        name: None if "?" in (wall, processor) else Cost(60 * float(wall), 60 * float(processor))
        for name, wall, processor in rows
    }


def updated(page: str, measured: Iterable[tuple[Suite, Cost]] = ()) -> str:
    """A page whose table has the suites of today, with these costs; what was not measured stays as it was."""
    figures = kept(page) | {suite.name: cost for suite, cost in measured}
    costs = [(suite, figures.get(suite.name)) for suite in suites()]
    rows = [row(f"`{suite.name}`", cost, suite.about) for suite, cost in costs]
    before, _, rest = page.partition(BEGIN)
    return before + "\n".join([BEGIN, "", HEAD, *rows, *totals(costs), "", END]) + rest.partition(END)[2]


def main() -> int:
    """The command line."""
    known = {suite.name: suite for suite in suites()}
    parser = argparse.ArgumentParser(prog="python -m tests.suites", description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true", help="put the figures into CONTRIBUTING.md")
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(known)}; default: all")
    arguments = parser.parse_args()
    names = arguments.name
    if unknown := set(names) - set(known):
        parser.error(f"there is no suite {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    costs = table(known[name] for name in names or known)
    if arguments.update:
        PAGE.write_text(updated(PAGE.read_text(encoding="utf-8"), costs), encoding="utf-8")
    return int(any(cost.failed for _, cost in costs))


if __name__ == "__main__":
    sys.exit(main())
