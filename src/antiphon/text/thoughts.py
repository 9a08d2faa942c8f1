"""What a model thinks, apart from what it says: `<think>` blocks taken out of text that arrives in pieces.

Open reasoning models write their thoughts into the answer, and not every endpoint parts the two. Some chat templates
open the block themselves, so that an answer may begin in the middle of one: such a model says so (`inside=True`).
"""

from __future__ import annotations

import re

_NAMES = ("think", "thinking", "thought", "reasoning")
_MARKS = tuple(f"<{slash}{name}>" for name in _NAMES for slash in ("", "/"))
_LONGEST = max(map(len, _MARKS))
_MARK = re.compile(rf"<(?P<closes>/?)(?:{'|'.join(_NAMES)})>", re.IGNORECASE)


class Thoughts:
    """Parts the thoughts of one answer from its words."""

    __slots__ = ("_buffer", "_has_spoken", "_inside", "_trims")

    def __init__(self, *, inside: bool = False) -> None:
        self._inside = inside
        self._buffer = ""
        """What may be the beginning of a mark."""
        self._has_spoken = False
        self._trims = inside
        """White space between a block that comes first and the words is nobody's words."""

    def push(self, piece: str) -> tuple[str, str]:
        """The next piece: what is said of it, and what is thought."""
        if not self._inside and not self._buffer and not self._trims and "<" not in piece:
            self._has_spoken = self._has_spoken or not piece.isspace()
            return piece, ""
        text = self._buffer + piece
        self._buffer = ""
        said: list[str] = []
        thought: list[str] = []
        while text:
            mark = _MARK.search(text)
            if mark is None:
                kept = _undecided(text)
                (thought if self._inside else said).append(text[: len(text) - kept])
                self._buffer = text[len(text) - kept :]
                break
            (thought if self._inside else said).append(text[: mark.start()])
            text = text[mark.end() :]
            self._inside = not mark["closes"]
            self._trims = self._trims or not (self._has_spoken or "".join(said).strip())
        return self._words("".join(said)), "".join(thought)

    def end(self) -> tuple[str, str]:
        """Nothing more comes. A block that is still open was all thought."""
        rest, self._buffer = self._buffer, ""
        return ("", rest) if self._inside else (self._words(rest), "")

    def _words(self, said: str) -> str:
        if self._trims:
            said = said.lstrip()
        if said and not said.isspace():
            self._has_spoken, self._trims = True, False
        return said


def _undecided(text: str) -> int:
    """How many characters at the end may become a mark."""
    at = text.rfind("<", max(0, len(text) - _LONGEST + 1))
    if at < 0:
        return 0
    tail = text[at:].casefold()
    return len(tail) if any(mark.startswith(tail) for mark in _MARKS) else 0
