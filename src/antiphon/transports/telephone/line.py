"""The two halves of a transport whose far end is a telephone behind a carrier's stream.

The carrier plays what it is sent from a queue of its own, and gives a mark back when all before it has sounded: by
marks alone is known what was *heard*. One is sent before the first sound after a silence, one for each 100 ms, and one
behind the last. Between two marks the position goes on by the clock, never beyond the next mark that is awaited.

A carrier cannot pause: `pause` throws away what it holds and `resume` sends it again from where the caller stopped
hearing. Marks that come back for what was thrown away are of an earlier epoch, and say nothing.

Above: whoever holds the socket; it feeds `push`, `marked` and `end`, and sends what it is given. Below: nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.transport import AudioInput, AudioOutput, check_frame
from antiphon.transports.telephone import messages
from antiphon.transports.telephone.dialect import Dialect
from antiphon.transports.telephone.messages import Sound
from antiphon.transports.telephone.mulaw import RATE, SILENCE, decode, encode

FRAME = RATE // 50
"""Bytes of 20 ms, in which sound is sent."""
MARKED = RATE // 10
"""Bytes between two marks."""
LONGEST_GAP = 10
"""Frames that may be missing in the caller's voice and are silence; a larger gap is none, but a count begun anew."""


class TelephoneInput(AudioInput):
    """The caller's voice, at 8 kHz. What comes before the call starts, or after its end, is dropped."""

    sample_rate = RATE

    def __init__(self) -> None:
        self._on_frame: Callable[[AudioFrame], None] | None = None
        self._on_end: Callable[[], None] | None = None
        self._last: int | None = None
        """The number of the chunk that came last."""

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        if self._on_frame is not None:
            raise UsageError("TelephoneInput.start: it has been started before; make a new one for each call")
        self._on_frame, self._on_end = on_frame, on_end

    def push(self, sound: Sound) -> None:
        """The next of the caller's voice. What comes late is left out; what was lost is silence in its place."""
        if self._on_frame is None or self._on_end is None or not sound.data:
            return
        data = self._in_order(sound)
        if data:
            self._on_frame(AudioFrame(decode(data), RATE))

    def _in_order(self, sound: Sound) -> bytes:
        last, number = self._last, sound.chunk
        if number is None:
            return sound.data
        if last is not None and last - LONGEST_GAP <= number <= last:
            return b""
        self._last = number
        missing = 0 if last is None else number - last - 1
        if not 0 < missing <= LONGEST_GAP:
            return sound.data
        return SILENCE * (missing * min(len(sound.data), FRAME)) + sound.data

    def end(self) -> None:
        """The caller is gone. Later calls do nothing."""
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end()

    async def aclose(self) -> None:
        self._on_frame = self._on_end = None


class TelephoneOutput(AudioOutput):
    """The caller's ear, at 8 kHz. `send` takes the messages for the carrier, and never waits."""

    sample_rate = RATE
    lead = 0.6  # a cut costs nothing, since the carrier drops what it holds at once; and networks and loops stall

    def __init__(self, dialect: Dialect, stream: str, send: Callable[[str], None]) -> None:
        self._dialect = dialect
        self._stream = stream
        self._send = send
        self._epoch = 0
        """Grows with every `clear` that is sent: marks of an earlier one say nothing."""
        self._before = 0
        """Samples that were heard in earlier epochs."""
        self._unheard = bytearray()
        """Written in this epoch; what is known to have been heard is taken off in front."""
        self._heard = 0
        """Samples of this epoch that were taken off."""
        self._position = 0.0
        """Samples of this epoch that have sounded, as far as told or shown. Never decreases within the epoch."""
        self._sent = 0
        """Samples of this epoch that were sent."""
        self._marks: deque[tuple[str, int]] = deque()
        """Those that are awaited, with their places."""
        self._number = 0
        self._clock: tuple[float, int] | None = None
        """When the carrier last gave a mark back, and its place. None: the clock says nothing."""
        self._last_mark: asyncio.TimerHandle | None = None
        self._paused = False
        self._closed = False

    # -- for the session

    def write(self, frame: AudioFrame) -> None:
        check_frame(frame, RATE, "TelephoneOutput")
        if self._closed or not frame.data:
            return
        self._catch_up()
        self._unheard += encode(frame.data)
        if not self._paused:
            self._send_on()

    @property
    def played(self) -> float:
        self._catch_up()
        return (self._before + int(self._position)) / RATE

    def pause(self) -> None:
        if self._paused or self._closed:
            return
        self._settle()
        self._paused = True

    def resume(self) -> None:
        if not self._paused or self._closed:
            return
        self._paused = False
        self._send_on()

    def clear(self) -> float:
        self._settle()
        lost = len(self._unheard)
        self._unheard.clear()
        self._paused = False
        return lost / RATE

    async def aclose(self) -> None:
        self.clear()
        self._closed = True

    # -- for the socket

    def marked(self, name: str) -> None:
        """The carrier gave a mark back. Those of an earlier epoch, and strange ones, are passed over."""
        if not any(name == one for one, _ in self._marks):
            return
        while self._marks:
            one, place = self._marks.popleft()
            if one == name:
                break
        self._position = max(self._position, float(place))
        self._clock = _now(), place
        self._forget_heard()

    # -- on its way

    def _send_on(self) -> None:
        """Send what was written and not sent."""
        data = bytes(self._unheard[self._sent - self._heard :])
        if not data:
            return
        if not self._marks and int(self._position) >= self._sent:
            self._clock = None  # it was silent: the mark in front says when it begins to sound
            self._mark()
        for piece in _frames(data):
            self._send(messages.media(self._dialect, self._stream, piece))
            self._sent += len(piece)
            if self._unmarked >= MARKED:
                self._mark()
        if self._unmarked and self._last_mark is None:
            self._last_mark = asyncio.get_running_loop().call_later(MARKED / RATE / 2, self._mark_last)

    @property
    def _unmarked(self) -> int:
        return self._sent - (self._marks[-1][1] if self._marks else int(self._position))

    def _mark(self) -> None:
        self._number += 1
        name = f"{self._epoch}.{self._number}"
        self._marks.append((name, self._sent))
        self._send(messages.mark(self._dialect, self._stream, name))

    def _mark_last(self) -> None:
        self._last_mark = None
        if self._unmarked > 0:
            self._mark()

    def _settle(self) -> None:
        """Nothing is under way any more: what was not heard is kept here, and thrown away there."""
        self._catch_up()
        self._forget_heard()
        if self._last_mark is not None:
            self._last_mark.cancel()
            self._last_mark = None
        is_under_way = self._sent > self._heard and not self._closed
        self._before += self._heard
        self._heard = self._sent = 0
        self._position = 0.0
        self._clock = None
        self._marks.clear()
        self._epoch += 1
        if is_under_way:  # last of all, for it gives back all marks
            self._send(messages.clear(self._dialect, self._stream))

    def _catch_up(self) -> None:
        """Let the position go on by the clock, as far as the next mark."""
        if self._clock is not None and self._marks:
            at, place = self._clock
            due = place + (_now() - at) * RATE
            self._position = max(self._position, min(due, float(self._marks[0][1])))

    def _forget_heard(self) -> None:
        heard = int(self._position)
        del self._unheard[: heard - self._heard]
        self._heard = heard


def _frames(data: bytes) -> list[bytes]:
    """Pieces of 20 ms; the last one takes what is over, for carriers take nothing shorter."""
    count = max(1, len(data) // FRAME)
    ends = [*(FRAME * number for number in range(1, count)), len(data)]
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _now() -> float:
    return asyncio.get_running_loop().time()
