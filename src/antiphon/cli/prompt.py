"""Typing into a text chat while it goes on: what is typed stands whole below whatever is shown meanwhile.

Above: `console.py`. Below: `LineEditor`, which makes keys a line, and `Stage`, which keeps it at the bottom.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.text import Text

from antiphon.cli.keys import Key, Line, LineEditor, Typed, typing
from antiphon.cli.screen import Screen, hanging
from antiphon.cli.stage import Stage

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

MOST_LINES = 1000
"""Lines that may wait to be answered; what is typed beyond is ignored."""


@dataclass(slots=True)
class Prompt:
    """The line being typed."""

    typed: str = ""

    def snapshot(self) -> object:
        """Equal for two moments that look the same."""
        return self.typed

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # A cursor of its own, and no space: where a line is wrapped, spaces at its end are lost.
        line = Text.assemble(self.typed, ("\u2588", "blink"))
        yield hanging(Text("> ", style="bold blue"), line, console, options.max_width)


class TypedChat:
    """Lines typed on a terminal whose keys can be read, each put above when Enter is pressed."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._prompt = Prompt()
        self._editor = LineEditor()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(MOST_LINES)
        """None: nothing more comes."""

    @contextlib.asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Show the line inside; lines can be typed from now on."""
        with typing(self._editor, self._on_typed):
            async with Stage(self._screen.console, self._prompt).shown():
                yield

    async def lines(self, ended: asyncio.Future[Any]) -> AsyncIterator[str]:
        """The lines, until Ctrl-D is pressed on an empty one or `ended` is done."""
        while not ended.done():
            line = asyncio.create_task(self._lines.get())
            try:
                await asyncio.wait([line, ended], return_when=asyncio.FIRST_COMPLETED)
                text = line.result() if line.done() else None
            finally:
                line.cancel()
            if text is None:
                return
            yield text

    def _on_typed(self, typed: Sequence[Typed]) -> None:
        with contextlib.suppress(asyncio.QueueFull):
            for one in typed:
                match one:
                    case Line(text=text):
                        self._lines.put_nowait(text)
                        self._screen.typed(text)
                    case Key.END:
                        self._lines.put_nowait(None)
        self._prompt.typed = self._editor.text
