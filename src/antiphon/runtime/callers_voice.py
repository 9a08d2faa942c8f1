"""Whether the caller speaks, as far as anybody noticed: a detector, a recogniser, or a model that hears by itself.

Above: `recognition` and the links to models that hear. Below: the core, which hears of each change.
"""

from __future__ import annotations

from collections.abc import Callable

from antiphon.core.facts import UserSpeechEnded, UserSpeechStarted
from antiphon.runtime.port import Port


class CallersVoice:
    """`begins` is called before it is told that they speak; `has_detector`: ours knows sooner than a model."""

    __slots__ = ("_begins", "_has_detector", "_port", "is_heard", "utterances")

    def __init__(self, port: Port, begins: Callable[[], None], *, has_detector: bool) -> None:
        self._port = port
        self._begins = begins
        self._has_detector = has_detector
        self.is_heard = False
        self.utterances = 0
        """How often the caller began to speak."""

    def noticed(self, *, speaking: bool, voice: float = 0.0, silence: float = 0.0) -> None:
        """The caller has spoken for `voice` seconds, or been silent for `silence` seconds."""
        if speaking is not self.is_heard:
            self.is_heard = speaking
            self.utterances += speaking
            if speaking:
                self._begins()
            self._port.report(UserSpeechStarted(voice) if speaking else UserSpeechEnded(silence))

    def model_noticed(self, *, speaking: bool, silence: float = 0.0) -> None:
        """A model that hears by itself says so."""
        if not self._has_detector and not self._port.is_closed:
            self.noticed(speaking=speaking, silence=silence)
