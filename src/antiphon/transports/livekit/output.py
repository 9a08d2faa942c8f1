"""The caller's ear: sound that is queued, given to LiveKit's sender, and heard a little later.

The sender has a queue of its own that it empties at the pace of real time, so that a stall of this program is not
heard. What it has sent cannot be taken back and nobody reports when it sounds: `FAR_DELAY` stands for that while. What
it has not sent is known by the clock, and is taken back by a pause.

Nothing sounds before somebody listens (`open`), nor while nobody does (`hold`): what is written waits.

Above: the session. Below: an `AudioSource` of LiveKit's.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.transport import AudioOutput, check_frame

logger = logging.getLogger("antiphon")

FAR_DELAY = 0.05
"""Seconds from the moment a sample is due at the sender to the moment it is heard: 48 ms to a far end on this machine,
and as good as nothing from there to its loudspeaker."""
QUEUE_MS = 1000
"""Milliseconds of sound that the sender takes without waiting."""


@dataclass(slots=True, frozen=True)
class _UnderWay:
    """Sound that the sender was given and that may not have been heard to its end."""

    begins: float
    """When it begins to sound, by the event loop's clock."""
    data: bytes


class LiveKitOutput(AudioOutput):
    """The caller's loudspeaker: the agent's track, mono at `sample_rate` Hz."""

    lead = 0.6  # a cut costs nothing, since the sender drops what it holds at once; and loops stall

    def __init__(self, *, sample_rate: int = 24_000) -> None:
        self.sample_rate = sample_rate
        self._source: Any = None
        self._queue: deque[bytes] = deque()
        """Written, and not given to the sender."""
        self._under_way: deque[_UnderWay] = deque()
        self._outbox: deque[bytes] = deque()
        """Under way, and not handed over yet: that is a task's, because the sender has to be waited for."""
        self._heard = 0  # samples, without those under way
        self._paused = False
        self._held = True
        self._closed = False
        self._wake = asyncio.Event()
        self._feeder: asyncio.Task[None] | None = None

    # -- for the session

    def write(self, frame: AudioFrame) -> None:
        check_frame(frame, self.sample_rate, "LiveKitOutput")
        if not self._closed and frame.data:
            self._queue.append(frame.data)
            self._send()

    @property
    def played(self) -> float:
        now = _now()
        self._hear(now)
        partly = 0
        if self._under_way:
            first = self._under_way[0]
            partly = min(max(int((now - first.begins) * self.sample_rate), 0), len(first.data) // 2)
        return (self._heard + partly) / self.sample_rate

    def pause(self) -> None:
        if not self._paused and not self._closed:
            self._paused = True
            self._take_back()

    def resume(self) -> None:
        self._paused = False
        self._send()

    def clear(self) -> float:
        self._take_back()
        lost = sum(map(len, self._queue)) // 2
        self._queue.clear()
        self._paused = False
        return lost / self.sample_rate

    async def aclose(self) -> None:
        self.clear()
        self._closed = True
        if self._feeder is not None:
            self._feeder.cancel()
            await asyncio.wait([self._feeder])
            await self._source.aclose()
            self._feeder = None

    # -- for the call

    def make_track(self, rtc: ModuleType, name: str) -> Any:
        """The track to publish. Once."""
        self._source = rtc.AudioSource(self.sample_rate, 1, queue_size_ms=QUEUE_MS)
        self._feeder = asyncio.create_task(self._feed(rtc), name="LiveKit: the agent's sound")
        return rtc.LocalAudioTrack.create_audio_track(name, self._source)

    def open(self) -> None:
        """Somebody listens: let it sound."""
        self._held = False
        self._send()

    def hold(self) -> None:
        """Nobody listens for now: what is written waits."""
        if not self._held:
            self._held = True
            self._take_back()

    # -- on its way

    def _send(self) -> None:
        """Give the sender what is queued."""
        if self._paused or self._held or self._closed or not self._queue or self._source is None:
            return
        data = self._queue[0] if len(self._queue) == 1 else b"".join(self._queue)
        self._queue.clear()
        begins = _now() + FAR_DELAY
        if self._under_way:
            last = self._under_way[-1]
            begins = max(begins, last.begins + len(last.data) / 2 / self.sample_rate)
        self._under_way.append(_UnderWay(begins, data))
        self._outbox.append(data)
        self._wake.set()

    def _take_back(self) -> None:
        """Have the sender drop what it has not sent: that is queued again."""
        now = _now()
        self._hear(now)
        unsent: deque[bytes] = deque()
        while self._under_way:
            last = self._under_way.pop()
            sent = min(max(int((now + FAR_DELAY - last.begins) * self.sample_rate), 0), len(last.data) // 2)
            if rest := last.data[2 * sent :]:
                unsent.appendleft(rest)
            if sent:
                self._under_way.append(_UnderWay(last.begins, last.data[: 2 * sent]))
                break
        if unsent:
            self._queue.extendleft(reversed(unsent))
            self._outbox.clear()
            self._source.clear_queue()

    def _hear(self, now: float) -> None:
        """Count what has been heard to its end."""
        while self._under_way:
            first = self._under_way[0]
            if first.begins + len(first.data) / 2 / self.sample_rate > now:
                break
            self._heard += len(self._under_way.popleft().data) // 2

    async def _feed(self, rtc: ModuleType) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._outbox:
                    data = self._outbox.popleft()
                    await self._source.capture_frame(rtc.AudioFrame(data, self.sample_rate, 1, len(data) // 2))
        except Exception:
            logger.exception("LiveKit takes no more sound of the agent")


def _now() -> float:
    return asyncio.get_running_loop().time()
