"""The tasks of BFCL, with faults: a share of them here, all of them by `make prove-chaos`."""

from __future__ import annotations

import asyncio
import os
from collections import Counter

import pytest

from antiphon.testing.chaos import KILLS, KINDS, Case, judge, make_call
from antiphon.testing.chaos.many import Job, Summary, do, proof
from tests.chaos.bfcl import SETS, effects, is_installed, tasks

TASKS = int(os.environ.get("ANTIPHON_CHAOS_TASKS", "30"))
SEED = "suite"

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not is_installed(), reason="needs: pip install --no-deps bfcl-eval mpmath"),
]


def total(jobs: list[Job]) -> Summary:
    summary = Summary()
    for job in jobs:
        summary.merge(do(job))
    return summary


def test_there_are_800_tasks_and_four_of_them_repeat_a_write() -> None:
    everything = list(tasks())
    assert len(everything) == 800
    assert sum(len(list(task.wishes)) for task in everything) == 4625
    repeated = [task.name for task in everything if max(task.counts(task.world()).values(), default=0) > 1]
    assert repeated == [f"multi_turn_{name}_0" for name in SETS]


@pytest.mark.parametrize("name", SETS)
def test_a_write_that_is_rightly_repeated_is_repeated(name: str) -> None:
    task = next(tasks((name,)))
    verdict = asyncio.run(judge(make_call(Case(task))))
    assert not verdict.findings
    done = Counter(start.key for start in verdict.made.effects if start.writes)
    assert max(done.values()) == 2


def test_every_function_that_changes_a_backend_is_labelled_so() -> None:
    for task in list(tasks())[::5]:
        world = task.world()
        for wish in task.wishes:
            before = world.state()
            asyncio.run(world.act(wish.tool, wish.arguments))
            assert world.writes(wish.tool) or world.state() == before, f"{wish} of {task.name} changes something"


def test_labels_are_of_three_kinds() -> None:
    labels = Counter(label for backend in effects().values() for label in backend.values())
    assert labels == {"reads": 78, "writes": 38, "irreversible": 12}


def test_whatever_goes_wrong_nothing_is_lost_or_doubled() -> None:
    everything = list(tasks())
    chosen = everything[:: max(1, len(everything) // TASKS)][:TASKS]
    summary = total(proof(chosen, SEED, every=max(1, TASKS // 30), pairs=TASKS, three=False))
    print(summary.sentence)
    assert not summary.findings, "\n".join(map(str, summary.findings))
    assert set(summary.faults) == set(KINDS)
    assert summary.unknown


def test_wherever_processes_end_nothing_is_lost_or_doubled() -> None:
    everything = list(tasks())
    chosen = everything[7 :: max(1, len(everything) // (TASKS // 3))][: TASKS // 3]
    by_voice = [Job(errand, "one", "voice", SEED, kinds=KILLS) for errand in chosen]
    every = max(1, TASKS // 30)
    written = proof(chosen, SEED, every=every, pairs=TASKS // 3, three=False, media=("text",), kinds=KILLS)
    summary = total([*written, *by_voice])
    print(summary.sentence)
    assert not summary.findings, "\n".join(map(str, summary.findings))
    assert set(summary.faults) == set(KILLS)
    assert summary.unknown
