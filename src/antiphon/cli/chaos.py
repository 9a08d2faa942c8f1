"""`antiphon chaos`: the tools of an agent file in calls where everything goes wrong, and what is found.

None of its functions is run, and no model is asked: stand-ins and an honest model take their place. Above: `main`.
Below: `antiphon.testing.chaos`, which makes the calls and judges them.
"""

from __future__ import annotations

import asyncio
import random
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.calls.models import ModelChoice
from antiphon.calls.start import start_session
from antiphon.cli.screen import Screen
from antiphon.errors import AntiphonError, UsageError
from antiphon.server.entrypoint import AgentServer
from antiphon.server.room import Room
from antiphon.testing.chaos.call import Case
from antiphon.testing.chaos.errand import Errand
from antiphon.testing.chaos.many import MEDIA, Job, Summary, try_case
from antiphon.testing.chaos.own import POSSIBLE, Left, errands_in, errands_of, function_tools
from antiphon.testing.chaos.shrink import shrink
from antiphon.testing.chaos.verdict import WRONGS, Finding
from antiphon.tools.function import AnyFunctionTool
from antiphon.tools.toolset import ToolContext
from antiphon.visible import to_json

MOST_SHRUNK = 3
"""Findings that are made short."""


@dataclass(slots=True, frozen=True)
class Wanted:
    """What is to be tried."""

    calls: int
    seed: str
    dialogue: Path | None = None
    journals: Path | None = None
    """Where the journals of what goes wrong are kept."""


@dataclass(slots=True)
class Tried:
    """What was found."""

    tools: Sequence[AnyFunctionTool]
    left: Sequence[Left]
    summary: Summary
    seed: str
    short: Sequence[str]

    @property
    def counted(self) -> list[Finding]:
        """What is wrong with tools that say that they write: of others nothing is promised."""
        unsaid = {tool.name for tool in self.tools if tool.options.effect == "unsaid"}
        return [finding for finding in self.summary.findings if finding.tool not in unsaid]

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {
            "seed": self.seed,
            "calls": self.summary.calls,
            "faults": dict(self.summary.faults),
            "writes": self.summary.writes,
            "unknown": self.summary.unknown,
            "wrong": {wrong: self.summary.count(wrong) for wrong in WRONGS},
            "tools": [
                {"name": tool.name, "effect": tool.options.effect, **self.summary.tools.get(tool.name, {})}
                for tool in self.tools
            ],
            "left_out": [{"name": left.tool, "why": left.why} for left in self.left],
            "findings": [str(finding) for finding in self.summary.findings],
            "short": list(self.short),
        }

    def lines(self) -> list[str]:
        """As people read it."""
        lines = []
        for tool in self.tools:
            counts: Mapping[str, int] = self.summary.tools.get(tool.name, {})
            wrong = ", ".join(f"{counts[wrong]} {wrong}" for wrong in WRONGS if counts.get(wrong))
            said = {"unsaid": "does not say what it does"}.get(tool.options.effect, tool.options.effect)
            lines.append(f"{tool.name} ({said}): started {counts.get('starts', 0)} times; {wrong or 'nothing wrong'}")
            if wrong and tool.options.effect == "unsaid":
                lines.append(
                    f'  Of such a tool nothing is promised. Say effect="reads" or effect="writes" of {tool.name}.'
                )
        lines += [f"{left.tool} was not tried: {left.why}" for left in self.left]
        lines += list(self.short)
        return [*lines, f"seed {self.seed}: {self.summary.sentence}"]


async def tools_of(server: AgentServer, screen: Screen) -> list[AnyFunctionTool]:
    """The tools of the agent that takes a call, which ends at once. It is made with local models."""
    models = ModelChoice(named={"llm": "local"}, strict=False, voice=False, notice=screen.notice)
    async with server.job(Room(), models=models) as job:
        session = await start_session(job)
        table, _ = ToolContext.leaving_out_unusable([*session.current_agent.tools, *session.tools])
        return function_tools(list(table.function_tools.values()))


async def chaos(server: AgentServer, wanted: Wanted, *, screen: Screen) -> Tried:
    """Make the calls. Raises `AntiphonError` where there is nothing to try."""
    tools = await tools_of(server, screen)
    if not tools:
        raise UsageError("antiphon chaos: expected an agent with tools, got none: nothing of it can be doubled or lost")
    left: list[Left] = []
    if wanted.dialogue is None:
        errands, left = errands_of(tools)
    else:
        try:
            errands = errands_in(wanted.dialogue.read_text(encoding="utf-8"), tools)
        except OSError as error:
            raise AntiphonError(
                f"cannot read {wanted.dialogue}: {error.strerror}. Give a file with a dialogue."
            ) from None
    if not errands:
        raise UsageError(f"antiphon chaos: nothing can be tried. {left[0].tool}: {left[0].why}. Give --dialogue FILE.")
    stopped = threading.Event()
    try:
        return await asyncio.to_thread(_try, tools, errands, left, wanted, stopped)
    finally:
        stopped.set()


def _try(
    tools: Sequence[AnyFunctionTool],
    errands: Sequence[Errand],
    left: Sequence[Left],
    wanted: Wanted,
    stopped: threading.Event,
) -> Tried:
    summary = Summary()
    cases = list(_cases(errands, wanted))
    shows = sys.stderr.isatty()
    for number, case in enumerate(cases, 1):
        if stopped.is_set():
            break
        summary.add(try_case(case))
        if shows:
            wrong = f"{len(summary.findings)} findings" if summary.findings else "nothing found"
            print(f"\r{number} of {len(cases)} calls, {wrong} ", end="", file=sys.stderr, flush=True)
    if shows:
        print(file=sys.stderr)
    return Tried(tools, left, summary, wanted.seed, _short(summary, wanted, stopped))


def _cases(errands: Sequence[Errand], wanted: Wanted) -> list[Case]:
    """Without a fault, then so many with one or two, drawn among all points."""
    rng = random.Random(wanted.seed)
    single: list[Case] = []
    plain: list[Case] = []
    for errand in errands:
        for medium in MEDIA:
            plain += Job(errand, "none", medium, wanted.seed).cases()
            single += Job(errand, "every", medium, wanted.seed, kinds=POSSIBLE).cases()
            pairs = Job(errand, "pairs", medium, wanted.seed, most=wanted.calls // (4 * len(errands)), kinds=POSSIBLE)
            single += pairs.cases()
    few = max(0, wanted.calls - len(plain))
    return plain + (rng.sample(single, few) if few < len(single) else single)


def _short(summary: Summary, wanted: Wanted, stopped: threading.Event) -> list[str]:
    lines = []
    first: dict[str, Finding] = {}
    for finding in summary.findings:
        first.setdefault(f"{finding.wrong} {finding.tool}", finding)
    for number, finding in enumerate(list(first.values())[:MOST_SHRUNK], 1):
        if stopped.is_set():
            break
        short = shrink(finding, most=100)
        kept = ""
        if wanted.journals is not None and short.journal is not None:
            wanted.journals.mkdir(parents=True, exist_ok=True)
            path = wanted.journals / f"{number}-{finding.wrong.replace(' ', '-')}.jsonl"
            short.journal.save(path)
            kept = f"; its journal is {path}"
        lines.append(f"{short}{kept}")
    return lines


def tell(tried: Tried, *, as_json: bool) -> None:
    """Print what was found."""
    print(to_json(tried.to_json(), indent=2) if as_json else "\n".join(tried.lines()))
