"""Many calls: each scenario so often, over several processes, each call by a seed of its own.

With models of this machine calls run in virtual time, one after the other in each process. A model behind a network has
a clock of its own: its calls run in real time, several at once in this process. Above: `antiphon simulate`, tests.
Below: one call.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, TypeAlias

from antiphon.calls.models import ModelChoice
from antiphon.calls.offers import describe_model
from antiphon.calls.start import describe, start_session
from antiphon.errors import AntiphonError
from antiphon.evaluation.statistics import wilson
from antiphon.evaluation.tally import Tally
from antiphon.llm import LLM
from antiphon.protocols import ModelKind
from antiphon.scenarios.call import Made, Outcome, Wanted, make_call
from antiphon.scenarios.definition import Medium
from antiphon.scenarios.files import Placed, read_scenarios
from antiphon.scenarios.models import has_own_clock, persona_model
from antiphon.scenarios.stuck import Stuck, Watched
from antiphon.server.agent_file import load_agent_file
from antiphon.server.room import Room
from antiphon.testing.clock import LeakedTasks, VirtualTimeError, run_virtual

Clock: TypeAlias = Literal["auto", "virtual", "real"]

STUCK = 30.0
"""Real seconds that a call of fake voices may take, which takes some hundredths."""
STUCK_BY_VOICE = 600.0
_AFTERWARDS = 3600.0
"""Virtual seconds for what a call does when the caller has left."""
_LOOK = 0.2
"""Seconds from one look to the next at whether all was stopped."""
_MOST_AT_A_TIME = 10
"""Calls that a process makes before it tells what came of them."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Settings:
    """How scenarios are run."""

    models: Mapping[ModelKind, str] = field(default_factory=dict)
    """Models by name, in the place of the file's."""
    strict_models: bool = False
    caller_llm: str | None = None
    """The model that plays personas which name none."""
    medium: Medium = "sound"
    """Of scenarios that do not say their own."""
    seed: int = 1
    """Of the first call of each scenario; each further one has the next number."""
    repeat: int = 1
    """Calls of each scenario."""
    jobs: int = 0
    """Processes, or, in real time, calls at once. 0: this process, one call after the other."""
    clock: Clock = "auto"
    """auto: virtual, unless a model is behind a network."""
    pages: Path | None = None
    """The folder of the reports: one for each scenario that failed, of its first call that did."""
    livekit: bool = False
    """The agent file is written for LiveKit."""
    debug: bool = False


@dataclass(slots=True, frozen=True)
class ScenarioResult(Tally):
    """All calls of a scenario."""

    placed: Placed
    runs: tuple[Outcome, ...]

    @property
    def name(self) -> str:
        return self.placed.scenario.name

    @property
    def failed(self) -> Outcome | None:
        """The first call that did not pass."""
        return next((run for run in self.runs if not run.passed), None)


@dataclass(slots=True, frozen=True)
class Simulation:
    """What came of all scenarios with one agent file."""

    agent: str
    model: str
    settings: Settings
    results: tuple[ScenarioResult, ...]
    seconds: float
    """That it took."""
    cpu: float
    """Seconds of processor time of all calls; 0 in real time."""
    is_virtual: bool = True

    @property
    def runs(self) -> int:
        """All calls."""
        return sum(len(result.runs) for result in self.results)

    @property
    def passes(self) -> int:
        """Calls in which all was as it must be."""
        return sum(result.passes for result in self.results)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the rate of all calls lies with 95 %."""
        return wilson(self.passes, self.runs)

    @property
    def simulated(self) -> float:
        """Seconds of all calls, in their own time."""
        return sum(run.duration for result in self.results for run in result.runs)

    def is_at_least(self, rate: float) -> bool:
        """Each scenario passes so often."""
        return all(result.rate >= rate for result in self.results)


@dataclass(slots=True, frozen=True)
class _Setup:
    """What a process needs to make calls."""

    agent: Path
    scenarios: Sequence[Path]
    settings: Settings


@dataclass(slots=True, frozen=True)
class _Plan:
    """A call, by numbers, which every process understands."""

    scenario: int
    seed: int
    page: bool = False


@dataclass(slots=True, frozen=True)
class _Done:
    plan: _Plan
    outcome: Outcome
    cpu: float


class _Bench:
    """An agent and scenarios, ready for calls in this process."""

    def __init__(self, setup: _Setup, notice: Callable[[str], None] = lambda line: None) -> None:
        self.settings = settings = setup.settings
        self.placed = read_scenarios(setup.scenarios)
        self.server = load_agent_file(setup.agent, livekit=settings.livekit)
        self.models = ModelChoice(named=settings.models, strict=settings.strict_models, voice=False, notice=notice)
        self.personas = [persona_model(one.scenario, settings.caller_llm) for one in self.placed]

    async def model(self) -> Any:
        """The language model of the agent that takes a call."""
        async with self.server.job(Room(), models=self.models) as job:
            return (await start_session(job)).current_agent.llm

    def wanted(self, plan: _Plan) -> Wanted:
        """The call of a plan."""
        scenario = self.placed[plan.scenario].scenario
        persona: LLM | None = self.personas[plan.scenario]
        return Wanted(scenario, plan.seed, scenario.medium or self.settings.medium, persona)

    def in_virtual_time(self, plan: _Plan) -> _Done:
        """Make a call, one of nobody else's time."""
        wanted, made = self.wanted(plan), list[Made]()

        async def call() -> None:
            made.append(await make_call(self.server, wanted, self.models))

        began, notes = time.process_time(), list[str]()
        limit = STUCK_BY_VOICE if wanted.medium == "voice" else STUCK
        with Watched(limit) as watched:
            try:
                run_virtual(call(), timeout=60 * wanted.scenario.minutes + _AFTERWARDS)
            except LeakedTasks as error:
                notes.append(str(error).splitlines()[1].strip())
            except Stuck:
                pass  # it is in `watched`
            except (VirtualTimeError, AntiphonError) as error:
                notes.append(" ".join(str(error).split()))
            except Exception as error:
                notes.append(describe(error))
        failures = [f"nothing else could run for {limit:g} s of real time: {place}" for place in watched.where]
        failures += [] if made and not watched.where else notes
        return self._done(plan, made, failures, time.process_time() - began)

    async def in_real_time(self, plan: _Plan) -> _Done:
        """Make a call beside others."""
        made: list[Made] = []
        failures: list[str] = []
        try:
            made.append(await make_call(self.server, self.wanted(plan), self.models))
        except AntiphonError as error:
            failures.append(" ".join(str(error).split()))
        except Exception as error:
            failures.append(describe(error))
        return self._done(plan, made, failures, 0.0)

    def _done(self, plan: _Plan, made: Sequence[Made], failures: Sequence[str], cpu: float) -> _Done:
        scenario = self.placed[plan.scenario].scenario
        outcome = made[0].outcome if made else Outcome(scenario.name, plan.seed)
        outcome = replace(outcome, failures=(*failures, *outcome.failures))
        if made and plan.page and outcome.failures and self.settings.pages is not None:
            outcome = replace(outcome, page=str(self._write(made[0], outcome)))
        return _Done(plan, outcome, cpu)

    def _write(self, made: Made, outcome: Outcome) -> Path:
        assert self.settings.pages is not None  # whoever asks has looked
        name = "".join(letter if letter.isalnum() else "-" for letter in outcome.scenario).strip("-").lower()[:80]
        path = self.settings.pages / f"{name or 'scenario'}.html"
        title = f"{outcome.scenario}, seed {outcome.seed}"
        try:
            made.write_page(path, title=title, failures=outcome.failures)
        except OSError as error:
            raise AntiphonError(f"cannot write {path}: {error.strerror}. Choose another folder: --reports.") from None
        return path


def simulate(
    agent: Path,
    scenarios: Sequence[Path],
    settings: Settings | None = None,
    *,
    only: Callable[[str], bool] = lambda name: True,
    notice: Callable[[str], None] = lambda line: None,
    progress: Callable[[int, int, int], None] = lambda done, total, failed: None,
    stopped: threading.Event | None = None,
) -> Simulation:
    """Run scenarios (files and folders) with an agent file. Not in a running event loop: from a test, or in a thread.

    `only` chooses by name. `progress` is told (calls made, calls to make, calls that failed). `stopped`: once it is
    set, no further call is begun. Raises `AntiphonError` where no call can be made.
    """
    settings, stopped = settings or Settings(), stopped or threading.Event()
    setup = _Setup(agent, scenarios, settings)
    bench = _Bench(setup, notice)
    chosen = [number for number, one in enumerate(bench.placed) if only(one.scenario.name)]
    model = asyncio.run(bench.model()) if settings.clock == "real" else run_virtual(bench.model())
    is_real = settings.clock == "real" or (
        settings.clock == "auto" and any(map(has_own_clock, (model, *(bench.personas[number] for number in chosen))))
    )
    plans = [_Plan(number, settings.seed + count, is_real) for number in chosen for count in range(settings.repeat)]
    make = _real(bench, plans, stopped) if is_real else _virtual(setup, bench, plans, stopped)
    began = time.monotonic()
    done: dict[_Plan, _Done] = {}
    for one in make:
        done[one.plan] = one
        progress(len(done), len(plans), sum(not each.outcome.passed for each in done.values()))
    seconds = time.monotonic() - began
    if not is_real and settings.pages is not None:
        done |= _pages(setup, bench, done, stopped)
    runs: dict[int, list[Outcome]] = {number: [] for number in chosen}
    for plan in plans:
        if plan in done:
            runs[plan.scenario].append(done[plan].outcome)
    results = tuple(ScenarioResult(bench.placed[number], tuple(outcomes)) for number, outcomes in runs.items())
    cpu = sum(one.cpu for one in done.values())
    return Simulation(str(agent), describe_model(model), settings, results, seconds, cpu, is_virtual=not is_real)


def _pages(setup: _Setup, bench: _Bench, done: Mapping[_Plan, _Done], stopped: threading.Event) -> dict[_Plan, _Done]:
    """The first call of each scenario that failed once more, which is the same by its seed: for its report."""
    first: dict[int, _Plan] = {}
    for plan, one in sorted(done.items(), key=lambda item: item[0].seed):
        if not one.outcome.passed:
            first.setdefault(plan.scenario, plan)
    again = {replace(plan, page=True): plan for plan in first.values()}
    return {
        again[one.plan]: _Done(again[one.plan], one.outcome, done[again[one.plan]].cpu)
        for one in _virtual(setup, bench, list(again), stopped)
    }


# -- in virtual time


def _virtual(setup: _Setup, bench: _Bench, plans: Sequence[_Plan], stopped: threading.Event) -> Iterator[_Done]:
    jobs = setup.settings.jobs
    if jobs <= 0:
        for plan in plans:
            if stopped.is_set():
                return
            yield bench.in_virtual_time(plan)
        return
    size = max(1, min(_MOST_AT_A_TIME, len(plans) // (4 * jobs)))
    rows = [plans[at : at + size] for at in range(0, len(plans), size)]
    with ProcessPoolExecutor(
        min(jobs, len(rows)) or 1, mp_context=get_context("spawn"), initializer=_begin, initargs=(setup,)
    ) as pool:
        left: set[Future[list[_Done]]] = {pool.submit(_row, row) for row in rows}
        try:
            while left and not stopped.is_set():
                finished, left = wait(left, timeout=_LOOK, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield from future.result()
        except BrokenProcessPool:
            raise AntiphonError(
                "a process that made calls ended in the middle of one: a library crashed, or memory is short. Find the"
                " call with --jobs 1 --debug."
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_benches: list[_Bench] = []
"""That of this process."""


def _begin(setup: _Setup) -> None:
    """A process begins: whoever stops the command stops it, and what tools print disturbs nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not setup.settings.debug:
        logging.getLogger("antiphon").setLevel(logging.CRITICAL)
        nowhere = os.open(os.devnull, os.O_WRONLY)  # what libraries say at the end of a process goes past Python
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    sys.stdout = sys.stderr
    _benches.append(_Bench(setup))


def _row(plans: Sequence[_Plan]) -> list[_Done]:
    return [_benches[0].in_virtual_time(plan) for plan in plans]


# -- in real time


def _real(bench: _Bench, plans: Sequence[_Plan], stopped: threading.Event) -> Iterator[_Done]:
    """All calls, several at once, on a loop of this thread that runs while somebody asks for the next."""
    with asyncio.Runner() as runner:
        places = asyncio.Semaphore(max(1, bench.settings.jobs))
        finished: asyncio.Queue[_Done | None] = asyncio.Queue()

        async def one(plan: _Plan) -> None:
            async with places:
                finished.put_nowait(None if stopped.is_set() else await bench.in_real_time(plan))

        async def begin() -> list[asyncio.Task[None]]:
            return [asyncio.create_task(one(plan)) for plan in plans]

        tasks = runner.run(begin())
        for _ in tasks:
            if (done := runner.run(finished.get())) is not None:
                yield done
