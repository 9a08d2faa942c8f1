"""A message for a voicemail: said behind the tone, from its beginning, and whole.

    WAITING --a tone, or the greeting is over and nothing comes--> SAYING --heard whole, or cut--> done
    SAYING --another tone: only now it is recorded--> WAITING

The greeting's rest does not interrupt it. What was said before the tone nobody will hear, so that a tone while it is
said has it said from its beginning.

Above: `answer_watch`. Below: whoever says it, and what was heard of that by the loudspeaker's clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from antiphon.chat import ChatMessage
from antiphon.errors import UsageError
from antiphon.speech_handle import SpeechHandle
from antiphon.toolkit.tones import ToneDetector

BREATH = 0.3
"""Seconds from the end of the tone, as far as it was heard, to the message: another tone may follow at once."""
MOST_BEGUN = 4
"""How often a message is begun at most."""
TAIL = 0.4
"""Seconds behind the message until it is done: the carrier's end of the line has it, too."""


@dataclass(slots=True, frozen=True)
class LeaveMessage:
    """What a voicemail is told.

    Args:
        text: The message. It is said as it is written, by the session's voice.
        silence: Seconds of silence behind the greeting after which it is said without a tone.
        deadline: Seconds after the voicemail was recognised in which the tone must come, whatever is heard.
    """

    text: str
    silence: float = 5.0
    deadline: float = 60.0

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise UsageError("LeaveMessage: expected a text, got none. Say who calls, why, and how to call back.")
        if self.silence <= 0 or self.deadline <= 0:
            raise UsageError("LeaveMessage: expected silence= and deadline= above 0 seconds. Leave them out.")


class Mailbox:
    """One message to one voicemail.

    `say(text, interruptible)` says it; `done(whole, after_tone, heard)` is told once what became of it.
    """

    def __init__(
        self,
        plan: LeaveMessage,
        *,
        say: Callable[[str, bool], SpeechHandle | None],
        done: Callable[[bool, bool, str], object],
        tones: ToneDetector,
    ) -> None:
        self._plan = plan
        self._say = say
        self._done = done
        self._tones = tones
        self._loop = asyncio.get_running_loop()
        self._speech: SpeechHandle | None = None
        self._begun = 0
        self._had_tone = False
        self._is_speaking = False
        self._start: asyncio.TimerHandle | None = None
        """Begins the message: behind a tone, or a silence."""
        self._deadline: asyncio.TimerHandle | None = None
        self._is_over = False

    def begin(self, *, is_speaking: bool) -> None:
        """A voicemail was recognised. `is_speaking`: its greeting goes on."""
        self._is_speaking = is_speaking
        self._deadline = self._loop.call_later(self._plan.deadline, self._speak)
        self._wait()

    def voice(self, speaks: bool) -> None:
        """Something is heard of the line, or not any more."""
        self._is_speaking = speaks
        self._wait()

    def words(self) -> None:
        """The greeting goes on."""
        self._wait()

    def tone(self) -> None:
        """A tone has ended: it is recorded from now on."""
        if self._is_over or self._begun >= MOST_BEGUN:
            return
        self._had_tone = True
        speech, self._speech = self._speech, None
        if speech is not None:
            speech.interrupt(force=True)
        self._begin_in(BREATH)

    def give_up(self) -> None:
        """It is no voicemail: what is said of the message is cut, and nothing is told."""
        self._end()
        if self._speech is not None:
            self._speech.interrupt(force=True)

    def line_is_dead(self) -> None:
        """The call is over."""
        if not self._is_over and self._begun:
            self._settle(whole=False)
        elif not self._is_over:
            self._end()
            self._done(False, False, "")

    # -- its way

    def _wait(self) -> None:
        """Silence behind the greeting begins it, too. A tone that has been heard is not put off by a voice."""
        if self._speech is not None or self._is_over or (self._had_tone and self._start is not None):
            return
        self._stop_waiting()
        if not self._is_speaking:
            self._begin_in(self._plan.silence)

    def _begin_in(self, seconds: float) -> None:
        self._stop_waiting()
        self._start = self._loop.call_later(seconds, self._speak)

    def _stop_waiting(self) -> None:
        if self._start is not None:
            self._start.cancel()
            self._start = None

    def _speak(self) -> None:
        self._stop_waiting()
        if self._is_over or self._speech is not None:
            return
        if self._tones.is_sounding:
            self._begin_in(BREATH)
            return
        self._begun += 1
        speech = self._speech = self._say(self._plan.text, False)
        if speech is not None:
            speech.add_done_callback(self._said)

    def _said(self, speech: SpeechHandle) -> None:
        if speech is self._speech and not self._is_over:
            whole = not speech.interrupted and _heard(speech) != ""
            self._loop.call_later(TAIL if whole else 0.0, self._settle_if_last, speech, whole)

    def _settle_if_last(self, speech: SpeechHandle, whole: bool) -> None:
        if speech is self._speech and not self._is_over:  # no tone has come meanwhile
            self._settle(whole=whole)

    def _settle(self, *, whole: bool) -> None:
        self._end()
        self._done(whole, self._had_tone, "" if self._speech is None else _heard(self._speech))

    def _end(self) -> None:
        self._is_over = True
        self._stop_waiting()
        if self._deadline is not None:
            self._deadline.cancel()


def _heard(speech: SpeechHandle) -> str:
    """What of it the line took, by the loudspeaker's clock."""
    return " ".join(item.text_content or "" for item in speech.chat_items if isinstance(item, ChatMessage))
