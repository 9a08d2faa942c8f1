"""End of turn from the words alone: does what was said ask for more?

People pause in the middle of sentences ("I'd like a table for ...") and of numbers. What they have said so far
usually shows it. The detector reads the transcript and the question it answers, by rules over a table of English
(`turn_endings.toml`); it costs microseconds and needs no model. It errs towards "finished": silence that lasts
ends the turn anyway, and a wrong "unfinished" only makes the caller wait.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from antiphon.chat import ChatMessage
from antiphon.turn_detector import TurnDetector, TurnSoFar

Phrase = tuple[str, ...]

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*|@")
_LONGEST_PHRASE = 5
_SHORT_ANSWER = 5
"""Words up to which a turn after a question is taken for its answer."""
_TRAILING = re.compile(r"(?:\.\.+|…|,|;|:|-|\u2013)\W*$")


class TextTurnDetector(TurnDetector):
    """Judges a turn by its words, in English. Needs no model and no package."""

    async def predict(self, turn: TurnSoFar) -> float:
        return probability(turn.text, asked=_last_said(turn))

    async def prewarm(self) -> None:
        _language()


def probability(text: str, asked: str = "") -> float:
    """The probability that `text`, said after the agent's words `asked`, is a whole turn.

    The transcriber's full stop counts for little, because it puts one at every pause, and its question mark for nothing
    where the last word asks for another; its comma and ellipsis come from the tone of voice and count.
    """
    language = _language()
    words = _words(text)
    if not words:
        return 0.5
    if language.lacks_pieces(words, asked):
        return 0.1
    answers = asked.rstrip().endswith("?") and len(words) <= _SHORT_ANSWER
    # Transcribers hear a comma after many a short answer; after "yes" or "well" they are right.
    if _TRAILING.search(text) and not (answers and text.rstrip().endswith(",") and words[-1] not in language.openings):
        return 0.1
    if " ".join(words) in language.whole_turns:
        return 0.9
    if _ends_in(words, language.finished):
        return 0.9
    question = text.rstrip().endswith("?")
    if question and words[0] in language.openers and words[-1] not in language.never_last:
        return 0.9
    if _ends_in(words, language.unfinished_phrases):
        return 0.05
    if words[-1] in language.unfinished_words:
        return 0.1 if len(words) > 1 else 0.2
    if question:
        return 0.95
    if answers:
        return 0.85
    return 0.8 if len(words) > 2 else 0.65


@dataclass(slots=True, frozen=True)
class _Language:
    """`turn_endings.toml`, ready for use."""

    unfinished_words: frozenset[str]
    unfinished_phrases: frozenset[Phrase]
    finished: frozenset[Phrase]
    whole_turns: frozenset[str]
    openings: frozenset[str]
    openers: frozenset[str]
    never_last: frozenset[str]
    digits: Mapping[str, int]
    digit_words: Mapping[str, int]
    address: tuple[str, ...]
    at: frozenset[str]
    dot: frozenset[str]

    def lacks_pieces(self, words: list[str], asked: str) -> bool:
        """True if a number or an address was begun and has not all its parts yet."""
        thing = self._thing(" ".join(words)) or (self._thing(asked.lower()) if asked.rstrip().endswith("?") else None)
        if thing is None:
            return False
        if thing in self.address:
            # "john at" or "john dot smith at example": begun, and no host with its ending yet.
            ats = [at for at, word in enumerate(words) if word in self.at]
            return bool(ats) and (words[-1] in self.at | self.dot or len(words) - ats[-1] < 3)
        given = sum(self._count(word) for word in words)
        return self._count(words[-1]) > 0 and 0 < given < self.digits[thing]

    def _thing(self, text: str) -> str | None:
        """The thing made of pieces that the text speaks of last."""
        names = [*self.digits, *self.address]
        found = [(text.rfind(name), len(name), name) for name in names if re.search(rf"\b{re.escape(name)}\b", text)]
        return max(found)[2] if found else None

    def _count(self, word: str) -> int:
        """How many digits a word stands for."""
        return sum(char.isdigit() for char in word) or self.digit_words.get(word, 0)


@functools.cache
def _language() -> _Language:
    data = tomllib.loads(resources.files(__package__).joinpath("turn_endings.toml").read_text("utf-8"))
    expects = data["expects"]
    return _Language(
        unfinished_words=frozenset(data["unfinished"]["words"].split()),
        unfinished_phrases=_phrases(data["unfinished"]["phrases"]),
        finished=_phrases(data["finished"]["phrases"]),
        whole_turns=frozenset(data["finished"]["turns"].strip().splitlines()),
        openings=frozenset(data["unfinished"]["openings"].split()),
        openers=frozenset(data["questions"]["openers"].split()),
        never_last=frozenset(data["questions"]["never_last"].split()),
        digits=expects["digits"],
        digit_words=data["digit_words"],
        address=tuple(expects["address"]),
        at=frozenset(expects["at"]),
        dot=frozenset(expects["dot"]),
    )


def _phrases(lines: str) -> frozenset[Phrase]:
    return frozenset(tuple(line.split()) for line in lines.strip().splitlines())


def _words(text: str) -> list[str]:
    return [word.replace("\u2019", "'") for word in _WORD.findall(text.lower())]


def _ends_in(words: list[str], phrases: frozenset[Phrase]) -> bool:
    return any(tuple(words[-size:]) in phrases for size in range(1, min(len(words), _LONGEST_PHRASE) + 1))


def _last_said(turn: TurnSoFar) -> str:
    """The agent's latest words."""
    for item in reversed(turn.history):
        if isinstance(item, ChatMessage):
            return (item.text_content or "") if item.role == "assistant" else ""
    return ""
