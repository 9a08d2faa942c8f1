"""What tools do, in the log: a line for each call, whoever called it, by text, by voice or by a realtime model.

Above: the driver, which has it among its observers where the logger `antiphon.tools` is on when a session begins.
Below: logging. A line names the tool, the id of the call, what became of it and what it took; arguments and results,
which may be anybody's secrets, are for DEBUG.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from antiphon.chat import FunctionCallOutput
from antiphon.core.commands import Command, RebindRun, Record, RunTool
from antiphon.core.facts import Call, EndRequested, Fact, ToolReturned, ToolUpdated
from antiphon.core.notices import ConsentDecided, Notice, ToolDropped, ToolEnded
from antiphon.runtime.observers import Observer
from antiphon.visible import one_line

logger = logging.getLogger("antiphon.tools")


@dataclass(slots=True)
class _Run:
    call: Call
    began: float
    output: str = ""
    """What it returned, once it did."""

    def returned(self, output: str) -> None:
        """It has a result."""
        self.output = output

    def adopted(self, call: Call) -> None:
        """It serves another call now."""
        self.call = call


class ToolLog(Observer):
    """Watches one session."""

    def __init__(self) -> None:
        self._runs: dict[int, _Run] = {}
        self._ran: set[str] = set()
        """Ids of calls that were run, and whose output is not in the history yet."""
        self._void: set[str] = set()
        """Ids of calls that were read back, and that the caller did not agree to."""

    def fact(self, at: float, fact: Fact) -> None:
        match fact:
            case ToolReturned() if (run := self._runs.get(fact.run)) is not None:
                run.returned(fact.output)
            case ToolUpdated() if (run := self._runs.get(fact.run)) is not None:
                logger.debug("%s goes on, and reports %s", _named(run.call), one_line(fact.message))
            case EndRequested():
                logger.info("end_call: the call ends after this goodbye, unless the caller has more to say")

    def command(self, at: float, command: Command) -> None:
        match command:
            case RunTool():
                self._runs[command.run] = _Run(command.call, at)
                self._ran.add(command.call.call_id)
                logger.debug("%s called with %s", _named(command.call), one_line(command.call.arguments))
            case RebindRun():
                self._ran.add(command.call.call_id)
                logger.info("%s takes over an equal run that the caller had spoken over", _named(command.call))
                if (run := self._runs.get(command.run)) is not None:
                    run.adopted(command.call)
            case Record(item=FunctionCallOutput() as output, carried=False):
                self._recorded(output)

    def notice(self, at: float, notice: Notice) -> None:
        match notice:
            case ToolDropped() if (run := self._runs.get(notice.run)) is not None:
                self._ran.discard(run.call.call_id)
                logger.info("%s dropped after %.2f s: nobody waits for it any more", _named(run.call), at - run.began)
            case ConsentDecided() if notice.decision != "yes":
                self._void.add(notice.call.call_id)
            case ToolEnded() if (run := self._runs.pop(notice.run, None)) is not None:
                _tell_end(run, notice.outcome, at)

    def _recorded(self, output: FunctionCallOutput) -> None:
        """An output enters the history. If no run gave it, the call was refused."""
        if output.call_id in self._ran:
            self._ran.discard(output.call_id)
        elif "/" not in output.call_id:  # what a run in the background tells later has the id of its call and a "/"
            why = "it cannot be run as it was made" if output.is_error else "the same was done or is being done"
            if output.call_id in self._void:
                self._void.discard(output.call_id)
                why = "the caller did not agree to it"
            told = f": {one_line(output.output)}" if logger.isEnabledFor(logging.DEBUG) else ""
            logger.info("tool %s (%s) refused, %s%s", one_line(output.name), one_line(output.call_id), why, told)


def _tell_end(run: _Run, outcome: str, at: float) -> None:
    told = f": {one_line(run.output)}" if run.output and logger.isEnabledFor(logging.DEBUG) else ""
    logger.info("%s %s after %.2f s%s", _named(run.call), outcome, at - run.began, told)


def _named(call: Call) -> str:
    return f"tool {one_line(call.name)} ({one_line(call.call_id)})"


def log_tools(observe: Callable[[Observer], None]) -> None:
    """Keep the log of a session, if anybody reads it."""
    if logger.isEnabledFor(logging.INFO):
        observe(ToolLog())
