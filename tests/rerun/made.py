"""Simulated calls of the examples, recorded: what replays are proved with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon import AgentSession
from antiphon.calls.models import ModelChoice
from antiphon.records import Record, Records
from antiphon.scenarios import call as simulated
from antiphon.scenarios.call import Wanted, make_call
from antiphon.scenarios.definition import Medium, Scenario
from antiphon.scenarios.files import read_scenarios
from antiphon.server.agent_file import load_agent_file
from antiphon.testing import run_virtual

EXAMPLES = Path(__file__).parents[2] / "examples"
CALLERS = Path(__file__).parent / "callers"


@dataclass(slots=True, frozen=True)
class Kind:
    """Calls of one example."""

    example: str
    scenarios: Path
    run_tools: Sequence[str] = ()
    """Tools that depend on one another in memory, and do nothing else: they run."""
    file: Path = field(default=Path())

    @property
    def agent(self) -> Path:
        return EXAMPLES / f"{self.example}.py"


KINDS = [
    Kind("receptionist", EXAMPLES / "scenarios"),
    Kind("reservations", CALLERS / "reservations.yaml"),
    Kind("restaurant", CALLERS / "restaurant.yaml", ("*",)),
    Kind("dynamic_tools", CALLERS / "desk.yaml"),
    Kind("flight_booking", CALLERS / "flights.yaml"),
    Kind("long_running", CALLERS / "archive.yaml"),
]


def record_of_call(
    agent: Path, scenario: Scenario, *, seed: int = 1, medium: Medium = "sound", place: Path, llm: str = "local"
) -> Record:
    """One call of a scenario with an agent file, recorded."""
    server, records = load_agent_file(agent), Records(place)
    choice = ModelChoice(named={"llm": llm} if llm else {}, voice=False)
    before = set(records.place.names())
    with _followed(records):

        async def held() -> None:
            await make_call(server, Wanted(scenario, seed, medium), choice)

        run_virtual(held(), timeout=7200)
    (name,) = set(records.place.names()) - before
    return records.place.record(name)


@contextlib.contextmanager
def _followed(records: Records) -> Iterator[None]:
    """Simulated calls are nobody's; here they are kept."""
    real = simulated.Calling.starts

    def starts(calling: Any, session: AgentSession[Any]) -> None:
        records.follow(session)
        real(calling, session)

    simulated.Calling.starts = starts  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        simulated.Calling.starts = real  # type: ignore[method-assign]


def scenarios_of(kind: Kind) -> list[Scenario]:
    return [placed.scenario for placed in read_scenarios([kind.scenarios])]
