"""The part of the screen that moves while a call by voice runs: what is happening, the words now, the levels, the line.

`View` is what there is to show, and draws itself at any width; `Stage` keeps it at the bottom of the terminal, below
the transcript that `Screen` prints, and repaints it when something has changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from antiphon.audio import AudioFrame
from antiphon.cli.meters import HOT, Level, bar
from antiphon.events import (
    AgentOutputTranscribedEvent,
    AgentStateChangedEvent,
    UserInputTranscribedEvent,
    UserStateChangedEvent,
)
from antiphon.visible import LONGEST_NAME, one_line, visible

REPAINT = 1 / 15
"""Seconds between two looks at whether something has changed."""
WIDE = 100
"""Columns from which both levels stand on one line."""
_LABEL = 9
"""Columns for who speaks."""

Doing: TypeAlias = Literal["starting", "listening", "thinking", "speaking", "working"]

_DOING: dict[Doing, tuple[str, str]] = {
    "starting": ("Loading the models", "bold bright_black"),
    "listening": ("Listening", "bold cyan"),
    "thinking": ("Thinking", "bold magenta"),
    "speaking": ("Speaking", "bold green"),
    "working": ("Working", "bold yellow"),
}


@dataclass(slots=True)
class View:
    """What the moving part shows."""

    caller: Level = field(default_factory=Level)
    agent: Level = field(default_factory=Level)
    doing: Doing = "starting"
    tools: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Tools that run: name and beginning, by call."""
    now: float = 0.0
    """Seconds since the call began."""
    caller_speaks: bool = False
    words: str = ""
    """What is being said now, so far."""
    speaker: Literal["user", "assistant"] = "assistant"
    """Who says it."""
    muted: bool = False
    push_to_talk: bool = False
    """The caller is muted unless they press the key."""
    response: float | None = None
    """Seconds that the caller waited for the last answer."""
    typed: str = ""

    def hear(self, now: float, recorded: AudioFrame, given: AudioFrame) -> None:
        """The next piece of what the microphone gave and of what the loudspeaker got."""
        self.now = now
        self.caller.hear(recorded)
        self.agent.hear(given)

    def agent_state_changed(self, event: AgentStateChangedEvent) -> None:
        """What the agent does now."""
        state = event.new_state
        self.doing = state if state in ("thinking", "speaking") else "listening"

    def user_state_changed(self, event: UserStateChangedEvent) -> None:
        """Whether the caller speaks."""
        self.caller_speaks = event.new_state == "speaking"

    def user_input_transcribed(self, event: UserInputTranscribedEvent) -> None:
        """The caller's words so far."""
        self.words, self.speaker = event.transcript, "user"

    def agent_output_transcribed(self, event: AgentOutputTranscribedEvent) -> None:
        """The agent's words so far."""
        self.words, self.speaker = event.transcript, "assistant"

    def written_down(self, speaker: str) -> None:
        """What they said stands in the transcript now."""
        if self.speaker == speaker:
            self.words = ""

    def snapshot(self) -> object:
        """Equal for two moments that look the same."""
        shown = (self.doing, tuple(self.tools), int(self.now * (5 if self.tools else 1)), self.caller_speaks)
        words = (self.words, self.speaker, self.muted, self.response, self.typed)
        return (*shown, *words, round(self.caller.share * 160), round(self.agent.share * 160))

    # -- drawing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        yield self._head(width)
        yield from self._spoken(width)
        yield from self._levels(width)
        yield self._input(width)
        yield _cut(self._help(), width)

    def _head(self, width: int) -> Text:
        name, style = _DOING[self._doing()]
        title = Text.assemble(("● ", style), (name, style))
        for name, began in list(self.tools.values())[:2]:
            tool = one_line(name, LONGEST_NAME)
            title.append(f"  {tool}", style="yellow").append(f" {self.now - began:.1f} s", style="dim")
        if self.muted:
            title.append("  microphone off", style="bold red")
        right = Text(f"{int(self.now) // 60}:{int(self.now) % 60:02d}", style="dim")
        if self.response is not None:
            right = Text.assemble((f"answered in {1000 * self.response:.0f} ms  ", "dim"), right)
        line = Text.assemble(("── ", "bright_black"), title, " ")
        fill = width - line.cell_len - right.cell_len - 4
        if fill < 1:
            return _cut(line, width)
        return Text.assemble(line, ("─" * fill, "bright_black"), " ", right, (" ──", "bright_black"))

    def _doing(self) -> Doing:
        return "working" if self.tools and self.doing in ("thinking", "listening") else self.doing

    def _spoken(self, width: int) -> Iterator[Text]:
        """Two lines, always: what moves must not make the rest jump."""
        room = width - _LABEL - 2
        lines = (
            list(Text(visible(self.words)).wrap(Console(width=max(room, 10)), max(room, 10)))[-2:] if self.words else []
        )
        who, style = ("You", "bold blue") if self.speaker == "user" else ("Agent", "bold green")
        for number in range(2):
            label = who if number == 0 and lines else ""
            words = lines[number].plain.rstrip() if number < len(lines) else ""
            yield _cut(Text.assemble((f"  {label:<{_LABEL - 2}}", style), (words, "italic")), width)

    def _levels(self, width: int) -> Iterator[Text]:
        wide = width >= WIDE
        room = (width // 2 if wide else width) - _LABEL - 4
        mine = self._level("You", self.caller, "bright_black" if self.muted else _mine(self.caller_speaks), room)
        its = self._level("Agent", self.agent, "green", room)
        if wide:
            yield Text.assemble(mine, "  ", its)
        else:
            yield mine
            yield its

    @staticmethod
    def _level(who: str, level: Level, style: str, width: int) -> Text:
        return Text.assemble(
            (f"  {who:<{_LABEL - 2}}", "dim"), bar(level.share, width, style, hot=level.decibels > HOT)
        )

    def _input(self, width: int) -> Text:
        room = width - 6
        shown = self.typed if len(self.typed) <= room else "…" + self.typed[-(room - 1) :]
        line = Text.assemble(("  > ", "bold blue"), shown, (" ", "reverse"))
        if not self.typed and self.doing != "starting":
            hint = "type, or press Space and talk" if self.push_to_talk else "type, or just talk"
            line.append(f" {hint}", style="bright_black")
        return _cut(line, width)

    def _help(self) -> Text:
        keys = [("Enter", "says it"), ("Ctrl-T", "microphone on" if self.muted else "microphone off")]
        if self.push_to_talk:
            keys[1] = ("Space", "talk" if self.muted else "done talking")
        keys.append(("Ctrl-D", "hangs up"))
        line = Text("  ")
        for key, what in keys:
            line.append(key, style="bold").append(f" {what}   ", style="dim")
        return line


def _mine(speaks: bool) -> str:
    return "bright_blue" if speaks else "blue"


def _cut(line: Text, width: int) -> Text:
    line.truncate(width)
    line.no_wrap = True
    return line


class Moving(Protocol):
    """What a stage can show."""

    def snapshot(self) -> object:
        """Equal for two moments that look the same."""
        ...

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it."""
        ...


class Stage:
    """Keeps something, such as a `View`, at the bottom of a terminal."""

    def __init__(self, console: Console, view: Moving) -> None:
        self._view = view
        self._live = Live(
            view, console=console, auto_refresh=False, transient=True, redirect_stderr=sys.stderr.isatty()
        )

    @contextlib.asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Show it inside. What is printed or logged meanwhile appears above it."""
        with self._live, _logging_above():
            painting = asyncio.create_task(self._paint(), name="paint the stage")
            try:
                yield
            finally:
                painting.cancel()
                await asyncio.wait([painting])

    async def _paint(self) -> None:
        shown: object = None
        while True:
            now = self._view.snapshot()
            if now != shown:
                shown = now
                self._live.refresh()
            await asyncio.sleep(REPAINT)


@contextlib.contextmanager
def _logging_above() -> Iterator[None]:
    """Handlers hold the standard error that was; inside, they write to the one that goes above the stage."""
    handlers = [h for h in logging.getLogger("antiphon").handlers if isinstance(h, logging.StreamHandler)]
    before = [(handler, handler.setStream(sys.stderr)) for handler in handlers]
    try:
        yield
    finally:
        for handler, stream in before:
            if stream is not None:
                handler.setStream(stream)
