"""The caller's turn: from voice, words and silence to a turn that can be committed.

    LISTENING --words, then silence >= delay--> READY --taken--> LISTENING

The detector of voice says when there is sound, the recogniser what it meant, and they disagree in time: words come
after their sound. So a turn is ready when the caller is silent, everything that was heard has been transcribed (or
should have been), and the silence has lasted as long as endpointing asks. READY has no deadline: a turn that may
not be committed yet waits without a timer. Sound without words (a cough) leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.core.endpointing import Pauses, delay
from antiphon.options import SessionOptions
from antiphon.text import word_spans

LOST_FOR_WORDS = 0.8
"""Seconds of voice that were meant for the agent, even if the recogniser gives no words for them."""


class UserTurn:
    """What the caller has said since the last committed turn."""

    __slots__ = (
        "_asked",
        "_began_at",
        "_ended_at",
        "_finals",
        "_had_words",
        "_interim",
        "_model_hears",
        "_options",
        "_over_by",
        "_pauses",
        "_prediction_timeout",
        "_probability",
        "_silent_since",
        "_sound_is_a_turn",
        "_taken",
        "_told_nothing",
        "_transcript_timeout",
        "_transcripts_due",
        "_worded_at",
        "is_ended_by_application",
        "is_voiced",
        "lost",
        "over_agent",
        "overruled",
        "passed_by",
        "ready",
        "speaking",
        "unheard",
        "unvoiced_at",
        "version",
        "voice_began_at",
        "voice_ended_at",
        "voiced_for",
    )

    def __init__(self, options: SessionOptions) -> None:
        self._options = options.turns
        self._transcript_timeout = options.transcript_timeout
        self._prediction_timeout = options.prediction_timeout
        self._model_hears = options.model_hears
        self._sound_is_a_turn = options.model_hears and not options.has_stt
        """Nobody but the model turns it into words, and later."""
        self.is_ended_by_application = options.turns.detection == "manual"
        """Push-to-talk: however long the caller is silent, the turn goes on."""
        self.speaking = False
        """The caller's voice sounds."""
        self.ready = False
        """The turn is over and may be taken."""
        self.over_agent = False
        """It began while the agent spoke."""
        self.overruled = False
        """It was too long: the agent takes the word although the caller still speaks."""
        self.passed_by = False
        """Push-to-talk: the caller typed a turn behind these words, which are not to be waited for."""
        self.lost = False
        """The recogniser did not give in time what it owed: words, or the last form of those that it gave."""
        self.unheard = False
        """The caller spoke, and nobody knows what they said."""
        self.voiced_for = 0.0
        """Seconds of voice in it."""
        self.voice_began_at = 0.0
        """When the latest sound of the caller's voice began."""
        self.voice_ended_at: float | None = None
        """When the caller's voice was last heard; None: it is, or never was."""
        self.unvoiced_at = float("-inf")
        """When words came that belong to no voice which was heard: the caller was, until then."""
        self.version = 0
        """Grows with every change of the words; predictions name the version they judged."""
        self._asked = -1
        """The version that a detector was asked about."""
        self._finals: list[str] = []
        self._interim = ""
        self._taken: list[str] = []
        """Words of turns before that were not final: they come once more, perhaps singly, with what follows them."""
        self._had_words = False
        """Some were understood, if not for good."""
        self._told_nothing = False
        """The recogniser is done with the caller's voice, and understood nothing."""
        self._silent_since: float | None = None
        self._worded_at = 0.0
        self._transcripts_due = 0
        """Stretches of voice whose words have not come yet."""
        self.is_voiced = False
        """A voice was heard whose words these will be."""
        self._over_by: float | None = None
        """When a turn that the application ended is taken at the latest: its last words are still to come."""
        self._probability: float | None = None
        self._pauses = Pauses(self._options.endpointing) if self._options.endpointing.mode == "dynamic" else None
        self._began_at: float | None = None
        self._ended_at: float | None = None
        """When the silence began that ended the turn before."""

    @property
    def text(self) -> str:
        """All that was understood, interim words included."""
        parts = [*self._finals, self._interim] if self._interim else self._finals
        return " ".join(parts)

    @property
    def is_blank(self) -> bool:
        """Nothing was heard since the turn before: no words, no silence, and so nothing to wait for."""
        return self._began_at is None and self._silent_since is None

    @property
    def has_floor(self) -> bool:
        """The caller speaks, or has said words that are not a turn yet: nobody else begins to speak."""
        return self.speaking or (not self.passed_by and (bool(self._finals) or bool(self._interim)))

    @property
    def awaits_words(self) -> bool:
        """The caller said something that was meant for the agent, and its words have not come yet."""
        return not self.speaking and self._is_misheard and self._is_for_us and self._over_at is not None

    @property
    def _is_misheard(self) -> bool:
        """The caller said something that was meant for the agent, and nobody knows what, so far."""
        if self._finals or self._interim or not (self._transcripts_due or self._told_nothing):
            return False
        return self._had_words or self.voiced_for >= LOST_FOR_WORDS

    @property
    def _is_for_us(self) -> bool:
        """It has words, or was not said over the agent, which may hear itself."""
        return self._had_words or not self.over_agent

    @property
    def is_likely_over(self) -> bool:
        """All that was said is understood, and nothing speaks against it being a whole turn.

        A final transcript may come before the voice detector knows that the voice has ended, and an interim one that
        follows no voice will hardly change.
        """
        is_settled = bool(self._finals) and not self._interim and not self._transcripts_due
        if self.ready or not (is_settled or (self._interim and not self.speaking)):
            return False
        if self._options.detection in ("manual", "realtime_llm"):
            return False
        if self._probability is None:
            return self._prediction_timeout == 0.0
        return self._probability >= self._options.endpointing.unlikely

    def _learn_pause(self, now: float) -> None:
        """The caller goes on: with the same turn after a pause, or with what had been taken for its end."""
        since = self._silent_since if self._silent_since is not None else self._ended_at
        self._ended_at = None
        if self._pauses is not None and since is not None and now - since < self._options.endpointing.max_delay:
            self._pauses.paused(now - since)

    # -- facts

    def speech_started(self, now: float, voice: float = 0.0, *, over_agent: bool = False) -> None:
        """Voice, for `voice` seconds already: whatever was about to be committed goes on."""
        if not self.has_floor:
            self.over_agent = over_agent
        if not self.speaking:
            self.voice_began_at = now - voice
            self._learn_pause(now)
            if not self.has_floor:
                self._began_at = now
        self.speaking = True
        self.ready = self.passed_by = False
        self.is_voiced = True
        self._silent_since = self.voice_ended_at = None
        if not self._sound_is_a_turn:
            self._transcripts_due += 1
        self._probability = None

    def speech_ended(self, now: float, silence: float) -> None:
        """Silence, for `silence` seconds already."""
        if self.speaking:
            self.speaking = False
            self.overruled = False
            self._count_voice(now - silence)
            self._silent_since = self.voice_ended_at = now - silence
            self._worded_at = now

    def _count_voice(self, until: float) -> None:
        self.voiced_for += max(0.0, until - self.voice_began_at)
        self.voice_began_at = until

    def transcribed(self, text: str, *, final: bool, now: float, over_agent: bool = False) -> None:
        """Words. An interim text replaces the interim text before it. `over_agent`: the agent speaks."""
        if not self.has_floor and not self.is_voiced:
            self.over_agent = over_agent
        is_nothing = not text.strip()
        text = self._untaken(text, final=final)
        before = self.text
        if self._began_at is None:
            self._began_at = now
        if final:
            if self.speaking:
                self._count_voice(now)
            self._interim = ""
            # Words that come while the caller speaks may be those of the stretch before: these are still to come.
            self._transcripts_due = max(0, self._transcripts_due - 1) if self.speaking else 0
            if text:
                self._finals.append(text)
            self._told_nothing = is_nothing and not (self._finals or self._transcripts_due)
        else:
            self._interim = text
            if text:
                self._had_words = True
                self._transcripts_due = max(1, self._transcripts_due)
        if self.text != before:
            self.version += 1
            self._worded_at = now
            self._probability = None
            self.ready = self.ready and (self.overruled or not self.speaking)
        if final and self._over_by is not None and not self._transcripts_due:
            self._end()
        if text and not self.is_voiced:  # no voice detector tells where silence is: it begins after the latest words
            self._silent_since = now
            if self.voice_ended_at is None or now > self.voice_ended_at + self._transcript_timeout:
                self.unvoiced_at = now  # else they are late words of that voice, whose turn was taken without them

    def _untaken(self, text: str, *, final: bool) -> str:
        """The words without those that a turn before took already."""
        if not self._taken:
            return text.strip()
        spans = word_spans(text)
        known = min(len(spans), len(self._taken))
        if _bare(text[a:b] for a, b in spans[:known]) != _bare(self._taken[:known]):
            known, self._taken = 0, []  # the last form of what was taken never came: these are new words
        elif final:
            self._taken = self._taken[known:] if known else []
        return text[spans[known][0] :].strip() if known < len(spans) else ""

    def is_news(self) -> bool:
        """Whether the words have changed since this was asked."""
        asked, self._asked = self._asked, self.version
        return asked != self.version

    def typed_behind(self) -> None:
        """The caller typed a whole turn: what they said before it waits for the application, and holds up nobody."""
        self.passed_by = self.is_ended_by_application and not self.speaking

    def won_the_floor(self) -> None:
        """It cut the agent: what the caller says is a turn, however short."""
        self.over_agent = False

    def loss_told(self, *, made_good: bool) -> bool:
        """That words were lost has been told. True if nobody knows what the caller said, until that is `made_good`."""
        unheard, self.lost = self.unheard, False
        self.unheard = unheard and not made_good
        return unheard

    def predicted(self, version: int, probability: float) -> None:
        """A detector's opinion; void if the words have changed since."""
        if version == self.version:
            self._probability = probability

    # -- a turn without end

    @property
    def _limit_at(self) -> float | None:
        """When a turn that still goes on has lasted as long as it may."""
        limit = self._options.user_turn_limit.max_duration
        if limit is None or self._began_at is None or self.overruled or self.ready or not self.text:
            return None
        return self._began_at + limit

    def _exceeds(self, now: float) -> bool:
        """The caller has said as much as one turn may hold: the agent takes the word."""
        limit = self._options.user_turn_limit
        if limit.max_words is None and limit.max_duration is None:
            return False
        if self.overruled or self.ready or not self.text:
            return False
        limit_at = self._limit_at
        too_long = limit_at is not None and now >= limit_at
        if not too_long and (limit.max_words is None or len(self.text.split()) < limit.max_words):
            return False
        self.overruled = self.speaking
        self.ready = True
        return True

    # -- time

    @property
    def wants_prediction(self) -> bool:
        """Silence after words that nobody has judged yet."""
        return (
            bool(self._finals)
            and not self.speaking
            and not self.ready
            and self._probability is None
            and self._options.detection not in ("manual", "realtime_llm")
        )

    @property
    def deadline(self) -> float | None:
        """When `advance` must be called next; None: not before the next fact."""
        over_at, limit_at = self._over_at, self._limit_at
        if over_at is None or limit_at is None:
            return limit_at if over_at is None else over_at
        return min(over_at, limit_at)

    @property
    def _over_at(self) -> float | None:
        """When silence will have lasted long enough, or the transcript will be given up."""
        if self._over_by is not None:
            return self._over_by
        if self.ready or self.speaking or self._silent_since is None or self._options.detection == "manual":
            return None
        if self._options.detection == "realtime_llm":  # the model takes turns; words that it leaves are none
            return self._silent_since + self._transcript_timeout if self.text else None
        if self._transcripts_due:
            return self._silent_since + self._transcript_timeout
        if self._told_nothing:  # more may come of a caller who was not understood
            return self._silent_since + self._options.endpointing.max_delay
        if not self._finals and not (self._sound_is_a_turn and self.is_voiced):
            return None
        over = self._silent_since + delay(self._options.endpointing, self._probability, self._pauses)
        if self._probability is None:
            return max(over, self._worded_at + self._prediction_timeout)
        return over

    def advance(self, now: float) -> bool:
        """Time passed: the turn may have become ready, or turned out to be noise. True, once, if it is too long."""
        self._settle(now)
        return self._exceeds(now)

    def _settle(self, now: float) -> None:
        if self._over_by is not None:
            if now < self._over_by:
                return
            self._end()
        if self._silent_since is None:
            return
        over_at = self._over_at
        if over_at is None or now < over_at:
            return
        if self._options.detection == "realtime_llm":
            self.clear()
        elif self.has_floor or self._sound_is_a_turn:
            self.lost = self._transcripts_due > 0 and bool(self._interim)
            self._transcripts_due = 0
            self.ready = True
        else:
            self._give_up()

    def _give_up(self) -> None:
        """It was noise, or speech that the recogniser did not understand."""
        is_misheard, is_owed = self._is_misheard, self._transcripts_due > 0
        unheard = is_misheard and self._is_for_us
        self.clear()
        self.lost, self.unheard = is_misheard and is_owed, unheard

    def commit(self, now: float) -> None:
        """The application says that the turn is over. It is, as soon as its last words are settled."""
        silent_since = now if self.speaking or self._silent_since is None else self._silent_since
        words_by = silent_since + self._transcript_timeout
        if not self._model_hears and (self._interim or self._transcripts_due) and words_by > now:
            self._over_by = words_by
        else:
            self._end()

    def _end(self) -> None:
        self._over_by = None
        self.ready = bool(self.text) or (self._sound_is_a_turn and self.is_voiced)
        if not (self.ready or self.speaking):
            self._give_up()

    def take(self) -> str:
        """The text of the turn that is ready. A new turn begins."""
        text = self.text
        self._ended_at = self._silent_since
        if self._pauses is not None:
            self._pauses.ended()
        self.clear()
        return text

    def clear(self) -> None:
        """Forget what was said. A caller who is speaking goes on speaking."""
        self._taken += [self._interim[a:b] for a, b in word_spans(self._interim)]
        self.version += 1
        self.ready = self.passed_by = False
        self.over_agent = False
        self.unheard = self._had_words = self._told_nothing = False
        self.voiced_for = 0.0
        self._began_at = self._over_by = None
        self._finals = []
        self._interim = ""
        self._probability = None
        self._transcripts_due = int(self.speaking and not self._sound_is_a_turn)
        self.is_voiced = self.speaking
        self._silent_since = None


def _bare(words: Iterable[str]) -> list[str]:
    """The words without what a recogniser adds when it is sure of them: marks, capitals."""
    return ["".join(letter for letter in word if letter.isalnum()).casefold() for word in words]
