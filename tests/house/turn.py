"""One turn as the core goes through it, drawn from its tables and from a call that is really made.

python -m tests.house.turn            the three drawings
python -m tests.house.turn --update   put them into docs/architecture.md

Who takes a fact is `ROUTES` of `core/conversation.py`; the rules and their order are the calls in `follow`. The turn is
that of a simulated call, replayed with a look at which rules fire.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import inspect
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from antiphon import Agent, RunContext, function_tool
from antiphon.core import conversation, facts
from antiphon.core.commands import Command
from antiphon.core.notices import is_notice
from antiphon.replay import JournalWriter, read
from antiphon.replay.replaying import Step, steps
from antiphon.testing import FakeLLM, Reply, SimulatedCall, run_virtual

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
BEGIN = "<!-- python -m tests.house.turn --update -->"
END = "<!-- until here -->"

ONE_OF_MANY = (facts.PlayoutProgressed, facts.StreamContinued)
"""Facts that come again and again; they are left out where nothing follows."""


# -- the tables


def routes() -> dict[str, list[str]]:
    """By module of rules: the facts that it takes."""
    taken: dict[str, list[str]] = {}
    for fact, route in conversation.ROUTES.items():
        taken.setdefault(_module(route), []).append(fact.__name__)
    return taken


def rules() -> list[str]:
    """The rules in order of right of way, as "module.function"."""
    tree = ast.parse(inspect.getsource(conversation.follow))
    return [
        f"{node.func.value.id}.{node.func.attr}"
        for statement in ast.walk(tree)
        if isinstance(statement, ast.AugAssign)
        for node in (statement.value,)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    ]


def _module(function: Any) -> str:
    return str(function.__module__).rpartition(".")[2]


# -- a turn


class Host(Agent):
    """What is called."""

    def __init__(self) -> None:
        super().__init__(instructions="You take reservations.")

    @function_tool(effect="writes")
    async def book(self, ctx: RunContext[Any], day: str) -> str:
        """Book a table."""
        await asyncio.sleep(0.5)
        return f"booked for {day}"


async def _call(path: Path) -> None:
    llm = FakeLLM([Reply(calls=[("book", {"day": "Friday"})]), "It is booked."])
    journal = JournalWriter(path)
    async with SimulatedCall(llm, turn_handling={"preemptive_generation": {"enabled": False}}) as call:
        journal.listen(call.session)
        await call.start(Host())
        await asyncio.sleep(0.5)
        await call.caller.says("a table on Friday")
        await call.settled()
    journal.close()


@contextmanager
def _watched() -> Iterator[list[str]]:
    """The names of the rules that fire meanwhile."""
    fired: list[str] = []
    whole = []
    for name in rules():
        module_name, _, function_name = name.partition(".")
        module = getattr(conversation, module_name)
        rule = getattr(module, function_name)

        def look(floor: Any, name: str = name, rule: Any = rule) -> bool:
            did = bool(rule(floor))
            if did:
                fired.append(name)
            return did

        whole.append((module, function_name, rule))
        setattr(module, function_name, look)
    try:
        yield fired
    finally:
        for module, function_name, rule in whole:
            setattr(module, function_name, rule)


def turn() -> list[tuple[str, str, str, str]]:
    """(fact, who takes it, rules that fired, what was asked for) of a turn, from the caller's first sound on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "turn.jsonl"
        run_virtual(_call(path))
        journal = read(path)
    rows: list[tuple[str, str, str, str]] = []
    with _watched() as fired:
        for step in steps(journal):
            names = list(dict.fromkeys(fired))
            fired.clear()
            rows.append((*_taken(step), ", ".join(names), ", ".join(_asked(step.commands))))
    begins = next(place for place, row in enumerate(rows) if row[0] == "UserSpeechStarted")
    ends = max(place for place, row in enumerate(rows) if row[0] == "PlayoutFinished")
    many = {fact.__name__ for fact in ONE_OF_MANY}
    shown = [row for row in rows[begins : ends + 1] if (row[0] not in many or row[2]) and any(row[1:])]
    return [row for row, _ in groupby(shown)]


def _taken(step: Step) -> tuple[str, str]:
    fact = step.entry.fact
    if fact is None:
        return "(time passes)", ""
    route = conversation.ROUTES[type(fact)]
    return type(fact).__name__, f"{_module(route)}.{getattr(route, '__name__', '')}"


def _asked(commands: Sequence[Command]) -> Iterator[str]:
    for command in commands:
        if not is_notice(command):
            yield type(command).__name__


# -- the drawings


def drawing() -> str:
    """All three, as Markdown."""
    lines = [BEGIN, "", "Who takes a fact (`ROUTES`):", "", "| `rules/` | facts |", "|---|---|"]
    lines += [f"| `{module}` | {', '.join(f'`{name}`' for name in taken)} |" for module, taken in routes().items()]
    lines += ["", "The rules, in order of right of way (`follow`):", ""]
    lines += [" > ".join(f"`{name}`" for name in rules())]
    rows = [("fact", "taken by", "rules that fire", "asked for"), *turn()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines += ["", "One turn with a call of a tool, as a session by voice brings it:", "", "```"]
    for fact, taken, fired, asked in rows:
        said = f"{fact:<{widths[0]}}  {taken:<{widths[1]}}  {fired:<{widths[2]}}  {asked}"
        lines.append(said.rstrip())
    return "\n".join([*lines, "```", "", END])


def drawn(page: str) -> str:
    """A page with the drawings of today."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + drawing() + after


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.house.turn", description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true", help="put them into docs/architecture.md")
    if parser.parse_args().update:
        PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(drawing())
    return 0


if __name__ == "__main__":
    sys.exit(main())
