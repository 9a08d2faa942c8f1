"""`AnswerWatch`: who, or what, answered a call that the agent made, and what is done about it.

    (nobody yet) -> PERSON <-> VOICEMAIL, SCREENING, MENU, UNAVAILABLE

It is decided by their first words, as they come, and by the tone behind a greeting. Until there is a sign it is a
person, and the agent talks; a sign may come later, and may turn out to have been a joke. With a machine the agent's own
replies are held back, and the watch speaks alone: it says who calls, or leaves a message, or hangs up.

Above: entrypoints, which make one before the session starts. Below: the session's public methods, and the room, which
lets it hear the line. `mailbox` says a message behind the tone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable
from weakref import WeakKeyDictionary

from antiphon.audio import AudioFrame
from antiphon.chat import ChatMessage
from antiphon.errors import UsageError
from antiphon.events import (
    CloseEvent,
    ConversationItemAddedEvent,
    SpeechCreatedEvent,
    UserInputTranscribedEvent,
    UserStateChangedEvent,
)
from antiphon.language.answering import Who, is_person_after_all, is_voicemail_after_all, who_answered
from antiphon.session_api import Session
from antiphon.speech_handle import SpeechHandle
from antiphon.toolkit.answered import CallAnsweredEvent, MessageLeftEvent
from antiphon.toolkit.mailbox import LeaveMessage, Mailbox
from antiphon.toolkit.tones import ToneDetector

WATCHED = 25.0
"""Seconds from their first words in which a sign counts: later, whoever speaks of a voicemail is a person."""
TURNS = 3
"""Turns without a sign after which it is a person, for good."""
SURE = 2.0
"""Seconds of silence behind a machine's words until it is hung up on: a person may have joked."""
LONGEST = 12.0
"""Seconds until then if it does not fall silent."""
PROMPTED = 0.7
"""Seconds of silence behind a screening's question until it is answered."""
MOST_ANSWERS = 3
"""How often a screening is answered."""
MachinePlan: TypeAlias = Literal["hang_up", "tell"]


@runtime_checkable
class HeardSound(Protocol):
    """The sound of a room that lets others hear its caller."""

    def listen_in(self, callback: Callable[[AudioFrame], object]) -> None:
        """Call `callback(frame)` with the caller's sound. Before a session hears there."""


_watches: WeakKeyDictionary[Session[Any], AnswerWatch] = WeakKeyDictionary()


class AnswerWatch:
    """Finds out who answered a call that the agent made, and acts on it. Make it before `session.start`.

    ```python
    watch = AnswerWatch(session, on_voicemail=LeaveMessage("This is Bright Smile. Please call us back."))
    await session.start(agent=agent, room=session.room)
    ```

    The session's events `call_answered` (`CallAnsweredEvent`, at each change of mind) and `message_left`
    (`MessageLeftEvent`) tell of it; tools find it by `AnswerWatch.of(ctx.session)`.

    Args:
        session: Of the call.
        on_voicemail: "hang_up", a `LeaveMessage`, or "tell": the agent goes on, and whoever listens decides.
        on_screening: What a call screening is told: who calls, and why. None: the agent answers it.
        on_unavailable: "hang_up", or "tell".
        room: Whose sound is listened to for tones; by default the session's own. Without one, silence tells.
    """

    def __init__(
        self,
        session: Session[Any],
        *,
        on_voicemail: MachinePlan | LeaveMessage = "hang_up",
        on_screening: str | None = None,
        on_unavailable: MachinePlan = "hang_up",
        room: Any = None,
    ) -> None:
        if session.is_running:
            raise UsageError("AnswerWatch: the session runs already. Make it before session.start().")
        for name, plan in (("on_voicemail", on_voicemail), ("on_unavailable", on_unavailable)):
            if plan not in ("hang_up", "tell") and not (name == "on_voicemail" and isinstance(plan, LeaveMessage)):
                more = ", or a LeaveMessage('...')" if name == "on_voicemail" else ""
                raise UsageError(f"AnswerWatch: expected {name}= 'hang_up' or 'tell'{more}, got {plan!r}. Name one.")
        self._session = session
        self._plans: dict[Who, MachinePlan | LeaveMessage] = {
            Who.VOICEMAIL: on_voicemail,
            Who.UNAVAILABLE: on_unavailable,
        }
        self._introduction = on_screening
        self._who: Who | None = None
        self._sign = ""
        self._said: list[str] = []
        """What was heard of them since the watch began, or a screening was answered: transcripts that are final."""
        self._since: list[str] = []
        """The same since they were last taken for something else."""
        self._interim = ""
        self._first: float | None = None
        """When their first words came."""
        self._talking: float | None = None
        """Since when they speak without a pause."""
        self._turns = 0
        self._is_back = False
        """It was taken for a machine, and is a person: what they say is no sign any more."""
        self._mailbox: Mailbox | None = None
        self._own: SpeechHandle | None = None
        """What the watch says to a screening."""
        self._answers = 0
        self._is_asked = False
        """A screening has asked who calls, and was not told."""
        self._timer: asyncio.TimerHandle | None = None
        self._limit: asyncio.TimerHandle | None = None
        self._tones = ToneDetector()
        self._left: MessageLeftEvent | None = None
        self._is_saying = False
        self._listen(room or session.room)
        _watches[session] = self

    def _listen(self, room: Any) -> None:
        session = self._session
        session.on("user_input_transcribed", self._heard)
        session.on("user_state_changed", self._state)
        session.on("conversation_item_added", self._added)
        session.on("speech_created", self._speech)
        session.on("close", self._closed)
        sound = getattr(room, "sound", None)
        if isinstance(sound, HeardSound):
            sound.listen_in(self._sound)

    @classmethod
    def of(cls, session: Session[Any]) -> AnswerWatch | None:
        """The watch of a session; None: it has none."""
        return _watches.get(session)

    @property
    def who(self) -> Who | None:
        """Who answered, as far as it is known; None: nobody has said anything."""
        return self._who

    @property
    def sign(self) -> str:
        """The words that say so; "" for a person."""
        return self._sign

    @property
    def message(self) -> MessageLeftEvent | None:
        """What became of the message, once that is known."""
        return self._left

    @property
    def speaks_alone(self) -> bool:
        """The agent's own replies are held back: the watch talks to a machine, or is about to end the call."""
        match self._who:
            case Who.VOICEMAIL | Who.UNAVAILABLE:
                return self._plans[self._who] != "tell"
            case Who.SCREENING:
                return self._introduction is not None
        return False

    # -- what is heard

    def _heard(self, event: UserInputTranscribedEvent) -> None:
        if not event.transcript.strip():
            return
        now = _now()
        self._first = now if self._first is None else self._first
        if event.is_final:
            self._said.append(event.transcript)
            self._since.append(event.transcript)
        self._interim = "" if event.is_final else event.transcript
        self._decide(now, is_final=event.is_final)
        if self._mailbox is not None:
            self._mailbox.words()
        if event.is_final and self.speaks_alone:
            asyncio.get_running_loop().call_soon(self._forget_turn)

    def _decide(self, now: float, *, is_final: bool) -> None:
        if self._is_settled(now):
            return
        if self._who is not None and self._who.is_machine:
            self._reconsider(is_final=is_final)
            return
        talking = 0.0 if self._talking is None else now - self._talking
        found = who_answered(self._words(self._said), self._session.language.answers, talking=talking)
        if found.who.is_machine or is_final or self._who is None:
            self._is(found.who, found.sign)

    def _reconsider(self, *, is_final: bool) -> None:
        """It was taken for a machine: what they say may show another one, or a person."""
        phrases, new = self._session.language.answers, self._words(self._since)
        found = who_answered(new, phrases)
        if self._who is Who.SCREENING:
            if found.who is Who.VOICEMAIL or found.who is Who.UNAVAILABLE:
                self._is(found.who, found.sign)
            elif is_final and not found.who.is_machine and self._answers:
                self._is(Who.PERSON)
            elif is_final:
                self._is_asked = self._is_asked or found.who is Who.SCREENING
                self._since.clear()
        elif found.who is Who.SCREENING and self._sign and found.sign.startswith(self._sign):
            self._is(found.who, found.sign)  # "record your", and then "name"
        elif self._who is not Who.VOICEMAIL and is_voicemail_after_all(new, self._sign, phrases):
            self._is(Who.VOICEMAIL, found.sign)
        elif is_person_after_all(new, phrases):
            self._is_back = True
            self._is(Who.PERSON)

    def _words(self, finals: list[str]) -> str:
        return " ".join([*finals, self._interim])

    def _is_settled(self, now: float) -> bool:
        """It is a person, for good."""
        if self._who is not Who.PERSON or self._first is None:
            return False
        return self._is_back or now - self._first > WATCHED or self._turns >= TURNS

    def _state(self, event: UserStateChangedEvent) -> None:
        speaks = event.new_state == "speaking"
        self._talking = (_now() if self._talking is None else self._talking) if speaks else None
        if self._mailbox is not None:
            self._mailbox.voice(speaks)
        if speaks:
            self._cancel_timer()
        else:
            self._wait_for_silence()

    def _added(self, event: ConversationItemAddedEvent) -> None:
        if isinstance(event.item, ChatMessage) and event.item.role == "user":
            self._turns += 1

    def _sound(self, frame: AudioFrame) -> None:
        if self._first is None and self._mailbox is None and self._who is None:
            return  # a tone before any word: the network's
        may_matter = self._mailbox is not None or not self._is_settled(_now())
        for tone in self._tones.push(frame) if may_matter else ():
            if self._mailbox is None and self._who in (None, Who.PERSON):
                self._is(Who.VOICEMAIL, f"(a tone of {tone.frequency:.0f} Hz)")
            if self._mailbox is not None:
                self._mailbox.tone()

    # -- what it comes to

    def _is(self, who: Who, sign: str = "") -> None:
        if who is self._who:
            return
        before, self._who, self._sign = self._who, who, sign
        if before is Who.SCREENING and who is Who.PERSON:
            self._said, self._first, self._turns = self._since[-1:], _now(), 0
        self._since.clear()
        self._is_asked = who is Who.SCREENING
        self._cancel_timer()
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
        if self._mailbox is not None:
            self._mailbox.give_up()
            self._mailbox = None
        if self.speaks_alone:
            self._begin(who)
        self._session.emit("call_answered", CallAnsweredEvent(who=who.value, sign=sign))

    def _begin(self, who: Who) -> None:
        """The agent falls silent: the watch speaks now."""
        loop = asyncio.get_running_loop()
        loop.call_soon(self._hush)
        plan = self._plans.get(who)
        if isinstance(plan, LeaveMessage):
            self._mailbox = Mailbox(plan, say=self._say, done=self._is_left, tones=self._tones)
            self._mailbox.begin(is_speaking=self._talking is not None)
        elif plan == "hang_up":
            self._limit = loop.call_later(LONGEST, self._hang_up)
            self._wait_for_silence()
        else:
            self._wait_for_silence()

    def _wait_for_silence(self) -> None:
        """Do what is to be done when the machine has fallen silent, unless it speaks on."""
        self._cancel_timer()
        if self._talking is not None or not self.speaks_alone:
            return
        loop = asyncio.get_running_loop()
        if self._who is Who.SCREENING:
            self._timer = loop.call_later(PROMPTED, self._introduce)
        elif self._mailbox is None:
            self._timer = loop.call_later(SURE, self._hang_up)

    def _introduce(self) -> None:
        may_answer = self._is_asked and self._own is None and self._answers < MOST_ANSWERS
        if self._introduction is None or not may_answer:
            return
        self._answers += 1
        self._is_asked = False
        self._since.clear()
        self._own = self._say(self._introduction, interruptible=True)
        if self._own is not None:
            self._own.add_done_callback(self._introduced)

    def _introduced(self, handle: SpeechHandle) -> None:
        self._own = None

    def _say(self, text: str, interruptible: bool) -> SpeechHandle | None:
        if not self._session.is_running:
            return None
        self._is_saying = True
        try:
            return self._session.say(text, allow_interruptions=interruptible)
        finally:
            self._is_saying = False

    def _hang_up(self) -> None:
        self._cancel_timer()
        if self.speaks_alone and self._session.is_running:
            self._session.shutdown(drain=False)

    def _is_left(self, whole: bool, after_tone: bool, heard: str) -> None:
        """A message was said, or cut."""
        if self._left is None:
            self._left = MessageLeftEvent(text=heard, whole=whole, after_tone=after_tone)
            self._session.emit("message_left", self._left)
        self._hang_up()

    # -- the agent is held back

    def _speech(self, event: SpeechCreatedEvent) -> None:
        if not self._is_saying and self.speaks_alone:
            asyncio.get_running_loop().call_soon(self._stop, event.speech_handle)

    def _stop(self, handle: SpeechHandle) -> None:
        if self.speaks_alone and self._session.is_running:
            handle.interrupt(force=True)

    def _hush(self) -> None:
        if self.speaks_alone and self._session.is_running:
            self._session.interrupt(force=True)
            self._session.clear_user_turn()

    def _forget_turn(self) -> None:
        if self.speaks_alone and self._session.is_running:
            self._session.clear_user_turn()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _closed(self, event: CloseEvent) -> None:
        self._cancel_timer()
        if self._limit is not None:
            self._limit.cancel()
        if self._mailbox is not None:
            self._mailbox.line_is_dead()


def _now() -> float:
    return asyncio.get_running_loop().time()
