"""`antiphon simulate`: scenarios with an agent file, in a table, as data and as JUnit's XML.

Above: `main`. Below: `antiphon.scenarios`, whose calls are made in processes of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fnmatch
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from antiphon import private
from antiphon.calls.where import as_typed
from antiphon.cli import surroundings
from antiphon.cli.screen import Screen
from antiphon.errors import AntiphonError, UsageError
from antiphon.evaluation.report import rate_told, times_told
from antiphon.protocols import ModelKind
from antiphon.scenarios.report import as_json, as_junit, command, speed
from antiphon.scenarios.running import ScenarioResult, Settings, Simulation, simulate
from antiphon.visible import one_line, to_json, visible

MOST_FAILURES = 3
"""Of a scenario, that people are shown: the most frequent."""


async def run_scenarios(options: argparse.Namespace, *, named: Mapping[ModelKind, str]) -> bool:
    """Run them, show what came of it, write what is asked for. Returns whether each passed as often as it has to."""
    agent = surroundings.agent_file(options.agent)
    if not agent.is_file():
        raise UsageError(f"no such agent file: {agent}. Give the path of a Python file.")
    stopped = threading.Event()
    screen = Screen(to_stderr=options.json)
    settings = Settings(
        models=named,
        strict_models=options.strict_models,
        caller_llm=options.caller_llm,
        medium="voice" if options.voice else "text" if options.text else "sound",
        seed=options.seed,
        repeat=options.repeat,
        jobs=options.jobs or os.cpu_count() or 1,
        clock=options.clock,
        pages=None if options.no_reports else options.reports,
        livekit=options.livekit or surroundings.is_written_for_livekit(agent),
        debug=options.debug,
    )
    try:
        with contextlib.redirect_stdout(sys.stderr), _progress() as progress:
            simulation = await asyncio.to_thread(
                simulate,
                agent,
                options.scenarios,
                settings,
                only=lambda name: not options.only or any(_is_meant(one, name) for one in options.only),
                notice=screen.notice,
                progress=progress,
                stopped=stopped,
            )
    finally:
        stopped.set()
    return _told(options, simulation, screen)


def _is_meant(wanted: str, name: str) -> bool:
    return wanted.casefold() == name.casefold() or fnmatch.fnmatch(name.casefold(), wanted.casefold())


class _OnProgress(Protocol):
    def __call__(self, done: int, total: int, failed: int) -> None: ...


@contextmanager
def _progress() -> Iterator[_OnProgress]:
    """A bar on a terminal; nothing elsewhere."""
    screen = Screen(to_stderr=True)
    if not screen.console.is_terminal:
        yield lambda done, total, failed: None
        return
    columns = (TextColumn("Calls"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[wrong]}"))
    with Progress(*columns, TimeElapsedColumn(), console=screen.console, transient=True) as bar:
        task = bar.add_task("calls", total=None, visible=False, wrong="")

        def told(done: int, total: int, failed: int) -> None:
            wrong = f"[red]{failed} failed[/red]" if failed else ""
            bar.update(task, completed=done, total=total, visible=True, wrong=wrong)

        yield told


def _told(options: argparse.Namespace, simulation: Simulation, screen: Screen) -> bool:
    at_least = options.at_least
    if not simulation.runs:
        raise UsageError(f"no scenario is called {' or '.join(options.only) or 'anything'}. Look at the names: --only.")
    if options.json:
        print(to_json(as_json(simulation, at_least=at_least), indent=2))
    else:
        show(simulation, at_least=at_least, screen=screen)
    if options.junit is not None:
        try:
            private.write(options.junit, as_junit(simulation, at_least=at_least))
        except OSError as error:
            raise AntiphonError(f"cannot write {options.junit}: {error.strerror}. Choose another path.") from None
    return simulation.is_at_least(at_least)


def show(simulation: Simulation, *, at_least: float, screen: Screen) -> None:
    """A table of the scenarios, and what was wrong in those that failed."""
    console = screen.console
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    table.add_column("Scenario", overflow="fold")
    for head in ("Passed", "Call", "Answer", "Dead air"):
        table.add_column(head, justify="right", no_wrap=True)
    for result in simulation.results:
        is_good = result.rate >= at_least
        word = Text("pass", "green") if is_good else Text("FAIL", "bold red")
        table.add_row(word, Text(one_line(result.name)), f"{result.passes}/{len(result.runs)}", *_figures(result))
    console.print(table)
    for result in simulation.results:
        _show_failures(simulation, result, screen)
    rate = rate_told(simulation.passes, simulation.runs, simulation.interval)
    console.print(Text(f"\n{rate} of {simulation.runs} calls with {visible(simulation.model)}"))
    console.print(Text(_pace(simulation), "dim"))


def _figures(result: ScenarioResult) -> tuple[str, str, str]:
    """How long a call took, and the longest waits: in the worst of its calls."""
    answers = [max(run.answers) for run in result.runs if run.answers]
    return (
        f"{max((run.duration for run in result.runs), default=0.0):.1f} s",
        f"{max(answers):.2f} s" if answers else "",
        f"{max((run.dead_air for run in result.runs), default=0.0):.2f} s",
    )


def _show_failures(simulation: Simulation, result: ScenarioResult, screen: Screen) -> None:
    if result.failed is None:
        return
    screen.console.print(Text(f"\n{one_line(result.name)}", "bold"))
    for what, count in list(result.failures.items())[:MOST_FAILURES]:
        screen.console.print(Text(f"  {times_told(count)}{one_line(what)}", "red"))
    if page := next((run.page for run in result.runs if run.page), ""):
        screen.console.print(Text(f"  Open   {as_typed(page)}"))
    screen.console.print(Text(f"  Again  {one_line(command(simulation, result))}", "dim"), soft_wrap=True)


def _pace(simulation: Simulation) -> str:
    seeds = f"seed {simulation.settings.seed}"
    if simulation.settings.repeat > 1:
        seeds = f"seeds {simulation.settings.seed} to {simulation.settings.seed + simulation.settings.repeat - 1}"
    talked = f"{simulation.simulated / 60:.1f} minutes of calls in {simulation.seconds:.1f} s"
    if (pace := speed(simulation)) is None:
        return f"{seeds}; {talked}, in real time"
    return f"{seeds}; {talked}, {pace:.0f} times real time a core"
