"""What the caller says, kept until a transcript covers it: so that another recogniser can hear it, too.

Above: `stt`. Pure. Positions are seconds of audio since the stream began. The voice activity detector's marks say
where an utterance begins and ends; without any, everything since the last final transcript is one utterance.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TypeAlias

from antiphon.audio import AudioFrame
from antiphon.stt import STTStream
from antiphon.vad import SpeechEnded, SpeechStarted, VADEvent

_PRE_ROLL = 0.5
"""Seconds kept before a voice: engines need them, and detectors are late on soft onsets."""
_DETECTION = 1.0
"""Seconds within which a detector tells of a voice. What is older is forgotten in silence."""
_FADE = 0.06
"""Seconds that the last sound of a word goes on after a detector has lost the voice."""
_TRANSCRIPT_LAG = 0.2
"""Seconds by which a final transcript may lag behind the sound, where no mark says what it covers. Less than a word:
some sound may be lost to a recogniser that takes over just then, but no word is heard twice."""
_REMNANT = 0.5
"""Seconds of voice behind a final transcript that are not worth a transcript of their own."""
_MAX_OWED = 16
"""Utterances that may wait for a transcript; the oldest is not waited for beyond that."""
_MAX_LAG = 2.0
"""Seconds. A mark further back was made on another clock than this stream's."""
_MAX_LEAD = 0.3
"""Seconds by which a mark may be ahead: the detector may have been given the frame first."""
_TYPICAL_LAG = 0.25
"""Seconds by which a mark on another clock is taken to be late."""


@dataclass(slots=True, frozen=True)
class Flush:
    """A transcript was asked for here."""


_Entry: TypeAlias = AudioFrame | SpeechStarted | SpeechEnded | Flush


class Utterances:
    """The audio that no final transcript covers, with its marks. Bounded: `limit` seconds, the oldest is dropped."""

    def __init__(self, limit: float) -> None:
        self.now = 0.0
        """Seconds of audio so far."""
        self.worded = False
        """Something of it was understood: it is more than a noise."""
        self._limit = limit
        self._entries: deque[tuple[float, _Entry]] = deque()
        """With the position at which each ends."""
        self._floor = 0.0
        """What is before was covered by a final transcript."""
        self._marked = False
        """There is a detector."""
        self._open: float | None = None
        """Since when somebody speaks."""
        self._partly = False
        """A part of the open utterance was covered."""
        self._owed: deque[tuple[float, float]] = deque(maxlen=_MAX_OWED)
        """Where the complete utterances begin and end that are owed a transcript, oldest first."""

    @property
    def is_owed(self) -> bool:
        """A transcript is due: somebody has spoken and stopped."""
        return bool(self._owed)

    @property
    def is_silent(self) -> bool:
        """Nobody speaks, and nothing is owed."""
        return self._open is None and not self._owed

    @property
    def is_single(self) -> bool:
        """What is understood now is of the utterance that is owed: no other one has begun since."""
        return self._open is None and len(self._owed) == 1

    # -- what happens

    def push(self, frame: AudioFrame) -> None:
        """The next frame."""
        self.now += frame.duration
        self._entries.append((self.now, frame))
        self._forget()

    def mark(self, event: VADEvent) -> VADEvent:
        """A mark of the detector; returns it on this stream's clock."""
        self._marked = True
        event = replace(event, at=self._own_time(event.at))
        if isinstance(event, SpeechStarted):
            if self._open is None:
                self._open, self._partly = event.at, False
        elif self._open is not None:
            began, self._open = self._open, None
            if not self._partly or event.at - began >= _REMNANT:
                self._owed.append((began, event.at))
        self._entries.append((self.now, event))
        return event

    def flush(self) -> None:
        """A transcript of everything so far is asked for."""
        if self._open is not None:
            self._owed.append((self._open, self.now))
            self._open, self._partly = self.now, True
        self._entries.append((self.now, Flush()))

    def end(self) -> None:
        """No more audio will come."""
        if self._open is not None:
            self._owed.append((self._open, self.now))
            self._open = None
        elif not self._marked and self.worded:
            self._owed.append((self._floor, self.now))

    def settle(self) -> None:
        """A final transcript has come: it covers all that was owed, or else what was said so far."""
        if self._owed:
            while self._owed:
                self.dismiss()
            return
        self.worded = False
        if self._open is not None or not self._marked:
            self._floor = max(self._floor, self.now - _TRANSCRIPT_LAG)
            if self._open is not None:
                self._open, self._partly = self._floor, True
        self._forget()

    def dismiss(self) -> None:
        """No transcript is expected any more of the oldest utterance that is owed one."""
        self.worded = False
        _, end = self._owed.popleft()
        self._floor = max(self._floor, end + _FADE)
        self._drop_oldest_marks()
        self._forget()

    # -- for another recogniser

    def replay(self, stream: STTStream) -> float:
        """Give the stream all of it, marks included. Returns the position at which its audio begins."""
        self._forget()
        frames = [end - entry.duration for end, entry in self._entries if isinstance(entry, AudioFrame)]
        origin = frames[0] if frames else self.now
        speaking = False
        begins = self._begins_within()
        for _, entry in self._entries:
            match entry:
                case AudioFrame():
                    stream.push(entry)
                    if begins and not speaking:
                        stream.mark(SpeechStarted(0.0))
                        speaking = True
                case Flush():
                    stream.flush()
                case SpeechStarted() | SpeechEnded():
                    started = isinstance(entry, SpeechStarted)
                    if speaking is not started:
                        stream.mark(replace(entry, at=max(0.0, entry.at - origin)))
                        speaking = started
        return origin

    def _begins_within(self) -> bool:
        """Whether somebody already speaks where the audio begins: the mark of it is gone."""
        first = next((entry for _, entry in self._entries if isinstance(entry, SpeechStarted | SpeechEnded)), None)
        return self._open is not None if first is None else isinstance(first, SpeechEnded)

    # -- bookkeeping

    def _own_time(self, at: float) -> float:
        lag = self.now - at
        return at if -_MAX_LEAD <= lag <= _MAX_LAG else max(0.0, self.now - _TYPICAL_LAG)

    def _keep_from(self) -> float:
        since = self._owed[0][0] if self._owed else self._open
        if since is not None:
            wanted = since - _PRE_ROLL
        else:
            wanted = self.now - _DETECTION - _PRE_ROLL if self._marked else self._floor
        return max(wanted, self._floor, self.now - self._limit)

    def _forget(self) -> None:
        keep_from = self._keep_from() + 1e-6
        while self._entries and self._entries[0][0] <= keep_from:
            self._entries.popleft()

    def _drop_oldest_marks(self) -> None:
        """Forget the marks of the oldest utterance: they must not make one of the sound behind it."""
        ends = (i for i, (_, entry) in enumerate(self._entries) if isinstance(entry, SpeechEnded | Flush))
        last = next(ends, -1)
        kept = [entry for i, entry in enumerate(self._entries) if i > last or isinstance(entry[1], AudioFrame)]
        self._entries = deque(kept)
