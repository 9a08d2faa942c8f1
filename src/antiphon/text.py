"""Text on its way to a voice: sentences, words, and what of a written answer can be spoken.

A model writes in small pieces. `SpeechText` takes markup and emoji out of them, `SentenceSplitter` gathers what is
left into sentences, and a voice speaks those. Both are incremental and pure: what comes out depends on the whole text
alone, never on where it was cut into pieces. Neither knows a language; the few word lists only prevent wrong cuts.

This module imports nothing of Antiphon. Voices, recognisers and the session build on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# -- sentences

_OPENING = "\"'“‘«‹([{*_¿¡「『【（"  # noqa: RUF001
_CLOSING = re.compile(r"[\"'”’»›)\]}*_」』】）]*")  # noqa: RUF001
_STOPS = re.compile(r"[.!?…。！？｡।؟۔]+")  # noqa: RUF001
_FULL_STOPS = frozenset("。！？｡।؟۔")  # noqa: RUF001  # they end a sentence without a space behind them
_MARKS = re.compile(r"[.!?…。！？｡।؟۔\n]")  # noqa: RUF001
_MARKS_AND_CLAUSES = re.compile(r"[.!?…。！？｡।؟۔\n,;:，、；]")  # noqa: RUF001
_CLAUSE_ENDS = re.compile(r"[,;:][\"'”’)\]]*(?=\s)|[—–](?=\s)|[，、；：]")  # noqa: RUF001
_CLAUSE_MARKS = frozenset(",;:")
_WIDE_CLAUSE_MARKS = frozenset("，、；")  # noqa: RUF001
_SPACE = re.compile(r"\s+")
_LETTERS = re.compile(r"[^\W\d_]+")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}|[^\W\d_]")
_CONTINUES = frozenset("-–—,;:.!?…&/+=%")  # noqa: RUF001

_TITLES = frozenset(
    "dr mr mrs ms mx prof rev hon gen col maj capt cpt lt sgt sen rep gov pres mme mlle hr fr st mt sta sto ste dra sra"
    " srta sr messrs supt insp e.g i.e z.b d.h u.a p.ej p.ex".split()
)
"""Words before a name or an example: a period behind them never ends a sentence."""
_ABBREVIATIONS = frozenset(
    "vs etc inc ltd co corp bros dept est jr approx ca cf ave blvd rd apt bldg mon tue tues wed thu thur thurs fri sat"
    " sun bzw usw ggf inkl evtl str env tél av".split()
)
"""A period behind them ends a sentence only when a word follows that opens one."""
_NUMBERED = frozenset(
    "no nr nos fig figs p pp vol ch art sec tel ext rm jan feb mar apr jun jul aug sep sept oct nov dec num núm n°"
    " nº".split()
)
"""A period behind them does not end a sentence when a number follows."""
_OPENERS = frozenset(
    "I We You He She It They The This That These There Then Would Do Does Did Is Are Was Can Could Shall Should Will"
    " May What When Where Which Who Why How If And But So Or Please Your My Our Let Thank Thanks Sorry Yes No".split()
)
"""Words that open a sentence even behind an abbreviation ("at 7 p.m. Would that suit you?")."""

_WAIT = -1  # the text seen so far does not tell yet
_MAX_TOKEN = 40  # longer words are neither abbreviations nor initials


class SentenceSplitter:
    """Cuts text that arrives in pieces into sentences.

    Sentences come without the white space around them; joined, they are the whole text but for white space. A period
    in an abbreviation, a number, an address or an ellipsis does not end a sentence. An empty line always does.

    `max_length`: a sentence longer than this many characters is cut, behind a clause if possible, else between words.
    `first_clause`: the first sentence may end at a comma once it has this many characters, so that a voice can begin
    early. None: only at its end.
    """

    __slots__ = ("_buffer", "_first_clause", "_marks", "_max_length", "_scan")

    def __init__(self, *, max_length: int = 200, first_clause: int | None = None) -> None:
        self._max_length = max_length
        self._first_clause = first_clause
        self._reset()

    def _reset(self) -> None:
        self._buffer = ""
        """What belongs to no sentence yet; never begins with white space."""
        self._scan = 0
        """Up to here, no sentence ends in the buffer."""
        self._marks = _MARKS if self._first_clause is None else _MARKS_AND_CLAUSES

    def push(self, piece: str) -> list[str]:
        """Take the next piece of text and return the sentences that are now complete, oldest first."""
        buffer = self._buffer = self._buffer + piece if self._buffer else piece.lstrip()
        if self._marks.search(buffer, self._scan) is None and len(buffer) <= self._max_length:
            self._scan = len(buffer)
            return []
        return list(self._sentences(final=False))

    def flush(self) -> list[str]:
        """The text is over: return what is left. The splitter is then ready for another text."""
        sentences = list(self._sentences(final=True))
        if rest := self._buffer.rstrip():
            sentences.append(rest)
        self._reset()
        return sentences

    def _sentences(self, final: bool) -> Iterator[str]:
        while (end := self._next_end(final)) != _WAIT:
            sentence, self._buffer = self._buffer[:end].rstrip(), self._buffer[end:].lstrip()
            self._scan = 0
            self._marks = _MARKS
            yield sentence

    def _next_end(self, final: bool) -> int:
        """Where the first sentence of the buffer ends, or `_WAIT`."""
        buffer, limit = self._buffer, self._max_length
        while (mark := self._marks.search(buffer, self._scan, limit)) is not None:
            at = mark.start()
            accepted, position = self._judge(buffer, at, final)
            if accepted:
                return position
            if position == _WAIT:
                self._scan = at
                return _WAIT
            self._scan = position
        if len(buffer) <= limit:
            self._scan = len(buffer)
            return _WAIT
        return self._cut(buffer)

    def _judge(self, buffer: str, at: int, final: bool) -> tuple[bool, int]:
        """(True, end of the sentence), (False, where to look on), or (False, `_WAIT`)."""
        mark = buffer[at]
        if mark == "\n":
            return self._judge_newline(buffer, at, final)
        if mark in _CLAUSE_MARKS or mark in _WIDE_CLAUSE_MARKS:
            return self._judge_clause(buffer, at, final)
        stops = _STOPS.match(buffer, at)
        assert stops is not None  # the mark is one
        run = stops.group()
        end = _end(_CLOSING.match(buffer, stops.end()))
        if end == len(buffer):
            return False, end if final else _WAIT
        if not _speaks(buffer, end):
            return False, end
        if run[-1] in _FULL_STOPS:
            return True, end
        if not buffer[end].isspace():
            return False, end
        following = _end(_SPACE.match(buffer, end))
        if buffer.count("\n", end, following) > 1:
            return True, end
        while following < len(buffer) and buffer[following] in _OPENING:
            following += 1
        if following == len(buffer):
            return False, end if final else _WAIT
        after = buffer[following]
        if after.islower() or (after in _CONTINUES and "\n" not in buffer[end:following]):
            return False, end
        if "!" in run or "?" in run:
            return True, end
        if run != ".":
            return False, end  # an ellipsis
        verdict = self._judge_period(buffer, at, following, final)
        return verdict is True, end if verdict is not None else _WAIT

    def _judge_period(self, buffer: str, at: int, following: int, final: bool) -> bool | None:
        """Whether the period at `at`, with other text at `following`, ends a sentence. None: cannot tell yet."""
        begin = at
        while begin > 0 and at - begin <= _MAX_TOKEN and not buffer[begin - 1].isspace():
            begin -= 1
        token = buffer[begin:at].lstrip(_OPENING)
        if token.isdigit():
            # "1. Take" is the number of a list item.
            return not (len(token) <= 3 and (begin == 0 or buffer[begin - 1] == "\n"))
        word = token.lower()
        if word in _TITLES:
            return False
        if word in _NUMBERED and buffer[following].isdigit():
            return False
        if word not in _ABBREVIATIONS and _DOTTED.fullmatch(token) is None:
            return True
        opener = _LETTERS.match(buffer, following)
        if opener is None:
            return False
        if opener.end() == len(buffer) and not final:
            return None
        return opener.group() in _OPENERS

    def _judge_newline(self, buffer: str, at: int, final: bool) -> tuple[bool, int]:
        following = _end(_SPACE.match(buffer, at))
        if buffer.find("\n", at + 1, following) >= 0 and _speaks(buffer, at):
            return True, at
        if following == len(buffer) and not final:
            return False, _WAIT
        return False, following

    def _judge_clause(self, buffer: str, at: int, final: bool) -> tuple[bool, int]:
        end = at + 1
        if self._first_clause is None or end < self._first_clause or not _speaks(buffer, at):
            return False, end
        if buffer[at] in _WIDE_CLAUSE_MARKS:
            return True, end
        if end == len(buffer):
            return False, end if final else _WAIT
        return buffer[end].isspace(), end

    def _cut(self, buffer: str) -> int:
        """Where to cut a sentence that is too long: behind a clause, else between words, else anywhere."""
        limit = self._max_length
        clauses = [m.end() for m in _CLAUSE_ENDS.finditer(buffer, limit // 3, limit + 1) if m.end() <= limit]
        if clauses:
            return clauses[-1]
        spaces = [m.start() for m in _SPACE.finditer(buffer, 1, limit + 1)]
        return spaces[-1] if spaces else limit


def _end(match: re.Match[str] | None) -> int:
    assert match is not None  # the pattern matches the empty string, or its first character was seen
    return match.end()


def _speaks(text: str, end: int) -> bool:
    return any(character.isalnum() for character in text[:end])


# -- words

_WIDE = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_WIDE}][^\w\s]*|[^\s{_WIDE}]+")
_WIDE_END = re.compile(rf"[{_WIDE}　-〿！-｠]")  # noqa: RUF001


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of `text` are, as (start, end), with the punctuation that clings to them.

    What white space separates is a word; in scripts that do without it, each ideograph or kana is one.
    """
    return [match.span() for match in _TOKEN.finditer(text)]


def words(text: str) -> list[str]:
    """The words of `text` without the punctuation around them. What has neither letter nor digit is no word."""
    found = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token.isalnum():
            found.append(token)
            continue
        begin, end = 0, len(token)
        while begin < end and not token[begin].isalnum():
            begin += 1
        while end > begin and not token[end - 1].isalnum():
            end -= 1
        if begin < end:
            found.append(token[begin:end])
    return found


def join(pieces: Iterable[str]) -> str:
    """Sentences put together again: with a space between them, except in scripts that have none."""
    joined = ""
    for piece in pieces:
        if not piece:
            continue
        if joined and not joined[-1].isspace() and not piece[0].isspace():
            joined += "" if _WIDE_END.match(joined[-1]) and _WIDE_END.match(piece[0]) else " "
        joined += piece
    return joined


# -- what can be spoken

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
