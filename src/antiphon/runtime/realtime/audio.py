"""The caller's turns, as one model hears them: their sound on its way there, and their words on their way back.

Above: the link. Below: the wire. What the core ended as a turn and what the model took for one are the same turns.
Their words may come before them, after them, or never.
"""

from __future__ import annotations

import asyncio
from collections import deque

from antiphon.audio import AudioFrame
from antiphon.core.commands import turn_id
from antiphon.core.facts import Transcribed, TurnTaken, TurnTranscribed
from antiphon.realtime import InputCommitted, InputTranscribed, RealtimeSession
from antiphon.runtime.host import Events
from antiphon.runtime.port import Port
from antiphon.runtime.realtime.session_watch import SessionWatch
from antiphon.runtime.realtime.sync import Sync
from antiphon.runtime.realtime.turn_sound import TurnSound
from antiphon.runtime.realtime.unnoticed import Unnoticed
from antiphon.runtime.realtime.wire import Wire
from antiphon.timer import within

MAX_EARLY = 20
"""Transcripts kept for turns that are not known yet."""


class Turns:
    """Those of one link. `sound` is shared by the links of a session: a turn may begin with one and end with another.

    `has_words`: the model says what it heard. `unnoticed`: whether it hears at all, where it ends turns by itself.
    """

    def __init__(
        self,
        port: Port,
        events: Events,
        wire: Wire,
        watch: SessionWatch,
        sync: Sync,
        sound: TurnSound,
        unnoticed: Unnoticed | None,
        *,
        has_words: bool,
    ) -> None:
        self._port = port
        self._events = events
        self._wire = wire
        self._watch = watch
        self._sync = sync
        self._sound = sound
        self._unnoticed = unnoticed
        self._has_words = has_words
        self._is_spoken_to = False
        """It is this model that the caller speaks to."""
        self._committed: deque[int] = deque()
        """Turns that the core ended and the model has not acknowledged."""
        self._wordless: dict[str, int] = {}
        """By item: turns whose words have not come."""
        self._early: dict[str, str] = {}
        """By item: words that came before their turn."""
        self._answered_next: int | None = None
        """The turn that the next unasked response answers."""
        self._waiters: dict[int, asyncio.Future[str]] = {}
        """By turn: for those who wait for its words."""

    @property
    def is_owed(self) -> bool:
        """The model has not acknowledged a turn."""
        return bool(self._committed)

    @property
    def is_unnoticed(self) -> bool:
        """The caller spoke, and the model has said nothing since."""
        return self._unnoticed is not None and self._unnoticed.is_over

    @property
    def wants_words(self) -> bool:
        """Words of a turn have not come."""
        return bool(self._wordless)

    # -- sound

    def listen(self) -> None:
        """The caller speaks to this model now: it is to hear all of the turn that goes on."""
        self._is_spoken_to = True
        self.catch_up()

    def leave(self) -> None:
        """The caller speaks to another model."""
        self._is_spoken_to = False
        self._forget_unnoticed()
        self.forget_sound()

    def catch_up(self) -> None:
        """Give the session what it has not heard of the turn that goes on."""
        for frame in self._heard_so_far():
            self.push(frame)

    def _heard_so_far(self) -> list[AudioFrame]:
        return self._sound.frames if self._is_spoken_to else []

    def heard(self, frame: AudioFrame) -> None:
        """The caller's sound goes on."""
        self.push(frame)
        if self._unnoticed is not None and self._unnoticed.heard(frame):
            self._watch.stir()

    def noticed(self) -> None:
        """The model says something: it hears."""
        if self._unnoticed is not None:
            self._unnoticed.noticed()

    def _forget_unnoticed(self) -> None:
        if self._unnoticed is not None:
            self._unnoticed.forget()

    def push(self, frame: AudioFrame) -> None:
        """Sound of the caller, now or earlier."""
        if self._wire.session is not None:
            self._wire.session.push_audio(frame)

    def forget_sound(self) -> None:
        """What was heard since the last turn is none, or is another agent's."""
        if self._wire.session is not None:
            self._wire.session.clear_audio()

    def commit(self, turn: int) -> None:
        """What was heard since the last turn is this one. A session that is still to come is given the sound of it."""
        sound = [] if self._wire.is_open else self._heard_so_far()
        if not self._wire.is_open and not sound:  # what was said is lost with the session that heard it
            self._port.report(TurnTranscribed(turn, ""))
            return
        self._sync.knows(turn_id(turn, self._port.mark))

        def commit(session: RealtimeSession) -> None:
            for frame in sound:
                session.push_audio(frame)
            self._committed.append(turn)
            session.commit_audio()
            self._watch.stir()

        self._wire.tell(commit)

    # -- turns and words

    def committed(self, event: InputCommitted) -> None:
        """The model has what it heard as an item: a turn that the core ended, or one that the model took."""
        if self._is_spoken_to:
            self._sound.clear()  # before anybody else may take over
        words = self._early.pop(event.item_id, None)
        is_taken = not self._committed
        turn = self._port.new_id() if is_taken else self._committed.popleft()
        are_to_come = words is None and self._has_words
        if are_to_come:
            self._wordless[event.item_id] = turn
        if is_taken:
            self._sync.knows(turn_id(turn, self._port.mark))
            self._port.report(TurnTaken(turn, words, event.answered))
        if event.answered:
            self._answered_next = turn
        if not are_to_come:
            self._words_came(turn, words or "")

    def take_answered(self) -> int | None:
        """The turn that a response which the model began unasked answers."""
        turn, self._answered_next = self._answered_next, None
        return turn

    def transcribed(self, event: InputTranscribed) -> None:
        """Words of a turn."""
        turn = self._wordless.get(event.item_id)
        masks = self._port.masks
        text = masks.words(event.text, final=event.final) if masks.is_active else event.text
        if text and self._events.listened("user_input_transcribed"):
            self._events.transcribed(text, event.final, "")
        if turn is not None:
            if event.final:
                del self._wordless[event.item_id]
                self._words_came(turn, text)
        elif event.final:
            if len(self._early) >= MAX_EARLY:
                self._early.clear()
            self._early[event.item_id] = text
        else:
            self._port.report(Transcribed(text, final=False))

    def _words_came(self, turn: int, text: str) -> None:
        self._port.report(TurnTranscribed(turn, text))
        waiter = self._waiters.pop(turn, None)
        if waiter is not None and not waiter.done():
            waiter.set_result(text)

    async def words_of(self, turn: int) -> str:
        """The words of a turn, once they are known; "" if they do not come."""
        if turn not in self._wordless.values() and turn not in self._committed:
            return ""
        waiter = self._waiters.setdefault(turn, asyncio.get_running_loop().create_future())
        try:
            async with within(self._port.options.words_timeout):
                return await asyncio.shield(waiter)
        except TimeoutError:
            return ""

    def lost(self) -> None:
        """The session broke: what it heard is not put into words any more."""
        self._committed.clear()
        self._answered_next = None
        self._forget_unnoticed()  # the next session is given the sound: once, since it may have been no voice
        for turn in [*self._wordless.values()]:
            self._words_came(turn, "")
        self._wordless.clear()
        self._early.clear()
