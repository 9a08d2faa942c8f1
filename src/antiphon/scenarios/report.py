"""What came of scenarios, as data and as JUnit's XML. For people, the command line shows it.

Above: `antiphon simulate`. Below: what came of calls; `evaluation.report`, which writes JUnit for cases, too.
"""

from __future__ import annotations

from typing import Any

from antiphon.calls.where import as_typed
from antiphon.evaluation.report import as_junit as junit_of
from antiphon.scenarios.running import ScenarioResult, Simulation


def as_json(simulation: Simulation, *, at_least: float) -> dict[str, Any]:
    """As data. But for `speed`, the same for the same seed."""
    return {
        "agent": simulation.agent,
        "model": simulation.model,
        "seed": simulation.settings.seed,
        "virtual_time": simulation.is_virtual,
        "passes": simulation.passes,
        "runs": simulation.runs,
        "interval": list(simulation.interval),
        "at_least": at_least,
        "passed": simulation.is_at_least(at_least),
        "scenarios": [_result(one) for one in simulation.results],
        "speed": {
            "seconds": round(simulation.seconds, 3),
            "cpu": round(simulation.cpu, 3),
            "simulated": round(simulation.simulated, 3),
            "times_real_time_a_core": None if speed(simulation) is None else round(speed(simulation) or 0.0, 1),
        },
    }


def speed(simulation: Simulation) -> float | None:
    """Seconds of calls for a second of a core; None: they were made in real time."""
    return simulation.simulated / simulation.cpu if simulation.is_virtual and simulation.cpu > 0 else None


def as_junit(simulation: Simulation, *, at_least: float) -> str:
    """As JUnit's XML: a test case for each scenario."""
    return junit_of(simulation.agent, simulation.results, at_least=at_least)


def command(simulation: Simulation, result: ScenarioResult) -> str:
    """What makes the first call of a scenario that failed once more; "": none did."""
    if (failed := result.failed) is None:
        return ""
    name = result.name.replace('"', '\\"')
    options = "".join(f" --{kind} {name}" for kind, name in simulation.settings.models.items())
    options += "" if simulation.settings.caller_llm is None else f" --caller-llm {simulation.settings.caller_llm}"
    options += "" if simulation.settings.medium == "sound" else f" --{simulation.settings.medium}"
    file = as_typed(str(result.placed.file))
    return f'antiphon simulate {simulation.agent} {file} --only "{name}" --seed {failed.seed}{options}'


def _result(result: ScenarioResult) -> dict[str, Any]:
    low, high = result.interval
    return {
        "name": result.name,
        "file": str(result.placed.file),
        "passes": result.passes,
        "runs": len(result.runs),
        "rate": result.rate,
        "interval": [low, high],
        "calls": [run.to_json() for run in result.runs],
    }
