"""What a voice is to say, kept until it was said: so that another voice can go on where one broke off.

Above: `tts`. Below: `antiphon.text`. Pure but for waiting until more text comes. Positions are those of characters in
all of the text. A *stretch* is a piece of text that a voice announced, with the sound that says it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from antiphon.text import SentenceSplitter, word_spans, words
from antiphon.text.alignment import ENOUGH_TO_MEASURE, located
from antiphon.tts import WordTiming

TYPICAL_PACE = 17.0
"""Characters a second of a brisk voice, until its own pace is known: rather is a word left out than said twice."""


class Script:
    """The text, as it is being written. Read it from any position, as often as needed."""

    def __init__(self) -> None:
        self.text = ""
        self.closed = False
        """All of it is here."""
        self._news = asyncio.Event()

    def push(self, piece: str) -> None:
        """The next piece of text."""
        self.text += piece
        self._tell()

    def close(self) -> None:
        """No more text will come."""
        self.closed = True
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def fill(self, source: AsyncIterable[str]) -> None:
        """Take all that `source` gives."""
        try:
            async for piece in source:
                self.push(piece)
        finally:
            self.close()

    async def read(self, begin: int) -> AsyncGenerator[str, None]:
        """The text from `begin` on, as it is written."""
        while True:
            if begin < len(self.text):
                piece, begin = self.text[begin:], len(self.text)
                yield piece
            elif self.closed:
                return
            else:
                await self._news.wait()

    async def sentence(self, begin: int) -> str | None:
        """The first sentence from `begin` on, once it is complete; None if there is none any more."""
        splitter = SentenceSplitter()
        async with aclosing(self.read(begin)) as pieces:
            async for piece in pieces:
                if sentences := splitter.push(piece):
                    return sentences[0]
        return next(iter(splitter.flush()), None)

    def is_due(self, begin: int) -> bool:
        """Whether a voice that was given the text from `begin` on has no reason to wait for more of it."""
        return self.closed or bool(SentenceSplitter().push(self.text[begin:]))

    def is_over(self, begin: int) -> bool:
        """Whether nothing is left to say from `begin` on, and nothing will come."""
        return self.closed and not words(self.text[begin:])

    def find(self, begin: int, text: str) -> tuple[int, int]:
        """Where `text` stands, at `begin` or behind the space there. Spaces count for nothing: voices drop them."""
        count = sum(not character.isspace() for character in text)
        first: int | None = None
        position = begin
        while position < len(self.text) and (count or first is None):
            if not self.text[position].isspace():
                first = position if first is None else first
                if not count:
                    break
                count -= 1
            position += 1
        return (position if first is None else first), position


@dataclass(slots=True)
class Stretch:
    """A stretch of the text, and how much of its sound was made."""

    begin: int
    end: int
    text: str
    """The script from `begin` to `end`."""
    seconds: float = 0.0
    """Sound so far."""
    words: list[WordTiming] = field(default_factory=list)
    """What the voice told of its words."""

    def rest(self, pace: float) -> int:
        """Position of the first word that has not begun to sound; `end` if there is none."""
        if self.seconds <= 0:
            return self.begin
        said = _said(self.text, self.words, self.seconds, pace)
        for begin, _ in word_spans(self.text):
            if begin >= said:
                return self.begin + begin
        return self.end

    def pace(self) -> float | None:
        """Characters a second, if all of it was said and that is enough to tell."""
        if len(self.text) < ENOUGH_TO_MEASURE or self.seconds <= 0:
            return None
        return len(self.text) / self.seconds


def _said(text: str, timings: Sequence[WordTiming], seconds: float, pace: float) -> float:
    """How many characters were said in so many seconds: by the voice's own timings, and behind them by its pace."""
    position, since = 0, 0.0
    for begin, end, timing in located(text, timings):
        if timing.start >= seconds:
            return begin
        position, since = end, timing.end
    return position + max(0.0, seconds - since) * pace - 1e-6
