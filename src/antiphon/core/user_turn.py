"""The caller's turn: from voice, words and silence to a turn that can be committed.

    LISTENING --words, then silence >= delay--> READY --taken--> LISTENING

The detector of voice says when there is sound, the recogniser what it meant, and they disagree in time: words come
after their sound. So a turn is ready when the caller is silent, everything that was heard has been transcribed (or
should have been), and the silence has lasted as long as endpointing asks. READY has no deadline: a turn that may
not be committed yet waits without a timer. Sound without words (a cough) leaves no trace.
"""

from __future__ import annotations

from antiphon.core.endpointing import delay
from antiphon.options import SessionOptions


class UserTurn:
    """What the caller has said since the last committed turn."""

    __slots__ = (
        "_finals",
        "_interim",
        "_options",
        "_prediction_timeout",
        "_probability",
        "_silent_since",
        "_sound_is_a_turn",
        "_spoke_at",
        "_transcript_timeout",
        "_transcripts_due",
        "_voiced",
        "_worded_at",
        "over_agent",
        "ready",
        "speaking",
        "version",
        "voiced_for",
    )

    def __init__(self, options: SessionOptions) -> None:
        self._options = options.turns
        self._transcript_timeout = options.transcript_timeout
        self._prediction_timeout = options.prediction_timeout
        self._sound_is_a_turn = options.model_hears and not options.has_stt
        """Nobody but the model turns it into words, and later."""
        self.speaking = False
        """The caller's voice sounds."""
        self.ready = False
        """The turn is over and may be taken."""
        self.over_agent = False
        """It began while the agent spoke."""
        self.voiced_for = 0.0
        """Seconds of voice in it."""
        self.version = 0
        """Grows with every change of the words; predictions name the version they judged."""
        self._finals: list[str] = []
        self._interim = ""
        self._silent_since: float | None = None
        self._spoke_at = 0.0
        self._worded_at = 0.0
        self._transcripts_due = 0
        """Stretches of voice whose words have not come yet."""
        self._voiced = False
        self._probability: float | None = None

    @property
    def text(self) -> str:
        """All that was understood, interim words included."""
        parts = [*self._finals, self._interim] if self._interim else self._finals
        return " ".join(parts)

    @property
    def has_floor(self) -> bool:
        """The caller speaks, or has said words that are not a turn yet: nobody else begins to speak."""
        return self.speaking or bool(self._finals) or bool(self._interim)

    # -- facts

    def speech_started(self, now: float) -> None:
        """Voice: whatever was about to be committed goes on."""
        if not self.speaking:
            self._spoke_at = now
        self.speaking = True
        self.ready = False
        self._voiced = True
        self._silent_since = None
        if not self._sound_is_a_turn:
            self._transcripts_due += 1
        self._probability = None

    def speech_ended(self, now: float, silence: float) -> None:
        """Silence, for `silence` seconds already."""
        if self.speaking:
            self.speaking = False
            self.voiced_for += max(0.0, now - silence - self._spoke_at)
            self._silent_since = now - silence
            self._worded_at = now

    def transcribed(self, text: str, *, final: bool, now: float) -> None:
        """Words. An interim text replaces the interim text before it."""
        text = text.strip()
        before = self.text
        if final:
            self._interim = ""
            # Words that come while the caller speaks may be those of the stretch before: these are still to come.
            self._transcripts_due = max(0, self._transcripts_due - 1) if self.speaking else 0
            if text:
                self._finals.append(text)
        else:
            self._interim = text
            if text:
                self._transcripts_due = max(1, self._transcripts_due)
        if self.text != before:
            self.version += 1
            self._worded_at = now
            self._probability = None
            self.ready = self.ready and not self.speaking
        if not self._voiced:  # no voice detector tells where silence is: it begins after the latest words
            self._silent_since = now

    def predicted(self, version: int, probability: float) -> None:
        """A detector's opinion; void if the words have changed since."""
        if version == self.version:
            self._probability = probability

    # -- time

    @property
    def wants_prediction(self) -> bool:
        """Silence after words that nobody has judged yet."""
        return (
            not self.speaking
            and not self.ready
            and self._probability is None
            and self._options.detection not in ("manual", "realtime_llm")
            and bool(self._finals)
        )

    @property
    def deadline(self) -> float | None:
        """When silence will have lasted long enough, or the transcript will be given up."""
        if self.ready or self.speaking or self._silent_since is None or self._options.detection == "manual":
            return None
        if self._options.detection == "realtime_llm":  # the model takes turns; words that it leaves are none
            return self._silent_since + self._transcript_timeout if self.text else None
        if self._transcripts_due:
            return self._silent_since + self._transcript_timeout
        if not self._finals and not (self._sound_is_a_turn and self._voiced):
            return None
        over = self._silent_since + delay(self._options.endpointing, self._probability)
        if self._probability is None:
            return max(over, self._worded_at + self._prediction_timeout)
        return over

    def advance(self, now: float) -> None:
        """Time passed: the turn may have become ready, or turned out to be noise."""
        if self._silent_since is None:
            return
        deadline = self.deadline
        if deadline is None or now < deadline:
            return
        if self._options.detection == "realtime_llm":
            self.clear()
        elif self.has_floor or self._sound_is_a_turn:
            self._transcripts_due = 0
            self.ready = True
        else:
            self.clear()

    def commit(self) -> None:
        """The application says that the turn is over."""
        self.ready = bool(self.text) or (self._sound_is_a_turn and self._voiced)

    def take(self) -> str:
        """The text of the turn that is ready. A new turn begins."""
        text = self.text
        self.clear()
        return text

    def clear(self) -> None:
        """Forget what was said. A caller who is speaking goes on speaking."""
        self.version += 1
        self.ready = False
        self.over_agent = False
        self.voiced_for = 0.0
        self._finals = []
        self._interim = ""
        self._probability = None
        self._transcripts_due = int(self.speaking and not self._sound_is_a_turn)
        self._voiced = self.speaking
        self._silent_since = None
