"""What was heard: text against the number of samples that sounded.

A segment of speech is a row of *stretches*, each some text (a sentence, as a rule) and the audio that says it. The
synthesis task enters both in a `PlayoutLedger` as they come; when the line stops, it asks what was heard up to there.

Within a stretch the ledger goes by the voice's own word timings where it has them. Between them, and without any, it
assumes that each character takes equally long. A stretch whose audio is not complete is taken to last as long as its
text would at the pace of the stretches before it.

Pure and synchronous: positions are arguments, nothing here knows a clock or a loudspeaker.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from antiphon.errors import UsageError
from antiphon.text.words import join, word_spans

DEFAULT_PACE = 15.0
"""Characters a second of an average voice, until its own pace is known."""

ENOUGH_TO_MEASURE = 20
"""Characters by which a pace can be measured; shorter texts are mostly pauses."""


class Timing(Protocol):
    """Where a word sounds, in seconds from the first sample of its stretch. `antiphon.tts.WordTiming` is one."""

    @property
    def text(self) -> str:
        """The word as the voice has it."""

    @property
    def start(self) -> float:
        """When it begins."""

    @property
    def end(self) -> float:
        """When it ends."""


Timed = TypeVar("Timed", bound=Timing)


def located(
    text: str, timings: Iterable[Timed], position: int = 0, seconds: float = 0.0
) -> Iterator[tuple[int, int, Timed]]:
    """(begin, end in the text, timing) of each word, behind a position and a time.

    A word that is not there tells nothing, and neither does one that sounds before the word before it.
    """
    folded = text.casefold()
    if len(folded) != len(text):
        folded = text  # positions must stay those of the text
    for timing in timings:
        word = timing.text.strip()
        at = folded.find(word.casefold(), position) if word else -1
        if at < 0 or timing.start < seconds or timing.end < timing.start:
            continue
        position, seconds = at + len(word), timing.end
        yield at, position, timing


@dataclass(slots=True)
class _Stretch:
    text: str
    begin: int
    """Samples of the segment before this stretch."""
    samples: int = 0
    anchors: list[tuple[int, float]] = field(default_factory=list)
    """(position in the text, seconds), both rising: what the voice told of its words."""

    @property
    def end(self) -> int:
        return self.begin + self.samples

    def align(self, timings: Iterable[Timing]) -> None:
        """Find the words of `timings` in the text."""
        position, seconds = self.anchors[-1] if self.anchors else (0, 0.0)
        for begin, end, timing in located(self.text, timings, position, seconds):
            self.anchors += (begin, timing.start), (end, timing.end)

    def words(self, seconds: float) -> Iterator[tuple[int, float, float]]:
        """(end in the text, start, end of its sound) for each word, if the stretch lasts `seconds`."""
        length = len(self.text)
        anchors = [(0, 0.0), *self.anchors]
        anchors.append((length, max(seconds, anchors[-1][1])))
        for begin, end in word_spans(self.text):
            yield end, _interpolate(anchors, begin, after=True), _interpolate(anchors, end, after=False)


def _interpolate(anchors: list[tuple[int, float]], position: int, *, after: bool) -> float:
    """The time of a position in the text. Where two are known (a pause), the one before or after it."""
    right = bisect_right(anchors, position, key=lambda anchor: anchor[0])
    if not after:
        while right > 1 and anchors[right - 1][0] == position and anchors[right - 2][0] == position:
            right -= 1
    low, since = anchors[right - 1]
    if low == position or right == len(anchors):
        return since
    high, until = anchors[right]
    return since + (until - since) * (position - low) / (high - low)


class PlayoutLedger:
    """The text of one segment of speech against its audio.

    Enter text before its audio. `pace` is the voice's characters a second, if it is known from earlier segments.
    All positions are in samples from the beginning of the segment.
    """

    __slots__ = ("_ended", "_pace", "_sample_rate", "_stretches")

    def __init__(self, sample_rate: int, *, pace: float = DEFAULT_PACE) -> None:
        if sample_rate <= 0 or pace <= 0:
            raise UsageError(
                f"PlayoutLedger: expected a positive sample rate and pace, got {sample_rate} Hz and {pace} characters/s"
            )
        self._sample_rate = sample_rate
        self._pace = pace
        self._stretches: list[_Stretch] = []
        self._ended = False

    # -- what there is to hear

    def add_text(self, text: str) -> None:
        """A new stretch begins; the audio of the one before is complete."""
        self._check_open("add_text")
        self._stretches.append(_Stretch(text, self.samples))

    def add_audio(self, samples: int) -> None:
        """So many more samples belong to the latest stretch. Before any text, they are sound without words."""
        self._check_open("add_audio")
        self._latest().samples += samples

    def add_words(self, timings: Iterable[Timing]) -> None:
        """Where the voice says that words of the latest stretch sound. May come in parts, in order."""
        self._check_open("add_words")
        self._latest().align(timings)

    def end(self) -> None:
        """No more text and no more audio will come. May be called twice."""
        self._ended = True

    def _check_open(self, method: str) -> None:
        if self._ended:
            raise UsageError(f"PlayoutLedger.{method}: the segment has ended; a new segment needs a new ledger")

    def _latest(self) -> _Stretch:
        if not self._stretches:
            self._stretches.append(_Stretch("", 0))
        return self._stretches[-1]

    # -- what is known of it

    @property
    def text(self) -> str:
        """All text so far."""
        return join(stretch.text for stretch in self._stretches)

    @property
    def samples(self) -> int:
        """Samples of audio so far."""
        return self._stretches[-1].end if self._stretches else 0

    @property
    def duration(self) -> float:
        """Seconds of audio so far."""
        return self.samples / self._sample_rate

    @property
    def pace(self) -> float:
        """Characters a second: measured on the complete stretches, or as given while those are too short."""
        complete = self._stretches if self._ended else self._stretches[:-1]
        characters = sum(len(stretch.text) for stretch in complete if stretch.samples)
        samples = sum(stretch.samples for stretch in complete if stretch.text)
        if characters < ENOUGH_TO_MEASURE:
            return self._pace
        return characters * self._sample_rate / samples

    # -- what was heard

    def heard(self, samples_played: int) -> str:
        """The text that was heard when so many samples have sounded.

        Whole stretches, then the words of the current one of which more than half sounded. It is a prefix of `text`
        that ends at a word, grows with `samples_played`, is "" at 0, and all of `text` when the segment has ended and
        all of it was played; only text behind the last sound is never heard.
        """
        if samples_played <= 0:
            return ""
        pieces: list[str] = []
        for number, stretch in enumerate(self._stretches):
            if not self._is_complete(number) or samples_played < stretch.end:
                pieces.append(self._heard_of(number, samples_played))
                break
            if not stretch.samples and samples_played <= stretch.begin and word_spans(stretch.text):
                break
            pieces.append(stretch.text)
        return join(pieces)

    def word_start(self, samples_played: int) -> int:
        """Where to resume: the sample at which the word begins that was cut at `samples_played`.

        Never later than `samples_played`; equal to it between words and when everything was played.
        """
        word = self._word_at(samples_played)
        return samples_played if word is None else min(samples_played, word[0])

    def word_end(self, samples_played: int) -> int:
        """Where to end softly: the sample at which the word ends that sounds at `samples_played`.

        Never earlier than `samples_played`; equal to it between words and when everything was played.
        """
        word = self._word_at(samples_played)
        return samples_played if word is None else max(samples_played, word[1])

    def _word_at(self, samples_played: int) -> tuple[int, int] | None:
        """The samples at which the word begins and ends that sounds there; None if none does."""
        for number, stretch in enumerate(self._stretches):
            if self._is_complete(number) and samples_played >= stretch.end:
                continue
            position = (samples_played - stretch.begin) / self._sample_rate
            for _, start, end in stretch.words(self._seconds(number)):
                if start >= position:
                    return None
                if end > position:
                    first, last = math.ceil(start * self._sample_rate), math.ceil(end * self._sample_rate)
                    return stretch.begin + first, stretch.begin + last
            return None
        return None

    def _heard_of(self, number: int, samples_played: int) -> str:
        stretch = self._stretches[number]
        position = (samples_played - stretch.begin) / self._sample_rate
        heard = 0
        for word_end, start, end in stretch.words(self._seconds(number)):
            if position <= (start + end) / 2:
                break
            heard = word_end
        return stretch.text[:heard]

    def _is_complete(self, number: int) -> bool:
        return self._ended or number + 1 < len(self._stretches)

    def _seconds(self, number: int) -> float:
        """How long a stretch lasts, as far as can be known."""
        stretch = self._stretches[number]
        known = stretch.samples / self._sample_rate
        return known if self._is_complete(number) else max(known, len(stretch.text) / self.pace)
