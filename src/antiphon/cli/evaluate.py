"""`antiphon eval`: cases with an agent file, how often they pass, and how that compares with another version.

Above: `main`. Below: `antiphon.evaluation`, whose calls are made in a thread with a loop of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from antiphon import private
from antiphon.calls.models import local_model, named_model
from antiphon.cli import surroundings
from antiphon.cli.screen import Screen
from antiphon.errors import AntiphonError, UsageError
from antiphon.evaluation.cases import Cases, read_cases
from antiphon.evaluation.comparing import compare
from antiphon.evaluation.report import as_json, as_junit, as_lines
from antiphon.evaluation.running import Evaluation, Settings, evaluate
from antiphon.llm import LLM
from antiphon.protocols import ModelKind
from antiphon.visible import to_json


async def run_cases(options: argparse.Namespace, *, named: Mapping[ModelKind, str]) -> bool:
    """Run them, print what came of it, write what is asked for. Returns whether it is good enough.

    Without `--beside`, each case has to pass as often as `--at-least` says. With it, no case may be worse with the
    probability that `--sure` says, nor all together; `--at-least` counts if it was given.
    """
    cases = read_cases(options.cases)
    agent = _agent_file(options, cases)
    stopped = threading.Event()
    screen = Screen(to_stderr=options.json)
    settings = Settings(
        models=named,
        strict_models=options.strict_models,
        judge=_judge(options.judge),
        repeats=options.repeats,
        at_once=options.at_once,
        real_time=options.real_time,
        notice=screen.notice,
        stopped=stopped,
    )
    try:
        with contextlib.redirect_stdout(sys.stderr):  # tools and libraries that print must not spoil what is printed
            evaluation = await asyncio.to_thread(_evaluated, agent, cases, settings, options.livekit)
            other = None
            if options.beside is not None:
                other = await asyncio.to_thread(_evaluated, options.beside, cases, settings, options.livekit)
    finally:
        stopped.set()
    return _told(options, evaluation, other)


def _told(options: argparse.Namespace, evaluation: Evaluation, other: Evaluation | None) -> bool:
    at_least = 1.0 if options.at_least is None else options.at_least
    compared = () if other is None else compare(evaluation, other)
    if options.json:
        print(to_json(as_json(evaluation, at_least=at_least, other=other, compared=compared), indent=2))
    else:
        beside = "" if other is None else other.agent
        print("\n".join(as_lines(evaluation, at_least=at_least, compared=compared, beside=beside)))
    if options.junit is not None:
        try:
            private.write(options.junit, as_junit(evaluation.agent, evaluation.results, at_least=at_least))
        except OSError as error:
            raise AntiphonError(f"cannot write {options.junit}: {error.strerror}. Choose another path.") from None
    if other is None or options.at_least is not None:
        if not evaluation.is_at_least(at_least):
            return False
    return not any(one.is_worse(options.sure) for one in compared)


def _evaluated(file: Path, cases: Cases, settings: Settings, livekit: bool) -> Evaluation:
    if not file.is_file():
        raise UsageError(f"no such agent file: {file}. Give the path of a Python file.")
    livekit = livekit or surroundings.is_written_for_livekit(file)
    return evaluate(file, cases, settings.of_file(livekit=livekit))


def _agent_file(options: argparse.Namespace, cases: Cases) -> Path:
    if options.agent is None and cases.agent is not None:
        return Path(options.cases).parent / cases.agent
    return surroundings.agent_file(options.agent)


def _judge(name: str | None) -> LLM | None:
    """Raises `UsageError` for the dialogue engine, which reads no intents."""
    if name is None:
        return None
    model: LLM = named_model("llm", name)
    if model is local_model("llm"):
        raise UsageError(f"--judge {name}: the dialogue engine of this machine is no judge. Name a language model.")
    return model
