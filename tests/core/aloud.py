"""Dialogues that sound: whatever the core has synthesized and played takes the time that it would take by voice."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Any

from antiphon.core.commands import Command, Generate, Play, Speak, StopPlayout
from antiphon.core.facts import (
    Fact,
    PlayoutFinished,
    PlayoutStarted,
    PlayoutStarved,
    SoundReady,
    StepGenerated,
    TextStarted,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
)
from antiphon.options import SilenceBudget
from tests.core.dialogue import Dialogue

WORD = 0.25
"""Seconds that a word takes."""
FIRST_BYTE = 0.1
"""Seconds from a text to its first sound."""


@dataclass
class Piece:
    """A segment as the loudspeaker has it."""

    text: str = ""
    complete: bool = True
    ready_at: float | None = None
    started_at: float | None = None


class Aloud(Dialogue):
    """A dialogue with a voice and a loudspeaker. Nothing pauses in it: tests of barge-in have their own."""

    def __init__(self, *, silence: SilenceBudget | None = None, **options: Any) -> None:
        self._later: list[tuple[float, int, Fact]] = []
        self._number = 0
        self._pieces: dict[int, Piece] = {}
        self._queue: list[int] = []
        self.heard: list[tuple[float, str]] = []
        """When something began to sound, and what it was."""
        super().__init__(silence=silence or SilenceBudget(), **options)

    # -- time

    def wait(self, seconds: float) -> Aloud:
        end = self.now + seconds
        while True:
            event = self._later[0][0] if self._later else math.inf
            deadline = math.inf if self.core.deadline is None else max(self.core.deadline, self.now)
            at = min(event, deadline)
            if at > end:
                break
            super().wait(at - self.now)
            if event <= deadline:
                self._happen(heapq.heappop(self._later)[2])
        super().wait(end - self.now)
        return self

    def _in(self, seconds: float, fact: Fact) -> None:
        self._number += 1
        heapq.heappush(self._later, (self.now + seconds, self._number, fact))

    # -- the world

    def says(self, text: str, *, silence: float = 0.3) -> Aloud:
        self.tell(UserSpeechStarted())
        self.wait(1.0)
        self.tell(Transcribed(text, True), UserSpeechEnded())
        return self.wait(silence)

    def speaks_up(self) -> Aloud:
        """The caller's voice begins."""
        self.tell(UserSpeechStarted())
        return self

    def _collect(self) -> None:
        before = len(self.commands)
        super()._collect()
        for command in self.commands[before:]:
            self._perform(command)

    def _perform(self, command: Command) -> None:
        match command:
            case Speak():
                self._pieces[command.segment] = Piece(command.text or "")
                self._in(0.0, TextStarted(command.gen))
                self._in(0.0, StepGenerated(command.gen, command.text or ""))
                self._in(FIRST_BYTE, SoundReady(command.segment))
            case Generate():
                self._pieces[command.segment] = Piece()
            case Play():
                self._queue.insert(0 if command.first else len(self._queue), command.segment)
                self._play_next()
            case StopPlayout() if command.at_word:
                self._in(0.1, PlayoutFinished(command.segment, self._pieces[command.segment].text.split()[0]))
            case StopPlayout():
                if command.segment in self._queue:
                    self._in(0.0, PlayoutFinished(command.segment, ""))
            case _:
                pass

    def answer(self, text: str = "", *calls: Any) -> Generate:
        """The latest request is answered with these words, which will sound."""
        generate = self.last(Generate)
        self._pieces[generate.segment].text = text
        if text:
            self._in(FIRST_BYTE, SoundReady(generate.segment))
        return self.model(text, *calls)

    def sounds(self, generate: Generate, text: str, *, complete: bool = True) -> Aloud:
        """A piece of an answer's sound is there: its last one, unless more is to come."""
        piece = self._pieces[generate.segment]
        piece.text, piece.complete, piece.started_at = text, complete, None
        self._in(0.0, SoundReady(generate.segment))
        return self

    def runs_dry(self, generate: Generate) -> Aloud:
        """What there was of an answer's sound was heard."""
        piece = self._pieces[generate.segment]
        piece.ready_at = piece.started_at = None
        self.tell(PlayoutStarved(generate.segment))
        return self

    def _happen(self, fact: Fact) -> None:
        match fact:
            case SoundReady(segment):
                piece = self._pieces.get(segment)
                if piece is None:
                    return
                piece.ready_at = self.now
                self.tell(fact)
                self._play_next()
            case PlayoutFinished(segment):
                if segment not in self._queue:
                    return
                self._queue.remove(segment)
                self.tell(fact)
                self._play_next()
            case _:
                self.tell(fact)

    def _play_next(self) -> None:
        if not self._queue:
            return
        first = self._pieces[self._queue[0]]
        if first.ready_at is not None and first.started_at is None:
            first.started_at = self.now
            self.heard.append((round(self.now, 3), first.text))
            self._in(0.0, PlayoutStarted(self._queue[0]))
            if first.complete:
                self._in(WORD * len(first.text.split()), PlayoutFinished(self._queue[0], first.text))
