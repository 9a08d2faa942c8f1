"""`FallbackSTT`: the next recogniser hears the utterance that one failed to understand.

Above: sessions. Below: recognisers, `roster`, `attempt`, and `utterance`, which keeps what was not transcribed yet.

Theory of operation. Audio and marks go to one recogniser at a time, and onto a tape, which is cut at each final
transcript. A recogniser that raises is followed by the next one, which is given the tape. So is one that is silent
when somebody has spoken and stopped; but what was spoken may have been a cough, in which no engine hears anything.
Hence the next one is a second opinion: only if it understands something, the first is held to have stalled. If it
hears nothing either, nobody is blamed: it was a noise, or nobody hears any more. Which of these, the session judges by
how long the voice was: no transcript is made up.

Each utterance begins with the best recogniser that may be asked: that is how one that recovered comes back.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from antiphon.adapters.fallback.roster import (
    AllProvidersFailed,
    Backoff,
    Fallback,
    Member,
    OnAvailabilityChanged,
    Roster,
)
from antiphon.adapters.fallback.utterance import Utterances
from antiphon.audio import AudioFrame
from antiphon.errors import ProviderError, ProviderTimeout, as_exception, pass_on
from antiphon.stt import STT, SpeechEvent, SpeechEventType, STTStream
from antiphon.timer import Timer
from antiphon.vad import SpeechStarted, VADEvent

_MAX_EVENTS = 1000
"""Events that nobody fetches; the oldest are dropped beyond that."""
_STEADY = 5.0
"""Seconds after which a failure is a new one, so that recognisers tried before it may be tried again."""
_CLOSE_GRACE = 1.0
"""Seconds that a recogniser may take to close."""


class FallbackSTT(Fallback, STT):
    """Several recognisers, in order of preference, that listen as one.

    A recogniser that raises, or gives no transcript within `transcript_timeout` after the session's voice activity
    detector heard the caller stop, is followed by the next one, which is given what no final transcript covered: at
    most `max_replay` seconds, the latest. Nothing is transcribed twice. Without a voice activity detector only
    failures are noticed, not stalls.

    Iterating a stream raises `AllProvidersFailed` when every recogniser failed on one utterance; so does `stream()`
    when none can be had.

    Args:
        stts: The recognisers.
        transcript_timeout: Seconds from the end of speech to a transcript. Less than the session's own
            `transcript_timeout`, so that the next one can still answer in time.
        max_replay: Seconds of an utterance kept for the next recogniser.
        backoff: For how long a recogniser that failed is left out.
        on_availability_changed: Called when a recogniser fails and when it has recovered.
    """

    def __init__(
        self,
        stts: Sequence[STT],
        *,
        transcript_timeout: float = 1.3,
        max_replay: float = 30.0,
        backoff: Backoff | None = None,
        on_availability_changed: OnAvailabilityChanged | None = None,
    ) -> None:
        self._roster: Roster[STT] = Roster("FallbackSTT", stts, backoff, on_availability_changed)
        self._transcript_timeout = transcript_timeout
        self._max_replay = max_replay

    def stream(self) -> STTStream:
        """Recognition for one call. Needs a running event loop."""
        return _Stream(self._roster, self._transcript_timeout, self._max_replay)

    def update_options(self, **options: Any) -> None:
        """Have every one of them work differently, as far as it can."""
        self._roster.update_options(**options)


@dataclass(slots=True, eq=False)
class _Leg:
    """The recogniser that listens now."""

    member: Member[STT]
    stream: STTStream
    origin: float
    """Position at which its audio begins."""
    began: float
    """In the loop's time."""
    task: asyncio.Task[None] | None = None

    @property
    def label(self) -> str:
        return self.member.provider.label


class _Stream(STTStream):
    """One call's recognition, see the module's text."""

    def __init__(self, roster: Roster[STT], transcript_timeout: float, max_replay: float) -> None:
        self._roster = roster
        self._timeout = transcript_timeout
        self._loop = asyncio.get_running_loop()
        self._utterances = Utterances(max_replay)
        self._tried: list[Member[STT]] = []
        """Those that failed on what is being said."""
        self._suspects: list[tuple[Member[STT], ProviderError]] = []
        """Those that heard nothing in it. To blame if another one does."""
        self._errors: list[Exception] = []
        self._patience: Timer | None = None
        """When a transcript is overdue."""
        self._rests_from = 0.0
        """From then on the recogniser owes no more finals: what was said comes in several sometimes."""
        self._speaking = False
        """The engine's own detector heard speech begin, and not end."""
        self._events: deque[SpeechEvent] = deque(maxlen=_MAX_EVENTS)
        self._wake = asyncio.Event()
        self._ended = False
        self._over = False
        """Nothing more will be heard; `_error` says why, if that is a failure."""
        self._error: Exception | None = None
        self._leg: _Leg | None = None
        self._next_leg()
        if self._error is not None:
            raise self._error

    # -- in

    def push(self, frame: AudioFrame) -> None:
        if self._over or self._ended or not frame.data:
            return
        self._utterances.push(frame)
        self._tell(lambda leg: leg.stream.push(frame))

    def mark(self, event: VADEvent) -> None:
        if self._over or self._ended:
            return
        if isinstance(event, SpeechStarted):
            self._prefer()
        event = self._utterances.mark(event)
        self._tell(lambda leg: leg.stream.mark(replace(event, at=max(0.0, event.at - leg.origin))))
        self._expect()

    def flush(self) -> None:
        if self._over or self._ended:
            return
        self._utterances.flush()
        self._tell(lambda leg: leg.stream.flush())
        self._expect()

    def end_input(self) -> None:
        if self._over or self._ended:
            return
        self._ended = True
        self._utterances.end()
        self._tell(lambda leg: leg.stream.end_input())
        self._expect()

    def _tell(self, tell: Callable[[_Leg], None]) -> None:
        """Tell the recogniser that listens. One that raises has failed, and the next one was told already."""
        leg = self._leg
        if leg is None:
            return
        try:
            tell(leg)
        except BaseException as error:
            pass_on(error)
            self._failed(leg, as_exception(error))

    async def aclose(self) -> None:
        self._events.clear()
        self._finish()
        leg, self._leg = self._leg, None
        if leg is None or leg.task is None:
            return
        self._roster.retired.add(leg.task)
        await asyncio.wait({leg.task}, timeout=_CLOSE_GRACE)

    # -- out

    async def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        while True:
            while self._events:
                yield self._events.popleft()
            if self._over:
                break
            self._wake.clear()
            await self._wake.wait()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _give(self, event: SpeechEvent) -> None:
        self._events.append(event)
        self._wake.set()

    def _finish(self, error: Exception | None = None) -> None:
        self._over = True
        self._error = error
        self._stop_waiting()
        self._wake.set()

    # -- who listens

    def _next_leg(self) -> None:
        """Have the next recogniser listen, from where nothing is understood yet."""
        while (member := self._roster.choose(self._tried)) is not None:
            try:
                return self._begin(member)
            except BaseException as raised:
                pass_on(raised)
                error = as_exception(raised)
                self._roster.failed(member, error)
                self._tried.append(member)
                self._errors.append(error)
        if self._suspects:
            # Nobody else is there to ask: it may have been a noise. Those who heard nothing in it go on listening.
            dead = [m for m in self._tried if m not in {suspect for suspect, _ in self._suspects}]
            self._settle_as_noise()
            self._tried = dead
            self._next_leg()
            return
        self._finish(AllProvidersFailed(self._roster.owner, self._errors))

    def _begin(self, member: Member[STT]) -> None:
        stream = member.provider.stream()
        leg = _Leg(member, stream, 0.0, self._loop.time())
        leg.origin = self._utterances.replay(stream)
        if self._ended:
            stream.end_input()
        self._retire()
        self._leg = leg
        leg.task = self._loop.create_task(self._listen(leg), name=f"FallbackSTT {leg.label}")
        self._stop_waiting()
        self._expect()

    def _retire(self) -> None:
        """What the recogniser that listens may yet say is not wanted any more."""
        leg, self._leg = self._leg, None
        if leg is None:
            return
        if leg.task is not None and leg.task is not asyncio.current_task():
            self._roster.retired.add(leg.task)
        if self._speaking:
            self._speaking = False
            self._give(SpeechEvent(SpeechEventType.END_OF_SPEECH))

    def _prefer(self) -> None:
        """Somebody begins to speak: have the best recogniser listen that may be asked."""
        if self._leg is None or not self._utterances.is_silent or self._loop.time() < self._rests_from:
            return
        better = self._roster.preferred_to(self._leg.member)
        if better is None:
            return
        try:
            self._begin(better)
        except BaseException as error:
            pass_on(error)
            self._roster.failed(better, as_exception(error))

    # -- what the recogniser does

    async def _listen(self, leg: _Leg) -> None:
        error: Exception | None = None
        try:
            try:
                async for event in leg.stream:
                    if leg is not self._leg:
                        return
                    self._heard(leg, event)
            except BaseException as raised:
                pass_on(raised)
                error = as_exception(raised)
            if leg is not self._leg:
                return
            if error is None and self._ended:
                self._finish()
            else:
                self._failed(leg, error or _ended_early(leg))
        finally:
            try:
                await leg.stream.aclose()
            except BaseException as raised:  # nobody hears it any more
                pass_on(raised)

    def _heard(self, leg: _Leg, event: SpeechEvent) -> None:
        match event.type:
            case SpeechEventType.START_OF_SPEECH:
                self._speaking = True
            case SpeechEventType.END_OF_SPEECH:
                self._speaking = False
            case SpeechEventType.INTERIM_TRANSCRIPT if event.text:
                self._understood(leg)
                self._utterances.worded = True
                if self._patience is not None:
                    self._stop_waiting()
                    self._expect()
            case SpeechEventType.FINAL_TRANSCRIPT:
                if event.text:
                    self._understood(leg)
                self._roster.succeeded(leg.member)
                self._rests_from = self._loop.time() + self._timeout
                self._settle()
        self._give(event)

    def _understood(self, leg: _Leg) -> None:
        """There are words in the utterance, and this recogniser understands them."""
        if self._utterances.is_single:
            for member, error in self._suspects:
                self._roster.failed(member, error)
        else:  # the words are of a later utterance, on which those who heard nothing before were not tried
            suspects = {member for member, _ in self._suspects}
            self._tried = [member for member in self._tried if member not in suspects]
        self._suspects.clear()
        self._roster.succeeded(leg.member)

    def _settle(self) -> None:
        self._utterances.settle()
        self._begin_anew()

    def _settle_as_noise(self) -> None:
        self._utterances.dismiss()
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Nobody has been tried on what is said next."""
        self._suspects.clear()
        self._tried.clear()
        self._errors.clear()
        self._stop_waiting()
        self._expect()

    def _failed(self, leg: _Leg, error: Exception) -> None:
        if self._loop.time() - leg.began >= _STEADY:
            self._tried = [member for member, _ in self._suspects]
            self._errors.clear()
        self._roster.failed(leg.member, error)
        self._tried.append(leg.member)
        self._errors.append(error)
        self._retire()
        self._next_leg()

    # -- stalls

    def _expect(self) -> None:
        """A transcript, or the end, must come from now on within a bounded time."""
        if self._patience is None and not self._over and (self._utterances.is_owed or self._ended):
            self._patience = Timer(self._loop, self._loop.time() + self._timeout, self._overdue)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _overdue(self) -> None:
        self._patience = None
        leg = self._leg
        if leg is None:
            return
        if not self._utterances.is_owed:
            self._finish()  # all is said, the input has ended, and the recogniser does not end
            return
        error = ProviderTimeout(
            f"{leg.label}: expected a transcript within {self._timeout:g} s after speech, got none. If the recogniser"
            " is that slow, raise transcript_timeout of the FallbackSTT.",
            provider=leg.label,
        )
        if self._utterances.worded:
            self._failed(leg, error)
        elif self._suspects:
            self._settle_as_noise()
        else:
            self._ask_another(leg, error)

    def _ask_another(self, leg: _Leg, error: ProviderTimeout) -> None:
        """It may be a noise. Somebody else should listen to it."""
        self._tried.append(leg.member)
        self._suspects.append((leg.member, error))
        if any(member not in self._tried for member in self._roster.members):
            self._next_leg()
        else:
            self._settle_as_noise()


def _ended_early(leg: _Leg) -> ProviderError:
    return ProviderError(
        f"{leg.label}: expected transcripts until the end of the input, but its stream ended before",
        provider=leg.label,
    )
