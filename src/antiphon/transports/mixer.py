"""Speech over a bed of other sounds, on one loudspeaker.

Above: a session, which takes a `MixedOutput` for a plain loudspeaker: `played`, `pause` and `clear` are about speech
alone. Beside it: whoever adds sounds to the bed. Below: the loudspeaker, which knows one mixed sound.

Theory of operation. The time line is that of the loudspeaker: position n is the n-th sample that it plays. A ledger
says of everything the loudspeaker has queued which part is speech, so `played` is what the loudspeaker played of that.
While there is no bed, everything passes straight through. With one, the mixer keeps the loudspeaker supplied, and
whatever changes the mix at once (speech begins, pauses, is thrown away, a sound is stopped) *takes back* what is
queued: the loudspeaker is cleared, speech is pending again, and the same stretch of time is mixed anew. The sounds of
the bed are functions of the time line, so a stretch that is mixed twice sounds as if nothing had happened.

Behind the end of speech the bed is filled in late: more speech is likely to come, and need not be made room for.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.transport import AudioOutput, check_frame
from antiphon.transports.bed import FADE, Sound, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DUCKED = 10 ** (-12 / 20)
"""How loud the bed is under speech: 12 dB down."""
RAMP = 0.08
"""Seconds in which it gets there, and back."""

_LATE = 0.3
"""The part of the lead that is left when the bed is filled in behind speech: sessions write at half of it."""
_REST = 0.01
"""Seconds of bed in front of speech that are not worth taking back."""
_SHORTEST = 0.02
"""Seconds between two looks at the loudspeaker, at least."""


class _Phase(enum.Enum):
    """Where the call is."""

    WAITING = enum.auto()  # it has not begun: the bed may be laid
    OPEN = enum.auto()
    CLOSED = enum.auto()


class _Hold(enum.Enum):
    """Where speech is held back in a pause."""

    NONE = enum.auto()  # it flows
    BELOW = enum.auto()  # in the loudspeaker, which is paused: there is no bed
    HERE = enum.auto()  # in the mixer: the bed plays on


@dataclass(slots=True, frozen=True)
class MixedFrame(AudioFrame):
    """What the loudspeaker is given while there is a bed. Recorders tell by it what was said from what was heard."""

    speech: bytes = b""
    """The speech in it, unmixed, as long as `data`; empty if it is bed alone."""


@dataclass(slots=True)
class _Piece:
    """A stretch that the loudspeaker was given: all speech, or none of it."""

    samples: int
    speech: bytes
    """The speech in it, unmixed; empty if it is bed alone."""
    gain: float
    """How loud the bed is at its beginning."""
    target: float
    """Where that is going."""


class MixedOutput(AudioOutput):
    """A loudspeaker for a session, over which other sounds can be played.

    The bed is 12 dB quieter under speech, and goes on while speech is paused or thrown away. Speech begins as soon
    as it would without a bed. Nothing is done, and no timer runs, while there are no sounds.

    `played` is as exact as the loudspeaker's. Where that is behind a wire, speech that was on its way when it was
    paused over a bed is heard again when it resumes.
    """

    def __init__(self, output: AudioOutput) -> None:
        self.sample_rate = output.sample_rate
        self.lead = output.lead
        self._output = output
        self._sounds: list[Sound] = []
        self._pending: deque[bytes] = deque()
        """Speech that the loudspeaker was not given yet; bounded by the writer, who keeps to `lead`."""
        self._ledger: deque[_Piece] = deque()
        """What the loudspeaker was given and, as far as is known, has not played whole."""
        self._start = 0
        """The position at which the ledger begins."""
        self._end = 0
        """And at which it ends."""
        self._now = 0
        """What the loudspeaker had played when it was last asked."""
        self._spoken = 0
        """Samples of speech before the ledger."""
        self._gain = 1.0
        """How loud the bed is at the end of the ledger."""
        self._hold = _Hold.NONE
        self._phase = _Phase.WAITING
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        """When to look at the loudspeaker again, on the loop's clock."""

    # -- for the session

    def start(self) -> None:
        self._output.start()
        self._phase = _Phase.OPEN
        self._start = self._end = self._now = round(self._output.played * self.sample_rate)
        for sound in self._sounds:
            sound.began = self._end
        self._pump()

    def write(self, frame: AudioFrame) -> None:
        check_frame(frame, self.sample_rate, "MixedOutput.write")
        if frame.data and not self.closed:
            self._pending.append(frame.data)
            self._pump()

    @property
    def played(self) -> float:
        self._settle()
        spoken = self._spoken
        if self._ledger and self._ledger[0].speech:
            spoken += self._now - self._start
        return spoken / self.sample_rate

    @property
    def sounding(self) -> bool:
        """True while there is speech that was not played; a pause does not end it."""
        self._settle()
        return bool(self._pending) or any(piece.speech for piece in self._ledger)

    def pause(self) -> None:
        if self._hold is not _Hold.NONE or self.closed:
            return
        if not self._sounds:
            self._hold = _Hold.BELOW
            self._output.pause()
        elif self.sounding:
            self._hold = _Hold.HERE
            self._take_back()
            self._pump()
        else:
            self._hold = _Hold.HERE

    def resume(self) -> None:
        held, self._hold = self._hold, _Hold.NONE
        if held is _Hold.BELOW:
            self._output.resume()
        self._pump()

    def clear(self) -> float:
        if self.closed:
            return 0.0
        if self.sounding or self._hold is _Hold.BELOW:
            self._take_back()
        dropped = sum(map(len, self._pending)) // 2
        self._pending.clear()
        self._hold = _Hold.NONE
        self._pump()
        return dropped / self.sample_rate

    async def aclose(self) -> None:
        if not self.closed:
            self._settle()
            self._phase = _Phase.CLOSED
            self._pending.clear()
            if self._timer is not None:
                self._timer.cancel()
            while self._sounds:
                self._sounds.pop().finish()
        await self._output.aclose()

    # -- for what lies between it and the loudspeaker

    @property
    def below(self) -> AudioOutput:
        """The loudspeaker, which is given the mix."""
        return self._output

    def put_below(self, output: AudioOutput) -> None:
        """Give the mix to this output instead, which wraps the one before. Raises `UsageError` once the call runs."""
        if self._phase is not _Phase.WAITING:
            raise UsageError("MixedOutput.put_below: the call runs already; do it before the session starts")
        self._output = output

    # -- for the bed

    @property
    def closed(self) -> bool:
        """True once the call is over."""
        return self._phase is _Phase.CLOSED

    def add(self, source: Source, *, fade_in: float = 0.0, fade_out: float = FADE, yields: bool = False) -> Sound:
        """Play a source at once, or when the call begins.

        Fades in seconds: from the start, and from where it is stopped. `yields`: it is stopped where speech begins.
        """
        if self._hold is _Hold.BELOW:
            self._take_back()
            self._hold = _Hold.HERE
        rate = self.sample_rate
        sound = Sound(source, self._end, fade_in=round(fade_in * rate), fade_out=round(fade_out * rate), yields=yields)
        if self.closed:
            sound.finish()
            return sound
        self._sounds.append(sound)
        self._pump()
        return sound

    def stop(self, sound: Sound) -> None:
        """Fade a sound out, from what is heard now. No effect if it is over."""
        if sound not in self._sounds:
            return
        if self._phase is _Phase.OPEN and (sound.end is None or sound.end > self._end):
            self._take_back()
        sound.stop(self._end)
        if self._phase is _Phase.WAITING:
            self._sounds.remove(sound)
            sound.finish()
        self._pump()

    # -- the loudspeaker

    def _settle(self) -> None:
        """Take note of what was played."""
        if self._phase is not _Phase.OPEN:
            return
        now = round(self._output.played * self.sample_rate)
        if now > self._now:
            self._now = min(now, self._end)
        while self._ledger and self._start + self._ledger[0].samples <= self._now:
            piece = self._ledger.popleft()
            self._start += piece.samples
            self._spoken += len(piece.speech) // 2

    def _take_back(self) -> None:
        """Clear the loudspeaker, which ends a pause of its. The speech in it is pending again."""
        self._settle()
        rest = round(self._output.clear() * self.sample_rate)
        while rest > 0 and self._ledger:
            piece = self._ledger.pop()
            left = max(0, piece.samples - rest)
            rest -= piece.samples - left
            self._end -= piece.samples - left
            self._gain = self._gain_in(piece, left)
            if piece.speech:
                self._pending.appendleft(piece.speech[2 * left :])
            if left:
                self._ledger.append(_Piece(left, piece.speech[: 2 * left], piece.gain, piece.target))

    def _pump(self) -> None:
        """Give the loudspeaker what it should have."""
        if self._phase is not _Phase.OPEN:
            return
        if self._sounds:
            self._settle()
            self._end_sounds()
        if self._pending and self._hold is not _Hold.HERE:
            if self._sounds:
                self._make_way()
            speech = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
            self._pending.clear()
            self._give(len(speech) // 2, speech)
        if self._sounds:
            self._fill()

    def _end_sounds(self) -> None:
        for sound in tuple(self._sounds):
            if sound.end is not None and sound.end <= self._now:
                self._sounds.remove(sound)
                sound.finish()

    def _make_way(self) -> None:
        """Speech comes: the bed in front of it goes, and what yields to it stops."""
        if self._ledger and not self._ledger[-1].speech:
            unplayed = self._end - max(self._now, self._end - self._ledger[-1].samples)
            if unplayed > _REST * self.sample_rate:
                self._take_back()
        for sound in self._sounds:
            if sound.yields:
                sound.stop(self._end)

    def _fill(self) -> None:
        """Have bed enough in the loudspeaker, and look again before it runs out."""
        lead = self.lead * self.sample_rate
        queued = self._end - self._now
        if queued <= self._least():
            self._give(round(lead) - queued, b"")
            queued = self._end - self._now
        loop = asyncio.get_running_loop()
        self._due = loop.time() + max(_SHORTEST, (queued - self._least()) / self.sample_rate)
        # A timer that fires too early costs less than one that is moved each time.
        if self._timer is None or self._due < self._timer.when() - _SHORTEST / 2:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_at(self._due, self._look)

    def _least(self) -> float:
        """Samples that the loudspeaker has at least queued."""
        behind_speech = self._ledger and self._ledger[-1].speech
        return (_LATE if behind_speech else 0.5) * self.lead * self.sample_rate

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        if self._sounds and loop.time() < self._due - _SHORTEST / 2:
            self._timer = loop.call_at(self._due, self._look)
            return
        self._timer = None
        self._pump()

    # -- the mix

    def _give(self, samples: int, speech: bytes) -> None:
        """Give the loudspeaker the next stretch."""
        target = DUCKED if speech else 1.0
        if not self._sounds:
            self._gain = 1.0
            frame = AudioFrame(speech, self.sample_rate)
        else:
            plain = self._plain(samples) if not speech else None
            data = self._mixed(samples, speech, target) if plain is None else plain
            frame = MixedFrame(data, self.sample_rate, speech=speech)
        piece = _Piece(samples, speech, self._gain, target)
        self._gain = self._gain_in(piece, samples)
        self._ledger.append(piece)
        self._end += samples
        self._output.write(frame)

    def _plain(self, samples: int) -> bytes | None:
        """What sounds if it is one sound alone, as it is: most of the time in most calls."""
        if len(self._sounds) > 1 or self._gain != 1.0:
            return None
        piece = self._sounds[0].plain(self._end, samples)
        return None if piece is None else piece.tobytes()

    def _mixed(self, samples: int, speech: bytes, target: float) -> bytes:
        import numpy as np

        gains = self._gains(samples, target)
        alone = self._sounds[0].plain(self._end, samples) if len(self._sounds) == 1 else None
        if alone is not None:  # the same in fewer steps: what a call with a bed spends most on
            mix = alone.astype(np.float32) if gains is None else alone * gains
        else:
            mix = np.zeros(samples, np.float32)
            for sound in self._sounds:
                sound.add_to(mix, self._end)
            if gains is not None:
                mix *= gains
        if speech:
            mix += np.frombuffer(speech, "<i2")
        data: bytes = mix.clip(-32768, 32767, out=mix).astype("<i2").tobytes()
        return data

    def _gains(self, samples: int, target: float) -> NDArray[np.float32] | np.float32 | None:
        """How loud the bed is, sample by sample, on its way to `target`. None: as loud as it is."""
        import numpy as np

        if self._gain == target:
            return None if target == 1.0 else np.float32(target)
        step = self._step(target - self._gain)
        ramp = self._gain + step * np.arange(samples, dtype=np.float32)
        bounded: NDArray[np.float32] = (np.minimum if step > 0 else np.maximum)(ramp, target)
        return bounded

    def _gain_in(self, piece: _Piece, at: int) -> float:
        """How loud the bed is, so many samples into a piece."""
        difference = piece.target - piece.gain
        moved = self._step(difference) * at
        return piece.target if abs(moved) >= abs(difference) else piece.gain + moved

    def _step(self, difference: float) -> float:
        """The change of loudness from one sample to the next."""
        step = (1.0 - DUCKED) / (RAMP * self.sample_rate)
        return step if difference > 0 else -step
