"""What of a written answer can be spoken: markup and emoji taken out of text that arrives in pieces."""

from __future__ import annotations

import re

from antiphon.text.words import words

_EMOJI = (
    "\U0001f000-\U0001faff\U000e0020-\U000e007f\u2600-\u27bf\u231a\u231b\u2328\u23cf\u23e9-\u23fa"
    "\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u20e3\ufe0e\ufe0f"
)
_EMOJI_RUN = re.compile(rf"[{_EMOJI}\u200d]+")
_SPECIAL = re.compile(rf"[*_~`\[\n\\{_EMOJI}\u200d]|!(?=\[|\Z)")
_RUN = {mark: re.compile(rf"{re.escape(mark)}+") for mark in "*_~`"}
_LINE_OPENING = re.compile(
    r"[ \t]*(?:(?P<fence>`{3,}|~{3,})"
    r"|(?P<rule>(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t]*(?=\n|\Z))"
    r"|(?P<heading>#{1,6}[ \t]+)"
    r"|(?P<bullet>[-*+•][ \t]+(?:\[[ xX]\][ \t]+)?)"
    r"|(?P<number>\d{1,3}[.)](?=[ \t]))"
    r"|(?P<quote>>[ \t]?)"
    r"|(?P<row>\|))"
)
_LINE_UNDECIDED = re.compile(
    r"[ \t]*(?:`+|~+|[-=*_]+[ \t]*|#{1,6}[ \t]*|[-*+•][ \t]+(?:\[(?:[ xX](?:\][ \t]*)?)?)?|\d{1,3}[.)]?|>)?"
)
_LINK_TEXT = re.compile(r"\[([^\[\]\n]{0,300})(?:(\])|([\[\n])|\Z|)")
_LINK_TARGET = re.compile(r"\((?:[^()\n]|\([^()\n]*\)){0,2000}\)")
_LINK_TARGET_UNDECIDED = re.compile(r"\((?:[^()\n]|\([^()\n]*\)){0,2000}(?:\([^()\n]*)?")
_TABLE_RULE = re.compile(r"[\s:|-]*-[\s:|-]*")
_JSON = re.compile(r"\s*(?:\{|\[\s*[\[{\"])")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class SpeechText:
    """Takes out of written text what cannot be spoken: markdown and emoji.

    Emphasis, headings, bullets, quotes and inline code lose their marks, links become their text, table rows become
    lists, code blocks and rules vanish. The blocks are set apart by empty lines, so that a `SentenceSplitter` keeps
    them apart. Ordinary text passes through unchanged, and without delay but for the character that might begin a mark.
    """

    __slots__ = ("_block", "_buffer", "_fence", "_line_start", "_newlines", "_out", "_previous")

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._buffer = ""
        """Text whose meaning is not known yet."""
        self._line_start = True
        self._block = False
        """The line is a heading, a list item or a table row."""
        self._fence = ""
        """The mark that will end the code block we are in, or ""."""
        self._previous = "\n"
        """The last character taken from the text."""
        self._newlines = 2
        """Line breaks at the end of what was given out; the beginning counts as an empty line."""
        self._out: list[str] = []

    def push(self, piece: str) -> str:
        """Take the next piece of text and return what can be spoken of it so far, "" if nothing can."""
        if not piece:
            return ""
        if not (self._buffer or self._line_start or self._fence or _SPECIAL.search(piece)):
            self._previous = piece[-1]
            self._newlines = 0
            return piece
        self._buffer += piece
        return self._advance(final=False)

    def flush(self) -> str:
        """The text is over: return the rest. The filter is then ready for another text."""
        rest = self._advance(final=True)
        self._reset()
        return rest

    def _advance(self, final: bool) -> str:
        while self._buffer and self._step(final):
            pass
        spoken = "".join(self._out)
        self._out.clear()
        return spoken

    def _step(self, final: bool) -> bool:
        """Take something off the buffer. False: more text is needed."""
        if self._fence:
            return self._step_code(final)
        if self._line_start:
            return self._step_line_start(final)
        special = _SPECIAL.search(self._buffer)
        if special is None:
            self._say(len(self._buffer))
            return True
        if special.start():
            self._say(special.start())
            return True
        match self._buffer[0]:
            case "\n":
                self._drop(1)
                self._break(2 if self._block else 1)
                self._line_start, self._block = True, False
                return True
            case "*" | "_" | "~" | "`":
                return self._step_emphasis(final)
            case "[":
                return self._step_link(final)
            case "!":
                # An image is its description. Without a bracket behind it, the mark ended the piece.
                if len(self._buffer) == 1 and not final:
                    return False
                if self._buffer.startswith("!["):
                    self._drop(1)
                else:
                    self._say(1)
                return True
            case "\\":
                if len(self._buffer) == 1 and not final:
                    return False
                escapes = len(self._buffer) > 1 and self._buffer[1] in _PUNCTUATION
                if escapes:
                    self._drop(1)
                self._say(1)
                return True
            case _:
                return self._step_emoji(final)

    # -- what a step does with the buffer

    def _say(self, length: int) -> None:
        text = self._buffer[:length]
        self._out.append(text)
        self._newlines = 0
        self._drop(length)

    def _drop(self, length: int) -> None:
        if length:
            self._previous = self._buffer[length - 1]
            self._buffer = self._buffer[length:]

    def _break(self, newlines: int) -> None:
        if newlines > self._newlines:
            self._out.append("\n" * (newlines - self._newlines))
            self._newlines = newlines

    # -- the beginnings of lines

    def _step_line_start(self, final: bool) -> bool:
        buffer = self._buffer
        if not final and _LINE_UNDECIDED.fullmatch(buffer):
            return False
        opening = _LINE_OPENING.match(buffer)
        if opening is None:
            if buffer[0] in " \t":
                self._drop(len(buffer) - len(buffer.lstrip(" \t")))
            elif buffer[0] == "\n":
                self._drop(1)
                self._break(2)
            else:
                self._line_start = False
            return True
        match opening.lastgroup:
            case "fence":
                return self._open_fence(opening.group("fence"), final)
            case "rule":
                if opening.end() == len(buffer) and not final:
                    return False
                self._drop(opening.end())
                self._break(2)
                self._line_start = False
            case "quote":
                self._drop(opening.end())
            case "row":
                return self._step_row(final)
            case "number":
                self._break(2)
                self._say(opening.end())
                self._line_start, self._block = False, True
            case _:
                self._break(2)
                self._drop(opening.end())
                self._line_start, self._block = False, True
        return True

    def _open_fence(self, mark: str, final: bool) -> bool:
        line, newline, _ = self._buffer.partition("\n")
        if not newline and not final:
            return False
        if "`" in line.lstrip(" \t").lstrip(mark[0]):
            self._line_start = False  # inline code, though with many marks
            return True
        self._drop(len(line) + len(newline))
        self._fence = mark
        return True

    def _step_code(self, final: bool) -> bool:
        line, newline, _ = self._buffer.partition("\n")
        if not newline and not final:
            return False
        stripped = line.strip()
        if stripped.startswith(self._fence) and not stripped.strip(self._fence[0]):
            self._fence = ""
            self._line_start = True
            self._break(2)
        self._drop(len(line) + len(newline))
        return True

    def _step_row(self, final: bool) -> bool:
        line, newline, rest = self._buffer.partition("\n")
        if not newline and not final:
            return False
        self._break(2)
        self._line_start, self._block = False, True
        row = "" if _TABLE_RULE.fullmatch(line) else ", ".join(c for c in map(str.strip, line.split("|")) if c)
        self._buffer = row + newline + rest
        self._previous = "\n"
        return True

    # -- within lines

    def _step_emphasis(self, final: bool) -> bool:
        mark = self._buffer[0]
        length = _end(_RUN[mark].match(self._buffer))
        if length == len(self._buffer) and not final:
            return False
        following = self._buffer[length : length + 1]
        if _is_emphasis(mark, length, self._previous, following):
            previous = self._previous
            self._drop(length)
            self._previous = previous  # so that marks within marks see the word, not one another
        else:
            self._say(length)
        return True

    def _step_link(self, final: bool) -> bool:
        buffer = self._buffer
        label = _LINK_TEXT.match(buffer)
        assert label is not None  # it matches a single bracket
        closed = label.group(2) is not None
        if label.end() == len(buffer) and label.group(3) is None and len(label.group(1)) < 300 and not final:
            return False
        if closed and buffer[label.end() : label.end() + 1] == "(":
            target = _LINK_TARGET.match(buffer, label.end())
            if target is not None:
                previous = self._previous
                self._buffer = label.group(1) + buffer[target.end() :]
                self._previous = previous
                return True
            if not final and _LINK_TARGET_UNDECIDED.fullmatch(buffer, label.end()):
                return False
        self._say(1)
        return True

    def _step_emoji(self, final: bool) -> bool:
        buffer = self._buffer
        run = _EMOJI_RUN.match(buffer)
        if buffer[0] == "\u200d":
            # A joiner between letters shapes them; the one behind an emoji was taken with it.
            self._say(1)
            return True
        length = _end(run)
        after_space = self._previous.isspace()
        if after_space:
            # "Fine 😊 thanks" must not keep both spaces.
            while length < len(buffer) and buffer[length] == " ":
                length += 1
        if length == len(buffer) and not final:
            return False
        previous = self._previous
        self._drop(length)
        self._previous = previous
        return True


def _is_emphasis(mark: str, length: int, before: str, after: str) -> bool:
    """Whether a run of marks is markup, given the characters beside it ("" at the end of the text)."""
    if mark == "`":
        return True
    if mark == "~":
        return length == 2
    loose = before.isspace() and (not after or after.isspace())
    if loose:
        return False
    within = before.isalnum() and after.isalnum()
    if mark == "_":
        return not within
    return not (within and length == 1 and (before.isdigit() or after.isdigit()))


def speakable(text: str) -> str:
    """What of `text` can be spoken: without markdown and emoji. See `SpeechText`."""
    speech = SpeechText()
    return speech.push(text) + speech.flush()


def is_sayable(text: str) -> bool:
    """Whether a voice can say `text`: there are words in it, and it is not JSON, whole or cut off."""
    return _JSON.match(text) is None and bool(words(speakable(text)))


def _end(match: re.Match[str] | None) -> int:
    assert match is not None  # the pattern matches the empty string, or its first character was seen
    return match.end()
