"""The caller's ear: sound that is queued, taken 20 ms at a time by the sender, and heard a little later.

What was sent cannot be taken back, and nobody reports when it sounds: the far jitter buffer and loudspeaker hold it for
a while. `FAR_DELAY` stands for that while. So `pause` and `clear` act on the next frame that is sent, what is under way
sounds out, and `played` runs `FAR_DELAY` behind what was sent.

Above: the session. Below: nothing; `peer` takes the frames.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from dataclasses import dataclass

from antiphon.audio import AudioFrame
from antiphon.transport import AudioOutput, check_frame
from antiphon.transports.webrtc.rtp import FRAME, SAMPLE_RATE

FAR_DELAY = 0.08
"""Seconds from the moment a frame is sent to the moment it is heard. Chromium over a good network: 50-80 ms until the
page has it, most of it in the jitter buffer, and then the loudspeaker's own."""


class _State(enum.Enum):
    PLAYING = enum.auto()
    """What is queued is sent, and silence when nothing is."""
    PAUSED = enum.auto()
    """Silence is sent; what is queued stays."""
    CLOSED = enum.auto()
    """Silence is sent, and nothing is queued any more."""


@dataclass(slots=True, frozen=True)
class _UnderWay:
    """Written sound that was sent and may not have been heard to its end."""

    begins: float
    """When it begins to sound, by the event loop's clock."""
    samples: int


class WebRTCOutput(AudioOutput):
    """The far loudspeaker: mono at 48 kHz.

    Nothing sounds before the connection is up; what is written waits. The queue is bounded by the writer, who keeps at
    most `lead` seconds ahead of `played`.
    """

    sample_rate = SAMPLE_RATE
    lead = 0.32  # half of it has to outlast what is under way and a late tick of the writer

    def __init__(self) -> None:
        self._queue: deque[bytes] = deque()
        self._queued = 0  # samples
        self._under_way: deque[_UnderWay] = deque()
        self._heard = 0  # samples, without those under way
        self._state = _State.PLAYING

    def write(self, frame: AudioFrame) -> None:
        check_frame(frame, SAMPLE_RATE, "WebRTCOutput")
        if self._state is not _State.CLOSED and frame.data:
            self._queue.append(frame.data)
            self._queued += frame.samples_per_channel

    @property
    def played(self) -> float:
        now = asyncio.get_running_loop().time()
        self._hear(now)
        partly = 0.0
        if self._under_way:
            first = self._under_way[0]
            partly = min(max((now - first.begins) * SAMPLE_RATE, 0.0), first.samples)
        return (self._heard + partly) / SAMPLE_RATE

    def pause(self) -> None:
        if self._state is _State.PLAYING:
            self._state = _State.PAUSED

    def resume(self) -> None:
        if self._state is _State.PAUSED:
            self._state = _State.PLAYING

    def clear(self) -> float:
        lost = self._queued / SAMPLE_RATE
        self._queue.clear()
        self._queued = 0
        self.resume()
        return lost

    async def aclose(self) -> None:
        self.clear()
        self._state = _State.CLOSED

    def take(self) -> bytes:
        """The next 20 ms to send, silence where there is nothing to say. For `peer`."""
        now = asyncio.get_running_loop().time()
        self._hear(now)
        sound = self._take_queued(FRAME) if self._state is _State.PLAYING else b""
        if sound:
            begins = now + FAR_DELAY
            if self._under_way:
                last = self._under_way[-1]
                begins = max(begins, last.begins + last.samples / SAMPLE_RATE)
            self._under_way.append(_UnderWay(begins, len(sound) // 2))
        return sound.ljust(2 * FRAME, b"\0")

    def _take_queued(self, samples: int) -> bytes:
        taken: list[bytes] = []
        while samples and self._queue:
            data = self._queue.popleft()
            if len(data) > 2 * samples:
                self._queue.appendleft(data[2 * samples :])
                data = data[: 2 * samples]
            taken.append(data)
            samples -= len(data) // 2
            self._queued -= len(data) // 2
        return b"".join(taken)

    def _hear(self, now: float) -> None:
        """Count what has been heard to its end."""
        while self._under_way and self._under_way[0].begins + self._under_way[0].samples / SAMPLE_RATE <= now:
            self._heard += self._under_way.popleft().samples
