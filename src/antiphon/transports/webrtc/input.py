"""The caller's voice, out of sounds that carry the sender's time: gaps are filled, so that counting samples is a clock.

Who listens (a voice activity detector first of all) measures pauses in samples. A packet lost on the way must not make
a pause shorter, and a network that stalls in the middle of a word must not stop time. So a gap between timestamps
becomes silence, and when nothing has come for `STALL` seconds, silence goes on at the pace of real time until packets
come again or the call is given up; what then comes for a time already filled is dropped. And since packets are the far
end's word, nobody can say more than time has passed: what comes too far ahead of real time is dropped as well.

Above: the session. Below: nothing; `peer` gives it decoded sound.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from dataclasses import dataclass

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.transport import AudioInput
from antiphon.transports.webrtc.rtp import FRAME, SAMPLE_RATE, distance

STALL = 0.3
"""Seconds without a packet after which silence stands in for the caller."""
LATE = 0.05
"""Seconds by which a timer may be late on a busy machine."""
LONGEST_GAP = SAMPLE_RATE
"""Samples of silence put in for one gap, at most. A longer leap of the timestamps is the sender's new clock."""

MOST_AHEAD = 2.0
"""Seconds that the sound of a call may be ahead of the time that has passed in it."""


class _State(enum.Enum):
    OPEN = enum.auto()
    ENDED = enum.auto()
    """The caller has gone."""
    CLOSED = enum.auto()
    """Closed from this side: no callback is called any more."""


@dataclass(slots=True, frozen=True)
class _Listener:
    on_frame: Callable[[AudioFrame], None]
    on_end: Callable[[], None]


class WebRTCInput(AudioInput):
    """The far microphone as mono frames of 20 ms at 48 kHz, without holes, in real time.

    What is said before `start` is not kept. `on_end` is called once when the call is over, if it ends before `aclose`.
    """

    def __init__(self) -> None:
        self.concealed = 0
        """Samples of silence that stood in for what did not arrive."""
        self._state = _State.OPEN
        self._listener: _Listener | None = None
        self._due: int | None = None  # the timestamp of the next sample; None until the first sound
        self._given = 0  # samples
        self._rest = bytearray()  # less than a frame
        self._began = 0.0
        self._heard_at = 0.0
        self._stall_timer: asyncio.TimerHandle | None = None

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        if self._listener is not None:
            raise UsageError("WebRTCInput.start: expected one start, got a second. Make a new call for a new session.")
        self._listener = _Listener(on_frame, on_end)
        if self._state is _State.ENDED:
            asyncio.get_running_loop().call_soon(self._tell_end)

    def hear(self, timestamp: int, sound: bytes) -> None:
        """Take mono 16-bit sound whose first sample has that RTP timestamp. In order; for `peer`."""
        if self._listener is None or self._state is not _State.OPEN:
            return
        self._heard_at = asyncio.get_running_loop().time()
        self._watch_for_stall()
        if self._due is None:
            self._due, self._began = timestamp, self._heard_at
        gap = distance(timestamp, self._due, 32)
        if abs(gap) > LONGEST_GAP:
            gap = 0
        elif gap < 0:
            timestamp, sound = timestamp - gap, sound[-2 * gap :]
        self._due = (timestamp + len(sound) // 2) & 0xFFFFFFFF
        if self._given / SAMPLE_RATE < self._heard_at - self._began + MOST_AHEAD:
            self._conceal(max(gap, 0))
            self._deliver(sound)

    def end(self) -> None:
        """The caller is gone. Later calls do nothing; for `WebRTCCall`."""
        if self._state is _State.OPEN:
            self._stop(_State.ENDED)
            self._tell_end()

    async def aclose(self) -> None:
        self._stop(_State.CLOSED)

    def _stop(self, state: _State) -> None:
        self._state = state
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def _tell_end(self) -> None:
        if self._listener is not None and self._state is _State.ENDED:
            self._listener.on_end()

    def _deliver(self, sound: bytes) -> None:
        assert self._listener is not None
        self._given += len(sound) // 2
        self._rest += sound
        # The listener may close the input while it is given a frame.
        while len(self._rest) >= 2 * FRAME and self._state is _State.OPEN:
            frame = bytes(self._rest[: 2 * FRAME])
            del self._rest[: 2 * FRAME]
            self._listener.on_frame(AudioFrame(frame, SAMPLE_RATE))

    def _conceal(self, samples: int) -> None:
        self.concealed += samples
        self._deliver(bytes(2 * samples))

    # -- a network that stalls

    def _watch_for_stall(self) -> None:
        if self._stall_timer is None:
            loop = asyncio.get_running_loop()
            self._stall_timer = loop.call_at(self._heard_at + STALL, self._check_stall, self._heard_at + STALL)

    def _check_stall(self, when: float) -> None:
        """Stand in with a frame of silence if nothing has come, and look again one frame later."""
        self._stall_timer = None
        assert self._due is not None  # the timer runs from the first sound on
        loop = asyncio.get_running_loop()
        if loop.time() > when + LATE:
            # This program stalled, not the network: what came meanwhile has yet to be read.
            self._heard_at = loop.time()
        again = self._heard_at + STALL
        if when >= again:
            self._due = (self._due + FRAME) & 0xFFFFFFFF
            self._conceal(FRAME)
            again = when + FRAME / SAMPLE_RATE
        if self._state is _State.OPEN:
            self._stall_timer = loop.call_at(again, self._check_stall, again)
