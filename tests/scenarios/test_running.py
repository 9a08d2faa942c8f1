"""Many calls: the same by the same seed, in processes as in one; pages, personas, agents that break."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from antiphon.calls.models import ModelChoice
from antiphon.errors import AgentFileError, AntiphonError, UsageError
from antiphon.scenarios import Scenario, Settings, read_scenarios, simulate
from antiphon.scenarios.call import Made, Wanted, make_call
from antiphon.scenarios.report import as_json
from antiphon.scenarios.stuck import Stuck, Watched
from antiphon.server.agent_file import load_agent_file
from antiphon.testing import FakeLLM, run_virtual
from tests.scenarios.desk import AGENT, agent_file, scenarios_file, simulated

BOOKS = (
    "{name: books, caller: {wishes: [{one_of: [I want to book, Please book]}], knows: {whose name: Ann},"
    " reaction: [0.1, 2]}, tools: {book: {returns: done, error: refused, chance: 0.4, delay: [0.1, 3]}}}"
)
LOOKS = "{name: looks, caller: {wishes: [Is it free]}, expect: {no_calls: true}}"

SCRIPT = """
import json, sys
from pathlib import Path
from antiphon.calls.models import ModelChoice
from antiphon.scenarios import read_scenarios
from antiphon.scenarios.call import Wanted, make_call
from antiphon.server.agent_file import load_agent_file
from antiphon.testing import run_virtual
folder, seed = Path(sys.argv[1]), int(sys.argv[2])
server = load_agent_file(folder / "agent.py")
for placed in read_scenarios([folder / "scenarios.yaml"]):
    async def call():
        return await make_call(server, Wanted(placed.scenario, seed), ModelChoice(voice=False))
    made = run_virtual(call())
    sys.stdout.write(json.dumps(made.outcome.to_json()) + made.sound().data.hex())
"""


def test_the_same_seed_makes_the_same_call_byte_for_byte_whatever_the_process(tmp_path: Path) -> None:
    agent_file(tmp_path)
    scenarios_file(tmp_path, BOOKS, LOOKS)

    def call(seed: int, hashing: int) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": str(hashing)}
        command = [sys.executable, "-c", SCRIPT, str(tmp_path), str(seed)]
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    first = call(7, 1)
    assert len(first) > 1_000_000
    assert call(7, 2) == first
    assert call(8, 1) != first


def test_processes_make_the_same_calls_as_one(tmp_path: Path) -> None:
    here, there = (
        as_json(simulated(tmp_path, BOOKS, LOOKS, repeat=6, jobs=jobs), at_least=1.0)["scenarios"] for jobs in (0, 2)
    )
    assert here == there
    assert [call["seed"] for call in here[0]["calls"]] == [1, 2, 3, 4, 5, 6]
    assert len({json.dumps(call["turns"]) for call in here[0]["calls"]}) > 1


def test_a_call_that_failed_is_made_again_by_its_seed_alone(tmp_path: Path) -> None:
    many = simulated(tmp_path, BOOKS, repeat=5, seed=3).results[0].runs
    assert simulated(tmp_path, BOOKS, seed=5).results[0].runs[0] == many[2]


def test_each_scenario_that_fails_has_one_page_of_its_first_call(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    result = simulated(tmp_path, LOOKS, BOOKS, repeat=2, pages=pages).results[0]
    assert [path.name for path in pages.iterdir()] == ["looks.html"]
    assert [run.page for run in result.runs] == [str(pages / "looks.html"), ""]
    text = (pages / "looks.html").read_text(encoding="utf-8")
    assert "looks, seed 1" in text
    assert "expected no call, got look_up" in text


def test_calls_are_much_faster_than_real_time(tmp_path: Path) -> None:
    simulation = simulated(tmp_path, BOOKS, repeat=30)
    assert simulation.simulated / simulation.cpu > 100  # benchmarks/simulation.py measures it; this is a bound


def test_calls_may_be_stopped(tmp_path: Path) -> None:
    stopped = threading.Event()
    told: list[int] = []

    def progress(done: int, total: int, failed: int) -> None:
        told.append(done)
        stopped.set()

    files = [scenarios_file(tmp_path, BOOKS)]
    simulation = simulate(agent_file(tmp_path), files, Settings(repeat=50), progress=progress, stopped=stopped)
    assert simulation.runs == len(told) == 1


# -- personas


def persona(folder: Path, model: FakeLLM, caller: str) -> Made:
    scenarios_file(folder, f"{{name: a, caller: {caller}, expect: {{calls: book}}}}")
    scenario = read_scenarios([folder / "scenarios.yaml"])[0].scenario
    server = load_agent_file(agent_file(folder))

    async def call() -> Made:
        return await make_call(server, Wanted(scenario, 1, caller_llm=model), ModelChoice(voice=False))

    return run_virtual(call())


def test_a_model_plays_a_persona_and_hangs_up(tmp_path: Path) -> None:
    model = FakeLLM(["Hello, I want to book.", "I am Ann. [keys 12]", "Thanks, bye. [hang up]"])
    made = persona(tmp_path, model, "{persona: Ann wants Friday, knows: {name: Ann Lee}}")
    assert made.outcome.failures == ()
    assert made.outcome.ended_by == "caller"
    told = model.histories[0][0]
    assert "Ann wants Friday" in told
    assert "name: Ann Lee" in told
    assert "In whose name" in model.histories[1][-1]


def test_a_persona_never_says_what_it_may_not(tmp_path: Path) -> None:
    model = FakeLLM(["My card is 4111.", "I want to book.", *["4111"] * 3, "I am Ann.", "Bye. [hang up]"])
    made = persona(tmp_path, model, "{persona: Ann, never_says: '4111', otherwise: That I keep to myself}")
    said = [turn["text"] for turn in made.outcome.turns if turn["role"] == "user"]
    assert said == ["I want to book.", "That I keep to myself", "I am Ann.", "Bye."]


def test_a_persona_that_never_leaves_is_ended(tmp_path: Path) -> None:
    made = persona(tmp_path, FakeLLM(lambda _: "I am Ann."), "{persona: Ann, max_turns: 3}")
    assert made.outcome.failures[0].startswith("the caller gave up: the call was not over after 3 turns")


def test_a_persona_needs_a_language_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Name one: --caller-llm NAME"):
        simulated(tmp_path, "{name: a, caller: {persona: Ann}}")
    with pytest.raises(UsageError, match="plays agents, not callers"):
        simulated(tmp_path, "{name: a, caller: {persona: Ann}}", caller_llm="local")


# -- agents that break


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import nowhere", "agent.py:1: ModuleNotFoundError: No module named 'nowhere'"),
        ("def x(:", "agent.py:1: syntax error"),
        ("x = 1", "holds no agent"),
        (AGENT.replace("    agent = Agent", "    1 / 0\n    agent = Agent"), "the entrypoint raised ZeroDivisionError"),
    ],
)
def test_an_agent_file_with_errors_is_told_before_any_call(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(AgentFileError) as caught:
        simulate(agent_file(tmp_path, text=text), [scenarios_file(tmp_path, LOOKS)])
    assert why in str(caught.value)


def test_code_that_blocks_its_process_is_cut_off_and_named() -> None:
    began = time.monotonic()
    with Watched(0.2) as watched, pytest.raises(Stuck):
        time.sleep(20)
    assert time.monotonic() - began < 5
    assert watched.where[0].endswith("test_code_that_blocks_its_process_is_cut_off_and_named()")


def test_what_a_call_raises_fails_that_call_and_no_other(tmp_path: Path) -> None:
    text = AGENT.replace(
        "    ctx.room.on(", "    if calls.append(1) or len(calls) == 3:\n        1 / 0\n    ctx.room.on("
    )
    file = agent_file(tmp_path, text=text.replace("server = ", "calls = []\nserver = ", 1))
    simulation = simulate(file, [scenarios_file(tmp_path, BOOKS)], Settings(repeat=3))
    failed = [run.failures for run in simulation.results[0].runs]
    assert [len(one) for one in failed] == [0, 1, 0]
    assert "the entrypoint raised ZeroDivisionError" in failed[1][0]


def test_a_scenario_may_be_made_in_a_program() -> None:
    made = Scenario.model_validate({"name": "a", "caller": {"wishes": ["Hello", {"say": "a ... b", "until": "c"}]}})
    assert [wish.words(random.Random(1)) for wish in made.caller.wishes] == ["Hello", "a ... b"]


def test_a_process_that_dies_in_the_middle_of_a_call_is_told(tmp_path: Path) -> None:
    text = AGENT.replace("    time.sleep(SECONDS)", "    import os; os._exit(3)")
    scenario = "{name: dies, caller: {wishes: [Please block]}}"
    with pytest.raises(AntiphonError, match=r"ended in the middle of one.* --jobs 1 --debug"):
        simulate(agent_file(tmp_path, text=text), [scenarios_file(tmp_path, scenario)], Settings(jobs=1))
