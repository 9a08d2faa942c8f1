"""Simulation: callers who follow a script, or whom a model plays, and what must be so when their calls are over.

Many calls in virtual time, the same by the same seed. Above: `antiphon simulate`, tests of yours. Below: `definition`
(what a file may say), `on_the_line` (what a caller can do), `call` (one), `running` (many).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use

if TYPE_CHECKING:
    from antiphon.scenarios.call import Outcome
    from antiphon.scenarios.definition import AtTheEnd, Scenario, Script
    from antiphon.scenarios.files import read_scenarios, scenario
    from antiphon.scenarios.on_the_line import CallerGaveUp, OnTheLine
    from antiphon.scenarios.running import ScenarioResult, Settings, Simulation, simulate

_HOME = {
    "call": ("Outcome",),
    "files": ("read_scenarios", "scenario"),
    "on_the_line": ("CallerGaveUp", "OnTheLine"),
    "running": ("ScenarioResult", "Settings", "Simulation", "simulate"),
    "definition": ("AtTheEnd", "Scenario", "Script"),
}

__all__ = [
    "AtTheEnd",
    "CallerGaveUp",
    "OnTheLine",
    "Outcome",
    "Scenario",
    "ScenarioResult",
    "Script",
    "Settings",
    "Simulation",
    "read_scenarios",
    "scenario",
    "simulate",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _HOME)
