"""What a caller said and did in a call, and when: kept by the caller themself, not by the session.

Above: the caller's voice and hands, and whoever examines the call. Below: nothing of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from antiphon.speech_handle import SpeechHandle
from antiphon.testing import Utterance

Way: TypeAlias = Literal["spoken", "typed", "put"]
"""How a turn comes: by voice, by `submit_user_turn`, by `generate_reply(user_input=)`."""

Wording: TypeAlias = Callable[[int, random.Random], list[str]]
"""The words of a turn, by its number in the call."""


def own_words(number: int, rng: random.Random) -> list[str]:
    """Two to eight words that no other turn has, so that the history shows which were lost: "t3 w3x0 w3x1"."""
    return [f"t{number}", *(f"w{number}x{count}" for count in range(rng.randint(1, 7)))]


@dataclass(slots=True)
class Said:
    """A turn of the caller's."""

    number: int
    words: list[str]
    way: Way
    start: float
    """Seconds of the loop's clock, as all times here."""
    end: float
    barged_in: bool = False
    """It was said without waiting for the answer to what was said before."""
    moment: str = ""
    """What else went on, if it was typed for that."""
    reply: SpeechHandle | None = None
    """If it was typed, what the model was answering then; if it was put, the reply that was asked for."""

    @property
    def name(self) -> str:
        """The word that all its requests and answers are known by, if its words are its own."""
        return f"t{self.number}"


@dataclass(slots=True)
class CallerLog:
    """All that one caller did, oldest first."""

    wording: Wording = own_words
    said: list[Said] = field(default_factory=list)
    noises: list[Utterance] = field(default_factory=list)
    hums: list[Utterance] = field(default_factory=list)
    """Words that only say that they listen."""
    keys: list[tuple[float, str, str]] = field(default_factory=list)
    """(when, which, what else went on): those pressed on the telephone."""

    def next_turn(self, rng: random.Random) -> list[str]:
        """The words of the next turn."""
        return self.wording(len(self.said), rng)

    def spoke(self, words: list[str], utterance: Utterance, *, barged_in: bool) -> None:
        """A turn is said, or will be by the end of the utterance."""
        self.said.append(Said(len(self.said), words, "spoken", utterance.start, utterance.end, barged_in))

    def wrote(self, words: list[str], way: Way, at: float, moment: str, reply: SpeechHandle | None) -> None:
        """A turn came without sound."""
        self.said.append(Said(len(self.said), words, way, at, at, moment=moment, reply=reply))

    def pressed(self, key: str, at: float, moment: str) -> None:
        """A key of the telephone."""
        self.keys.append((at, key, moment))

    def coughed(self, utterance: Utterance) -> None:
        """A noise without words."""
        self.noises.append(utterance)

    def hummed(self, utterance: Utterance) -> None:
        """Words that are no turn."""
        self.hums.append(utterance)
