"""Typing while the screen moves: a line that is edited, and keys that act at once.

`LineEditor` is pure: characters in, what they mean out. `typing` lends it the terminal: keys are read on the event loop
without waiting for Enter and without echo, and the terminal is given back as it was.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import enum
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from antiphon.server.process import on_sudden_end

_SHOW_CURSOR = b"\x1b[?25h"
"""What is drawn below the transcript hides it."""
LINE_LIMIT = 2000
"""Characters in a line; what is typed beyond is ignored."""


class Key(enum.Enum):
    """A key that acts at once."""

    MUTE = "\x14"  # Ctrl-T
    TALK = " "  # on an empty line
    END = "\x04"  # Ctrl-D on an empty line


@dataclass(slots=True, frozen=True)
class Line:
    """A line was typed and Enter pressed."""

    text: str


Typed: TypeAlias = Line | Key


class LineEditor:
    """The line being typed: letters, Backspace, Ctrl-U (all of it), Ctrl-W (a word), Enter.

    Other control characters and what arrow and function keys send are ignored.
    """

    def __init__(self) -> None:
        self.text = ""
        self._escape = ""
        """An escape sequence under way."""

    def feed(self, characters: str) -> Iterator[Typed]:
        """Take what was typed. Yields what is complete. Iterate to the end."""
        for character in characters:
            typed = self._take(character)
            if typed is not None:
                yield typed

    def _take(self, character: str) -> Typed | None:
        if self._escape or character == "\x1b":
            self._skip_escape(character)
            return None
        match character:
            case "\r" | "\n":
                text, self.text = self.text.strip(), ""
                return Line(text) if text else None
            case "\x7f" | "\b":
                self.text = self.text[:-1]
            case "\x15":
                self.text = ""
            case "\x17":
                self.text = self.text.rstrip().rpartition(" ")[0]
                self.text += " " if self.text else ""
            case Key.MUTE.value:
                return Key.MUTE
            case Key.END.value | Key.TALK.value if not self.text:
                return Key(character)
            case _ if character.isprintable() and len(self.text) < LINE_LIMIT:
                self.text += character
        return None

    def _skip_escape(self, character: str) -> None:
        """Sequences are ESC [ ... letter, ESC O letter, or ESC and one character."""
        self._escape += character
        if len(self._escape) == 1 or self._escape in ("\x1b[", "\x1bO"):
            return
        if not self._escape.startswith("\x1b[") or character.isalpha() or character in "~\x1b":
            self._escape = ""


def can_read_keys() -> bool:
    """True where standard input is a terminal whose keys can be read one by one."""
    try:
        import termios  # noqa: F401 - not on every system
    except ModuleNotFoundError:
        return False
    return sys.stdin is not None and sys.stdin.isatty()


@contextlib.contextmanager
def typing(editor: LineEditor, on_typed: Callable[[Sequence[Typed]], None]) -> Iterator[None]:
    """Inside, `on_typed` is called on the event loop whenever keys were pressed, with what is complete, maybe nothing.

    Needs `can_read_keys`.
    """
    import termios
    import tty

    loop = asyncio.get_running_loop()
    terminal = sys.stdin.fileno()
    decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")

    def read() -> None:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            data = b""
        if not data:  # the terminal has gone
            loop.remove_reader(terminal)
            on_typed([Key.END])
        on_typed(list(editor.feed(decoder.decode(data))))

    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSADRAIN)  # Ctrl-C still interrupts; what was typed before is kept
    loop.add_reader(terminal, read)

    def give_back() -> None:
        with contextlib.suppress(termios.error):  # it has gone
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)

    def give_back_now() -> None:
        give_back()
        os.write(terminal, _SHOW_CURSOR)

    with on_sudden_end(give_back_now):
        try:
            yield
        finally:
            loop.remove_reader(terminal)
            give_back()
