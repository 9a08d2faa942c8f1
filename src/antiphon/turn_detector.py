"""End of turn: has the caller finished, or only paused?

A `TurnDetector` judges the transcript so far (and the sound, if it wants) at each pause. Its answer only moves
the endpointing delay between its bounds; silence always ends a turn in the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.audio import AudioFrame
from antiphon.chat import ChatItem

PREDICTION_TIMEOUT = 0.2
"""Seconds that a turn detector may take; so long the end of a turn waits for it."""


@dataclass(slots=True, frozen=True)
class TurnSoFar:
    """What is known of the caller's turn at a pause."""

    text: str
    """All that was understood since the turn began."""
    history: Sequence[ChatItem]
    """The conversation before it, so that a bare "Tuesday" after a question counts as an answer."""
    audio: AudioFrame | None = None
    """The last seconds of the caller's sound, mono, ending with the pause; None in text sessions."""


class TurnDetector(ABC):
    """Judges whether a turn is complete."""

    wants_audio: bool = False
    """True if `predict` needs `TurnSoFar.audio`."""

    @abstractmethod
    async def predict(self, turn: TurnSoFar) -> float:
        """The probability, 0 to 1, that the caller has finished. Answers within `PREDICTION_TIMEOUT` or is ignored."""

    async def prewarm(self) -> None:
        """Load what takes long, before the first call."""
