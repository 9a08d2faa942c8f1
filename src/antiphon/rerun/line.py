"""The caller of a recorded call, on the line again: their voice, their words, at the times at which they came.

As long as the call goes as it went, everything comes when it came. From where it goes another way, the caller waits
their turn: what they said into the agent's speech they say into it again, as far into it as they did; all else they say
once the agent is silent, after as long as they had taken then.

Above: `running`. Below: the contracts of detectors and recognisers; of the session it is known whether it has something
to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.errors import ProviderError
from antiphon.rerun.call import Answers, CallerDoes, RecordedCall, Says, Types
from antiphon.session import AgentSession
from antiphon.stt import STT, SpeechEvent, STTStream
from antiphon.turn_detector import TurnDetector, TurnSoFar
from antiphon.vad import VAD, SpeechEnded, SpeechStarted, VADEvent, VADStream

_EPSILON = 1e-6
_LOOK = 0.05
"""Seconds from one look at the call to the next, where it goes another way."""
_PATIENCE = 20.0
"""Seconds that a caller waits for an agent who says nothing."""
_UNDERSTOOD = 0.1
"""Seconds from the end of a voice to its words, where nothing is known of them."""
_TURNS = 500
"""Turns of the loop that a typed turn waits at most for what came before it at the same instant."""
_FINISHES = 3.0
"""Seconds that an agent who was silent then may still speak."""
_FRAME = 0.02
"""Seconds of sound in a frame."""
_AHEAD = 0.03
"""Seconds before it that what the microphone brings is planned: before its frame."""
_TAKEN = 0.05
"""Seconds until what was typed is on its way."""
_HEARD = 0.7
"""Seconds until what was said is: its words come, and its turn is over."""
_QUIET = 1.0
"""Seconds in which nobody speaks or works, after which the call is over."""
_REACTION = 0.4
"""Seconds that a caller takes at least, where the call goes another way."""


@dataclass(slots=True, frozen=True)
class _Due:
    """Something that is to come, in seconds of the loop's clock."""

    at: float
    voice: bool | None = None
    """The voice begins, or ends; None: words come."""
    since: float = 0.0
    text: str = ""
    is_final: bool = False


class Line:
    """One caller's: what the session hears of them."""

    def __init__(self, call: RecordedCall, began: Callable[[], float]) -> None:
        self._call = call
        self._began = began
        self._voices: list[_Due] = []
        self._words: list[_Due] = []
        self._listens: _Stream | None = None
        self.vad = _VAD(self)
        self.stt = _STT(self)
        self.turn_detector = _Detector(self) if call.predictions else None

    @property
    def offset(self) -> float:
        """When the conversation began, in seconds of the loop's clock."""
        return self._began()

    def plans(self, does: Says, shift: float = 0.0) -> None:
        """They are about to say this, so many seconds later than they did."""
        by = self.offset + shift
        if does.until > does.at:
            self._voices.append(_Due(by + does.at, True, does.voice))
            self._voices.append(_Due(by + does.until, False, does.silence))
        for at, text in does.earlier:
            self._say(_Due(by + at, text=text))
        if does.text:
            understood = does.until + _UNDERSTOOD if does.understood is None else does.understood
            self._say(_Due(by + understood, text=does.text, is_final=True))

    def _say(self, due: _Due) -> None:
        self._words.append(due)
        self._words.sort(key=lambda one: one.at)
        loop = asyncio.get_running_loop()
        if due.at > loop.time():
            loop.call_at(due.at, self.give_words)

    def voices(self, now: float) -> Iterator[_Due]:
        """What is due of their voice."""
        while self._voices and self._voices[0].at <= now + _EPSILON:
            yield self._voices.pop(0)

    def give_words(self) -> None:
        """Have whoever listens understand what is due. Without anybody it waits."""
        now = asyncio.get_running_loop().time()
        while self._listens is not None and self._words and self._words[0].at <= now + _EPSILON:
            one = self._words.pop(0)
            self._listens.give(SpeechEvent.final(one.text) if one.is_final else SpeechEvent.interim(one.text))

    def listens(self) -> _Stream:
        """A recogniser that hears them from now on."""
        self._listens = _Stream(self)
        return self._listens

    def predicted(self, text: str) -> tuple[float, float]:
        """What the turn detector said of these words, and how long it took."""
        return self._call.predictions.get(text, (0.02, 1.0))


class _VAD(VAD):
    def __init__(self, line: Line) -> None:
        self._line = line

    def stream(self) -> VADStream:
        return _VADStream(self._line)


class _VADStream(VADStream):
    def __init__(self, line: Line) -> None:
        self._line = line
        self._pushed = 0.0

    def push(self, frame: AudioFrame) -> Sequence[VADEvent]:
        self._pushed += frame.duration
        now = asyncio.get_running_loop().time()
        return [
            SpeechStarted(self._pushed - due.since) if due.voice else SpeechEnded(self._pushed - due.since)
            for due in self._line.voices(now)
        ]


class _STT(STT):
    model = "recorded"

    def __init__(self, line: Line) -> None:
        self._line = line

    def stream(self) -> STTStream:
        return self._line.listens()


class _Stream(STTStream):
    """What was understood, given when it was."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._events: asyncio.Queue[SpeechEvent | None] = asyncio.Queue()

    def give(self, event: SpeechEvent) -> None:
        """They understood this."""
        self._events.put_nowait(event)

    def push(self, frame: AudioFrame) -> None:
        self._line.give_words()

    def end_input(self) -> None:
        self._events.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        while (event := await self._events.get()) is not None:
            yield event

    async def aclose(self) -> None:
        self._events.put_nowait(None)


class _Detector(TurnDetector):
    def __init__(self, line: Line) -> None:
        self._line = line

    async def predict(self, turn: TurnSoFar) -> float:
        seconds, probability = self._line.predicted(turn.text)
        await asyncio.sleep(seconds)
        return probability


# -- who plays them


class Player:
    """Has the caller of a recorded call do again what they did."""

    def __init__(
        self,
        call: RecordedCall,
        line: Line,
        session: AgentSession[Any],
        *,
        is_another_way: Callable[[], bool],
        is_speaking: Callable[[], bool],
        facts: Callable[[], int],
        waits_at_the_end: bool = False,
    ) -> None:
        self._call = call
        self._line = line
        self._session = session
        self._is_another_way = is_another_way
        self._is_speaking = is_speaking
        self._loop = asyncio.get_running_loop()
        self._waits_at_the_end = waits_at_the_end
        """What takes another time than it did is heard to its end."""
        self._facts = facts
        """How much the conversation was told so far."""

    async def play(self) -> None:
        """The whole call, from their side. Returns when they hang up, or when the agent has ended it."""
        shift = 0.0
        before: CallerDoes | None = None
        for does in sorted(self._call.caller, key=lambda one: one.at):
            if not await self._waits(does, shift):
                return
            if self._is_another_way():
                shift = max(shift, await self._takes_turn(does, before)) if self._session.is_running else shift
                if not self._session.is_running:
                    return
            elif isinstance(does, Says) and does.into is None and does.text:
                shift = max(shift, await self._lets_finish(does, shift))
            if isinstance(does, Types):
                await self._behind(does)
                self._session.submit_user_turn(does.text)
            else:
                self._line.plans(does, shift)
            before = does
        await self._ends(shift)

    async def _lets_finish(self, does: Says, shift: float) -> float:
        """A voice that is a little slower than the recorded one is not cut by who did not cut it. Returns the shift."""
        if not self._is_speaking():
            return shift
        await self._until_silent()
        return self._loop.time() - self._line.offset - does.at + min(does.pause, _REACTION)

    async def _until_silent(self) -> None:
        """Until the agent is not heard any more; not for ever."""
        for _ in range(round(_FINISHES / _FRAME)):
            if not (self._is_speaking() and self._session.is_running):
                return
            await asyncio.sleep(_FRAME)

    async def _behind(self, does: Types) -> None:
        """Of what comes at one instant, this is not the first."""
        for _ in range(_TURNS):
            if self._facts() >= does.behind or self._is_another_way():
                return
            await asyncio.sleep(0)

    async def _waits(self, does: CallerDoes, shift: float) -> bool:
        """Until it is time. False: the call is over."""
        lead = 0.0 if isinstance(does, Types) else _first(does) - does.at
        due = self._line.offset + does.at + shift + lead
        while self._session.is_running:
            left = due - self._loop.time()
            if isinstance(does, Says):
                left -= _AHEAD
            if left <= _EPSILON or self._is_another_way():
                return True
            await asyncio.sleep(left if left < 0.5 else min(left - 0.2, 0.5))
        return False

    async def _takes_turn(self, does: CallerDoes, before: CallerDoes | None) -> float:
        """Wait for the moment at which they would say it. Returns how much later than in the recorded call that is."""
        into = does.into
        limit = self._loop.time() + _PATIENCE
        if before is not None:
            await self._said(before)
        if into is None:
            reaction = max(_REACTION, min(3.0, does.pause))
            while self._session.is_running and self._loop.time() < limit:
                if self._session.idle and not self._is_speaking():
                    break
                await asyncio.sleep(_LOOK)
            await asyncio.sleep(reaction)
        else:
            while self._session.is_running and self._loop.time() < limit and not self._is_speaking():
                if self._session.idle and before is None:
                    break
                await asyncio.sleep(_LOOK)
            await asyncio.sleep(into)
        return self._loop.time() - self._line.offset - does.at + _TAKEN

    async def _said(self, before: CallerDoes) -> None:
        """Until what they said before is said, and on its way."""
        await asyncio.sleep(_TAKEN if isinstance(before, Types) else before.until - before.at + _HEARD)

    async def _ends(self, shift: float) -> None:
        """Until the end of the call: the agent's, or they hang up when they did."""
        due = self._line.offset + self._call.ended + shift
        while self._session.is_running and self._loop.time() < due - _EPSILON and not self._is_another_way():
            left = due - self._loop.time()
            await asyncio.sleep(min(left, 0.5))
        if not self._call.in_the_middle:
            await self._until_silent()
        waits = self._waits_at_the_end or self._is_another_way() or self._call.by_agent
        if not (self._session.is_running and waits):
            return
        limit = self._loop.time() + _PATIENCE
        await asyncio.sleep(_HEARD)
        quiet = self._loop.time()
        while self._session.is_running and self._loop.time() < limit:
            if not self._session.idle or self._is_speaking():
                quiet = self._loop.time()
            elif self._loop.time() - quiet >= _QUIET:
                return
            await asyncio.sleep(_LOOK)


def _first(does: Says) -> float:
    """When the first of it comes."""
    return min([does.at, *(at for at, _ in does.earlier)])


def failure_of(answer: Answers) -> ProviderError:
    """What a model raised in the recorded call."""
    return ProviderError(answer.error or "the model failed, as in the recorded call", provider="recorded")
