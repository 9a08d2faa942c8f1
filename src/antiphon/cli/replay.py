"""`antiphon replay`: a recorded call made again with an agent file, where it parts, and a test made of it.

Above: `main`. Below: `antiphon.rerun`, and records.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from antiphon.calls.where import as_typed
from antiphon.cli import surroundings
from antiphon.cli.records import brought, place_for, record_with, told
from antiphon.cli.screen import Screen
from antiphon.errors import AntiphonError, UsageError
from antiphon.protocols import ModelKind
from antiphon.records.findings import Finding
from antiphon.records.format import RECORD, Record
from antiphon.records.places import Folder, Place
from antiphon.rerun.as_test import as_test, plain
from antiphon.rerun.expecting import Expectation, expectation_of
from antiphon.rerun.reading import recorded_call
from antiphon.rerun.running import Compared, Rerun, Settings, compare, problems_of, rerun
from antiphon.rerun.steps import Divergence
from antiphon.server.agent_file import load_agent_file
from antiphon.server.entrypoint import AgentServer
from antiphon.visible import one_line, to_json, visible

_TITLE = "Call with "
"""How the titles of records begin that a command made: then comes the name of the agent file."""


async def replay(options: argparse.Namespace, *, named: Mapping[ModelKind, str]) -> bool:
    """Make the call again, show what came of it. Returns whether it is the same; of a test, that it was written."""
    place, record = await _record(options)
    agent = _agent_file(options, record, place)
    settings = Settings(
        models=named,
        asks_others=not options.no_llm,
        run_tools=("*",) if options.run_tools else tuple(options.run_tool),
        strict_models=options.strict_models,
    )
    if options.to_test is not None:
        return await _write_test(options, record, agent, settings)
    screen = Screen(to_stderr=options.json)
    with contextlib.redirect_stdout(sys.stderr), _working(screen):
        compared = await asyncio.to_thread(_compared, record, agent, settings, options.livekit)
    if options.json:
        print(to_json(_as_json(record, agent, compared), indent=2))
    else:
        _show(screen, record, agent, compared, options)
    return compared.divergence is None


def _compared(record: Record, agent: Path, settings: Settings, livekit: bool) -> Compared:
    return compare(record, _server(agent, livekit=livekit), settings)


def _server(agent: Path, *, livekit: bool) -> AgentServer:
    return load_agent_file(agent, livekit=livekit or surroundings.is_written_for_livekit(agent))


async def _record(options: argparse.Namespace) -> tuple[Place | None, Record]:
    """The record that is meant, and where it lies. Raises `UsageError`."""
    given = Path(options.id)
    record = await told(lambda: brought(given))
    if record is not None:
        return Folder(_folder_of(given)), record
    place = place_for(options)
    if place is None:
        raise UsageError(
            "there are no records here. Name their place with --records, or the path of one record. A call that was not"
            " recorded cannot be replayed."
        )
    record = await record_with(place, options.id)
    if record is None:
        raise UsageError(
            f"there is no record of a call {options.id!r} in {place}. It may still be open: a call is recorded when it"
            " ends. `antiphon calls` lists them."
        )
    return place, record


def _folder_of(given: Path) -> Path:
    return given.parent.parent if given.name == RECORD else given.parent


def _agent_file(options: argparse.Namespace, record: Record, place: Place | None) -> Path:
    """The file that is called: the one that is named, else that of the record, beside which records lie."""
    named: Path | None = options.agent or options.agent_file
    if named is None:
        title = str(record.head.get("title", ""))
        if title.startswith(_TITLE) and isinstance(place, Folder):
            beside = place.path.resolve().parent.parent / title.removeprefix(_TITLE)
            named = beside if beside.is_file() else None
    agent = surroundings.agent_file(named)
    if not agent.is_file():
        raise UsageError(f"no such agent file: {agent}. Give the path of a Python file.")
    return agent


@contextmanager
def _working(screen: Screen) -> Iterator[None]:
    """That something is done, on a terminal; nothing elsewhere."""
    if not screen.console.is_terminal:
        yield
        return
    with screen.console.status("Making the call again"):
        yield


# -- what came of it


def _as_json(record: Record, agent: Path, compared: Compared) -> dict[str, Any]:
    now, parted = compared.now, compared.divergence
    return {
        "id": record.id,
        "agent": str(agent),
        "equal": parted is None,
        "divergence": None if parted is None else parted.to_json(),
        "steps": {"recorded": len(compared.recorded), "now": len(now.steps)},
        "answered_instead": {"by": now.other_model, "requests": now.asked_instead},
        "not_run": list(now.not_recorded),
        "ran": list(now.ran),
        "stopped": now.stopped,
        "problems": [{"name": one.finding, "at": one.at, "text": one.text} for one in now.problems],
        "turns": now.head["turns"],
        "tool_calls": now.head["tool_calls"],
    }


def _show(screen: Screen, record: Record, agent: Path, compared: Compared, options: argparse.Namespace) -> None:
    console, now, parted = screen.console, compared.now, compared.divergence
    console.print(Text(f"Call {visible(record.id)}, made again with {as_typed(str(agent))}", "bold"))
    if parted is None:
        console.print(Text(f"Equal: {len(now.steps)} steps, from the first word to the end.", "green"))
    else:
        _show_divergence(screen, compared, parted)
    for call in now.not_recorded:
        console.print(
            Text(f"Not run    {one_line(call)}: it is not in the recording. --run-tools runs tools.", "yellow")
        )
    if now.stopped:
        console.print(Text(f"Stopped    {now.stopped}", "yellow"))
    if now.asked_instead:
        times = "1 request was" if now.asked_instead == 1 else f"{now.asked_instead} requests were"
        console.print(Text(f"Answered   {times} not recorded: answered by {visible(now.other_model)}", "dim"))
    if now.ran:
        console.print(Text(f"Ran        {', '.join(map(visible, now.ran))}: they change the call itself", "dim"))
    problems = problems_of(record)
    if problems:
        console.print()
        for number, one in enumerate(problems, 1):
            console.print(Text(f"{number:3}  {one.at:7.2f}  {one.finding}: {one_line(one.text)}"))
        again = f"antiphon replay {as_typed(options.id)} {as_typed(str(agent))} --to-test test_call.py --finding 1"
        console.print(Text(f"A test of the first of these: {again}", "dim"), soft_wrap=True)


def _show_divergence(screen: Screen, compared: Compared, parted: Divergence) -> None:
    console = screen.console
    console.print(Text(f"Parts at {parted.at:.2f} s: {one_line(parted.what)}", "bold red"))
    before = [step for step in compared.recorded if step.at < parted.at and step.kind in ("heard", "said", "call")][-2:]
    for step in before:
        who = {"heard": "caller", "said": "agent", "call": "call"}[step.kind]
        console.print(Text(f"  {step.at:7.2f}  {who:6}  {one_line(step.text)}", "dim"))
    table = Table(box=None, pad_edge=False, header_style="dim", expand=console.is_terminal)
    table.add_column("recorded", ratio=1, overflow="fold")
    table.add_column("now", ratio=1, overflow="fold")
    table.add_row(Text(parted.recorded or "nothing", "red"), Text(parted.now or "nothing", "green"))
    if console.is_terminal:
        console.print(table)
    else:
        console.print(Text(f"  recorded  {one_line(parted.recorded or 'nothing')}"))
        console.print(Text(f"  now       {one_line(parted.now or 'nothing')}"))


# -- a test


async def _write_test(options: argparse.Namespace, record: Record, agent: Path, settings: Settings) -> bool:
    expectations = _expectations(options, record)
    file: Path = options.to_test
    call = plain(recorded_call(record))
    text = as_test(record, call, expectations, agent=agent, file=file, settings=settings)
    screen = Screen()
    with contextlib.redirect_stdout(sys.stderr), _working(screen):
        now = await asyncio.to_thread(_made_again, agent, text, settings, options.livekit)
    _write(file, text, force=options.force)
    objections = [(one, why) for one in expectations if (why := one.objection(now.head, now.figures))]
    screen.console.print(Text(f"Wrote      {as_typed(str(file))}"))
    if objections:
        for one, why in objections:
            screen.console.print(Text(f"It fails   expected {one_line(str(one))}, but {one_line(why)}", "red"))
        screen.console.print(Text(f"Mend {as_typed(str(agent))}, and run: pytest {as_typed(str(file))}"))
    else:
        screen.console.print(
            Text(
                f"It passes with {as_typed(str(agent))}: what is expected is so there. Without --to-test"
                " the same command shows where the call parts.",
                "yellow",
            )
        )
    return True


def _write(file: Path, text: str, *, force: bool) -> None:
    try:
        with open(file, "w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise UsageError(f"{file} is there already. Choose another name, or --force.") from None
    except OSError as error:
        raise AntiphonError(f"cannot write {file}: {error.strerror or error}. Choose another path.") from None


def _made_again(agent: Path, text: str, settings: Settings, livekit: bool) -> Rerun:
    """The call as the test has it."""
    names: dict[str, Any] = {"__file__": str(agent.resolve()), "__name__": "antiphon_replayed"}
    exec(compile(text, "the test", "exec"), names)
    return rerun(_server(agent, livekit=livekit), names["CALL"], settings)


def _expectations(options: argparse.Namespace, record: Record) -> list[Expectation]:
    """What the test asserts: what is said, else what is wrong with the record. Raises `UsageError`."""
    said = [expectation_of(text) for text in options.expect]
    said += [expectation_of(text, is_not=True) for text in options.expect_not]
    problems = problems_of(record)
    for number in options.finding:
        if not 1 <= number <= len(problems):
            raise UsageError(f"--finding {number}: expected 1 to {len(problems)}. {_listed(problems)}")
        said.append(_of_problem(problems[number - 1]))
    if not said:
        said = _distinct(_of_problem(one) for one in problems)
    if not said:
        raise UsageError(
            "nothing is wrong with this record as far as can be known, so say what a test shall expect:"
            """ --expect 'tool NAME(x="value")', --expect 'once NAME(...)', --expect 'says REGEX', or --expect-not."""
        )
    return said


def _of_problem(one: Finding) -> Expectation:
    tool = one.text.partition("(")[0].split()[-1] if "(" in one.text and one.finding not in ("lost-turn",) else ""
    about = {"tool": tool} if tool.isidentifier() else {}
    return Expectation("problem", one.finding, about, is_not=True)


def _distinct(found: Iterable[Expectation]) -> list[Expectation]:
    return list({str(one): one for one in found}.values())


def _listed(problems: Sequence[Finding]) -> str:
    return "; ".join(f"{number}: {one.finding}" for number, one in enumerate(problems, 1)) or "There are none."
