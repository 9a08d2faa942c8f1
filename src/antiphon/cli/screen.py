"""What the command line shows while a call runs: the transcript, tool calls, latencies. One line each, for people.

Everything goes to one rich console, on standard output, or on standard error where standard output is for a machine.
Texts of callers and tools are shown as they are, never read as markup.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from antiphon.cli.call_log import CallReport, ToolCallRecord, Turn

if TYPE_CHECKING:
    from rich.status import Status


class Screen:
    """A terminal, or whatever stands in its place."""

    def __init__(self, *, to_stderr: bool = False) -> None:
        stream = sys.stderr if to_stderr else sys.stdout
        # Lines are wrapped for people only: what reads a pipe wants one line for each thing.
        self.console = Console(file=stream, highlight=False, soft_wrap=not stream.isatty())
        self._status: Status | None = None

    def notice(self, line: str) -> None:
        """Something worth knowing."""
        self._print(Text(line, style="dim"))

    def interim(self, text: str) -> None:
        """The caller's words so far; replaced by the next ones. Only on a terminal."""
        if not self.console.is_terminal:
            return
        if self._status is None:
            self._status = self.console.status("")
            self._status.start()
        self._status.update(Text(text, style="dim italic"))

    def turn(self, turn: Turn) -> None:
        """What was said."""
        self.settle()
        who, style = ("Caller", "bold blue") if turn.role == "user" else ("Agent ", "bold green")
        line = Text.assemble((f"{_clock(turn.started)}  ", "dim"), (who, style), "  ", turn.text)
        if turn.interrupted:
            line.append("  [cut by the caller]", style="red")
        if turn.latency_ms is not None:
            line.append(f"  {turn.latency_ms:.0f} ms", style="dim")
        self._print(line)

    def tool(self, call: ToolCallRecord) -> None:
        """A tool call begins, or has ended."""
        self.settle()
        arguments = ", ".join(
            f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items()
        )
        if call.status == "running" and not call.output:
            line = Text.assemble(
                (f"{_clock(call.started)}  ", "dim"), ("Tool  ", "bold yellow"), f"  {call.name}({arguments})"
            )
        else:
            style = "red" if call.is_error else "yellow"
            line = Text.assemble(
                ("      ", "dim"),
                ("      ", ""),
                (f"  -> {call.output}" if call.output else "  -> (nothing)", style),
                (f"  {_outcome(call)}", "dim"),
            )
        self._print(line)

    def summary(self, report: CallReport) -> None:
        """The figures of a finished call by voice."""
        self.settle()
        latency = report.latency["voice_to_voice_ms"]
        if latency["values"]:
            self.notice(
                f"Voice to voice: median {latency['p50']:.0f} ms, 95th percentile {latency['p95']:.0f} ms,"
                f" {len(latency['values'])} answers"
            )
        for error in report.errors:
            self._print(Text(f"error  {error}", style="red"))

    def settle(self) -> None:
        """Take away what was shown for the moment."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _print(self, line: Text) -> None:
        self.console.print(line)


def _outcome(call: ToolCallRecord) -> str:
    return call.status if call.ended is None else f"{call.status}, {call.ended - call.started:.2f} s"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
