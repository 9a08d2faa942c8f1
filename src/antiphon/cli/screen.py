"""What the command line shows while a call runs: the transcript, tool calls, latencies. One line each, for people.

Everything goes to one rich console, on standard output, or on standard error where standard output is for a machine.
Texts of callers and tools are shown as they are, never read as markup.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO, cast

from rich.console import Console
from rich.text import Text

from antiphon.calls.record import CallRecord, CallReport, Claim, ConsentRecord, ToolCallRecord, ToolStep, Turn
from antiphon.calls.start import describe_guarantees
from antiphon.chat import FunctionCall
from antiphon.cli.logs import was_told
from antiphon.metrics import TurnMetrics
from antiphon.session import AgentSession
from antiphon.visible import LONGEST_NAME, LONGEST_SHOWN, one_line, shortened, to_json, visible

if TYPE_CHECKING:
    from rich.status import Status


class _Lasting:
    """A stream whose reader may go away: what is shown is not worth a call that is under way."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Screen:
    """A terminal, or whatever stands in its place."""

    def __init__(self, *, to_stderr: bool = False) -> None:
        stream = sys.stderr if to_stderr else sys.stdout
        # Lines are wrapped for people only: what reads a pipe wants one line for each thing.
        self.console = Console(file=cast("TextIO", _Lasting(stream)), highlight=False, soft_wrap=not stream.isatty())
        self._status: Status | None = None

    def follow(self, record: CallRecord, on_turn: Callable[[Turn], None]) -> None:
        """Show the tools of a call. Its turns are for `on_turn`, which shows them if they shall be."""
        record.on("turn", on_turn)
        record.on("tool", self.tool)
        record.on("error", self.error)
        record.on("consent", self.consent)
        record.on("claim", self.claim)

    def consent(self, call: FunctionCall, consent: ConsentRecord) -> None:
        """It is decided whether a call is made that was read back."""
        if not consent.decision:
            return
        self.settle()
        heard = f"heard {consent.heard!r}, " if consent.heard else ""
        told = f"{one_line(call.name, LONGEST_NAME)}: {heard}{consent.decision} by {consent.by}"
        style = "green" if consent.decision == "yes" else "red"
        self._print(Text.assemble(_MARGIN, ("?  ", style)), Text(visible(told), style="dim"))

    def claim(self, claim: Claim) -> None:
        """The agent claims what no tool has done."""
        self.settle()
        told = f"claims {claim.done!r}, and no tool has done it: {shortened(one_line(claim.sentence), LONGEST_SHOWN)}"
        self._print(Text.assemble(_MARGIN, ("!  ", "red")), Text(told, style="red"))

    def notice(self, line: str) -> None:
        """Something worth knowing."""
        self.console.print(Text(visible(line), style="dim"))

    def promises(self, session: AgentSession[Any]) -> None:
        """How often its tools that write take effect, if it has any."""
        if line := describe_guarantees(session):
            self.notice(line)

    def address(self, url: str) -> None:
        """What to open in a browser. Terminals that can make it a link do."""
        self.console.print(Text.assemble(("Open       ", "dim"), (url, f"bold link {url}")))

    def interim(self, text: str) -> None:
        """The caller's words so far; replaced by the next ones. Only on a terminal."""
        if not self.console.is_terminal:
            return
        if self._status is None:
            self._status = self.console.status("")
            self._status.start()
        self._status.update(Text(one_line(text), style="dim italic"))

    def turn(self, turn: Turn) -> None:
        """What was said."""
        self.settle()
        who, style = ("Caller", "bold blue") if turn.role == "user" else ("Agent ", "bold green")
        said = Text(visible(turn.text))
        if turn.interrupted:
            said.append("  [cut short]" if turn.overtaken else "  [cut by the caller]", style="red")
        if turn.aside:
            said.append("  [filler]", style="dim")
        self._print(Text.assemble((f"{_clock(turn.started)}  ", "dim"), (who, style), "  "), said)

    def typed(self, text: str) -> None:
        """A line that was typed at the prompt."""
        self._print(Text("> ", style="bold blue"), Text(visible(text)))

    def reply(self, reply: TurnMetrics) -> None:
        """How long the caller waited for an answer, and for what."""
        figures = reply_figures(reply)
        if figures:
            self.settle()
            self._print(_MARGIN, Text(figures, style="dim"))

    def tool(self, call: ToolCallRecord, step: ToolStep) -> None:
        """A tool call begins, or it is known what came of it. Other steps are not shown."""
        if step in ("updated", "dropped", "ended"):
            return
        self.settle()
        name = one_line(call.name, LONGEST_NAME)
        given = ", ".join(f"{name}={to_json(value)}" for name, value in call.arguments.items())
        arguments = one_line(given, _LONGEST_OUTPUT)
        if step in ("started", "called"):
            head = Text.assemble((f"{_clock(call.started)}  ", "dim"), ("Tool  ", "bold yellow"), "  ")
            self._print(head, Text(f"{name}({arguments})"))
        else:
            style = "red" if call.is_error else "yellow"
            output = Text.assemble(
                (visible(shortened(call.output, _LONGEST_OUTPUT)) or "(nothing)", style), (f"  {_outcome(call)}", "dim")
            )
            self._print(Text.assemble(_MARGIN, ("-> ", style)), output)

    def error(self, told: str) -> None:
        """What failed, where the log has not said it."""
        if not was_told(told):
            self.settle()
            self._print(Text("error  ", style="red"), Text(one_line(told), style="red"))

    def failed(self, shortcomings: Sequence[str]) -> None:
        """The call did not go well. The exit code says so, too."""
        self._print(Text("The call did not go well: ", style="red"), Text(f"{'; '.join(shortcomings)}.", style="red"))

    def summary(self, report: CallReport) -> None:
        """The figures of a finished call."""
        self.settle()
        metrics = report.metrics
        latency = report.latency["voice_to_voice_ms"]
        if latency["values"]:
            self.notice(
                f"Voice to voice: median {latency['p50']:.0f} ms, 95th percentile {latency['p95']:.0f} ms,"
                f" {len(latency['values'])} answers"
            )
            self.notice(
                f"Dead air: {span(metrics.dead_air)} in all, {span(metrics.longest_silence)} at a time;"
                f" {metrics.interruptions} of {metrics.replies} replies cut, {metrics.tools} tool calls"
            )
        if metrics.completion_tokens:
            self.notice(f"Tokens: {metrics.prompt_tokens:,} read, {metrics.completion_tokens:,} written")

    def interrupted(self) -> None:
        """Ctrl-C was pressed, or a signal came, and the call is brought to its end."""
        self.settle()
        if self.console.is_terminal:
            self.console.print()  # behind the "^C" that the terminal shows
        self.notice("Interrupted: the call ends, and what there is of it is kept. A second time hastens it.")

    def settle(self) -> None:
        """Take away what was shown for the moment."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _print(self, head: Text, body: Text) -> None:
        self.console.print(hanging(head, body, self.console, None if self.console.soft_wrap else self.console.width))


_MARGIN = Text(" " * 14)
"""As wide as the time and who speaks."""
_NARROWEST = 20
"""Columns that a text has on the narrowest terminal."""


def hanging(head: Text, body: Text, console: Console, width: int | None) -> Text:
    """A text behind its head, and its further lines below the first. `width`: columns; None: no line is wrapped."""
    if width is None:
        lines = body.split("\n", allow_blank=True)
    else:
        lines = body.wrap(console, max(width - head.cell_len, _NARROWEST))
        for line in lines:
            line.rstrip()
    return Text.assemble(head, Text(f"\n{'':{head.cell_len}}").join(lines))


def reply_figures(reply: TurnMetrics) -> str:
    """One line: the wait for the first sound (in text: for all of it), and what it was spent on.

    "" for what was no answer to the caller.
    """
    if not reply.answers_caller:
        return ""
    since, first, answer = reply.waiting_since, reply.first_audio, reply.first_answer
    if first is None:
        cut = reply.interrupted_at
        return _spent("answer", reply, since, reply.ended) if cut is None else _spent("cut", reply, since, cut)
    if answer is None or answer - first < _ONE_SOUND:
        parts = [_spent("answer", reply, since, first)]
    else:
        parts = [_spent("first sound", reply, since, first), _spent("answer", reply, first, answer)]
    if reply.dead_air - (first - since) > _WORTH_TELLING:
        parts.append(f"silent {span(reply.dead_air)} in all")
    return " · ".join(parts)


_ONE_SOUND = 0.05
"""Seconds within which the first sound and the answer are told as one."""
_WORTH_TELLING = 0.1
"""Seconds of silence beyond the wait for the first sound that are told."""


def _spent(what: str, reply: TurnMetrics, since: float, until: float) -> str:
    """The wait for `until`, and what was done between `since` and then."""
    spent: dict[str, float] = {}
    for stage in reply.path(until):
        if stage.ended > since:
            spent[stage.name] = spent.get(stage.name, 0.0) + stage.ended - max(stage.started, since)
    shares = [f"{name} {span(seconds)}" for name, seconds in spent.items() if seconds >= 0.001]
    waited = f"{what} {span(until - reply.waiting_since)}"
    return f"{waited} ({', '.join(shares)})" if shares else waited


def span(seconds: float) -> str:
    """For example "620 ms", "3.20 s" or "12.5 s"."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"


_LONGEST_OUTPUT = 600
"""Characters of a tool's output, or its arguments, that are shown."""


def _outcome(call: ToolCallRecord) -> str:
    return call.status if call.ended is None else f"{call.status}, {call.ended - call.started:.2f} s"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
