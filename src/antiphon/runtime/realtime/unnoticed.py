"""Whether the caller spoke, and a model that ends their turns by itself has not noticed.

Above: the turns of a link. Below: the caller's voice, as somebody else hears it: a detector of our own.
"""

from __future__ import annotations

from antiphon.audio import AudioFrame
from antiphon.core.user_turn import LOST_FOR_WORDS
from antiphon.runtime.callers_voice import CallersVoice

EARLY = 1.0
"""Seconds by which a model may notice a voice before our detector does."""


class Unnoticed:
    """One utterance at a time. Where only the model hears the caller, there is none."""

    __slots__ = ("_noticed", "_quiet", "_seconds", "_voice", "is_over")

    def __init__(self, voice: CallersVoice) -> None:
        self._voice = voice
        self._noticed = voice.utterances
        self._seconds = 0.0
        self._quiet = EARLY
        """Seconds since the model said something."""
        self.is_over = False
        """The caller's voice lasted, and ended, and the model has said nothing since it began."""

    def heard(self, frame: AudioFrame) -> bool:
        """The caller's sound goes on. True: their voice has just ended, and the model has said nothing."""
        self._quiet += frame.duration
        if self._quiet < EARLY:
            self._noticed = self._voice.utterances
        if self.is_over or self._voice.utterances == self._noticed:
            return False
        if self._voice.is_heard:
            self._seconds += frame.duration
            return False
        self.is_over = self._seconds >= LOST_FOR_WORDS
        return self.is_over

    def noticed(self) -> None:
        """The model said something: it hears."""
        self._quiet = 0.0
        self.forget()

    def forget(self) -> None:
        """What the caller said so far is no matter any more."""
        self._noticed = self._voice.utterances
        self._seconds = 0.0
        self.is_over = False
