"""What is found in a walk: nothing in a good one, and what was done to a bad one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from antiphon.metrics import ResponseMetrics, TurnMetrics
from antiphon.sim import Walk, examine, seeds, story, stroll, walk
from antiphon.sim.world import ToolRun
from antiphon.testing import Timeline


@pytest.fixture(scope="module")
def good() -> Walk:
    done = walk("7/1")
    assert examine(done).problems == []
    return done


def test_a_walk_is_the_same_from_the_same_seed(good: Walk) -> None:
    assert story(walk(good.seed)) == story(good)


def test_a_turn_that_is_not_in_the_history_is_lost(good: Walk) -> None:
    said = next(said for said in good.log.said if said.way == "spoken")
    lost = replace(said, words=[*said.words, "unheard"])
    log = replace(good.log, said=[lost if one is said else one for one in good.log.said])
    assert [*examine(replace(good, log=log)).turns_lost] == [f"7/1: {said.name} came without unheard"]


def test_a_result_that_must_be_told_and_is_not_is_found(good: Walk) -> None:
    run = ToolRun("write", "agent 0", 99, "r99", 1.0, 2.0, "done", kept=True)
    world = replace(good.world, runs=[*good.world.runs, run])
    assert [*examine(replace(good, world=world)).results_never_voiced] == ["7/1: r99 of write(99), done at 2.00"]


def test_a_write_that_ran_twice_is_found(good: Walk) -> None:
    runs = [ToolRun("write", "agent 0", 99, f"r{99 + i}", 1.0, 2.0, "done") for i in range(2)]
    world = replace(good.world, runs=[*good.world.runs, *runs])
    assert [*examine(replace(good, world=world)).other] == ["7/1: write(99) ran 2 times"]


def test_a_silence_while_work_is_pending_is_found(good: Walk) -> None:
    line = good.line
    kept = [sound for sound in line.agent if sound is not max(line.agent, key=lambda one: one.duration)]
    silent = replace(good, line=Timeline(line.caller, kept, line.begin, line.end))
    assert examine(silent).silences


@pytest.mark.parametrize(("taken", "stubs"), [(1.0, 1), (2.0, 0)])
def test_a_filler_is_a_stub_where_the_text_was_in_and_the_turn_taken(good: Walk, taken: float, stubs: int) -> None:
    filler = ResponseMetrics(False, 0.5, first_text=0.5, first_byte=0.7, first_audio=1.5, filler=True)
    answer = ResponseMetrics(True, 0.9, first_text=1.2, first_byte=1.4, first_audio=2.1)
    reply = TurnMetrics(1, "caller", "speech_1", 0.5, 3.0, decided=taken, responses=(filler, answer))
    assert len(examine(replace(good, replies=[reply])).other) == stubs


def test_an_agent_that_speaks_on_is_found(good: Walk) -> None:
    line, said = good.line, good.log.said[0]
    on_and_on = [replace(line.agent[0], start=said.start - 1.0, end=said.start + 0.5)]
    late = replace(good, line=Timeline(line.caller, on_and_on, line.begin, line.end))
    assert [*examine(late).slow_pauses] == [f"7/1: 0.50 s after {said.name}, spoken, at {said.start:.2f} s"]


def test_what_many_walks_found_is_told_by_kind() -> None:
    (stride,) = stroll(seeds("tests", 3), 1)
    assert stride.calls == stride.found.figures["calls"] == 3
    assert sum(found.figures["calls"] for found in stride.kinds.values()) == 3
