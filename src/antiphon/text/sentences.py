"""Text that arrives in pieces, cut into sentences.

It knows no language: the few word lists only prevent wrong cuts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
