"""The caller's voice, out of sounds that carry the sender's time: gaps are filled, so that counting samples is a clock.

Who listens (a voice activity detector first of all) measures pauses in samples. A packet lost on the way must not make
a pause shorter, and a network that stalls in the middle of a word must not stop time. So a gap between timestamps
becomes silence, and when nothing has come for `STALL` seconds, silence goes on at the pace of real time until packets
come again or the call is given up; what then comes for a time already filled is dropped.

Above: the session. Below: nothing; `peer` gives it decoded sound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.transport import AudioInput
from antiphon.transports.webrtc.rtp import FRAME, SAMPLE_RATE, distance

STALL = 0.3
"""Seconds without a packet after which silence stands in for the caller."""
LONGEST_GAP = SAMPLE_RATE
"""Samples of silence put in for one gap, at most. A longer leap of the timestamps is the sender's new clock."""


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
        self._listener: _Listener | None = None
        self._over = False  # nothing more will be heard
        self._due: int | None = None  # the timestamp of the next sample; None until the first sound
        self._rest = bytearray()  # less than a frame
        self._heard_at = 0.0
        self._stall_timer: asyncio.TimerHandle | None = None

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        if self._listener is not None:
            raise UsageError("WebRTCInput.start: expected one start, got a second. Make a new call for a new session.")
        self._listener = _Listener(on_frame, on_end)
        if self._over:
            asyncio.get_running_loop().call_soon(self._tell_end)

    def hear(self, timestamp: int, sound: bytes) -> None:
        """Take mono 16-bit sound whose first sample has that RTP timestamp. In order; for `peer`."""
        if self._listener is None or self._over:
            return
        self._heard_at = asyncio.get_running_loop().time()
        self._watch_for_stall()
        gap = 0 if self._due is None else distance(timestamp, self._due, 32)
        if abs(gap) > LONGEST_GAP:
            gap = 0
        elif gap < 0:
            timestamp, sound = timestamp - gap, sound[-2 * gap :]
        if gap > 0:
            self._conceal(gap)
        self._due = (timestamp + len(sound) // 2) & 0xFFFFFFFF
        self._deliver(sound)

    def end(self) -> None:
        """The caller is gone. Later calls do nothing; for `WebRTCCall`."""
        if not self._over:
            self._stop()
            self._tell_end()

    async def aclose(self) -> None:
        self._listener = None
        self._stop()

    def _stop(self) -> None:
        self._over = True
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def _tell_end(self) -> None:
        if self._listener is not None:
            self._listener.on_end()

    def _deliver(self, sound: bytes) -> None:
        self._rest += sound
        while len(self._rest) >= 2 * FRAME and self._listener is not None:
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
        if self._over or self._due is None:
            return
        loop = asyncio.get_running_loop()
        again = self._heard_at + STALL
        if when >= again:
            self._due = (self._due + FRAME) & 0xFFFFFFFF
            self._conceal(FRAME)
            again = when + FRAME / SAMPLE_RATE
        if not self._over:
            self._stall_timer = loop.call_at(again, self._check_stall, again)
