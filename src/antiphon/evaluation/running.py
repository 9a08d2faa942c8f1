"""Cases become calls: each is made so often, several at once, and held against what was expected.

With a model of this machine (the stand-in, a scripted one) calls run in virtual time: nothing waits. A model behind a
network has a clock of its own, so its calls run in real time. Intents are judged when the calls are over.

Above: `antiphon eval`, the pytest plugin. Below: jobs and sessions as every command has them; `matching`.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from antiphon.calls.models import ModelChoice
from antiphon.calls.offers import describe_model, is_stand_in
from antiphon.calls.start import raise_error, start_session
from antiphon.errors import AntiphonError, UsageError, UserdataNotSet
from antiphon.evaluation.cases import Case, Cases, Turn
from antiphon.evaluation.matching import fields_of, is_as_expected, shown, wrong_calls, wrong_words
from antiphon.evaluation.mocks import put_mocks
from antiphon.evaluation.statistics import wilson
from antiphon.evaluation.tally import Judgement, Run, Tally
from antiphon.llm import LLM
from antiphon.protocols import ModelKind
from antiphon.records.current import NOWHERE, call_records
from antiphon.run_result import ChatMessageEvent, FunctionCallEvent, RunResult, objection_to
from antiphon.server.agent_file import load_agent_file
from antiphon.server.entrypoint import AgentServer
from antiphon.server.room import Room
from antiphon.session import AgentSession
from antiphon.testing.clock import VirtualTimeError, run_virtual
from antiphon.testing.fakes import FakeLLM

TURN_LIMIT = 120.0
"""Seconds in which a turn must be answered."""
VIRTUAL_LIMIT = 30 * 24 * 3600.0
"""Virtual seconds that all calls of an evaluation may take."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Settings:
    """How cases are run."""

    models: Mapping[ModelKind, str] = field(default_factory=dict)
    """Models by name, in the place of the file's."""
    strict_models: bool = False
    judge: LLM | None = None
    """Reads whether an answer does what was intended."""
    repeats: int | None = None
    """Of every case; None: as the cases say."""
    at_once: int = 4
    """Calls at a time."""
    real_time: bool = False
    """In real time also with models of this machine: for tools that use a network."""
    livekit: bool = False
    """The agent file is written for LiveKit."""
    notice: Callable[[str], None] = lambda line: None
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set: no further call is begun."""

    def of_file(self, *, livekit: bool) -> Settings:
        """The same, for a file that is written for LiveKit, or is not."""
        return replace(self, livekit=livekit)


@dataclass(slots=True, frozen=True)
class CaseResult(Tally):
    """All calls of a case."""

    case: Case
    runs: tuple[Run, ...]

    @property
    def name(self) -> str:
        return self.case.name


@dataclass(slots=True, frozen=True)
class Evaluation:
    """What came of all cases with one agent file."""

    agent: str
    model: str
    results: tuple[CaseResult, ...]

    @property
    def passes(self) -> int:
        """Calls that were as expected."""
        return sum(result.passes for result in self.results)

    @property
    def runs(self) -> int:
        """All calls."""
        return sum(len(result.runs) for result in self.results)

    @property
    def interval(self) -> tuple[float, float]:
        """Where the rate of all calls lies with 95 %."""
        return wilson(self.passes, self.runs)

    def is_at_least(self, rate: float) -> bool:
        """Each case passes so often."""
        return all(result.rate >= rate for result in self.results)


def evaluate(path: Path, cases: Cases, settings: Settings | None = None) -> Evaluation:
    """Run all cases with an agent file. Not in a running event loop: from a test, or in a thread.

    Raises `AntiphonError` where no call can be made, and `UsageError` for cases that need a judge, if there is none.
    """
    settings = settings or Settings()
    for case in cases.cases:
        if case.needs_judge and settings.judge is None:
            raise UsageError(
                f"case {case.name!r} expects an intent, which only a language model can judge. Name one with --judge,"
                " or expect words: says: REGEX."
            )
    server = load_agent_file(path, livekit=settings.livekit)
    runner = _Runner(server, cases, settings)
    try:
        model = run_virtual(runner.model())
        is_local = is_stand_in(model) or isinstance(model, FakeLLM)
        if is_local and not settings.real_time:
            results = run_virtual(runner.all(), timeout=VIRTUAL_LIMIT)
        else:
            results = asyncio.run(runner.all())
    except VirtualTimeError as error:
        raise AntiphonError(
            f"{path}: {error}. Mock the tools that use a network (mocks:), or run in real time: --real-time"
        ) from error
    if settings.judge is not None:
        results = asyncio.run(_judged(results, settings.judge, settings.at_once))
    return Evaluation(str(path), describe_model(model), tuple(results))


class _Runner:
    def __init__(self, server: AgentServer, cases: Cases, settings: Settings) -> None:
        self._server = server
        self._cases = cases
        self._settings = settings
        self._models = ModelChoice(
            named=settings.models, strict=settings.strict_models, voice=False, notice=settings.notice
        )

    async def model(self) -> Any:
        """The language model of the agent that takes a call."""
        before = call_records.set(NOWHERE)
        try:
            async with self._server.job(Room(), models=self._models) as job:
                return (await start_session(job)).current_agent.llm
        finally:
            call_records.reset(before)

    async def all(self) -> list[CaseResult]:
        """The calls of all cases, in their order."""
        places = asyncio.Semaphore(self._settings.at_once)
        async with asyncio.TaskGroup() as group:
            tasks = [
                (case, [group.create_task(self._one(case, places)) for _ in range(self._repeats(case))])
                for case in self._cases.cases
            ]
        return [CaseResult(case, tuple(run for task in runs if (run := task.result()))) for case, runs in tasks]

    def _repeats(self, case: Case) -> int:
        return self._settings.repeats or self._cases.repeats_of(case)

    async def _one(self, case: Case, places: asyncio.Semaphore) -> Run | None:
        async with places:
            if self._settings.stopped.is_set():
                return None
            call_records.set(NOWHERE)  # in this task
            async with self._server.job(Room(), models=self._models) as job:
                session = await start_session(job)
                put_mocks(session, case.mocks, random.Random(case.name))
                await session.wait_for_idle()
                run = await _converse(case, session)
                raise_error(job)
                return run


async def _converse(case: Case, session: AgentSession[Any]) -> Run:
    """What the caller of a case says, and what follows."""
    failures: list[str] = []
    said: list[str] = []
    calls: list[str] = []
    to_judge: list[Judgement] = []
    for number, turn in enumerate(case.all_turns, 1):
        if not session.is_running:
            failures.append(f"turn {number}: the call was over before it")
            break
        try:
            async with asyncio.timeout(TURN_LIMIT):
                result = await session.run(user_input=turn.say)
        except TimeoutError:
            failures.append(f"turn {number}: no answer to {turn.say!r} within {TURN_LIMIT:g} s")
            break
        made = list(_calls(result))
        answer = _answer(result)
        said.append(answer)
        calls += [shown(*one) for one in made]
        failures += [f"turn {number}: {what}" for what in _wrong(turn, made, answer, session) if what]
        if turn.expect is not None and turn.expect.intent is not None:
            to_judge.append(Judgement(number, turn.expect.intent, answer))
    failures += _wrong_state(case.state, session)
    return Run(tuple(failures), tuple(said), tuple(calls), tuple(to_judge))


def _wrong(
    turn: Turn, made: Sequence[tuple[str, Mapping[str, Any]]], answer: str, session: AgentSession[Any]
) -> Iterator[str]:
    if (expected := turn.expect) is None:
        return
    yield wrong_calls(expected, made)
    yield wrong_words(expected, answer)
    agent = session.current_agent
    if expected.handoff is not None and expected.handoff not in (type(agent).__name__, agent.id):
        yield f"expected {expected.handoff} in charge, got {agent.label}"


def _wrong_state(wanted: Mapping[str, Any], session: AgentSession[Any]) -> list[str]:
    if not wanted:
        return []
    try:
        held = fields_of(session.userdata)
    except UserdataNotSet:
        held = {}
    return [
        f"state: expected {name} = {value!r}, got {held.get(name)!r}"
        for name, value in wanted.items()
        if name not in held or not is_as_expected(value, held[name])
    ]


def _calls(result: RunResult) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for event in result.events:
        if isinstance(event, FunctionCallEvent):
            try:
                given = json.loads(event.item.arguments or "{}")
            except ValueError:  # the model wrote no JSON, and was refused
                given = {}
            yield event.item.name, given if isinstance(given, dict) else {}


def _answer(result: RunResult) -> str:
    said = [event.item for event in result.events if isinstance(event, ChatMessageEvent)]
    return " ".join(item.text_content or "" for item in said if item.role == "assistant").strip()


async def _judged(results: Sequence[CaseResult], judge: LLM, at_once: int) -> list[CaseResult]:
    """The results, with what the judge has against answers."""
    places = asyncio.Semaphore(at_once)

    async def ask(one: Judgement) -> str:
        async with places:
            why = await objection_to(one.answer, intent=one.intent, llm=judge)
        return f"turn {one.turn}: the answer does not do this: {one.intent} ({' '.join(why.split())})" if why else ""

    async def judged(run: Run) -> Run:
        found = await asyncio.gather(*map(ask, run.to_judge))
        return Run((*run.failures, *filter(None, found)), run.said, run.calls)

    read: list[CaseResult] = []
    for result in results:
        runs = await asyncio.gather(*(judged(run) for run in result.runs))
        read.append(CaseResult(result.case, tuple(runs)))
    return read
